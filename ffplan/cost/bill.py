"""The bill of materials: lines in decimal arithmetic, whose sum matches the total to the cent."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

from ffplan.base.outcomes import BomLine
from ffplan.base.record import record
from ffplan.cost.bom import line_total
from ffplan.cost.site import PDUS_PER_RACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.cost.account import Account
    from ffplan.cost.bom import Item
    from ffplan.cost.inputs import Input

CENT = Decimal("0.01")
SHARES = (
    ("discount", "volume discount", -1),
    ("freight", "freight, insurance and duty", 1),
    ("installation", "installation", 1),
)
"""Lines that are a share of the hardware: input, description and sign."""
PLANNED, PHASED, STOOD_IN, BUILDING = "planned", "phases", "stood-in", "building"
"""Scopes of lines: planned by the design, what other prices of its phases add to that, added by its ownership profile,
and the building."""


@record
class Bill:
    """The bill of materials."""

    lines: tuple[BomLine, ...]
    hardware: float
    """Planned parts without spares and side networks [currency]."""
    total: float
    low: float
    high: float


def _decimal(value: float) -> Decimal:
    """Return a float [same unit] as the decimal number it prints as."""
    # `Decimal(value)` would show the binary digits: 0.1 is not 0.1000000000000000055
    return Decimal(repr(float(value)))


def _cents(value: Decimal) -> Decimal:
    return value.quantize(CENT, rounding=ROUND_HALF_EVEN)


def _line(
    kind: str, part: str | None, description: str, quantity: float, price: Input, *, currency: str, scope: str
) -> BomLine:
    pieces = _decimal(quantity)
    unit, low, high = (_decimal(value) for value in (price.likely, price.low, price.high))
    return BomLine(
        kind=kind,
        scope=scope,
        part=part,
        description=description,
        quantity=quantity,
        unit_price=float(unit),
        total=float(_cents(line_total(pieces, unit))),
        low=float(_cents(line_total(pieces, low))),
        high=float(_cents(line_total(pieces, high))),
        share=0.0,
        source=price.source,
        date=price.date,
        status=price.status,
        currency=currency,
    )


def part_lines(
    items: Iterable[Item], prices: dict[str, Input], names: dict[str, str], currency: str, scope: str = PLANNED
) -> list[BomLine]:
    """Return a line for every part with a price."""
    return [
        _line(
            part.category,
            part.part,
            names.get(part.part, part.part),
            part.quantity,
            prices[part.part],
            currency=currency,
            scope=scope,
        )
        for part in items
        if part.part in prices and part.quantity
    ]


def _share_lines(lines: list[BomLine], inputs: dict[str, Input], currency: str) -> Iterator[BomLine]:
    """Yield the discount, then shares of the discounted hardware."""
    hardware = sum((_decimal(line.total) for line in lines), Decimal(0))
    for name, label, sign in SHARES:
        figure = inputs.get(name)
        if figure is None or not figure.high:
            continue
        # `+ 0` turns a negative zero into 0
        amounts = [_cents(sign * _decimal(share) * hardware) + 0 for share in (figure.likely, figure.low, figure.high)]
        if name == "discount":
            # first in `SHARES`: the shares after it apply to the discounted hardware
            hardware += amounts[0]
        # a discount swaps the ends
        likely, low, high = amounts[0], min(amounts[1:]), max(amounts[1:])
        yield BomLine(
            kind=name,
            scope=STOOD_IN,
            part=None,
            description=f"{label}, {100 * figure.likely:g} % of hardware",
            quantity=1,
            unit_price=float(likely),
            total=float(likely),
            low=float(low),
            high=float(high),
            share=0.0,
            source=figure.source,
            date=figure.date,
            status=figure.status,
            currency=currency,
        )


def _phase_lines(account: Account, lines: list[BomLine], prices: dict[str, Input], currency: str) -> list[BomLine]:
    """Return the price differences of later phases from the book; empty without any."""
    ends = [
        sum(
            (
                _decimal(line_total(count, getattr(prices[part], end)))
                for part, count in account.parts
                if part in prices
            ),
            Decimal(0),
        )
        - sum((_decimal(getattr(line, field)) for line in lines), Decimal(0))
        for end, field in (("likely", "total"), ("low", "low"), ("high", "high"))
    ]
    likely, low, high = (float(_cents(end)) for end in ends)
    # below one unit of currency it is rounding, not another price
    if not account.parts or abs(likely) < 1:
        return []
    return [
        BomLine(
            kind="phases",
            scope=PHASED,
            part=None,
            description="other prices of later phases",
            quantity=1,
            unit_price=likely,
            total=likely,
            low=min(low, high),
            high=max(low, high),
            share=0.0,
            source="the design",
            date=None,
            status="given",
            currency=currency,
        )
    ]


def bill(
    account: Account,
    planned: Iterable[Item],
    around: Iterable[Item],
    prices: dict[str, Input],
    inputs: dict[str, Input],
    names: dict[str, str],
    currency: str,
) -> Bill:
    """Return the bill of materials."""
    planned_lines = part_lines(planned, prices, names, currency)
    lines = planned_lines + part_lines(around, prices, names, currency, STOOD_IN)
    # before the shares, which apply to later phases too
    lines += _phase_lines(account, lines, prices, currency)
    lines += list(_share_lines(lines, inputs, currency))
    # a building is sized for the rated power, not for the power in training
    built = account.rated_w if account.facility == "own" else 0.0
    rules = (
        ("cabling", "labour of a cable", account.links, "cabling_labour", STOOD_IN),
        ("racks", "rack cabinet", account.racks, "rack", STOOD_IN),
        ("racks", "rack power distribution unit", PDUS_PER_RACK * account.racks, "rack_pdu", STOOD_IN),
        ("cooling", "coolant distribution, per W of liquid-cooled load", account.liquid_w, "liquid_cooling", STOOD_IN),
        ("building", "building, per W of rated IT power", built, "building", BUILDING),
    )
    lines += [
        _line(kind, None, label, count, inputs[name], currency=currency, scope=scope)
        for kind, label, count, name, scope in rules
        if count and name in inputs
    ]
    total, low, high = (
        sum((_decimal(getattr(line, field)) for line in lines), Decimal(0)) for field in ("total", "low", "high")
    )
    return Bill(
        lines=tuple(replace(line, share=line.total / float(total) if total else 0.0) for line in lines),
        hardware=float(sum((_decimal(line.total) for line in planned_lines), Decimal(0))),
        total=float(total),
        low=float(low),
        high=float(high),
    )
