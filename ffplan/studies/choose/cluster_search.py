"""The smallest cluster of one accelerator that trains a model in time, and leaner ways to build it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import round_up
from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.catalog.models import Model
from ffplan.catalog.named import part_of
from ffplan.catalog.store import Catalog
from ffplan.design.training import PlanFields
from ffplan.studies.choose.candidates import (
    IDEAS,
    NO_DRAWS,
    Draft,
    Sizes,
    Wishes,
    _built_from,
    _draft_from,
    _rounder_size,
    _smallest,
)
from ffplan.studies.choose.first_designs import Builder, _fabric_slots
from ffplan.studies.choose.recommend_target import _aim_of, _SizedCluster
from ffplan.studies.cost.cost import accounted, inputs_for
from ffplan.studies.cost.ledger import CostRequest
from ffplan.studies.train.cluster import cluster_of
from ffplan.studies.train.default_job import TimedJob, timed_on
from ffplan.training.constraints import RefusedError
from ffplan.training.group_collectives import with_inner_times

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.cost.inputs import Input
    from ffplan.studies.choose.candidates import Built, Idea
    from ffplan.studies.choose.recommend_target import Target
    from ffplan.training.group_collectives import Cluster

_MOST_NODES = 20_000
_ROUNDS = 4
"""Sizes that are drawn until one is in time with the chance wanted [1]."""
DRAWS = 4_000
"""Draws that a size is chosen by, and its chance counted over [1]."""
_DRAWN = CostRequest(draws=DRAWS)


def _own_speed(inputs: tuple[Input, ...], accelerator: str) -> tuple[Input, ...]:
    """Let all designs of an accelerator share the errors of their speeds."""
    return tuple(
        replace(entry, key=f"speed_own.{accelerator}") if entry.name == "speed_own" else entry for entry in inputs
    )


@record
class _Trial:
    draft: Draft
    parts: Catalog
    timed: TimedJob
    days: float
    """Likely days of the run."""


class _ClusterSearch:
    def __init__(self, target: Target, catalog: Catalog, accelerator: str, step: Callable[[str], None]) -> None:
        self.target, self.catalog, self.accelerator, self.tell = target, catalog, accelerator, step
        self.model = part_of(catalog, Model, target.model, "--model")
        wishes = Wishes(
            accelerator=accelerator,
            budget=target.capex,
            watts=target.watts,
            powered=target.aim == "power",
            model=target.model,
            tokens=target.tokens,
            days=target.days,
            book=target.book,
            pue=target.pue,
            excluded=target.excluded,
            switches=target.switches,
            rack_area=target.rack_area,
            effort=target.effort,
        )
        self.builder = Builder(wishes, catalog, f"{target.model}-{accelerator}")
        self.server, self.step = self.builder.server, self.builder.step
        self.each = len(self.server.accelerators)
        self._trials: dict[tuple[str, int], _Trial | None] = {}
        self._tried: dict[tuple[str, int], _SizedCluster | None] = {}
        self._first: Draft | None = None
        """The first design at full bandwidth, whose protocol the idea of the other one must not have."""
        self.late = 1.0
        """Days at the chance wanted over likely ones, of the last design that was drawn [1]."""
        self._machine: Cluster | None = None

    def tried(self, idea: Idea, nodes: int) -> _SizedCluster | None:
        """Return a design with some nodes, and its run; None if it cannot be built or the model cannot run."""
        key = idea.name, nodes
        if key not in self._tried:
            trial, cheapest = self._trial(idea, nodes), self.draft(idea, nodes)
            if trial is not None and cheapest is not None and cheapest.text != trial.draft.text:
                trial = self._trials[key] = self._timed(cheapest, None)
            self._tried[key] = self._sized(idea, trial) if trial is not None else None
        return self._tried[key]

    def draft(self, idea: Idea, nodes: int) -> Draft | None:
        return next(iter(self.builder.drafts(idea, nodes, self._first)), None)

    def _trial(self, idea: Idea, nodes: int) -> _Trial | None:
        key = idea.name, nodes
        if key not in self._trials:
            self.tell(f"{self.accelerator}, {nodes * self.each:,}")
            draft = self.builder.near(idea, nodes, self._first)
            self._first = self._first or draft
            self._trials[key] = self._timed(draft, None) if draft is not None else None
        return self._trials[key]

    def _timed(self, draft: Draft, gpus: int | None) -> _Trial | None:
        """Return a job on a design, on all accelerators if none are given, and its days; None if it cannot run."""
        design, parts = draft.design, self.catalog.fresh()
        try:
            self._machine = system = with_inner_times(cluster_of(design, parts), self._machine)
            timed = timed_on(
                design,
                parts,
                self.model,
                PlanFields(),
                gpus,
                self.target.tokens,
                searching=True,
                sure=False,
                system=system,
            )
            inputs = inputs_for(draft.ledger, timed, parts, drawn=False)
        except (RefusedError, InputError):
            return None
        run = accounted(draft.ledger, inputs, timed, NO_DRAWS).run
        assert run is not None
        return _Trial(draft, parts, timed, float(run.days))

    def _sized(self, idea: Idea, trial: _Trial) -> _SizedCluster | None:
        built = _built_from(trial.draft.text, idea, self.catalog, trial.timed)
        if built is None:
            return None
        self.late = self._lateness(trial)
        return self._cluster(built, trial)

    def _cluster(self, built: Built, trial: _Trial) -> _SizedCluster:
        return _SizedCluster(
            accelerator=self.accelerator, built=built, timed=trial.timed, likely_days=trial.days, late=self.late
        )

    def _lateness(self, trial: _Trial) -> float:
        """Return the days within which a run ends with the chance wanted, over its likely days [1]."""
        if self.target.sustained is not None:
            return 1.0
        inputs = _own_speed(inputs_for(trial.draft.ledger, trial.timed, trial.parts), self.accelerator)
        run = accounted(trial.draft.ledger, inputs, trial.timed, _DRAWN).drawn_run
        assert run is not None
        return float(np.quantile(run.days, self.target.chance)) / trial.days

    def smallest(self, idea: Idea, first: int, days: float) -> tuple[_SizedCluster | None, _SizedCluster | None]:
        """Return the smallest design that takes no more than some days; else None, and the largest that takes more."""
        before: int | None = None
        full: _SizedCluster | None = None
        for _ in range(_ROUNDS):
            nodes, slow = _smallest(self._sizes(idea), first, days)
            if nodes is None:
                return None, self.tried(idea, slow) if slow else None
            full = self.tried(idea, nodes)  # its draws say how late a run may be, so the size is sought again
            if full is None or (nodes == before and full.days <= days):
                break
            before, first = nodes, nodes
        return (full, None) if full is None or full.days <= days else (None, full)

    def scaled(self, nodes: int) -> _SizedCluster | None:
        """Return a design with about some nodes, whether it is in time or not; None if none can be built or run."""
        trial = self._trial(IDEAS[0], min(round_up(nodes / self.step) * self.step, _MOST_NODES))
        built = _built_from(trial.draft.text, IDEAS[0], self.catalog, trial.timed) if trial is not None else None
        if trial is None or built is None:
            return None
        return self._cluster(built, trial)

    def _sizes(self, idea: Idea) -> Sizes:
        def days(nodes: int) -> float | None:
            trial = self._trial(idea, nodes)
            return trial.days * self.late if trial is not None else None

        return Sizes(days=days, step=self.step, most=_MOST_NODES)

    def part(self, whole: _SizedCluster, days: float) -> tuple[int, float]:
        """Return the fewest nodes of a design on which a job takes no more than some days [1], and its days."""
        taken: dict[int, float | None] = {whole.nodes: whole.days}
        draft = _draft_from(whole.built.text, whole.built.idea, self.catalog)
        assert draft is not None, whole.built.text

        def of(nodes: int) -> float | None:
            if nodes not in taken:
                self.tell(f"{self.accelerator}, {nodes * self.each:,} of {whole.nodes * self.each:,}")
                trial = self._timed(draft, nodes * self.each)
                taken[nodes] = trial.days * whole.late if trial is not None else None
            return taken[nodes]

        sizes = Sizes(days=of, step=self.step, most=whole.nodes)
        size, _ = _smallest(sizes, whole.nodes * whole.days / days, days)
        nodes = size or whole.nodes
        nodes = _rounder_size(sizes, nodes, days) or nodes
        return nodes, of(nodes) or whole.days

    def rounder(self, cluster: _SizedCluster) -> _SizedCluster | None:
        """Return the smallest round size below a design that is in time too; None without one.

        Time falls with size but for sizes that divide badly, which a search by halves may stop at.
        """
        nodes = _rounder_size(self._sizes(cluster.built.idea), cluster.nodes, self.target.days)
        return self.tried(cluster.built.idea, nodes) if nodes else None

    def _resized(self, idea: Idea, nodes: int, best: float) -> _SizedCluster | None:
        """Return the smallest design of an idea; None if it cannot come near the best."""
        trial = self.tried(idea, nodes)
        if trial is None or _aim_of(trial, self.target) * trial.days / self.target.days > best * (
            1 + self.target.slack
        ):
            return trial if trial is not None and trial.days <= self.target.days else None
        cluster, _ = self.smallest(idea, round_up(nodes * trial.days / self.target.days), self.target.days)
        return cluster

    def _spared(self, way: Idea, level: _SizedCluster, best: _SizedCluster, *, chosen: bool) -> bool:
        """Return whether a leaner fabric need not be tried: it is never faster, so it must save.

        One tier is as lean as it gets, but for another switch; for other numbers of NICs than the best's, it must save
        so much that it becomes the best.
        """
        flat = level.built.design.spec.fabric.tiers == 1
        if not flat and (chosen or self.target.aim != "capex"):
            return False
        draft = self.draft(way, level.nodes)
        if draft is None or (flat and draft.purchase >= level.built.purchase):
            return True
        if chosen or self.target.aim != "capex":
            return False
        return draft.purchase > level.built.purchase * _aim_of(best, self.target) / _aim_of(level, self.target)

    def variants(self, full: _SizedCluster) -> list[_SizedCluster]:
        """Return other ways to reach the target: fewer NICs while that saves, and leaner fabrics with every number."""
        best, nics = full, len(_fabric_slots(self.server))
        levels = [full]
        while nics > 1:
            nics //= 2
            fewer = self._resized(with_nics(IDEAS[0], nics), best.nodes, _aim_of(best, self.target))
            if fewer is None:
                break
            levels.append(fewer)
            if _aim_of(fewer, self.target) >= _aim_of(best, self.target):
                break
            best = fewer
        clusters, winner = levels[1:], best
        for alternative in IDEAS[1:]:
            for level in levels[:1] if alternative.other else levels:
                count = level.built.idea.nics
                way = with_nics(alternative, count) if count else alternative
                if not alternative.other and self._spared(way, level, best, chosen=level is winner):
                    continue
                resized = self._resized(way, level.nodes, _aim_of(best, self.target))
                if resized is not None:
                    clusters.append(resized)
                    best = min(best, resized, key=lambda cluster: _aim_of(cluster, self.target))
        return clusters


def with_nics(idea: Idea, nics: int) -> Idea:
    """Return an idea with fewer NICs in each node."""
    rate = "each with its whole rate at once" if idea is IDEAS[0] else idea.words
    text = f"{plural(nics, 'NIC')} in a node; {rate}"
    return replace(idea, name=f"{idea.name}-{nics}nic", words=text, nics=nics)
