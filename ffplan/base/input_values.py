"""Inputs of an account as people read them: in their unit, money with its currency."""

from __future__ import annotations

from ffplan.base.formatting import number, short
from ffplan.base.tracked import _traced

SHARES = ("discount", "freight", "installation", "support", "residual", "capital", "idle")
"""Inputs that are shares of a whole, 0 or more."""
PARTS = (*SHARES, "utilisation", "effective")
"""Inputs that people read as percentages."""
OWN = "@"
"""Separator before the design's label in a name or key; draws of both designs share one quantile."""


def _money(value: float) -> str:
    """Return an amount with cents below a hundred, and three digits below one."""
    if 1 <= abs(value) < 100:
        return f"{value:,.2f}"
    return number(value, 3) if abs(value) < 1 else f"{value:,.0f}"


@_traced
def input_value(name: str, value: float | None, unit: str, currency: str) -> str:
    """Return a value of an input with its unit, such as `3.10 USD/h`, `81.7 %` and `4 years`; a dash for none.

    Args:
        name: name of the input.
        value: the value [unit].
        unit: its unit; `currency` is replaced by the account's currency.
        currency: currency of the account.
    """
    if value is None:
        return "-"
    if name.partition(OWN)[0] in PARTS:
        return f"{100 * value:.1f} %"
    if unit == "1":
        return short(value)
    if unit == "year":
        text = short(value)
        return f"{text} year" if text == "1" else f"{text} years"
    numerator, _, denominator = unit.partition(" per ")
    per = f"/{denominator.replace('hour', 'h')}" if denominator else ""
    if numerator == "currency":
        return f"{_money(value)} {currency}{per}"
    return f"{short(value)} {numerator}{per}"
