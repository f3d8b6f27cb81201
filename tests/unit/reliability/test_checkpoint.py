"""Checkpoint formulas against worked values and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import lambertw

from ffplan.reliability.checkpoint import daly, goodput, losses, optimum, rsc_ettr, two_level_goodput, young

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


def test_copies_in_memory_keep_more_and_never_save_to_storage_more_often() -> None:
    kept, parts, fast, slow = two_level_goodput((1.0, 0.0, 300.0), (60.0, 0.0, 600.0), M, 0.96)
    assert kept > goodput(optimum(60.0, M), 60.0, M, 600.0)
    assert slow > fast
    assert 1 / kept - 1 == pytest.approx(sum(parts.values()))
    assert fast == pytest.approx(np.sqrt(2 * 1.0 * M / 0.96))
    _, _, _, held = two_level_goodput((1.0, 0.0, 300.0), (0.001, 9000.0, 600.0), M, 0.96)
    assert held == 9000.0  # a save of 9,000 s cannot be more often


def test_rscs_expected_ettr() -> None:
    """Kokolis et al.: 5 minutes between checkpoints and 5 of restart on 2,048 GPUs of RSC-1."""
    rate = 6.50e-3 / 86400
    found = rsc_ettr(256, rate, 300.0, 300.0, 0.0)
    assert found == pytest.approx(1 - 256 * rate * 450)
    assert found == pytest.approx(goodput(300.0, 1e-9, 1 / (256 * rate), 300.0), abs=2e-4)
    assert rsc_ettr(256, rate, 300.0, 300.0, 30.0) == pytest.approx(found / 1.1)
