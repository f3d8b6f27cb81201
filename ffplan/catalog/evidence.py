"""A number with its evidence: value, range, source, date, grade, status.

`grade` is the kind of the number. `status` is how far the number has been followed to its source:

| status | meaning |
| --- | --- |
| V | seen in the source itself |
| VS | seen in a named secondary page |
| DG | digitised from a published figure |
| D | derived by arithmetic from numbers above |
| R | recalled, unverified; never presented as fact |
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from ffplan.inputs.dimensions import BANDWIDTH, COMPUTE, DATA, DURATION, LENGTH, POWER, TRANSFERS
from ffplan.inputs.model import Count, Frozen, Text
from ffplan.inputs.quantities import (
    LARGEST_AMOUNT,
    Bandwidth,
    Compute,
    Data,
    Duration,
    Fraction,
    Length,
    Power,
    Transfers,
)

Grade = Literal["measured", "datasheet", "derived", "estimate"]
Status = Literal["V", "VS", "DG", "D", "R"]


def _of_calendar(text: str) -> str:
    """Return a date; refuse a day that its month lacks."""
    if len(text) == len("2026-03-31"):
        try:
            date.fromisoformat(text)
        except ValueError:
            raise PydanticCustomError(
                "rule",
                "{message}",
                {
                    "rule": "number-range",
                    "message": f"the month {text[:7]} has no day {text[8:]}",
                    "remedy": "write a day of the calendar, or the month alone",
                },
            ) from None
    return text


Date = Annotated[
    str, Field(pattern=r"^(19|20)\d{2}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?$"), AfterValidator(_of_calendar)
]
"""A year, month or day, such as 2026-03."""
Month = Annotated[str, Field(pattern=r"^(19|20)\d{2}(-(0[1-9]|1[0-2]))?$")]
"""A year or month, such as 2026-03."""


class Source(Frozen):
    """Source of numbers; figures name it by its key under `sources`."""

    title: Text
    """Publication, section, page: enough to find it again."""
    date: Date | None = None
    """Date of the source itself (year, month or day); left out if undated."""
    read: Date | None = None
    """Day on which it was read; needed if the source is undated. No age is counted from it."""
    grade: Grade
    """Grade of its figures, unless a figure says otherwise."""
    status: Status
    """Status of its figures, unless a figure says otherwise."""
    note: Text | None = None
    """Contradictions and caveats."""

    @model_validator(mode="after")
    def _dated(self) -> Source:
        if self.date is None and self.read is None:
            raise PydanticCustomError(
                "rule",
                "{message}",
                {
                    "rule": "schema-missing-field",
                    "message": "the source has neither a publication date nor the day on which it was read",
                    "remedy": "state `date`, or `read` if it is undated",
                },
            )
        return self

    @property
    def known_at(self) -> str:
        """Date of its figures: the source's own, else the day it was read."""
        return self.date or self.read or ""


class Figure(Frozen):
    """Fields shared by every figure; subclasses add `value`, `low` and `high` of one dimension."""

    unit: ClassVar[str] = ""
    """Canonical unit; empty if values are plain numbers."""
    value: Any
    """The number used."""
    low: Any = None
    """Lower end of the known range."""
    high: Any = None
    """Upper end of the known range."""
    source: str
    """Key under `sources` of the same file."""
    grade: Grade | None = None
    """Overrides the grade of the source."""
    status: Status | None = None
    """Overrides the status of the source."""
    note: Text | None = None
    """Derivation, conditions, contradictions between sources."""

    @model_validator(mode="after")
    def _ordered(self) -> Figure:
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        if not low <= self.value <= high:
            raise PydanticCustomError(
                "rule",
                "{message}",
                {
                    "rule": "number-range",
                    "message": "the value lies outside its own range",
                    "remedy": "keep low <= value <= high",
                },
            )
        return self

    def fault(self, value: float) -> str | None:
        """Return why a catalogue file cannot state a value for this figure; None if it can.

        Args:
            value: the value [unit of the figure].
        """
        stated = f"{value:.17g} {self.unit}" if self.unit else value
        try:
            type(self)(value=stated, source=self.source)
        except ValidationError as error:
            said = error.errors()[0]
            context = said.get("ctx", {})
            if "message" in context:
                return f"{context['message']}; {context['remedy']}"
            ends = {"le": "at most", "lt": "below", "ge": "at least", "gt": "above"}
            limits = " and ".join(f"{ends[end]} {limit:g}" for end, limit in context.items() if end in ends)
            return f"`{value:g}` is out of range; the number must be {limits}" if limits else str(said["msg"])
        return None

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest value known, in the canonical unit."""
        return (
            self.value if self.low is None else self.low,
            self.value if self.high is None else self.high,
        )


class CountFigure(Figure):
    """A whole number with evidence."""

    value: Count
    low: Count | None = None
    high: Count | None = None


class BandwidthFigure(Figure):
    """A bandwidth [GB/s, one direction] with evidence."""

    unit: ClassVar[str] = BANDWIDTH.canonical
    value: Bandwidth
    low: Bandwidth | None = None
    high: Bandwidth | None = None


class DataFigure(Figure):
    """An amount of data [byte] with evidence."""

    unit: ClassVar[str] = DATA.canonical
    value: Data
    low: Data | None = None
    high: Data | None = None


class PowerFigure(Figure):
    """A power [W] with evidence."""

    unit: ClassVar[str] = POWER.canonical
    value: Power
    low: Power | None = None
    high: Power | None = None


class ComputeFigure(Figure):
    """A rate of dense floating-point operations [TFLOP/s] with evidence."""

    unit: ClassVar[str] = COMPUTE.canonical
    value: Compute
    low: Compute | None = None
    high: Compute | None = None


class TransfersFigure(Figure):
    """A memory transfer rate [MT/s] with evidence."""

    unit: ClassVar[str] = TRANSFERS.canonical
    value: Transfers
    low: Transfers | None = None
    high: Transfers | None = None


class LengthFigure(Figure):
    """A length [m] with evidence."""

    unit: ClassVar[str] = LENGTH.canonical
    value: Length
    low: Length | None = None
    high: Length | None = None


class DurationFigure(Figure):
    """A duration [s] with evidence."""

    unit: ClassVar[str] = DURATION.canonical
    value: Duration
    low: Duration | None = None
    high: Duration | None = None


class PositiveDurationFigure(DurationFigure):
    """A duration above 0 [s] with evidence."""

    value: Annotated[Duration, Field(gt=0)]
    low: Annotated[Duration, Field(gt=0)] | None = None
    high: Annotated[Duration, Field(gt=0)] | None = None


class FractionFigure(Figure):
    """A fraction [1] with evidence."""

    value: Fraction
    low: Fraction | None = None
    high: Fraction | None = None


class EfficiencyFigure(FractionFigure):
    """A fraction of at most 1 with evidence."""

    value: Annotated[Fraction, Field(le=1)]


Amount = Annotated[float, Field(ge=0, le=LARGEST_AMOUNT)]


class PriceFigure(Figure):
    """A price in the currency of its price book, with evidence."""

    value: Amount
    low: Amount | None = None
    high: Amount | None = None
    date: Date | None = None
    """Date of the price: day, month or year; the source's if omitted."""


def date_of(figure: Figure, sources: dict[str, Source]) -> str | None:
    """Return the date of a figure; None if undated, even if the day of reading is known.

    Args:
        figure: the figure; a price may have its own date.
    """
    date = figure.date if isinstance(figure, PriceFigure) else None
    return date or sources[figure.source].date


def months_of(date: str) -> int:
    """Return a date in months since year 0; a year alone counts as its end.

    Args:
        date: year, year-month or day, such as 2026-03.
    """
    year, _, rest = date.partition("-")
    return int(year) * 12 + (int(rest[:2]) if rest else 12)
