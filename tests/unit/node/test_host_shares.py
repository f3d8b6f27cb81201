"""What hosts share: links, copies, and cuts of their link graphs."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.catalog.parts import memory_bytes
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.design.training import PlanFields
from ffplan.inputs.document import read_document
from ffplan.node.host import _link_graph, _smallest_cut
from ffplan.node.resources import host_copies, host_shares
from ffplan.studies.train.assumptions import copy_gaps
from ffplan.studies.train.setup import host_room
from ffplan.training.data_parallel import _host_rates
from tests.support import ROOT, assess_file, host_named

if TYPE_CHECKING:
    from ffplan.node.host import Host


SERVERS = [name for name in Catalog().ids_of("server") if host_named(name).gpus]


@cache
def server(name: str) -> Host:
    return host_named(name)


@pytest.mark.parametrize(
    ("name", "alone", "shared"),
    [
        ("p4d-24xlarge", 13.5, 6.75),  # two A100 below a switch of 13.5 GB/s
        ("dgx-a100-640gb", 27.0, 13.5),  # the switch before the root port of 37.5
        ("fire-flyer-2-node", 27.0, 18.75),  # two A100 below a root port of 37.5, no switch
        ("l40s-8gpu", 27.0, 6.75),  # four below a switch
        ("hgx-h100-8nic", 55.4, 55.4),  # a switch for each
    ],
)
def test_all_at_once_share_the_way_up_of_their_switch(name: str, alone: float, shared: float) -> None:
    found = host_copies(server(name))
    assert found is not None
    assert found.alone == pytest.approx(alone, abs=0.05)
    assert found.shared == pytest.approx(shared, abs=0.05)


@given(st.sampled_from(SERVERS), st.data())
def test_no_resource_carries_more_than_it_has(name: str, data: st.DataObject) -> None:
    """Of the accelerators that run, those below a switch or a port pass its rate together."""
    host = server(name)
    running = data.draw(st.integers(1, len(host.gpus)))
    shares = host_shares(host, running)
    each = min(shares.values())
    assert each > 0
    assert each * running <= host.memory_gbyte_s[1] * (1 + 1e-12)
    for port in host.ports:
        below = sum(gpu in port.gpus for gpu in host.gpus[:running])
        if port.limits is not None and port.gpus:
            assert each * below <= port.limits.one_way.value * (1 + 1e-12)
        if port.pcie_switch and host.pcie is not None and port.gpus:
            assert each * below <= host.pcie[1] * (1 + 1e-12)


@pytest.mark.parametrize("name", SERVERS)
def test_fewer_that_run_have_more_each(name: str) -> None:
    """Arrays of numbers give what plain numbers do."""
    host = server(name)
    counts = np.arange(1.0, len(host.gpus) + 1)
    rates = [min(host_shares(host, float(count)).values()) for count in counts]
    assert rates == sorted(rates, reverse=True)
    together = np.min(np.broadcast_arrays(*host_shares(host, counts).values()), axis=0)
    assert together.tolist() == pytest.approx(rates)
    copies = host_copies(host)
    if copies is not None:
        assert copies.alone == pytest.approx(rates[0])
        assert copies.shared == pytest.approx(rates[-1])


def test_an_offloaded_optimizer_has_the_host_memory_of_the_ranks_that_run() -> None:
    """Of eight GPUs of a p4d, two below a switch: memory by those that run, and half a link each from two on."""
    host = server("p4d-24xlarge")
    for gpus, link in ((1, 13.5), (2, 6.75), (4, 6.75), (8, 6.75), (16, 6.75)):
        run: Any = SimpleNamespace(system=SimpleNamespace(host=host, rows=()), plans=SimpleNamespace(gpus=float(gpus)))
        rate, memory = _host_rates(run)
        assert float(rate) == pytest.approx(link * 1e9)
        assert float(memory) == pytest.approx(host.memory_gbyte_s[1] / min(gpus, 8) * 1e9)


def test_room_in_host_memory_is_shared_by_the_ranks_that_run() -> None:
    """Four fifths of it, over four ranks of four GPUs, and over eight of a node, however many nodes there are."""
    design = resolve(read_document(ROOT / "designs" / "aws-p5-64.yaml"), Catalog())
    held = memory_bytes(design.compute.server)
    assert held is not None
    for gpus, ranks in ((4, 4), (8, 8), (16, 8)):
        assert host_room(design, PlanFields(), gpus) == pytest.approx(0.8 * held / ranks)


@pytest.mark.parametrize("name", SERVERS)
def test_a_root_port_without_a_figure_is_said_to_be_unknown(name: str) -> None:
    """No CPU reads as one without a limit: what a sheet or a bound says names each whose figure is missing."""
    host = server(name)
    bare = {port.cpu for port in host.ports if port.gpus and port.limits is None}
    assert set(host.without_limit()) == bare
    words = " ".join(copy_gaps(host))
    assert all(f"`{cpu}`" in words for cpu in bare)
    assert ("root-port" in words) == bool(bare)
    assert ("PCIe link" in words) == (host.pcie is None)


def test_the_bound_of_an_allreduce_says_what_it_lacks() -> None:
    """L40S without NVLink send through root ports of an EPYC 9575F, of which no limit is known; Rome's is."""
    for design, lacks in (("l40s-8-roce", ("epyc-9575f",)), ("fire-flyer-2", ())):
        for report in assess_file(design).communication:
            assert report.bound.lacks == lacks


def test_a_ring_of_eight() -> None:
    """Two links each, both used by a ring; mean way of 1, 1, 2, 2, 3, 3 and 4 links: 16 / 7."""
    found = _link_graph("abcdefgh", [(a, b) for a, b in zip("abcdefgh", "bcdefgha", strict=True)])
    assert found is not None
    assert (found.most, found.mean, found.rings, found.connected) == (2, 2.0, 2, True)
    assert found.hops == pytest.approx(16 / 7)


def test_a_full_mesh_of_five() -> None:
    """Four links each, all in two rings through all GPUs, and one link between any two."""
    found = _link_graph("abcde", list(combinations("abcde", 2)))
    assert found is not None
    assert (found.most, found.rings, found.hops, found.connected) == (4, 4, 1.0, True)


def test_a_cube_leaves_a_link_to_rings() -> None:
    """Three links each: a ring takes two; 1, 1, 1, 2, 2, 2 and 3 links to the others, 12 / 7."""
    names = [f"{n:03b}" for n in range(8)]
    links = [(a, b) for a, b in combinations(names, 2) if sum(x != y for x, y in zip(a, b, strict=True)) == 1]
    found = _link_graph(names, links)
    assert found is not None
    assert (found.most, found.rings) == (3, 2)
    assert found.hops == pytest.approx(12 / 7)


def test_two_halves_are_not_joined() -> None:
    found = _link_graph("abcdefgh", [*combinations("abcd", 2), *combinations("efgh", 2)])
    assert found is not None
    assert (found.connected, found.hops) == (False, 1.0)
    assert _link_graph("abcd", []) is None


def test_links_of_a_pair_count() -> None:
    """A square whose opposite sides are doubled: three links each, of which a cut across the thin sides leaves two."""
    found = _link_graph("abcd", ["ab", "bc", "cd", "da"], (2, 1, 2, 1))  # type: ignore[list-item]
    assert found is not None
    assert (found.most, found.mean, found.rings, found.fewest, found.hops) == (3, 3.0, 2, 1, 4 / 3)


def test_rings_cross_the_thinnest_cut() -> None:
    """Two full meshes of four with two links between them: one ring crosses, though each GPU has three links."""
    links = [*combinations("abcd", 2), *combinations("efgh", 2), ("a", "e"), ("b", "f")]
    found = _link_graph("abcdefgh", links)
    assert found is not None
    assert (found.most, found.rings, found.connected) == (4, 2, True)


def test_the_cut_is_that_of_every_half() -> None:
    """Brute force over all halves of random graphs of seven."""
    draw = Random(3)
    for _ in range(40):
        weights: dict[str, dict[str, int]] = {name: {} for name in "abcdefg"}
        for one, two in combinations("abcdefg", 2):
            if draw.random() < 0.5:
                weights[one][two] = weights[two][one] = draw.randint(1, 4)
        halves = [half for size in (1, 2, 3) for half in combinations("abcdefg", size)]
        cut = min(sum(n for a in half for b, n in weights[a].items() if b not in half) for half in halves)
        assert _smallest_cut(weights) == cut


def test_a_line_of_three_still_has_a_ring() -> None:
    """One link parts it in two: a ring would need it there and back, and gets it once."""
    found = _link_graph("abc", [("a", "b"), ("b", "c")])
    assert found is not None
    assert (found.rings, found.hops) == (1, (1 + 2 + 1 + 1 + 2 + 1) / 6)
