"""What the parts of a node carry, from figures of the catalogue by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.fabric.sizing.plan import LinkCut
from ffplan.node.resources import FULL_DUPLEX, resources
from tests.support import host_named

GIB = 1.073741824
"""GB/s of a GiB/s."""


def cut(**changed: object) -> LinkCut:
    fields = {"name": "leaf_uplinks", "label": "uplinks", "sets": 2, "links": 20, "gbyte_s": 500.0}
    return LinkCut(**{**fields, **changed})  # type: ignore[arg-type]


def test_a_fire_flyer_node() -> None:
    """Section IV-D3 of arXiv 2408.14158: 37.5 GB/s a root port, 320 GB/s of memory, 9 GiB/s to a NIC."""
    found = resources(host_named("fire-flyer-2-node"))
    shared, own = found["root_port", "cpu1-rp1"], found["root_port", "cpu1-rp3"]
    assert shared.one_way == (37.5,) * 3
    assert shared.both_ways == pytest.approx((0.864, 0.864, 1.0))
    assert own.both_ways == pytest.approx((1.287, 2.0, 2.0))
    assert (shared.label, shared.known) == ("GPU5+GPU6", False)
    for socket in ("0", "1"):
        memory = found["host_memory", socket]
        assert memory.one_way == pytest.approx((160, 160, 160))
        assert memory.both_ways == (1.0, 1.0, 1.0)  # reads and writes share it
        assert memory.basis == "320 GB/s practical over 16 channels"
    peer = found["gpu_nic_peer", "nic0"]
    assert peer.one_way == pytest.approx((9 * GIB,) * 3)
    assert (peer.both_ways[1], peer.known) == (0.74, False)
    nic = found["nic", "nic0"]
    assert nic.one_way == pytest.approx((24.0, 25.0, 25.0))
    assert (nic.sustained, nic.both_ways) == (0.96, FULL_DUPLEX)
    assert not {"nvlink", "nvls", "pcie_switch"} & {kind for kind, _ in found}


def test_each_kind_has_its_members() -> None:
    """HGX H100: eight GPUs, eight NICs, eight PCIe switches, two sockets."""
    kinds = [kind for kind, _ in resources(host_named("hgx-h100-8nic"))]
    eight = ("hbm", "pcie_link", "pcie_peer", "pcie_switch", "nvlink", "nvlink_copy", "nvlink_all", "nvls", "nic")
    assert {kind: kinds.count(kind) for kind in eight} == dict.fromkeys(eight, 8)
    assert kinds.count("host_memory") == 2
    assert "gpu_nic_peer" not in kinds


def test_links_carry_what_was_measured_and_at_most_what_is_specified() -> None:
    """H100: rings reach 370 GB/s of 450, copies 376, all-to-all 350."""
    found = resources(host_named("hgx-h100-8nic"))
    assert [found[kind, "gpu0"].one_way for kind in ("nvlink", "nvlink_copy", "nvlink_all")] == [
        (370, 370, 450),
        (376, 376, 450),
        (320, 350, 450),
    ]


def test_reduction_in_the_switch_gives_back_its_bus_bandwidth() -> None:
    """480 GB/s of bus bandwidth over 8 ranks: 480 / (2 x 7 / 8) of the message a second, 9 / 8 of it on each link."""
    nvls = resources(host_named("hgx-h100-8nic"))["nvls", "gpu3"].one_way
    assert nvls == pytest.approx((480 / 1.75 * 1.125, 480 / 1.75 * 1.125, 450))


def test_links_without_a_measurement_carry_a_fraction_of_what_is_specified() -> None:
    node = host_named("hgx-h100-8nic")
    blind = replace(node, accelerator=node.accelerator.model_copy(update={"collectives": None}))
    found = resources(blind, link_share=0.8)
    assert found["nvlink", "gpu0"].one_way == pytest.approx((0.8 * 376, 0.8 * 450, 450))
    assert ("nvls", "gpu0") not in found


def test_without_forwarding_nics_are_reached_through_the_cpu() -> None:
    """DGX A100 on EPYC 7742: 9 GiB/s, though GPU and NIC share a PCIe switch."""
    node = host_named("dgx-a100-320gb")
    assert ("gpu_nic_peer", "nic0") not in resources(node)
    found = resources(replace(node, forwarding=False))
    assert found["gpu_nic_peer", "nic7"].one_way == pytest.approx((9 * GIB,) * 3)


def test_sockets_are_joined_where_the_link_is_known() -> None:
    assert resources(host_named("p4d-24xlarge"))["socket_fabric", "0"].one_way == (10.0, 10.0, 10.0)
    assert ("socket_fabric", "0") not in resources(host_named("fire-flyer-2-node"))


def test_cuts_are_resources_with_their_links() -> None:
    node = host_named("hgx-h100-8nic")
    found = resources(node, (cut(), cut(name="group_links", gbyte_s=9.0)))
    assert found["leaf_uplinks", "0"].one_way == (500.0,) * 3
    assert found["leaf_uplinks", "0"].basis == "20 links x 25 GB/s"
    assert found["group_links", "0"].basis == ""  # a fraction of its links
    assert resources(node, (cut(gbyte_s=np.array([1.0, 2.0])),))["leaf_uplinks", "0"].basis == ""


def test_a_slow_port_bounds_the_low_end_of_a_nic_too() -> None:
    slow = replace(host_named("fire-flyer-2-node"), nic_gbyte_s=(12.5,))
    assert resources(slow)["nic", "nic0"].one_way == pytest.approx((12.0, 12.5, 12.5))


def test_the_slower_of_two_processors_sets_the_path_between_gpu_and_nic() -> None:
    host = host_named("fire-flyer-2-node")
    first = host.cpus[0]
    assert first.gpu_nic_peer is not None
    slow = first.model_copy(
        update={
            "id": "slow",
            "gpu_nic_peer": first.gpu_nic_peer.model_copy(update={"value": first.gpu_nic_peer.value / 2}),
        }
    )
    for cpus in ((first, slow), (slow, first)):
        found = [item for item in resources(replace(host, cpus=cpus)).values() if item.name == "gpu_nic_peer"]
        assert {item.one_way[1] for item in found} == {first.gpu_nic_peer.value / 2}


def test_copies_and_peers_take_the_likely_rate_of_a_range() -> None:
    """A PCIe link of 20 to 30 GB/s, likely 25; peers reach no more than that, whatever the collectives' rate says."""
    from ffplan.node.resources import host_copies

    own = replace(host_named("fire-flyer-2-node"), pcie=(20.0, 25.0, 30.0))
    copies = host_copies(own)
    assert copies is not None
    assert copies.alone == 25.0
    found = resources(own)
    assert found["pcie_link", own.gpus[0]].one_way == (20.0, 25.0, 30.0)
    low, likely, high = found["pcie_peer", own.gpus[0]].one_way
    assert (low <= likely <= 25.0, high) == (True, 30.0)
    slow = replace(own, pcie=(2.0, 3.0, 4.0))
    assert resources(slow)["pcie_peer", own.gpus[0]].one_way == (3.0, 3.0, 4.0)


def test_a_port_without_gpus_passes_none() -> None:
    """In an allreduce over Fire-Flyer's nodes, the NIC's own root port passes the NIC's bytes alone."""
    from ffplan.collectives.bottleneck import _on_ports
    from ffplan.collectives.rank_layout import RankLayout

    own = host_named("fire-flyer-2-node")
    lines = _on_ports(RankLayout(host=own, nodes=4, per_node=8), 2.0, 0.0)
    moved = {line.resource[1]: (line.inward, line.outward) for line in lines if line.resource[0] == "root_port"}
    for port in own.ports:
        if port.limits is not None:
            assert moved.get(port.id, (0.0, 0.0)) == ((2.0, 2.0) if port.gpus else (0.0, 0.0))


def test_the_memory_of_a_host_has_its_own_low_and_high_end() -> None:
    """16 channels of 25.6 GB/s: what the CPU's efficiency says at its low end, likely, and at its high end."""
    host = host_named("fire-flyer-2-node")
    figure = host.cpus[0].memory_efficiency
    assert host.memory_gbyte_s == pytest.approx(
        tuple(16 * 25.6 * share for share in (figure.range[0], figure.value, figure.range[1]))
    )
    assert not host.mesh
