"""Checkpoints, terms of storage, and quantiles of counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import lambertw

from ffplan.reliability.checkpoint import _two_level_goodput, daly, goodput, losses, optimum, young
from ffplan.reliability.saves import _moved
from ffplan.reliability.simulate import FEW_RUNS, mean_interval
from ffplan.reliability.spares import POINTS, _shortage
from ffplan.reliability.storage import CLIENTS, NICS, NODE_NICS, WHOLE, ServiceRates, server_terms, transfer_terms
from tests.formulas import rsc_ettr
from tests.unit.reliability.test_failures import JOB

HOUR = 3600.0
M, D, R = 3.09 * HOUR, 60.0, 0.25 * HOUR


def test_a_job_like_llama_3() -> None:
    """MTBF 3.09 h, a checkpoint of a minute, a restart of a quarter of an hour."""
    assert young(D, M) / HOUR == pytest.approx(0.321, abs=5e-4)
    best = optimum(D, M)
    assert best / HOUR == pytest.approx(0.3099, abs=5e-5)
    assert goodput(best, D, M, R) == pytest.approx(0.8298, abs=5e-5)
    assert losses(best, D, M, R)["restarts"] == pytest.approx(0.25 / 3.09)


def test_the_optimum_is_where_no_other_interval_keeps_more() -> None:
    save, mtbf = np.meshgrid([0.01, 1.0, 60.0, 600.0], [600.0, 3600.0, 1e6])
    best = optimum(save, mtbf)
    kept = goodput(best, save, mtbf, 100.0)
    for factor in (0.97, 1.03):
        assert (goodput(best * factor, save, mtbf, 100.0) < kept).all()
    exact = mtbf * (1 + lambertw(-np.exp(-save / mtbf - 1)).real)
    assert best == pytest.approx(exact, rel=1e-7)


def test_dalys_series_comes_near_the_optimum_and_young_less() -> None:
    save, mtbf = 300.0, 3600.0
    best = float(optimum(save, mtbf))
    assert abs(float(daly(save, mtbf)) - best) < 0.02 * best < abs(float(young(save, mtbf)) - best)
    assert daly(100.0, 40.0) == 40.0  # beyond d = 2 M
    assert np.asarray(daly(np.array([1.0, 100.0]), 40.0))[1] == 40.0


def test_goodput_falls_to_first_order_by_its_losses() -> None:
    mtbf = 1e6
    lost = losses(5000.0, 10.0, mtbf, 300.0)
    assert 1 - goodput(5000.0, 10.0, mtbf, 300.0) == pytest.approx(sum(lost.values()), rel=0.01)


def test_copies_in_memory_keep_more_and_never_save_to_storage_more_often_than_it_can() -> None:
    found = _two_level_goodput((1.0, 0.0, 300.0), (0.0, 600.0), M, 0.96)
    assert found.goodput > goodput(optimum(60.0, M), 60.0, M, 600.0)
    assert found.interval == pytest.approx(optimum(1.0, M))  # every copy goes to storage: one interval
    assert found.every == 1.0
    slow = _two_level_goodput((1.0, 0.0, 300.0), (9000.0, 600.0), M, 0.96)
    assert slow.interval == pytest.approx(optimum(1.0, M / 0.96))
    assert slow.every == np.ceil(9000.0 / (slow.interval + 1.0))  # a save of 9,000 s cannot be more often
    assert slow.goodput < found.goodput
    rare = _two_level_goodput((1.0, 0.0, 300.0), (2000.0, 600.0), 1e8, 0.96, 900.0)
    assert 1 - rare.goodput == pytest.approx(sum(rare.parts.values()), rel=0.01)


def test_two_levels_of_one_restart_are_one_level() -> None:
    """Daly's equation 20, whatever part of the failures memory survives; and its R + behind where it survives none."""
    one = float(goodput(1000.0, 60.0, M, R))
    for fraction in (1e-9, 0.5, 0.96):
        assert _two_level_goodput((60.0, 0.0, R), (0.0, R), M, fraction, 1000.0).goodput == pytest.approx(one, rel=1e-9)
    late = _two_level_goodput((60.0, 0.0, 1.0), (500.0, R), M, 1e-12, 1000.0)
    assert late.goodput == pytest.approx(float(goodput(1000.0, 60.0, M, R + 500.0)), rel=1e-9)


def test_two_levels_by_hand() -> None:
    """M 1,000 s, t 90, d 10, every second copy to storage (b 200), f 0.5, R1 0, R2 100.

    No restart from memory fails, so u = 1 and B = 0: e = exp(0.1) = 1.10517; e (1 - 0.5) + 0.5 = 1.05259; its square
    less one 0.107936; 1000 / 0.5 + 1000 (exp(0.1) - 1) = 2105.17; w = 0.5 (1 - exp(-0.2)) = 0.0906346; 0.9093654 *
    180 / (0.107936 * 2105.17) = 0.72037.
    """
    found = _two_level_goodput((10.0, 0.0, 0.0), (200.0, 100.0), 1000.0, 0.5, 90.0)
    assert found.every == 2.0
    assert found.goodput == pytest.approx(0.72037, abs=1e-5)


def test_rscs_expected_ettr() -> None:
    """Kokolis et al.: 5 minutes between checkpoints and 5 of restart on 2,048 GPUs of RSC-1."""
    rate = 6.50e-3 / 86400
    found = rsc_ettr(256, rate, 300.0, 300.0, 0.0)
    assert found == pytest.approx(1 - 256 * rate * 450)
    assert found == pytest.approx(goodput(300.0, 1e-9, 1 / (256 * rate), 300.0), abs=2e-4)
    assert rsc_ettr(256, rate, 300.0, 300.0, 30.0) == pytest.approx(found / 1.1)


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
    found = _shortage(down, 20)
    for at, value in enumerate(down):
        alone = _shortage(float(value), 20)
        assert np.ravel(found.chance)[at] == alone.chance
        assert np.ravel(found.missing)[at] == alone.missing


def test_many_values_are_between_points() -> None:
    down = np.linspace(0.5, 60.0, 500)
    found = _shortage(down, 20)
    alone = np.array([_shortage(float(value), 20).missing for value in down], float)
    assert np.allclose(found.missing, alone, atol=0.05)
    assert np.asarray(found.missing).tolist() != alone.tolist()


def test_without_storage_nothing_moves() -> None:
    bare = replace(JOB, read_gbyte_s={}, write_gbyte_s={})
    assert _moved(bare, {}, "write", 5.0) == _moved(bare, {}, "read", 5.0) == (0.0, "no storage")
