"""Numbers as people read them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ffplan.base.tracked import _traced, split_marks

if TYPE_CHECKING:
    from collections.abc import Iterable


GIB = 2.0**30
"""Bytes of a GiB."""


@_traced
def number(value: float, digits: int = 4) -> str:
    """Return `value` with thousands separators and about `digits` significant digits; whole numbers in full."""
    if value == int(value):
        return f"{int(value):,}"
    places = max(0, digits - len(str(int(abs(value)))))
    text = f"{value:,.{places}f}"
    if abs(value) < 1:
        text = f"{value:.{digits}g}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


@_traced
def short(value: float) -> str:
    """Return `value` to three digits, or to the last whole number from a hundred on."""
    return number(value, 3) if abs(value) < 100 else f"{value:,.0f}"


LARGE = 10_000_000
"""Smallest amount written in millions or billions."""
_FEW, _MILLION = 3, 1_000_000
"""Digits of a first screen, on which an amount of a million is in millions already."""


@_traced
def amount(value: float, digits: int = 4) -> str:
    """Return an amount of money; large ones in millions (mn) or billions (bn), such as `1.434 bn`."""
    if abs(value) < (_MILLION if digits <= _FEW else LARGE):
        return number(value, digits + 1)
    unit, size = ("bn", 1e9) if abs(value) >= 1e9 else ("mn", 1e6)
    return f"{number(value / size, digits)} {unit}"


@_traced
def ranged(middle: float, low: float, high: float, unit: str = "", *, ends: bool = True) -> str:
    """Return a figure with its range, rounded to what its range supports, such as `10.4 mn USD (8.3 to 13.1)`.

    Two digits of the width of the range are shown; large amounts are in millions or billions.

    Args:
        middle: the figure, such as a median.
        high: its high end; where both ends are equal, none is shown.
        ends: show the range too, not only the figure that it rounds.
    """
    if low == high:
        return f"{amount(middle, _FEW) if abs(middle) >= _MILLION else number(middle, 3)} {unit}".rstrip()
    scale, word = next(((size, name) for size, name in ((1e9, "bn"), (1e6, "mn")) if abs(middle) >= size), (1.0, ""))
    places = 1 - math.floor(math.log10((high - low) / scale))

    def digits(value: float) -> str:
        return f"{round(value / scale, places):,.{max(places, 0)}f}"

    shown = " ".join(text for text in (digits(middle), word, unit) if text)
    return f"{shown} ({digits(low)} to {digits(high)})" if ends else shown


@_traced
def kilowatts(value: float) -> str:
    """Return a power given in kW, large ones in MW."""
    return f"{number(value)} kW" if value < 10_000 else f"{number(value / 1e3)} MW"


def at_least(text: str, missing: object) -> str:
    """Return a sum with what it is if parts are missing in it, such as `at least 77.36 kW`."""
    return f"at least {text}" if missing else text


@_traced
def plural(count: int, word: str, many: str = "") -> str:
    """Return a count with its noun, such as `1 row`, `2 rows` and `2 leaves`; `many` is an irregular plural."""
    return f"{count:,} {word if count == 1 else many or f'{word}s'}"


def spoken_years(value: float, digits: int = 4) -> str:
    """Return a span of years with its noun, such as `1 year` and `0.5 years`."""
    shown = number(value, digits)
    return f"{shown} {'year' if shown == '1' else 'years'}"


def dated(date: str | None) -> str:
    """Return the date of a figure as a suffix of its name, such as `of 2024-08`."""
    return f"of {date}" if date else "of an unknown date"


def article(word: str) -> str:
    """Return a word with its article, such as `a model` and `an accelerator`."""
    return f"{'an' if word[:1] in 'aeiou' else 'a'} {word}"


def _each_once(texts: Iterable[str]) -> list[str]:
    """Return words without repeats, in their order; words that read alike count once, whatever figures they track."""
    return list({split_marks(word)[0]: word for word in texts}.values())


def listed(texts: Iterable[str]) -> str:
    """Return words as a list in a sentence, each once, such as `a, b and c`."""
    unique = _each_once(texts)
    return " and ".join((", ".join(unique[:-1]), unique[-1])) if len(unique) > 1 else "".join(unique)


def ids_listed(ids: Iterable[str]) -> str:
    """Return catalogue ids as a list in a sentence, such as `` `a` and `b` ``."""
    return listed(f"`{name}`" for name in ids)


def first_few(texts: Iterable[str], most: int = 3) -> str:
    """Return the first words of a list, each once, and the number of others, such as `a, b, c and 5 more`."""
    unique = _each_once(texts)
    return listed(unique) if len(unique) <= most else f"{', '.join(unique[:most])} and {len(unique) - most:,} more"


@_traced
def percent(value: float) -> str:
    """Return a fraction as a whole percentage."""
    return f"{value * 100:.0f} %"


@_traced
def chance(share: float) -> str:
    """Return a chance as a whole percentage; what is drawn from ranges is never certain."""
    if share > _NEARLY:
        return f"over {100 * _NEARLY:.0f} %"
    return f"under {100 * (1 - _NEARLY):.0f} %" if share < 1 - _NEARLY else f"{100 * share:.0f} %"


@_traced
def times(value: float | None) -> str:
    """Return a ratio to a baseline, such as `0.09x`; a dash for None."""
    if value is None:
        return "-"
    return f"{value:.3g}x" if value < 100 else f"{value:,.0f}x"


_NEARLY = 0.99
"""Chance above which one is printed as more than that [1]."""
DECIMAL = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
"""Size of decimal units [byte]."""


@_traced
def data_size(count: float) -> str:
    """Return a number of bytes in the largest fitting binary unit."""
    for unit, size in (("GiB", GIB), ("MiB", 2.0**20), ("KiB", 2.0**10)):
        if count >= size:
            return f"{number(count / size)} {unit}"
    return f"{number(count)} B"


@_traced
def stored(count: float) -> str:
    """Return bytes of stored data in decimal units, such as 0.98 TB and 204 MB; from a tenth of a TB on in TB."""
    least = {"TB": 0.1, "GB": 1.0, "MB": 1.0, "kB": 1.0}
    unit = next((power for power, part in least.items() if count >= part * DECIMAL[power]), "B")
    return f"{number(count / DECIMAL[unit], 3)} {unit}"


@_traced
def duration(seconds: float) -> str:
    """Return a time in s, ms or us."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{number(seconds / size)} {unit}"
    return f"{number(seconds / 1e-6)} us"


@_traced
def power(watts: float) -> str:
    """Return a power in W or kW."""
    return f"{number(watts)} W" if watts < 10_000 else f"{number(watts / 1e3)} kW"


@_traced
def flops(tflops: float) -> str:
    """Return a rate of operations given in TFLOP/s, large ones in PFLOP/s or EFLOP/s."""
    for unit, size in (("EFLOP/s", 1e6), ("PFLOP/s", 1e3)):
        if tflops >= size:
            return f"{number(tflops / size)} {unit}"
    return f"{number(tflops)} TFLOP/s"


@_traced
def gib(value: float) -> str:
    """Return a number of bytes in GiB."""
    return f"{value / GIB:.1f} GiB"


SPANS = ((120.0, 1.0, "s"), (7_200.0, 60.0, "min"), (172_800.0, 3_600.0, "h"), (float("inf"), 86_400.0, "days"))
"""Units of a span: upper bound [s], size [s] and name."""


@_traced
def span(seconds: float) -> str:
    """Return a span of time in seconds, minutes, hours or days, by its length."""
    unit, name = next((size, name) for most, size, name in SPANS if seconds < most)
    return f"{number(seconds / unit, 3)} {name}"


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
        value: the value [unit].
        unit: its unit; `currency` is replaced by the account's currency.
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
