"""The inside of servers, read off their topology by hand; sources: arXiv 2408.14158, Table I and section IV-D3."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.node.host import _memory, host, memory_bandwidth, spread
from ffplan.validation.cases import System
from ffplan.validation.measured_system import CaseParts
from tests.support import ROOT, document, host_named, overlay_part

if TYPE_CHECKING:
    from pathlib import Path

FIRE_FLYER, HGX, DGX = "fire-flyer-2-node", "hgx-h100-8nic", "dgx-a100-320gb"


def test_memory_bandwidth() -> None:
    assert memory_bandwidth(16, 3200, 1.0) == pytest.approx(409.6)
    assert memory_bandwidth(16, 3200, 0.78125) == pytest.approx(320.0)


def test_ports_of_a_fire_flyer_node() -> None:
    """GPU5 and GPU6 share a root port, and the NIC has one of its own."""
    node = host_named(FIRE_FLYER)
    names = [port.devices for port in node.ports]
    assert names == ["GPU0", "GPU1", "GPU2", "GPU3", "GPU4", "GPU5+GPU6", "GPU7", "NIC0"]
    shared, own = node.port_of("gpu6"), node.port_of("nic0")
    assert shared is node.port_of("gpu5")
    assert (shared.id, shared.socket) == ("cpu1-rp1", "cpu1")
    assert (own.gpus, own.nics) == ((), ("nic0",))
    assert node.port_of("gpu8") is None
    assert [port.limits.both_way_share.value for port in (shared, own)] == pytest.approx([0.864, 2.0])


def test_memory_of_a_fire_flyer_node() -> None:
    node = host_named(FIRE_FLYER)
    assert (node.channels, node.sockets_with_gpus) == (16, 2)
    assert node.memory_gbyte_s == pytest.approx((320, 320, 320))


@pytest.mark.parametrize(
    ("name", "through_cpu", "beside", "nics"),
    [
        (FIRE_FLYER, True, 0, 1),  # a GPU and the NIC meet in the CPU alone
        (HGX, False, 1, 8),  # each NIC is below a switch with its GPU
        (DGX, False, 2, 8),  # two GPUs and two NICs to a switch; the ninth NIC is for storage
    ],
)
def test_how_near_a_nic_is(name: str, through_cpu: bool, beside: int, nics: int) -> None:
    node = host_named(name)
    assert (node.peer_through_cpu, node.beside, len(node.nics)) == (through_cpu, beside, nics)
    assert node.nic_ids == tuple(f"nic{i}" for i in range(nics))


def test_one_nic_behind_the_cpu_and_the_fullest_switch_count(overlay: Path) -> None:
    """DGX A100 with its ninth NIC, which has a root port alone, on the network, and three GPUs at a switch."""
    overlay_part(
        overlay,
        DGX,
        ("network: storage", "network: compute"),
        ("gpu7, root_port: cpu1-rp1", "gpu7, root_port: cpu1-rp0"),
    )
    node = CaseParts(Catalog([str(overlay)]), document("{}")).host(System(server=DGX), ())
    assert (node.peer_through_cpu, node.beside, len(node.nics)) == (True, 3, 9)


def test_scale_up_domains() -> None:
    """A rack of nine nodes of eight GPUs and eight NICs is one domain of 72; without a switch a node is one."""
    rack, pcie = replace(host_named(HGX), domain_nodes=9), host_named(FIRE_FLYER)
    assert (rack.joined, rack.domain_gpus, rack.domain_nics) == (True, 72, 72)
    assert (pcie.joined, pcie.pairs, pcie.domain_gpus, pcie.domain_nics) == (False, (), 8, 1)
    assert host_named("fire-flyer-2-node-nvlink").pairs[3] == ("gpu6", "gpu7")


def test_payload_is_a_fraction_of_the_line() -> None:
    """96 % of 25 GB/s; a port of 100 Gb/s halves it."""
    node = host_named(FIRE_FLYER)
    assert node.payload_gbyte_s == pytest.approx(24.0)
    assert replace(node, nic_gbyte_s=(12.5,)).payload_gbyte_s == pytest.approx(12.0)


def test_a_range_without_ends_is_its_value() -> None:
    ports = Catalog().entry("epyc-7502").part.root_port  # type: ignore[attr-defined]
    assert spread(ports.one_way) == (37.5, 37.5, 37.5)
    assert spread(ports.both_way_share) == pytest.approx((0.864, 0.864, 1.0))


def test_a_node_of_a_design() -> None:
    """A port of 12.5 GB/s slows a NIC of 25; storage nodes have no inside that collectives know."""
    design = resolve(read_document(ROOT / "designs" / f"{FIRE_FLYER.removesuffix('-node')}.yaml"), Catalog())
    assert host(design.compute, 12.5).nic_gbyte_s == (12.5,)
    assert host(design.compute, 99.0).nic_gbyte_s == (25.0,)
    with pytest.raises(TypeError, match="fire-flyer-3fs-node is not a compute server"):
        host(design.groups[1], 25.0)


def test_nothing_is_measured_of_an_unknown_accelerator() -> None:
    node = replace(host_named(HGX), accelerator=None)
    assert (node.rates, node.launch_s) == (None, 0.0)


def test_memory_bandwidth_has_two_ends() -> None:
    """Eight channels of 3,200 MT/s, eight bytes each: 204.8 GB/s, of which half, 80 % and 90 % are reached."""
    memory = SimpleNamespace(channels=SimpleNamespace(value=8.0), rate=SimpleNamespace(value=3200.0))
    server: Any = SimpleNamespace(sockets=[SimpleNamespace(memory=memory)])
    cpu: Any = SimpleNamespace(memory_efficiency=SimpleNamespace(range=(0.5, 0.9), value=0.8))
    assert _memory(server, [cpu]) == pytest.approx((102.4, 163.84, 184.32))
