"""The reports of `ffplan model calibrate` and `ffplan model measure`: constants, and the errors that they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import first_few, listed, number, plural
from ffplan.report.document import Block, Document, Grid, Remarks, _Body, _FirstScreen
from ffplan.results.accuracy import HELD

if TYPE_CHECKING:
    from ffplan.results.accuracy import CalibrationReport, Constant, LeaveOneOutReport
    from ffplan.results.measurement import KernelError, MeasuredConstant, MeasuredFit, MeasurePlan
    from ffplan.results.serving_runs import MeasureErrors, ServingCalibration

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


def _calibrate(report: CalibrationReport) -> list[Block]:
    constants = tuple(
        (
            constant.name,
            _text(constant.unit, constant.before),
            _text(constant.unit, constant.after),
            constant.note or "",
        )
        for constant in report.constants
    )
    fitted = [
        (source.source, str(source.n), _percent(source.before), _percent(source.after), f"{100 * source.bias:+.1f}")
        for source in report.sources
    ]
    fitted.append(("all", str(report.rows), _percent(report.before), _percent(report.after), ""))
    return [
        Grid("Constants", constants, ("", "before", "after", "")),
        Grid(f"Mean error of the {report.measured}, %", tuple(fitted), ("source", "n", "before", "after", "bias")),
        *([Remarks(report.assumptions)] if report.assumptions else []),
    ]


def _left_out(report: LeaveOneOutReport) -> list[Grid]:
    rows = tuple(
        (
            row.source,
            row.set,
            str(row.n),
            _percent(row.shipped),
            _percent(row.mape),
            "" if row.bias is None else f"{100 * row.bias:+.1f}",
            _percent(row.max_error),
        )
        for row in report.rows
    )
    header = (report.by, "accelerators", "n", "shipped", "left out", "bias", "max")
    if report.mean is not None:
        rows = (*rows, (f"mean over {PLURALS[report.by]}", "", "", "", _percent(report.mean), "", ""))
    for kind in report.settings if len(report.settings) > 1 else ():
        settings = "rest on an assumed setting" if kind.assumed else "have published settings alone"
        rows = (*rows, (f"  of rows that {settings}", "", str(kind.n), "", _percent(kind.mean), "", ""))
    unscored = tuple((score.source, score.why) for score in report.rows if score.why is not None)
    kinds = tuple(
        (
            score.set,
            score.stack,
            "experts" if score.experts else "dense",
            str(score.n),
            _percent(score.mape),
            f"{100 * score.bias:+.1f}",
        )
        for score in report.kinds
    )
    blocks = [Grid("Mean error of the step time, %", rows, header)]
    if kinds:
        title = "The same rows by accelerator, software and kind of model, %"
        blocks.append(Grid(title, kinds, ("accelerators", "stack", "models", "n", "left out", "bias")))
    bands = tuple(
        (
            band.runs,
            str(band.of),
            str(band.n),
            _percent(band.band),
            *(_percent(held.share) for held in band.held if held.level == HELD),
        )
        for band in report.bands
    )
    if bands:
        title = "Bands, and what a band of all others holds of each, %"
        blocks.append(Grid(title, bands, ("runs", PLURALS[report.by], "n", "80 % within", "held")))
    return [*blocks, Grid("Cannot be scored", unscored)] if unscored else blocks


def calibrate_document(report: CalibrationReport) -> Document:
    """Return the report of `ffplan model calibrate`."""
    head = f"calibrate: {report.accelerator}, {plural(report.rows, 'row')}"
    return Document(report, lambda told: _Body(head, _calibrate(told)), lambda: report.constants)


def left_out_document(report: LeaveOneOutReport) -> Document:
    """Return the report of `ffplan model accuracy training --leave-one-out`."""
    return Document(
        report,
        lambda told: _Body(f"accuracy: training, one {report.by} left out", _left_out(told)),
        lambda: report.rows,
    )


WORDS = {
    "gemm": "a GEMM alone",
    "small": "a small kernel",
    "pcie": "PCIe, slower way",
}


_GROUPS = {
    "gemm": "GEMM",
    "attention": "Attention",
    "stream": "Copies in device memory",
    "element-wise": "Element-wise kernels",
    "small": "Small kernels",
    "memory": "Memory",
    "pcie": "PCIe",
}


def _name(group: str) -> str:
    word, blank, rest = group.partition(" ")
    return f"{_GROUPS.get(word, word)}{blank}{rest}"


def _constant_value(unit: str, value: float | None) -> str:
    if value is None:
        return "-"
    if unit == "s":
        return f"{value * 1e6:.3g} us"
    return f"{value * 100:.4g} %" if unit == "1" else f"{value:.4g} {unit}"


def _signed_percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:+.1f}"


def _mean(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _constant(constant: MeasuredConstant) -> tuple[str, ...]:
    low, high = (
        _constant_value(constant.unit, end).removesuffix(" %").removesuffix(" us").removesuffix(" GB/s")
        for end in (constant.low, constant.high)
    )
    return (
        WORDS.get(constant.name, constant.name),
        _constant_value(constant.unit, constant.before),
        _constant_value(constant.unit, constant.after),
        f"{low} to {high}",
        str(constant.rows),
        "yes" if constant.written else "",
    )


def _kernel(kernel: KernelError) -> tuple[str, ...]:
    return (
        kernel.kernel,
        number(kernel.measured_us),
        "" if kernel.spread is None else f"{100 * kernel.spread:.1f}",
        f"{kernel.rate:,.4g}",
        _signed_percent(kernel.catalogue_error),
        _signed_percent(kernel.error),
    )


def _group(report: MeasuredFit, group: str) -> Grid:
    mine = [kernel for kernel in report.kernels if kernel.group == group]
    header, rows = ("", "us", "spread %", mine[0].unit, "catalogue %", "fitted %"), list(map(_kernel, mine))
    kept = [column for column in range(len(header)) if any(row[column] for row in rows)]
    return Grid(
        _name(group),
        tuple(tuple(row[column] for column in kept) for row in rows),
        tuple(header[column] for column in kept),
    )


def _fit(report: MeasuredFit) -> list[Block]:
    blocks: list[Block] = []
    if report.constants:
        rows = tuple(map(_constant, report.constants))
        blocks.append(Grid("Constants", rows, ("", "catalogue", "measured", "range", "rows", "written")))
    means = tuple(
        (_name(fitted.group), str(fitted.n), _mean(fitted.before), _mean(fitted.after), _mean(fitted.max_error))
        for fitted in report.groups
    )
    blocks.append(Grid("Mean error of the time, %", means, ("", "n", "catalogue", "fitted", "largest")))
    blocks += [_group(report, group) for group in dict.fromkeys(kernel.group for kernel in report.kernels)]
    notes = [
        f"{WORDS.get(constant.name, constant.name)}: {constant.note}." for constant in report.constants if constant.note
    ]
    doubts = [f"Doubt: {doubt}." for doubt in report.doubts]
    if notes or report.remarks or doubts:
        blocks.append(Remarks((*notes, *report.remarks, *doubts)))
    return blocks


def measured_document(report: MeasuredFit) -> Document:
    """Return the report of `ffplan model measure fit`."""
    head = f"measure: {report.accelerator} by {report.device}, {report.date}, {plural(len(report.kernels), 'kernel')}"
    return Document(report, lambda told: _Body(head, _fit(told)), lambda: report.kernels)


def _plan(report: MeasurePlan) -> list[Block]:
    rows = [("warming up", "", f"{report.soak_s:.0f}", "a large GEMM, until clocks and temperature settle")]
    for planned in report.groups:
        first, last = planned.kernels[0], planned.kernels[-1]
        span = first if first == last else f"{first} to {last}"
        rows.append((_name(planned.group), str(len(planned.kernels)), f"{planned.seconds:.0f}", span))
    rows.append(("all", str(report.kernels), f"{report.seconds:.0f}", f"{report.each_s:.2g} s each"))
    return [
        Grid("Kernels", tuple(rows), ("", "n", "s", "")),
        *(Grid(_name(group.group), tuple((name,) for name in group.kernels)) for group in report.groups),
    ]


def plan_document(report: MeasurePlan) -> Document:
    """Return the report of `ffplan model measure plan`."""
    head = f"measure: {report.sizes} sizes, {plural(report.kernels, 'kernel')}, {report.seconds / 60:.1f} minutes"
    return Document(report, lambda told: _Body(head, _plan(told)), lambda: report.groups)


_MEASURES = {"tpot": "TPOT", "ttft": "TTFT", "tokens_s": "Tokens/s"}
_MOVED = 0.005
"""Least movement of a constant that counts as one [1]."""
_SHOWN = 6
"""Constants and refused runs that the first screen names [1]."""


def _value(constant: Constant, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if constant.unit == "1" else f"{number(1e6 * value, 4)} us"


def _move(constant: Constant) -> float:
    """Return by how much a constant moved, as a part of the release's value [1]."""
    return constant.after / constant.before - 1 if constant.before else 0.0


def _percent_words(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _error_rows(errors: tuple[MeasureErrors, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            _MEASURES[row.measure],
            str(row.n),
            _percent_words(row.before),
            _percent_words(row.after),
            _percent_words(row.mean_before),
            _percent_words(row.mean_after),
            _percent_words(row.left_out),
        )
        for row in errors
    )


_ERRORS = ("median error", "runs", "before", "after", "mean before", "mean after", "left out")


def _blocks(report: ServingCalibration) -> list[Block]:
    constants = tuple(
        (
            row.name,
            _value(row, row.before),
            _value(row, row.after),
            f"{100 * _move(row):+.1f} %",
            row.note or "",
        )
        for row in report.constants
    )
    files = tuple(
        (row.source, str(row.n), _percent_words(row.before), _percent_words(row.after), f"{100 * row.bias:+.1f} %")
        for row in report.sources
    )
    blocks: list[Block] = [
        Grid("Constants that the runs tell", constants, ("", "release", "fitted", "moved", "")),
        Grid("Release's values kept", tuple((name,) for name in report.kept), name="kept"),
        Grid("Errors by measure", _error_rows(report.errors), ("", *_ERRORS[1:]), name="errors"),
        Grid("Files, mean error over all measures", files, ("file", "runs", "before", "after", "bias")),
    ]
    if report.assumed:
        blocks.append(Grid("Assumed", tuple((text,) for text in report.assumed)))
    if report.refused:
        refused = tuple((f"{row.file}:{row.line}", row.reason) for row in report.refused)
        blocks.append(Grid("Refused runs", refused, ("run", "why")))
    return [block for block in blocks if not isinstance(block, Grid) or block.rows]


def _head(report: ServingCalibration) -> str:
    return f"calibrate serving: {report.engine} on {report.accelerator}, {plural(report.rows, 'run')}"


def _verdict(report: ServingCalibration) -> tuple[str, ...]:
    first = report.errors[0]
    name = _MEASURES[first.measure]
    moved = sum(abs(_move(row)) >= _MOVED for row in report.constants)
    sentence = (
        f"The release misses {name} of {listed(report.models)} by {_percent_words(first.before)} in the median, "
        f"the fitted constants by {_percent_words(first.after)}."
    )
    start = "its own runs" if report.prior != "any" else "runs on other accelerators alone"
    basis = f"{plural(moved, 'constant')} moved; the release's prior rests on {start}."
    if first.left_out is not None:
        basis += f" Each run predicted without itself: {_percent_words(first.left_out)}."
    return sentence, basis


def _screen(report: ServingCalibration) -> _FirstScreen:
    moved = [row for row in report.constants if abs(_move(row)) >= _MOVED]
    held = [row.name for row in report.constants if abs(_move(row)) < _MOVED]
    texts = [f"{row.name} {100 * _move(row):+.0f} % ({_value(row, row.after)})" for row in moved]
    bounds = [f"{row.name}: {row.note}" for row in report.constants if row.note]
    refused = [f"{row.file}:{row.line}: {row.reason}" for row in report.refused]
    return _FirstScreen(
        head=_head(report),
        verdict=_verdict(report),
        figures=_error_rows(report.errors),
        header=_ERRORS,
        advice=(
            ("Moved", first_few(texts, _SHOWN) or "none"),
            ("Confirmed", listed(held)),
            ("Not told", first_few(report.kept, _SHOWN)),
            ("In doubt", first_few(bounds, 2)),
            ("Assumed", "; ".join(report.assumed)),
            ("Refused", f"{plural(len(refused), 'run')}: {first_few(refused, 1)}" if refused else ""),
            ("Next", f"--write DIR; then ffplan serve ... --catalog DIR --engine {report.engine}"),
        ),
    )


def serving_document(report: ServingCalibration) -> Document:
    """Return the report of `ffplan model calibrate serving`."""
    return Document(
        report,
        lambda told: _Body(_head(told), _blocks(told)),
        lambda: report.constants,
        first=_screen,
    )
