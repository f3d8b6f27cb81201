"""docs/scaling-book.md: what ffplan computes of the scaling book's chapter on GPUs, cell by cell."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
import pytest

from ffplan.catalog.library import Library
from ffplan.catalog.parts import Accelerator, Server, Switch
from ffplan.catalog.store import Catalog
from ffplan.collectives.bottleneck import totals
from ffplan.collectives.inside_node import _axes_spanned, _exchange_factor
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.switch_reduction import level_bandwidth, reduction_rate, sharded_rate, sharded_speedup
from ffplan.collectives.timing import CollectiveQuery, Timed, chosen, time_choices
from ffplan.design.training import PlanFields
from ffplan.fabric.sizing.fat_tree import Tree, _build_tree, _TreeRule
from ffplan.fabric.sizing.formulas import rail_leaves, tree_bisection
from ffplan.studies.collective.allreduce import _ledger_of, bound_of
from ffplan.training.accelerator_rates import accelerator_rates
from ffplan.training.memory import stage_bytes
from ffplan.training.mfu import data_parallel_tokens, expert_parallel_tokens, sharded_tokens, tensor_parallel_ways
from ffplan.training.model_flops import parameters
from ffplan.training.parallel_plan import parallel_plans
from tests.published.page import computed_cells, listed, page_text, shortest
from tests.published.test_communication import rows as replayed
from tests.support import host_named, shape_named

PAGE = "scaling-book"
GPUS = ("v100-sxm2-32gb", "a100-sxm-80gb", "h100-sxm-80gb", "h200-sxm", "b100", "b200")
NODES = ("dgx-a100-320gb", "hgx-h100-8nic", "hgx-b200-8nic")
MIB, GIB = 2.0**20, 2.0**30
CATALOG = Catalog()


def gpu(name: str) -> Accelerator:
    part = CATALOG.entry(name).part
    assert isinstance(part, Accelerator)
    return part


def flops(name: str, precision: Any = "bf16") -> float:
    return gpu(name).peak[precision].value * 1e12


def nvlink(name: str) -> float:
    """Specified rate of one direction: the upper end where a measured one is known too."""
    found = gpu(name).nvlink
    assert found is not None
    return found.range[1]


H100, B200, GB200 = flops("h100-sxm-80gb"), flops("b200"), flops("gb200-gpu")
NODE, NICS = nvlink("h100-sxm-80gb"), sum(host_named("hgx-h100-8nic").nic_gbyte_s)
"""Rates of an H100 to its node, and of a node to the others [GB/s]."""


def layout(server: str, nodes: int, per_node: int = 8) -> RankLayout:
    return RankLayout(host=host_named(server), nodes=float(nodes), per_node=float(per_node))


def query(operation: str, algorithm: str | None = None) -> CollectiveQuery:
    nccl = CATALOG.entry("nccl").part
    assert isinstance(nccl, Library)
    return CollectiveQuery(operation=operation, library=nccl, algorithm=algorithm, in_network=algorithm == "sharp")


def timed(operation: str, nodes: int, size: float, algorithm: str | None = None, server: str = NODES[1]) -> Timed:
    return chosen(time_choices(query(operation, algorithm), layout(server, nodes), size))


def bounds(operation: str, nodes: int, algorithm: str, server: str = NODES[1]) -> tuple[float, float]:
    """Return the bound at specified rates, and at those that long messages reach [GB/s]."""
    found = bound_of(query(operation, algorithm), layout(server, nodes), algorithm)
    return min(term.high_gbyte_s for term in found.terms), float(found.gbyte_s)


def engine(operation: str, nodes: int, algorithm: str | None = None, server: str = NODES[1]) -> float:
    """Return the algorithm bandwidth of 1 GiB with its latency [GB/s]."""
    return GIB / timed(operation, nodes, GIB, algorithm, server).time / 1e9


@cache
def levels() -> dict[str, list[float]]:
    """Return the replayed rows of the catalogue's case: node, leaf, spine."""
    found: dict[str, list[float]] = {}
    for row in replayed("scaling-book"):
        found.setdefault(row.what.rpartition(", ")[0], []).append(row.model)
    return found


def superpod() -> Tree:
    rule = _TreeRule(tiers=2, radix=64, uplinks=32, rails=8, core_policy="equal-stripe")
    return _build_tree(rule, 1024, int(rail_leaves(128, 32, 8, 1024, rule.downlinks)))


def port() -> float:
    part = CATALOG.entry("qm9700").part
    assert isinstance(part, Switch)
    return part.rate.value


def the_gpus() -> dict[str, str]:
    parts = [gpu(name) for name in GPUS]

    def peak(precision: Any) -> str:
        return shortest(*(part.peak[precision].value if precision in part.peak else None for part in parts))

    def intensity(name: str) -> float:
        return flops(name) / (gpu(name).memory_bandwidth.value * 1e9)

    def reached(name: str) -> float:
        at = accelerator_rates(gpu(name), "bf16")
        return at.products / at.stream

    return {
        "multiprocessors": shortest(*(part.training.units.value if part.training else None for part in parts)),
        "memory [GB]": shortest(*(part.memory.value / GIB for part in parts)),
        "memory bandwidth [TB/s]": shortest(*(part.memory_bandwidth.value / 1e3 for part in parts)),
        "bf16 [TFLOP/s]": peak("bf16"),
        "fp8 [TFLOP/s]": peak("fp8"),
        "fp4 [TFLOP/s]": peak("fp4"),
        "critical intensity of H100, B200 [FLOP/byte]": listed(intensity("h100-sxm-80gb"), intensity("b200"), digits=1),
        "the same of a TPU": listed(intensity("tpu-v5e"), digits=1),
        "the same of H100, B200 as training reaches both rates": listed(reached("h100-sxm-80gb"), reached("b200")),
    }


def switch_chips(name: str) -> int:
    """Switch chips of the scale-up domain of a server [1]."""
    part = CATALOG.entry(name).part
    assert isinstance(part, Server)
    assert part.nvlink is not None
    assert part.nvlink.switches is not None
    return part.nvlink.switches.value


def nvlink_generations() -> dict[str, str]:
    parts = [host_named(name).accelerator for name in NODES]
    links = [part.collectives.links.value for part in parts if part and part.collectives and part.collectives.links]
    rates = [part.nvlink.range[1] for part in parts if part and part.nvlink]
    sizes = [host_named(name).domain_gpus for name in (*NODES, "gb200-nvl72-tray")]
    chips = [switch_chips(name) for name in (*NODES, "gb200-nvl72-tray")]
    return {
        "links of a GPU": listed(*links),
        "rate of a link, one direction [GB/s]": listed(*(r / n for r, n in zip(rates, links, strict=True))),
        "rate of a GPU, one direction [GB/s]": listed(*rates),
        "NVSwitches of a node": listed(*chips[:2], f"{chips[2]} or {chips[3]}"),
        "GPUs of a node": listed(*sizes[:2], f"{sizes[2]} or {sizes[3]}"),
    }


def inside_a_node() -> dict[str, str]:
    size = 1024 * 16384 * 2
    specified, sustained = bounds("all-gather", 1, "ring")
    rates = gpu("h100-sxm-80gb").collectives
    assert rates is not None
    assert rates.ring is not None
    assert rates.links is not None
    both = 2 * NODE / rates.links.value
    cut = tree_bisection(8 * NODE, 8 * rates.links.value, NODE / rates.links.value)
    return {
        "bandwidth of a node (question 1) [TB/s]": listed(level_bandwidth(8 * NODE, 4, 64, both) / 1e3, digits=1),
        "the same, as rings reach it [TB/s]": listed(8 * rates.ring.value / 1e3, digits=2),
        "bisection, one direction [TB/s]": listed(cut / 1e3, digits=1),
        "bisection, both directions (question 2) [TB/s]": listed(2 * cut / 1e3, digits=1),
        "AllGather of 32 MiB at the specified rate (question 3) [us]": listed(size / specified / 1e3, digits=1),
        "the same, at the rate that rings reach [us]": listed(size / sustained / 1e3, digits=1),
        "the same, with latency [us]": listed(timed("all-gather", 1, size).time * 1e6, digits=1),
    }


def levels_of_a_superpod() -> dict[str, str]:
    size = np.array([8.0, 256.0, 1024.0])
    tree, found = superpod(), levels()
    width = np.array(found["bandwidth"])
    full = tree.leaf_spine * port()
    return {
        "leaf and spine switches of 1,024 GPUs": listed(tree.leaf, tree.spine),
        "bandwidth [TB/s]": listed(*width / 1e3, digits=1),
        "bandwidth of a GPU [GB/s]": listed(*width / size),
        "spine with all 64 ports [TB/s]": listed(full / 1e3, digits=1),
        "the same for a GPU [GB/s]": listed(full / 1024),
        "bisection of the whole, one direction [TB/s]": listed(
            tree_bisection(1024 * port(), tree.leaf_spine, port()) / 1e3, digits=1
        ),
        "allreduce, reduced in switches [GB/s]": listed(*found["allreduce, SHARP"]),
        "allreduce, reduced in GPUs [GB/s]": listed(*found["allreduce, no SHARP"]),
        "speed-up, 8-way": listed(*np.asarray(sharded_speedup(8.0, size / [8, 32, 4]))),
        "speed-up, 64-way": listed(*found["speed-up, 64-way"]),
        "speed-up, 256-way": listed(*found["speed-up, 256-way"]),
        "allreduce, 64-way [TB/s]": listed(*np.array(found["64-way"]) / 1e3, digits=1),
    }


def collectives() -> dict[str, str]:
    lines = _ledger_of(query("allreduce"), layout(NODES[1], 1), "nvls")
    inward = sum(use[0] for (name, _), use in totals(lines).items() if name == "nvls")
    switch, ring = bounds("allreduce", 1, "nvls"), bounds("allreduce", 1, "ring")
    wide, tree = bounds("allreduce", 32, "sharp"), bounds("allreduce", 128, "nvls-tree")
    gather = bounds("all-gather", 32, "ring")
    return {
        "bytes through the switch of a node for a byte of allreduce (question 1)": listed(inward),
        "AllReduce in a node, reduced in the switch [GB/s]": listed(switch[0]),
        "the same, as long messages reach it [GB/s]": listed(switch[1], digits=1),
        "the same, 1 GiB with latency [GB/s]": listed(engine("allreduce", 1), digits=1),
        "AllReduce in a node, reduced in GPUs [GB/s]": listed(ring[0], digits=1),
        "the same ring, 1 GiB with latency [GB/s]": listed(engine("allreduce", 1, "ring"), digits=1),
        "AllReduce of 256 GPUs, reduced in switches [GB/s]": listed(wide[0]),
        "the same over 256 GPUs, 1 GiB with latency [GB/s]": listed(engine("allreduce", 32, "sharp"), digits=1),
        "AllReduce of 1,024 GPUs, not reduced by the network [GB/s]": listed(tree[0]),
        "the same over 1,024 GPUs, 1 GiB with latency [GB/s]": listed(engine("allreduce", 128), digits=1),
        "AllGather of 256 GPUs: node, top (question 2) [GB/s]": listed(
            reduction_rate(8, 8 * NODE), reduction_rate(31, 12_800), digits=1
        ),
        "the same as NCCL's rings: specified, 1 GiB with latency [GB/s]": listed(
            gather[0], engine("all-gather", 32), digits=1
        ),
    }


def rooflines() -> dict[str, str]:
    shape = shape_named("llama3-70b")
    held = stage_bytes(shape, parallel_plans(PlanFields(tensor=8, gradient_bytes=2), 8.0), 0.0)
    each = float(8 * (held.weights + held.gradients + held.optimizer) / parameters(shape))
    experts = expert_parallel_tokens(256, 8, H100, NICS, sharded_speedup(64, 8))
    spine = sharded_rate(256, 1024, 256, 25_600)
    wide = sharded_rate(256, 1024, 256, superpod().leaf_spine * port())
    reached = accelerator_rates(gpu("h100-sxm-80gb"), "bf16").products
    return {
        "data parallelism in a node [tokens a GPU]": listed(data_parallel_tokens(H100, NODE)),
        "data parallelism across nodes [tokens a GPU]": listed(data_parallel_tokens(H100, NICS)),
        "the same, at the allreduce of 1,024 GPUs with SHARP [tokens a GPU]": listed(
            data_parallel_tokens(H100, engine("allreduce", 128, "sharp"))
        ),
        "the same, and at the FLOP/s that training reaches [tokens a GPU]": listed(
            data_parallel_tokens(reached, engine("allreduce", 128, "sharp"))
        ),
        "data parallelism of TPU v5p [tokens a chip]": listed(
            data_parallel_tokens(flops("tpu-v5p"), gpu("tpu-v5p").nvlink.value, in_network=False)
        ),
        "FSDP [tokens a GPU]": listed(sharded_tokens(H100, NICS)),
        "FSDP on 2,048 GPUs [million tokens]": listed(sharded_tokens(H100, NICS) * 2048 / 1e6, digits=2),
        "F over the TP size": listed(16384 / tensor_parallel_ways(16384, H100, NODE, 8)),
        "TP size for F = 16,384": listed(tensor_parallel_ways(16384, H100, NODE, 8), digits=1),
        "experts of DeepSeek-V3, 64-way [tokens a GPU]": listed(experts),
        "the same, 8-way and 256-way [tokens a GPU]": listed(
            *(expert_parallel_tokens(256, 8, H100, NICS, sharded_speedup(ways, 8)) for ways in (8, 256))
        ),
        "64-way on 2,048 GPUs, and with FSDP [million tokens]": listed(
            experts * 2048 / 1e6, 2 * experts * 2048 / 1e6, digits=1
        ),
        "batch of DeepSeek-V3 [tokens a GPU]": listed(4096 * 15360 / 2048),
        "allreduce of a sharded array in a node, 8-way (question 1) [GB/s]": listed(sharded_rate(8, 8, 1, 8 * NODE)),
        "allreduce of 256-way shards (question 2) [TB/s]": listed(spine / 1e3, digits=1),
        "data parallelism over it [tokens a GPU]": listed(data_parallel_tokens(H100, spine), digits=1),
        "the same in a scalable unit [tokens]": listed(256 * data_parallel_tokens(H100, spine)),
        "both, with all ports of the spine [TB/s, tokens a GPU]": listed(
            wide / 1e3, data_parallel_tokens(H100, wide), digits=1
        ),
        "bytes of states a parameter": listed(each),
        "parameters on 8 x 80 GB [billion]": listed(8 * 80 / each),
    }


def blackwell() -> dict[str, str]:
    busy, before = (gpu(name).collectives for name in ("b200", "h100-sxm-80gb"))
    assert busy is not None
    assert before is not None
    assert busy.nvls is not None
    assert before.nvls is not None
    wide = nvlink("gb200-gpu")
    return {
        "data parallelism, NVLink of 900 GB/s, FLOP/s of H100 [tokens a GPU]": listed(data_parallel_tokens(H100, wide)),
        "the same, FLOP/s of B200, GB200 [tokens a GPU]": listed(
            data_parallel_tokens(B200, nvlink("b200")), data_parallel_tokens(GB200, wide)
        ),
        "TP size for F = 16,000 with 898 TFLOP/s": listed(tensor_parallel_ways(16000, 898e12, wide, 8), digits=1),
        "TP size for F = 16,000: B200 in eights, NVL72": listed(
            tensor_parallel_ways(16000, B200, nvlink("b200"), 8), tensor_parallel_ways(16000, GB200, wide, 72), digits=1
        ),
        "allreduce, B200 over H100, 1 GiB with latency": listed(
            engine("allreduce", 1, server=NODES[2]) / engine("allreduce", 1), digits=2
        ),
        "FSDP of B200 over 8 x 400 Gb/s [tokens a GPU]": listed(sharded_tokens(B200, NICS)),
    }


def domains() -> dict[str, str]:
    """H100 node, NVL72, NVL576 as planned (the tray of NVL72 over eight racks), and a pod of TPU v5p."""
    node, rack = host_named("hgx-h100-8nic"), host_named("gb200-nvl72-tray")
    hosts = (node, rack, replace(rack, domain_nodes=8 * rack.domain_nodes))
    part, dims = gpu("tpu-v5p"), (16, 20, 28)
    chip = part.nvlink.value if part.nvlink else 0.0
    pod = replace(node, accelerator=part, mesh=False, torus=dims, domain_nodes=prod(dims) // len(node.gpus))
    rates = [nvlink("h100-sxm-80gb"), nvlink("gb200-gpu"), nvlink("gb200-gpu"), chip]
    peaks = [H100, GB200, GB200, flops("tpu-v5p")]
    reduced = [True, True, True, False]
    pairs = zip(peaks, rates, reduced, strict=True)
    one = [1.0, 1.0, 1.0, 1 / (2 * len(dims))]
    axes = [int(_axes_spanned(dims, ranks)[0]) for ranks in (16, 320, 8960)]
    whole = RankLayout(host=pod, nodes=1.0, per_node=float(prod(dims)))
    return {
        "accelerators of a domain": listed(*(item.domain_gpus for item in hosts), pod.domain_gpus),
        "one way, all links [GB/s]": listed(*rates),
        "one way, to one neighbour [GB/s]": listed(*(rate * share for rate, share in zip(rates, one, strict=True))),
        "data parallelism inside the domain [tokens]": listed(
            *(data_parallel_tokens(peak, rate, in_network=in_switch) for peak, rate, in_switch in pairs)
        ),
        "axes that 16, 320, 8,960 chips of the torus span": listed(*axes),
        "all-to-all over the pod [GB/s a chip]": listed(chip / float(_exchange_factor(whole)), digits=1),
    }


SECTIONS = {
    "The GPUs": the_gpus,
    "Generations of NVLink": nvlink_generations,
    "Inside a node": inside_a_node,
    "Levels of a SuperPOD": levels_of_a_superpod,
    "Collectives": collectives,
    "Rooflines": rooflines,
    "Blackwell": blackwell,
    "Scale-up domains other than a torus": domains,
}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_computed_cell(section: str) -> None:
    assert computed_cells(PAGE)[section] == SECTIONS[section]()


def test_every_table_is_held() -> None:
    assert set(computed_cells(PAGE)) == set(SECTIONS)


def test_what_the_page_says_in_words() -> None:
    """Figures outside the tables, from the functions or by hand."""
    size, whole = 1024 * 16384 * 2, level_bandwidth(8 * NODE, 4, 64, 50) * 1e9
    specified, _ = bounds("all-gather", 1, "ring")
    gain = engine("allreduce", 1) / engine("allreduce", 1, "ring")
    experts = expert_parallel_tokens(256, 8, H100, NICS, sharded_speedup(64, 8))
    text = page_text(PAGE)
    for words in (
        f"7 / 8 x {size / 1e6:.2f} MB / {NODE:.0f} GB/s = {size / specified / 1e3:.1f} us",
        f"{size / 1e6:.2f} MB / 3.6 TB/s = {size / whole * 1e6:.1f} us",
        f"B / W = {size / (NODE * 1e9) * 1e6:.1f} us",
        f"gives 4 x 32 x 25 = {level_bandwidth(8 * NODE, 4, 64, 25) / 1e3:.1f} TB/s",
        f"16 spines pass {superpod().leaf_spine * port() / 1e3:.1f} TB/s",
        f"898e12 x 7 / (8 x 450e9) = {16384 / tensor_parallel_ways(16384, 898e12, NODE, 8):,.0f}",
        f"989e12 gives {16384 / tensor_parallel_ways(16384, 989e12, NODE, 8):,.0f}",
        f"2,250e12 / (2 x 900e9) = {data_parallel_tokens(2250e12, 900):,.0f} tokens",
        f"16,000 / (2,250e12 x 7 / (8 x 900e9)) = {tensor_parallel_ways(16000, 2250e12, 900, 8):.1f}",
        f"the switch gains {gain:.1f} times, not 2",
        f"{accelerator_rates(gpu('h100-sxm-80gb'), 'bf16').products / H100:.1%} of the peak".replace("%", " %"),
        f"62,914,560 tokens over 2,048 GPUs: {'six' if round(float(4096 * 15360 / 2048 / experts)) == 6 else ''} times",
        f"7.5e12 / 1.76e9 / 4 = {7.5e12 / 1.76e9 / 4:,.0f}",
        f"132 x 256 kB are {132 * 0.256:.1f} MB",
        f"132 x 4 x 32 = {132 * 4 * 32:,} lanes, and {132 * 128 * 1.59e-3:.1f} TFLOP/s at 1.59 GHz",
        f"{132 * 128 * 1.98e-3:.1f} at 1.98",
    ):
        assert words in text


def test_hand_formulas() -> None:
    """Independent of the functions: the chapter's own formulas with its own figures."""
    assert pytest.approx(65.2e-6, rel=1e-3) == 33.554432e6 * 7 / 8 / 450e9
    assert pytest.approx(data_parallel_tokens(989e12, 450)) == 989e12 / (2 * 450e9)
    assert (
        pytest.approx(expert_parallel_tokens(256, 8, 989e12, 400, sharded_speedup(64, 8)))
        == 989e12 / (2 * 400e9) * 256 / 8 / 8
    )
    assert max(8 / 3.6e12, 32 / 12.8e12, 4 / 25.6e12) == pytest.approx(1 / 400e9)
    assert 2 * tree_bisection(8 * 450, 8 * 18, 25) == 8 * 4 * 450 / 4
    assert pytest.approx(850) == 459e12 / 540e9
    assert pytest.approx(295.5, abs=0.05) == 990e12 / 3.35e12
