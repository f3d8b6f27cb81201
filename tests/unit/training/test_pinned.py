"""Numbers of training worked by hand, where another formula would give another number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ffplan.catalog.models import Convolution
from ffplan.training.axes import AXES, LONG, MICRO, POWERS
from ffplan.training.constraints import violations
from ffplan.training.conv_layers import conv_kept_bytes
from ffplan.training.gemm import around_attention
from ffplan.training.model_flops import layer_weights
from ffplan.training.rooflines import (
    data_parallel_tokens,
    expert_parallel_tokens,
    scattered_tokens,
    sharded_tokens,
    tensor_parallel_ways,
)
from ffplan.training.search_space import Refinement, evaluate_space, fastest, search_space
from ffplan.training.step import step_parts
from tests.support import shape_named
from tests.unit.training.test_step import run


def values(name: str, model: str, gpus: int = 64, domain: int = 8, **replaced: float) -> tuple[int, ...]:
    """Return what a search tries on an axis."""
    axis = next(axis for axis in AXES if axis.array == name)
    assert axis.values is not None
    return axis.values(shape_named(model, **replaced), gpus, domain)


def test_what_a_search_tries() -> None:
    assert values("micro", "gpt3-175b") == MICRO == (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    assert POWERS == (2, 4, 8, 16, 32, 64, 128)
    assert values("expert_tensor", "gpt3-175b") == (0,)
    assert values("expert_tensor", "deepseek-v3") == (0, 1)
    assert values("expert", "gpt3-175b") == (1,)
    assert values("expert", "deepseek-v3", gpus=2048) == (1, 2, 4, 8, 16, 32, 64, 128, 256)
    assert values("expert", "deepseek-v3", gpus=100) == (1, 2, 4, 8, 16, 32, 64)
    assert values("chunks", "gpt3-175b") == (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96)
    assert values("tensor", "gpt3-175b") == (1, 2, 4, 8)
    assert values("context", "gpt3-175b") == (1,)
    assert values("context", "llama3-8b", sequence=LONG - 1) == (1,)
    assert values("context", "llama3-8b", sequence=LONG) == (1, 2, 4, 8, 16, 32)


def test_a_layer_of_gpt3_with_its_biases() -> None:
    """12 h^2 weights; biases of query, key, value and output 4 h, of the feed-forward network 4 h + h; two norms, 2 h
    each:
    12 h^2 + 13 h with h = 12,288."""
    h = 12_288
    assert layer_weights(shape_named("gpt3-175b")) == 12 * h**2 + 13 * h


def test_a_layer_of_llama2_70b() -> None:
    """No biases, two norms of h, 8 of 64 heads for keys and values, a gated network of 28,672."""
    h, kv, f = 8192, 1024, 28_672
    assert layer_weights(shape_named("llama2-70b")) == 2 * h * h + 2 * h * kv + 3 * h * f + 2 * h


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (data_parallel_tokens(989e12, 450.0), 989e12 / (2 * 450e9)),  # the book's 1,098
        (data_parallel_tokens(989e12, 400.0, 4.0, in_network=False), 989e12 / 200e9),
        (sharded_tokens(989e12, 400.0), 2472.5),
        (sharded_tokens(989e12, 400.0, 4.0, 2.0), 989e12 * 1.5 / 400e9),
        (sharded_tokens(989e12, 400.0, 2.0, 4.0), 989e12 * 2 / 400e9),
        (scattered_tokens(989e12, 400.0, 4.0), 2472.5),
        (scattered_tokens(989e12, 400.0, 2.0, 2.0), 2472.5),
        (tensor_parallel_ways(28_672, 989e12, 450.0, 8), 28_672 / (989e12 * 7 / (8 * 450e9))),
        (expert_parallel_tokens(256, 8, 989e12, 400.0, 8.0), 989e12 / (2 * 400e9) * 32 / 8),
    ],
)
def test_rooflines_of_the_book(found: float, wanted: float) -> None:
    assert found == pytest.approx(wanted, rel=1e-12)


def test_bubbles_of_zero_bubble_schedules() -> None:
    """Qi et al. 2024: a third of the bubble of 1F1B remains with ZB-H1, none with ZB-2p and ZB-V; half with V-Half and
    two thirds with V-Min, for equal times of forward, input and weight passes."""
    from ffplan.training.schedules import SHARES

    assert SHARES == {"1f1b": 1, "zb-h1": 1 / 3, "zb-2p": 0, "zb-v": 0, "v-half": 1 / 2, "v-min": 2 / 3}


@pytest.mark.parametrize("ranks", [2, 4])
def test_zero_3_over_two_ranks_gathers_as_over_four(ranks: int) -> None:
    """What is gathered for computing is whole layers; what is kept of states is a share."""
    import numpy as np

    from ffplan.design.training import PlanFields
    from ffplan.training.memory import stage_bytes
    from ffplan.training.parallel_plan import parallel_plans

    def working(zero: int, gpus: int) -> float:
        plans = parallel_plans(PlanFields(zero=zero, batch=8), float(gpus))
        return float(np.max(stage_bytes(shape_named("megatron-1.7b"), plans, 0.0).working))

    assert working(3, ranks) == pytest.approx(working(3, 8))
    assert working(3, ranks) != pytest.approx(working(3, 1))


def test_units_that_a_search_tries() -> None:
    from ffplan.training.axes import UNITS

    assert UNITS == (1, 2, 4, 8)


@pytest.mark.parametrize(("kept", "reduced", "wire"), [("fp32", "bf16", 2.0), ("fp32", None, 4.0), ("bf16", None, 2.0)])
def test_gradients_are_reduced_as_asked_else_as_kept(kept: str, reduced: str | None, wire: float) -> None:
    import numpy as np

    from ffplan.design.training import PlanFields
    from ffplan.training.parallel_plan import parallel_plans

    fields = {"grad_dtype": kept, "batch": 8, **({"grad_reduce_dtype": reduced} if reduced else {})}
    assert float(np.asarray(parallel_plans(PlanFields.model_validate(fields), 8.0).wire_bytes)) == wire


def test_matrices_around_latent_attention() -> None:
    """DeepSeek-V2, section 2.1, with ranks of 500 and 40: one matrix makes both, 540 columns."""
    shape = shape_named("deepseek-v3")
    assert shape.latent is not None
    latent = shape.latent.model_copy(update={"key_value_rank": 500, "rope_dim": 40})
    found = around_attention(shape.model_copy(update={"latent": latent}), 4)
    assert found == (
        (latent.query_rank, 7168),
        (128 * (128 + 40) / 4, latent.query_rank),
        (540, 7168),
        (128 * (128 + 128) / 4, 500),
        (7168, 128 * 128 / 4),
    )


def test_the_ranks_of_a_shard_of_experts() -> None:
    """Experts on 8 ranks that hold the same ones: ZeRO shards over all of them, or over four, not over three."""
    item = run("deepseek-v3", tensor=1.0, expert_tensor=1.0, pipeline=1.0, data=64.0, expert=8.0, zero=3.0, batch=64.0)
    broken = [
        bool(violations(item.shape, replace(item.plans, shard=float(shard)), None)["shard"])
        for shard in (0, 1, 2, 3, 4, 8, 64)
    ]
    assert broken == [False, False, False, True, False, False, False]
    three = replace(item.plans, gpus=24.0, data=24.0, shard=1.0)
    assert not violations(item.shape, three, None)["shard"]  # three ranks hold the same experts, each its own shard


@pytest.mark.parametrize(("tensor", "more"), [(1.0, 0.0), (2.0, 8 * 96 * 2.0), (8.0, 8 * 96 * 2.0)])
def test_only_tensor_parallel_layers_take_longer_to_launch(tensor: float, more: float) -> None:
    """A host that takes far longer than the device: two seconds more for each of 96 layers and eight micro-batches."""
    item = run(tensor=tensor, expert_tensor=tensor, data=64.0 / tensor, pipeline=1.0, batch=8 * 64.0 / tensor)
    waits = [
        float(step_parts(replace(item, speeds=replace(item.speeds, launch=100.0, launch_parallel=each)))["launches"])
        for each in (2.0, 0.0)
    ]
    assert waits[0] - waits[1] == pytest.approx(more)


def test_a_pooling_keeps_eight_bytes_for_each_position() -> None:
    """A layer of 64 outputs of 112 x 112 numbers of 2 bytes, pooled 2 x 2: 3,136 x 64 positions of 2 + 8 bytes more."""
    plain = Convolution(name="first", inputs=3, outputs=64, kernel=7, size=112, count=1)
    pooled = plain.model_copy(update={"pool": 2})
    assert conv_kept_bytes([pooled], 2.0) - conv_kept_bytes([plain], 2.0) == 10 * 64 * 56 * 56


def test_gradients_are_reduced_at_other_widths_only_where_that_is_asked_and_less() -> None:
    start = run(batch=64.0)
    for kept, asked, width in ((4, True, 2.0), (4, False, 0.0), (2, True, 0.0)):
        space = evaluate_space(start, search_space(start.shape, 64, 8, {"gradient_bytes": kept, "zero": 0}), 64, 1e13)
        (plan,) = fastest(start, space, 1e13, Refinement(units=False, reduced=asked, moments=False), 1)
        assert plan.reduced_bytes == width  # the narrower never takes longer


def test_stages_send_whole_activations_where_no_rank_holds_a_part_of_them() -> None:
    """Without scatter and gather, and without sequence parallelism, each of four ranks sends all; else a quarter."""
    item = run(pipeline=4.0, tensor=4.0)
    sent = {
        (scatter, sequence): float(
            step_parts(
                replace(item, plans=replace(item.plans, scatter_gather=scatter, sequence_parallel=float(sequence)))
            )["sends"]
        )
        for scatter in (False, True)
        for sequence in (0, 1)
    }
    assert sent[False, 1] < 0.5 * sent[False, 0]
    assert sent[True, 0] < sent[False, 0]
