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
from ffplan.studies.first_designs import IDEAS, Wishes, builder, fabric_slots
from ffplan.studies.recommend_target import SizedCluster, aim_of
from ffplan.studies.usual_job import timed_on
from ffplan.training.constraints import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.store import Catalog
    from ffplan.studies.first_designs import Built, Idea
    from ffplan.studies.recommend_target import Target

CLOSE = 0.02
"""Nodes between the largest size that is too small and the smallest that is not, over the latter, at the end [1]."""
MOST_TRIALS = 9
SMALLEST = 0.6
"""Smallest round size that is tried, over the size found [1]."""
ROUND_SIZES = 6
"""Round sizes tried, at most [1]."""
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
        )
        self.build, self.server = builder(wishes, catalog, f"{target.model}-{accelerator}")
        self.step = self.server.nvlink.nodes if self.server.nvlink else 1
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

    def _sized(self, idea: Idea, nodes: int) -> SizedCluster | None:
        built = self.build(idea, nodes, self._first)
        if built is None:
            return None
        self._first = self._first or built
        parts = self.catalog.fresh()
        try:
            timed = timed_on(built.design, parts, self.model, PlanFields(), None, self.target.tokens, searching=True)
            study = study_cost(built.design, parts, Asked(draws=0), timed)
        except (RefusedError, InputError):
            return None
        return SizedCluster(self.accelerator, built, study, timed)

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

    def rounder(self, found: SizedCluster) -> SizedCluster | None:
        """Return the smallest round size below a design that is in time too; None where there is none.

        Time falls with size but for sizes that divide badly, which a search by halves may stop at.

        Args:
            found: the design.
        """
        unit = self.step
        while (1 - SMALLEST) * found.nodes > ROUND_SIZES * unit:
            unit *= 2
        first = -(-int(SMALLEST * found.nodes) // unit) * unit
        for nodes in range(max(first, unit), found.nodes, unit):
            trial = self.tried(found.built.idea, nodes)
            if trial is not None and trial.days <= self.target.days:
                return trial
        return None

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
