"""Exchanges on a drawn node of four GPUs and two NICs: every line of their ledgers, counted piece by piece.

GPUs 0 and 1 and NIC n share a PCIe switch on one socket; on the other GPUs 2 and 3 have a port, NIC m has its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.collectives.exchanges import _all_to_all, _send_receive, star
from ffplan.collectives.expert_dispatch import Routing, _lines, straight
from ffplan.collectives.hfreduce import hfreduce
from ffplan.collectives.inside_node import _ring_lines
from ffplan.collectives.rank_layout import RankLayout
from ffplan.fabric.sizing.plan import LinkCut
from ffplan.node.host import host_of
from tests.unit.node.drawn import accelerator, cpu, nic, port, scale_up, server, socket

if TYPE_CHECKING:
    from ffplan.collectives.bottleneck import Line

GPUS = ("g0", "g1", "g2", "g3")


def layout(nodes: int, *, network: Any = None, per_node: int = 4, first: str = "n", sets: int = 0) -> RankLayout:
    own = server(
        socket("s0", port("a", switch=True)),
        socket("s1", port("b"), port("c")),
        gpus="g0:a g1:a g2:b g3:b",
        nics="n:a m:c",
        network=network,
    )
    nics = sorted([("n", nic(), 50.0), ("m", nic(), 50.0)], key=lambda item: item[0] != first)
    # every rail has a leaf of its own
    mixed = (1 - 1 / nodes) / sets if sets else None
    cut = LinkCut(name="leaf_uplinks", label="uplinks", sets=sets, links=8, gbyte_s=1.0, mixed=mixed, leaves=2)
    host = host_of(own, accelerator(), [cpu("p"), cpu("q")], nics)
    return RankLayout(host=host, nodes=nodes, per_node=per_node, cuts=(cut,) if sets else ())


def moved(lines: list[Line]) -> dict[tuple[str, str], tuple[float, float]]:
    """Return what comes into each resource and leaves it, where anything does."""
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for line in lines:
        into, out = found.get(line.resource, (0.0, 0.0))
        found[line.resource] = (into + float(line.inward), out + float(line.outward))
    return {key: value for key, value in found.items() if any(value)}


def both(**loads: float | dict[str, float]) -> dict[tuple[str, str], tuple[float, float]]:
    """Return loads that are the same each way; by kind, of all GPUs or by id."""
    rows = {name: value if isinstance(value, dict) else dict.fromkeys(GPUS, value) for name, value in loads.items()}
    return {(name, key): (load, load) for name, each in rows.items() for key, load in each.items()}


def ports(**loads: float) -> dict[str, dict[str, float]]:
    """Return the loads of root ports, which switches below them have too."""
    return {"root_port": loads, "pcie_switch": loads}


NICS = {"n": 1.0, "m": 1.0}
CROSSED, STRAIGHT = (("g0", "g2"), ("g1", "g3")), (("g0", "g1"), ("g2", "g3"))


def test_all_to_all_over_pcie() -> None:
    """Of eight pieces seven move, four of them over NICs: 4 x 1/2 over two. A GPU behind the switch sends two pieces
    past it; one with a port of its own six, the NIC's share being beneath the other port. Two and two cross sockets."""
    found = moved(_all_to_all("all-to-all", layout(2)))
    plain = both(nic=NICS, gpu_nic_peer=NICS, hbm=0.875, pcie_peer=0.875, socket_fabric={"0": 0.5})
    assert found == (plain | both(**ports(a=0.5, b=1.5, c=1.0)))
    alone = moved(_all_to_all("all-to-all", layout(1)))
    assert alone == (both(hbm=0.75, pcie_peer=0.75, socket_fabric={"0": 1.0}, **ports(a=1.0, b=1.0)))


@pytest.mark.parametrize(("pairs", "a", "b"), [(STRAIGHT, 0.5, 1.5), (CROSSED, 0.25, 1.25)])
def test_all_to_all_beside_bridges(pairs: Any, a: float, b: float) -> None:
    """One piece of eight passes the bridge; where the two have other ports, each port has two pieces less."""
    found = moved(_all_to_all("all-to-all", layout(2, network=scale_up(pairs=pairs))))
    plain = both(nic=NICS, gpu_nic_peer=NICS, hbm=0.875, pcie_peer=0.75, nvlink_copy=0.125, socket_fabric={"0": 0.5})
    assert found == (plain | both(**ports(a=a, b=b, c=1.0)))


@pytest.mark.parametrize(("rail", "load"), [(False, 5.0), (True, 4.0)])
def test_leaves_of_two_rails(rail: bool, load: float) -> None:
    """Sixteen ranks over two leaves of a rail: eight ranks send eight of 16 pieces to the others, 4. Without rails half
    of what leaves a node, 8 x 3/4, changes rail and leaf as well."""
    job = layout(4, network=scale_up(switched=True), sets=2)
    assert moved(_all_to_all("all-to-all", job, rail=rail))["leaf_uplinks", "0"] == ((load, load))


def test_a_leaf_that_holds_most_of_a_job() -> None:
    """Twelve of sixteen ranks below one leaf: they send a quarter of their pieces past it, 12 x 4 / 16, and a token for
    another node goes there with a chance of a third. A gather brings its root a quarter, a send one message."""
    job = layout(4, network=scale_up(switched=True), sets=2)
    job = replace(job, cuts=(replace(job.cuts[0], held=0.75, mixed=None, leaves=1),))
    assert moved(_all_to_all("all-to-all", job, rail=True))["leaf_uplinks", "0"] == (3.0, 3.0)
    assert moved(_lines(job, 1.0, 0.0))["leaf_uplinks", "0"] == pytest.approx((12 / 3, 12 / 3))
    assert moved(star("gather", job))["leaf_uplinks", "0"] == (0.25, 0.0)
    assert moved(_send_receive("sendrecv", job))["leaf_uplinks", "0"] == (1.0, 1.0)


def test_tokens_sent_straight_change_rails() -> None:
    """Four nodes of four ranks on two leaves of each of two rails: of a token for four experts three go to other nodes,
    two thirds of them past the leaf on their rail, and all of the half that changes rails."""
    job = layout(4, network=scale_up(switched=True), sets=2)
    routing = Routing(tokens=1, hidden=128, top_k=4, experts=16, groups=4)
    sent = 2 * 4 * 4 * 3 / 4  # by two nodes of four ranks
    assert moved(straight(job, routing, "dispatch"))["leaf_uplinks", "0"] == pytest.approx(
        (sent * (1 / 3 + 1 / 2),) * 2
    )


def test_groups_apart_have_leaves_of_their_own() -> None:
    """Of groups of two nodes each node is on another leaf: half of a group below it, and a quarter of its pieces leave.
    Of four side by side, three are on the full leaf."""
    cut = LinkCut(name="leaf_uplinks", label="", sets=8, links=8, gbyte_s=80.0, held=0.125, mixed=0.1)
    two = cut.spread_over(2, 0.1)
    assert (two.sets, two.gbyte_s, two.held, two.aligned, two.mixed) == (2, 8.0, 0.5, 0.25, 0.25)
    four = replace(cut, sets=2, held=0.75).spread_over(4, 1.0)
    assert (four.sets, four.held, four.aligned, four.mixed) == (2, 0.75, 0.1875, 0.1875)
    alone = replace(cut, sets=1, held=1.0, mixed=0.0).spread_over(4, 1.0)
    assert (alone.sets, alone.aligned, alone.mixed) == (1, 0.0, 0.0)
    part = replace(cut, held=0.02, aligned=0.01, lane=0.125).spread_over(2, 1.0)  # one of eight rails
    assert (part.held, part.aligned) == (0.0625, 0.03125)


@pytest.mark.parametrize(
    ("pairs", "a", "b"),
    [
        (STRAIGHT, (1.0, 1.0), (1.0, 1.0)),  # one chain enters and leaves each port over PCIe
        (CROSSED, (0.0, 2.0), (2.0, 0.0)),  # both chains come to the first port, cross by bridges, and go on
    ],
)
def test_a_ring_over_bridged_pairs(pairs: Any, a: tuple[float, float], b: tuple[float, float]) -> None:
    """The first of a pair takes from PCIe and gives to the bridge, the second the other way; NIC m has its own port."""
    found = moved(_ring_lines(layout(2, network=scale_up(pairs=pairs)), "ring", 1.0, 0.25))
    for first, second in pairs:
        assert (found["pcie_peer", first], found["pcie_peer", second]) == ((1.0, 0.0), (0.0, 1.0))
        assert (found["nvlink", first], found["nvlink", second]) == ((0.0, 1.0), (1.0, 0.0))
    for kind in ("root_port", "pcie_switch"):
        assert (found[kind, "a"], found[kind, "b"], found[kind, "c"]) == (a, b, (0.25, 0.25))


def test_a_ring_of_one_pair_stays_on_its_bridge() -> None:
    found = moved(_ring_lines(layout(1, network=scale_up(pairs=STRAIGHT), per_node=2), "ring", 1.0, 0.0))
    assert found == both(nvlink=1.0)


def test_a_ring_without_bridges_passes_each_port_once() -> None:
    found = moved(_ring_lines(layout(2), "ring", 0.5, 0.25))
    assert found == both(pcie_peer=0.5, **ports(a=0.5, b=0.5, c=0.25))


@pytest.mark.parametrize(
    ("operation", "sets", "load"),
    [("allreduce", 2, 1.0), ("allreduce", 4, 1.5), ("reduce", 2, 0.5), ("broadcast", 4, 0.75)],
)
def test_hfreduce_crosses_cuts_as_a_ring_does(operation: str, sets: int, load: float) -> None:
    """2 (s - 1) / s there and back, half of it one way."""
    lines, _ = hfreduce(layout(4, sets=sets), nvlink=False, operation=operation)
    assert moved(lines)["leaf_uplinks", "0"] == pytest.approx((load, load))


@pytest.mark.parametrize(
    ("pairs", "share", "reduced"), [((), 1.0, None), (STRAIGHT, 0.5, (1.0, 1.0)), (CROSSED[:1], 1.0, (1.0, 1.0))]
)
def test_hfreduce_over_bridges_copies_half(pairs: Any, share: float, reduced: tuple[float, float] | None) -> None:
    """GPUs of a pair reduce with each other first, and copy half each; GPU 1 has a bridge in the second case alone."""
    lines, _ = hfreduce(layout(2, network=scale_up(pairs=pairs)), nvlink=True)
    found = moved(lines)
    assert found["pcie_link", "g1"] == (share, share)
    assert found.get(("nvlink", "g0")) == reduced
    tree = found["nic", "n"][0] + found["nic", "m"][0]
    copied = sum(found["pcie_link", gpu][0] for gpu in ("g0", "g1"))
    assert found["root_port", "a"] == pytest.approx((copied + tree / 2, copied + tree / 2))
    assert found["root_port", "c"] == pytest.approx((tree / 2, tree / 2))
    plain, _ = hfreduce(layout(2, network=scale_up(pairs=pairs)), nvlink=False)
    assert ("nvlink", "g0") not in moved(plain)
