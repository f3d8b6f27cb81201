"""Phases of a purchase: what each buys, and the reserves it must leave for later ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import ceil_div
from ffplan.cost.bill import part_lines
from ffplan.cost.bom import Item
from ffplan.cost.cash import Purchase, again, one_purchase
from ffplan.cost.power import HOURS_PER_YEAR
from ffplan.cost.rent import MONTHS
from ffplan.reliability.hazards import EDGE_ROLES
from ffplan.results.cost import PhaseReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.base.outcomes import BomLine
    from ffplan.cost.account import Values, YearAccount
    from ffplan.cost.inputs import Input
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.schema import Phase
    from ffplan.results.cost import Waiting
    from ffplan.studies.cost.ledger import Ledger


def _counts(design: ResolvedDesign, phase: Phase) -> list[int]:
    return [sum(phase.nodes[index] for index in group.written) for group in design.groups]


def _parts_of(ledger: Ledger, phase: Phase) -> dict[tuple[str, str], int]:
    """Return the number of each part after a phase, by category and part.

    Servers are as the phase has them. Switches that nodes join, their links upwards, and parts around the fabric
    grow with the nodes, rounded up; switches above them are bought at once, since later phases need their ports.
    """
    design = ledger.design
    whole = sum(group.group.count for group in design.groups)
    nodes = sum(phase.nodes)
    edge = sum(count for role, count in ledger.fabric.switches_by_role.items() if role in EDGE_ROLES)
    above = ledger.fabric.switches - edge
    counts: dict[tuple[str, str], int] = {}
    servers = {group.server.id: 0 for group in design.groups}
    for group, count in zip(design.groups, _counts(design, phase), strict=True):
        servers[group.server.id] += count
    whole_of = {group.server.id: 0 for group in design.groups}
    for group in design.groups:
        whole_of[group.server.id] += group.group.count
    for line in (*ledger.planned, *ledger.around):
        key, count = (line.category, line.part), int(line.quantity)
        if line.category in ("servers", "storage") and line.part in servers:
            counts[key] = servers[line.part]
        elif line.category == "spares" and line.part in servers:
            counts[key] = ceil_div(count * servers[line.part], whole_of[line.part])
        elif line.category == "switches":
            counts[key] = counts.get(key, 0) + above + ceil_div(edge * nodes, whole)
        else:
            counts[key] = counts.get(key, 0) + ceil_div(count * nodes, whole)
    return counts


def _priced_counts(ledger: Ledger) -> tuple[tuple[str, float], ...]:
    """Return parts and how many of them at the book's price cost what the phases cost.

    Equation:
        sum over phases of pieces * (1 + price change)

    Source:
        Definition.
    """
    counts: dict[str, float] = {}
    before: dict[tuple[str, str], int] = {}
    for phase in ledger.design.spec.phases:
        now = _parts_of(ledger, phase)
        for (kind, part), count in now.items():
            if part in ledger.prices:
                added = _added(count, before.get((kind, part), 0))
                counts[part] = counts.get(part, 0.0) + added * (1 + phase.price_change)
        before = now
    return tuple(counts.items())


def _added(count: int, before: int) -> int:
    """Return the pieces that a phase adds; of parts that are left out, such as NICs, they are negative [1]."""
    return min(count - before, 0) if count < 0 else max(count - before, 0)


def _lines(ledger: Ledger, phase: Phase, before: dict[tuple[str, str], int]) -> list[BomLine]:
    now = _parts_of(ledger, phase)
    scale = 1 + phase.price_change
    items = [Item(kind, part, _added(count, before.get((kind, part), 0))) for (kind, part), count in now.items()]
    prices: dict[str, Input] = {
        part: replace(price, likely=price.likely * scale, low=price.low * scale, high=price.high * scale)
        for part, price in ledger.prices.items()
    }
    lines = part_lines([item for item in items if item.quantity], prices, ledger.names, ledger.owned.currency)
    total = sum(line.total for line in lines)
    return [replace(line, share=line.total / total if total else 0.0) for line in lines]


def _ready(phase: Phase, v: Values) -> float:
    wait = v.get("lead_time", 0.0) + v.get("commissioning", 0.0)
    return (phase.after + (phase.lead_time if phase.lead_time is not None else float(wait))) * MONTHS


def _phase_reports(ledger: Ledger, v: Values, year: YearAccount) -> tuple[PhaseReport, ...]:
    design, reports = ledger.design, []
    before: dict[tuple[str, str], int] = {}
    listed = float(year.purchase.get("hardware", 0.0))
    adders = float(year.capex + year.building) / listed if listed else 0.0
    for phase in design.spec.phases:
        lines = _lines(ledger, phase, before)
        before = _parts_of(ledger, phase)
        stands = _Standing(ledger, phase)
        reports.append(
            PhaseReport(
                name=phase.name,
                order_month=phase.after * MONTHS,
                ready_month=_ready(phase, v),
                nodes=stands.roles,
                accelerators=stands.accelerators,
                lines=tuple(lines),
                capex=round(sum(line.total for line in lines) * adders, 2),
                switches=stands.switches,
                spare_ports=stands.spare_ports,
                racks=stands.racks,
                it_rated_kw=stands.rated_w / 1e3,
                reserve=_reserve(ledger, stands),
            )
        )
    return tuple(reports)


class _Standing:
    def __init__(self, ledger: Ledger, phase: Phase) -> None:
        design, fabric = ledger.design, ledger.fabric
        self.whole = sum(group.group.count for group in design.groups)
        self.nodes = sum(phase.nodes)
        self.edge = sum(count for role, count in fabric.switches_by_role.items() if role in EDGE_ROLES)
        self.leaves = ceil_div(self.edge * self.nodes, self.whole)
        self.above = fabric.switches - self.edge
        self.switches = self.above + self.leaves
        self.racks = ceil_div(ledger.site.racks * self.nodes, self.whole)
        self.roles: dict[str, int] = {}
        self.accelerators, self.nodes_w = 0, 0.0
        for group, node, count in zip(design.groups, ledger.nodes, _counts(design, phase), strict=False):
            self.roles[group.group.role] = self.roles.get(group.group.role, 0) + count
            self.nodes_w += count * node.maximum_w
            if group.group.role == "compute":
                self.accelerators += group.accelerators_per_node * count
        ports = (fabric.endpoints + fabric.spare_ports) * self.leaves // self.edge
        self.spare_ports = max(ports - ceil_div(fabric.endpoints * self.nodes, self.whole), 0)
        every = sum(node.count * node.maximum_w for node in ledger.nodes[: len(design.groups)])
        network = ledger.power.network_maximum_w
        beside = ledger.account.rated_w - every - network
        self.rated_w = self.nodes_w + network * self.switches / fabric.switches + beside * self.nodes / self.whole
        self.later_w = ledger.account.rated_w - self.rated_w


def _reserve(ledger: Ledger, stands: _Standing) -> tuple[str, ...]:
    """Return the reserves that a phase must leave for later ones."""
    if stands.nodes == stands.whole:
        return ()
    leaves = stands.edge - stands.leaves
    ups = f"the ports of {stands.above:,} upper switches for {leaves:,} more leaf switches" if stands.above else ""
    reserved = (
        ups,
        f"floor for {ledger.site.racks - stands.racks:,} racks",
        f"{stands.later_w / 1e3:,.0f} kW of rated power, and its cooling",
    )
    return tuple(text for text in reserved if text)


def _first_part(ledger: Ledger) -> float:
    """Return the part of the accelerators that the first order buys [1]."""
    phases = ledger.design.spec.phases
    return _Standing(ledger, phases[0]).accelerators / ledger.account.accelerators if phases else 1.0


def purchases(ledger: Ledger, v: Values, year: YearAccount, wait: Waiting) -> tuple[Purchase, ...]:
    """Return the purchases by date.

    Discount, freight, installation, racks and the building are split over phases as the parts are. What bridges a
    month of the first wait bridges, by accelerators, those of later phases; a stated `delay` is of the first job alone.
    A rent paid upfront is paid again for each term, and an own building that is over first is built again.
    """
    lead, commissioning = map(float, ledger.to_production(v))
    life = float(v["life"]) * MONTHS
    if ledger.owned.rent is not None:
        term = ledger.account.term
        rent = float(v["rent"]) * ledger.account.accelerators * HOURS_PER_YEAR
        years = term.years or float(v["life"])
        prepaid = term.upfront * rent * years
        first = one_purchase(0.0, lead + commissioning, prepaid * min(1.0, float(v["life"]) / years), wait.value)
        return (first, *(again(first, prepaid, years * MONTHS, life) if prepaid else ()))
    if not ledger.design.spec.phases:
        first = one_purchase(lead, lead + commissioning, float(year.capex + year.building), wait.value)
        return (first, *_rebuilt(ledger, v, year, (first,)))
    bought: list[Purchase] = []
    nodes = accelerators = 0
    total = sum(group.group.count for group in ledger.design.groups)
    bridge = 0.0 if not wait.value or not wait.months else wait.value / wait.months / _first_part(ledger)
    for report in _phase_reports(ledger, v, year):
        count, part = sum(report.nodes.values()), (report.accelerators - accelerators) / ledger.account.accelerators
        later = (
            0.0 if ledger.owned.delay_month is not None else bridge * part * (report.ready_month - report.order_month)
        )
        bought.append(
            Purchase(
                order=report.order_month,
                delivery=max(report.order_month, report.ready_month - commissioning),
                ready=report.ready_month,
                running=(count - nodes) / total,
                accelerators=part,
                price=report.capex,
                wait=None if wait.value is None else later if bought else wait.value,
            )
        )
        nodes, accelerators = count, report.accelerators
    return (*bought, *_rebuilt(ledger, v, year, bought))


def _rebuilt(ledger: Ledger, v: Values, year: YearAccount, bought: Sequence[Purchase]) -> tuple[Purchase, ...]:
    """Return the payments for rebuilding an own building that does not outlast the hardware."""
    if ledger.owned.facility != "own":
        return ()
    last = max(part.ready for part in bought)  # as of the cash, whichever phase is the last in production
    life = last - bought[0].ready + float(v["life"]) * MONTHS
    return again(bought[0], float(year.building), float(v["building_life"]) * MONTHS, life)
