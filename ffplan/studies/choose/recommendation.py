"""The report of a recommendation: the best designs and how surely, what each limit costs, what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import listed, number, plural
from ffplan.base.record import record
from ffplan.base.version import __version__
from ffplan.cost.draws import sample
from ffplan.results import recommendation as out
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.result import ToolInfo
from ffplan.studies.choose.cluster_search import DRAWS, _own_speed
from ffplan.studies.choose.recommend_target import BOUNDS, _aim_of, broken
from ffplan.studies.cost.cost import evaluate, inputs_for, ledger_for, whole_life
from ffplan.studies.cost.ledger import CostRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.base.array_math import Floats, Number
    from ffplan.catalog.ownership import Effort
    from ffplan.catalog.store import Catalog
    from ffplan.studies.choose.recommend import _LooserLimit, _Recommendation
    from ffplan.studies.choose.recommend_target import Target, _SizedCluster

_WEIGHTS = (8, 4, 2, 1, 1)
"""How much a difference counts: accelerator, protocol, NICs, kind of fabric, switch [1]."""


def _features(cluster: _SizedCluster) -> tuple[tuple[object, str], ...]:
    design = cluster.built.design
    spec, nics = design.spec.fabric, len(design.compute.fabric_nics)
    text = "rails as separate networks" if spec.family == "rail-only" else "one tier of switches"
    if spec.tiers > 1:
        ratio = cluster.built.assessment.fabric.oversubscription
        text = f"{spec.tiers} tiers at {number(ratio or 1.0)}:1"
    return (
        (cluster.accelerator, cluster.accelerator),
        (design.parts.switch.fabric, "InfiniBand" if design.parts.switch.fabric == "infiniband" else "Ethernet"),
        (nics, f"{plural(nics, 'NIC')} a node"),
        (text, text),
        (design.parts.switch.id, design.parts.switch.id),
    )


def distance(first: _SizedCluster, two: _SizedCluster) -> int:
    """Return how much two designs differ, each feature by its weight [1]."""
    pairs = zip(_features(first), _features(two), _WEIGHTS, strict=True)
    return sum(weight for (mine, _), (theirs, _), weight in pairs if mine != theirs)


def _differs(cluster: _SizedCluster, best: _SizedCluster) -> str:
    pairs = zip(_features(cluster), _features(best), strict=True)
    return listed([feature for (mine, feature), (theirs, _) in pairs if mine != theirs])


def kept(result: _Recommendation, target: Target, most: int) -> list[_SizedCluster]:
    """Return the designs that are reported, the best first.

    After the best come those within the slack, up to half of the number wanted, each the one that differs most from all
    before it; then the best of each missing accelerator, and more of the first kind if there is room.
    """
    chosen = result.meet[:1]
    if not chosen:
        return []
    bound = _aim_of(chosen[0], target) * (1 + target.slack)
    near = [candidate for candidate in result.meet[1:] if _aim_of(candidate, target) <= bound]
    _add_apart(chosen, near, (most + 1) // 2)
    for cluster in result.meet:
        if len(chosen) < most and cluster.accelerator not in {neighbour.accelerator for neighbour in chosen}:
            chosen.append(cluster)
    _add_apart(
        chosen, [candidate for candidate in near if not any(candidate is neighbour for neighbour in chosen)], most
    )
    return [candidate for candidate in result.meet if any(candidate is neighbour for neighbour in chosen)]


def _add_apart(chosen: list[_SizedCluster], near: list[_SizedCluster], most: int) -> None:
    while near and len(chosen) < most:
        apart = [min(distance(cluster, neighbour) for neighbour in chosen) for cluster in near]
        if max(apart) == 0:
            return
        chosen.append(near.pop(apart.index(max(apart))))


_BY_SIZE = ("capex", "tco", "power", "accelerators")
"""Aims that grow with the cluster."""


@record
class _Chances:
    best: float
    """Share of draws that make the design the best, each resized to its drawn speed [1]."""
    in_time: float
    """Share of draws with the design in time at its size [1]."""
    days_p10: float
    days_p90: float


def _drawn(candidate: _SizedCluster, target: Target, catalog: Catalog, draws: int) -> tuple[Floats, Floats]:
    """Return days and aim of a design over the draws, shape (draws,) each; an accelerator's designs share errors."""
    request, parts = CostRequest(draws=draws), catalog.fresh()
    ledger = ledger_for(candidate.built.design, parts, request)
    inputs = _own_speed(inputs_for(ledger, candidate.timed, parts), candidate.accelerator)
    v = sample(inputs, draws, request.seed)
    year, run = evaluate(ledger.account, candidate.timed.job, v)
    assert run is not None
    aims: dict[str, Number] = {
        "capex": year.capex + year.building,
        "tco": whole_life(ledger, v, year),
        "token": run.per_million,
        "power": candidate.built.watts,
        "accelerators": candidate.built.assessment.accelerators,
    }
    return np.broadcast_to(run.days, draws), np.broadcast_to(aims[target.aim], draws)


def _chances(
    candidates: Sequence[_SizedCluster], target: Target, catalog: Catalog, draws: int = DRAWS
) -> list[_Chances]:
    """Return how often each design is the best, and in time, over draws that all of them share.

    Returns:
        Shares [1], one for each design.

    Equation:
        best where aim x days / wanted days is least; the aim alone for the cost of a token, which holds the time

    Source:
        Definition: a purchase grows with its accelerators, and the time of a run falls as they grow.
    """
    if not candidates:
        return []
    days, aims = (np.array(rows) for rows in zip(*(_drawn(c, target, catalog, draws) for c in candidates), strict=True))
    resized = aims * days / target.days if target.aim in _BY_SIZE else aims
    won = np.bincount(resized.argmin(axis=0), minlength=len(candidates)) / draws
    early = (days <= target.days).mean(axis=1)
    low, high = np.quantile(days, (0.1, 0.9), axis=1)
    columns = zip(won.tolist(), early.tolist(), low.tolist(), high.tolist(), strict=True)
    return [_Chances(best, in_time, p10, p90) for best, in_time, p10, p90 in columns]


def _plan(candidate: _SizedCluster) -> str:
    assert candidate.study.run is not None
    plan = candidate.study.run.plan
    sizes = (("data", plan.data), ("tensor", plan.tensor), ("pipeline", plan.pipeline), ("context", plan.context))
    parts = [f"{name} {count}" for name, count in sizes if count > 1]
    return listed([*parts, f"ZeRO {plan.zero}"] if plan.zero else parts) or "one accelerator"


def purchases(candidate: _SizedCluster) -> tuple[out.RecommendedPurchase, ...]:
    """Return the purchases by date; empty if all is bought at once."""
    rows, before, phases = [], 0, list(candidate.study.phases)
    per_node = candidate.built.assessment.accelerators // candidate.nodes
    for now in candidate.growth:
        bought = now.nodes > before
        phase = phases.pop(0) if bought and phases else None
        whole = candidate.bill if bought else 0.0
        rows.append(
            out.RecommendedPurchase(
                order_month=now.stage.after,
                ready_month=phase.ready_month if phase is not None else None,
                days_wanted=now.stage.days,
                days=now.days,
                nodes=now.nodes,
                accelerators=now.nodes * per_node,
                capex=phase.capex if phase is not None else whole,
                alone=now.alone,
            )
        )
        before = now.nodes
    return tuple(rows)


def _row(
    candidate: _SizedCluster, target: Target, best: _SizedCluster | None, chance: _Chances, file: str | None
) -> out.RecommendedDesign:
    built, study = candidate.built, candidate.study
    run, bom = study.run, study.bom
    assert run is not None
    assert bom is not None
    assessment = built.assessment
    return out.RecommendedDesign(
        name=assessment.design.name,
        idea=built.idea.words,
        accelerator=candidate.accelerator,
        server=built.design.compute.server.id,
        switch=built.design.parts.switch.id,
        accelerators=assessment.accelerators,
        nodes=candidate.nodes,
        switches=assessment.fabric.switches.total,
        nics=len(built.design.compute.fabric_nics),
        racks=study.power.racks,
        floor_m2=study.power.floor_m2,
        differs=_differs(candidate, best) if best is not None else "",
        days=candidate.likely_days,
        days_at_chance=candidate.days,
        days_p10=chance.days_p10,
        days_p90=chance.days_p90,
        mfu=run.mfu,
        plan=_plan(candidate),
        memory_words=run.memory_words,
        capex=candidate.capex,
        capex_low=bom.total_low,
        capex_high=bom.total_high,
        estimated_from=candidate.timed.report.estimated_from,
        recalled_share=candidate.recalled_share,
        tco=candidate.tco,
        cost_per_million_tokens=candidate.token_cost,
        sustained_pflops=candidate.timed.job.tflops_gpu * candidate.timed.job.gpus * run.effective / run.effort / 1e3,
        facility_peak_kw=study.power.facility_peak_kw,
        missing_power=tuple(dict.fromkeys(gap.part for gap in study.power.missing)),
        breaks=broken(candidate, target),
        best_share=chance.best if best is not None else None,
        in_time_share=chance.in_time if best is not None else None,
        purchases=purchases(candidate),
        file=file,
    )


_EFFORTS: dict[Effort, str] = {
    "tuned": "the plan alone, without a run's extra time",
    "typical": "what published runs took over their fastest plan; `--effort tuned` leaves that out",
    "first-run": "what a team's first runs of their size took over their fastest plan",
}
_MOST_ON_PAPER = 3


def _first_of_each(candidates: Sequence[_SizedCluster]) -> list[_SizedCluster]:
    first: dict[str, _SizedCluster] = {}
    for candidate in candidates:
        first.setdefault(candidate.accelerator, candidate)
    return list(first.values())


def _limit(limit: _LooserLimit, target: Target, best: _SizedCluster | None) -> out.LimitPrice:
    aim = _aim_of(limit.best, target) if limit.best else None
    saving = max(1 - aim / _aim_of(best, target), 0.0) if best and aim is not None else None
    return out.LimitPrice(
        limit=limit.limit.name,
        address=BOUNDS[limit.limit.name],
        unit=limit.limit.unit,
        most=limit.limit.most,
        looser=limit.limit.loosened,
        name=limit.best.built.assessment.design.name if limit.best else None,
        aim=aim,
        saving=saving,
    )


def _floor_words(target: Target, designs: list[_SizedCluster]) -> tuple[str, ...]:
    if target.floor is None or not designs or (area := designs[0].study.power.rack_area_m2) is None:
        return ()
    source = (
        "as stated"
        if target.rack_area is not None
        else ("an estimate of the ownership profile, recalled: state yours with `--area-per-rack`")
    )
    return (
        f"A rack takes {number(area)} m2 of floor with its share of aisles, {source}. Rooms for power and cooling are "
        "extra.",
    )


def recommendation(
    result: _Recommendation,
    target: Target,
    catalog: Catalog,
    currency: str,
    chosen: list[_SizedCluster],
    files: list[str | None],
) -> out.RecommendReport:
    """Return the report."""
    best = result.meet[0] if result.meet else None
    grows = (
        "A cluster that grows is sized for its last purchase. Each one before holds the fewest nodes on which the run "
        "is in time then; switches above the leaves come with the first, and prices stay as they are.",
    )
    miss = sorted(result.miss, key=lambda item: (max(broken(item, target).values()), item.accelerator))
    shares, near = _chances(chosen, target, catalog), _first_of_each(miss)
    paper = _first_of_each(result.unmeasured)[:_MOST_ON_PAPER]
    limits = [_limit(cluster, target, best) for cluster in result.looser]
    rows = zip(chosen, shares, files, strict=True)
    return out.RecommendReport(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        model=target.model,
        tokens=target.tokens,
        days=target.days,
        chance=None if target.sustained else target.chance,
        currency=currency,
        price_book=target.book,
        aim=target.aim,
        effort=target.effort or "typical",
        sustained_pflops=target.sustained / 1e15 if target.sustained else None,
        slack=target.slack,
        draws=DRAWS,
        designs=tuple(_row(cluster, target, best, chance, file) for cluster, chance, file in rows),
        unmeasured=tuple(
            _row(cluster, target, cluster, chance, None)
            for cluster, chance in zip(paper, _chances(paper, target, catalog), strict=True)
        ),
        near=tuple(
            _row(cluster, target, None, chance, None)
            for cluster, chance in zip(near, _chances(near, target, catalog), strict=True)
        ),
        left_out=tuple(out.UnsizedAccelerator(name, reason) for name, reason in sorted(result.left_out.items())),
        limits=tuple(sorted(limits, key=lambda row: (-(row.saving or 0.0), row.name is None, row.limit))),
        assumptions=(
            "Each cluster is the smallest found in time (within 2 %, and round sizes below), with the cheapest switch "
            "and links of the price book. Fewer NICs are tried while that helps, then leaner fabrics with them.",
            "The step is the fastest plan's, at a batch near the usual 4 million tokens; days count "
            f"interruptions and {_EFFORTS[target.effort or 'typical']}.",
            "Days are likely ones, with P10 to P90 by the model's error over published runs and by failures; a cluster "
            "is sized for the chance of being in time that was asked for.",
            "An accelerator without a training run among the measurements, or whose price is mostly recalled, is "
            "listed apart and never recommended unless `--accelerator` names it. Where power is limited, or is to be "
            "least, so is a design whose power is not wholly known.",
            "The share of `best` draws prices and speeds for all designs together, and resizes each to its drawn "
            "speed: it tells how far the ranking rests on quotes and measurements that you do not have yet.",
            *(grows if target.stages else ()),
            *_floor_words(target, [*chosen, *near]),
        ),
    )
