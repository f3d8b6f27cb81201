"""Collectives behave like collectives, on any server and at any size."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.collectives.algorithms import LEDGERS
from ffplan.collectives.bottleneck import solve, sustained_rate, totals
from ffplan.collectives.expert_dispatch import Routing, expected_hits
from ffplan.collectives.rank_layout import Job
from ffplan.collectives.timing import Grid, Wish, evaluate
from ffplan.node.resources import Border, Resource, resources
from tests.support import host_named

if TYPE_CHECKING:
    from ffplan.node.host import Host

SERVERS = (
    "fire-flyer-2-node", "fire-flyer-2-node-nvlink", "dgx-a100-320gb", "hgx-h100-8nic", "p4d-24xlarge",
    "p5-48xlarge", "g6e-48xlarge", "gb200-nvl72-tray", "mi300x-8nic", "h100-pcie-8gpu",
)  # fmt: skip
OPERATIONS = ("allreduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all", "sendrecv")
BY_ALGORITHM = {
    "ring": "allreduce", "tree": "allreduce", "nvls": "allreduce", "nvls-tree": "allreduce", "sharp": "allreduce",
    "hierarchical": "allreduce", "direct": "all-to-all", "rail": "all-to-all", "send": "sendrecv",
}  # fmt: skip
servers, nodes = st.sampled_from(SERVERS), st.integers(1, 2048)


@cache
def host(name: str) -> Host:
    return host_named(name)


@cache
def library(name: str) -> Library:
    part = Catalog().entry(name).part
    assert isinstance(part, Library)
    return part


def grid(server: str, operation: str, count: int, sizes: list[float]) -> Grid:
    here = host(server)
    job = Job(here, np.array([float(count)]), np.array([float(here.domain_gpus)]))
    found = evaluate(Wish(operation, library("nccl")), job, np.array(sizes))
    assert found is not None
    return found


@given(servers, st.sampled_from(OPERATIONS), nodes, st.floats(1, 1e11), st.floats(1.0, 100.0))
def test_a_larger_message_never_takes_less_with_the_same_choice(
    server: str, operation: str, count: int, size: float, factor: float
) -> None:
    found = grid(server, operation, count, [size, size * factor])
    assert bool((found.time[:, 0, 1] >= found.time[:, 0, 0] * (1 - 1e-12)).all())
    assert bool(np.isfinite(found.time[:, 0]).all())
    assert bool((found.time > 0).all())


@given(servers, nodes, st.floats(1, 1e11))
def test_what_is_chosen_has_the_least_estimate_and_can_run(server: str, count: int, size: float) -> None:
    found = grid(server, "allreduce", count, [size])
    at = int(found.chosen[0, 0])
    assert found.estimate[at, 0, 0] == found.estimate[:, 0, 0].min() < np.inf


@given(servers, st.integers(2, 512), st.floats(1e6, 1e11))
def test_reduce_scatter_and_all_gather_are_no_slower_than_allreduce_on_a_ring(
    server: str, count: int, size: float
) -> None:
    here = host(server)
    job = Job(here, np.array([float(count)]), np.array([float(here.domain_gpus)]))
    times = []
    for operation in ("reduce-scatter", "all-gather", "allreduce"):
        found = evaluate(Wish(operation, library("nccl"), algorithm="ring"), job, np.array([size]))
        assert found is not None
        times.append(float(found.pick(found.time)[0, 0]))
    assert max(times[:2]) <= times[2] * (1 + 1e-12)


@given(servers, st.sampled_from(sorted(LEDGERS)), st.integers(1, 512))
def test_ledgers_send_as_much_as_they_receive_and_nics_carry_what_leaves(
    server: str, algorithm: str, count: int
) -> None:
    here = host(server)
    lines = LEDGERS[algorithm](BY_ALGORITHM[algorithm], Job(here, count, here.domain_gpus))
    for (kind, _), (inward, outward) in totals(lines).items():
        assert inward >= 0
        assert outward >= 0
        if kind in ("nic", "nvlink", "nvls", "pcie_peer", "pcie_switch", "root_port"):
            assert inward == pytest.approx(outward)
        if kind == "nic" and count == 1:
            assert inward == 0


@given(servers, st.sampled_from(["ring", "tree", "direct", "hierarchical"]), st.integers(2, 512), st.floats(1.0, 8.0))
def test_more_of_a_resource_never_slows_anything(server: str, algorithm: str, count: int, factor: float) -> None:
    here = host(server)
    lines = LEDGERS[algorithm](BY_ALGORITHM[algorithm], Job(here, count, here.domain_gpus))
    known = resources(here)
    before = sustained_rate(known, lines)
    for kind in {name for name, _ in known}:
        wider = {key: _scaled(item, factor if item.name == kind else 1.0) for key, item in known.items()}
        assert sustained_rate(wider, lines) >= before * (1 - 1e-12)
    bound = solve(known, lines, sustained=True)
    assert float(bound.gbyte_s) == pytest.approx(float(before))


def _scaled(item: Resource, factor: float) -> Resource:
    values = (item.one_way[0] * factor, item.one_way[1] * factor, item.one_way[2] * factor)
    return Resource(
        item.name, item.id, item.label, values, item.both_ways, item.sustained, item.under_trees, item.known, item.basis
    )


@given(st.integers(2, 64), st.floats(1.0, 32.0))
def test_oversubscribed_leaves_never_help(leaves: int, ratio: float) -> None:
    here = host("hgx-h100-8nic")

    def rate(gbyte_s: float) -> float:
        job = Job(here, leaves * 4.0, 8.0, 1, (Border("leaf_uplinks", "", float(leaves), 32, gbyte_s),))
        return float(sustained_rate(resources(here, job.borders), LEDGERS["direct"]("all-to-all", job)))

    assert rate(1600 / ratio) <= rate(1600) * (1 + 1e-12)


@given(st.integers(1, 64), st.integers(1, 8), st.integers(1, 16))
def test_draws_hit_no_more_bins_than_there_are(bins: int, each: int, draws: int) -> None:
    draws = min(draws, bins * each)
    hits = expected_hits(bins, bins * each, each, draws)
    assert 1 - 1e-9 <= hits <= min(bins, draws) + 1e-9


@given(st.integers(1, 32), st.integers(1, 8))
def test_node_limits_spare_the_network(count: int, limit: int) -> None:
    from ffplan.collectives.expert_dispatch import reach

    job = Job(host("h800-8nic"), float(count), 8.0)
    limited, gpus = reach(job, Routing(1, 1, 8, 256, limit))
    free, _ = reach(job, Routing(1, 1, 8, 256, count))
    assert limited <= free + 1e-9
    assert limited <= gpus + 1e-9
