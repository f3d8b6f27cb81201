"""Bridges and meshes inside a node, over operations, sizes and scales."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.collectives.bottleneck import sustained_rate
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, chosen, fastest, time_choices
from ffplan.node.resources import resources
from ffplan.studies.collective.row import ledger_of
from tests.support import document, host_named

BRIDGED = host_named("fire-flyer-2-node-nvlink")
NCCL = Catalog().get(Library, "nccl", document("{}"), ())
ALGORITHM = {"all-to-all": "direct", "sendrecv": "send", "gather": "star", "scatter": "star"}
OPERATIONS = ("allreduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "gather", "scatter", "sendrecv")


@given(st.sampled_from(OPERATIONS), st.integers(1, 200), st.integers(1, 8), st.floats(3, 34), st.booleans(), st.data())
def test_a_bridge_never_slows_the_fastest_algorithm(
    operation: str, nodes: int, ranks: int, power: float, adjacent: bool, data: st.DataObject
) -> None:
    """Neither what NCCL could choose nor what it chooses: its cost model sees bridges only where nothing else is."""
    if nodes * ranks < 2:
        return
    pairs = data.draw(st.integers(0, 4))
    query = CollectiveQuery(operation=operation, library=NCCL)
    times, own = [], []
    for host in (replace(BRIDGED, pairs=()), replace(BRIDGED, pairs=BRIDGED.pairs[:pairs]), BRIDGED):
        job = RankLayout(host=host, nodes=nodes, per_node=ranks, adjacent=1.0 * adjacent)
        found = time_choices(query, job, 2**power)
        times.append(fastest(found).time)
        own.append(chosen(found).time)
        lines = ledger_of(query, job, ALGORITHM.get(operation, "ring"))
        assert all(line.inward >= 0 <= line.outward for line in lines)
    assert times[0] * (1 + 1e-9) >= times[1] or ranks > 2 * pairs
    assert times[0] * (1 + 1e-9) >= times[2]
    assert own[0] * (1 + 1e-9) >= own[2]
    if nodes == 1 and ranks == 2 and adjacent:
        assert times[2] < times[0]


@given(st.integers(2, 8), st.sampled_from(OPERATIONS[:4]))
def test_a_mesh_is_no_faster_than_a_switch_of_its_links(ranks: int, operation: str) -> None:
    mesh = host_named("mi300x-8nic")
    switch = replace(mesh, mesh=False)
    query = CollectiveQuery(operation=operation, library=NCCL)
    rates = []
    for host in (mesh, switch):
        job = RankLayout(host=host, nodes=1, per_node=ranks)
        rates.append(sustained_rate(resources(host), ledger_of(query, job, "ring")))
    assert rates[0] <= rates[1]
    assert (rates[0] == rates[1]) == (ranks == len(mesh.gpus))
