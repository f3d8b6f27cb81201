"""Whole servers that were drawn for the purpose: what is behind which port, and what joins the accelerators."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ffplan.node.host import _link_graph, host_of, with_first_nics
from ffplan.node.resources import host_copies
from tests.unit.node.drawn import accelerator, cpu, fig, nic, port, rates, scale_up, server, small, socket


def two_sockets() -> Any:
    """Return a server of two unlike sockets: a switch and a plain port, then a NIC's own port and an empty one."""
    return server(
        socket("s0", port("a", switch=True, one_way=fig(30.0)), port("b"), channels=2),
        socket("s1", port("c"), port("d"), channels=6),
        gpus="g0:a g1:a g2:b",
        nics="n0:a n1:c boot:b",
    )


def test_a_switch_without_a_gpu_brings_no_nic_near() -> None:
    own = server(socket("s", port("a", switch=True), port("b", switch=True)), gpus="g:a", nics="n:b")
    found = host_of(own, None, [cpu()], [("n", nic(), 50.0)])
    assert (found.peer_through_cpu, found.beside) == (True, 0)


LINE = (("g0", "g1"), ("g1", "g2"), ("g2", "g3"))


@pytest.mark.parametrize(
    ("network", "joined", "nodes"),
    [
        (None, False, 1),
        (scale_up(nodes=9), False, 1),
        (scale_up(switched=True, nodes=9), True, 9),
        (scale_up(mesh=True, nodes=9), True, 1),
        (scale_up(torus=(2, 2), nodes=9), True, 9),
        (scale_up(links=LINE, nodes=9), True, 1),
        (scale_up(links=LINE[:2]), False, 1),
        (scale_up(pairs=(("g0", "g1"),)), False, 1),
    ],
)
def test_what_joins_all_gpus_and_over_how_many_nodes(network: Any, joined: bool, nodes: int) -> None:
    """A switch or a torus may reach over nodes; bridges and a line that leaves one GPU out join only some."""
    found = small(network)
    assert (found.joined, found.domain_nodes, found.domain_gpus, found.domain_nics) == (joined, nodes, 4 * nodes, 0)
    assert found.mesh == bool(network and network.mesh)
    assert found.torus == (network.torus if network else ())
    assert found.pairs == (network.pairs if network else ())
    assert (found.links is not None) == bool(network and network.links)
    assert found.scale_up_name == ("xGMI" if network else "")


@pytest.mark.parametrize(
    ("of_server", "of_part", "link"),
    [
        (None, None, None),
        (None, accelerator(), None),
        (None, accelerator(pcie=SimpleNamespace(bandwidth=fig(50.0, 45.0, 60.0))), (45.0, 50.0, 60.0)),
        (fig(25.0), accelerator(pcie=SimpleNamespace(bandwidth=fig(50.0))), (25.0, 25.0, 25.0)),
        (fig(25.0), None, (25.0, 25.0, 25.0)),
    ],
)
def test_the_pcie_link_of_the_server_comes_before_that_of_the_part(of_server: Any, of_part: Any, link: Any) -> None:
    own = server(socket("s", port("a")), gpus="g:a", pcie=of_server)
    assert host_of(own, of_part, [cpu()], []).pcie == link


def test_a_node_is_plain_where_nothing_else_is_said() -> None:
    """NCCL reaches the NIC of another GPU, unless its library is older; no mesh, no torus, no start beyond its own."""
    found = small()
    assert (found.forwarding, small(forwarding=False).forwarding) == (True, False)
    bare = {"mesh", "links", "torus", "scale_up_name", "forwarding"}
    fields = {name: getattr(found, name) for name in type(found).__dataclass_fields__ if name not in bare}
    default = type(found)(**fields)
    assert (default.mesh, default.links, default.torus) == (False, None, ())
    assert (default.scale_up_name, default.forwarding) == ("NVLink", True)
    assert (found.rates, found.launch_s) == (None, 0.0)


@pytest.mark.parametrize(("launch", "seconds"), [(None, 0.0), (fig(4e-6), 4e-6)])
def test_a_start_beyond_the_librarys_own(launch: Any, seconds: float) -> None:
    assert small(part=accelerator(collectives=rates(launch=launch))).launch_s == seconds


def test_a_library_that_uses_the_first_nics_alone() -> None:
    """The second NIC leaves every list, and its root port."""
    nics = [("n0", nic(rate=fig(50.0)), 50.0), ("n1", nic(rate=fig(25.0)), 25.0)]
    found = host_of(two_sockets(), None, [cpu(), cpu()], nics)
    first = with_first_nics(found, 1)
    assert (first.nic_ids, first.nic_gbyte_s, [n.rate.value for n in first.nics]) == (("n0",), (50.0,), [50.0])
    assert [p.nics for p in first.ports] == [("n0",), (), (), ()]
    assert [p.nics for p in with_first_nics(found, 2).ports] == [p.nics for p in found.ports]


@pytest.mark.parametrize(
    ("link", "memory", "ports", "alone", "shared", "binds"),
    [
        (20.0, 400.0, (), 20.0, 20.0, "PCIe link"),
        (20.0, 60.0, (), 20.0, 15.0, "host memory"),  # four GPUs share it
        (20.0, 10.0, (), 10.0, 2.5, "host memory"),
        (20.0, 400.0, (("g0 g1", 30.0), ("g2 g3", 36.0)), 20.0, 15.0, "root port"),  # two below each
        (20.0, 400.0, (("g0 g1 g2 g3", 16.0),), 16.0, 4.0, "root port"),
        (20.0, 400.0, (("g0 g1", 30.0), ("g2 g3", None)), 20.0, 15.0, "root port"),
        (20.0, 400.0, (("g0 g1", None), ("", 1.0)), 20.0, 20.0, "PCIe link"),  # a limit of another device
    ],
)
def test_copies_to_host_memory(link: float, memory: float, ports: Any, alone: float, shared: float, binds: str) -> None:
    """One accelerator has link, root port and memory to itself; four share memory, and those below a port the port."""
    first = small().ports[0]
    own = replace(
        small(),
        pcie=(link - 1, link, link + 1),
        memory_gbyte_s=(memory - 5, memory, memory + 5),
        ports=tuple(
            replace(
                first,
                gpus=tuple(gpus.split()),
                limits=None if rate is None else SimpleNamespace(one_way=fig(rate)),  # type: ignore[arg-type]
            )
            for gpus, rate in ports
        ),
    )
    found = host_copies(own)
    assert found is not None
    assert (found.alone, found.shared, found.binds) == (alone, shared, binds)
    assert host_copies(replace(own, pcie=None)) is None
    assert host_copies(replace(own, gpus=())) is None


def test_links_stand_once_each_where_their_number_is_not_written() -> None:
    found = _link_graph("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    assert found is not None
    assert (found.fewest, found.most, found.mean, found.rings) == (1, 2, 2.0, 2)
    counted = _link_graph("abc", [("a", "b"), ("b", "c")], (3, 2))
    assert counted is not None
    assert (counted.fewest, counted.most, counted.mean, counted.rings) == (2, 5, 10 / 3, 2)
