"""What differs: the JSON output of `diff` and `reproduce`, and how one cost stands against another."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ffplan.base.formatting import chance, percent
from ffplan.base.record import record
from ffplan.results.result import DesignInfo, Result, ToolInfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.results.cost import FlipRow, RentRow

EVEN = 0.005
"""Largest difference of a ratio from 1 that counts as even [1]."""
_SURE = 0.8
"""Part of the draws from which a verdict is sure [1]."""
_LIKELY = 0.5


@record
class Verdict:
    """How one cost stands against another."""

    gap: float
    """Its extra cost at likely values [1]: below 0 if it is cheaper, 0 if the two count as equal."""
    share: float | None
    """Share of the draws that agree [1]; null without draws."""

    @property
    def close(self) -> bool:
        """Whether too few draws agree to call it."""
        return self.share is not None and self.share < _SURE

    @property
    def sure(self) -> str:
        """How sure it is, such as ` (85 % sure)`; empty without draws."""
        return "" if self.share is None else f" ({chance(self.share)} sure)"

    @property
    def doubt(self) -> str:
        """What a sentence begins with where it is too close to call; empty elsewhere."""
        return "Too close to call: " if self.close else ""


def judged(ratio: float, cheaper: float | None) -> Verdict:
    """Return how a cost stands against another: equal too where most draws contradict the likely values.

    Args:
        ratio: the cost over the other, at likely values [1].
        cheaper: share of the draws that make it the cheaper one [1]; None without draws.
    """
    gap = ratio - 1
    share = cheaper if cheaper is None or gap < 0 else 1 - cheaper
    if abs(gap) < EVEN or (share is not None and share < _LIKELY):
        return Verdict(0.0, None)
    return Verdict(gap, share)


def owning_beside(row: RentRow, hour: str, offer: str) -> str:
    """Return how owning stands beside a rent, and how sure that is.

    Args:
        hour: what is priced, such as `GPU-hour`.
        offer: name of the rent.
    """
    owning = judged(row.owned_hour / row.hour, row.owning_cheaper)
    gap = f"{percent(abs(owning.gap))} {'less' if owning.gap < 0 else 'more'} per {hour} than"
    beside = gap if owning.gap else f"about as much per {hour} as"
    lead = f"{owning.doubt}owning" if owning.close else "Owning"
    return f"{lead} costs {beside} {offer}{owning.sure}"


@record
class FieldChange:
    """A field of the design that changed."""

    path: str
    """Field, such as `fabric.tiers`."""
    before: str | None
    """Its value as JSON; null if absent."""
    after: str | None
    """Its value as JSON; null if absent now."""


TWO_UNITS = ", "
"""What stands between the units of a figure whose currency changed."""


@record
class FigureChange:
    """A figure of the report, before and after."""

    figure: str
    """Stable name."""
    address: str
    """Address of it: its path in the JSON output of `design`, `cost` or `train`."""
    label: str
    """For people."""
    unit: str
    """Unit; empty for counts."""
    kind: str
    """cost, power, bandwidth, time, or empty: the threshold that `check --against` holds it to without one of its
    own."""
    before: float | None
    """Value before [unit]; null if there was none."""
    after: float | None
    """Value after [unit]; null without one."""
    relative: float | None
    """Its change over the value before [1]; null without one."""
    verdict: str
    """better, worse, or empty if neither is meant."""
    unlike: str
    """currencies or scopes: what differs between two amounts, which are then not compared; empty if nothing does."""

    @property
    def lost(self) -> bool:
        """Whether it was known, and is no longer, or is now in another currency or of another scope."""
        return self.before is not None and (self.after is None or bool(self.unlike))


@record
class ChangeEffect:
    """Effect of one change, or of several that only work together."""

    changes: tuple[FieldChange, ...]
    """The changes."""
    figures: tuple[FigureChange, ...]
    """Figures that it moved, from the design with every change before it."""


@record
class DesignDifference(Result):
    """Output of `ffplan diff`."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """The program behind the report."""
    before: DesignInfo
    """The design before."""
    after: DesignInfo
    """The design after."""
    changes: tuple[FieldChange, ...]
    """Fields that changed, in the order of the design after; empty if one side is a saved report."""
    figures: tuple[FigureChange, ...]
    """Every figure of the two reports."""
    effects: tuple[ChangeEffect, ...]
    """What each change moves, in order; their sum is the whole."""
    notes: tuple[str, ...]
    """Remarks for the reader, a sentence each."""


UNKNOWN_CHANGES = "A saved report holds no design file: what changed in the design is not known."
"""Note of a difference whose changes are not known."""


@record
class Cause:
    """Something that has changed since the report was made."""

    what: str
    """The program, the format, a design or a catalogue file."""
    then: str | None
    """Its version or the start of its SHA-256 in the report; null if it was not read."""
    now: str | None
    """Its version or the start of its SHA-256 today; null if it is not read."""


@record
class Difference:
    """A value that differs."""

    path: str
    """JSON path in the report."""
    then: str | None
    """Value in the report, as JSON; null if the path was not there."""
    now: str | None
    """Value today."""
    change: float | None
    """Relative change of a number; null otherwise."""


@record
class Reproduction(Result):
    """A saved report, made again."""

    schema_version: str
    """Version of this format."""
    report: str
    """File of the report."""
    kind: str
    """design or comparison."""
    values: int
    """Values of the report that were compared."""
    causes: tuple[Cause, ...]
    """Everything it rests on that is no longer the same."""
    differences: tuple[Difference, ...]
    """Values that differ, in the order of the report."""
    left_out: tuple[str, ...]
    """Parts of the report that were not made again, since it does not hold the question."""


FAR = 3.0
"""Factor beyond which the value of an input that flips a verdict is not named [1]."""


def _away(row: FlipRow) -> float:
    """Return how far a break-even is from the likely value, as a factor; infinite without one."""
    if row.break_even is None or row.likely <= 0 or row.break_even <= 0:
        return inf
    return max(row.break_even / row.likely, row.likely / row.break_even)


def near_flips(rows: Iterable[FlipRow]) -> list[FlipRow]:
    """Return the values of single inputs that flip a verdict, the nearest first; none beyond a factor of `FAR`."""
    return sorted((row for row in rows if not row.input.startswith("speed") and _away(row) <= FAR), key=_away)


SCHEMAS = {
    "diff": (DesignDifference, "Output of `ffplan diff --format json`"),
    "reproduction": (Reproduction, "Output of `ffplan model reproduce --format json`"),
}
"""Files and outputs of this module, with their titles."""
