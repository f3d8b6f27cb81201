"""The numbers of one design by their path, of its assessment and of the studies that metrics ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.base.plain import numbers, plain

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign

DRAWN = (".p10", ".p50", ".p90")
"""Ends of the paths of quantiles, which a sweep does not draw."""


def studied(
    design: ResolvedDesign, catalog: Catalog, metrics: tuple[str, ...]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the numbers of one design by their path, and its parts without a price.

    They are of its assessment, and of the studies that metrics ask for. With a part without a price there is no cost.

    Args:
        metrics: metrics wanted; the assessment alone where none is of another study.

    Raises:
        InputError: where the design cannot be built, or a study refuses it.
    """
    from ffplan.studies.design.design import study_design

    wanted = {name.split(".")[0].split("[")[0] for name in metrics}
    assessment = study_design(design, catalog, all_scales=False).assessment
    found = numbers(plain(assessment))
    unpriced: tuple[str, ...] = ()
    if assessment.cost is not None and assessment.cost.missing:
        unpriced = tuple(item.part for item in assessment.cost.missing)
        found = {path: value for path, value in found.items() if not path.startswith("cost.")}
    if wanted & {"bom", "tco", "run"}:
        found |= _money(design, catalog, run="run" in wanted, priced=not unpriced)
    if wanted & {"train", "goodput"}:
        found |= _workload(design, catalog, goodput="goodput" in wanted)
    return found, unpriced


def _money(design: ResolvedDesign, catalog: Catalog, *, run: bool, priced: bool) -> dict[str, float]:
    """Return the numbers of the design's cost, and of its workload's run; no money without every price."""
    from ffplan.studies.cost.asked import Asked
    from ffplan.studies.cost.cost import study_cost
    from ffplan.studies.train.workload import timed_workload

    timed = None
    if run:
        if design.workload is None or design.workload.tokens is None:
            raise UsageError("`run` metrics are of the design's `workload` with its `tokens`, which it does not have")
        timed = timed_workload(design, catalog, design.workload)
    cost = numbers(plain(study_cost(design, catalog, Asked(draws=0), timed)))
    kinds = ("bom", "tco", "run") if priced else ()
    return {path: value for path, value in cost.items() if path.split(".")[0] in kinds}


def _workload(design: ResolvedDesign, catalog: Catalog, *, goodput: bool) -> dict[str, float]:
    """Return the numbers of the design's workload: the row of its plan under `train`, and those of `ffplan goodput`."""
    from ffplan.studies.train.workload import workload_report

    if design.workload is None:
        raise UsageError("`train` and `goodput` metrics are of the design's `workload`, which it does not have")
    if not goodput:
        report = workload_report(design, catalog, design.workload)
        return {f"train.{path}": value for path, value in numbers(plain(report.rows[0])).items()}
    from ffplan.studies.cost.asked import Asked
    from ffplan.studies.goodput.goodput import study_goodput
    from ffplan.studies.operate.goodput_basis import goodput_basis
    from ffplan.studies.operate.goodput_summary import reliability_summary
    from ffplan.studies.operate.job_asked import goodput_job

    job = goodput_job(design, catalog, None, None)
    assert job is not None
    found = {} if job.report is None else numbers(plain(job.report.rows[0]))
    found = {f"train.{path}": value for path, value in found.items()}
    left = numbers(plain(reliability_summary(goodput_basis(design, catalog))))
    left |= numbers(plain(study_goodput(design, catalog, job, Asked(draws=0)).report.reliability))
    return found | {f"goodput.{path}": value for path, value in left.items() if not path.endswith(DRAWN)}
