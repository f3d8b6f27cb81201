"""Targets for a new cluster, ideas for its fabric, design files built from them, and numbers of nodes to try."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ffplan.base.array_math import round_up
from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.ownership import Effort
from ffplan.cost.account import account_year
from ffplan.cost.sensitivity import likely
from ffplan.design.resolve import resolve
from ffplan.inputs.document import parse_document
from ffplan.studies.cost.cost import ledger_for, study_ledger
from ffplan.studies.cost.ledger import CostRequest, Ledger
from ffplan.studies.cost.parts import bom_report, power_report
from ffplan.studies.cost.site import purchase_band
from ffplan.studies.design.design import study_design

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.cost import Bom, CostStudy, SitePower
    from ffplan.results.design import Assessment
    from ffplan.studies.train.default_job import TimedJob


@record
class Wishes:
    """What a cluster is wanted for."""

    accelerator: str
    book: str
    pue: float
    gpus: int | None = None
    """Accelerators; as many as budget and power allow if omitted."""
    budget: float | None = None
    """Most that the purchase may come to [currency of the book]."""
    watts: float | None = None
    """Most power, as `power_of` means it [W]."""
    model: str | None = None
    power_of: str = "facility-peak"
    """What `watts` bounds, a name of `POWERS`."""
    powered: bool = False
    """Whether designs are compared by their power, so that every switch's must be known, as with `watts`."""
    note: str = ""
    """Comment for the files: which wishes they do not meet."""
    excluded: tuple[str, ...] = ()
    """Servers, switches and links that are not bought."""
    switches: tuple[str, ...] = ()
    """Switches to choose from; all with a price if empty."""
    effort: Effort | None = None
    """How well runs are tuned; as the ownership profile has it if None."""
    rack_area: float | None = None
    """Floor of a rack with its share of aisles; the ownership profile's if None [m2]."""
    tokens: float | None = None
    """Tokens that the model is trained on [1]."""
    days: float | None = None
    """Longest run over them [day]."""
    family: str | None = None
    """Family of the fabric; each idea's own if None."""

    def ideas(self) -> tuple[Idea, ...]:
        """Return the ideas for the fabric, all of the wanted family."""
        if self.family is None:
            return IDEAS
        same = [idea for idea in IDEAS if idea.family == self.family]
        return tuple(same or (replace(idea, family=self.family) for idea in IDEAS if idea.family == IDEAS[0].family))


@record
class Idea:
    """A way to build the fabric."""

    name: str
    words: str
    family: str
    oversubscription: str
    other: bool = False
    """Another protocol than the first idea's: InfiniBand where that is Ethernet, or the other way round."""
    nics: int | None = None
    """NICs of a node on the fabric; all that the server has if None [1]."""


IDEAS = (
    Idea(
        name="full",
        words="every accelerator can use its whole NIC at once: the DGX-style reference",
        family="rail-optimised",
        oversubscription="1:1",
    ),
    Idea(
        name="lean",
        words="at most two downlinks for each uplink: fewer switches, for jobs that stay near or are dense",
        family="rail-optimised",
        oversubscription="2:1",
    ),
    Idea(
        name="rails",
        words="each rail is a separate network: traffic between rails passes the scale-up network first",
        family="rail-only",
        oversubscription="1:1",
    ),
    Idea(
        name="other",
        words="as the first, with the other protocol: InfiniBand against Ethernet",
        family="rail-optimised",
        oversubscription="1:1",
        other=True,
    ),
    Idea(
        name="thin",
        words="at most three downlinks for each uplink: for jobs that stay within a leaf, or exchange little",
        family="rail-optimised",
        oversubscription="3:1",
    ),
)
MOST_DESIGNS = 3
"""Designs that are kept, in the order of the ideas [1]."""


POWERS = {
    "facility-peak": "at its peak",
    "facility-training": "at the meter in training",
    "it-peak": "of IT at its peak",
    "it-training": "of IT in training",
}
"""What a wished power may bound, the strictest first, in words."""


NO_DRAWS = CostRequest(draws=0)


def _drawn(power: SitePower, power_of: str) -> float:
    kilowatts = {
        "facility-peak": power.facility_peak_kw,
        "facility-training": power.facility_kw,
        "it-peak": power.it_rated_kw,
        "it-training": power.it_training_kw,
    }
    return 1e3 * kilowatts[power_of]


@record
class Draft:
    """An idea built with parts, as far as its purchase and its power need it."""

    text: str
    ledger: Ledger
    cost: float
    """Its bill of materials at likely prices [currency]."""

    @property
    def purchase(self) -> float:
        """Median of its purchase, which reports print and limits hold [currency]; 0 without prices."""
        return purchase_band(self.ledger, CostRequest()).p50 if self.cost else 0.0

    @property
    def design(self) -> ResolvedDesign:
        """The design."""
        return self.ledger.design

    def drawn(self, power_of: str) -> float:
        """Return a power [W]."""
        v = likely(self.ledger.inputs)
        return _drawn(power_report(self.ledger, v, account_year(self.ledger.account, v)), power_of)


class Built:
    """An idea built with parts."""

    def __init__(
        self, idea: Idea, text: str, ledger: Ledger, assessment: Assessment, used: Catalog, timed: TimedJob | None
    ) -> None:
        self.idea, self.text, self.ledger, self.assessment = idea, text, ledger, assessment
        self._used, self._timed = used, timed

    def with_text(self, text: str) -> Built:
        """Return the same design with more in its file."""
        same = copy(self)
        same.text = text
        return same

    @property
    def design(self) -> ResolvedDesign:
        """The design."""
        return self.ledger.design

    @cached_property
    def bom(self) -> Bom | None:
        """Its bill of materials; None without prices."""
        return bom_report(self.ledger)

    @cached_property
    def purchase(self) -> float:
        """Median of its purchase, which reports print and limits hold [currency]; 0 without prices."""
        return purchase_band(self.ledger, CostRequest()).p50 if self.bom else 0.0

    @cached_property
    def study(self) -> CostStudy:
        """Its cost, with the run of its job."""
        # refuses nothing: its account and its job were made before
        return study_ledger(self.ledger, self._used, NO_DRAWS, self._timed)

    @property
    def watts(self) -> float:
        """Facility power with everything at its maximum [W]."""
        return self.drawn("facility-peak")

    def drawn(self, power_of: str) -> float:
        """Return a power [W]."""
        return _drawn(self.study.power, power_of)


def _resolved(text: str, idea: Idea, catalog: Catalog) -> tuple[ResolvedDesign, Catalog]:
    used = catalog.fresh()
    return resolve(parse_document(text.encode(), f"{idea.name}.yaml"), used), used


def _draft_from(text: str, idea: Idea, catalog: Catalog) -> Draft | None:
    try:
        design, used = _resolved(text, idea, catalog)
        ledger = ledger_for(design, used, NO_DRAWS)
    except InputError:
        return None
    bom = bom_report(ledger)
    return Draft(text=text, ledger=ledger, cost=bom.total if bom else 0.0)


def _built_from(text: str, idea: Idea, catalog: Catalog, timed: TimedJob | None = None) -> Built | None:
    """Return a design as built; None if it cannot be."""
    try:
        design, used = _resolved(text, idea, catalog)
        assessment = study_design(design, used, all_scales=False, without=frozenset({"site"})).assessment
        ledger = ledger_for(design, used, NO_DRAWS)
    except InputError:
        return None
    return Built(idea, text, ledger, assessment, used, timed)


_CLOSE = 0.02
"""Nodes between the largest size that is too small and the smallest that is not, over the latter, at the end [1]."""
_MOST_TRIALS = 9
_SMALLEST = 0.8
"""Smallest round size that is tried, over the size found [1]."""
_ROUND_SIZES = 4


@record
class Sizes:
    """Sizes to search, and how long a run takes on each."""

    days: Callable[[int], float | None]
    """Days of the run with some nodes; None if it cannot run there."""
    step: int
    """Sizes are multiples of it [1]."""
    most: int


def _smallest(sizes: Sizes, first: float, days: float) -> tuple[int | None, int | None]:
    """Return the smallest size found that takes no more than some days, and the largest tried that takes more [1]."""
    step = sizes.step
    low, nodes = 0, min(max(step, round_up(first / step) * step), sizes.most)
    fitting: int | None = None
    slow: int | None = None
    high = sizes.most + step
    for _ in range(_MOST_TRIALS):
        taken = sizes.days(nodes)
        if taken is not None and taken <= days:
            fitting = high = nodes
        else:
            slow, low = (nodes if taken is not None else slow), nodes
        if high - low <= max(step, _CLOSE * high) or low >= sizes.most:
            break
        guess = nodes * taken / days if taken is not None else 2.0 * nodes
        next_size = round_up(guess * (1.002 if low == nodes else 1.0) / step) * step
        # days fall nearly as 1 / nodes: without a guess left, only a size that divides badly hides a smaller one
        less = max(step, int(_CLOSE * high))
        below = (high - less if fitting else (low + high) // 2) // step * step
        nodes = next_size if low < next_size < high else max(below, low + step)
    return fitting, slow


def _rounder_size(sizes: Sizes, size: int, days: float) -> int | None:
    """Return the smallest round size below a given one that is in time too [1]; None without one.

    A search by halves may stop at a size that divides badly.
    """
    unit = sizes.step
    while (1 - _SMALLEST) * size > _ROUND_SIZES * unit:
        unit *= 2
    first = -(-int(_SMALLEST * size) // unit) * unit
    for nodes in range(max(first, unit), size, unit):
        taken = sizes.days(nodes)
        if taken is not None and taken <= days:
            return nodes
    return None


_ROUND = (4, 16, 64)
"""Numbers of nodes, or of scale-up domains, whose multiples are tried in place of the most [1]."""
_LEAST_PART, _AS_FAST = 0.85, 0.99
"""Fewest nodes tried, over the most; share of the highest token rate that still counts as the fastest."""
_GAIN = 1.01
"""Least tokens per cost of a smaller number of nodes, over the most nodes' tokens per cost [1]."""


def _tokens_s(built: Built, catalog: Catalog) -> float | None:
    """Return the tokens a second of a design's workload with its fastest plan; None if it cannot run."""
    from ffplan.studies.train.default_job import workload_report
    from ffplan.training.accelerator_rates import UncalibratedError
    from ffplan.training.constraints import RefusedError

    try:
        return workload_report(built.design, catalog.fresh(), built.design.stated_workload).rows[0].tokens_s
    except (RefusedError, UncalibratedError):
        return None


def _rounder_design(
    most: Built, build: Callable[[int], Built | None], step: int, catalog: Catalog
) -> tuple[Built, str]:
    """Return a design of a rounder number of nodes where the model trains as fast on it, and words for that.

    A number of nodes with large factors of two divides into more plans. Of the numbers tried, one is taken that trains
    within `_AS_FAST` of the fastest and gains at least `_GAIN` in tokens for its cost; the cheapest of several.
    """
    nodes = most.assessment.nodes["compute"]
    fewer = {nodes // (unit * step) * unit * step for unit in _ROUND}
    tried = [most, *(build(count) for count in sorted(fewer, reverse=True) if _LEAST_PART * nodes <= count < nodes)]
    rates = [
        (rate, design) for design in tried if design is not None and (rate := _tokens_s(design, catalog)) is not None
    ]
    fastest = max((rate for rate, _ in rates), default=0.0)
    least = next((_GAIN * rate / design.purchase for rate, design in rates if design is most), 0.0)
    better = [design for rate, design in rates if rate >= _AS_FAST * fastest and rate / design.purchase >= least]
    chosen = min(better, key=lambda candidate: candidate.purchase, default=most)
    if chosen is most:
        return most, ""
    on_all = next((f"{rate:,.0f}" for rate, design in rates if design is most), "none")
    reached = next(rate for rate, design in rates if design is chosen)
    return chosen, (
        f"{most.assessment.accelerators:,} accelerators would fit the wishes; "
        f"{chosen.design.stated_workload.model} has "
        f"{reached:,.0f} tokens/s on {chosen.assessment.accelerators:,}, and {on_all} on all"
    )
