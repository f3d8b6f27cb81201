"""A comparison as rows of raw numbers: design, metric, value, ratio to the baseline and unit."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ffplan.figures.address import COMPARED, PRICED, figure_at_address, place_of, unit_at_address, value_at_address
from ffplan.results.comparison import Ratios

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.results.comparison import Comparison, MoneyComparison, MoneySide

Row = dict[str, object]
_ENDS = {"": "", "_p10": ".p10", "_p90": ".p90"}
"""End of an address by the end of a row's name, of a figure with quantiles."""


def _side(side: MoneySide, currency: str) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and unit of each figure of a run in money on one design."""
    owned = {
        "currency": currency,
        "capex": side.capex,
        "per_accelerator_hour": side.hour,
        "waiting": side.waiting,
    }
    results = {"tco": owned, "run": side.run or {"currency": currency}}
    for name, address in PRICED.items():
        place, unit = place_of(address), unit_at_address(results, address) or "1"
        for end, part in _ENDS.items() if place is not None and place.ranged else [("", "")]:
            yield f"{name}{end}", value_at_address(results, f"{address}{part}"), unit


def _money(money: MoneyComparison) -> Iterator[Row]:
    ratios = dict.fromkeys((difference.against for difference in money.differences), 1.0)
    ratios |= {difference.label: difference.ratio.likely for difference in money.differences}
    shares = {difference.label: difference.cheaper_share for difference in money.differences}
    for side in money.sides:
        for name, value, unit in _side(side, money.currency):
            ratio = ratios.get(side.label) if name == "cost_per_million_tokens" else None
            yield _row(side.label, name, value, ratio, unit)
        if side.label in shares:
            yield _row(side.label, "cheaper_share", shares[side.label], None, "1")


def _row(design: str, metric: str, value: object, ratio: object, unit: str) -> Row:
    return {"design": design, "metric": metric, "value": value, "ratio": ratio, "unit": unit}


def _comparison_rows(c: Comparison) -> list[Row]:
    """Return design, metric, value, ratio to the baseline and unit, in raw numbers; a run in money comes last."""
    rows: list[Row] = []
    for name, design in zip(c.labels, c.designs, strict=True):
        for ratio in fields(Ratios):
            results, address = {"": design}, COMPARED.get(ratio.name, "")
            value, unit = value_at_address(results, address), unit_at_address(results, address)
            currency = figure_at_address(address).unit == "currency"
            unit = unit if unit or currency else "1"
            rows.append(_row(name, ratio.name, value, getattr(c.ratios[name], ratio.name), unit))
    return rows + (list(_money(c.money)) if c.money is not None else [])
