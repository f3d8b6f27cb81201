"""Tables of `ffplan calibrate` and of leaving one source out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.report.document import Body, Document, Grid

if TYPE_CHECKING:
    from ffplan.results.training import CalibrationReport, LeaveOneOutReport

PLURALS = {
    "source": "sources",
    "stack": "stacks",
    "accelerator": "accelerators",
    "chip": "chips",
    "process": "processes",
}
"""What may be left out, several of it."""


def _text(unit: str, value: float | None) -> str:
    if value is None:
        return "-"
    if unit == "GB/s":
        return f"{value:.4g} GB/s"
    return f"{value * 1e6:,.4g} us" if unit == "s" else f"{value * 100:.4g} %"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _calibrate(report: CalibrationReport) -> list[Grid]:
    constants = tuple(
        (item.name, _text(item.unit, item.before), _text(item.unit, item.after), item.note or "")
        for item in report.constants
    )
    fitted = [
        (item.source, str(item.n), _percent(item.before), _percent(item.after), f"{100 * item.bias:+.1f}")
        for item in report.sources
    ]
    fitted.append(("all", str(report.rows), _percent(report.before), _percent(report.after), ""))
    return [
        Grid("Constants", constants, ("", "before", "after", "")),
        Grid(f"Mean error of the {report.measured}, %", tuple(fitted), ("source", "n", "before", "after", "bias")),
    ]


def _left_out(report: LeaveOneOutReport) -> list[Grid]:
    rows = tuple(
        (
            item.source,
            item.set,
            str(item.n),
            _percent(item.shipped),
            _percent(item.mape),
            "" if item.bias is None else f"{100 * item.bias:+.1f}",
            _percent(item.max_error),
        )
        for item in report.rows
    )
    header = (report.by, "accelerators", "n", "shipped", "left out", "bias", "max")
    if report.mean is not None:
        rows = (*rows, (f"mean over {PLURALS[report.by]}", "", "", "", _percent(report.mean), "", ""))
    for kind in report.settings if len(report.settings) > 1 else ():
        words = "rest on an assumed setting" if kind.assumed else "have published settings alone"
        rows = (*rows, (f"  of rows that {words}", "", str(kind.n), "", _percent(kind.mean), "", ""))
    unscored = tuple((item.source, item.why) for item in report.rows if item.why is not None)
    kinds = tuple(
        (
            item.set,
            item.stack,
            "experts" if item.experts else "dense",
            str(item.n),
            _percent(item.mape),
            f"{100 * item.bias:+.1f}",
        )
        for item in report.kinds
    )
    blocks = [Grid("Mean error of the step time, %", rows, header)]
    if kinds:
        title = "The same rows by accelerator, software and kind of model, %"
        blocks.append(Grid(title, kinds, ("accelerators", "stack", "models", "n", "left out", "bias")))
    return [*blocks, Grid("Cannot be scored", unscored)] if unscored else blocks


def calibrate_document(report: CalibrationReport) -> Document:
    """Return what `ffplan calibrate` prints.

    Args:
        report: constants and errors, before and after.
    """
    head = f"calibrate: {report.accelerator}, {plural(report.rows, 'row')}"
    return Document(report, lambda told: Body(head, _calibrate(told)), lambda: report.constants)


def left_out_document(report: LeaveOneOutReport) -> Document:
    """Return what `ffplan accuracy training --leave-one-out` prints.

    Args:
        report: a row for each source.
    """
    return Document(
        report, lambda told: Body(f"accuracy: training, one {report.by} left out", _left_out(told)), lambda: report.rows
    )
