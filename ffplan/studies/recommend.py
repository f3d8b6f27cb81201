"""The smallest purchase that trains a model in a given time, over accelerators, fabrics, sizes and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import round_up
from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.models import Model
from ffplan.catalog.named import part_of
from ffplan.catalog.parts import Accelerator, Server
from ffplan.catalog.prices import PriceBook
from ffplan.design.training import PlanFields
from ffplan.results.cost import CostStudy
from ffplan.studies.asked import Asked
from ffplan.studies.cost import study_cost
from ffplan.studies.first_designs import IDEAS, Built, Idea, NoDesignError, Wishes, builder, priced_server
from ffplan.studies.usual_job import timed_on
from ffplan.training.accelerator_rates import UncalibratedError
from ffplan.training.constraints import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.catalog.store import Catalog


FIRST_MFU = 0.4
"""Part of the peak that the first size tried is made for [1]."""
CLOSE = 0.02
"""Nodes between the largest size that is too small and the smallest that is not, over the latter, at the end [1]."""
MOST_TRIALS = 9
MOST_NODES = 20_000
MORE_TIME = 1.1
"""Time allowed over the target, for what a little patience saves [1]."""


@record
class Target:
    """What is to be reached, and within which limits."""

    model: str
    tokens: float
    days: float
    capex: float | None
    """Most that the purchase may come to [currency of the book]."""
    watts: float | None
    """Most that the facility may draw at its peak [W]."""
    allowed: tuple[str, ...]
    """Accelerators to choose from; all with a price if empty."""
    excluded: tuple[str, ...]
    book: str
    pue: float


@record
class SizedCluster:
    """A design that was tried, with its run."""

    accelerator: str
    built: Built
    study: CostStudy
    """Its cost with the run."""
    band: float
    """Mean of absolute errors of the modelled time [1]."""

    @property
    def days(self) -> float:
        """Days of the run, interruptions included."""
        assert self.study.run is not None
        return self.study.run.days.likely

    @property
    def capex(self) -> float:
        """Its bill of materials [currency]."""
        return self.built.cost


@record
class Recommendation:
    """What a search found."""

    meet: list[SizedCluster]
    """Designs that meet the target within the limits, the smallest purchase first."""
    miss: list[SizedCluster]
    """Designs that meet the time and break a limit, or that are as large as can be and too slow."""
    left_out: dict[str, str]
    """Accelerators that were not sized, with the reason."""
    patient: SizedCluster | None
    """The smallest purchase of the best accelerator with a tenth more time."""


class ClusterSearch:
    """Sizes clusters of one accelerator for a target."""

    def __init__(self, target: Target, catalog: Catalog, accelerator: str, step: Callable[[str], None]) -> None:
        """Choose server, switches and links.

        Args:
            target: what is wanted.
            catalog: the parts.
            accelerator: the accelerator.
            step: called with what is tried.

        Raises:
            NoDesignError: where no server has a price.
        """
        self.target, self.catalog, self.accelerator, self.tell = target, catalog, accelerator, step
        self.model = part_of(catalog, Model, target.model, "--model")
        wishes = Wishes(
            accelerator=accelerator,
            gpus=None,
            budget=None,
            watts=None,
            model=target.model,
            book=target.book,
            pue=target.pue,
        )
        self.build, self.server = builder(wishes, catalog, f"{target.model}-{accelerator}")
        self.step = self.server.nvlink.nodes if self.server.nvlink else 1
        self.each = len(self.server.accelerators)

    def tried(self, idea: Idea, nodes: int) -> SizedCluster | None:
        """Return a design with some nodes, and its run; None where it cannot be built or the model cannot run.

        Args:
            idea: the way to build the fabric.
            nodes: its nodes [1].

        Raises:
            UncalibratedError: where the accelerator has no training constants.
        """
        self.tell(f"{self.accelerator}, {nodes * self.each:,}")
        built = self.build(idea, nodes)
        if built is None:
            return None
        parts = self.catalog.fresh()
        try:
            timed = timed_on(built.design, parts, self.model, PlanFields(), None, self.target.tokens, searching=True)
            study = study_cost(built.design, parts, Asked(draws=0), timed)
        except (RefusedError, InputError):
            return None
        return SizedCluster(self.accelerator, built, study, timed.report.error_band)

    def smallest(self, idea: Idea, first: int, days: float) -> tuple[SizedCluster | None, SizedCluster | None]:
        """Return the smallest design that takes no more than some days, and the largest that takes more.

        Args:
            idea: the way to build the fabric.
            first: nodes to begin with [1].
            days: the days.
        """
        low, nodes = 0, min(max(self.step, round_up(first / self.step) * self.step), MOST_NODES)
        found: SizedCluster | None = None
        slow: SizedCluster | None = None
        high = MOST_NODES + self.step
        for _ in range(MOST_TRIALS):
            candidate = self.tried(idea, nodes)
            if candidate is not None and candidate.days <= days:
                found, high = candidate, nodes
            else:
                slow, low = candidate or slow, nodes
            if high - low <= max(self.step, CLOSE * high) or low >= MOST_NODES:
                break
            guess = nodes * candidate.days / days if candidate is not None else 2.0 * nodes
            wanted = round_up(guess * (1.002 if low == nodes else 1.0) / self.step) * self.step
            middle = (low + high) // 2 // self.step * self.step
            nodes = wanted if low < wanted < high else max(middle, low + self.step)
        return found, slow


def _candidates(target: Target, catalog: Catalog, left_out: dict[str, str]) -> Iterator[tuple[str, float]]:
    """Yield the accelerators to size, by what a peak FLOP/s of theirs costs in servers, each with its peak [FLOP/s]."""
    book = catalog.entry(target.book).part
    assert isinstance(book, PriceBook)
    rows: list[tuple[float, str, float]] = []
    names = target.allowed or catalog.ids_of("accelerator")
    for name in names:
        part = catalog.entry(name).part
        assert isinstance(part, Accelerator)
        if name in target.excluded or (part.announced and name not in target.allowed):
            continue
        try:
            server: Server = priced_server(catalog, name, book)
        except NoDesignError as error:
            if target.allowed:
                left_out[name] = str(error)
            continue
        peak = part.peak.get("bf16") or part.peak.get("fp16")
        if peak is None:
            left_out[name] = "no peak in BF16 or FP16"
            continue
        rows.append((book.items[server.id].value / len(server.accelerators) / peak.value, name, peak.value * 1e12))
    for _, name, peak_flops in sorted(rows):
        yield name, peak_flops


def broken(candidate: SizedCluster, target: Target) -> str:
    """Return which limits a design breaks: days, capex, power; an empty text where it breaks none.

    Args:
        candidate: the design.
        target: what is wanted.
    """
    found = ["days"] if candidate.days > target.days else []
    found += ["capex"] if target.capex is not None and candidate.capex > target.capex else []
    found += ["power"] if target.watts is not None and candidate.built.watts > target.watts else []
    return " and ".join(found)


def recommend(target: Target, catalog: Catalog, tell: Callable[[str], None]) -> Recommendation:
    """Return the smallest purchases that meet a target, and what comes near.

    For each accelerator the smallest cluster at full bandwidth is found, then leaner fabrics of its size are tried.
    Accelerators whose servers alone, at their whole peak, would cost more than the best purchase so far are left out.

    Args:
        target: what is wanted.
        catalog: the parts.
        tell: called with what is tried.
    """
    meet: list[SizedCluster] = []
    miss: list[SizedCluster] = []
    left_out: dict[str, str] = {}
    flops_token = 0.0
    book = catalog.entry(target.book).part
    assert isinstance(book, PriceBook)
    for name, peak in _candidates(target, catalog, left_out):
        search = ClusterSearch(target, catalog, name, tell)
        second = target.tokens / (target.days * 86_400)
        least = flops_token * second / peak / search.each
        bound = least * book.items[search.server.id].value
        if meet and bound > meet[0].capex:
            left_out[name] = "its servers cost more than the best purchase, even at their whole peak"
            continue
        try:
            first = least / FIRST_MFU if least else 64.0
            full, slow = search.smallest(IDEAS[0], round_up(first), target.days)
        except UncalibratedError:
            left_out[name] = "no training constants"
            continue
        if full is None:
            if slow is not None:
                miss.append(slow)
            else:
                left_out[name] = f"`{target.model}` cannot run on it"
            continue
        assert full.study.run is not None
        flops_token = flops_token or full.study.run.mfu * peak * full.study.run.gpus / full.study.run.tokens_s
        nodes = full.built.assessment.nodes["compute"]
        others = [search.tried(idea, nodes) for idea in IDEAS[1:] if not idea.other]
        for candidate in (full, *others):
            if candidate is not None and candidate.days <= target.days:
                (miss if broken(candidate, target) else meet).append(candidate)
        meet.sort(key=lambda item: (item.capex, item.accelerator))
    patient: SizedCluster | None = None
    if meet:
        best = meet[0]
        search = ClusterSearch(target, catalog, best.accelerator, tell)
        nodes = best.built.assessment.nodes["compute"]
        patient, _ = search.smallest(best.built.idea, round_up(nodes / MORE_TIME), target.days * MORE_TIME)
    return Recommendation(meet=meet, miss=miss, left_out=left_out, patient=patient)
