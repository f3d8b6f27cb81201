"""Hand-worked parts of a training step: overlap, pipeline, groups, optimiser."""

from __future__ import annotations

import json
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import pytest

from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.studies.train.cluster import cluster_of
from ffplan.training.accelerator_rates import UncalibratedError, accelerator_rates
from ffplan.training.axes import ParallelPlans
from ffplan.training.constraints import violations
from ffplan.training.data_parallel import _backward_wait, _drive_rates, _forward_wait, _host_rates
from ffplan.training.group_collectives import Cluster, GroupPlacement, _contention, _group_time, cut_fraction
from ffplan.training.kept_activations import _in_flight, policy_kept_bytes
from ffplan.training.memory import stage_bytes
from ffplan.training.memory_margins import host_bytes
from ffplan.training.mfu import achieved, step_flops
from ffplan.training.microbatch import micro_batch
from ffplan.training.overlap import (
    _bubble_time,
    _drive_time,
    _exposed,
    _with_overlap_cost,
    host_optimizer_time,
    launch_wait,
    optimizer_time,
)
from ffplan.training.parallel_plan import _layers_before, _placed, _strides, _units_of, layers_of, stage_layers
from ffplan.training.sensitivity import faster
from ffplan.training.step import _least_time, _send_time, _sends, step_parts, step_time, swap_time
from ffplan.training.train_run import TrainRun, _pace_fraction, placement_of
from tests.support import ROOT, document, ffplan, host_named, shape_named


def library(name: str = "nccl") -> Library:
    part = Catalog().entry(name).part
    assert isinstance(part, Library)
    return part


def system(server: str = "dgx-a100-320gb", reducer: str = "nccl") -> Cluster:
    return Cluster(host=host_named(server), library=library(), reducer=library(reducer))


def plans(**more: object) -> ParallelPlans:
    base = ParallelPlans(gpus=64.0, batch=128.0, micro=1.0, tensor=4.0, pipeline=4.0, data=4.0, expert_tensor=4.0)
    return replace(base, **more)  # type: ignore[arg-type]


def run(shape: str = "gpt3-175b", server: str = "hgx-h100-8nic", reducer: str = "nccl", **more: object) -> TrainRun:
    made, item = plans(**more), system(server, reducer)
    part = item.host.accelerator
    assert part is not None
    return TrainRun(shape_named(shape), made, accelerator_rates(part, made.precision), item)


def filling(item: TrainRun) -> TrainRun:
    """Return a run whose sends but those that fill and drain the pipeline are hidden, and cost nothing."""
    hidden = replace(item.plans, overlap=frozenset({"pipeline"}))
    return replace(item, plans=hidden, speeds=replace(item.speeds, overlap=0.0))


def seconds(item: TrainRun) -> float:
    return float(step_time(step_parts(item)))


def test_overlap_leaves_a_piece_or_the_rest() -> None:
    assert _exposed(10.0, 4.0, 5) == 6
    assert _exposed(10.0, 40.0, 5) == 2
    assert _exposed(0.0, 1.0, 0) == 0
    assert _exposed(10.0, 40.0, 5, 0.25) == 2 + 0.25 * 8
    assert _exposed(10.0, 0.0, 5, 0.25) == 10
    assert (_with_overlap_cost(2.0, 10.0, 0.25), _with_overlap_cost(2.0, 1.0, 0.25)) == (4, 2)


def test_hidden_collectives_cost_computing_but_where_the_host_reduces() -> None:
    """A fifth of what NCCL hides where a fabric joins the accelerators of a node; HFReduce adds on the host."""
    item = run("llama-13b", "fire-flyer-2-node", "hfreduce", overlap=frozenset({"gradients"}), tensor=1.0, data=16.0)
    slower = replace(item, speeds=replace(item.speeds, overlap=0.2))
    assert seconds(slower) == pytest.approx(seconds(item))
    ncclled = replace(item, system=system("fire-flyer-2-node"))
    pairs = replace(slower, plans=replace(slower.plans, tensor=2.0, data=8.0, expert_tensor=2.0))  # groups fill no node
    on_nccl = replace(pairs, system=ncclled.system)
    assert float(step_parts(pairs)["gradients"]) == pytest.approx(float(step_parts(on_nccl)["gradients"]))
    for server, cost in (("fire-flyer-2-node", 0.0), ("dgx-a100-320gb", 0.2)):
        placed = replace(item, system=system(server))
        hidden = replace(placed, plans=replace(item.plans, overlap=frozenset()))
        alone, beside = (float(step_parts(one)["gradients"]) for one in (hidden, placed))
        found = float(step_parts(replace(placed, speeds=slower.speeds))["gradients"])
        assert found == pytest.approx(beside + cost * (alone - beside))


def test_a_host_that_launches_slowly() -> None:
    assert launch_wait(1.0, 10, 0.2, 0.5) == pytest.approx(1.5)
    assert launch_wait(3.0, 10, 0.2, 0.5) == 0


def test_pipeline() -> None:
    """8 micro-batches of 1 s on the slowest, a bubble of 3 / 8 through stages of 0.8 s."""
    assert _bubble_time(0.8, 8, 3 / 8) == pytest.approx(2.4)


def test_adam() -> None:
    assert optimizer_time(1e9, 4, 1e12) == pytest.approx(38e9 / 4e12)
    assert host_optimizer_time(1e9, 2, 4.0, 1e10, 1e11) == pytest.approx(0.5e9 * (6 / 1e10 + 30 / 1e11))


def test_states_on_drives_are_read_and_written_every_step() -> None:
    """Eight drives of 6.7 and 4 GB/s for eight ranks: 13.24 GB of a rank take 1.98 and 3.31 s."""
    assert _drive_time(13.24e9, 6.7e9, 4e9) == pytest.approx(1.976 + 3.31, abs=0.001)
    item = run(zero=3.0, tensor=8.0, pipeline=1.0, data=8.0, expert_tensor=8.0)
    held = replace(item, plans=replace(item.plans, offload="optimizer"))
    away = replace(held, plans=replace(held.plans, on_drives=True))
    read, write = _drive_rates(away)
    assert (read, write) == pytest.approx((6.7e9, 4e9))
    slow, quick = (float(step_parts(one)["offload"]) for one in (away, held))
    states = float(stage_bytes(item.shape, replace(item.plans, offload="none"), 0.0).optimizer)
    assert slow == pytest.approx(_drive_time(states, read, write), rel=1e-6)
    assert slow > 2 * quick
    alone = replace(away, plans=replace(away.plans, gpus=1.0))
    assert _drive_rates(alone) == pytest.approx((8 * 6.7e9, 8 * 4e9))  # one rank has all drives
    both = replace(away, plans=replace(away.plans, offload="parameters"))
    weights = states / 12 * 2  # 12 bytes of states, 2 of weights: read twice a micro-batch, written once a step
    assert float(step_parts(both)["offload"]) == pytest.approx(
        _drive_time(states, read, write) + weights / write + 2 * 16 * weights / read, rel=1e-6
    )
    faster_drives = faster(away, "drives", 2.0)
    assert float(step_parts(faster_drives)["offload"]) == pytest.approx(slow / 2)
    bare = replace(away, system=replace(away.system, host=replace(away.system.host, drives=None)))
    with pytest.raises(ValueError, match="drives of"):
        step_parts(bare)


def test_layers_of_uneven_stages() -> None:
    """70 layers on 12 stages: six, and five where the output layer is; 126 in 16 x 8 chunks: eight and seven."""
    full, last = layers_of(70, plans(pipeline=12.0))
    assert (full, last) == (6, 5)
    full, last = layers_of(126, plans(pipeline=16.0, chunks=8.0))
    assert (full, last) == (8, 7)
    assert layers_of(96, plans(pipeline=8.0)) == (12, 12)
    stages = np.arange(16.0)
    held = stage_layers(126, plans(pipeline=16.0, chunks=8.0), stages)
    assert held.tolist() == [7, *[8] * 14, 7]  # embedding and output count as a layer each
    assert stage_layers(70, plans(pipeline=12.0), np.array([0.0, 1.0, 11.0])).tolist() == [5, 6, 5]
    before = [float(_layers_before(70, plans(pipeline=12.0), stage)) for stage in (0.0, 1.0, 2.0)]
    assert before == [0, 5, 11]
    for layers, count in ((32, 5), (61, 16), (61, 5), (32, 30), (33, 16)):
        every = stage_layers(layers, plans(pipeline=float(count)), np.arange(float(count)))
        assert (every.sum(), every.max()) == (layers, -(-layers // count))
    assert stage_layers(127, plans(pipeline=16.0, chunks=8.0), np.array([0.0, 15.0])).tolist() == [8, 7]
    assert float(stage_layers(32, plans(pipeline=1.0), 0.0)) == 32


def test_groups_on_nodes() -> None:
    """Eight ranks four apart on nodes of eight: two on each of four; tensor parallelism of 16: two nodes."""
    assert _placed(8.0, 4.0, 8) == (2, 4)
    assert _placed(16.0, 1.0, 8) == (8, 2)
    assert _placed(4.0, 16.0, 8) == (1, 4)
    assert _placed(6.0, 3.0, 8) == (2, 3)
    assert _strides(plans()) == {"tensor": 1, "context": 4, "data": 4, "pipeline": 16}
    fire = plans(order=("data", "tensor", "context", "pipeline"))
    assert _strides(fire)["tensor"] == 4


def test_groups_share_nics() -> None:
    """Eight groups with a rank on each node share one NIC; with a NIC for each rank they share none."""
    assert _contention(8, 1, 1, 4) == 8
    assert _contention(8, 8, 1, 4) == 1
    assert _contention(8, 1, 8, 4) == 1
    assert _contention(8, 1, 1, 1) == 1


def test_groups_share_link_cuts() -> None:
    """Side by side a group of whole nodes has all links, one rank a node an eighth; four nodes apart a quarter of that,
    and 64 apart with 16 nodes below the link cut a sixteenth. With one NIC messages count eight times, as does the
    fraction.
    """
    assert cut_fraction(8, 8, GroupPlacement(8.0, 4.0), 16) == 1
    assert cut_fraction(8, 8, GroupPlacement(1.0, 4.0), 16) == 1 / 8
    assert cut_fraction(8, 8, GroupPlacement(1.0, 4.0, 4.0), 16) == 1 / 32
    assert cut_fraction(8, 8, GroupPlacement(1.0, 4.0, 64.0), 16) == 1 / 128
    assert cut_fraction(8, 1, GroupPlacement(1.0, 4.0, 4.0), 16) == 1 / 4


def test_groups_far_apart_cross_zones() -> None:
    """Two nodes side by side share a zone of Fire-Flyer 2, two that lie 700 nodes apart do not; its 40 links of 25 GB/s
    are shared by the pairs of all 625 nodes of a zone.
    """
    design = resolve(read_document(ROOT / "designs" / "fire-flyer-2.yaml"), Catalog())
    item = cluster_of(design, Catalog(), "nccl")
    assert item.crossed is not None
    zones, _ = item.crossed(GroupPlacement(8.0, 2.0))
    assert float(zones) == 1
    zones, cuts = item.crossed(GroupPlacement(8.0, 2.0, 700.0))
    links = {cut.name: cut for cut in cuts}["zone_links"]
    below = ceil(design.compute.group.count / 2)
    assert (float(zones), float(links.sets), links.below) == (2, 2, below)
    assert float(links.gbyte_s) == pytest.approx(40 * 25 / below)
    near, far = (float(_group_time(item, "allreduce", GroupPlacement(8.0, 2.0, apart), 1e9)) for apart in (1.0, 700.0))
    assert far == pytest.approx(1e9 / (40 * 25e9 / below), rel=0.05)  # a tree, which crosses once
    assert far > 3 * near
    inside, across = (float(_send_time(item, 1e9, 4.0, GroupPlacement(1.0, 4.0, apart))) for apart in (2.0, 300.0))
    assert across == pytest.approx(300 * 8 * 1e9 / (40 * 25e9), rel=0.01)
    assert inside < across / 3


def test_racks_apart_have_their_own_links_where_nothing_is_oversubscribed() -> None:
    """NVL72 at 1:1: 32 nodes below a leaf are 1.8 racks, and ranks of racks four apart keep the rate of their NIC."""
    text = "\n".join(
        (
            "name: racks",
            "nodes: [{role: compute, server: gb200-nvl72-tray, count: 288}]",
            "fabric:",
            "  {family: fat-tree, switch: qm9700, tiers: 2, oversubscription: 1:1,",
            "   link: {endpoint: 400g-dr4, inter_switch: 400g-dr4}}",
            "site: {pue: 1.25, currency: USD, electricity_price: $0.08/kWh}",
            "cost: {price_book: usd-2024}",
            "",
        )
    )
    design = resolve(document(text), Catalog())
    item = cluster_of(design, Catalog(), "nccl")
    near, far = (float(_send_time(item, 1e8, 4.0, GroupPlacement(1.0, 4.0, apart))) for apart in (1.0, 4.0))
    assert far == pytest.approx(near, rel=0.05)


def test_sends_between_stages() -> None:
    """25 GB/s a GPU, at 96 % of the line, and 14 us between nodes; NVLink inside."""
    away = float(_send_time(system(), 1e9, 4.0, GroupPlacement(1.0, 4.0, 2.0)))
    assert away == pytest.approx(1e9 / (25e9 * 0.96) + 14e-6, rel=0.01)
    assert float(_send_time(system(), 1e9, 4.0, GroupPlacement(4.0, 1.0))) == pytest.approx(1e9 / 274e9)


def test_the_last_stage_has_one_stage_boundary() -> None:
    """Where its output layer makes the last stage the slowest, a micro-batch is passed once, there and back at the same
    time; where other stages are, twice. Filling and draining pass it p - 1 times each.
    """
    last, middle = run(), run("llama3-405b", pipeline=4.0, tensor=4.0, chunks=1.0)
    parts = step_parts(last)
    assert float(parts["output"]) > 0
    m = float(last.plans.micro_batches)
    each = float(parts["sends"]) / (m + 6)
    hidden = run(overlap=frozenset({"pipeline"}))
    assert float(step_parts(hidden)["sends"]) == pytest.approx((6 + hidden.speeds.overlap * m) * each)
    parts = step_parts(middle)  # 126 layers in fours: 32 on three stages, 30 with the output layer on the last
    assert float(parts["output"]) == 0
    sent = step_parts(filling(middle))
    m = float(middle.plans.micro_batches)
    assert float(parts["sends"]) == pytest.approx(float(sent["sends"]) / 6 * (2 * m + 6))


def test_interleaved_pipelines_pass_more_stage_boundaries() -> None:
    """With v chunks a stage at an end has 2 v - 1 boundaries, one in the middle 2 v; of two stages both are ends. The
    extra work of the last stage is never lost.
    """
    for chunks, stages, boundaries in ((2.0, 4.0, 3.0), (1.0, 2.0, 1.0), (3.0, 2.0, 5.0)):
        item = run(chunks=chunks, pipeline=stages, data=16.0 / stages)
        fill = float(step_parts(filling(item))["sends"])
        m, each = float(item.plans.micro_batches), fill / (2 * (stages - 1))
        parts = step_parts(item)
        assert float(parts["output"]) > 0
        assert float(parts["sends"]) == pytest.approx(fill + m * boundaries * each)


def test_operations_of_a_step() -> None:
    """GPT-3: 2.2046e15 a sequence in full; with full recompute a third more, less the output layer."""
    shape, item = shape_named("gpt3-175b"), plans(recompute=2.0)
    model = float(step_flops(shape, item, "model"))
    assert model == pytest.approx(128 * 2.2046e15, rel=1e-3)
    assert float(step_flops(shape, item, "causal")) < model
    assert float(step_flops(shape, item, "6n")) == pytest.approx(6 * 128 * 2048 * 174.6e9, rel=1e-3)
    head = 6 * 2048 * 12288 * 51200 * 128
    assert float(step_flops(shape, item, "hardware")) == pytest.approx((model - head) * 4 / 3 + head)
    assert achieved(1e15, 2.0, 5.0) == 1e14


def test_tensor_parallelism_at_fp8_gathers_one_byte_a_number_and_reduces_two() -> None:
    """Six gathers and four scatters of a layer: at FP8 the gathers are of operands that are cast already."""
    item: dict[str, Any] = {"tensor": 8.0, "expert_tensor": 8.0, "pipeline": 1.0, "data": 8.0, "overlap": frozenset()}
    half, cast = (run(precision=name, sequence_parallel=1, **item) for name in ("bf16", "fp8"))
    placement = placement_of(half, 8.0, 1)
    size = 2.0 * half.shape.sequence * half.shape.hidden
    whole, byte = (_group_time(half.system, "all-gather", placement, part) for part in (size, size / 2))
    scatters = 4 * _group_time(half.system, "reduce-scatter", placement, size)
    assert float(micro_batch(half).exposed["tensor"]) == pytest.approx(float(6 * whole + scatters))
    assert float(micro_batch(cast).exposed["tensor"]) == pytest.approx(float(6 * byte + scatters))


def test_units_wait_forward_for_the_first_and_for_what_computing_does_not_hide() -> None:
    """Root 2, four units of 3 each beside computing of 2: 2 + 3 + 3 (3 - 2)."""
    assert 2 + _forward_wait(3.0, 8.0, 4) == 8
    assert 2 + _forward_wait(3.0, 40.0, 4) == 5
    assert 2 + _forward_wait(3.0, 8.0, 1) == 5


@pytest.mark.parametrize(
    ("gather", "scatter", "computing", "units", "wait"),
    [
        (1.0, 1.0, 12.0, 4, 1 + 1 + 2),  # computing hides all but the first gather, the last scatter and the root
        (4.0, 0.0, 4.0, 4, 4 * 4 - 3 * 1 + 2),  # gathers bind: three of them beside a unit each
        (2.0, 2.0, 4.0, 4, 2 + 1 + 2 * 3 + 1 + 2 + 2),  # both bind
        (3.0, 5.0, 7.0, 1, 3 + 5 + 2),
        (2.0, 0.0, 2.0, 2, 2 + 1 + 2),
    ],
)
def test_units_wait_backward_for_their_neighbours(
    gather: float, scatter: float, computing: float, units: int, wait: float
) -> None:
    assert _backward_wait(gather, scatter, computing, units) + 2 == wait


def test_units_end_with_their_chunk_and_the_host_launches_meanwhile() -> None:
    """Five chunks of two layers: units of ten are five of two. Waits for parameters idle other stages too."""
    plain = plans(pipeline=8.0, chunks=5.0)
    assert _units_of(10.0, replace(plain, unit_layers=10.0)) == (1, 2)
    assert _units_of(24.0, plans(unit_layers=16.0)) == (2, 12)
    item: dict[str, Any] = {"tensor": 1.0, "expert_tensor": 1.0, "data": 16.0, "overlap": frozenset()}
    parts = step_parts(run("llama3-70b", zero=3.0, **item))
    kept = step_parts(run("llama3-70b", **item))
    waits = (float(parts["parameters"]) + float(parts["gradients"])) * 3 / 8  # (p - 1) / m of eight micro-batches
    assert float(parts["bubble"]) == pytest.approx(float(kept["bubble"]) + waits)
    slow = run("llama3-70b", zero=3.0, **item)
    slow = replace(slow, speeds=replace(slow.speeds, launch=0.2))
    less = replace(slow, plans=replace(slow.plans, zero=0.0))
    assert float(step_parts(slow)["launches"]) < float(step_parts(less)["launches"])


def test_activations_on_the_host_pass_beside_the_computing() -> None:
    """What is longer than the computing shows, and one layer of them where all layers of a stage go."""
    item = run()
    each, link = micro_batch(item), float(_host_rates(item)[0])
    count = float(layers_of(item.shape.layers, item.plans)[0])
    kept = float(policy_kept_bytes(item.shape, item.plans, _pace_fraction(item.shape, item.plans)))

    copy = kept / link

    def added(layers: float, computing: float = 1.0) -> float:
        """Return the added time over the copy of a layer, where computing all layers forward takes so many copies."""
        scale = computing * copy / (float(each.ahead) * count)
        work = replace(each, forward=each.forward.scaled(scale), back=each.back.scaled(scale))
        assert float(each.again.products) == 0
        return float(swap_time(replace(item, plans=replace(item.plans, offload_layers=layers)), work, count)) / copy

    back = float(each.behind / each.ahead)
    assert 1 < back < 3
    assert added(0) == 0
    assert added(3) == pytest.approx(3 - 1 + max(0, 3 - back))
    assert added(8, 2) == pytest.approx(8 - 2 + 8 - 2 * back)
    assert added(count - 1, 100) == 0
    assert added(count, 100) == added(count + 5, 100) == pytest.approx(2)
    parts = step_parts(replace(item, plans=replace(item.plans, offload_layers=count)))
    m = float(item.plans.micro_batches)
    whole = swap_time(replace(item, plans=replace(item.plans, offload_layers=count)), each, count)
    assert float(parts["swaps"]) == pytest.approx(m * float(whole))
    assert float(step_parts(item)["swaps"]) == 0


def test_activations_on_the_host_leave_the_device_but_for_two_layers() -> None:
    item = run()
    full = float(layers_of(item.shape.layers, item.plans)[0])
    plain = float(stage_bytes(item.shape, item.plans, 0.0).activations)
    flight = float(_in_flight(item.plans, 0.0))
    for layers, left in ((0, full * flight), (1, (full - 1) * flight + 1), (3, (full - 3) * flight + 2), (full + 9, 2)):
        plans = replace(item.plans, offload_layers=float(layers))
        found = float(stage_bytes(item.shape, plans, 0.0).activations)
        assert found == pytest.approx(plain * left / (full * flight)), layers


def test_what_is_offloaded_is_held_by_the_host() -> None:
    """States as the device would hold them; of activations what leaves it, all micro-batches in flight."""
    item = run(zero=1.0)
    shape, here = item.shape, item.plans
    on_device = stage_bytes(shape, here, 0.0)
    full, flight = float(layers_of(shape.layers, here)[0]), float(_in_flight(here, 0.0))
    assert float(host_bytes(shape, here)) == 0
    optimizer = replace(here, offload="optimizer")
    assert float(host_bytes(shape, optimizer)) == pytest.approx(float(on_device.optimizer))
    assert float(stage_bytes(shape, optimizer, 0.0).total) == pytest.approx(
        float(on_device.total) - float(on_device.optimizer)
    )
    both = replace(here, offload="parameters", offload_layers=5.0)
    layer = float(on_device.activations) / (full * flight)
    held = float(on_device.optimizer + on_device.weights) + 5 * flight * layer
    assert float(host_bytes(shape, both)) == pytest.approx(held)
    assert "host-memory" not in violations(shape, here, None, 1.0)
    assert "host-memory" not in violations(shape, both, None)
    assert [bool(violations(shape, both, None, held * more)["host-memory"]) for more in (0.999, 1.001)] == [True, False]


def test_what_is_not_calibrated_is_refused() -> None:
    amd, h100 = host_named("mi300x-8nic").accelerator, host_named("hgx-h100-8nic").accelerator
    assert amd is not None
    assert h100 is not None
    for part, precision, words in (
        (amd, "bf16", "nothing was calibrated"),
        (h100, "int4", "has no peak"),
        (h100, "tf32", "at tf32"),
    ):
        with pytest.raises(UncalibratedError, match=words):
            accelerator_rates(part, precision)


def test_a_search_on_seven_gpus_is_no_slower_than_on_four() -> None:
    """TP 4 divides the node, though not the seven GPUs of the job."""
    steps = [
        json.loads(ffplan(f"train superpod-h100-4su -m llama3-8b --batch 1 --gpus {n} --search -f json").out)
        for n in (4, 7)
    ]
    assert steps[1]["rows"][0]["step_s"] <= steps[0]["rows"][0]["step_s"] * (1 + 1e-12)


def test_two_stages_on_a_pair_send_over_the_bridge() -> None:
    """208 GB/s over the bridge, 27 over PCIe; with four stages every second send crosses PCIe."""
    bridged, plain = system("fire-flyer-2-node-nvlink"), system("fire-flyer-2-node")
    pair, four = GroupPlacement(2.0, 1.0), GroupPlacement(4.0, 1.0)
    assert float(_send_time(bridged, 1e9, 2.0, pair)) == pytest.approx(1 / 208)
    assert float(_send_time(plain, 1e9, 2.0, pair)) == pytest.approx(1 / 27)
    assert float(_send_time(bridged, 1e9, 4.0, four)) == pytest.approx(1 / 27)
    apart = GroupPlacement(2.0, 1.0, 1.0, 0.0)
    assert float(_send_time(bridged, 1e9, 2.0, apart)) == pytest.approx(1 / 27)


def test_a_host_without_accelerators_has_no_links_to_speed_up() -> None:
    from ffplan.training.sensitivity import _nvlink

    host = replace(host_named("hgx-h100-8nic"), accelerator=None)
    assert _nvlink(host, 1.1) is host


@pytest.mark.parametrize(("sharded", "parts"), [(0.0, 1), (1.0, 4)])
def test_a_send_without_sequence_parallelism_carries_the_whole_activation(sharded: float, parts: int) -> None:
    """Two bytes of 2,048 tokens of 12,288; sequence parallelism leaves a quarter of it on each of four GPUs."""
    made = run(sequence_parallel=sharded, scatter_gather=False, schedule="1f1b")
    assert made.plans.width == 2
    placement = placement_of(made, made.plans.pipeline, _strides(made.plans)["pipeline"])
    whole = 2 * 2048 * 12_288
    assert float(_sends(made)) == pytest.approx(float(_send_time(made.system, whole / parts, 4.0, placement)))


def test_the_bound_of_a_step_by_hand() -> None:
    """4 stages of 24 layers, 32 micro-batches, and 3 more that the bubble is long; or all 96 layers, 16 times."""
    staged, whole = run(), run(tensor=8.0, pipeline=1.0, data=8.0, expert_tensor=8.0)
    assert float(_least_time(staged)) == pytest.approx((32 + 3) * 24 * float(micro_batch(staged).whole))
    assert float(_least_time(whole)) == pytest.approx(16 * 96 * float(micro_batch(whole).whole))
    outside = ("output", "launches", "sends", "bubble", "parameters", "gradients", "optimizer", "offload", "swaps")
    parts = step_parts(whole)
    assert float(_least_time(whole)) == pytest.approx(
        float(sum(time for name, time in parts.items() if name not in outside))
    )
