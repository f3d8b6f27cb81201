"""When two costs count as equal, and how sure the lower one is: one rule for every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import chance, percent
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.results.cost import RentRow

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


SCHEMAS: dict[str, tuple[type, str]] = {}
"""Files and outputs of this module: none."""
