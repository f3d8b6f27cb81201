"""Rates from counts, spares, and what a job leaves of its time."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ffplan.catalog.reliability import FailureStudy, ReliabilityProfile
from ffplan.catalog.store import Catalog
from ffplan.reliability.hazards import _exposure_years, counted_rate, hazard_rate, interruptions
from ffplan.reliability.job import _restart_seconds, _slowed_rate, hazard_rates, job_outcome, requeue_seconds
from ffplan.reliability.job_case import JobCase
from ffplan.reliability.poisson import _probabilities, interval
from ffplan.reliability.spare_count import enough
from ffplan.reliability.spares import _domain_shortages, _kept_rate, _Shortage, _shortage, _swapped, nodes_in_repair
from tests.support import examples

if TYPE_CHECKING:
    from ffplan.base.array_math import Number

DAY = 86_400.0


def study(name: str) -> FailureStudy:
    part = Catalog().entry(name).part
    assert isinstance(part, FailureStudy)
    return part


def test_intervals_are_those_of_the_chi_square_distribution() -> None:
    assert interval(3, 303.0) == pytest.approx((0.0020, 0.0289), abs=5e-5)
    for events, years in ((1, 2.0), (7, 100.0), (419, 303.0), (5521, 10_000.0)):
        low = stats.chi2.ppf(0.025, 2 * events) / 2 / years
        high = stats.chi2.ppf(0.975, 2 * events + 2) / 2 / years
        assert interval(events, years) == pytest.approx((low, high), rel=1e-9)
    assert interval(0, 10.0) == pytest.approx((0.0, 0.29957), abs=1e-5)
    with pytest.raises(ValueError, match="exposure"):
        interval(3, 0.0)


def test_probabilities_and_spares_are_those_of_poisson() -> None:
    assert _probabilities(23.3) == pytest.approx(stats.poisson.pmf(np.arange(len(_probabilities(23.3))), 23.3))
    assert _probabilities(0.0, 2).tolist() == [1.0, 0.0, 0.0]
    down = nodes_in_repair(2048 * 3.79e-3 / DAY, 3 * DAY)
    assert down == pytest.approx(23.29, abs=0.01)
    assert enough(float(down), 0.99) == 35
    assert enough(0.0, 0.99) == 0


def test_llama_3s_counts_make_its_rates() -> None:
    """Rates per million accelerator-hours as the counts of Table 5 give them."""
    found = study("llama3-2024")
    hours = 16_384 * 54 * 24 / 1e6
    assert _exposure_years(found, "accelerator") == pytest.approx(hours * 1e6 / 8760)
    assert _exposure_years(found, "bridge") is None
    rate = counted_rate(found, ("faulty-gpu",), "accelerator")
    assert rate.per_year == pytest.approx(0.0610, abs=1e-4)
    assert rate.ends == pytest.approx((125 / 2424, 174 / 2424), rel=0.01)
    assert counted_rate(found, ("ssd",), "node").per_year == pytest.approx(0.0099, abs=5e-5)
    with pytest.raises(ValueError, match="no exposure of bridge"):
        counted_rate(found, ("ssd",), "bridge")
    every = sum(item.value for item in found.events.values())
    assert interruptions({"all": 1.0}, {"all": every * 365 / 54}, {"all": 1.0}) == pytest.approx(
        1 / (3.09 * 3600), 1e-3
    )


def test_other_sources_widen_the_interval_of_counts() -> None:
    profile = Catalog().entry("reliability-2026").part
    assert isinstance(profile, ReliabilityProfile)
    link = profile.hazards["link"]
    wide = hazard_rate("link", link, study("llama3-2024"))
    narrow = hazard_rate("link", link.model_copy(update={"others": None}), study("llama3-2024"))
    assert wide.rate.per_year == narrow.rate.per_year == pytest.approx(35 / (16_384 * 54 / 365))
    assert wide.rate.ends == (0.00684, 0.0698)
    assert 0.00684 < narrow.rate.ends[0] < narrow.rate.per_year < narrow.rate.ends[1] < 0.0698
    assert hazard_rate("bridge", profile.hazards["bridge"], None).rate.events is None


def test_a_restart_grows_with_the_logarithm_of_the_job() -> None:
    points = ((2048.0, 454.0), (4096.0, 545.0), (8192.0, 635.0), (16384.0, 768.0))
    assert requeue_seconds(points, np.array([2048, 16384])).tolist() == [454.0, 768.0]
    assert requeue_seconds(points, 32768) == pytest.approx(768 + 133)
    assert requeue_seconds(points, 1024) == pytest.approx(454 - 91)
    assert requeue_seconds(points, 1) == pytest.approx(45.4)


JOB = JobCase(
    gpus=1024,
    nodes=128,
    units={"gpu": 1024.0, "link": 1024.0},
    of_nodes=frozenset({"gpu"}),
    spreads=frozenset({"gpu"}),
    survives=frozenset(),
    parameters=70e9,
    copy_gbyte_s=200.0,
    clients_gbyte_s=128 * 25.0,
    read_gbyte_s={"NICs of the servers": 1000.0},
    write_gbyte_s={"NICs of the servers": 500.0, "drives": 200.0},
    spares=2,
    replica_nodes=4,
    checkpoints="asynchronous",
    restart="requeue",
    shrinks=True,
)
V = {
    "rate.gpu": 0.1,
    "rate.link": 0.02,
    "stops.gpu": 1.0,
    "stops.link": 0.5,
    "removes.gpu": 0.5,
    "removes.link": 0.0,
    "path.link": 3600.0,
    "fleet": 2.0,
    "relative": 1.5,
    "detect": 100.0,
    "hang": 1800.0,
    "hangs": 0.1,
    "requeue": 400.0,
    "reschedule": 0.5,
    "standby": 0.1,
    "repair": DAY,
    "together": 0.04,
    "pause": 0.5,
    "checkpoint_bytes": 14.0,
    "storage_efficiency": 0.8,
    "client.read": 25.0,
    "client.write": 25.0,
    "stragglers": 0.02,
}


def test_a_job_by_hand() -> None:
    found = job_outcome(JOB, V)
    year = 365 * DAY
    assert 1 / found.mtbf_s == pytest.approx((1024 * 0.1 * 2 * 1.5 + 1024 * 0.02 * 0.5) / year)
    assert found.checkpoint_bytes == pytest.approx(0.98e12)
    assert found.persist_binds == "drives"  # 200 GB/s, not 500 x 0.8
    assert found.persist_s == pytest.approx(4.9)
    assert found.load_s == pytest.approx(0.98e12 / 800e9)
    assert found.save_s == pytest.approx(0.5 + 0.98e12 / (128 * 200e9))
    assert found.restart_s == pytest.approx(0.9 * 100 + 0.1 * 1800 + 400 + found.load_s)
    assert _restart_seconds("standby", V, 0.0) == pytest.approx(90 + 180 + 40)
    assert found.in_repair == pytest.approx(1024 * 0.1 * 3 * 0.5 / 365)
    lacking = float((stats.poisson.pmf(np.arange(60), found.in_repair) * np.maximum(np.arange(60) - 2, 0)).sum())
    assert found.kept == pytest.approx(1 - lacking * 4 / 128)
    assert found.goodput == found.ettr * found.kept * 0.98


def test_a_synchronous_save_stops_the_job_and_leaves_nothing_behind() -> None:
    found = job_outcome(replace(JOB, checkpoints="synchronous"), V)
    assert found.save_s == pytest.approx(0.5 + 4.9 + 0.98e12 / (128 * 200e9))
    assert found.behind_s == 0.0
    assert found.goodput < job_outcome(JOB, V).goodput < job_outcome(replace(JOB, checkpoints="in-memory"), V).goodput


def test_what_a_job_survives_does_not_stop_it() -> None:
    found = job_outcome(replace(JOB, survives=frozenset({"link"})), V)
    assert found.by_hazard["link"] == 0.0
    assert found.slowed == 0.0  # it keeps its whole rate beside a lost path
    assert found.goodput > job_outcome(JOB, V).goodput


def test_a_lost_path_slows_a_job_until_it_is_back() -> None:
    """1,024 links at 0.02 a year, each lost for an hour: 0.002338 of them at any time; 0.2 of the rate with one."""
    job = replace(JOB, survives=frozenset({"link"}), path_lost=0.8)
    found = job_outcome(job, V)
    assert found.slowed == pytest.approx(0.2 * (1 - math.exp(-1024 * 0.02 / 8760)))
    assert found.slowed == pytest.approx(0.000467, abs=5e-7)
    assert found.slowed == _slowed_rate(job, V, hazard_rates(job, V))
    whole = job_outcome(replace(job, path_lost=1.0), V)
    assert found.goodput == pytest.approx(whole.goodput * (1 - found.slowed))
    days = job_outcome(job, {**V, "path.link": 30 * DAY})  # 1.68 lost at any time: most of the time at least one
    assert days.slowed == pytest.approx(0.2 * (1 - math.exp(-1024 * 0.02 * 30 / 365)))


def test_a_node_stays_where_its_job_survives_the_loss_of_a_path() -> None:
    found = job_outcome(JOB, {**V, "removes.link": 0.3})
    kept = job_outcome(replace(JOB, survives=frozenset({"link"})), {**V, "removes.link": 0.3})
    assert found.in_repair - kept.in_repair == pytest.approx(1024 * 0.02 * 0.3 / 365)


def test_draws_and_single_values_are_one_formula() -> None:
    many = job_outcome(JOB, {**V, "fleet": np.array([1.0, 2.0, 3.0]), "repair": np.array([DAY, DAY, 2 * DAY])})
    assert np.asarray(many.goodput)[1] == pytest.approx(job_outcome(JOB, V).goodput)
    assert (np.diff(many.goodput) < 0).all()


def test_a_hundred_thousand_points_are_interpolated() -> None:
    down = np.linspace(0.1, 90.0, 100_000)
    found = _shortage(down, 40)
    for at in (0, 17_000, 50_000, 99_999):
        exact = _shortage(float(down[at]), 40)
        assert np.asarray(found.chance)[at] == pytest.approx(exact.chance, abs=0.01)
        assert np.asarray(found.missing)[at] == pytest.approx(exact.missing, rel=0.02, abs=1e-3)


def _replacing_all(down: Number, domains: Number, spares: int, domain_nodes: int) -> _Shortage:
    """Return the shortage where every whole domain among the spares replaces a failed one."""
    return _domain_shortages(down, domains, spares, domain_nodes)[-1]


def test_whole_domains_that_fail_need_whole_spare_domains() -> None:
    """Domains of 18 nodes, 0.1 in repair: P(Y > 1) = 0.0046788, E[max(Y - 1, 0)] = 0.0048374, Erlang 0.005 / 1.105."""
    alone = _replacing_all(0.0, 0.1, 20, 18)
    assert alone.chance == pytest.approx(0.0046788, abs=1e-7)
    assert alone.missing == 0.0
    assert alone.domains == pytest.approx(0.0048374, abs=1e-7)
    assert alone.waiting == pytest.approx(0.005 / 1.105)
    assert _kept_rate(alone, 288, 2, shrinks=True, domain_nodes=18) == pytest.approx(1 - 0.0048374 * 18 / 288, abs=1e-8)
    assert _kept_rate(alone, 288, 36, shrinks=True, domain_nodes=18) == pytest.approx(
        1 - 0.0048374 * 36 / 288, abs=1e-8
    )
    assert _replacing_all(0.5, 0.1, 0, 18).waiting == pytest.approx(1 - 1 / 1.6)  # nothing fails while it stands
    both = _replacing_all(0.5, 0.1, 18, 18)  # the one spare domain taken, a node in repair lacks: 1 - exp(-0.5)
    assert both.chance == pytest.approx(0.0904837 * 0.3934693 + 0.0046788, abs=1e-7)
    assert both.missing == pytest.approx((0.0904837 + 0.0046788) * 0.5, abs=1e-6)
    none = _replacing_all(0.5, 0.1, 6, 18)  # six nodes are no domain
    assert none.domains == pytest.approx(0.1)
    assert none.chance == pytest.approx(1 - 0.9048374 * (1 - _shortage(0.5, 6).chance), abs=1e-7)
    many = _replacing_all(np.array([0.5, 0.5]), np.array([0.1, 0.2]), 18, 18)
    assert np.asarray(many.chance)[0] == pytest.approx(both.chance)


def test_a_spare_that_is_carried_to_its_place_lacks_until_it_is_there() -> None:
    """Two in repair, a spare, a swap of a tenth of a repair: E[min(X, 1)] = 1 - exp(-2) of them are on their way."""
    found = _shortage(2.0, 1, swap=0.1)
    assert found == _swapped(_shortage(2.0, 1), 2.0, 1, 0.1)
    used = 1 - math.exp(-2)
    assert found.missing == pytest.approx((2 - used) + 0.1 * used)
    # none lacks: none on its way, exp(-0.2), and of those apart at most one in repair, P(X' <= 1) of mean 1.8
    assert found.chance == pytest.approx(1 - math.exp(-0.2) * 2.8 * math.exp(-1.8))
    # while it runs it has none or one in repair, 1 to 2: 2 / 3 of removals wait for one of two repairs, and half of
    # those for a swap too, the others for a swap alone
    assert found.waiting / (1 - found.waiting) == pytest.approx(2 * (2 / 3 * (1 / 2 + 0.1 / 2) + 1 / 3 * 0.1))
    many = _shortage(0.05, 3, swap=1.0)  # a swap as long as the repair: as without a spare
    assert (many.missing, many.chance) == pytest.approx((0.05, 1 - math.exp(-0.05)))
    assert many.waiting == pytest.approx(_shortage(0.05, 0).waiting)


def test_a_failure_finds_a_spare_free_if_fewer_nodes_than_spares_are_in_repair() -> None:
    """P(X < s) at any time; of a job that waits, among the states in which it runs."""
    assert _shortage(0.546, 1).free == pytest.approx(math.exp(-0.546))
    assert _shortage(61.1, 1).free == pytest.approx(math.exp(-61.1))
    assert _shortage(0.546, 0).free == _shortage(0.546, 0, waits=True).free == 0.0
    assert _shortage(2.0, 2, waits=True).free == pytest.approx(3 / 5)  # 1, 2 and 2 of none, one and two in repair
    assert _shortage(5_000.0, 2, waits=True).free == pytest.approx(5_001 / (5_001 + 5_000**2 / 2))  # exp(-5000) is 0
    assert _shortage(0.0, 3).free == _shortage(0.0, 3, waits=True).free == 1.0


def test_a_standby_restart_needs_a_spare_that_is_free() -> None:
    """0.84 nodes in repair and two spares: 1.84 exp(-0.84) = 79 % of failures restart in 310 s, the others in 670 s."""
    found = job_outcome(replace(JOB, restart="standby"), V)
    free = (1 + found.in_repair) * math.exp(-float(found.in_repair))
    assert found.in_repair == pytest.approx(1024 * 0.1 * 3 * 0.5 / 365)
    assert found.standby_free == pytest.approx(free)
    assert found.restart_s == pytest.approx(310 * free + 670 * (1 - free) + found.load_s)
    requeued = job_outcome(JOB, V)
    ends = [requeued.ettr, job_outcome(JOB, {**V, "requeue": 40.0}).ettr]
    assert found.ettr == pytest.approx((1 - free) * ends[0] + free * ends[1])
    none = job_outcome(replace(JOB, restart="standby", spares=0), V)
    assert (none.standby_free, none.restart_s) == (0.0, requeued.restart_s)
    assert none.goodput == job_outcome(replace(JOB, spares=0), V).goodput
    copies = job_outcome(replace(JOB, restart="standby", checkpoints="in-memory"), V)
    assert copies.memory is not None
    assert copies.memory.restart_s - found.restart_s == pytest.approx(0.98e12 / (128 * 25e9) - found.load_s)


@examples(80)
@given(
    down=st.floats(0.05, 60.0),
    domains=st.sampled_from([0.0, 0.02, 0.3, 2.0]),
    swap=st.floats(0.001, 1.5),
    replica=st.sampled_from([1.0, 2.0, 40.0, 128.0]),
    shrinks=st.booleans(),
    restart=st.sampled_from(["requeue", "reschedule", "standby"]),
    checkpoints=st.sampled_from(["asynchronous", "in-memory"]),
)
def test_a_spare_more_never_lowers_goodput(
    down: float, domains: float, swap: float, replica: float, shrinks: bool, restart: str, checkpoints: str
) -> None:
    """Nodes and racks of 18 in repair, spares that are carried: from none to two whole racks among the spares."""
    job = replace(
        JOB,
        units={**JOB.units, **({"tray": 8.0} if domains else {})},
        drains=frozenset({"tray"} if domains else ()),
        domain_nodes=18,
        swaps=True,
        replica_nodes=replica,
        shrinks=shrinks,
        restart=restart,
        checkpoints=checkpoints,
    )
    v = {**V, "rate.tray": 0.5, "stops.tray": 1.0, "removes.tray": 0.0}
    v["repair"] *= down / 0.84
    v["tray_swap"] = swap * v["repair"]
    v["drain.tray"] = domains * 365 * DAY / 4
    found = [float(job_outcome(replace(job, spares=spares), v).goodput) for spares in range(40)]
    assert all(more >= less * (1 - 1e-9) for less, more in itertools.pairwise(found))


def test_a_job_that_waits_stands_as_long_as_erlangs_formula_has_it() -> None:
    found = _shortage(0.72, 0)
    assert found.waiting == pytest.approx(0.72 / 1.72)
    assert _kept_rate(found, 64, 1, shrinks=False) == pytest.approx(1 / 1.72)
    assert _kept_rate(found, 64, 1, shrinks=True) == pytest.approx(1 - 0.72 / 64)
    assert _kept_rate(found, 64, 64, shrinks=True) == pytest.approx(1 / 1.72)  # one replica: it waits
