"""Shared code of the limit rules: a finding at a limit that is broken or cannot be checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import number, power

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.inputs.quantities import Money


def _show(value: float, unit: str) -> str:
    return power(value) if unit == "W" else f"{number(value, 5)} {unit}"


def hold(
    design: ResolvedDesign,
    field: str,
    actual: float | None,
    limit: float | None,
    unit: str,
    *,
    what: str,
    remedy: str,
    least: bool = False,
) -> Iterator[Finding]:
    """Yield a finding where `actual` breaks `limit`, or where it is not known.

    Args:
        design: the design, for places.
        field: field under `limits`.
        actual: the value of the assessment, in `unit`; None where it has none.
        limit: the limit that the design declares, in `unit`; None where it declares none.
        unit: unit for the message.
        what: the quantity, with its reason, for the message.
        remedy: what would be right.
        least: the limit is a minimum.
    """
    if limit is None:
        return
    rule, path = f"limit-{field.replace('_', '-')}", ("limits", field)
    if actual is None:
        yield design.document.finding(rule, path, f"the limit cannot be checked: {what} is not known", remedy)
        return
    slack = 1e-9 * max(abs(actual), abs(limit))
    broken = actual < limit - slack if least else actual > limit + slack
    if broken:
        word, bound = ("below", "at least") if least else ("above", "at most")
        yield design.document.finding(
            rule,
            path,
            f"{what} is {_show(actual, unit)}, {word} the limit of {bound} {_show(limit, unit)}",
            remedy,
        )


def hold_money(
    design: ResolvedDesign, field: str, actual: float | None, limit: Money | None, *, what: str
) -> Iterator[Finding]:
    """Yield a finding where an amount of money breaks its limit, or where the design has no prices.

    Args:
        design: the design, for places.
        field: field under `limits`.
        actual: the amount, in the currency of the limit; None where the design has no prices.
        limit: the limit that the design declares; None where it declares none.
        what: the quantity, for the message.
    """
    if limit is not None:
        remedy = (
            "name a price book under `cost` that prices something in scope"
            if actual is None
            else "spend less, or raise the limit"
        )
        yield from hold(design, field, actual, limit.amount, limit.currency, what=what, remedy=remedy)
