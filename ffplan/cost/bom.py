"""Bill of materials: every part that the cost scope includes, priced from one book."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import some
from ffplan.base.outcomes import CostLine, MissingPrice
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.catalog.parts import Link
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan


@record
class Item:
    """A number of one part."""

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
    """Items of the scope without a price: the sums leave them out."""

    def sum_of(self, *categories: str) -> float | None:
        """Return the total over the priced lines of these categories [currency]; None where all lack a price."""
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
        """Sum of what has a price [currency]."""
        return sum(line.total for line in self.lines)

    def per_accelerator(self, accelerators: int) -> float | None:
        """Return the total over accelerators [currency]; None without accelerators, or where nothing has a price."""
        if not some(accelerators) or (self.missing and not self.lines):
            return None
        return self.total / accelerators


def line_total(quantity: Any, unit_price: Any) -> Any:
    """Return the price of a line.

    Args:
        quantity: pieces [1].
        unit_price: price of one piece [currency].

    Returns:
        Total [currency], broadcast shape.

    Equation:
        total = quantity * unit price

    Source:
        Definition.
    """
    return quantity * unit_price


def cable_items(design: ResolvedDesign, fabric: FabricPlan) -> list[tuple[str, Link, int]]:
    """Return (category, link, cables): from the floor plan where the design has one, else one type for each kind."""
    if design.spec.floor is None:
        return [
            ("endpoint-links", design.endpoint_link, fabric.endpoint_cables),
            ("inter-switch-links", design.inter_switch_link, fabric.inter_switch_cables),
        ]
    from ffplan.fabric.family import wire
    from ffplan.fabric.wiring.cabling import quantities

    parts = {link.id: link for link in design.cable_choices}
    found = quantities(design, wire(design, fabric))
    return [(category, parts[name], count) for (category, name), count in sorted(found.items())]


def bill_of_materials(
    design: ResolvedDesign, fabric: FabricPlan, links: list[tuple[str, Link, int]]
) -> tuple[Item, ...]:
    """Return every part the cluster is bought from, in or out of the cost scope.

    Args:
        design: the design.
        fabric: its fabric.
        links: its cables, as `cable_items` returns them.
    """
    items = [
        Item("storage" if g.group.role == "storage" else "servers", g.server.id, g.group.count) for g in design.groups
    ]
    items.append(Item("switches", design.switch.id, fabric.switches))
    items += [Item(category, link.id, count) for category, link, count in links]
    return tuple(item for item in items if some(item.quantity))


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
        )


def price(
    design: ResolvedDesign, fabric: FabricPlan, links: list[tuple[str, Link, int]] | None = None
) -> CostPlan | None:
    """Return the priced bill of materials, or None where the design names no price book.

    A part without a price is listed as missing, and the sums are of what has one.

    Args:
        design: the design.
        fabric: its fabric.
        links: its cables, where they are known already.
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
