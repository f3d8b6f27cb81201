"""Nodes, failures, storage, purchase, power and cost of an assessment as labelled lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import (
    amount,
    at_least,
    flops,
    kilowatts,
    listed,
    number,
    percent,
    span,
)
from ffplan.report.document import Lines
from ffplan.report.first.design import _largest_job
from ffplan.results.design import purchase_words

if TYPE_CHECKING:
    from ffplan.base.outcomes import MissingFigure
    from ffplan.results.design import Assessment, CostReport, Hardware, PowerReport
    from ffplan.results.storage import StorageSummary

_HOUR = 3_600.0


def _own_parts(a: Assessment) -> list[tuple[str, str]]:
    parts = [part for part in a.catalog if not part.path.startswith("catalogs/")]
    return [("your parts", ", ".join(f"{part.id} from {part.path}" for part in parts))] if parts else []


def _nodes(a: Assessment) -> Lines:
    h: Hardware = a.hardware
    counts = ", ".join(f"{count:,} {role}" for role, count in a.nodes.items())
    lines = [
        ("nodes", f"{counts}; {a.accelerators:,} accelerators"),
        ("compute node", f"{h.accelerator}; {h.nics}; scale-up: {h.scale_up}"),
        ("host", f"{h.cpu}; {h.memory}"),
    ]
    rateless = tuple(figure for figure in h.missing if figure.path.startswith("gemm."))
    if h.gemm_tflops or rateless:
        rates = ", ".join(f"{p.upper()} {number(rate)}" for p, rate in h.gemm_tflops.items())
        gaps = _no_rates(rateless)
        lines.append(("GEMM measured", f"{rates} TFLOP/s per accelerator{gaps and f'; {gaps}'}" if rates else gaps))
    for label, whole in (("all at peak", a.peak_tflops), ("all in GEMMs", a.gemm_tflops)):
        if whole:
            lines.append((label, ", ".join(f"{p.upper()} {flops(rate)}" for p, rate in whole.items())))
    return Lines("Nodes", tuple(lines + _own_parts(a)))


def _no_rates(missing: tuple[MissingFigure, ...]) -> str:
    rates = listed(figure.path.rpartition(".")[2].upper() for figure in missing)
    return f"no rate of {listed(f'`{figure.part}`' for figure in missing)} in {rates}" if missing else ""


def _failures(a: Assessment) -> Lines | None:
    reliability = a.reliability
    if reliability is None:
        return None
    ends = f" ({span(reliability.mtbf_hours_low * _HOUR)} to {span(reliability.mtbf_hours_high * _HOUR)} by fleet)"
    ends = ends if reliability.mtbf_hours_low < reliability.mtbf_hours_high else ""
    by = f"by `{reliability.profile}`"
    if reliability.beside is not None and reliability.beside_mtbf_hours is not None:
        by += f", every {span(reliability.beside_mtbf_hours * _HOUR)} by `{reliability.beside}`"
    lines = (
        (
            _largest_job(a),
            f"stops every {span(reliability.mtbf_hours * _HOUR)}{ends} {by}, mostly by {listed(reliability.largest)}; "
            "`ffplan operate goodput` shows what that costs",
        ),
        (
            "spare nodes",
            f"{reliability.spares:,}; {number(reliability.nodes_in_repair, 2)} in repair on average, "
            f"{reliability.spares_for_99:,} for 99 % of the time",
        ),
    )
    return Lines("Failures", lines)


def _storage(storage: StorageSummary | None) -> Lines | None:
    if storage is None:
        return None
    what = "planned" if storage.planned else "not planned: as the ownership profile sizes it"
    usable = f"{number(storage.usable_bytes / 1e15, 3)} PB usable of {number(storage.raw_bytes / 1e15, 3)} raw"
    read, write = number(storage.read_gbyte_s, 3), number(storage.write_gbyte_s, 3)
    per_accelerator = (
        f"{number(storage.read_per_accelerator, 2)} and {number(storage.write_per_accelerator, 2)} an accelerator"
    )
    lines = (
        ("servers", f"{storage.servers:,}, {what}; {usable}"),
        (
            "rates",
            f"{read} GB/s read ({storage.read_binds}), {write} GB/s written ({storage.write_binds}); {per_accelerator}",
        ),
    )
    return Lines("Storage", lines)


def _missing_power(missing: tuple[MissingFigure, ...]) -> str:
    return f"; partial: no {listed(f'`{figure.path}` of `{figure.part}`' for figure in missing)}" if missing else ""


def _power_lines(p: PowerReport) -> Lines:
    partial = _missing_power(p.missing)
    lines = [("IT in training", f"{number(p.it_kw)} kW, {number(p.network_kw)} kW of it network{partial}")]
    shared = len({node.role for node in p.nodes}) < len(p.nodes)
    for node in p.nodes:
        text = f"component sum {number(node.component_sum_w)} W{_missing_power(node.missing)}"
        if node.training_grade != "component sum":
            rated = f"; rated {number(node.maximum_w)} W" if node.rated else ""
            idle = f"; idle {number(node.idle_w)} W" if node.idle_w is not None else ""
            text = f"{number(node.training_w)} W in training ({node.training_grade}){rated}{idle}; {text}"
        name = node.server if shared else f"{node.role} node"
        lines.append((name, text))
    return Lines("Power of what the design plans", tuple(lines))


def _site_lines(a: Assessment) -> Lines | None:
    if (s := a.site) is None:
        return None
    lines = []
    if s.purchase is not None:
        parts = (
            ("planned in the design", s.planned),
            ("for the prices of later phases", s.phases),
            ("that its profile adds", s.stood_in),
            ("building", s.building),
        )
        of = " ".join(f"{'-' if value < 0 else '+'} {amount(abs(value))} {name}" for name, value in parts if value)
        without = f"; without {listed(s.left_out)}" if s.left_out else ""
        if s.purchase_p50 is not None:
            lines.append(("purchase", f"{purchase_words(s, s.currency)}: median of the draws, P10 to P90"))
        lines.append(("likely prices", f"{amount(s.purchase)} {s.currency} = {of.removeprefix('+ ')}{without}"))
    partial = _missing_power(s.missing)
    peak = at_least(kilowatts(s.facility_peak_kw), s.missing)
    powers = f"{peak} at the rated peak, {kilowatts(s.facility_training_kw)} in training"
    powers += f" (IT {kilowatts(s.it_training_kw)})"
    use = f"at {percent(s.utilisation)} utilisation"
    lines += [
        ("facility", f"{powers}, at PUE {s.pue:g}{partial}"),
        ("energy", f"{number(s.energy_mwh_year)} MWh a year {use}{partial}"),
        ("racks", f"{s.racks:,}"),
    ]
    return Lines("Whole site, as in `ffplan cost`", tuple(lines))


def _money(value: float, currency: str) -> str:
    return f"{number(value, 5)} {currency}"


def _cost_lines(c: CostReport | None, a: Assessment) -> Lines | None:
    if c is None:
        return None
    sums = (("servers", c.servers), ("network", c.network), ("storage", c.storage))
    parts = " + ".join(f"{name} {number(value, 5)}" for name, value in sums if value is not None)
    total = f"{_money(c.total, c.currency)} = {parts}" if parts else f"nothing has a price in `{c.price_book}`"
    if c.total_low != c.total_high:
        total += f"; range {number(c.total_low, 5)} to {number(c.total_high, 5)}"
    partial = f"; partial: no price of {listed(f'`{part.part}`' for part in c.missing)}" if c.missing else ""
    total += partial
    lines = [("planned parts", total)]
    lines += [
        (
            line.category.replace("-", " "),
            f"{line.quantity:,} x {number(line.unit_price, 9)} = {number(line.total, 9)}"
            f"  {line.part} ({line.grade}, {line.status}, {line.date or 'undated'})",
        )
        for line in c.lines
    ]
    lines += [
        (part.category.replace("-", " "), f"{part.quantity:,} x no price  {part.part} (missing in {c.price_book})")
        for part in c.missing
    ]
    if c.per_accelerator is not None:
        lines.append(("per accelerator", _money(c.per_accelerator, c.currency) + partial))
    if c.excluded:
        names = [name.replace("-", " ") for name in c.excluded]
        if "storage" in c.excluded and not a.nodes.get("storage"):
            names.remove("storage")
        if names:
            lines.append(("not priced", f"{', '.join(names)}: outside the design's cost scope"))
    return Lines("Cost of what the design plans", tuple(lines))
