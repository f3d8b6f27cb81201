"""Phases of a purchase: what each buys, and what it must leave free for those after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import ceil_div
from ffplan.cost.bill import part_lines
from ffplan.cost.bom import Item
from ffplan.cost.rent import MONTHS
from ffplan.results.cost import PhaseReport

if TYPE_CHECKING:
    from ffplan.base.outcomes import BomLine
    from ffplan.cost.account import Values, YearAccount
    from ffplan.cost.inputs import Input
    from ffplan.design.schema import Phase
    from ffplan.studies.cost_parts import Purchase
    from ffplan.studies.ledger import Ledger

EDGE = ("leaf", "router")
"""Roles of the switches that nodes join: they come with their nodes; the switches above are built at once."""


def _parts_of(ledger: Ledger, phase: Phase) -> dict[tuple[str, str], int]:
    """Return how many of each part stand after a phase, by category and part.

    Servers are as the phase has them. Switches that nodes join, their links upwards, and what stands beside the fabric
    grow with the nodes, rounded up; switches above them are bought at once, since later phases need their ports.
    """
    design = ledger.design
    whole = sum(group.group.count for group in design.groups)
    nodes = sum(phase.nodes)
    edge = sum(count for role, count in ledger.fabric.switches_by_role.items() if role in EDGE)
    above = ledger.fabric.switches - edge
    counts = dict(zip((group.position for group in design.groups), phase.nodes, strict=True))
    found: dict[tuple[str, str], int] = {}
    servers = {group.server.id: 0 for group in design.groups}
    for group in design.groups:
        servers[group.server.id] += counts[group.position]
    for item in (*ledger.planned, *ledger.around):
        key, count = (item.category, item.part), int(item.quantity)
        if item.category in ("servers", "storage") and item.part in servers:
            found[key] = servers[item.part]
        elif item.category == "switches":
            found[key] = found.get(key, 0) + above + ceil_div(edge * nodes, whole)
        else:
            found[key] = found.get(key, 0) + ceil_div(count * nodes, whole)
    return found


def _lines(ledger: Ledger, phase: Phase, before: dict[tuple[str, str], int]) -> list[BomLine]:
    from dataclasses import replace

    now = _parts_of(ledger, phase)
    scale = 1 + phase.price_change
    items = [Item(kind, part, count - before.get((kind, part), 0)) for (kind, part), count in now.items()]
    prices: dict[str, Input] = {
        part: replace(price, likely=price.likely * scale, low=price.low * scale, high=price.high * scale)
        for part, price in ledger.prices.items()
    }
    lines = part_lines([item for item in items if item.quantity > 0], prices, ledger.names)
    total = sum(line.total for line in lines)
    return [replace(line, share=line.total / total if total else 0.0) for line in lines]


def _ready(phase: Phase, v: Values) -> float:
    """Return the month of a phase's first job."""
    wait = v.get("lead_time", 0.0) + v.get("commissioning", 0.0)
    return (phase.after + (phase.lead_time if phase.lead_time is not None else float(wait))) * MONTHS


def phase_reports(ledger: Ledger, v: Values) -> tuple[PhaseReport, ...]:
    """Return the phases of a design.

    Args:
        ledger: the design with its account.
        v: inputs by name, at their likely values.
    """
    design, found = ledger.design, []
    before: dict[tuple[str, str], int] = {}
    whole = sum(group.group.count for group in design.groups)
    edge = sum(count for role, count in ledger.fabric.switches_by_role.items() if role in EDGE)
    for phase in design.spec.phases:
        lines = _lines(ledger, phase, before)
        before = _parts_of(ledger, phase)
        nodes = sum(phase.nodes)
        leaves = ceil_div(edge * nodes, whole)
        roles: dict[str, int] = {}
        rated = 0.0
        for group, node, count in zip(design.groups, ledger.nodes, phase.nodes, strict=False):
            roles[group.group.role] = roles.get(group.group.role, 0) + count
            rated += count * node.maximum_w
        racks = ceil_div(ledger.site.racks * nodes, whole)
        accelerators = sum(
            group.accelerators_per_node * count
            for group, count in zip(design.groups, phase.nodes, strict=True)
            if group.group.role == "compute"
        )
        ports = ledger.fabric.endpoints * (whole - nodes) // whole
        found.append(
            PhaseReport(
                name=phase.name,
                order_month=phase.after * MONTHS,
                ready_month=_ready(phase, v),
                nodes=roles,
                accelerators=accelerators,
                lines=tuple(lines),
                capex=round(sum(line.total for line in lines), 2),
                switches=ledger.fabric.switches - edge + leaves,
                spare_ports=ledger.fabric.spare_ports + ports,
                racks=racks,
                it_rated_kw=(rated + ledger.power.network_maximum_w * nodes / whole) / 1e3,
                reserve=_reserve(ledger, nodes, whole, racks, rated),
            )
        )
    return tuple(found)


def _reserve(ledger: Ledger, nodes: int, whole: int, racks: int, rated: float) -> tuple[str, ...]:
    """Return what a phase must leave free for those after it."""
    if nodes == whole:
        return ()
    full = sum(node.count * node.maximum_w for node in ledger.nodes[: len(ledger.design.groups)])
    edge = sum(count for role, count in ledger.fabric.switches_by_role.items() if role in EDGE)
    leaves = edge - ceil_div(edge * nodes, whole)
    above = ledger.fabric.switches - edge
    ups = f"the ports of {above:,} upper switches for {leaves:,} more leaf switches" if above else ""
    words = (
        ups,
        f"floor for {ledger.site.racks - racks:,} racks",
        f"{(full - rated) / 1e3:,.0f} kW of rated power for nodes, and its cooling",
    )
    return tuple(text for text in words if text)


def purchases(ledger: Ledger, v: Values, year: YearAccount) -> list[Purchase]:
    """Return what is bought when: delivery, first job, part of the running costs, price.

    Freight, installation, racks and the building are split over phases as the parts are.

    Args:
        ledger: the design with its account.
        v: inputs by name, at their likely values.
        year: the cluster's year.
    """
    whole = float(year.capex + year.building)
    lead, commissioning = (float(v.get(name, 0.0)) * MONTHS for name in ("lead_time", "commissioning"))
    if ledger.owned.rent is not None:
        return [(-1.0, 0.0, 1.0, 0.0)]
    if not ledger.design.spec.phases:
        return [(lead, lead + commissioning, 1.0, whole)]
    reports = phase_reports(ledger, v)
    listed = float(year.purchase["hardware"])
    adders = whole / listed if listed else 0.0
    found: list[Purchase] = []
    before = 0
    for report in reports:
        count = sum(report.nodes.values())
        total = sum(group.group.count for group in ledger.design.groups)
        delivery = max(report.order_month, report.ready_month - commissioning)
        found.append((delivery, report.ready_month, (count - before) / total, report.capex * adders))
        before = count
    return found
