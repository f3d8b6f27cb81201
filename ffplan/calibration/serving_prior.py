"""A serving engine's release as the prior of a fit to a user's runs, and the constants that the runs then tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.calibration.serving_fit import FRACTIONS, LEVELS, NAMES, PRIORS, SPREAD, Fit
from ffplan.calibration.serving_overlay import _own_key, _release_rates
from ffplan.catalog.engines import ANY, Engine
from ffplan.catalog.store import Catalog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.calibration.serving_loads import _FittedRun

_LEVELS = 2
"""Factors by which a setup may differ from a release with runs on its accelerator: the release's there, and its own."""
TOLD = 0.1
"""Share of a constant's prior variance that runs must take away to tell it [1]."""
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
    """Fitted constants that runs tell."""

    values: dict[str, float]
    notes: dict[str, str]


def _release_prior(engine: Engine, accelerator: str) -> Prior:
    """Return what a fit starts from: the release, and never constants of an earlier fit to runs of the user."""
    rates = _release_rates(engine, accelerator)
    if _own_key(accelerator) in {getattr(rates, name).source for name in NAMES}:
        shipped = Catalog()
        if engine.id in shipped.ids_of("engine"):
            part = shipped.entry(engine.id).part
            assert isinstance(part, Engine)
            engine, rates = part, _release_rates(part, accelerator)
    own = accelerator in engine.rates
    levels = _LEVELS if own else len(LEVELS)
    values = {}
    for name in NAMES:
        value = float(getattr(rates, name).value)
        deviation = PRIORS[name][1] * SPREAD * levels**0.5
        values[name] = (1 / value if name in FRACTIONS else value, deviation)
    return Prior(engine, accelerator if own else ANY, values)


def _told_constants(rows: Sequence[_FittedRun], prior: Prior) -> _ToldConstants:
    """Return the constants that runs tell, from the release's as the prior."""
    fit = Fit([seen for row in rows for seen in row.observations], (), prior.values)
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
