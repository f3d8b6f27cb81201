"""Wired dragonflies against networkx: ports, counts, diameter, and routes that really walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.fabric.family import plan_fabric, routing_of, wire
from ffplan.fabric.routing.link_loads import flow_loads
from ffplan.fabric.wiring.names import Names
from tests.property.test_routing import assert_walks
from tests.support import document, examples

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign

SERVERS = {"fire-flyer-2-node": 1, "dgx-a100-320gb": 8, "p4d-24xlarge": 4}
CATALOG = Catalog()


@st.composite
def dragonflies(draw: st.DrawFn) -> ResolvedDesign:
    server = draw(st.sampled_from(sorted(SERVERS)))
    planes = draw(st.sampled_from([p for p in (1, 2, 4) if SERVERS[server] % p == 0]))
    text = f"""
name: any
nodes: [{{role: compute, server: {server}, count: {draw(st.integers(1, 90))}}}]
fabric:
  family: dragonfly
  switch: {draw(st.sampled_from(["qm8700", "qm9700"]))}
  link: {{endpoint: hdr-dac, inter_switch: hdr-aoc}}
  planes: {planes}
site: {{pue: 1.2}}
"""
    try:
        design = resolve(document(text), CATALOG)
        plan_fabric(design)
    except InputError:
        assume(False)
        raise
    return design


@given(dragonflies())
@examples(40)
def test_the_wired_dragonfly_is_the_planned_one(design: ResolvedDesign) -> None:
    plan = plan_fabric(design)
    fabric = wire(design, plan)
    network = fabric.network
    assert {"router": len(network.switches)} == plan.switches_by_role
    assert network.links_by_tier() == {tier: count for tier, count in plan.links_by_tier.items() if count}
    ends = np.concatenate(
        [network.links.a * 4096 + network.links.a_port, network.links.b * 4096 + network.links.b_port]
    )
    assert len(np.unique(ends)) == len(ends)
    assert max(network.links.a_port.max(), network.links.b_port.max()) < network.radix
    assert len({*Names(design, fabric).devices()}) == len(network.switches) + len(network.endpoints)
    graph: nx.Graph[int] = nx.Graph(zip(network.links.a.tolist(), network.links.b.tolist(), strict=True))
    routers = graph.subgraph(range(len(network.switches)))
    planes = list(nx.connected_components(routers))
    assert len(planes) == plan.planes
    assert all(nx.diameter(nx.Graph(routers.subgraph(plane))) <= 3 for plane in planes)


@given(dragonflies(), st.integers(0, 2**31))
@examples(60)
def test_minimal_and_valiant_paths_walk_to_their_ends(design: ResolvedDesign, seed: int) -> None:
    fabric = wire(design, plan_fabric(design))
    network, router = fabric.network, routing_of(fabric)
    src, dst = np.random.default_rng(seed).integers(0, len(network.endpoints), (2, 200))
    for chosen, detour in ((None, False), (seed, False), (seed, True)):
        routes = router.paths(src, dst, chosen, detour=detour)
        assert_walks(fabric, src, dst, routes.links, routes.reached)
        assert (routes.reached == router.connected(src, dst)).all()
        steps = (routes.links >= 0).sum(axis=1)
        across = (network.links.tier[np.maximum(routes.links, 0) // 2] == 5) & (routes.links >= 0)
        groups = network.switches.pod[network.endpoints.leaf]
        far = routes.reached & (groups[src] != groups[dst])
        several = fabric.dragonflies[0].shape.groups > 2
        assert (across.sum(axis=1)[far] == (2 if detour and several else 1)).all()
        assert steps.max() <= (7 if detour else 5)


@given(dragonflies(), st.integers(0, 2**31))
@examples(40)
def test_spreading_keeps_every_byte_and_never_loads_more_than_minimal_paths(design: ResolvedDesign, seed: int) -> None:
    fabric = wire(design, plan_fabric(design))
    router = routing_of(fabric)
    src, dst = np.random.default_rng(seed).integers(0, len(fabric.network.endpoints), (2, 400))
    joined = router.connected(src, dst)
    src, dst = src[joined], dst[joined]
    nbytes = np.ones(len(src))
    spread = router.spread(src, dst, nbytes)
    listed, lost = flow_loads(router, src, dst, nbytes)
    assert lost == 0
    ends = 2 * len(fabric.network.endpoints)
    assert np.allclose(spread[:ends], listed[:ends])
    across = np.repeat(fabric.network.links.tier == 5, 2)
    groups = fabric.network.switches.pod[fabric.network.endpoints.leaf]
    leaving = (groups[src] != groups[dst]).sum()
    assert leaving - 1e-6 <= spread[across].sum() <= 2 * leaving + 1e-6
