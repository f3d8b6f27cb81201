"""Measurements shown with a page's allreduce curves by scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size, number
from ffplan.report.chart import MeasuredCurve, MeasuredMark
from ffplan.validation.measured_points import TOLERANCE, measured_files, measured_points, rows_at

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.collective import CollectiveReport
    from ffplan.results.design import Assessment
    from ffplan.validation.measured_points import MeasuredPoint


def measured_curves(
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
        known = {row.gpus: row.algbw_gbyte_s for row in report.scales}
        others = tuple(sorted({point.gpus for point in points} - set(known)))
        more = {row.gpus: row.algbw_gbyte_s for row in rows_at(design, report, others)}
        curves.append(
            MeasuredCurve(
                design=position,
                library=report.library,
                requirements=_requirements(design.compute.accelerator.id, report),
                points=tuple(_mark(point, {**known, **more}) for point in points),
                expected=tuple(more.items()),
            )
        )
    return curves


def _requirements(accelerator: str, report: CollectiveReport) -> str:
    """Return the attributes a measurement must match to be shown with a curve."""
    size = f"{data_size(report.message_bytes)} (within {100 * TOLERANCE:.0f} %)"
    return f"{accelerator}, {report.library} and {size} on {report.scales[0].gpus} to {report.ranks:,} GPUs"


def _mark(point: MeasuredPoint, expected: dict[int, float]) -> MeasuredMark:
    """Return a measurement with the text of its mark.

    Args:
        expected: modelled rate of the design by number of GPUs [GB/s].
    """
    rate = number(point.gbyte_s, 3)
    if point.low is not None and point.high is not None:
        rate = f"{number(point.low, 3)} to {number(point.high, 3)}"
    kind = "a constant of the model was fitted on it" if point.fitted else "not used in a fit"
    note = f" {point.note}" if point.note else ""
    model = f"; the engine expects {number(expected[point.gpus], 3)} of this design" if point.gpus in expected else ""
    text = (
        f"measured {rate} GB/s on {point.gpus:,} GPUs of {point.server} ({point.nics}), {data_size(point.size_bytes)}"
    )
    text += f"{model}. {point.source} ({point.date}, {point.status}); {kind}.{note}"
    return MeasuredMark(
        gpus=point.gpus,
        gbyte_s=point.gbyte_s,
        low=point.low,
        high=point.high,
        server=point.server,
        same_server=point.same_server,
        case=point.case,
        source=text,
    )
