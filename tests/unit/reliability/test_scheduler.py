"""Jobs on a cluster against hand-worked schedules and queueing theory."""

from __future__ import annotations

from dataclasses import replace
from math import factorial

import numpy as np
import pytest
from scipy.stats import norm

from ffplan.reliability.job_mix import JobDraw, _lognormal_of, drawn_jobs, job_count, with_running
from ffplan.reliability.scheduler import DEPTH, ClusterRules, JobTable, share_cluster

RULES = ClusterRules(
    zones=(4, 4), gpus_per_node=8, spanning=1, policy="fifo", quantum_s=100.0, save_s=10.0, load_s=20.0
)


def table(*rows: tuple[float, float, int]) -> JobTable:
    arrivals, runs, gpus = (np.array(column) for column in zip(*rows, strict=True))
    return JobTable(arrivals.astype(float), runs.astype(float), gpus.astype(int))


def test_lognormal_parameters_of_the_traces() -> None:
    assert _lognormal_of(1260, 124) == pytest.approx((4.82, 2.15), abs=0.005)
    assert _lognormal_of(18006, 874) == pytest.approx((6.77, 2.46), abs=0.005)
    drawn = np.random.default_rng(0).lognormal(*_lognormal_of(6652, 206), 4_000_000)
    assert np.median(drawn) == pytest.approx(206, rel=0.02)
    assert drawn.mean() == pytest.approx(6652, rel=0.15)


def test_drawn_jobs_bring_the_work() -> None:
    """In the mean over seeds: a single table has few of the jobs that hold most of the work."""
    jobs = JobDraw(run=(1260, 124, 625740), gpus=(26.77, 1, 1024), most_gpus=1000)
    drawn = [drawn_jobs(jobs, work_gpu_s=1e9, seconds=1000.0, seed=seed) for seed in range(60)]
    assert {len(found.gpus) for found in drawn} == {job_count(jobs, 1e9)}
    assert np.mean([float((found.run_s * found.gpus).sum()) for found in drawn]) == pytest.approx(1e9, rel=0.05)
    assert max(found.gpus.max() for found in drawn) == 512  # the largest power of two below 1,000
    assert all((np.diff(found.arrival_s) >= 0).all() for found in drawn)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("run", "gpus"),
    [((1260, 124, 625740), (26.77, 1, 1024)), ((6652, 206, 4_320_009), (3.72, 1, 2048)), ((50, 40, 60), (7, 7, 512))],
)
def test_work_of_a_job_in_the_mean(run: tuple[float, float, float], gpus: tuple[float, float, float]) -> None:
    """Against the mean of many drawn ones: cut at the maxima, sizes rounded to powers of two."""
    jobs = JobDraw(run=run, gpus=gpus, most_gpus=10_000)
    runs, sizes = jobs.draw(np.random.default_rng(5), 4_000_000)
    assert jobs.mean_work == pytest.approx(float(runs.mean() * sizes.mean()), rel=0.02)


def test_jobs_that_are_alike() -> None:
    """Without spread: every job takes 100 s on 8 accelerators."""
    jobs = JobDraw(run=(100, 100, 200), gpus=(8, 8, 64), most_gpus=64)
    assert jobs.mean_work == pytest.approx(800)
    found = drawn_jobs(jobs, work_gpu_s=80_000, seconds=10.0, seed=0)
    assert (len(found.gpus), set(found.gpus), set(found.run_s.round(6))) == (100, {8}, {100.0})


def test_a_cluster_is_as_full_at_first_as_it_stays() -> None:
    """Jobs of 10 hours in the mean, watched for one: half of the work arrives, and half of the cluster is at work."""
    jobs = JobDraw(run=(36_000, 18_000, 360_000), gpus=(1, 1, 1), most_gpus=1)
    rules = replace(RULES, zones=(500,), policy="fifo")
    full, empty, left = [], [], []
    for seed in range(4):
        arriving = drawn_jobs(jobs, work_gpu_s=0.5 * 4_000 * 3_600, seconds=3_600.0, seed=seed)
        table = with_running(arriving, jobs, gpus=2_000.0, seed=seed)
        assert (table.running, len(table.gpus)) == (2_000, 2_000 + len(arriving.gpus))
        full.append(share_cluster(rules, table, 3_600.0, 0.0).utilisation)
        empty.append(share_cluster(rules, arriving, 3_600.0, 0.0).utilisation)
        left.append(table.run_s[: table.running].mean())
    assert np.mean(full) == pytest.approx(0.5, abs=0.01)
    assert np.mean(empty) < 0.05
    # what is left of a job that is found at a random time: E[T^2] / (2 E[T]), of a lognormal cut at 100 hours
    mu, sigma = _lognormal_of(36_000, 18_000)

    def moment(power: int) -> float:
        at = (np.log(360_000) - mu) / sigma
        below = np.exp(power * mu + (power * sigma) ** 2 / 2) * norm.cdf(at - power * sigma)
        return float(below + 360_000.0**power * norm.sf(at))

    assert moment(1) == pytest.approx(34_875, rel=1e-3)
    assert np.mean(left) == pytest.approx(moment(2) / (2 * moment(1)), rel=0.05)


def test_a_gang_keeps_to_a_zone_where_it_fits_and_one_may_span() -> None:
    """32 accelerators fill a zone; 40 need five nodes, and so both zones; a second such job waits."""
    jobs = table((0, 100, 40), (1, 100, 40), (2, 100, 8))
    found = share_cluster(RULES, jobs, 1000.0, 0.0)
    assert found.wait_s.tolist() == pytest.approx([0.0, 99.0, 98.0])
    none = share_cluster(replace(RULES, spanning=0), jobs, 1000.0, 0.0)
    assert none.unfinished == 3  # first in, first out behind a job that never fits
    later = share_cluster(replace(RULES, policy="backfill"), jobs, 1000.0, 0.0)
    assert later.wait_s.tolist() == pytest.approx([0.0, 0.0, 99.0])


def test_small_jobs_share_a_node_and_work_is_counted() -> None:
    found = share_cluster(replace(RULES, zones=(1,)), table((0, 100, 4), (0, 100, 2), (0, 100, 4)), 400.0, 0.0)
    assert found.wait_s.tolist() == pytest.approx([0.0, 0.0, 100.0])
    assert found.utilisation == pytest.approx((400 + 200 + 400) / (8 * 400))
    assert found.fragmentation == pytest.approx(2 * 100 / (8 * 400))


def test_time_sharing_saves_leaves_and_comes_back() -> None:
    """A long job leaves after its quantum, saves for 10 s; the other runs; it comes back and loads for 20 s."""
    rules = replace(RULES, zones=(1,), policy="time-sharing", quantum_s=100.0)
    found = share_cluster(rules, table((0, 300, 8), (5, 50, 8)), 1000.0, 0.0)
    assert found.preemptions == 1
    assert found.wait_s.tolist() == pytest.approx([0.0, 105.0])
    assert found.utilisation == pytest.approx(350 / 1000)
    assert found.occupied == pytest.approx((350 + 10 + 20) / 1000)


def test_a_look_comes_before_the_end_of_a_job_that_began_with_its_quantum() -> None:
    """Set before the job began, the look at 100 s takes it off its node with nothing left to do.

    It saves until 110 s; the other runs from then to 160 s; the first loads until 180 s, and ends at once.
    """
    rules = replace(RULES, zones=(1,), policy="time-sharing", quantum_s=100.0)
    found = share_cluster(rules, table((0, 100, 8), (0, 50, 8)), 1000.0, 0.0)
    assert found.preemptions == 1
    assert found.wait_s.tolist() == [0.0, 110.0]
    assert found.utilisation == pytest.approx(150 / 1000)
    assert found.occupied == pytest.approx((100 + 10 + 50 + 20) / 1000)


def test_a_placement_looks_at_so_many_waiting_jobs_and_no_further() -> None:
    """Behind as many jobs that do not fit as a placement looks at, a small one waits; one place ahead, it starts."""
    rules = replace(RULES, zones=(1,), policy="backfill")
    large = [(1.0, 10.0, 8)] * DEPTH
    busy = (0.0, 100.0, 7)
    behind = share_cluster(rules, table(busy, *large, (2.0, 5.0, 1)), 100.0, 0.0)
    ahead = share_cluster(rules, table(busy, *large[1:], (2.0, 5.0, 1)), 100.0, 0.0)
    assert behind.wait_s.tolist() == [0.0]
    assert ahead.wait_s.tolist() == [0.0, 0.0]


@pytest.mark.deep
def test_one_accelerator_jobs_wait_as_erlang_has_it() -> None:
    """M/M/c: eight accelerators at a load of 0.8, exponential run times."""
    random = np.random.default_rng(5)
    count, servers, load = 200_000, 8, 0.8
    arrivals = np.cumsum(random.exponential(1 / (servers * load), count))
    jobs = JobTable(arrivals, random.exponential(1.0, count), np.ones(count, dtype=int))
    rules = replace(RULES, zones=(1,), policy="fifo")
    found = share_cluster(rules, jobs, float(arrivals[-1]), 100.0)
    a = servers * load
    tail = a**servers / factorial(servers) / (1 - load)
    chance = tail / (sum(a**k / factorial(k) for k in range(servers)) + tail)
    assert found.wait_s.mean() == pytest.approx(chance / (servers * (1 - load)), rel=0.06)
    assert found.utilisation == pytest.approx(load, rel=0.02)


@pytest.mark.parametrize("policy", ["fifo", "backfill", "time-sharing"])
@pytest.mark.parametrize(("every", "run"), [(20.0, 150.0), (50.0, 300.0), (10.0, 45.0)])
def test_a_job_of_all_nodes_comes_to_its_turn(policy: str, every: float, run: float) -> None:
    """Small jobs keep coming, and some node is always busy: nobody waits for a gap that never comes."""
    small = [(at * every, run, 8) for at in range(1, 2000)]
    rules = replace(RULES, zones=(8,), policy=policy)
    jobs = sorted([(0.0, run, 8), *small, (55.0, 10.0, 64)])
    found = share_cluster(rules, table(*jobs), 2000 * every, 0.0)
    (wait,) = found.wait_s[found.wait_gpus == 64]
    turns = 3 * rules.quantum_s + rules.save_s
    assert wait <= (turns if policy == "time-sharing" else 3 * run)


def test_room_is_made_in_one_zone_and_for_whole_nodes() -> None:
    """Two halves of nodes are no whole node: both jobs of one node leave, and nobody of the other zone."""
    rules = replace(RULES, zones=(1, 1), policy="time-sharing", spanning=0)
    busy = [(0.0, 1000.0, 4), (0.0, 1000.0, 4), (0.0, 1000.0, 4), (0.0, 1000.0, 4)]
    found = share_cluster(rules, table(*busy, (5.0, 50.0, 8)), 111.0, 0.0)
    (wait,) = found.wait_s[found.wait_gpus == 8]
    assert wait == pytest.approx(rules.quantum_s + rules.save_s - 5.0)
    assert share_cluster(rules, table(*busy, (5.0, 50.0, 8)), 109.0, 0.0).preemptions == 2


def test_what_cannot_make_room_stays() -> None:
    """A job over both zones while another spans them: saving others would help nobody."""
    rules = replace(RULES, zones=(2, 2), policy="time-sharing", spanning=0)
    found = share_cluster(rules, table((0.0, 900.0, 8), (0.0, 900.0, 8), (5.0, 50.0, 32)), 800.0, 0.0)
    assert found.preemptions == 0
