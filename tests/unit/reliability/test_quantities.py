"""Terms of storage, quantiles of counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ffplan.reliability.job import _moved
from ffplan.reliability.simulate import FEW_RUNS, mean_interval
from ffplan.reliability.spares import POINTS, shortage
from ffplan.reliability.storage import CLIENTS, NICS, NODE_NICS, WHOLE, ServiceRates, server_terms, transfer_terms
from tests.unit.reliability.test_failures import JOB

SERVICE = ServiceRates(efficiency=0.5, client=10.0, whole=70.0, checkpoint=None)
SERVERS = {NICS: 100.0, "drives": 80.0}


def test_servers_by_hand() -> None:
    """Half of 100 GB/s of NICs, drives whole, and the file system's own 70."""
    assert server_terms(SERVERS, SERVICE) == {NICS: 50.0, "drives": 80.0, WHOLE: 70.0}


def test_nodes_by_hand() -> None:
    """Three nodes: half of 75 GB/s of NICs, and 10 GB/s of each client."""
    terms = transfer_terms(SERVERS, SERVICE, nodes=3, nics_gbyte_s=75.0)
    assert (terms[NODE_NICS], terms[CLIENTS], min(terms.values())) == (37.5, 30.0, 30.0)


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
