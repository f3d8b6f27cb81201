"""Bill of materials: every part that the cost scope includes, priced from one book."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import some
from ffplan.base.outcomes import CostLine, MissingPrice
from ffplan.base.record import record
from ffplan.catalog.evidence import date_of
from ffplan.fabric.family import plan_networks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.catalog.parts import Link, Switch
    from ffplan.design.resolved import ResolvedDesign, ResolvedGroup
    from ffplan.fabric.sizing.plan import FabricPlan


@record
class Item:
    """A part with its number."""

    category: str
    """servers, storage, switches, endpoint-links or inter-switch-links."""
    part: str
    quantity: int


@record
class CostPlan:
    """Cost of the priced scope, in one currency."""

    currency: str
    price_book: str
    date: str
    excluded: tuple[str, ...]
    lines: tuple[CostLine, ...]
    """Items with a price."""
    missing: tuple[MissingPrice, ...]
    """Items of the scope without a price, missing in the sums."""

    def sum_of(self, *categories: str) -> float | None:
        """Return the total of these categories' priced lines [currency]; None if all lack a price."""
        lines = [line for line in self.lines if line.category in categories]
        if not lines and any(item.category in categories for item in self.missing):
            return None
        return sum(line.total for line in lines)

    @property
    def servers(self) -> float | None:
        """Compute and management servers [currency]."""
        return self.sum_of("servers")

    @property
    def network(self) -> float | None:
        """Switches and links [currency]."""
        return self.sum_of("switches", "endpoint-links", "inter-switch-links")

    @property
    def total(self) -> float:
        """Sum of all priced lines [currency]."""
        return sum(line.total for line in self.lines)

    def per_accelerator(self, accelerators: int) -> float | None:
        """Return the total per accelerator [currency]; None without accelerators or prices."""
        if not some(accelerators) or (self.missing and not self.lines):
            return None
        return self.total / accelerators


def line_total(quantity: Any, unit_price: Any) -> Any:
    """Return the price of a line [currency].

    Args:
        quantity: pieces [1].
        unit_price: price of one piece [currency].

    Equation:
        total = quantity * unit price

    Source:
        Definition.
    """
    return quantity * unit_price


def fabric_cables(design: ResolvedDesign, fabric: FabricPlan) -> list[tuple[str, Link, int]]:
    """Return (category, link, pieces) of one fabric without side networks: cables as sold.

    They come from the floor plan, if any, else from one link type per category.
    """
    if design.spec.floor is None:
        return [
            ("endpoint-links", design.parts.endpoint_link, fabric.endpoint_cables),
            ("inter-switch-links", design.parts.inter_switch_link, fabric.inter_switch_parts),
        ]
    from ffplan.fabric.family import wire
    from ffplan.fabric.wiring.cabling import quantities

    parts = {link.id: link for link in design.cable_choices}
    counts = quantities(design, wire(design, fabric))
    return [(category, parts[name], count) for (category, name), count in sorted(counts.items())]


def cables_sold(links: list[tuple[str, Link, int]]) -> tuple[int, int]:
    """Return the number of cables as sold, to endpoints and between switches [1].

    Args:
        links: cables of a fabric, as `fabric_cables` returns them.

    Equation:
        sum of the pieces in each category

    Source:
        Definition; NVIDIA's DGX SuperPOD B300, Table 3, counts so.
    """
    to_endpoints, between = (
        sum(count for category, _, count in links if category == kind)
        for kind in ("endpoint-links", "inter-switch-links")
    )
    return to_endpoints, between


def cable_items(design: ResolvedDesign, fabric: FabricPlan) -> list[tuple[str, Link, int]]:
    """Return (category, link, pieces) of the fabric and all side networks, each as in `fabric_cables`."""
    others = (fabric_cables(net.design, net.plan) for net in plan_networks(design, fabric))
    return [item for links in (fabric_cables(design, fabric), *others) for item in links]


def switch_items(design: ResolvedDesign, fabric: FabricPlan) -> list[tuple[Switch, int]]:
    """Return each switch model with its number, over all roles and side networks."""
    models: dict[str, Switch] = {}
    counts: dict[str, int] = {}
    for role, count in fabric.switches_by_role.items():
        model = design.parts.switch_of(role)
        models[model.id] = model
        counts[model.id] = counts.get(model.id, 0) + count
    for network in plan_networks(design, fabric):
        for model, count in switch_items(network.design, network.plan):
            models[model.id] = model
            counts[model.id] = counts.get(model.id, 0) + count
    return [(models[name], count) for name, count in counts.items() if name == design.parts.switch.id or some(count)]


def bill_of_materials(
    design: ResolvedDesign, fabric: FabricPlan, links: list[tuple[str, Link, int]]
) -> tuple[Item, ...]:
    """Return every part of the cluster, in or out of the cost scope.

    Args:
        links: its cables, as `cable_items` returns them.
    """
    items = [Item(_category(group), group.server.id, group.group.count) for group in design.groups]
    items += _left_out(design)
    items += [Item("switches", model.id, count) for model, count in switch_items(design, fabric)]
    items += [Item(category, link.id, count) for category, link, count in links]
    return tuple(item for item in _merged(items) if some(item.quantity))


def _category(group: ResolvedGroup) -> str:
    return "storage" if group.group.role == "storage" else "servers"


def _left_out(design: ResolvedDesign) -> Iterator[Item]:
    """Yield NICs missing from bought servers as negative pieces; unpriced ones reduce nothing."""
    for group in design.groups:
        for nic in group.left_out:
            if design.prices is not None and nic.id in design.prices.items:
                yield Item(_category(group), nic.id, -group.group.count)


def node_price(design: ResolvedDesign, plan: CostPlan) -> tuple[float, float, float] | None:
    """Return the price of one compute node, less its missing NICs: likely, low and high [currency].

    None if its server has no price, or is out of scope.

    Equation:
        price of the server - prices of the NICs left out, at the same end of each range

    Source:
        Definition.
    """
    book = design.prices
    if book is None or all(line.part != design.compute.server.id for line in plan.lines):
        return None
    less = [book.items[nic.id] for nic in design.compute.left_out if nic.id in book.items]
    whole = book.items[design.compute.server.id]
    low, high = (whole.range[end] - sum(figure.range[end] for figure in less) for end in (0, 1))
    return whole.value - sum(figure.value for figure in less), low, high


def _merged(items: list[Item]) -> Iterator[Item]:
    """Yield each part of a category once, with all its pieces."""
    counts: dict[tuple[str, str], int] = {}
    for line in items:
        key = line.category, line.part
        counts[key] = counts.get(key, 0) + line.quantity
    for (category, part), quantity in counts.items():
        yield Item(category, part, quantity)


def _lines(design: ResolvedDesign, items: list[Item]) -> Iterator[CostLine]:
    book = design.prices
    assert book is not None
    for item in items:
        figure = book.items[item.part]
        source = book.sources[figure.source]
        low, high = figure.range
        yield CostLine(
            category=item.category,
            part=item.part,
            quantity=item.quantity,
            unit_price=figure.value,
            total=line_total(item.quantity, figure.value),
            low=line_total(item.quantity, low),
            high=line_total(item.quantity, high),
            grade=figure.grade or source.grade,
            status=figure.status or source.status,
            date=date_of(figure, book.sources),
        )


def price(
    design: ResolvedDesign, fabric: FabricPlan, links: list[tuple[str, Link, int]] | None = None
) -> CostPlan | None:
    """Return the priced bill of materials; None if the design names no price book.

    A part without a price is listed as missing and left out of the sums.

    Args:
        links: its cables, if already known.
    """
    scope, book = design.spec.cost, design.prices
    if scope is None or book is None:
        return None
    cables = cable_items(design, fabric) if links is None else links
    items = [item for item in bill_of_materials(design, fabric, cables) if item.category not in scope.exclude]
    return CostPlan(
        currency=book.currency,
        price_book=book.id,
        date=book.date,
        excluded=tuple(scope.exclude),
        lines=tuple(_lines(design, [item for item in items if item.part in book.items])),
        missing=tuple(
            MissingPrice(item.category, item.part, item.quantity) for item in items if item.part not in book.items
        ),
    )
