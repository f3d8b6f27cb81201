"""The best purchase that trains a model in time, over accelerators, NICs, fabrics, sizes, plans and phases."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from ffplan.base.array_math import round_up
from ffplan.base.errors import UsageError
from ffplan.base.formatting import percent
from ffplan.base.processes import heard
from ffplan.base.record import record
from ffplan.catalog.prices import PriceBook
from ffplan.inputs.quantities import MOST_YEARS
from ffplan.studies.choose.candidates import IDEAS, _built_from
from ffplan.studies.choose.cluster_search import _ClusterSearch
from ffplan.studies.choose.first_designs import priced_accelerators
from ffplan.studies.choose.recommend_target import (
    LOOSER,
    WORTH,
    Stage,
    Target,
    _aim_of,
    _Grown,
    _KeptLimit,
    _SizedCluster,
    _trusted,
    broken,
)
from ffplan.training.accelerator_rates import UncalibratedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ffplan.catalog.store import Catalog

_MOST_MONTHS = 12 * MOST_YEARS


def stages_of(days: float, later: Sequence[tuple[float, float]], who: str) -> tuple[tuple[Stage, ...], float]:
    """Return the purchases of a growing cluster, none if all is bought at once, and the days of its last one.

    Args:
        days: days that the run may take after the first purchase [day].
        later: months from the first order, and the days that the run may take from that purchase on [month, day].
        who: the option or argument, for messages.

    Raises:
        UsageError: if a purchase comes before the one above it or too late, or its run may take longer.
    """
    stages = [Stage(after=0.0, days=days)]
    for after, fewer in later:
        if not after <= _MOST_MONTHS:
            raise UsageError(f"{who}: {after:g} months are more than the {_MOST_MONTHS:g} that a phase may come later")
        if after <= stages[-1].after:
            raise UsageError(f"{who}: {after:g} months come no later than {stages[-1].after:g}; order them by time")
        if not 0 < fewer < stages[-1].days:
            raise UsageError(f"{who}: {fewer:g} days are to be above 0 and below the {stages[-1].days:g} before")
        stages.append(Stage(after=after, days=fewer))
    return tuple(stages) if later else (), stages[-1].days


def _sized(cluster: _SizedCluster, search: _ClusterSearch, target: Target) -> list[_Grown]:
    """Return the cluster after each purchase; it never shrinks."""
    sizes: list[_Grown] = []
    for stage in target.stages:
        nodes, days = cluster.nodes, cluster.days
        if stage is not target.stages[-1]:
            nodes, days = search.part(cluster, stage.days)
        if sizes and nodes < sizes[-1].nodes:
            nodes, days = sizes[-1].nodes, sizes[-1].days
        alone = search.draft(cluster.built.idea, nodes)
        sizes.append(
            _Grown(stage=stage, nodes=nodes, days=days, alone=alone.cost if alone is not None else cluster.bill)
        )
    return sizes


def _grown(cluster: _SizedCluster, search: _ClusterSearch, target: Target, catalog: Catalog) -> _SizedCluster:
    """Return a design whose file says what is bought when.

    The fabric is the last purchase's: nodes, leaf switches and their links come with each, the switches above
    them with the first. A purchase that the nodes of an earlier one already serve is left out of the file.
    """
    growth = _sized(cluster, search, target)
    bought = [now for number, now in enumerate(growth) if number == 0 or now.nodes > growth[number - 1].nodes]
    if len(bought) == 1:
        return replace(cluster, growth=tuple(growth))
    rows = [
        f"  - {{name: purchase-{number}, after: {now.stage.after:g} months, nodes: [{now.nodes}]}}"
        f"  # {target.model} in {now.days:.1f} days"
        for number, now in enumerate(bought, start=1)
    ]
    text = "\n".join((cluster.built.text, "phases:", *rows, ""))
    built = _built_from(text, cluster.built.idea, catalog, cluster.timed)
    assert built is not None, cluster.built.text
    run = built.study.run
    assert run is not None
    return replace(cluster, built=built, likely_days=run.days.likely, growth=tuple(growth))


_FIRST_MFU = 0.4
"""Part of the peak that the first size tried is made for [1]."""
_RIVALS = 3
"""Accelerators that are sized in any case, among possible winners and among paper-only parts [1]."""
_NEAR = 1.1
"""What the best purchase of one size tried may come to once it is sized, over what it seems [1]."""
_RESOLVED = 2
"""Accelerators that are sized again for more time [1]."""


@record
class _LooserLimit:
    limit: _KeptLimit
    best: _SizedCluster | None
    """None if nothing meets the target even so."""


@record
class _Recommendation:
    meet: list[_SizedCluster]
    """Designs that meet the target within the limits, the best first."""
    unmeasured: list[_SizedCluster]
    """Designs that meet it on paper: without a measured run, or with prices that are mostly recalled."""
    miss: list[_SizedCluster]
    """Designs that break a limit, or that are as large as can be and too slow."""
    left_out: dict[str, str]
    looser: list[_LooserLimit]
    """Each limit, looser by a tenth; none of a search that was stopped."""
    stopped: bool = False
    """Whether it was interrupted once it had sized something."""


def _candidates(target: Target, catalog: Catalog, left_out: dict[str, str]) -> Iterator[tuple[str, float]]:
    """Yield the accelerators to size, by what a peak FLOP/s of theirs costs in servers, each with its peak [FLOP/s]."""
    book = catalog.entry(target.book).part
    assert isinstance(book, PriceBook)
    rows: list[tuple[float, str, float]] = []
    for part, server in priced_accelerators(catalog, book, target.allowed, target.excluded, left_out):
        peak = part.peak.get("bf16") or part.peak.get("fp16")
        if peak is None:
            left_out[part.id] = "no peak in BF16 or FP16"
            continue
        price = book.items[server.id].value / len(server.accelerators)
        rows.append((price / peak.value, part.id, peak.value * 1e12))
    for _, name, peak_flops in sorted(rows):
        yield name, peak_flops


def _order(target: Target) -> Callable[[_SizedCluster], tuple[float, float, str, str]]:
    """Return the key of clusters by the aim, and by the purchase where that is equal."""

    def key(cluster: _SizedCluster) -> tuple[float, float, str, str]:
        name = cluster.built.assessment.design.name
        return _aim_of(cluster, target), cluster.capex, cluster.accelerator, name

    return key


@record
class _Begun:
    search: _ClusterSearch
    nodes: int
    trial: _SizedCluster | None
    """The size; None if the model cannot run on it."""


class _Pool:
    def __init__(self, target: Target, catalog: Catalog, tell: Callable[[str], None]) -> None:
        self.target, self.catalog, self.tell = target, catalog, tell
        self.found: list[_SizedCluster] = []
        self.left_out: dict[str, str] = {}
        self.begun: dict[str, _Begun] = {}
        self.searches: dict[str, _ClusterSearch] = {}
        self.flops_token = 0.0
        self.late = 1.0
        """Days at the chance wanted over likely ones, of the accelerator sized last [1]."""

    def best(self, target: Target, *, trusted: bool = True) -> list[_SizedCluster]:
        meet = (item for item in self.found if _trusted(item, target) == trusted and not broken(item, target))
        return sorted(meet, key=_order(target))

    def try_one(self, name: str, peak: float) -> None:
        """Try one size of an accelerator, from which it shows how near to the best it may come."""
        target = self.target
        search = _ClusterSearch(target, self.catalog, name, self.tell)
        second = target.tokens / (target.days * 86_400)
        least = self.flops_token * second / peak / search.each
        if self._hopeless(least, search):
            self.left_out[name] = "servers cost more than the best purchase, even at their whole peak"
            return
        nodes = round_up(least / _FIRST_MFU if least else 64.0)
        try:
            trial = search.scaled(nodes)
        except UncalibratedError:
            self.left_out[name] = "no training constants"
            return
        if trial is not None and not self.flops_token:
            row = trial.timed.report.rows[0]
            self.flops_token = row.mfu * peak * trial.timed.job.gpus / row.tokens_s
        self.begun[name] = _Begun(search, nodes, trial)

    def size_all(self) -> None:
        for name in sorted(self.begun, key=lambda name: (self._expected(self.begun[name].trial), name)):
            now = self.begun[name]
            if now.trial is not None and self._dear(now.trial):
                self.left_out[name] = f"the one size tried lies over {percent(_NEAR - 1)} above the {_RIVALS} best"
            else:
                self._size(name, now)
            del self.begun[name]

    def _expected(self, trial: _SizedCluster | None) -> float:
        """Return the aim of a size once it takes the days wanted, which it has in nearly inverse proportion."""
        if trial is None:
            return inf
        return _aim_of(trial, self.target) * (trial.days / self.target.days if self.target.aim != "token" else 1.0)

    def _size(self, name: str, now: _Begun) -> None:
        target, trial = self.target, now.trial
        now.search.late = self.late
        first = round_up(now.nodes * trial.days * self.late / target.days) if trial is not None else now.nodes
        full, slow = now.search.smallest(IDEAS[0], first, target.days)
        if full is not None:
            self.searches[name], self.late = now.search, full.late
            self.found.append(full)
        elif slow is not None:
            self.found.append(slow)
        else:
            self.left_out[name] = f"`{target.model}` cannot run on it, or no switch and link hold it"

    def _dear(self, trial: _SizedCluster) -> bool:
        target = self.target
        rivals = [item for item in self.found if _trusted(item, target) == _trusted(trial, target)]
        aims = sorted(_aim_of(item, target) for item in rivals if not broken(item, target))
        return len(aims) >= _RIVALS and self._expected(trial) > aims[_RIVALS - 1] * _NEAR

    def lean(self) -> None:
        fulls = sorted(self.found, key=lambda cluster: (cluster.days > self.target.days, *_order(self.target)(cluster)))
        fulls = [full for full in fulls if full.accelerator in self.searches]
        for full in fulls:
            rivals = [item for item in self.found if _trusted(item, self.target) == _trusted(full, self.target)]
            best = min((_aim_of(item, self.target) for item in rivals if item.days <= self.target.days), default=0.0)
            if _aim_of(full, self.target) <= best * (1 + WORTH):
                search = self.searches[full.accelerator]
                rounder = search.rounder(full)
                self.found += [rounder] if rounder is not None else []
                self.found += search.variants(rounder or full)

    def grow(self) -> None:
        """Split the purchase of the designs that may be reported, and leave out others that are in time."""
        target = self.target
        if not target.stages:
            return
        early = sorted((cluster for cluster in self.found if cluster.days <= target.days), key=_order(target))
        best = self.best(target) or early
        first = {cluster.accelerator: cluster for cluster in reversed(early)}
        near = [
            cluster for cluster in early if _aim_of(cluster, target) <= _aim_of(best[0], target) * (1 + target.slack)
        ]
        apart = [cluster for cluster in first.values() if not any(cluster is neighbour for neighbour in near)]
        grown = [
            _grown(cluster, self.searches[cluster.accelerator], target, self.catalog) for cluster in (*near, *apart)
        ]
        self.found = [cluster for cluster in self.found if cluster.days > target.days] + grown

    def _hopeless(self, least: float, search: _ClusterSearch) -> bool:
        """Return whether the servers alone, at their whole peak, would cost more than the best purchase so far."""
        book, trials = search.builder.book, [now.trial for now in self.begun.values() if now.trial is not None]
        best = min((self._expected(trial) for trial in trials if _trusted(trial, self.target)), default=inf)
        return self.target.aim == "capex" and least * book.items[search.server.id].value > best * _NEAR

    def looser(self, limit: _KeptLimit) -> _LooserLimit:
        target = self.target.with_limit(limit.name, limit.loosened)
        if limit.name != "days":
            best = self.best(target)
            return _LooserLimit(limit, best[0] if best else None)
        again = list(self.best(target)[:1])
        for first in self._leaders(target):
            nodes = round_up(first.nodes / LOOSER)
            smaller, _ = self.searches[first.accelerator].smallest(first.built.idea, nodes, target.days)
            if smaller is not None and target.stages:
                smaller = _grown(smaller, self.searches[first.accelerator], target, self.catalog)
            again += [smaller] if smaller is not None and not broken(smaller, target) else []
        return _LooserLimit(limit, min(again, key=_order(target)) if again else None)

    def _leaders(self, target: Target) -> list[_SizedCluster]:
        leaders: dict[str, _SizedCluster] = {}
        for cluster in sorted(self.found, key=_order(target)):
            if cluster.accelerator in self.searches and _trusted(cluster, target):
                leaders.setdefault(cluster.accelerator, cluster)
        return list(leaders.values())[:_RESOLVED]


def recommend(target: Target, catalog: Catalog, tell: Callable[[str], None]) -> _Recommendation:
    """Return the best purchases that meet a target, what comes near, and what each limit costs.

    One size of each accelerator shows how near to the best it may come. In that order a small cluster at full bandwidth
    that is in time is sought for each; accelerators far above any that may be reported are left out. Round sizes
    below are then tried, and fewer NICs while that helps, and leaner fabrics with them, each sized again.
    Where the cluster grows, it is sized for the last purchase, and each one before holds the fewest nodes of it that
    are in time then.

    A search that is interrupted returns what it has sized, if anything.

    Raises:
        KeyboardInterrupt: before anything is sized.
    """
    pool = _Pool(target, catalog, tell)
    waiting = dict(_candidates(target, catalog, pool.left_out))
    stopped = False
    try:
        for name in list(waiting):
            pool.try_one(name, waiting[name])
            del waiting[name]
        pool.size_all()
        pool.lean()
    except KeyboardInterrupt:
        if not pool.found:
            raise
        heard()
        stopped = True
        pool.left_out |= dict.fromkeys((*waiting, *pool.begun), "the search was stopped before it was sized")
    pool.grow()
    return _Recommendation(
        meet=pool.best(target),
        unmeasured=pool.best(target, trusted=False),
        miss=[cluster for cluster in pool.found if broken(cluster, target)],
        left_out=pool.left_out,
        looser=[] if stopped else [pool.looser(limit) for limit in target.limits],
        stopped=stopped,
    )
