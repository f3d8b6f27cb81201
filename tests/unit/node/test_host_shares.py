"""Copies to host memory share what lies between: links, PCIe switches, root ports and memory, of those that run."""

from __future__ import annotations

from functools import cache
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
from ffplan.node.host_copies import host_copies, host_shares
from ffplan.studies.train.assumptions import copy_gaps
from ffplan.studies.train.setup import host_room
from ffplan.training.data_parallel import host_rates
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
        rate, memory = host_rates(run)
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
