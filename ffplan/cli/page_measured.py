"""Measurements shown with a page's allreduce curves by scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size
from ffplan.report.document import MeasuredCurve
from ffplan.validation.replay import TOLERANCE, measured_files, measured_points, rows_at

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.collective import CollectiveReport
    from ffplan.results.design import Assessment


def _measured_curves(
    position: int, design: ResolvedDesign, assessments: tuple[Assessment, ...], base: Catalog
) -> list[MeasuredCurve]:
    """Return the measurements for each curve of a design; empty without curves.

    Args:
        position: position of the design in the result.
        assessments: its assessment first; empty if the result has none.
    """
    reports = assessments[0].communication if assessments else ()
    if not reports or design.compute.accelerator is None:
        return []
    files, catalog, curves = measured_files(), base.fresh(), []
    for report in reports:
        points = measured_points(design, report, catalog, files)
        others = tuple(sorted({point.gpus for point in points} - {row.gpus for row in report.scales}))
        curves.append(
            MeasuredCurve(
                design=position,
                library=report.library,
                requirements=_requirements(design.compute.accelerator.id, report),
                points=points,
                expected=tuple((row.gpus, row.algbw_gbyte_s) for row in rows_at(design, report, others)),
            )
        )
    return curves


def _requirements(accelerator: str, report: CollectiveReport) -> str:
    """Return the attributes a measurement must match to be shown with a curve."""
    size = f"{data_size(report.message_bytes)} (within {100 * TOLERANCE:.0f} %)"
    return f"{accelerator}, {report.library} and {size} on {report.scales[0].gpus} to {report.ranks:,} GPUs"
