"""What rows tell of the constants fitted on them: one rule for every fit without priors.

Rows that measure the same thing again count once, since they tell of one combination of constants however many they
are; rows that fit perfectly still have the noise of a measurement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.catalog.evidence import Figure

UNSURE = 0.25
"""Standard error of a logarithm from which a constant is undetermined [1]."""
FLOOR = 0.01
"""Least standard deviation of a measured time that no constant explains: medians of batches repeat within it [1]."""
_STEP = 1e-5
"""Step of a logarithm either way, over which a row shows how far it rests on a constant [1]."""
_DIGITS = 7
"""Digits behind the first at which two numbers are the same."""
_CLOSE = 1e-3
"""Share beyond the end of a range that counts as inside: files have four digits [1]."""
_BLIND = 1e-9
"""Length of a direction that no row sees, and component of a constant in it that counts [1]."""


def _distinct(rows: Floats) -> tuple[int, Floats]:
    """Return how many different rows a table has, and the number of each row's kind."""
    scale = 10.0 ** (np.floor(np.log10(np.where(rows == 0, 1.0, np.abs(rows)))) - _DIGITS)
    _, kinds = np.unique(np.round(rows / scale) * scale, axis=0, return_inverse=True)
    kinds = kinds.reshape(-1)
    return (int(kinds.max()) + 1 if len(kinds) else 0), kinds


@record
class _Told:
    """What rows tell of constants."""

    errors: Floats
    """Standard errors of the constants' logarithms [1]; infinite where rows cannot separate them."""
    rows: int
    """Different rows."""

    def unsure(self, names: Sequence[str], limit: float = UNSURE) -> list[str]:
        """Return which of the constants, by name, the rows do not determine, the least told first.

        Args:
            limit: standard error of a logarithm from which one is undetermined [1].
        """
        blind = [(error, name) for name, error in zip(names, self.errors, strict=True) if not error < limit]
        return [name for _, name in sorted(blind, key=lambda pair: -pair[0])]


def told(
    residuals: Callable[[Floats], Floats],
    at: Floats,
    what: Floats,
    *,
    soft: float | None = None,
    spare: int = 0,
    step: float = _STEP,
) -> _Told:
    """Return how far rows determine constants, around a fit.

    Args:
        residuals: returns ln(model / measured) of every row, given logarithms of the constants.
        at: logarithms of the fitted constants.
        what: what each row measured, in numbers, or what is modelled of it: rows that agree in it and rest on the
            constants alike are the same.
        soft: residual from which a row counts less than its square, as in the fit.
        spare: different rows beyond the constants that it takes.
        step: step of a logarithm either way over which a row shows how far it rests on a constant [1].

    Equation:
        (J' J)^-1 s^2 by the singular values of J, the slopes of different rows; s^2 the largest of FLOOR^2, the scatter
        of their mean residuals over their number less the constants', and the variance of repeated rows
    """
    seen = residuals(at)
    slopes = np.array([_slope(residuals, at, place, step) for place in range(len(at))]).reshape(len(at), len(seen)).T
    rows, kinds = _distinct(np.column_stack([what, slopes]))
    free = rows - len(at)
    if free < spare:
        return _Told(np.full(len(at), np.inf), rows)
    counts = np.bincount(kinds, minlength=rows)
    means = np.bincount(kinds, weights=seen, minlength=rows) / counts
    noise = max(
        FLOOR**2,
        float(means @ means) / free if free > 0 else 0.0,
        float(np.sum((seen - means[kinds]) ** 2)) / (len(seen) - rows) if len(seen) > rows else 0.0,
    )
    firsts = np.unique(kinds, return_index=True)[1]
    weights = np.ones(rows) if soft is None else (1 + (means / soft) ** 2) ** -0.75
    return _Told(_errors(slopes[firsts] * weights[:, None]) * noise**0.5, rows)


def _beyond(figure: Figure | None, value: float, text: Callable[[float], str]) -> str | None:
    """Return the caveat of a constant outside the range that the catalogue states; None inside, or without a range.

    Args:
        figure: the catalogue's.
        text: writes a value.
    """
    if figure is None:
        return None
    low, high = figure.low, figure.high
    if (low is None or value >= low * (1 - _CLOSE)) and (high is None or value <= high * (1 + _CLOSE)):
        return None
    stated = " to ".join(text(end) for end in (low, high) if end is not None)
    ends = stated if None not in (low, high) else f"at least {stated}" if high is None else f"at most {stated}"
    return f"outside of the catalogue's range, {ends}"


def _slope(residuals: Callable[[Floats], Floats], at: Floats, place: int, step: float) -> Floats:
    moved = np.zeros(len(at))
    moved[place] = step
    slope: Floats = (residuals(at + moved) - residuals(at - moved)) / (2 * step)
    return slope


def _errors(slopes: Floats) -> Floats:
    """Return standard errors of constants for unit noise; infinite along a direction that no row sees."""
    _, lengths, directions = np.linalg.svd(slopes, full_matrices=True)
    lengths = np.concatenate([lengths, np.zeros(len(directions) - len(lengths))])
    blind = lengths < _BLIND
    parts = directions**2 / np.where(blind, 1.0, lengths)[:, None] ** 2
    parts[blind] = np.where(np.abs(directions[blind]) > _BLIND**0.5, np.inf, 0.0)
    errors: Floats = np.sqrt(parts.sum(axis=0))
    return errors
