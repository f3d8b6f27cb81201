"""Quantiles of small samples, and shortages of many values at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ffplan.reliability.job import _moved
from ffplan.reliability.simulate import FEW_RUNS, mean_interval
from ffplan.reliability.spares import POINTS, shortage
from tests.unit.reliability.test_failures import JOB


@pytest.mark.parametrize("freedom", range(1, 30))
def test_student(freedom: int) -> None:
    """The half width is t(0.975) standard errors: from the table to seven degrees, from its expansion beyond."""
    values = list(np.arange(freedom + 1.0))
    mean, error, half = mean_interval(values)
    assert mean == pytest.approx(freedom / 2)
    assert error == pytest.approx(np.std(values, ddof=1) / np.sqrt(freedom + 1))
    assert half / error == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-4 if freedom in FEW_RUNS else 5e-3)


@pytest.mark.parametrize("count", [1, 2, POINTS])
def test_few_values_are_those_of_each(count: int) -> None:
    down = np.linspace(0.5, 60.0, count)
    found = shortage(down, 20)
    for at, value in enumerate(down):
        alone = shortage(float(value), 20)
        assert np.ravel(found.chance)[at] == alone.chance
        assert np.ravel(found.missing)[at] == alone.missing


def test_many_values_are_between_points() -> None:
    down = np.linspace(0.5, 60.0, 500)
    found = shortage(down, 20)
    alone = np.array([shortage(float(value), 20).missing for value in down], float)
    assert np.allclose(found.missing, alone, atol=0.05)
    assert np.asarray(found.missing).tolist() != alone.tolist()


def test_without_storage_nothing_moves() -> None:
    bare = replace(JOB, read_gbyte_s={}, write_gbyte_s={})
    assert _moved(bare, {}, "write", 5.0) == _moved(bare, {}, "read", 5.0) == (0.0, "no storage")
