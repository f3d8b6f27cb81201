"""What rows tell of constants, worked out by hand: copies count once, and rows that fit perfectly still have noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.calibration.told import FLOOR, UNSURE, _beyond, _distinct, _Told, told
from ffplan.catalog.evidence import DurationFigure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.base.array_math import Floats


def tell(slopes: Sequence[Sequence[float]], seen: Sequence[float] | None = None, spare: int = 0) -> _Told:
    """Return what rows with these slopes tell; rows are the same where their slopes are."""
    table = np.array(slopes, dtype=float)
    offsets = np.zeros(len(table)) if seen is None else np.array(seen)
    at = np.zeros(table.shape[1])

    def residuals(logs: Floats) -> Floats:
        moved: Floats = table @ logs + offsets
        return moved

    return told(residuals, at, table, spare=spare)


def test_a_row_that_fits_perfectly_has_the_noise_of_a_measurement() -> None:
    """A slope of 1: the constant is as uncertain as a row; a slope of 1/50: fifty times that, so undetermined."""
    assert tell([[1.0]]).errors == pytest.approx([FLOOR])
    found = tell([[1.0, 0.0], [0.0, 0.02]])
    assert found.errors == pytest.approx([FLOOR, 50 * FLOOR])
    assert found.unsure(("whole", "small")) == ["small"]


def test_rows_scatter_by_what_they_miss() -> None:
    """Four rows, 10 % above and below: s^2 = 0.04 / 3, of which a mean of four has a quarter."""
    found = tell([[1.0], [1.1], [0.9], [1.001]], [0.1, -0.1, 0.1, -0.1])
    assert found.errors[0] == pytest.approx((0.04 / 3 / (1 + 1.21 + 0.81 + 1.002001)) ** 0.5)


@pytest.mark.parametrize("copies", [1, 5, 50])
def test_copies_of_a_row_count_once(copies: int) -> None:
    """One combination of three constants, however often."""
    found = tell([[0.6, 0.3, 0.1]] * copies)
    assert found.rows == 1
    assert found.unsure(("a", "b", "c")) == ["a", "b", "c"]
    two = tell([[0.6, 0.4]] * copies + [[0.2, 0.8]] * copies)
    assert two.rows == 2
    assert two.errors == pytest.approx(tell([[0.6, 0.4], [0.2, 0.8]]).errors)


def test_copies_that_differ_have_that_noise() -> None:
    """One setting, measured 20 % above and below: s^2 = 0.08 / 1 of either; two settings, one constant each."""
    found = tell([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.2, -0.2, 0.0])
    assert found.errors == pytest.approx([0.08**0.5, 0.08**0.5])


@pytest.mark.parametrize("apart", [1e-6, 1e-3, 1e-2])
def test_rows_that_are_nearly_the_same_tell_one_combination(apart: float) -> None:
    found = tell([[0.6, 0.4], [0.6 + apart, 0.4 - apart], [0.6 - apart, 0.4 + apart]])
    assert found.rows == 3
    assert found.unsure(("a", "b")) == ["b", "a"] or found.unsure(("a", "b")) == ["a", "b"]
    assert min(found.errors) > UNSURE


def test_a_constant_without_effect_says_nothing_of_the_others() -> None:
    found = tell([[1.0, 0.0], [0.9, 0.0], [1.1, 0.0]])
    assert found.errors[0] < 0.01
    assert found.errors[1] == np.inf


def test_spare_rows_can_be_asked_for() -> None:
    assert tell([[1.0]], spare=1).errors == pytest.approx([np.inf])
    assert tell([[1.0], [0.9]], spare=1).errors[0] < 0.01
    assert tell([[1.0]] * 9, spare=1).errors == pytest.approx([np.inf])


def test_rows_differ_from_the_eighth_digit_on() -> None:
    assert _distinct(np.array([[1e-6, 5.0], [1e-6 * (1 + 1e-9), 5.0], [1.00001e-6, 5.0], [0.0, 5.0]]))[0] == 3
    assert _distinct(np.zeros((0, 2)))[0] == 0


@pytest.mark.parametrize(
    ("low", "high", "value", "said"),
    [
        (0.0, 15e-6, 102e-6, "outside of the catalogue's range, 0 us to 15 us"),
        (0.0, 15e-6, 15e-6, None),
        (5e-6, None, 102e-6, None),
        (5e-6, None, 4e-6, "outside of the catalogue's range, at least 5 us"),
        (None, 15e-6, 16e-6, "outside of the catalogue's range, at most 15 us"),
        (None, None, 1.0, None),
    ],
)
def test_a_constant_beyond_the_range_of_the_catalogue_is_told(
    low: float | None, high: float | None, value: float, said: str | None
) -> None:
    figure = DurationFigure.model_construct(value=8e-6, low=low, high=high, source="calls")
    assert _beyond(figure, value, lambda seconds: f"{seconds * 1e6:.4g} us") == said
    assert _beyond(None, value, str) is None


def test_two_operations_that_take_the_same_time_are_two_rows() -> None:
    """A ring and an exchange at 350 GB/s each: equal figures of unlike constants."""
    slopes = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = told(lambda logs: slopes @ logs, np.zeros(2), np.array([350.0, 350.0]))
    assert found.rows == 2
    assert not found.unsure(("ring", "alltoall"))
