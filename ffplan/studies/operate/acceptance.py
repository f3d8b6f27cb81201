"""What each delivered node and the fabric should measure, from the same model as the plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ffplan.base.formatting import ids_listed
from ffplan.base.version import __version__
from ffplan.catalog.parts import Server
from ffplan.node.resources import host_copies
from ffplan.results import acceptance as out
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.result import ToolInfo
from ffplan.studies.basis.job_layout import most_gpus, node_of, own_library, placement_of
from ffplan.studies.basis.provenance import announced, design_info, files_read, recalled_figures
from ffplan.studies.collective.collective import CollectiveRequest, QueryError, collective_table
from ffplan.studies.operate.acceptance_ports import COMPUTE, _port_plans
from ffplan.studies.operate.acceptance_verdicts import (
    DEVICE_ERRORS,
    FABRIC_ERRORS,
    _collective_bound,
    _judge,
    _node_bounds,
    _RateLimit,
    _slow_parts,
    words,
)
from ffplan.studies.operate.goodput_basis import _storage_range, goodput_basis

if TYPE_CHECKING:
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.node.host import Host
    from ffplan.reliability.storage import Way
    from ffplan.results.training import TrainReport
    from ffplan.studies.basis.job_layout import Placement
    from ffplan.studies.operate.acceptance_ports import _PortPlan
    from ffplan.studies.operate.goodput_basis import GoodputBasis

_SIZES = (1.0 * 2**20, 64.0 * 2**20, 1.0 * 2**30, 8.0 * 2**30)
"""Messages that collectives are checked at [byte]."""
OPERATIONS = ("allreduce", "all-gather", "reduce-scatter", "all-to-all")
_PRECISIONS = ("tf32", "fp16", "bf16", "fp8")


_RECALLED = (
    "The summary of `ibdiagnet2.log` is read in its recalled form, since no published log has it: see that every stage "
    "is among the values."
)


_SPREAD = (
    "Where a log lists its ranks, they are expected on as many nodes as it has, and to send by the NICs nearest to the "
    "accelerators that it names."
)
_UNLISTED = "Ranks of a log that does not list them are expected to fill nodes one after the other."


_TESTS = {"nccl": "nccl-tests", "rccl": "rccl-tests"}


def _tool(part: Accelerator, nvidia: str) -> str:
    return nvidia if part.vendor == "NVIDIA" else "the vendor's tool"


def _pcie_known(part: Accelerator) -> bool:
    """Return whether the PCIe link of an accelerator is more than recalled; Grace's GPUs have another link."""
    if part.pcie is None:
        return False
    lanes = part.pcie.lanes
    return (lanes.status or part.sources[lanes.source].status) != "R"


def _gaps(part: Accelerator) -> list[str]:
    sentences = []
    if not part.gemm:
        sentences.append(f"No GEMM of `{part.id}` was measured apart from training: the sheet has no line for it.")
    if not _pcie_known(part):
        sentences.append(f"The host link of `{part.id}` is not known: its width and its copies are left out.")
    return sentences


class _Sheet:
    def __init__(self, tolerance: float, bounds: dict[str, _RateLimit]) -> None:
        self.tolerance, self.bounds = tolerance, bounds
        self.rows: list[out.CheckRow] = []

    def add(
        self,
        check: str,
        label: str,
        of: str,
        unit: str,
        expected: float,
        *,
        how: str,
        basis: str,
        exact: bool = False,
        gpus: int = 0,
        size: float = 0.0,
        least: float | None = None,
        most: float | None = None,
    ) -> None:
        """Add a line: from `least` a value passes, or within the tolerance of the expected; none exceeds `most`, or the
        bound of the check, if it has one.
        """
        if least is None:
            least = expected * (1 - self.tolerance)
        bound = self.bounds.get(check)
        most = bound.most if most is None and bound is not None else most
        self.rows.append(
            out.CheckRow(
                check=check,
                label=label,
                of=of,
                unit=unit,
                gpus=gpus,
                size_bytes=size,
                expected=expected,
                least=expected if exact else least,
                most=expected if exact else most,
                exact=exact,
                how=how,
                basis=basis,
            )
        )


def _links(sheet: _Sheet, design: ResolvedDesign, plans: tuple[_PortPlan, ...]) -> None:
    for plan in plans:
        tool = "ibdiagnet" if plan.layer == "infiniband" else "the switches' port speeds"
        main = plan.network == COMPUTE
        where = "" if main else f", {plan.network}"
        ports = plan.nodes[0]
        if ports:
            basis = f"{len(ports)} {'NICs' if main else 'ports'} a node on ports of `{plan.switch}`"
            label = f"port of a NIC{where}"
            sheet.add("nic-link", label, "node", "GB/s", ports[-1], how=tool, basis=basis, exact=True)
        if plan.link is not None:
            label = f"link between switches{where}"
            basis = f"`{plan.cable}`"
            sheet.add("switch-link", label, "fabric", "GB/s", plan.link, how=tool, basis=basis, exact=True)
    if design.parts.switch.fabric == "infiniband":
        label, basis = "errors of a stage", "a healthy fabric"
        sheet.add(FABRIC_ERRORS, label, "fabric", "", 0.0, how="ibdiagnet", basis=basis, exact=True)
    accelerator = design.compute.accelerator
    if accelerator is not None and accelerator.pcie is not None and _pcie_known(accelerator):
        how, basis = _tool(accelerator, "nvidia-smi -q -x"), f"`{accelerator.id}`"
        lanes, generation = float(accelerator.pcie.lanes.value), float(accelerator.pcie.generation.value)
        sheet.add("pcie-width", "PCIe lanes", "accelerator", "lanes", lanes, how=how, basis=basis, exact=True)
        label = "PCIe generation, largest"
        sheet.add("pcie-generation", label, "accelerator", "", generation, how=how, basis=basis, exact=True)


def _transfers(sheet: _Sheet, host: Host) -> None:
    rates = [rate * nic.line_efficiency.value for rate, nic in zip(host.nic_gbyte_s, host.nics, strict=True)]
    if rates and not any(nic.built_in for nic in host.nics):
        least = min(range(len(rates)), key=rates.__getitem__)
        label, basis = "transfer between NICs", f"the line rate that `{host.nics[least].id}` keeps for payload"
        sheet.add("nic-transfer", label, "node", "GB/s", float(rates[least]), how="ib_write_bw, osu_bw", basis=basis)


def _topology(sheet: _Sheet, host: Host) -> None:
    """Add what `nvidia-smi topo -m` shows of a node of NVIDIA's accelerators, and DCGM's diagnosis of them."""
    part = host.accelerator
    if part is None or part.vendor != "NVIDIA":
        return
    how, basis = "nvidia-smi topo -m", f"`{host.id}`"
    count = float(len(host.gpus))
    sheet.add("accelerators", "accelerators that are seen", "node", "", count, how=how, basis=basis, exact=True)
    switched = host.joined and not (host.mesh or host.links or host.torus)
    if switched and part.collectives is not None and part.collectives.links is not None:
        links = float(part.collectives.links.value)
        label = f"{host.scale_up_name} links of a pair"
        sheet.add("nvlinks", label, "accelerator", "", links, how=how, basis=f"`{part.id}`", exact=True)
    near = float(sum(len(port.gpus) * len(port.nics) for port in host.ports if port.pcie_switch))
    if near and part.pcie is not None:
        label = "accelerators and NICs at one PCIe switch"
        sheet.add("near-nics", label, "node", "pairs", near, how=how, basis=basis, least=near)
    label, how = "failed tests of an accelerator", "dcgmi diag"
    sheet.add(DEVICE_ERRORS, label, "accelerator", "", 0.0, how=how, basis="a healthy node", exact=True)


def _node(sheet: _Sheet, design: ResolvedDesign) -> None:
    host = node_of(design)
    memory = host.memory_gbyte_s[1]
    basis = f"{host.channels} channels at the efficiency of `{host.cpus[0].id}`"
    how = "STREAM"
    sheet.add("memory", "host memory", "node", "GB/s", float(memory), how=how, basis=basis)
    part = host.accelerator
    if part is None:
        return
    for precision in _PRECISIONS:
        figure = part.gemm.get(precision)  # type: ignore[call-overload]
        if figure is not None:
            basis = part.sources[figure.source].title
            how = f"a large {precision.upper()} GEMM"
            sheet.add(
                f"gemm-{precision}",
                f"{precision.upper()} GEMM",
                "accelerator",
                "TFLOP/s",
                figure.value,
                how=how,
                basis=basis,
            )
    copies = host_copies(host)
    if copies is not None and _pcie_known(part):
        bare = host.without_limit()
        lacks = f"; no root-port limit of {ids_listed(bare)} is known" if bare else ""
        for way in ("to-device", "to-host"):
            label = f"copy {way.replace('-', ' ')}"
            how = _tool(part, "nvbandwidth")
            alone, shared = float(copies.alone), float(copies.shared)
            sheet.add(f"copy-{way}", f"{label}, alone", "accelerator", "GB/s", alone, how=how, basis="PCIe link")
            name, words_ = f"copy-{way}-shared", f"{label}, all at once"
            basis = f"{copies.binds}, shared{lacks}"
            sheet.add(name, words_, "accelerator", "GB/s", shared, how=how, basis=basis)
    peer = part.collectives.peer if part.collectives else None
    if peer is not None and (host.joined or host.pairs):
        basis = part.sources[peer.source].title
        label = f"copy over {host.scale_up_name}"
        sheet.add("nvlink-copy", label, "accelerator", "GB/s", peer.value, how=_tool(part, "nvbandwidth"), basis=basis)


def _scales_of(design: ResolvedDesign) -> tuple[int, ...]:
    """Return the ranks that collectives are checked at: a node, two, and all that one job spans [1]."""
    domain = node_of(design).domain_gpus
    most = most_gpus(design) // domain * domain
    return tuple(sorted({count for count in (domain, 2 * domain, most) if 2 <= count <= most}))


def _collective_points(
    design: ResolvedDesign,
    catalog: Catalog,
    operation: str,
    gpus: tuple[int, ...],
    sizes: tuple[float, ...],
    placement: Placement | None = None,
) -> dict[tuple[int, float], float]:
    """Return bus bandwidth by ranks and size [GB/s]; empty if the operation cannot run so."""
    request = CollectiveRequest(operation=operation, placement=placement)
    try:
        table = collective_table(design, catalog, [own_library(design)], request, gpus, sizes)
    except QueryError:
        return {}
    return {(row.gpus, row.size_bytes): row.busbw_gbyte_s for row in table.rows}


def _collectives(sheet: _Sheet, design: ResolvedDesign, catalog: Catalog) -> None:
    scales = _scales_of(design)
    for operation in OPERATIONS:
        sizes = _SIZES if operation == "allreduce" else _SIZES[2:3]
        points = _collective_points(design, catalog, operation, scales, sizes)
        for (gpus, size), rate in sorted(points.items()):
            bound = _collective_bound(operation, gpus, node_of(design))
            sheet.add(
                operation,
                f"{operation} busbw",
                "job",
                "GB/s",
                rate,
                how=_TESTS.get(own_library(design), "the vendor's benchmark"),
                basis=f"`ffplan collective`, {own_library(design)}",
                gpus=gpus,
                size=size,
                most=bound.most if bound else None,
            )


def _storage(sheet: _Sheet, basis: GoodputBasis) -> None:
    storage = basis.storage
    if storage is None:
        return
    words_ = "`ffplan operate storage`" + ("" if storage.planned else ", storage that the ownership profile sizes")
    ways: tuple[Way, ...] = ("read", "write")
    for way in ways:
        likely, least = _storage_range(basis, way, 1)
        basis_words = f"{words_}: {likely.label}"
        sheet.add(
            f"storage-{way}",
            f"storage {way}",
            "node",
            "GB/s",
            likely.gbyte_s,
            how="fio, IOR",
            basis=basis_words,
            least=least.gbyte_s * (1 - sheet.tolerance),
            most=storage.client_gbyte_s,
        )


def study_acceptance(
    design: ResolvedDesign,
    catalog: Catalog,
    tolerance: float,
    measured: tuple[out.Measured, ...],
    job: TrainReport | None,
    unread: tuple[out.Unread, ...] = (),
) -> out.AcceptanceReport:
    """Return the acceptance sheet of a design, and what was measured against it.

    Args:
        tolerance: share that a rate may fall short of the expected [1].
        job: the job whose step slow nodes lengthen; None without.
        unread: parts of the logs that could not be read.

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership or reliability is wrong.
    """
    bounds = _node_bounds(design)
    sheet, basis = _Sheet(tolerance, bounds), goodput_basis(design, catalog)
    assert isinstance(design.compute.server, Server)
    plans = _port_plans(design)
    _links(sheet, design, plans)
    _node(sheet, design)
    _collectives(sheet, design, catalog)
    _storage(sheet, basis)
    host = node_of(design)
    _transfers(sheet, host)
    _topology(sheet, host)
    rows = tuple(sheet.rows)
    more = partial(_collective_points, design, catalog)
    judged = _judge(rows, measured, tolerance, more, basis, host=host, bounds=bounds, plans=plans)
    slow = _slow_parts(judged, job, host.domain_gpus)
    seen = {value.check for value in measured}
    missing = tuple(dict.fromkeys(row.label for row in rows if row.check not in seen)) if measured else ()
    return out.AcceptanceReport(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        design=design_info(design),
        catalog=files_read(catalog),
        headline=words(rows, judged, slow, unread),
        tolerance=tolerance,
        sheet=rows,
        judged=judged,
        slow=slow,
        missing=missing,
        unread=unread,
        assumptions=(
            f"A rate passes at {100 * (1 - tolerance):.0f} % of the expected, and a storage rate at the same share of "
            "its file system's lowest known rate; widths, generations and link rates must meet the expected value.",
            "A value above a peak or a line rate is in doubt: it was measured wrongly, or of another part.",
            "STREAM counts the triad with streaming stores; without them it prints three quarters of the traffic.",
            *(_gaps(design.compute.accelerator) if design.compute.accelerator else ()),
            *([_RECALLED] if FABRIC_ERRORS in seen else []),
            "Collectives have the fabric for themselves, with ranks in the order of leaves.",
            *([_UNLISTED] if any(value.gpus and not value.nodes for value in measured) else []),
            *([_SPREAD] if any(placement_of(value, host) for value in measured) else []),
            *announced(catalog),
        ),
        unverified=recalled_figures(catalog),
    )
