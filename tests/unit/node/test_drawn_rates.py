"""What the parts of drawn servers carry: each rule of the rates, with its low and its high end."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ffplan.fabric.sizing.plan import LinkCut
from ffplan.node.host import _link_graph, host_of
from ffplan.node.resources import FULL_DUPLEX, Resource, resources
from tests.unit.node.drawn import accelerator, cpu, fig, nic, port, rates, scale_up, server, small, socket

SCALE_UP = ("nvlink", "nvlink_copy", "nvlink_all")


def ends(part: Any, network: Any, share: float = 1.0) -> dict[str, tuple[Any, ...]]:
    """Return the rates of the scale-up network of four GPUs, of the last of them."""
    found = resources(small(network, part), link_share=share)
    return {kind: item.one_way for (kind, gpu), item in found.items() if gpu == "g3" and kind in (*SCALE_UP, "nvls")}


SWITCH = scale_up(switched=True)


@pytest.mark.parametrize(
    ("measured", "copy", "exchange"),
    [
        ({}, (70.0, 80.0, 110.0), (70.0, 80.0, 110.0)),  # the ring's
        ({"peer": fig(85.0, 84.0)}, (84.0, 85.0, 110.0), (70.0, 80.0, 110.0)),
        ({"alltoall": fig(60.0, 50.0)}, (70.0, 80.0, 110.0), (50.0, 60.0, 110.0)),
    ],
)
def test_copies_and_exchanges_reach_the_rings_rate_unless_measured(measured: Any, copy: Any, exchange: Any) -> None:
    """The high end is what the links are specified for."""
    found = ends(accelerator(collectives=rates(ring=fig(80.0, 70.0), **measured)), SWITCH)
    assert found == {"nvlink": (70.0, 80.0, 110.0), "nvlink_copy": copy, "nvlink_all": exchange}


def test_a_ring_that_was_measured_above_the_specification_raises_the_high_end() -> None:
    found = ends(accelerator(collectives=rates(ring=fig(120.0, 115.0, 130.0))), SWITCH)
    assert found["nvlink"] == (115.0, 120.0, 120.0)


@pytest.mark.parametrize(
    ("network", "part"),
    [(SWITCH, None), (SWITCH, accelerator(nvlink=None)), (None, accelerator()), (scale_up(), accelerator())],
)
def test_no_links_where_the_part_or_the_server_has_none(network: Any, part: Any) -> None:
    assert ends(part, network) == {}


@pytest.mark.parametrize(
    ("network", "of_a_pair"),
    [
        (SWITCH, 1),
        (scale_up(pairs=(("g0", "g1"), ("g2", "g3"))), 1),
        (scale_up(mesh=True), 3),  # one of three links leads to the other
        (scale_up(torus=(2, 2)), 4),  # two ways along each of two axes
        (scale_up(torus=(4,)), 2),
        (scale_up(links=(("g0", "g1"), ("g1", "g2"), ("g2", "g3")), counts=(2, 1, 1)), 3),  # g1 has three
        (scale_up(links=(("g0", "g1"), ("g1", "g2"), ("g2", "g3")), counts=(4, 2, 2)), 3),  # of six, in twos
    ],
)
def test_two_gpus_share_what_joins_them(network: Any, of_a_pair: int) -> None:
    """80 % of links specified at 90 to 110 GB/s; a copy has the part of them that leads to the other GPU."""
    found = ends(accelerator(), network, share=0.8)
    assert found["nvlink"] == pytest.approx((72.0, 80.0, 110.0))
    assert found["nvlink_all"] == pytest.approx((72.0, 80.0, 110.0))
    assert found["nvlink_copy"] == pytest.approx((72 / of_a_pair, 80 / of_a_pair, 110 / of_a_pair))
    labels = {item.label for (kind, _), item in resources(small(network, accelerator())).items() if kind in SCALE_UP}
    assert labels == {"xGMI of a GPU"} | ({"xGMI link between two GPUs"} if of_a_pair > 1 else set())


def test_a_copy_that_was_measured_knows_its_links() -> None:
    found = ends(accelerator(collectives=rates(peer=fig(30.0, 28.0))), scale_up(mesh=True))
    assert found["nvlink_copy"] == (28.0, 30.0, 110.0)


@pytest.mark.parametrize(("busbw", "high"), [(80.0, 110.0), (150.0, 125.0)])
def test_reduction_in_a_switch_of_four(busbw: float, high: float) -> None:
    """Of a message of 1, each GPU's bus carries 2 x 3 / 4 by convention and 5 / 4 in truth: 5 / 6 of the bandwidth."""
    nvls = SimpleNamespace(busbw=fig(busbw, busbw - 20), ranks=fig(4))
    found = ends(accelerator(collectives=rates(nvls=nvls)), SWITCH)
    assert found["nvls"] == pytest.approx(((busbw - 20) * 5 / 6, busbw * 5 / 6, high))
    assert "nvls" not in ends(accelerator(collectives=rates(nvls=nvls)), scale_up(pairs=(("g0", "g1"),)))


@pytest.mark.parametrize(
    ("measured", "peer"),
    [
        (None, (20.0, 25.0, 30.0)),
        (rates(), (20.0, 25.0, 30.0)),
        (rates(pcie=fig(18.0, 15.0)), (15.0, 18.0, 30.0)),
        (rates(pcie=fig(40.0, 22.0)), (22.0, 25.0, 30.0)),  # no more than this server's link
        (rates(pcie=fig(40.0, 35.0)), (25.0, 25.0, 30.0)),
    ],
)
def test_gpus_reach_each_other_over_pcie(measured: Any, peer: tuple[float, float, float]) -> None:
    link = SimpleNamespace(bandwidth=fig(25.0, 20.0, 30.0))
    own = server(socket("s", port("a", switch=True), port("b")), gpus="g0:a g1:b")
    found = resources(host_of(own, accelerator(pcie=link, collectives=measured), [cpu()], []))
    kinds = [(kind, name) for kind, name in found if kind.startswith("pcie")]
    links = [("pcie_link", "g0"), ("pcie_link", "g1"), ("pcie_peer", "g0"), ("pcie_peer", "g1")]
    assert kinds == [*links, ("pcie_switch", "a")]
    assert {found[key].one_way for key in links[:2]} == {(20.0, 25.0, 30.0)}
    assert {found[key].one_way for key in kinds[2:]} == {peer}
    memory = found["hbm", "g1"]
    assert memory.one_way == (1800.0, 2000.0, 2100.0)
    assert memory.both_ways == (1.0, 1.0, 1.0)  # reads and writes share it


def test_gpus_whose_pcie_is_unknown_still_have_memory() -> None:
    kinds = {kind for kind, _ in resources(small(None, accelerator()))}
    assert kinds == {"hbm", "host_memory"}


@pytest.mark.parametrize(("sockets", "links", "rate"), [(1, 1, None), (2, 2, 60.0), (2, 1, 60.0), (2, 0, None)])
def test_what_is_between_sockets(sockets: int, links: int, rate: float | None) -> None:
    """Two sockets share 4 channels each of 40 GB/s, at 75, 80 and 90 %; one alone has no link to another."""
    cpus = [cpu(str(at), socket_fabric=fig(60.0, 50.0, 70.0) if at < links else None) for at in range(sockets)]
    limited = port("a", one_way=fig(30.0, 25.0, 35.0))
    own = server(*(socket(str(at), limited if at == 0 else port("b")) for at in range(sockets)), gpus="g:a")
    found = resources(host_of(own, None, cpus, []))
    assert [key for key in found if key[0] == "host_memory"] == [("host_memory", str(at)) for at in range(sockets)]
    memory = found["host_memory", "0"]
    assert memory.one_way == pytest.approx((120.0, 128.0, 144.0))
    assert memory.both_ways == (1.0, 1.0, 1.0)
    assert memory.basis == f"{128 * sockets} GB/s practical over {4 * sockets} channels"
    between = found.get(("socket_fabric", "0"))
    assert (between.one_way if between else None) == ((50.0, rate, 70.0) if rate else None)
    (root,) = [item for (kind, _), item in found.items() if kind == "root_port"]
    assert (root.one_way, root.both_ways, root.known) == ((25.0, 30.0, 35.0), (1.25, 1.5, 1.75), False)


@pytest.mark.parametrize(("rate", "low"), [(50.0, 38.0), (30.0, 28.5)])
def test_a_nic_has_its_line_and_its_trees(rate: float, low: float) -> None:
    """A NIC of 40 to 50 GB/s at a port of `rate`: 95 % of the slower at least."""
    own = server(socket("s", port("a", switch=True)), gpus="g:a", nics="n:a m:a")
    nics = [("n", nic(), rate), ("m", nic(tree_efficiency=fig(0.7)), rate)]
    found = resources(host_of(own, None, [cpu()], nics))
    plain, slow = found["nic", "n"], found["nic", "m"]
    assert plain.one_way == pytest.approx((low, rate, rate))
    assert (plain.sustained, plain.under_trees, plain.known) == (0.96, 0.96, True)
    assert (slow.sustained, slow.under_trees) == (0.96, 0.7)


PEER = {"gpu_nic_peer": fig(10.0, 9.0, 11.0)}


@pytest.mark.parametrize(
    ("switch", "forwarding", "cpus", "one_way", "both"),
    [
        (True, True, [cpu(**PEER)], None, None),  # near, so the path is not through the CPU
        (True, False, [cpu(**PEER)], (9.0, 10.0, 11.0), FULL_DUPLEX),
        (False, True, [cpu(**PEER)], (9.0, 10.0, 11.0), FULL_DUPLEX),
        (False, False, [cpu()], None, None),
        (
            False,
            True,
            [cpu("p", **PEER, gpu_nic_peer_both_way_share=fig(0.7, 0.6, 0.8))],
            (9.0, 10.0, 11.0),
            (0.6, 0.7, 0.8),
        ),
        (False, True, [cpu("p", **PEER), cpu("q", gpu_nic_peer=fig(4.0))], (4.0, 4.0, 4.0), FULL_DUPLEX),
        (False, True, [cpu("q", gpu_nic_peer=fig(4.0)), cpu("p", **PEER)], (4.0, 4.0, 4.0), FULL_DUPLEX),
        (False, True, [cpu("p"), cpu("q", **PEER)], (9.0, 10.0, 11.0), FULL_DUPLEX),
    ],
)
def test_the_path_between_gpu_and_nic_through_the_cpu(
    switch: bool, forwarding: bool, cpus: list[Any], one_way: Any, both: Any
) -> None:
    """It is there where no switch joins the two, or a library goes that way; the slowest known CPU sets its rate."""
    sockets = [socket(str(at), port("a", switch=switch) if at == 0 else port("b")) for at in range(len(cpus))]
    own = server(*sockets, gpus="g:a", nics="n:a m:a")
    nics = [(name, nic(), 50.0) for name in ("n", "m")]
    found = resources(host_of(own, None, cpus, nics, forwarding=forwarding))
    paths = {name: item for (kind, name), item in found.items() if kind == "gpu_nic_peer"}
    assert set(paths) == (set() if one_way is None else {"n", "m"})
    for item in paths.values():
        assert (item.one_way, item.both_ways, item.known) == (one_way, both, False)


@pytest.mark.parametrize(
    ("name", "basis"),
    [(name, "1,200 links x 12.5 GB/s") for name in ("leaf_uplinks", "bisection")] + [("group_links", "")],
)
def test_a_cut_says_its_links_where_all_of_them_carry_it(name: str, basis: str) -> None:
    cut = LinkCut(name=name, label="uplinks", sets=2, links=1200, gbyte_s=15000.0)
    found = resources(small(), (cut,))[name, "0"]
    assert (found.one_way, found.label, found.basis) == ((15000.0,) * 3, "uplinks", basis)


def test_a_resource_is_known_full_duplex_and_reached_where_nothing_else_is_said() -> None:
    plain = Resource("x", "0", "x", (1.0, 1.0, 1.0))
    assert (plain.both_ways, plain.sustained, plain.under_trees) == ((2.0, 2.0, 2.0), 1.0, None)
    assert (plain.known, plain.basis) == (True, "")


def test_links_of_a_graph_share_the_rate_of_the_busiest_gpu() -> None:
    """Three links at most and two between two at fewest: 2 / 3 of a GPU's rate to a neighbour."""
    graph = _link_graph(("g0", "g1", "g2"), (("g0", "g1"), ("g1", "g2")), (4, 2))
    own = replace(small(scale_up(mesh=True), accelerator()), links=graph, mesh=False)
    assert resources(own)["nvlink_copy", "g0"].one_way == pytest.approx((90 / 3, 100 / 3, 110 / 3))
