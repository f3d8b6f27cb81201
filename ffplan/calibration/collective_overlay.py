"""Fitted rates of collectives as an accelerator's file of a catalogue: the part's own text with other `collectives`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import InputError
from ffplan.calibration.collective_fit import (
    _collective_runs,
    _CollectiveFit,
    _fit_collectives,
    _rate_figure,
    _rate_value,
)
from ffplan.calibration.fit import FitError
from ffplan.calibration.overlay import _source_line, _with_lines, _with_sources
from ffplan.catalog.parts import Accelerator
from ffplan.inputs.composer import compose
from ffplan.inputs.document import Document
from ffplan.inputs.validate import validate
from ffplan.results.accuracy import CalibrationReport, Constant, Fitted
from ffplan.results.design import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.store import Catalog

KEY = "collectives-measured"
"""Key of the fit under `sources`."""


def _rate_text(name: str, value: float) -> str:
    return f"{value * 1e6:.4g} us" if name == "launch" else f"{value:.4g} GB/s"


def _lines(text: str, values: dict[str, float]) -> dict[str, str]:
    """Return the line of each constant; the rate with reduction in the switch keeps its block."""
    lines = {}
    for name, value in values.items():
        figure = f"{{value: {_rate_text(name, value)}, source: {KEY}}}"
        if name != "nvls":
            lines[name] = f"  {name}: {figure}"
            continue
        section = re.search(r"^  nvls:.*\n(?:   .*\n)*", text, flags=re.MULTILINE)
        block = section[0] if section else ""
        lines[name] = re.sub(r"^    busbw:.*$", f"    busbw: {figure}", block, count=1, flags=re.MULTILINE).rstrip("\n")
    return lines


def _overlay_text(text: str, name: str, fitted: _CollectiveFit) -> str:
    """Return the text of an accelerator's file with fitted rates of collectives."""
    titles = ", ".join(dict.fromkeys(run.file.name for run in fitted.runs))
    date = max(run.file.source.known_at for run in fitted.runs)
    error = float(np.abs(fitted.after).mean())
    title = f"ffplan model calibrate on {titles}: {len(fitted.after)} rows, mean error {error:.1%}"
    lines = _lines(text, fitted.values)
    source = _source_line(KEY, title, date)
    changed = _with_sources(_with_lines(text, "collectives", lines), [source], [KEY])
    by_hand = FitError(
        f"{name} is written in a way that cannot be edited; add these lines by hand:\n"
        + "\n".join([source, *lines.values()])
    )
    try:
        part = validate(Accelerator, Document(name, "0" * 64, compose(changed, name)))
    except InputError:
        raise by_hand from None
    for key, value in fitted.values.items():
        figure = _rate_figure(part, key)
        if figure is None or figure.source != KEY or abs(float(figure.value) / value - 1) > 1e-3:
            raise by_hand
    return changed


def _calibrate_collectives(
    catalog: Catalog,
    accelerator: str,
    cases: tuple[str, ...],
    names: tuple[str, ...] | None,
    progress: Callable[[int], None] | None = None,
) -> tuple[CalibrationReport, str]:
    """Fit the rates of an accelerator's links to measured collectives.

    Without `names`, all constants that the rows determine are fitted. Returns the report, and the accelerator's file
    with these constants.
    """
    part = catalog.entry(accelerator).part
    assert isinstance(part, Accelerator)
    fitted = _fit_collectives(part, _collective_runs(catalog, cases, part.id), names, progress)
    place = catalog.locate(part.id)
    assert place is not None
    text = _overlay_text(place[0].read_text(encoding="utf-8"), place[1], fitted)
    return _report(part, fitted), text


def _report(part: Accelerator, fitted: _CollectiveFit) -> CalibrationReport:
    sources = []
    for name in dict.fromkeys(fitted.files):
        rows = np.array([file == name for file in fitted.files])
        before, after = fitted.before[rows], fitted.after[rows]
        sources.append(
            Fitted(
                source=name,
                n=int(rows.sum()),
                before=float(np.abs(before).mean()),
                after=float(np.abs(after).mean()),
                bias=float(after.mean()),
            )
        )
    constants = tuple(
        Constant(
            name=name,
            before=_rate_value(part, name),
            after=value,
            text=_rate_text(name, value),
            note=fitted.notes.get(name),
            unit="s" if name == "launch" else "GB/s",
        )
        for name, value in fitted.values.items()
    )
    return CalibrationReport(
        schema_version=SCHEMA_VERSION,
        accelerator=part.id,
        rows=len(fitted.after),
        constants=constants,
        sources=tuple(sources),
        before=float(np.abs(fitted.before).mean()),
        after=float(np.abs(fitted.after).mean()),
        measured="collectives",
    )
