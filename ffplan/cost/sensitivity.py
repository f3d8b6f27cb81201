"""Sensitivity: drivers of a figure, and input values that flip a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import OWN, SHARES, input_value
from ffplan.base.record import record
from ffplan.cost.draws import ends
from ffplan.cost.inputs import BOUNDS, INFINITE, Input

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.base.array_math import Number

    Metric = Callable[[dict[str, Number]], Number]
    """A figure as a function of inputs by name; it broadcasts."""

GRID = 129
"""Values of an input tried at once [1]."""
ROUNDS = 4
"""Rounds of narrowing the grid around a crossing [1]."""
SPREAD = 10.0
"""Factor below and above the likely value within which an input is tried [1]."""
NO_EFFECT = 1e-9
"""Relative change of a difference below which an input has no effect on it [1]."""
MOST_SHARE = 0.99
"""Largest share of a whole tried [1]."""


@record
class Swing:
    """Effect of one input on a figure, all others at their likely value."""

    input: Input
    low_value: float
    """P10 of the input."""
    high_value: float
    """P90 of the input."""
    at_low: float
    """The figure with the input at P10."""
    at_high: float
    """The figure with the input at P90."""

    @property
    def width(self) -> float:
        """Distance between both figures."""
        return abs(self.at_high - self.at_low)


@record
class Flip:
    """The value of one input at which a difference changes its sign."""

    input: Input
    value: float | None
    """Break-even value of the input, if any."""
    why: str | None
    """Reason if none exists."""


def likely(inputs: Sequence[Input]) -> dict[str, Number]:
    """Return every input at its likely value, by name."""
    return {parameter.name: parameter.likely for parameter in inputs}


def tornado(metric: Metric, inputs: Sequence[Input]) -> tuple[Swing, ...]:
    """Return the effect of each uncertain input on a figure, largest first.

    Args:
        metric: the figure from inputs by name; it broadcasts.
    """
    import numpy as np

    wide = [parameter for parameter in inputs if not parameter.fixed]
    if not wide:
        return ()
    both = np.array([ends(parameter) for parameter in wide])
    base = likely(inputs)
    values: dict[str, Number] = dict(base)
    for row, parameter in enumerate(wide):
        column = np.full(both.shape, base[parameter.name], dtype=float)
        column[row] = both[row]
        values[parameter.name] = column
    # one call for all inputs: each row moves one and keeps the others likely
    figures = np.broadcast_to(np.asarray(metric(values), dtype=float), both.shape)
    swings = [
        Swing(
            input=parameter,
            low_value=float(both[row, 0]),
            high_value=float(both[row, 1]),
            at_low=float(figures[row, 0]),
            at_high=float(figures[row, 1]),
        )
        for row, parameter in enumerate(wide)
    ]
    return tuple(sorted(swings, key=lambda swing: (-swing.width, swing.input.name)))


def domain(parameter: Input) -> tuple[float, float]:
    """Return the search range of an input's break-even."""
    low, high = min(parameter.low, parameter.likely / SPREAD), max(parameter.high, parameter.likely * SPREAD)
    if parameter.likely == 0:
        high = max(high, 1.0)
    name = parameter.name.partition(OWN)[0]
    if name in SHARES:
        return 0.0, MOST_SHARE
    if name == "pue":
        return BOUNDS[name][0], max(3.0, parameter.high)
    least, most = BOUNDS.get(name, (0.0, INFINITE))
    return (least, most) if most < INFINITE else (max(low, least), high)


def flips(metric: Metric, inputs: Sequence[Input], currency: str) -> tuple[Flip, ...]:
    """Return each input's break-even: the zero of a difference nearest to its likely value.

    Args:
        metric: the difference from inputs by name; it broadcasts [any unit].
        currency: currency of their amounts, for people.

    Equation:
        metric(..., x, ...) = 0, all other inputs at their likely value; bracketed on a grid that is narrowed
        `ROUNDS` times

    Source:
        Definition of a break-even.
    """
    import numpy as np

    if not inputs:
        return ()
    base = likely(inputs)
    spans = np.array([domain(parameter) for parameter in inputs])
    start = float(np.asarray(metric(dict(base))))
    low, high = spans[:, 0].copy(), spans[:, 1].copy()
    crossing = np.zeros(len(inputs), dtype=bool)
    still = np.zeros(len(inputs), dtype=bool)
    for step in range(ROUNDS):
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, GRID)
        figures = _on_grid(metric, inputs, base, grid)
        signs = np.signbit(figures)
        # `signbit` and not `sign`: a figure of exactly 0 must still lie on one side
        change = signs[:, 1:] != signs[:, :-1]
        if not step:
            crossing = change.any(axis=1)
            # only the first grid covers the whole span
            still = np.abs(figures - start).max(axis=1) <= NO_EFFECT * max(abs(start), 1e-30)
        middle = (grid[:, 1:] + grid[:, :-1]) / 2
        # of several crossings the one nearest to the likely value
        away = np.where(change, np.abs(middle - np.array([parameter.likely for parameter in inputs])[:, None]), np.inf)
        # inputs without a crossing narrow to cell 0 and report no value
        nearest = away.argmin(axis=1)
        rows = np.arange(len(inputs))
        low, high = grid[rows, nearest], grid[rows, nearest + 1]
    values = (low + high) / 2
    return tuple(
        Flip(
            input=parameter,
            value=float(values[row]) if crossing[row] else None,
            why=None if crossing[row] else _never(parameter, spans[row], currency, still=bool(still[row])),
        )
        for row, parameter in enumerate(inputs)
    )


def _on_grid(metric: Metric, inputs: Sequence[Input], base: dict[str, Number], grid: Any) -> Any:
    """Return the figure with each input in turn along its own row of the grid."""
    import numpy as np

    values: dict[str, Number] = dict(base)
    for row, parameter in enumerate(inputs):
        column = np.full(grid.shape, base[parameter.name], dtype=float)
        column[row] = grid[row]
        values[parameter.name] = column
    return np.broadcast_to(np.asarray(metric(values), dtype=float), grid.shape)


def _never(parameter: Input, span: Any, currency: str, *, still: bool) -> str:
    if still:
        return "it acts on both sides alike, or on neither"
    lowest, highest = (input_value(parameter.name, float(end), parameter.unit, currency) for end in span)
    return f"never from {lowest} to {highest}"
