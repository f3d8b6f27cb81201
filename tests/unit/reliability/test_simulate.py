"""The simulation against the formulas: a second opinion within its confidence interval."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from scipy import stats

from ffplan.reliability.checkpoint import _two_level_goodput, goodput
from ffplan.reliability.simulate import SimulatedJob, SimulatedMemory, _kept_work, mean_interval, simulate_run, student
from ffplan.reliability.spares import _domain_shortages, _kept_rate, _shortage, nodes_in_repair

YEAR = 365 * 86_400.0
HOUR, DAY = 3600.0, 86_400.0
JOB = SimulatedJob(
    rates={"accelerator": 0.8 / (3.09 * HOUR), "link": 0.2 / (3.09 * HOUR)},
    removes={"accelerator": 0.3, "link": 0.0},
    harmless={"upper-switch": 10 / YEAR},
    removals=0.0,
    interval_s=1000.0,
    save_s=60.0,
    behind_s=0.0,
    restart_s=900.0,
    repair_s=3 * 86_400.0,
    nodes=2048,
    spares=60,
    replica_nodes=1.0,
    shrinks=True,
)


def runs(job: SimulatedJob, seconds: float = YEAR, count: int = 8) -> tuple[float, float]:
    mean, error, _ = mean_interval([simulate_run(job, seconds, seed).goodput for seed in range(count)])
    return mean, error


@pytest.mark.deep
def test_checkpoints_failures_and_restarts() -> None:
    for job, restart in ((JOB, 900.0), (replace(JOB, behind_s=300.0), 1200.0)):
        mean, error = runs(job)
        assert abs(mean - float(goodput(1000.0, 60.0, 3.09 * HOUR, restart))) < 3.5 * error < 0.01


@pytest.mark.deep
@pytest.mark.parametrize(
    ("fraction", "stored", "near"),
    [(0.96, 0.0, 300.0), (0.5, 250.0, 200.0), (0.96, 2000.0, 300.0), (0.5, 2000.0, 300.0)],
)
def test_checkpoints_in_memory_agree_within_the_confidence_interval(
    fraction: float, stored: float, near: float
) -> None:
    """Every copy in storage too, and every seventh: the renewal of both levels against failures drawn one by one."""
    mtbf, peer = 3.09 * HOUR, 20.0
    found = _two_level_goodput((5.0, peer, near + peer), (stored, 900.0), mtbf, fraction, 300.0)
    memory = SimulatedMemory(together=1 - fraction, behind_s=peer, restart_s=near, every=round(float(found.every)))
    job = replace(
        JOB, removes=dict.fromkeys(JOB.rates, 0.0), interval_s=300.0, save_s=5.0, behind_s=stored, memory=memory
    )
    assert memory.every == (7 if stored > 305.0 else 1)
    mean, error, half = mean_interval([simulate_run(job, YEAR, seed).goodput for seed in range(10)])
    assert abs(mean - float(found.goodput)) < half < 0.006
    assert abs(mean - float(found.goodput)) < 3 * error


@pytest.mark.deep
def test_paths_that_a_job_survives() -> None:
    """Paths lost for half a day each, one every day: 1 - exp(-1/2) of the time at 70 % of the rate."""
    job = replace(JOB, paths={"link": (1 / DAY, DAY / 2)}, path_lost=0.7, harmless={})
    mean, error = runs(job)
    expected = float(goodput(1000.0, 60.0, 3.09 * HOUR, 900.0)) * (1 - 0.3 * (1 - math.exp(-0.5)))
    assert abs(mean - expected) < 3.5 * error < 0.012
    found = simulate_run(job, 30 * DAY, 0)
    lost = [event for event in found.events if event.hazard == "link" and event.down_s == 0]
    assert 15 < len(lost) < 45
    assert found.interruptions < len(found.events)


@pytest.mark.deep
@pytest.mark.parametrize("spares", [0, 1, 3])
@pytest.mark.parametrize("shrinks", [True, False])
def test_missing_nodes(spares: int, shrinks: bool) -> None:
    rare = {"accelerator": 1 / (30 * HOUR)}
    job = replace(JOB, rates=rare, removes={"accelerator": 0.3}, nodes=64, spares=spares, shrinks=shrinks, harmless={})
    job = replace(job, waits=not shrinks)
    mean, error = runs(job, 10 * YEAR)
    short = _shortage(nodes_in_repair(0.3 / (30 * HOUR), 3 * 86_400.0), spares)
    expected = float(goodput(1000.0, 60.0, 30 * HOUR, 900.0)) * float(_kept_rate(short, 64, 1, shrinks=shrinks))
    assert abs(mean - expected) < 3.5 * error + 0.003


@pytest.mark.deep
@pytest.mark.parametrize("spares", [0, 6, 20])
@pytest.mark.parametrize("shrinks", [True, False])
def test_domains_that_fail_whole_and_spares_that_are_carried(spares: int, shrinks: bool) -> None:
    """Racks of 18 nodes: a switch tray takes all of them out; six spares are carried to their place, a rack is not."""
    rates = {"accelerator": 1 / (30 * HOUR), "tray": 1 / (200 * HOUR)}
    swap = 9000.0 if spares == 6 else 0.0
    job = replace(
        JOB,
        rates=rates,
        removes={"accelerator": 0.3, "tray": 0.0},
        drains={"tray": 40_000.0},
        domain_nodes=18,
        nodes=288,
        spares=spares,
        spare_domains=spares // 18,
        swap_s=swap,
        waits=not shrinks,
        shrinks=shrinks,
        harmless={},
    )
    mean, error = runs(job, 10 * YEAR)
    each = 0.3 / (30 * HOUR)
    share = swap / (3 * 86_400.0)
    short = _domain_shortages(each * 3 * 86_400.0, 40_000.0 / (200 * HOUR), spares, 18, swap=share, waits=not shrinks)[
        -1
    ]
    kept = float(_kept_rate(short, 288, 1, shrinks=shrinks, domain_nodes=18))
    expected = float(goodput(1000.0, 60.0, 1 / sum(rates.values()), 900.0)) * kept
    assert abs(mean - expected) < 3.5 * error + 0.003


@pytest.mark.deep
@pytest.mark.parametrize("spares", [1, 30])
@pytest.mark.parametrize("shrinks", [True, False])
def test_spares_that_are_scarce(spares: int, shrinks: bool) -> None:
    """2.5 nodes in repair, or 25: a spare is not always free to restart onto, nor to be carried to its place."""
    each = (0.25 if spares == 1 else 2.5) / (10 * HOUR)
    job = replace(
        JOB,
        rates={"accelerator": 4 * each},
        removes={"accelerator": 0.25},
        repair_s=100 * HOUR,
        nodes=288,
        domain_nodes=18 if spares == 1 else 72,
        spares=spares,
        swap_s=20 * HOUR,
        standby_saves_s=600.0,
        shrinks=shrinks,
        waits=not shrinks,
        harmless={},
    )
    mean, error = runs(job, 2 * YEAR)
    short = _shortage(each * 100 * HOUR, spares, swap=0.2, waits=not shrinks)
    ends = [float(goodput(1000.0, 60.0, 1 / (4 * each), restart)) for restart in (900.0, 300.0)]
    kept = float(_kept_rate(short, 288, 1, shrinks=shrinks))
    expected = (ends[0] + float(short.free) * (ends[1] - ends[0])) * kept
    assert abs(mean - expected) < 3.5 * error + 0.003


def test_stragglers_slow_every_stretch() -> None:
    slow, plain = simulate_run(replace(JOB, pace=0.9), YEAR, 3), simulate_run(JOB, YEAR, 3)
    assert slow.goodput == pytest.approx(0.9 * plain.goodput)


def test_a_run_repeats_and_lists_what_happened() -> None:
    one, two = (simulate_run(JOB, YEAR, 7) for _ in range(2))
    assert one.goodput == two.goodput
    assert len(one.events) <= 1_000 + 40
    assert one.interruptions == pytest.approx(YEAR / (3.09 * HOUR), rel=0.1)
    assert [event.at_s for event in one.events] == sorted(event.at_s for event in one.events)
    assert all(event.down_s > 899.9 for event in one.events if event.hazard != "upper-switch")
    harmless = [event for event in one.events if event.hazard == "upper-switch"]
    assert harmless
    assert all(event.down_s == event.lost_s == 0.0 for event in harmless)


@pytest.mark.deep
def test_the_stretch_that_runs_at_the_end_counts() -> None:
    """Over days with few failures too: the last stretch is a good part of them."""
    rare = replace(JOB, rates={"accelerator": 1 / (100 * HOUR)}, removes={"accelerator": 0.0}, harmless={})
    mean, error = runs(rare, 5 * 86_400.0, 400)
    assert abs(mean - float(goodput(1000.0, 60.0, 100 * HOUR, 900.0))) < 3.5 * error + 0.002


@pytest.mark.deep
def test_failures_that_stop_nothing_take_nodes_out() -> None:
    rare = {"accelerator": 1 / (30 * HOUR)}
    job = replace(
        JOB, rates=rare, removes={"accelerator": 0.0}, nodes=64, spares=0, harmless={}, removals=0.3 / (30 * HOUR)
    )
    mean, error = runs(job, 10 * YEAR)
    short = _shortage(nodes_in_repair(0.3 / (30 * HOUR), 3 * 86_400.0), 0)
    expected = float(goodput(1000.0, 60.0, 30 * HOUR, 900.0)) * float(_kept_rate(short, 64, 1, shrinks=True))
    assert abs(mean - expected) < 3.5 * error + 0.002


def test_work_is_kept_once_storage_has_it() -> None:
    job = replace(JOB, behind_s=300.0)
    assert _kept_work(1060.0 + 299.0, job) == 0.0
    assert _kept_work(1060.0 + 300.0, job) == 1000.0
    assert _kept_work(2 * 1060.0 + 301.0, job) == 2000.0
    assert _kept_work(100.0, job) == 0.0


def test_the_confidence_interval_is_students() -> None:
    values = [0.90, 0.91, 0.93, 0.89, 0.92, 0.90, 0.94, 0.91, 0.92, 0.90]
    mean, error, half = mean_interval(values)
    low, high = stats.t.interval(0.95, 9, loc=mean, scale=error)
    assert (mean - half, mean + half) == pytest.approx((low, high), abs=1e-4)
    assert mean_interval([0.9])[1] == float("inf")
    mean, error, half = mean_interval(values[:2])  # where the expansion would give 10.8 for 12.7
    assert half == pytest.approx(stats.t.ppf(0.975, 1) * error, rel=1e-5)


@pytest.mark.parametrize(
    ("runs", "errors"), [(2, 12.706), (3, 4.303), (6, 2.571), (11, 2.228), (31, 2.042), (1001, 1.962)]
)
def test_intervals_of_few_runs_are_wide(runs: int, errors: float) -> None:
    """Student's table, two-sided at 95 %."""
    assert student(runs) == pytest.approx(errors, rel=5e-3)
