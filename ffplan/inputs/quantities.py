"""Quantities as people write them: `200 Gb/s`, `2.5 kW`, `512 GB`, `3:1`, `40 %`, `$0.08/kWh`.

Every quantity is converted to its canonical unit on reading:

| dimension | canonical unit | examples |
| --- | --- | --- |
| bandwidth | GB/s (1e9 bytes per second, one direction) | `200 Gb/s`, `9 GiB/s`, `1.8 TB/s` |
| data | byte | `186 MiB`, `40 GB` |
| power | W | `2.5 kW`, `400 W`, `4 MW` |
| compute | TFLOP/s | `312 TFLOP/s`, `1 PFLOP/s` |
| transfers | MT/s | `3200 MT/s` |
| length | m | `30 m` |
| area | m2 | `2.8 m2`, `30 ft2` |
| duration | s | `6.6 us`, `1.5 ms` |
| fraction | 1 | `40 %`, `0.4` |
| ratio | 1 | `3:1`, `1.067:1` |
| money | amount and currency | `$36,000`, `350 paper-unit`, `1.2 M USD`, `EUR 90M`, `USD 1.2 bn` |
| price of a unit | money per kWh, kW-month, W, hour, year | `$0.08/kWh`, `$150/kW-month` |
| share | 1, from 0 to 1 | `90 %` |
| span | year | `4 years`, `18 months` |
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ffplan.inputs.dimensions import (
    AREA,
    BANDWIDTH,
    COMPUTE,
    DATA,
    DIMENSIONS,
    DURATION,
    LENGTH,
    POWER,
    TRANSFERS,
    Dimension,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_NUMBER = r"(?:[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_QUANTITY = re.compile(rf"([-+]?)({_NUMBER})\s*([A-Za-z][A-Za-z/]*2?)")
_RATIO = re.compile(rf"({_NUMBER})\s*:\s*({_NUMBER})")
_SPAN = re.compile(rf"({_NUMBER})\s*(years?|months?)")
_PERCENT = re.compile(rf"({_NUMBER})\s*%")
_SYMBOLS = {"$": "USD", "€": "EUR", "¥": "CNY", "£": "GBP"}
_MONEY = re.compile(
    rf"(?P<before>[$€¥£]|[A-Z]{{3}})?\s*(?P<amount>{_NUMBER})\s*(?P<scale>k|M|mn|bn)?"
    r"(?:\s*(?P<code>[A-Za-z][A-Za-z-]+))?"
    r"(?:\s*/\s*(?P<per>[A-Za-z][A-Za-z-]*))?"
)
_AMOUNT_SHAPE = rf"([$€¥£]|[A-Z]{{3}})?\s*{_NUMBER}\s*(k|M|mn|bn)?(\s*[A-Za-z][A-Za-z-]+)?"
LARGEST_AMOUNT = 1e15
"""Largest amount of money read, in any currency."""
PER_EXAMPLES = {
    "kWh": "$0.08",
    "kW-month": "$150",
    "W": "$10",
    "hour": "$2.10",
    "month": "$50k",
    "year": "$250k",
    "GB": "$0.05",
}
"""Example prices by unit, as messages show them."""
_SCALES = {None: 1.0, "k": 1e3, "M": 1e6, "mn": 1e6, "bn": 1e9}


def printable(text: str) -> str:
    """Return at most 60 characters of `text`, control characters shown as `?`."""
    short = f"{text[:57]}..." if len(text) > 60 else text
    return "".join(character if character.isprintable() else "?" for character in short)


def describe(value: Any) -> str:
    """Return a short printable form of the value in the file."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f"`{printable(str(value))}`"


def _fault(kind: str, message: str, remedy: str) -> PydanticCustomError:
    return PydanticCustomError(kind, "{message}", {"message": message, "remedy": remedy})


def _number(text: str) -> float:
    value = float(text.replace(",", ""))
    if not math.isfinite(value):
        raise _fault("range", f"`{text}` is too large to be finite", "write a finite number")
    return value


def _other_dimension(unit: str) -> str | None:
    for dimension in DIMENSIONS:
        if unit in dimension.units:
            return f"{dimension.article} {dimension.name}"
    return None


def parse_quantity(value: Any, dimension: Dimension) -> float:
    """Return `value` in the canonical unit of `dimension`.

    Args:
        value: the value in the file, for example `"200 Gb/s"`.

    Raises:
        PydanticCustomError: with message and remedy, if the value is not such a quantity.
    """
    expected = f"{dimension.article} {dimension.name}"
    remedy = f"write {expected} such as {dimension.example}"
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise _fault("unit", f"{describe(value)} has no unit; {expected} is wanted", remedy)
        raise _fault("unit", f"{describe(value)} is not {expected}", remedy)
    sign, number, unit = match.groups()
    if unit not in dimension.units:
        if other := _other_dimension(unit):
            raise _fault("unit", f"{describe(value)} is {other}; {expected} is wanted", remedy)
        folded = {known.lower() for known in dimension.units}
        hint = "; units tell b (bit) from B (byte)" if unit.lower() in folded else ""
        raise _fault("unit", f"{describe(value)}: the unit `{unit}` is not known{hint}", remedy)
    result = _number(number) * dimension.units[unit]
    if not math.isfinite(result):
        raise _fault("range", f"{describe(value)} is too large to be finite", remedy)
    if sign == "-" and result:
        raise _fault("range", f"{describe(value)} is negative", f"write a positive {dimension.name}")
    if result == 0 and dimension.zero:
        return 0.0
    if not dimension.smallest <= result <= dimension.largest:
        bounds = f"{dimension.smallest:g} to {dimension.largest:g} {dimension.canonical}"
        raise _fault("range", f"{describe(value)} is out of range", f"write {expected} of {bounds}")
    return result


def _is_ratio(value: Any) -> bool:
    return isinstance(value, str) and _RATIO.fullmatch(value.strip()) is not None


LARGEST_RATIO = 1e3
"""Largest ratio of downlinks to uplinks, or the other way round [1]."""


def parse_ratio(value: Any) -> float:
    """Return `a:b` as a / b; a plain number n means n:1."""
    remedy = "write a ratio such as `3:1` (down to up)"
    match = _RATIO.fullmatch(value.strip()) if isinstance(value, str) else None
    if match:
        left, right = _number(match[1]), _number(match[2])
        result = left / right if right else math.inf
    elif isinstance(value, int | float) and not isinstance(value, bool):
        result = float(value)
    else:
        raise _fault("unit", f"{describe(value)} is not a ratio", remedy)
    if not 1 / LARGEST_RATIO <= result <= LARGEST_RATIO:
        raise _fault("range", f"{describe(value)} is out of range", "write a ratio from 1:1000 to 1000:1")
    return result


def _part(value: Any, remedy: str) -> float:
    """Return a percentage, or a plain number, as a part of a whole."""
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match:
        return _number(match[1]) / 100.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise _fault("unit", f"{describe(value)} is not a share", remedy)


def _parse_fraction(value: Any) -> float:
    """Return `40 %` as 0.4; a plain number is taken as the fraction itself."""
    result = _part(value, "write a share such as `40 %` or `0.4`")
    if not 0 < result <= 2:
        raise _fault("range", f"{describe(value)} is out of range", "write a share above 0 and of at most 200 %")
    return result


def parse_share(value: Any) -> float:
    """Return a part of a whole: `40 %` as 0.4; from 0 to 1."""
    remedy = "write a share from 0 to 100 %, such as `40 %` or `0.4`"
    result = _part(value, remedy)
    if not 0 <= result <= 1:
        raise _fault("range", f"{describe(value)} is out of range", remedy)
    return result


MOST_YEARS = 50.0
"""Longest span of ownership that is read [year]."""


def parse_years(value: Any) -> float:
    """Return a span of years or months [year]."""
    remedy = "write a span such as `4 years` or `18 months`"
    match = _SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise _fault("unit", f"{describe(value)} is not a span of years or months", remedy)
    result = _number(match[1]) / (12.0 if match[2].startswith("month") else 1.0)
    if not 0 <= result <= MOST_YEARS:
        raise _fault("range", f"{describe(value)} is out of range", f"{remedy}, of at most {MOST_YEARS:g} years")
    return result


@dataclass(frozen=True, slots=True, order=True)
class Money:
    """An amount in one currency; ordered by the amount."""

    amount: float
    currency: str


def exchanged(money: Money, currency: str, rates: Mapping[str, Money]) -> float | None:
    """Return an amount in another currency; None if no rate leads from one to the other.

    Args:
        money: the amount.
        currency: the other currency.
        rates: value of one unit of a currency, as `site.exchange` states it.
    """

    def worth(unit: str) -> dict[str, float]:
        rate = rates.get(unit)
        return {unit: 1.0} | ({rate.currency: rate.amount} if rate and rate.amount > 0 else {})

    ours, theirs = worth(money.currency), worth(currency)
    common = next((name for name in ours if name in theirs), None)
    return None if common is None else money.amount * ours[common] / theirs[common]


def parse_money(value: Any, *, per: str | None = None) -> Money:
    """Return an amount with its currency; two currencies are never added.

    Args:
        value: the value in the file.
        per: unit that the price is for, such as kWh; None for an amount.

    Raises:
        PydanticCustomError: with message and remedy, if the value is not such an amount.
    """
    example = f"`{PER_EXAMPLES.get(per, '$100')}/{per}`" if per else "`$120 M` or `11600 paper-unit`"
    remedy = f"write {f'a price per {per}' if per else 'an amount of money'} such as {example}"
    if isinstance(value, Money):
        return value
    text = value.strip() if isinstance(value, str) else ""
    match = _MONEY.fullmatch(text)
    if match is None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise _fault("unit", f"{describe(value)} has no currency", remedy)
        if text.startswith("-") or "$-" in text:
            raise _fault("range", f"{describe(value)} is negative", remedy)
        raise _fault("unit", f"{describe(value)} is not an amount of money", remedy)
    before, code = match["before"], match["code"]
    stated = _SYMBOLS.get(before, before)
    if match["per"] != per:
        expected = f"a price per {per}" if per else f"an amount, not a price per {match['per']},"
        raise _fault("unit", f"{describe(value)}: {expected} is wanted", remedy)
    if not stated and not code:
        raise _fault("unit", f"{describe(value)} has no currency", remedy)
    if stated and code and stated != code:
        raise _fault(
            "unit",
            f"{describe(value)}: `{code}` does not go with `{before}`",
            "write k, M or bn for thousands, millions and thousand millions, as in `$15 M`",
        )
    amount = _number(match["amount"]) * _SCALES[match["scale"]]
    if amount > LARGEST_AMOUNT:
        raise _fault("range", f"{describe(value)} is out of range", f"write an amount of at most {LARGEST_AMOUNT:g}")
    return Money(amount, code or stated)


def _quantity_type(dimension: Dimension) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        return parse_quantity(value, dimension)

    return parse


def _schema(example: str, pattern: str, *, number: bool = False) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "type": ["string", "number"] if number else "string",
            "pattern": rf"^\s*{pattern}\s*$",
            "examples": example.replace("`", "").split(" or "),
        }
    )


def _unit_schema(dimension: Dimension) -> WithJsonSchema:
    return _schema(dimension.example, rf"{_NUMBER}\s*({'|'.join(dimension.units)})")


Bandwidth = Annotated[float, PlainValidator(_quantity_type(BANDWIDTH)), _unit_schema(BANDWIDTH)]
"""A bandwidth [GB/s], one direction."""
Data = Annotated[float, PlainValidator(_quantity_type(DATA)), _unit_schema(DATA)]
"""An amount of data [byte]."""
Power = Annotated[float, PlainValidator(_quantity_type(POWER)), _unit_schema(POWER)]
"""A power [W]."""
Compute = Annotated[float, PlainValidator(_quantity_type(COMPUTE)), _unit_schema(COMPUTE)]
"""A rate of floating-point operations [TFLOP/s]."""
Transfers = Annotated[float, PlainValidator(_quantity_type(TRANSFERS)), _unit_schema(TRANSFERS)]
"""A memory transfer rate [MT/s]."""
Length = Annotated[float, PlainValidator(_quantity_type(LENGTH)), _unit_schema(LENGTH)]
"""A length [m]."""
Area = Annotated[float, PlainValidator(_quantity_type(AREA)), _unit_schema(AREA)]
"""An area [m2]."""
Duration = Annotated[float, PlainValidator(_quantity_type(DURATION)), _unit_schema(DURATION)]
"""A duration [s]."""
Ratio = Annotated[float, PlainValidator(parse_ratio), _schema("`3:1`", _RATIO.pattern, number=True)]
"""A ratio, down to up [1]."""
Fraction = Annotated[float, PlainValidator(_parse_fraction), _schema("`40 %`", _PERCENT.pattern, number=True)]
"""A fraction [1]."""


def _money_value(value: Any) -> Money:
    return parse_money(value)


def _energy_price_value(value: Any) -> Money:
    return parse_money(value, per="kWh")


MoneyAmount = Annotated[Money, PlainValidator(_money_value), _schema("`$120 M` or `11600 paper-unit`", _AMOUNT_SHAPE)]
"""An amount of money with its currency."""
EnergyPrice = Annotated[
    Money, PlainValidator(_energy_price_value), _schema("`$0.08/kWh`", _AMOUNT_SHAPE + r"\s*/\s*kWh")
]
"""A price per kWh with its currency."""


def money_per(per: str | None) -> tuple[PlainValidator, WithJsonSchema]:
    """Return the type of a price per unit, with its JSON Schema."""

    def parse(value: Any) -> Money:
        return parse_money(value, per=per)

    if per is None:
        return PlainValidator(parse), _schema("`$120 M` or `11600 paper-unit`", _AMOUNT_SHAPE)
    return PlainValidator(parse), _schema(f"`{PER_EXAMPLES.get(per, '$100')}/{per}`", rf"{_AMOUNT_SHAPE}\s*/\s*{per}")


def _parse_change(value: Any) -> float:
    """Return a change of a price: `-10 %` as -0.1; above -90 % and at most 300 %."""
    remedy = "write a change such as `-10 %` or `-0.1`"
    text = value.strip() if isinstance(value, str) else value
    minus = isinstance(text, str) and text.startswith("-")
    result = _part(text.lstrip("+-").strip() if isinstance(text, str) else text, remedy)
    result = -result if minus else result
    if not -0.9 <= result <= 3.0:
        raise _fault("range", f"{describe(value)} is out of range", "write a change from -90 % to 300 %")
    return result


Change = Annotated[
    float, PlainValidator(_parse_change), _schema("`-10 %`", rf"[-+]?\s*{_PERCENT.pattern}", number=True)
]
"""A change of a price [1]."""
Share = Annotated[float, PlainValidator(parse_share), _schema("`40 %`", _PERCENT.pattern, number=True)]
"""A part of a whole, from 0 to 1 [1]."""
Years = Annotated[float, PlainValidator(parse_years), _schema("`4 years` or `18 months`", _SPAN.pattern)]
"""A span [year]."""
