"""Verdicts on measured values: against physical ceilings, against the sheet, and against the fleet."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from ffplan.base.formatting import first_few, listed, number, percent, plural
from ffplan.base.record import record
from ffplan.catalog.parts import Server
from ffplan.node.host import memory_bandwidth
from ffplan.node.resources import pcie_line_rate
from ffplan.results.acceptance import CheckRow, JudgedRow, Measured, SlowRow, Unread
from ffplan.studies.basis.job_layout import Placement, node_of, placement_fault, placement_of, ranks_key
from ffplan.studies.operate.acceptance_ports import LINKS, _planned_rates
from ffplan.studies.operate.goodput_basis import _storage_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ffplan.design.resolved import ResolvedDesign
    from ffplan.node.host import Host
    from ffplan.results.training import TrainReport
    from ffplan.studies.operate.acceptance_ports import _PortPlan
    from ffplan.studies.operate.goodput_basis import GoodputBasis

    Collectives = Callable[[str, tuple[int, ...], tuple[float, ...], Placement | None], dict[tuple[int, float], float]]
    """Bus bandwidth by ranks and size: of an operation, its ranks, sizes and placement."""

_ROUNDING = 1e-3
"""Tolerance of a value above its bound, as programs round their output [1]."""
_EXACT = 1e-9
"""Tolerance of widths, generations and rates of links, which are a few steps apart, and of a least value [1]."""


@record
class _RateLimit:
    most: float
    """In the unit of its check."""
    of: str


def _collective_bound(operation: str, gpus: int, host: Host, placement: Placement | None = None) -> _RateLimit | None:
    """Return the bus bandwidth that no algorithm of a collective exceeds [GB/s]; None if a link is unknown.

    Equation:
        with n ranks, d of them in a scale-up domain, L the scale-up rate of a rank and R the rate of the d ranks' NICs:
        allreduce 2 (n - 1) / n min(L, R), since every rank, and every domain, sends and receives the message once; the
        others L, and (n - 1) / (n - d) R, over d for all-to-all; no L where d is 1

    Source:
        Data that must pass the links, whatever reduces on the way; bus bandwidth as nccl-tests has it.
    """
    if gpus < 2:
        return None
    inside, domain, rates = host.accelerator.nvlink if host.accelerator else None, host.domain_gpus, host.nic_gbyte_s
    network = sum(rates) * host.domain_nodes
    if placement is not None:
        domain = gpus // placement.nodes * host.domain_nodes
        network = min(network, placement.nics * max(rates, default=0.0) * host.domain_nodes)
    ring = 2 * (gpus - 1) / gpus
    limit = []
    if inside is not None and domain > 1 and (host.joined or host.pairs):
        limit.append(
            _RateLimit(
                most=inside.value * (ring if operation == "allreduce" else 1.0), of=f"the rate of {host.scale_up_name}"
            )
        )
    if gpus > domain and network:
        cross = (gpus - 1) / (gpus - domain)
        factor = {"allreduce": ring, "all-to-all": cross / domain}.get(operation, cross)
        limit.append(_RateLimit(most=network * factor, of="what the NICs between nodes carry"))
    if not host.joined and gpus <= domain:
        return None  # pairs alone: rings pass the host
    return min(limit, key=lambda bound: bound.most, default=None)


def _node_bounds(design: ResolvedDesign) -> dict[str, _RateLimit]:
    """Return the rates of a node's parts that nothing exceeds, by check.

    Equation:
        GEMM: the dense peak; memory: channels * MT/s * 8 bytes; copies: the line rate of PCIe; copies between
        accelerators: the scale-up rate; transfers between NICs: the line rate

    Source:
        Data sheets of the parts; the PCI Express base specification.
    """
    host, server = node_of(design), design.compute.server
    assert isinstance(server, Server)
    channels = [
        float(memory_bandwidth(socket.memory.channels.value, socket.memory.rate.value, 1.0))
        for socket in server.sockets
    ]
    limits = {"memory": _RateLimit(most=sum(channels), of="the rate of its memory channels")}
    if host.nic_gbyte_s:
        limits["nic-transfer"] = _RateLimit(most=max(host.nic_gbyte_s), of="the line rate of a NIC")
    part = host.accelerator
    if part is None:
        return limits
    for precision, figure in part.peak.items():
        limits[f"gemm-{precision}"] = _RateLimit(most=float(figure.value), of=f"the peak of `{part.id}`")
    if part.pcie is not None:
        rate = pcie_line_rate(float(part.pcie.generation.value), float(part.pcie.lanes.value))
        for way in ("to-device", "to-host"):
            for shared in ("", "-shared"):
                limits[f"copy-{way}{shared}"] = _RateLimit(most=rate, of="the line rate of PCIe")
    if part.nvlink is not None:
        limits["nvlink-copy"] = _RateLimit(most=float(part.nvlink.value), of=f"the rate of {host.scale_up_name}")
    return limits


_FLEET = 5
"""Least values of one kind that make a fleet [1]."""
_SCORE = -3.5
"""Robust standard deviations below the median from which a part is named [1]."""
_LEAST_GAP = 0.02
"""Part below the median that is worth naming, however even the fleet [1]."""
_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation [1]."""
_NAMED = 5
_ORDER = {"fail": 0, "doubt": 1, "not judged": 2, "pass": 3}
ERRORS = FABRIC_ERRORS, DEVICE_ERRORS = "ibdiagnet-errors", "dcgm-errors"
"""Checks of diagnoses of a fabric and of accelerators: errors by stage or test; all must be 0."""
_SLOWED = {
    "gemm": ("products", "attention", "recompute", "output"),
    "allreduce": ("gradients",),
    "all-gather": ("parameters",),
    "reduce-scatter": ("gradients",),
    "all-to-all": ("experts",),
    "nic-": ("gradients", "parameters", "sends"),
    "nvlink-copy": ("tensor",),
    "copy": ("offload", "swaps"),
    "pcie-width": ("offload", "swaps"),
}
"""Parts of a step that a check slows, by the beginning of its name, without parts that other work hides."""
_BETWEEN_NODES = ("nic-link", "nic-transfer")
"""Checks of what a job of one scale-up domain does not use."""


def _verdict(measured: Measured, expected: float, least: float, most: float | None, *, of: str = "") -> JudgedRow:
    verdict, why = "pass", ""
    exact = not of
    if measured.check in ERRORS and measured.value:
        words_ = measured.doubt if measured.check == DEVICE_ERRORS else ""
        verdict, why = "fail", words_ or plural(round(measured.value), "error")
    elif most is not None and measured.value > most * (1 + (_EXACT if exact else _ROUNDING)):
        words_ = f"above {number(most, 4)}, {of}" if of else "more than planned"
        verdict, why = "doubt", f"{words_}: a bad measurement, or another part"
    elif measured.doubt:
        verdict, why = ("fail" if measured.doubt == "wrong results" else "doubt"), measured.doubt
    elif measured.value < least * (1 - _EXACT):
        short = "the port is down" if measured.check in LINKS and not measured.value else "less than planned"
        verdict, why = "fail", short if exact else f"{percent(1 - measured.value / expected)} below the expected"
        if measured.shortfall:
            verdict, why = "doubt", f"{why}: {measured.shortfall}"
    return JudgedRow(measured=measured, expected=expected, least=least, most=most, verdict=verdict, why=why)


def _of_ports(measured: Iterable[Measured], plans: tuple[_PortPlan, ...]) -> Iterable[JudgedRow]:
    for value, rate in _planned_rates(measured, plans):
        yield _unjudged(value, rate) if isinstance(rate, str) else _verdict(value, rate, rate, rate)


def _of_collectives(
    rows: tuple[CheckRow, ...],
    measured: list[Measured],
    tolerance: float,
    more: Collectives,
    host: Host,
) -> Iterable[JudgedRow]:
    operations = {row.check for row in rows if row.gpus}
    groups: dict[tuple[object, ...], list[Measured]] = {}
    for value in measured:
        if fault := placement_fault(value, host):
            yield _unjudged(value, fault)
        else:
            groups.setdefault((value.check, *ranks_key(value)), []).append(value)
    for items in groups.values():
        operation, gpus = items[0].check, items[0].gpus
        placement = placement_of(items[0], host)
        sizes = tuple(sorted({measured_value.size_bytes for measured_value in items if measured_value.size_bytes}))
        points = more(operation, (gpus,), sizes, placement) if operation in operations and sizes else {}
        for value in items:
            expected = points.get((gpus, value.size_bytes))
            if expected is None:
                why = f"the design has no {operation} of {gpus} ranks as the model lays them out"
                yield _unjudged(value, why)
            else:
                top = _collective_bound(operation, gpus, host, placement)
                most, of = (top.most, top.of) if top else (None, "links")
                yield _verdict(value, expected, expected * (1 - tolerance), most, of=of)


def _unjudged(measured: Measured, why: str) -> JudgedRow:
    return JudgedRow(measured=measured, expected=None, least=None, most=None, verdict="not judged", why=why)


def _of_nodes(
    measured: Measured, row: CheckRow, tolerance: float, basis: GoodputBasis, top: _RateLimit | None
) -> JudgedRow:
    expected, least, most = row.expected, row.least, row.most
    storage = basis.storage
    if measured.check.startswith("storage-") and measured.nodes > 1 and storage is not None:
        likely, lowest = _storage_range(basis, "read" if measured.check == "storage-read" else "write", measured.nodes)
        expected, least = likely.gbyte_s, lowest.gbyte_s * (1 - tolerance)
        most = storage.client_gbyte_s * measured.nodes
    of = "" if row.exact else (top.of if top else "what the NICs of its nodes carry")
    return _verdict(measured, expected, least, most, of=of)


def _judge(
    rows: tuple[CheckRow, ...],
    measured: tuple[Measured, ...],
    tolerance: float,
    more: Collectives,
    basis: GoodputBasis,
    host: Host,
    bounds: dict[str, _RateLimit],
    plans: tuple[_PortPlan, ...],
) -> tuple[JudgedRow, ...]:
    by_check = {row.check: row for row in rows if not row.gpus}
    found = list(_of_ports(measured, plans))
    for value in measured:
        if value.gpus or value.check in LINKS:
            continue
        row = by_check.get(value.check)
        if row is None:
            found.append(_unjudged(value, "the sheet has no such check for this design"))
        else:
            found.append(_of_nodes(value, row, tolerance, basis, bounds.get(value.check)))
    found += _of_collectives(rows, [value for value in measured if value.gpus], tolerance, more, host)
    return tuple(sorted(found, key=lambda item: _ORDER[item.verdict]))


def _robust_score(value: float, values: list[float]) -> tuple[float, float]:
    """Return the median of values, and the distance of one from it in robust standard deviations.

    Returns:
        Median [same unit] and score [1]; minus infinity below a fleet without any spread.

    Equation:
        (x - median) / (1.4826 * median(|x_i - median|))

    Source:
        Iglewicz and Hoaglin, How to detect and handle outliers, 1993: below -3.5 is an outlier.
    """
    middle = median(values)
    spread = _TO_SIGMA * median(abs(sample - middle) for sample in values)
    if spread:
        return middle, (value - middle) / spread
    return middle, 0.0 if value >= middle else float("-inf")


def _lengthened(check: str, ratio: float, job: TrainReport | None, domain: int) -> float | None:
    """Return by how much a step is longer where the parts that rest on a check run at a ratio of their rate."""
    if job is None or not job.rows or ratio <= 0:
        return None
    plan = job.rows[0].plan
    if check in _BETWEEN_NODES and plan.tensor * plan.pipeline * plan.context * plan.data <= domain:
        return None
    names = next((parts for name, parts in _SLOWED.items() if check.startswith(name)), ())
    share = sum(part.share for part in job.rows[0].parts if part.name in names)
    return share * (1 / ratio - 1) if share else None


def _slow_parts(judged: tuple[JudgedRow, ...], job: TrainReport | None, domain: int) -> tuple[SlowRow, ...]:
    """Return parts slower than the rest of the fleet, the slowest first; a job on at most `domain` uses no NICs."""
    groups: dict[tuple[object, ...], list[Measured]] = {}
    for row in judged:
        value = row.measured
        if value.check in LINKS and row.expected is None:
            continue  # nobody planned the port
        groups.setdefault((value.check, row.expected, value.size_bytes, *ranks_key(value)), []).append(value)
    rows = []
    for items in groups.values():
        check = items[0].check
        values = [measured_value.value for measured_value in items]
        if len(values) < _FLEET or check in ERRORS:
            continue
        for value in items:
            middle, score = _robust_score(value.value, values)
            if score < _SCORE and value.value < middle * (1 - _LEAST_GAP):
                rows.append(
                    SlowRow(
                        check=check,
                        host=value.host,
                        part=value.part,
                        gpus=value.gpus,
                        size_bytes=value.size_bytes,
                        value=value.value,
                        median=middle,
                        score=max(score, -1e9),
                        step=_lengthened(check, value.value / middle, job, domain),
                    )
                )
    return tuple(sorted(rows, key=lambda row: row.value / row.median))


def words(
    rows: tuple[CheckRow, ...],
    judged: tuple[JudgedRow, ...],
    slow: tuple[SlowRow, ...],
    unread: tuple[Unread, ...] = (),
) -> tuple[str, ...]:
    """Return the answer, a sentence each."""
    if not judged:
        return (f"{plural(len(rows), 'check')}; give the logs with `--measured` to have them judged.",)
    counts = {verdict: sum(row.verdict == verdict for row in judged) for verdict in _ORDER}
    lines = [
        f"Of {plural(len(judged), 'measured value')}, {counts['pass']:,} pass and {counts['fail']:,} fail"
        + (f"; {counts['doubt']:,} {'is' if counts['doubt'] == 1 else 'are'} in doubt" if counts["doubt"] else "")
        + (
            f"; {counts['not judged']:,} {'is' if counts['not judged'] == 1 else 'are'} not judged"
            if counts["not judged"]
            else ""
        )
        + "."
    ]
    if unread:
        places = first_few((f"{part.host} ({part.file}:{part.line}: {part.why})" for part in unread), _NAMED)
        lines.append(f"Not read: {places}.")
    unjudged = [
        row.why if row.measured.gpus else f"{row.measured.host} {row.measured.part}, {row.why}"
        for row in judged
        if row.verdict == "not judged"
        and (row.measured.gpus or (row.measured.check in LINKS and not row.measured.value))
    ]
    if unjudged:
        lines.append(f"Not judged: {first_few(unjudged, _NAMED)}.")
    failing = list(dict.fromkeys(row.measured.host for row in judged if row.verdict == "fail"))
    if failing:
        lines.append(f"Failing: {first_few(failing, _NAMED)}.")
    if slow:
        names = list(dict.fromkeys(f"{row.host} {row.part}".strip() for row in slow))
        more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
        lines.append(f"Slower than the fleet: {listed(names[:5])}{more}.")
        worst = max((row for row in slow if row.step), key=lambda row: row.step or 0.0, default=None)
        if worst is not None:
            lines.append(
                f"With {worst.host} {worst.part}".rstrip()
                + f" a step of the job takes {percent(worst.step or 0.0)} longer."
            )
    return tuple(lines)
