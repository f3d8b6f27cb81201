"""The report of a recommendation: the best designs of each accelerator, what is near, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan import __version__
from ffplan.base.formatting import listed
from ffplan.cost.draws import quantile
from ffplan.cost.inputs import error_input
from ffplan.results import recommendation as out
from ffplan.results.design import SCHEMA_VERSION, ToolInfo
from ffplan.studies.recommend import broken

if TYPE_CHECKING:
    from ffplan.studies.recommend import Recommendation, SizedCluster, Target

EACH = 2
"""Designs of one accelerator that are kept [1]."""


def spread(band: float) -> float:
    """Return the ninetieth percentile of a modelled time over its likely value [1].

    Args:
        band: mean of absolute errors [1].

    Equation:
        the ninetieth percentile of the lognormal error that costs are drawn with

    Source:
        `ffplan.cost.inputs.error_input`.
    """
    return float(quantile(error_input("speed", "speed", "model error", band, ""), 0.9)) if band else 1.0


def _plan(candidate: SizedCluster) -> str:
    """Return the parallel plan of a run in words."""
    assert candidate.study.run is not None
    plan = candidate.study.run.plan
    sizes = (("data", plan.data), ("tensor", plan.tensor), ("pipeline", plan.pipeline), ("context", plan.context))
    words = [f"{name} {count}" for name, count in sizes if count > 1]
    return listed([*words, f"ZeRO {plan.zero}"] if plan.zero else words) or "one accelerator"


def row(candidate: SizedCluster, target: Target, best: float | None, file: str | None) -> out.RecommendedDesign:
    """Return a candidate as a row.

    Args:
        candidate: the design.
        target: what is wanted.
        best: likely price of the best design [currency].
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
        nodes=found.nodes["compute"],
        switches=found.fabric.switches.total,
        days=candidate.days,
        days_p10=candidate.days / spread(candidate.band),
        days_p90=candidate.days * spread(candidate.band),
        mfu=run.mfu,
        plan=_plan(candidate),
        capex=candidate.capex,
        capex_low=bom.total_low,
        capex_high=bom.total_high,
        cost_per_million_tokens=run.cost_per_million_tokens.likely if run.cost_per_million_tokens else None,
        facility_peak_kw=study.power.facility_peak_kw,
        breaks=broken(candidate, target),
        could_be_best=best is not None and bom.total_low < best < candidate.capex,
        file=file,
    )


def kept(found: Recommendation, most: int) -> list[SizedCluster]:
    """Return the designs that are reported: the cheapest of each accelerator, at most two of one.

    Args:
        found: what was found.
        most: designs wanted [1].
    """
    chosen: list[SizedCluster] = []
    for candidate in found.meet:
        same = [item for item in chosen if item.accelerator == candidate.accelerator]
        if len(same) < (EACH if len(chosen) < EACH else 1):
            chosen.append(candidate)
    return chosen[:most]


def _near(found: Recommendation, target: Target) -> list[SizedCluster]:
    """Return the designs that break a limit, by how far they break it, one of each accelerator."""

    def beyond(candidate: SizedCluster) -> float:
        over = [candidate.days / target.days]
        over += [candidate.capex / target.capex] if target.capex else []
        over += [candidate.built.watts / target.watts] if target.watts else []
        return max(over)

    first: dict[str, SizedCluster] = {}
    for candidate in sorted(found.miss, key=lambda item: (beyond(item), item.accelerator)):
        first.setdefault(candidate.accelerator, candidate)
    return list(first.values())


def recommendation(
    found: Recommendation, target: Target, currency: str, chosen: list[SizedCluster], files: list[str | None]
) -> out.RecommendReport:
    """Return the report.

    Args:
        found: what was found.
        target: what was wanted.
        currency: currency of the price book.
        chosen: the designs to report.
        files: the file of each.
    """
    best = chosen[0].capex if chosen else None
    patient = found.patient
    return out.RecommendReport(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        model=target.model,
        tokens=target.tokens,
        days=target.days,
        currency=currency,
        price_book=target.book,
        designs=tuple(row(item, target, best, file) for item, file in zip(chosen, files, strict=True)),
        near=tuple(row(item, target, None, None) for item in _near(found, target)),
        left_out=tuple(out.UnsizedAccelerator(name, reason) for name, reason in sorted(found.left_out.items())),
        patient_days=patient.days if patient else None,
        patient_capex=patient.capex if patient else None,
        assumptions=(
            "Each cluster is sized at full bandwidth with the cheapest server, switch and links of the price book; "
            "leaner fabrics are then tried at that size.",
            "The step is that of the fastest plan found, at a batch near the usual 4 million tokens; days count "
            "interruptions as the ownership profile has them.",
            "Days are likely ones, with P10 to P90 by the model's error over published runs: a target that is only "
            "just met is missed about as often as not.",
            "Prices are likely ones. A design whose low price lies below the best one's likely price is marked: the "
            "ranking rests on quotes that you do not have yet.",
        ),
    )
