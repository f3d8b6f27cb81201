"""The report of `ffplan model calibrate serving`: constants, their errors, and runs that are not fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import first_few, listed, number, plural
from ffplan.report.document import Block, Document, Grid, _Body, _FirstScreen

if TYPE_CHECKING:
    from ffplan.results.accuracy import Constant
    from ffplan.results.serving_runs import MeasureErrors, ServingCalibration

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


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _error_rows(errors: tuple[MeasureErrors, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            _MEASURES[row.measure],
            str(row.n),
            _percent(row.before),
            _percent(row.after),
            _percent(row.mean_before),
            _percent(row.mean_after),
            _percent(row.left_out),
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
        (row.source, str(row.n), _percent(row.before), _percent(row.after), f"{100 * row.bias:+.1f} %")
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
        f"The release misses {name} of {listed(report.models)} by {_percent(first.before)} in the median, "
        f"the fitted constants by {_percent(first.after)}."
    )
    start = "its own runs" if report.prior != "any" else "runs on other accelerators alone"
    basis = f"{plural(moved, 'constant')} moved; the release's prior rests on {start}."
    if first.left_out is not None:
        basis += f" Each run predicted without itself: {_percent(first.left_out)}."
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
