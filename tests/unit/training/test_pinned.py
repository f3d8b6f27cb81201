"""Numbers of training worked by hand, where another formula would give another number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ffplan.catalog.models import Convolution
from ffplan.training.constraints import violations
from ffplan.training.conv_layers import conv_kept_bytes
from ffplan.training.gemm import around_attention
from ffplan.training.search_space import Refinement, evaluate_space, fastest, search_space
from ffplan.training.step import step_parts
from tests.support import shape_named
from tests.unit.training.test_step import run


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
    found = around_attention(replace(shape, latent=latent), 4)
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
