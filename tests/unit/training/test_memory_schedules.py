"""Memory and pipelines of training, against the printed tables and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.design.training import PlanFields
from ffplan.training.axes import RECOMPUTE, ParallelPlans
from ffplan.training.kept_activations import _in_flight, _layer_kept_bytes
from ffplan.training.memory import _rank_parameters, kv_bytes, stage_bytes
from ffplan.training.memory_margins import peak_bytes
from ffplan.training.model_flops import _narrow_weights
from ffplan.training.step import _dualpipe_bubble, bubble
from tests.support import shape_named

GIB = 2.0**30


def plans(**more: object) -> ParallelPlans:
    base = ParallelPlans(gpus=8.0, batch=8.0, micro=1.0, tensor=1.0, pipeline=1.0, data=8.0, expert_tensor=1.0)
    return replace(base, **more)  # type: ignore[arg-type]


GPT = {"ffn": 4, "biases": True}


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "stages", "chunks", "micro", "batch", "printed"),
    [(48, 6144, 64, 1, 1, 4, 4, (59.25, 9.56)), (105, 20480, 128, 35, 3, 1, 280, (114.02, 23.08))],
)
def test_korthikanti_figures_1_and_7(
    layers: int, hidden: int, heads: int, stages: int, chunks: int, micro: int, batch: int, printed: tuple[float, float]
) -> None:
    """Activations without and with sequence parallelism and selective recompute, to the printed digit."""
    shape = shape_named("megatron-1.7b", layers=layers, hidden=hidden, heads=heads, kv_heads=heads)
    base = plans(
        gpus=8.0 * stages,
        data=1.0,
        tensor=8.0,
        expert_tensor=8.0,
        pipeline=float(stages),
        chunks=float(chunks),
        micro=float(micro),
        batch=float(batch),
        fused_attention=False,
    )
    spare = replace(base, sequence_parallel=1.0, recompute=1.0)
    found = [float(stage_bytes(shape, item, 0).activations) / GIB for item in (base, spare)]
    assert [round(value, 2) for value in found] == list(printed)


@pytest.mark.parametrize(
    ("hidden", "heads", "printed"),
    [
        (6144, 64, (66.84, 49.42, 16.18, 7.64)),
        (12288, 96, (62.04, 56.53, 18.49, 8.71)),
        (20480, 128, (58.31, 62.04, 20.27, 9.42)),
        (25600, 160, (58.31, 62.04, 20.27, 9.42)),
    ],
)
def test_korthikanti_shares_of_tensor_parallelism_alone(
    hidden: int, heads: int, printed: tuple[float, float, float, float]
) -> None:
    """Sequence parallelism, selective, both, full recompute; read off a figure, which is 0.15 points less or more."""
    shape = shape_named("megatron-1.7b", hidden=hidden, heads=heads, kv_heads=heads, layers=1)
    base = plans(tensor=8.0, expert_tensor=8.0, data=1.0, batch=1.0, fused_attention=False)
    whole = float(_layer_kept_bytes(shape, base))
    ways = [
        replace(base, sequence_parallel=1.0),
        replace(base, recompute=1.0),
        replace(base, sequence_parallel=1.0, recompute=1.0),
    ]
    shares = [100 * float(_layer_kept_bytes(shape, item)) / whole for item in ways]
    full = stage_bytes(shape, replace(base, recompute=2.0), 0)
    shares.append(100 * float(full.activations) / whole)
    assert shares == pytest.approx(printed, abs=0.15)


def test_states_under_zero() -> None:
    """16 N, 4 N + 12 N / d, 2 N + 14 N / d, 16 N / d: Rajbhandari et al., figure 1."""
    shape = shape_named("gpt3-175b")
    found = [
        (lambda f: float(f.weights + f.gradients + f.optimizer))(stage_bytes(shape, plans(zero=float(stage)), 0))
        for stage in range(4)
    ]
    parts = _rank_parameters(shape, plans(), 0.0)
    total = float(parts.layer * 96 + parts.embedding)
    assert found == pytest.approx([total * each for each in (16, 4 + 12 / 8, 2 + 14 / 8, 16 / 8)])
    four = stage_bytes(shape, plans(gradient_bytes=4.0), 0)
    assert float(four.gradients) == pytest.approx(4 * total)


def _sharded(**more: object) -> ParallelPlans:
    """Return a plan of one stage on 64 ranks, ZeRO 3 and micro-batches of one."""
    base = plans(pipeline=1.0, tensor=1.0, expert_tensor=1.0, data=64.0, gpus=64.0, zero=3.0, gradient_bytes=4.0)
    return replace(base, **more)  # type: ignore[arg-type]


def test_weights_that_are_cast_as_they_are_gathered_take_no_memory() -> None:
    """Llama 3 8B over 64 ranks: 2 x 8.03 billion / 64 bytes, unless DeepSpeed keeps them or the host has the others."""
    shape = shape_named("llama3-8b")
    each = 2 * 8.03e9 / 64
    kept = {
        name: float(stage_bytes(shape, item, 0.0).weights)
        for name, item in {
            "copy": _sharded(),
            "cast": _sharded(casts=True),
            "alone": _sharded(casts=True, data=1.0, gpus=1.0),
            "offload": _sharded(casts=True, offload="optimizer"),
            "zero 2": _sharded(casts=True, zero=2.0),
        }.items()
    }
    assert kept["copy"] == kept["offload"] == pytest.approx(each, rel=0.001)
    assert kept["cast"] == 0
    assert kept["alone"] == kept["zero 2"] == pytest.approx(64 * each, rel=0.001)
    fields = {"bf16": True, "fp32": True, "none": False}
    assert {name: PlanFields(zero=3, main_params=name).casts for name in fields} == fields  # type: ignore[arg-type]
    assert not PlanFields(zero=3, precision="tf32").casts


def test_the_loss_and_the_layers_take_memory_in_turn() -> None:
    """Llama 3 8B, 8,192 tokens, vocabulary 128,256, width 4,096; two layers of 218 million parameters gathered."""
    shape = shape_named("llama3-8b")
    tokens, words, width = 8192, 128256, 4096
    for eager, score in ((False, 6), (True, 10)):
        found = stage_bytes(shape, _sharded(eager=eager), 0.0)
        assert float(found.logits) == score * tokens * words
        root = (2 * 2 + 4) * words * width  # embedding and output layer gathered, and the gradient of the latter
        layers = (2 + 4) * 2 * 218.1e6
        assert layers < score * tokens * words
        assert float(found.working) == pytest.approx(root, rel=1e-3)
    short = shape_named("llama3-8b", vocabulary=1000)
    few = stage_bytes(short, _sharded(recompute=float(RECOMPUTE.index("full"))), 0.0)
    again = float(_layer_kept_bytes(short, _sharded()))
    assert float(few.working + few.logits) == pytest.approx(8 * 1000 * width + layers + again, rel=2e-3)
    plain = stage_bytes(shape, _sharded(zero=1.0), 0.0)  # the output layer's gradient beside the scores
    assert float(plain.working) == 2 * words * width


def test_the_second_stage_may_be_the_fullest() -> None:
    """126 layers in 16 stages: seven on the first, eight on the second, with one micro-batch less in flight."""
    shape = shape_named("llama3-405b")
    item = plans(pipeline=16.0, tensor=8.0, expert_tensor=8.0, data=2.0, gpus=256.0, batch=64.0)
    first, second, third = (float(stage_bytes(shape, item, float(at)).total) for at in range(3))
    assert second > max(first, third)
    assert float(peak_bytes(shape, item)) == second


def test_micro_batches_in_flight() -> None:
    """1F1B: 4, 3, 2, 1; interleaved first stage: (1 + (p - 1) / (p v)) p; others by their tables."""
    stage = np.arange(4.0)
    assert np.asarray(_in_flight(plans(pipeline=4.0, data=1.0), stage)).tolist() == [4, 3, 2, 1]
    assert np.asarray(_in_flight(plans(pipeline=4.0, data=1.0, batch=2.0), stage)).tolist() == [2, 2, 2, 1]
    woven = _in_flight(plans(pipeline=4.0, chunks=2.0, data=1.0, batch=64.0), 0.0)
    assert float(woven) == pytest.approx(4 * (1 + 3 / 8))
    assert float(_in_flight(plans(pipeline=4.0, data=1.0, batch=64.0, schedule="zb-2p"), 0.0)) == 8
    assert float(_in_flight(plans(pipeline=4.0, data=1.0, batch=64.0, schedule="dualpipe"), 0.0)) == 5


def test_the_fullest_stage() -> None:
    """The first holds most micro-batches; with few of them and a large vocabulary the last one does."""
    shape = shape_named("llama3-8b")
    many = plans(pipeline=4.0, data=2.0, batch=64.0)
    assert float(peak_bytes(shape, many)) == pytest.approx(float(stage_bytes(shape, many, 0).total))
    few = plans(pipeline=4.0, data=2.0, batch=2.0, recompute=2.0)
    assert float(peak_bytes(shape, few)) == pytest.approx(float(stage_bytes(shape, few, 3).total))
    kept = stage_bytes(shape, replace(many, offload="parameters"), 0)
    assert float(np.max(kept.weights)) == float(np.max(kept.optimizer)) == 0


def test_experts_are_held_apart() -> None:
    """DeepSeek-V3 over 64 ranks: 4 of 256 experts of 3 x 7,168 x 2,048 in each layer."""
    shape = shape_named("deepseek-v3")
    parts = _rank_parameters(shape, plans(expert=64.0, pipeline=16.0), 1.0)
    assert float(parts.experts) == pytest.approx(4 * 3 * 7168 * 2048)
    assert float(parts.embedding) == 129280 * 7168
    narrow = 7168 * (1536 + 512 + 64)
    assert _narrow_weights(shape) == narrow
    assert _narrow_weights(shape_named("gpt3-175b")) == 0
    whole, split = (_rank_parameters(shape, plans(tensor=t, expert=64.0, pipeline=16.0), 0.0).layer for t in (1.0, 4.0))
    assert float(split) == pytest.approx((float(whole) - narrow) / 4 + narrow)


def test_the_fullest_stage_may_be_where_experts_begin() -> None:
    """DeepSeek-V3 in 31 stages of two layers: the first has none with experts, the second one, the third two."""
    shape = shape_named("deepseek-v3")
    item = plans(pipeline=31.0, tensor=2.0, expert_tensor=2.0, data=16.0, batch=16.0 * 62, gpus=992.0)
    sizes = [float(stage_bytes(shape, item, float(stage)).total) for stage in range(31)]
    assert sizes.index(max(sizes)) == 2
    assert float(peak_bytes(shape, item)) == pytest.approx(max(sizes))


def test_bubbles() -> None:
    assert bubble("1f1b", 4, 8) == 3 / 8
    assert bubble("interleaved", 4, 8, 3) == 1 / 8
    found = [bubble(name, 4, 9) for name in ("zb-h1", "zb-2p", "zb-v", "v-half", "v-min")]
    assert found == pytest.approx([1 / 9, 0, 0, 1 / 6, 2 / 9])
    assert np.asarray(bubble("1f1b", np.array([1, 5]), 4)).tolist() == [0, 1]


def test_dualpipe() -> None:
    """8 stages: 3 x (F&B + B - 3 W)."""
    assert _dualpipe_bubble(8, 2.0, 1.0, 2.5) == pytest.approx(3 * (2.5 + 2 - 3))


@pytest.mark.parametrize(
    ("model", "tokens", "width", "by_hand"),
    [
        ("llama3-8b", 1, 2, 131_072),  # 32 layers x (1024 + 1024) of 8 heads of 128 x 2 bytes: 128 KiB a token
        ("llama3-8b", 8192, 1, 536_870_912),  # half as wide, 8192 tokens: half a GiB
        ("deepseek-v3", 1, 2, 70_272),  # 61 layers x (512 latent + 64 rotary) x 2 bytes: the 70.272 KB of its authors
    ],
)
def test_keys_and_values_of_a_context(model: str, tokens: int, width: int, by_hand: int) -> None:
    assert kv_bytes(shape_named(model), tokens, width) == by_hand
