"""Ledgers by hand: sums over lines, what a port with NICs carries, sets of GPUs that reduce first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ffplan.collectives.bottleneck import Line, on_nic_ports, totals
from ffplan.collectives.hfreduce import scale_up_groups
from ffplan.collectives.inside_node import axes_spanned, exchange_factor, link_factor
from ffplan.collectives.rank_layout import RankLayout
from ffplan.node.host import Port
from tests.support import host_named

if TYPE_CHECKING:
    from ffplan.node.host import Host


def job(host: Host, nodes: int, per_node: int) -> RankLayout:
    return RankLayout(host=host, nodes=nodes, per_node=per_node)


def port(gpus: tuple[str, ...], nics: tuple[str, ...], *, switch: bool) -> Port:
    return Port(id="p", socket="s", cpu="c", gpus=gpus, nics=nics, limits=None, pcie_switch=switch)


def test_lines_of_one_resource_add_up() -> None:
    one, two = ("a", "0"), ("b", "0")
    lines = [
        Line("x", one, 1.0, 2.0),
        Line("y", two, 5.0, 7.0),
        Line("z", one, 10.0, 20.0),
        Line("w", one, 100.0, 200.0),
    ]
    assert totals(lines) == {one: (111.0, 222.0), two: (5.0, 7.0)}
    assert totals([]) == {}


@pytest.mark.parametrize(
    ("own", "into", "out"),
    [
        (port(("g0",), ("n0", "n1"), switch=False), 0.5 + 2 * 0.25, 0.125 + 2 * 0.25),
        (port(("g0",), ("n0",), switch=True), 0.5, 0.125),  # behind a switch, GPU and NIC meet below the port
        (port((), ("n0",), switch=True), 0.5 + 0.25, 0.125 + 0.25),  # no GPU there to meet
    ],
)
def test_a_port_carries_what_passes_its_gpus_and_its_nics(own: Port, into: float, out: float) -> None:
    lines = on_nic_ports(own, 0.5, 0.125, 0.25)
    assert [line.resource for line in lines] == [("root_port", "p"), ("pcie_switch", "p")]
    assert {(line.inward, line.outward) for line in lines} == {(into, out)}


def test_gpus_that_reduce_over_nvlink_first() -> None:
    """All of a switch, each bridged pair, and every GPU that has no bridge by itself."""
    assert scale_up_groups(host_named("hgx-h100-8nic"), nvlink=True) == (8,)
    assert scale_up_groups(host_named("hgx-h100-8nic"), nvlink=False) == (1,) * 8
    pairs = host_named("fire-flyer-2-node-nvlink")
    assert scale_up_groups(pairs, nvlink=True) == (2, 2, 2, 2)
    assert scale_up_groups(replace(pairs, pairs=pairs.pairs[:3]), nvlink=True) == (2, 2, 2, 1, 1)


def test_axes_of_a_torus() -> None:
    """Four by four: four ranks span one axis, open; eight one axis and two of the other; sixteen both, closed."""
    assert axes_spanned((4, 4), 16)[:2] == (2, 0)
    spanned, opened, along = axes_spanned((4, 4), 8)
    assert (float(spanned), float(opened), float(along)) == (2.0, 1.0, 2.0)
    plain = job(host_named("hgx-h100-8nic"), 1, 8)
    assert exchange_factor(plain) == link_factor(plain) == 1.0
