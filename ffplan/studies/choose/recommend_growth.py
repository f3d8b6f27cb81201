"""A recommended design that is bought in phases: how much of it each target needs, and when."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.inputs.quantities import MOST_YEARS
from ffplan.studies.choose.built import built_from
from ffplan.studies.choose.recommend_target import Grown, Stage
from ffplan.studies.cost.asked import Asked
from ffplan.studies.cost.cost import study_cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.studies.choose.cluster_search import ClusterSearch
    from ffplan.studies.choose.recommend_target import SizedCluster, Target


MOST_MONTHS = 12 * MOST_YEARS
"""Latest that a purchase may come [month]."""


def stages_of(days: float, later: Sequence[tuple[float, float]], who: str) -> tuple[tuple[Stage, ...], float]:
    """Return the purchases of a cluster that grows, none where nothing is bought later, and the days of its last one.

    Args:
        days: days that the run may take after the first purchase [day].
        later: months from the first order, and the days that the run may take from that purchase on [month, day].
        who: the option or argument, for messages.

    Raises:
        UsageError: where a purchase comes before the one above it or too late, or its run may take longer.
    """
    stages = [Stage(after=0.0, days=days)]
    for after, fewer in later:
        if not after <= MOST_MONTHS:
            raise UsageError(f"{who}: {after:g} months are more than the {MOST_MONTHS:g} that a phase may come later")
        if after <= stages[-1].after:
            raise UsageError(f"{who}: {after:g} months come no later than {stages[-1].after:g}; order them by time")
        if not 0 < fewer < stages[-1].days:
            raise UsageError(f"{who}: {fewer:g} days are to be above 0 and below the {stages[-1].days:g} before")
        stages.append(Stage(after=after, days=fewer))
    return tuple(stages) if later else (), stages[-1].days


def _sized(item: SizedCluster, search: ClusterSearch, target: Target) -> list[Grown]:
    """Return what stands after each purchase; what stands never shrinks."""
    found: list[Grown] = []
    for stage in target.stages:
        nodes, days = item.nodes, item.days
        if stage is not target.stages[-1]:
            nodes, days = search.part(item, stage.days)
        if found and nodes < found[-1].nodes:
            nodes, days = found[-1].nodes, found[-1].days
        alone = search.draft(item.built.idea, nodes)
        found.append(Grown(stage=stage, nodes=nodes, days=days, alone=alone.cost if alone is not None else item.capex))
    return found


def grown(item: SizedCluster, search: ClusterSearch, target: Target, catalog: Catalog) -> SizedCluster:
    """Return a design whose file says what is bought when.

    The fabric is that of the last purchase: nodes, leaf switches and their links come with each, the switches above
    them with the first. A purchase that the nodes of an earlier one already serve is left out of the file.

    Args:
        item: the design, sized for the last purchase.
        search: what sized it.
        target: what is wanted.
    """
    growth = _sized(item, search, target)
    bought = [now for at, now in enumerate(growth) if at == 0 or now.nodes > growth[at - 1].nodes]
    if len(bought) == 1:
        return replace(item, growth=tuple(growth))
    rows = [
        f"  - {{name: purchase-{at}, after: {now.stage.after:g} months, nodes: [{now.nodes}]}}"
        f"  # {target.model} in {now.days:.1f} days"
        for at, now in enumerate(bought, start=1)
    ]
    built = built_from("\n".join((item.built.text, "phases:", *rows, "")), item.built.idea, catalog)
    assert built is not None, item.built.text
    study = study_cost(built.design, catalog.fresh(), Asked(draws=0), item.timed)
    return replace(item, built=built, study=study, growth=tuple(growth))
