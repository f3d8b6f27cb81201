"""Exponentials and logarithms against the C library's, which is right to the last place or two."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base import elementary

CLOSE = 4 * 2.0**-52
"""Four last places."""


@given(st.floats(-700.0, 700.0))
def test_exp(x: float) -> None:
    assert float(elementary.exp(x)) == pytest.approx(math.exp(x), rel=CLOSE, abs=0)


@given(st.floats(1e-300, 1e300))
def test_log(x: float) -> None:
    assert float(elementary.log(x)) == pytest.approx(math.log(x), rel=CLOSE, abs=0)
    assert float(elementary.log2(x)) == pytest.approx(math.log2(x), rel=CLOSE, abs=0)


@given(st.floats(-30.0, 700.0))
def test_expm1(x: float) -> None:
    assert float(elementary.expm1(x)) == pytest.approx(math.expm1(x), rel=2 * CLOSE, abs=0)


def test_exact_values_and_the_ends() -> None:
    powers = np.arange(-1000, 1000)
    assert (elementary.log2(2.0**powers) == powers).all()
    assert [float(f) for f in (elementary.exp(0.0), elementary.log(1.0), elementary.expm1(0.0))] == [1.0, 0.0, 0.0]
    assert elementary.exp(np.array([-1e9, -746.0])).tolist() == [0.0, 0.0]
    assert np.isfinite(elementary.exp(1e9))
    assert elementary.expm1(1e-300) == 1e-300


def test_digits_that_no_processor_changes() -> None:
    """The very bits: no last place may depend on numpy, the C library or the processor."""
    assert [float(x).hex() for x in elementary.exp([1.0, -0.5])] == ["0x1.5bf0a8b14576ap+1", "0x1.368b2fc6f960ap-1"]
    assert [float(x).hex() for x in elementary.log([10.0, 0.3])] == ["0x1.26bb1bbb55516p+1", "-0x1.34378fcbda721p+0"]
