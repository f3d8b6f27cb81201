"""Groups of ranks that share or repeat experts, what tensor ranks exchange around them, and windows of attention."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ffplan.training.group_collectives import _group_time
from ffplan.training.layer import attention_time, expert_layer
from ffplan.training.memory import stage_bytes
from ffplan.training.microbatch import micro_batch
from ffplan.training.model_flops import _attention_flops, _windowed_scores
from ffplan.training.train_run import TrainRun, _expert_strides, placement_of
from tests.support import shape_named
from tests.unit.training.test_layer import plans as layer_plans
from tests.unit.training.test_layer import speeds
from tests.unit.training.test_step import plans, run

if TYPE_CHECKING:
    from collections.abc import Mapping

SIZES = [
    sizes for sizes in product((1, 2, 4, 8), (1, 2, 4), (1, 2, 4, 16), (1, 4)) if sizes[2] * sizes[1] <= 8 * sizes[0]
]


@pytest.mark.parametrize(("tensor", "split", "expert", "pipeline"), SIZES)
def test_ranks_of_experts_are_a_grid_of_their_own(tensor: int, split: int, expert: int, pipeline: int) -> None:
    """megatron-core 0.14.0, parallel_state.py: ranks of a stage side by side, numbered anew for experts."""
    data = 8
    stage = np.arange(tensor * data * pipeline).reshape(pipeline, -1)
    if stage.shape[1] % (split * expert):
        pytest.skip("experts do not divide the ranks of a stage")
    grid = stage.reshape(pipeline, -1, expert, split)
    among = grid[0, 0, 1, 0] - grid[0, 0, 0, 0] if expert > 1 else None
    between = grid[0, 1, 0, 0] - grid[0, 0, 0, 0] if grid.shape[1] > 1 else None
    sizes: dict[str, Any] = {"tensor": tensor, "expert_tensor": split, "expert": expert, "pipeline": pipeline}
    found = _expert_strides(plans(gpus=stage.size, data=data, **sizes))
    assert among is None or found[0] == among
    assert between is None or found[1] == between


def test_stages_further_inside_lie_between_the_ranks_of_experts() -> None:
    order = ("tensor", "context", "pipeline", "data")
    item = plans(tensor=2.0, pipeline=4.0, data=8.0, expert_tensor=1.0, expert=2.0, order=order)
    assert [float(stride) for stride in _expert_strides(item)] == [1, 8]
    whole = plans(tensor=1.0, pipeline=4.0, data=8.0, expert_tensor=1.0, expert=2.0, order=order)
    assert [float(stride) for stride in _expert_strides(whole)] == [4, 8]


def test_zero_divides_experts_by_all_ranks_that_hold_them() -> None:
    """Mixtral 8x7B on 64 ranks, TP 8, EP 2, ETP 1: 32 ranks hold the same experts, 8 the same dense weights."""
    shape = shape_named("mixtral-8x7b")
    sizes: dict[str, Any] = {"gpus": 64.0, "tensor": 8.0, "pipeline": 1.0, "data": 8.0, "expert": 2.0, "zero": 1.0}
    item = plans(expert_tensor=1.0, **sizes)
    assert (float(item.sharing), float(item.sharing_experts)) == (8, 32)
    routed = 32 * 3 * 4096 * 14336 * 8 / 2
    least = 12 * routed / 32
    found = float(np.asarray(stage_bytes(shape, item, 0.0).optimizer))
    assert least < found < 1.05 * least  # the dense share is small
    sharded = plans(expert_tensor=1.0, shard=4.0, **sizes)
    assert float(sharded.sharing_experts) == 4


def _tensor_time(item: TrainRun, gathers: Mapping[float, float], scatters: Mapping[float, float]) -> float:
    """Return the time of collectives of a layer over the tensor ranks, by numbers of a token and how many they are."""
    placement, token = placement_of(item, item.plans.tensor, 1), 2.0 * item.shape.sequence
    return sum(
        count * float(np.asarray(_group_time(item.system, operation, placement, token * width)))
        for operation, those in (("all-gather", gathers), ("reduce-scatter", scatters))
        for width, count in those.items()
    )


SPLIT: dict[str, Any] = {"tensor": 8.0, "pipeline": 1.0, "data": 8.0, "overlap": frozenset(), "sequence_parallel": 1}


def test_routed_experts_take_no_gathers_of_tensor_parallelism() -> None:
    """Attention gathers thrice and scatters twice; routed experts get a rank's own part of the sequence."""
    item = run("mixtral-8x7b", expert=8.0, expert_tensor=1.0, **SPLIT)
    assert float(micro_batch(item).exposed["tensor"]) == pytest.approx(_tensor_time(item, {4096.0: 3}, {4096.0: 2}))


@pytest.mark.parametrize(("recompute", "kept", "gathers"), [(0, False, 6), (2, False, 8), (0, True, 4), (2, True, 6)])
def test_inputs_are_gathered_anew_for_gradients_of_weights(recompute: int, kept: bool, gathers: int) -> None:
    """Two blocks: forward, of gradients, for GEMMs that run again, and for weights unless the inputs are kept."""
    item = run("llama3-70b", recompute=recompute, expert_tensor=8.0, **SPLIT)
    item = replace(item, speeds=replace(item.speeds, keeps_gathered=kept))
    scatters = 6 if recompute else 4
    expected = _tensor_time(item, {8192.0: gathers}, {8192.0: scatters})
    assert float(micro_batch(item).exposed["tensor"]) == pytest.approx(expected)


def test_latents_are_gathered_in_place_of_states() -> None:
    """DeepSeek-V3: 1,536 + 512 + 64 numbers into the split matrices; shared experts gather whole states."""
    item = run("deepseek-v3", expert=64.0, expert_tensor=1.0, **SPLIT)
    gathers, scatters = {2112.0: 2, 7168.0: 1 + 3}, {2112.0: 1, 7168.0: 1 + 2}
    assert float(micro_batch(item).exposed["tensor"]) == pytest.approx(_tensor_time(item, gathers, scatters))


def test_what_tensor_ranks_copy_multiplies_their_part_of_the_sequence() -> None:
    """Router and matrices into latents of DeepSeek-V3, on 8 ranks: an eighth of their rows."""
    shape = shape_named("deepseek-v3")
    sizes: dict[str, Any] = {"gpus": 64.0, "tensor": 8.0, "expert_tensor": 1.0, "expert": 64.0, "data": 8.0}
    whole, split = (layer_plans(sequence_parallel=split, **sizes) for split in (0.0, 1.0))
    at = speeds(products=1e15)
    less = expert_layer(shape, whole, at).products - expert_layer(shape, split, at).products
    columns = 1536 + 640 + 256  # 576 columns are five tiles of 128
    assert less == pytest.approx(2 * 4096 * 7 / 8 * 7168 * columns / 1e15)


@pytest.mark.parametrize("sequence", [256, 1024, 4096, 5000])
def test_a_window_leaves_a_band_of_scores(sequence: int) -> None:
    """Counted in the mask of a layer; 1,024 tokens of Gemma 3, five layers of six."""
    shape = shape_named("gemma3-27b").model_copy(update={"sequence": sequence})
    assert shape.window is not None
    back = np.subtract.outer(np.arange(sequence), np.arange(sequence))
    causal, band = (back >= 0).sum(), ((back >= 0) & (back < shape.window.tokens)).sum()
    assert _windowed_scores(shape, float(sequence)) == pytest.approx(band / causal, rel=2e-3)
    share = shape.window.layers / shape.layers
    expected = 1 - share + share * band / causal
    plain = shape.model_copy(update={"window": None})
    assert _attention_flops(shape, sequence) / _attention_flops(plain, sequence) == pytest.approx(expected, rel=2e-3)
    at = speeds(attention=1e15)
    times, without = (attention_time(one, layer_plans(), at) for one in (shape, plain))
    assert [times[way] / without[way] for way in (0, 1)] == pytest.approx([expected] * 2, rel=2e-3)
    masked = layer_plans(causal_skip=False)
    assert attention_time(shape, masked, at)[0] == attention_time(plain, masked, at)[0]
