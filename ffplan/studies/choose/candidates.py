"""Targets for a new cluster, ideas for its fabric, and design files built from them."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.ownership import Effort
from ffplan.cost.account import account_year
from ffplan.cost.sensitivity import likely
from ffplan.design.resolve import resolve
from ffplan.inputs.document import parse_document
from ffplan.studies.cost.cost import ledger_for, study_ledger
from ffplan.studies.cost.ledger import Ledger
from ffplan.studies.cost.parts import bom_report, power_report
from ffplan.studies.cost.request import CostRequest
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
    gpus: int | None
    """Accelerators; as many as budget and power allow if omitted."""
    budget: float | None
    """Most that the purchase may come to [currency of the book]."""
    watts: float | None
    """Most power, as `power_of` means it [W]."""
    model: str | None
    book: str
    pue: float
    power_of: str = "facility-peak"
    """What `watts` bounds, a name of `POWERS`."""
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
    """The design file."""
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
