"""The smallest cluster of one accelerator that trains a model in time, and leaner ways to build it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import round_up
from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.catalog.models import Model
from ffplan.catalog.named import part_of
from ffplan.design.training import PlanFields
from ffplan.studies.asked import Asked
from ffplan.studies.cost import study_cost
from ffplan.studies.first_designs import Builder, fabric_slots
from ffplan.studies.recommend_target import SizedCluster, aim_of
from ffplan.studies.size_search import Sizes, rounder, smallest
from ffplan.studies.usual_job import timed_on
from ffplan.studies.wishes import IDEAS, Wishes
from ffplan.training.constraints import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.store import Catalog
    from ffplan.results.cost import CostStudy
    from ffplan.studies.built import Built
    from ffplan.studies.recommend_target import Target
    from ffplan.studies.usual_job import TimedJob
    from ffplan.studies.wishes import Idea

MOST_NODES = 20_000


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
            excluded=target.excluded,
            switches=target.switches,
            rack_area=target.rack_area,
        )
        self.builder = Builder(wishes, catalog, f"{target.model}-{accelerator}")
        self.server, self.step = self.builder.server, self.builder.step
        self.each = len(self.server.accelerators)
        self._tried: dict[tuple[str, int], SizedCluster | None] = {}
        self._first: Built | None = None
        """The first design at full bandwidth, whose protocol the idea of the other one must not have."""

    def tried(self, idea: Idea, nodes: int) -> SizedCluster | None:
        """Return a design with some nodes, and its run; None where it cannot be built or the model cannot run.

        Args:
            idea: the way to build the fabric.
            nodes: its nodes [1].

        Raises:
            UncalibratedError: where the accelerator has no training constants.
        """
        key = idea.name, nodes
        if key not in self._tried:
            self.tell(f"{self.accelerator}, {nodes * self.each:,}")
            self._tried[key] = self._sized(idea, nodes)
        return self._tried[key]

    def built(self, idea: Idea, nodes: int) -> Built | None:
        """Return the cheapest way to build an idea with some nodes; None where it cannot be built."""
        return self.builder.build(idea, nodes, self._first)

    def _sized(self, idea: Idea, nodes: int) -> SizedCluster | None:
        built = self.built(idea, nodes)
        if built is None:
            return None
        self._first = self._first or built
        found = self._timed(built, None)
        if found is None:
            return None
        timed, study = found
        return SizedCluster(accelerator=self.accelerator, built=built, study=study, timed=timed)

    def _timed(self, built: Built, gpus: int | None) -> tuple[TimedJob, CostStudy] | None:
        """Return a job on a design, on all accelerators if none are given, with its cost; None where it cannot run."""
        parts = self.catalog.fresh()
        try:
            timed = timed_on(built.design, parts, self.model, PlanFields(), gpus, self.target.tokens, searching=True)
            return timed, study_cost(built.design, parts, Asked(draws=0), timed)
        except (RefusedError, InputError):
            return None

    def smallest(self, idea: Idea, first: int, days: float) -> tuple[SizedCluster | None, SizedCluster | None]:
        """Return the smallest design that takes no more than some days, and the largest that takes more.

        Args:
            idea: the way to build the fabric.
            first: nodes to begin with [1].
            days: the days.
        """
        found, slow = smallest(self._sizes(idea), first, days)
        return self.tried(idea, found) if found else None, self.tried(idea, slow) if slow else None

    def _sizes(self, idea: Idea) -> Sizes:
        def days(nodes: int) -> float | None:
            trial = self.tried(idea, nodes)
            return trial.days if trial is not None else None

        return Sizes(days=days, step=self.step, most=MOST_NODES)

    def part(self, whole: SizedCluster, days: float) -> tuple[int, float]:
        """Return the fewest nodes of a design on which a job takes no more than some days [1], and its days.

        Args:
            whole: the design, which takes no more itself.
            days: the days [day].
        """
        taken: dict[int, float | None] = {whole.nodes: whole.days}

        def of(nodes: int) -> float | None:
            if nodes not in taken:
                self.tell(f"{self.accelerator}, {nodes * self.each:,} of {whole.nodes * self.each:,}")
                study = self._timed(whole.built, nodes * self.each)
                taken[nodes] = study[1].run.days.likely if study is not None and study[1].run is not None else None
            return taken[nodes]

        sizes = Sizes(days=of, step=self.step, most=whole.nodes)
        found, _ = smallest(sizes, whole.nodes * whole.days / days, days)
        nodes = found or whole.nodes
        nodes = rounder(sizes, nodes, days) or nodes
        return nodes, of(nodes) or whole.days

    def rounder(self, found: SizedCluster) -> SizedCluster | None:
        """Return the smallest round size below a design that is in time too; None where there is none.

        Time falls with size but for sizes that divide badly, which a search by halves may stop at.

        Args:
            found: the design.
        """
        nodes = rounder(self._sizes(found.built.idea), found.nodes, self.target.days)
        return self.tried(found.built.idea, nodes) if nodes else None

    def _resized(self, idea: Idea, nodes: int, best: float) -> SizedCluster | None:
        """Return the smallest design of an idea where it may come near the best; None where it cannot."""
        trial = self.tried(idea, nodes)
        if trial is None or aim_of(trial, self.target) * trial.days / self.target.days > best * (1 + self.target.slack):
            return trial if trial is not None and trial.days <= self.target.days else None
        found, _ = self.smallest(idea, round_up(nodes * trial.days / self.target.days), self.target.days)
        return found

    def variants(self, full: SizedCluster) -> list[SizedCluster]:
        """Return other ways to reach the target: fewer NICs while that saves, then leaner fabrics with these NICs.

        Args:
            full: the smallest design at full bandwidth with all NICs.
        """
        found: list[SizedCluster] = []
        best, nics = full, len(fabric_slots(self.server))
        idea = full.built.idea
        while nics > 1:
            nics //= 2
            fewer = self._resized(with_nics(IDEAS[0], nics), best.nodes, aim_of(best, self.target))
            if fewer is None:
                break
            found.append(fewer)
            if aim_of(fewer, self.target) >= aim_of(best, self.target):
                break
            best, idea = fewer, fewer.built.idea
        for other in IDEAS[1:]:
            if best.built.design.spec.fabric.tiers == 1 and not other.other:
                continue  # nothing to make leaner
            way = with_nics(other, idea.nics) if idea.nics and not other.other else other
            made = self._resized(way, best.nodes, aim_of(best, self.target))
            if made is not None:
                found.append(made)
        return found


def with_nics(idea: Idea, nics: int) -> Idea:
    """Return an idea with fewer NICs in each node.

    Args:
        idea: the idea.
        nics: NICs of a node on the fabric [1].
    """
    own = "each with its whole rate at once" if idea is IDEAS[0] else idea.words
    words = f"{plural(nics, 'NIC')} in a node; {own}"
    return replace(idea, name=f"{idea.name}-{nics}nic", words=words, nics=nics)
