"""Tables of `ffplan calibrate` and of leaving one source out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.report.blocks import Block

if TYPE_CHECKING:
    from ffplan.results.training import CalibrationReport, LeaveOneOutReport


def _text(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 1e6:,.4g} us" if name.startswith(("kernel", "launch")) else f"{value * 100:.4g} %"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def calibrate_blocks(report: CalibrationReport) -> list[Block]:
    """Return the tables of `ffplan calibrate`."""
    constants = tuple(
        (item.name, _text(item.name, item.before), _text(item.name, item.after), item.note or "")
        for item in report.constants
    )
    fitted = [
        (item.source, str(item.n), _percent(item.before), _percent(item.after), f"{100 * item.bias:+.1f}")
        for item in report.sources
    ]
    fitted.append(("all", str(report.rows), _percent(report.before), _percent(report.after), ""))
    return [
        Block("Constants", constants, ("", "before", "after", "")),
        Block("Mean error of the time of a step, %", tuple(fitted), ("source", "n", "before", "after", "bias")),
    ]


def leave_blocks(report: LeaveOneOutReport) -> list[Block]:
    """Return the table of sources left out."""
    rows = tuple(
        (
            item.source, item.set, str(item.n), _percent(item.shipped), _percent(item.mape),
            "" if item.bias is None else f"{100 * item.bias:+.1f}", _percent(item.max_error),
        )
        for item in report.rows
    )  # fmt: skip
    header = ("source", "set", "n", "shipped", "left out", "bias", "max")
    untold = tuple((item.source, item.why) for item in report.rows if item.why is not None)
    blocks = [Block("Mean error of the time of a step, %", rows, header)]
    return [*blocks, Block("Cannot be told", untold)] if untold else blocks
