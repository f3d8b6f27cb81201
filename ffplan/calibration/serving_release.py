"""A serving engine's release: the prior of a fit to user runs, and its file with the constants that they determine."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.calibration.fit import FitError
from ffplan.calibration.overlay import _source_line, _with_sources
from ffplan.calibration.serving_fit import FRACTIONS, LEVELS, NAMES, PRIORS, SPREAD, Fit
from ffplan.calibration.told import _distinct
from ffplan.catalog.engines import ANY, Engine
from ffplan.catalog.store import Catalog
from ffplan.inputs.composer import compose
from ffplan.inputs.document import Document
from ffplan.inputs.validate import validate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ffplan.calibration.serving_fit import _Observation
    from ffplan.calibration.serving_loads import _FittedRun
    from ffplan.catalog.engines import EngineRates
    from ffplan.results.serving_runs import ServingCalibration


_CLOSE = 1e-3
"""Relative distance within which a constant was read back as written [1]."""


def _own_key(accelerator: str) -> str:
    """Return the key under `sources` of constants fitted on a user's runs on an accelerator."""
    return f"measured-{accelerator}"


def _constant_text(name: str, value: float) -> str:
    """Return a constant of an engine as files have it: a percentage, or microseconds."""
    return f"{100 * value:.2f} %" if name in FRACTIONS else f"{1e6 * value:.4g} us"


def _rates_block(accelerator: str, figures: Mapping[str, tuple[float, str]], runs: int) -> str:
    """Return the constants of an engine on an accelerator as lines of its `rates`.

    `runs`: measured rows behind them; 0 writes none.
    """
    lines = [f"  {accelerator}:"]
    for name, (value, source) in figures.items():
        lines.append(f"    {name}: {{value: {_constant_text(name, value)}, source: {source}}}")
    return "\n".join([*lines, *([f"    runs: {runs}"] if runs else [])])


def _with_constants(engine: Engine, accelerator: str, values: Mapping[str, float]) -> Engine:
    """Return an engine with new constants for one accelerator; other constants stay as released."""
    base = _release_rates(engine, accelerator)
    changed = {name: getattr(base, name).model_copy(update={"value": value}) for name, value in values.items()}
    rates = {**engine.rates, accelerator: base.model_copy(update=changed)}
    return engine.model_copy(update={"rates": rates})


def _release_rates(engine: Engine, accelerator: str) -> EngineRates:
    return engine.rates.get(accelerator) or engine.rates[ANY]


def _overlay_text(text: str, name: str, fitted: Engine, accelerator: str, *, source: str, block: str) -> str:
    """Return the text of an engine's file with the constants of one accelerator replaced or added."""
    changed = re.sub(rf"^  {re.escape(accelerator)}:[ ]*\n(?:    .*\n?)*", "", text, flags=re.MULTILINE)
    changed = _with_sources(changed, [source], [_own_key(accelerator)])
    any_block = re.compile(rf"^  {ANY}:[ ]*\n(?:    .*\n?)*", re.MULTILINE)
    changed = any_block.sub(lambda match: f"{match[0].rstrip()}\n{block}\n", changed, count=1)
    by_hand = FitError(f"{name} is written in a way that cannot be edited; add these lines by hand:\n{source}\n{block}")
    try:
        part = validate(Engine, Document(name, "0" * 64, compose(changed, name)))
    except InputError:
        raise by_hand from None
    there, wanted = part.rates.get(accelerator), fitted.rates[accelerator]
    if there is None or any(
        abs(getattr(there, constant).value / getattr(wanted, constant).value - 1) > _CLOSE for constant in NAMES
    ):
        raise by_hand
    return changed


def _own_source(report: ServingCalibration, files: str, date: str) -> str:
    """Return the line of a fit under `sources`."""
    first = report.errors[0]
    error = f"mean error of {first.measure} {first.mean_after:.1%}"
    title = f"ffplan model calibrate serving on {files}: {report.rows} runs, {error}"
    return _source_line(_own_key(report.accelerator), title, date)


_LEVELS = 2
"""Factors between a setup and a release with runs on its accelerator: one for the release there, one for the setup."""
TOLD = 0.1
"""Share of a constant's prior variance that runs must remove to determine it [1]."""
FAR = 3.0
"""Prior deviations from the release beyond which a constant is in doubt [1]."""
_BOUND = 0.9995
"""Fraction that counts as the whole rate of the hardware [1]."""


@record
class Prior:
    """Constants that a fit starts from."""

    engine: Engine
    """Release with them."""
    source: str
    """Accelerator of the runs behind them; `any` without."""
    values: dict[str, tuple[float, float]]
    """Reciprocal of a fraction, or seconds, and its deviation as a logarithm."""


@record
class _ToldConstants:
    values: dict[str, float]
    notes: dict[str, str]


def _release_prior(engine: Engine, accelerator: str) -> Prior:
    """Return the prior of a fit: the release, never constants of an earlier fit to the user's runs."""
    rates = _release_rates(engine, accelerator)
    if _own_key(accelerator) in {getattr(rates, name).source for name in NAMES}:
        shipped = Catalog()
        if engine.id in shipped.ids_of("engine"):
            part = shipped.entry(engine.id).part
            assert isinstance(part, Engine)
            engine, rates = part, _release_rates(part, accelerator)
    measured = accelerator in engine.rates
    levels = _LEVELS if measured else len(LEVELS)
    values = {}
    for name in NAMES:
        value = float(getattr(rates, name).value)
        deviation = PRIORS[name][1] * SPREAD * levels**0.5
        values[name] = (1 / value if name in FRACTIONS else value, deviation)
    return Prior(engine, accelerator if measured else ANY, values)


def _each_once(observations: Sequence[_Observation]) -> list[_Observation]:
    """Return one observation for each setting, at the geometric mean of its times."""
    count, kinds = _distinct(np.array([list(seen.terms.values()) for seen in observations]))
    logs = np.log([seen.seconds for seen in observations])
    means = np.bincount(kinds, weights=logs, minlength=count) / np.bincount(kinds, minlength=count)
    firsts = {int(kind): position for position, kind in reversed(list(enumerate(kinds)))}
    return [replace(observations[firsts[kind]], seconds=float(np.exp(means[kind]))) for kind in range(count)]


def _told_constants(rows: Sequence[_FittedRun], prior: Prior) -> _ToldConstants:
    """Return the constants that runs determine, with the release's as the prior.

    A setting that was run again counts once, by the mean of its logarithms: the error that no constant explains is the
    same each time.
    """
    fit = Fit(_each_once([seen for row in rows for seen in row.observations]), (), prior.values)
    told, values, notes = fit.told(), {}, {}
    for name, value in fit.constants(()).items():
        if told[name] < TOLD:
            continue
        values[name] = value
        mean, deviation = prior.values[name]
        away = abs(np.log(value * mean if name in FRACTIONS else value / mean)) / deviation
        if name in FRACTIONS and value > _BOUND:
            notes[name] = "at its bound, the whole rate of the hardware"
        elif away > FAR:
            notes[name] = f"{away:.1f} deviations of its prior from the release"
    return _ToldConstants(values, notes)
