"""The report of a recommendation: the best designs, what is near, what each limit costs, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan import __version__
from ffplan.base.formatting import listed, number
from ffplan.results import recommendation as out
from ffplan.results.design import SCHEMA_VERSION, ToolInfo
from ffplan.studies.choose.recommend import LOOSER
from ffplan.studies.choose.recommend_choice import differs
from ffplan.studies.choose.recommend_shares import DRAWS, chances
from ffplan.studies.choose.recommend_target import aim_of, broken

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.studies.choose.recommend import LooserLimit, Recommendation
    from ffplan.studies.choose.recommend_shares import Chances
    from ffplan.studies.choose.recommend_target import SizedCluster, Target


def _plan(candidate: SizedCluster) -> str:
    """Return the parallel plan of a run in words."""
    assert candidate.study.run is not None
    plan = candidate.study.run.plan
    sizes = (("data", plan.data), ("tensor", plan.tensor), ("pipeline", plan.pipeline), ("context", plan.context))
    words = [f"{name} {count}" for name, count in sizes if count > 1]
    return listed([*words, f"ZeRO {plan.zero}"] if plan.zero else words) or "one accelerator"


def purchases(candidate: SizedCluster) -> tuple[out.RecommendedPurchase, ...]:
    """Return what is bought when; nothing where all is bought at once."""
    rows, before, phases = [], 0, list(candidate.study.phases)
    each = candidate.built.assessment.accelerators // candidate.nodes
    for now in candidate.growth:
        bought = now.nodes > before
        phase = phases.pop(0) if bought and phases else None
        whole = candidate.capex if bought else 0.0
        rows.append(
            out.RecommendedPurchase(
                order_month=now.stage.after,
                ready_month=phase.ready_month if phase is not None else None,
                days_wanted=now.stage.days,
                days=now.days,
                nodes=now.nodes,
                accelerators=now.nodes * each,
                capex=phase.capex if phase is not None else whole,
                alone=now.alone,
            )
        )
        before = now.nodes
    return tuple(rows)


def row(
    candidate: SizedCluster, target: Target, best: SizedCluster | None, chance: Chances, file: str | None
) -> out.RecommendedDesign:
    """Return a candidate as a row.

    Args:
        target: what is wanted.
        best: the best design; None of one that breaks a limit.
        chance: how often it is the best, and in time.
        file: its file, where one was written.
    """
    built, study = candidate.built, candidate.study
    run, bom = study.run, study.bom
    assert run is not None
    assert bom is not None
    found = built.assessment
    return out.RecommendedDesign(
        name=found.design.name,
        idea=built.idea.words,
        accelerator=candidate.accelerator,
        server=built.design.compute.server.id,
        switch=built.design.switch.id,
        accelerators=found.accelerators,
        nodes=candidate.nodes,
        switches=found.fabric.switches.total,
        nics=len(built.design.compute.fabric_nics),
        racks=study.power.racks,
        floor_m2=study.power.floor_m2,
        differs=differs(candidate, best) if best is not None else "",
        days=candidate.days,
        days_p10=chance.days_p10,
        days_p90=chance.days_p90,
        mfu=run.mfu,
        plan=_plan(candidate),
        memory_words=run.memory_words,
        capex=candidate.capex,
        capex_low=bom.total_low,
        capex_high=bom.total_high,
        estimated_from=candidate.timed.report.estimated_from,
        recalled_share=sum(line.total for line in bom.lines if line.status == "R") / bom.total,
        tco=candidate.tco,
        cost_per_million_tokens=candidate.token_cost,
        sustained_pflops=candidate.timed.job.tflops_gpu * candidate.timed.job.gpus * run.effective / 1e3,
        facility_peak_kw=study.power.facility_peak_kw,
        breaks=broken(candidate, target),
        best_share=chance.best if best is not None else None,
        in_time_share=chance.in_time if best is not None else None,
        purchases=purchases(candidate),
        file=file,
    )


def _near(found: Recommendation, target: Target) -> list[SizedCluster]:
    """Return the designs that break a limit, by how far they break it, one of each accelerator."""
    first: dict[str, SizedCluster] = {}
    for candidate in sorted(found.miss, key=lambda item: (max(broken(item, target).values()), item.accelerator)):
        first.setdefault(candidate.accelerator, candidate)
    return list(first.values())


def _limit(item: LooserLimit, target: Target, best: SizedCluster | None) -> out.LimitPrice:
    """Return what a limit costs."""
    aim = aim_of(item.best, target) if item.best else None
    saving = max(1 - aim / aim_of(best, target), 0.0) if best and aim is not None else None
    return out.LimitPrice(
        limit=item.limit.name,
        unit=item.limit.unit,
        most=item.limit.most,
        looser=item.limit.loosened(LOOSER),
        name=item.best.built.assessment.design.name if item.best else None,
        aim=aim,
        saving=saving,
    )


def _floor_words(target: Target, designs: list[SizedCluster]) -> tuple[str, ...]:
    """Return what a limit of floor takes a rack for; nothing without such a limit."""
    if target.floor is None or not designs or (area := designs[0].study.power.rack_area_m2) is None:
        return ()
    source = (
        "as stated"
        if target.rack_area is not None
        else ("an estimate of the ownership profile, recalled: state yours with `--area-per-rack`")
    )
    return (
        f"A rack takes {number(area)} m2 of floor with its share of aisles, {source}. Rooms for power and cooling are "
        "apart.",
    )


def recommendation(
    found: Recommendation,
    target: Target,
    catalog: Catalog,
    currency: str,
    chosen: list[SizedCluster],
    files: list[str | None],
) -> out.RecommendReport:
    """Return the report.

    Args:
        found: what was found.
        target: what was wanted.
        currency: currency of the price book.
    """
    best = found.meet[0] if found.meet else None
    grows = (
        "A cluster that grows is sized for its last purchase. Each one before holds the fewest nodes on which the run "
        "is in time then; switches above the leaves come with the first, and prices stay as they are.",
    )
    shares, near = chances(chosen, target, catalog), _near(found, target)
    limits = [_limit(item, target, best) for item in found.looser]
    rows = zip(chosen, shares, files, strict=True)
    return out.RecommendReport(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        model=target.model,
        tokens=target.tokens,
        days=target.days,
        currency=currency,
        price_book=target.book,
        aim=target.aim,
        sustained_pflops=target.sustained / 1e15 if target.sustained else None,
        slack=target.slack,
        draws=DRAWS,
        designs=tuple(row(item, target, best, chance, file) for item, chance, file in rows),
        near=tuple(
            row(item, target, None, chance, None)
            for item, chance in zip(near, chances(near, target, catalog), strict=True)
        ),
        left_out=tuple(out.UnsizedAccelerator(name, reason) for name, reason in sorted(found.left_out.items())),
        limits=tuple(sorted(limits, key=lambda item: (-(item.saving or 0.0), item.name is None, item.limit))),
        assumptions=(
            "Each cluster is the smallest found in time (within 2 %, and round sizes below), with the cheapest switch "
            "and links of the price book. Fewer NICs are tried while that helps, then leaner fabrics with them.",
            "The step is that of the fastest plan found, at a batch near the usual 4 million tokens; days count "
            "interruptions as the ownership profile has them.",
            "Days are likely ones, with P10 to P90 by the model's error over published runs and by failures: a target "
            "that is only just met is missed about as often as not.",
            "The share of `best` draws prices and speeds for all designs together, and resizes each to its drawn "
            "speed: it tells how far the ranking rests on quotes and measurements that you do not have yet.",
            *(grows if target.stages else ()),
            *_floor_words(target, [*chosen, *near]),
        ),
    )
