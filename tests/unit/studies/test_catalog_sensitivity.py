"""Change one catalogue number and the result moves accordingly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import assess_file, collective, overlay_part, vary_design

if TYPE_CHECKING:
    from pathlib import Path

ROOT_PORT = ("value: 37.5 GB/s\n    source: paper", "value: 75 GB/s\n    source: paper")
NIC = ("rate: {value: 200 Gb/s", "rate: {value: 400 Gb/s")
TREE = 2 * 1249 / 1250
"""Bytes that the mean of 1,250 nodes sends per byte of message."""
LEDGER = 8 + 8 + 1 + 2 * TREE + 1 + 2
"""Its host-memory operations: the paper's 24 with the mean load of the trees in place of 2."""


def test_twice_the_root_port_leaves_the_nic_then_the_memory_ledger(overlay: Path) -> None:
    """The NIC's 12.5 GB/s lies below the ledger's 13.3, so the ledger binds once the NIC is doubled too."""
    plain = collective(assess_file("fire-flyer-2"), "hfreduce").bound
    assert (plain.limited_by, plain.runner_up) == ("root_port", "nic")
    assert plain.algbw_gbyte_s == pytest.approx(8.1)

    overlay_part(overlay, "epyc-7502", ROOT_PORT)
    wider = collective(assess_file("fire-flyer-2", str(overlay)), "hfreduce").bound
    assert (wider.limited_by, wider.runner_up) == ("nic", "host_memory")
    assert wider.algbw_gbyte_s == pytest.approx(25 / TREE)

    # a faster NIC alone still meets a port of 200 Gb/s
    overlay_part(overlay, "connectx-6-200g", NIC)
    assert collective(assess_file("fire-flyer-2", str(overlay)), "hfreduce").bound.algbw_gbyte_s == pytest.approx(
        25 / TREE
    )
    for part in ("qm8700", "hdr-dac", "hdr-aoc"):
        overlay_part(overlay, part, ("{value: 200 Gb/s", "{value: 400 Gb/s"))
    faster = collective(assess_file("fire-flyer-2", str(overlay)), "hfreduce").bound
    assert (faster.limited_by, faster.runner_up) == ("host_memory", "root_port")
    assert faster.algbw_gbyte_s == pytest.approx(320 / LEDGER)


def test_half_the_memory_channels_make_the_ledger_bind(overlay: Path) -> None:
    overlay_part(overlay, "fire-flyer-2-node", ("channels: {value: 8,", "channels: {value: 4,"))
    halved = collective(assess_file("fire-flyer-2", str(overlay)), "hfreduce").bound
    assert halved.limited_by == "host_memory"
    assert halved.algbw_gbyte_s == pytest.approx(160 / LEDGER)


def test_a_root_port_of_its_own_frees_gpu6(overlay: Path) -> None:
    overlay_part(
        overlay,
        "fire-flyer-2-node",
        ("      - {id: cpu1-rp2}", "      - {id: cpu1-rp2}\n      - {id: cpu1-rp4}"),
        ("{id: gpu6, root_port: cpu1-rp1}", "{id: gpu6, root_port: cpu1-rp4}"),
    )
    freed = collective(assess_file("fire-flyer-2", str(overlay)), "hfreduce").bound
    assert freed.limited_by == "nic"
    assert "root_port" in {term.name for term in freed.terms}


def test_peer_to_peer_moves_nccl(overlay: Path) -> None:
    overlay_part(overlay, "epyc-7502", ("value: 9 GiB/s", "value: 6 GiB/s"))
    slower = collective(assess_file("fire-flyer-2", str(overlay)), "nccl").bound
    assert slower.limited_by == "gpu_nic_peer"
    assert slower.algbw_gbyte_s == pytest.approx(6 * 1.073741824 / 1.9998)


def test_memcpy_async_costs_six_reads(tmp_path: Path) -> None:
    change = ("message_size:", "hfreduce: {h2d: memcpy-async}\n  message_size:")
    result = collective(assess_file(vary_design(tmp_path, "fire-flyer-2", change)), "hfreduce")
    assert result.ledger_operations == 30
    memory = next(term for term in result.bound.terms if term.name == "host_memory")
    assert memory.gbyte_s == pytest.approx(10.667, abs=1e-3)


def test_switch_price_and_power_move_cost_and_power(overlay: Path) -> None:
    plain = assess_file("fire-flyer-2")
    overlay_part(overlay, "fire-flyer-2-relative", ("value: 1.7576", "value: 2.7576"))
    overlay_part(overlay, "qm8700", ("value: 253 W", "value: 353 W"))
    moved = assess_file("fire-flyer-2", str(overlay))
    assert plain.cost is not None
    assert moved.cost is not None
    assert moved.cost.network is not None
    assert plain.cost.network is not None
    assert moved.cost.network - plain.cost.network == pytest.approx(122)
    assert moved.power.it_kw - plain.power.it_kw == pytest.approx(12.2)


def test_more_ports_per_switch_need_fewer_switches(overlay: Path) -> None:
    overlay_part(overlay, "qm8700", ("ports: {value: 40", "ports: {value: 80"))
    fabric = assess_file("dgx-a100-10k", str(overlay)).fabric
    assert fabric.switches.leaf == 250
    assert fabric.switches.total < 1320


@pytest.mark.parametrize(("policy", "core"), [("minimal", 250), ("per-rail-whole-pods", 320), ("equal-stripe", 400)])
def test_core_policies(tmp_path: Path, policy: str, core: int) -> None:
    path = vary_design(tmp_path, "dgx-a100-10k", ("core_policy: per-rail-whole-pods", f"core_policy: {policy}"))
    switches = assess_file(path).fabric.switches
    assert (switches.core, switches.total) == (core, 1000 + core)


def test_oversubscription_saves_spines_and_costs_bisection(tmp_path: Path) -> None:
    path = vary_design(
        tmp_path,
        "fire-flyer-2",
        ("  oversubscription: 1:1\n\n", "  oversubscription: 3:1\n\n"),
        ("  oversubscription: 1:1\n  allreduce", "  allreduce"),
    )
    fabric = assess_file(path).fabric
    assert fabric.oversubscription == 3.0
    assert (fabric.switches.leaf, fabric.switches.spine) == (54, 20)  # 800 / 30 leaves; 27 x 10 / 40 -> 10 a zone


def test_two_nodes_beat_the_many_node_bound(tmp_path: Path) -> None:
    """With two nodes each sends the message once: 19.18 GB/s measured on 16 GPUs, bounded by 25 at the NIC."""
    path = vary_design(tmp_path, "fire-flyer-2-nvlink", ("count: 1250", "count: 2"), ("count: 135", "count: 2"))
    result = collective(assess_file(path), "hfreduce-nvlink")
    nic = next(term for term in result.bound.terms if term.name == "nic")
    assert nic.gbyte_s == 25.0
    assert result.ledger_operations == 14
