"""Small rules of plans, each on both sides of its boundary, and numbers of training worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.catalog.models import Convolution
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.design.training import PlanFields
from ffplan.training.accelerator_rates import UncalibratedError, _curve
from ffplan.training.axes import RECOMPUTE, ParallelPlans, _inside, divisors
from ffplan.training.constraints import violations
from ffplan.training.conv_layers import _conv_kept_bytes
from ffplan.training.data_parallel import _unit_collectives
from ffplan.training.gemm import _around_attention
from ffplan.training.group_collectives import Cluster, with_sharding_nics
from ffplan.training.kept_activations import _layer_kept_bytes, policy_kept_bytes
from ffplan.training.memory_traffic import _score_bytes
from ffplan.training.microbatch import parts_again
from ffplan.training.model_flops import _narrow_weights
from ffplan.training.parallel_plan import parallel_plans
from ffplan.training.search_space import Refinement, evaluate_space, fastest, search_space
from ffplan.training.step import step_parts
from ffplan.training.train_run import TrainRun
from tests.support import host_named, library_named, shape_named
from tests.unit.training.test_layer import plans, speeds
from tests.unit.training.test_step import run

BASE = ParallelPlans(gpus=64.0, batch=128.0, micro=1.0, tensor=4.0, pipeline=4.0, data=4.0, expert_tensor=4.0)


@pytest.mark.parametrize(
    ("number", "most", "found"),
    [(12, 12, (1, 2, 3, 4, 6, 12)), (12, 3, (1, 2, 3)), (12, 5, (1, 2, 3, 4)), (7, 6, (1,))],
)
def test_divisors(number: int, most: int, found: tuple[int, ...]) -> None:
    assert divisors(number, most) == found


@pytest.mark.parametrize(
    ("size", "gpus", "domain", "inside"),
    [
        (3, 6, 8, True),  # two groups in the six of a node that the job takes
        (3, 64, 8, False),
        (4, 64, 8, True),
        (8, 4, 8, True),  # a whole node
        (16, 64, 8, False),
        (32, 64, 72, True),  # a power of two in a domain of several nodes
        (48, 64, 72, False),
        (36, 64, 72, True),
    ],
)
def test_groups_inside_a_domain(size: int, gpus: int, domain: int, inside: bool) -> None:
    assert _inside(size, gpus, domain) is inside


@pytest.mark.parametrize(("batch", "broken"), [(12.0, True), (16.0, False), (32.0, False)])
def test_a_schedule_without_bubbles_needs_a_micro_batch_a_stage(batch: float, broken: bool) -> None:
    """Four stages and four replicas: 3, 4 and 8 micro-batches."""
    plans = replace(BASE, schedule="zb-h1", batch=batch)
    assert bool(violations(shape_named("gpt3-175b"), plans, None)["schedule"]) is broken


@pytest.mark.parametrize(("micro_batches", "broken"), [(6, True), (8, False), (9, True), (10, False)])
def test_dualpipe_feeds_both_ends_alike(micro_batches: int, broken: bool) -> None:
    """Four stages take at least eight micro-batches, and an even number: half of them enter at either end."""
    plans = replace(BASE, schedule="dualpipe", batch=4.0 * micro_batches)
    assert bool(violations(shape_named("gpt3-175b"), plans, None)["schedule"]) is broken


def test_weights_of_latent_attention_without_a_latent_of_queries() -> None:
    """DeepSeek-V2-Lite has none: h (512 + 64) weights are on every rank; with one of 1,536, h (1,536 + 512 + 64)."""
    shape = shape_named("deepseek-v3")
    assert shape.latent is not None
    assert _narrow_weights(shape) == 7168 * (1536 + 512 + 64)
    plain = shape.model_copy(update={"latent": shape.latent.model_copy(update={"query_rank": None})})
    assert _narrow_weights(plain) == 7168 * (512 + 64)


@pytest.mark.parametrize(
    ("eager", "back", "numbers"), [(False, False, 5), (False, True, 6), (True, False, 9), (True, True, 10)]
)
def test_bytes_of_an_unfused_score(eager: bool, back: bool, numbers: int) -> None:
    """Numbers of two bytes, and a dropout mask of one."""
    plans = replace(BASE, eager=eager)
    assert _score_bytes(plans, back=back) == numbers * plans.width + 1


def test_a_kernel_that_nobody_measured_is_refused() -> None:
    part = Catalog().entry("a100-pcie-40gb").part
    assert isinstance(part, Accelerator)
    with pytest.raises(UncalibratedError, match="no rates of fa3 are known of `a100-pcie-40gb`"):
        _curve(part, 1.0, None, None, "fa3")
    assert _curve(part, 1.0, None, None, "") is None


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
    found = _around_attention(shape.model_copy(update={"latent": latent}), 4)
    assert found == (
        (latent.query_rank, 7168, True),
        (128 * (128 + 40) / 4, latent.query_rank, False),
        (540, 7168, True),
        (128 * (128 + 128) / 4, 500, False),
        (7168, 128 * 128 / 4, False),
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
    assert _conv_kept_bytes([pooled], 2.0) - _conv_kept_bytes([plain], 2.0) == 10 * 64 * 56 * 56


def test_gradients_are_reduced_at_other_widths_only_where_that_is_asked_and_less() -> None:
    start = run(batch=64.0)
    for kept, asked, width in ((4, True, 2.0), (4, False, 0.0), (2, True, 0.0)):
        space = evaluate_space(start, search_space(start.shape, 64, 8, {"gradient_bytes": kept, "zero": 0}), 64, 1e13)
        (plan,) = fastest(start, space, 1e13, Refinement(units=False, reduced=asked, moments=False), 1)
        assert plan.reduced_bytes == width  # the narrower never takes longer


def cluster(nics: int | None) -> Cluster:
    nccl = library_named("nccl")
    return with_sharding_nics(Cluster(host=host_named("hgx-h100-8nic"), library=nccl, reducer=nccl), nics)


def test_one_nic_counts_for_zero_3_alone_in_a_batch_of_plans() -> None:
    """Plans of ZeRO 2 and 3 side by side take the times that each has by itself."""
    shape = shape_named("llama3-8b")

    def gather(zero: object) -> object:
        run = TrainRun(shape, plans(gpus=64.0, data=64.0, batch=64.0, zero=zero), speeds(), cluster(1))
        return _unit_collectives(run, 2e8, 64.0, 1.0).gather

    both = np.asarray(gather(np.array([2.0, 3.0])))
    assert both.tolist() == pytest.approx([float(np.asarray(gather(zero))) for zero in (2.0, 3.0)])
    assert both[1] > 3 * both[0]


def test_operators_of_a_list_leave_memory() -> None:
    """Llama 3 8B, a token at 16 bits: q, k, v are 6,144 numbers, attention's result 4,096, gate and up 28,672."""
    shape = shape_named("llama3-8b")
    whole = _layer_kept_bytes(shape, plans())
    for part, numbers in (("qkv", 6144), ("attention", 4096), ("up", 28672)):
        less = whole - _layer_kept_bytes(shape, plans(again=frozenset({part})))
        assert float(less) == pytest.approx(8192 * 2 * numbers), part


def test_policies_keep_what_experts_were_sent() -> None:
    """DeepSeek-V3: keep-products keeps 8 tokens of 7,168 numbers sent, and as many results."""
    shape, plan = shape_named("deepseek-v3"), plans(recompute=float(RECOMPUTE.index("keep-products")), expert=8.0)
    dense, mixed = (float(policy_kept_bytes(shape, plan, share)) / 4096 / 2 for share in (0.0, 1.0))
    inner = 2 * (2048 * (8 + 1) - 18432)
    assert mixed - dense == pytest.approx(inner + 2 * 8 * 7168)


def test_heads_are_whole_where_context_parallelism_exchanges_them() -> None:
    shape = shape_named("llama3-8b")  # 32 heads
    wide = plans(gpus=64.0, tensor=2.0, context=32.0, data=1.0, batch=1.0)
    assert not bool(np.asarray(violations(shape, wide, None)["heads"]).any())
    assert bool(np.asarray(violations(shape, replace(wide, by_heads=True), None)["heads"]).any())


def test_tokens_have_the_width_of_activations() -> None:
    assert parallel_plans(PlanFields(precision="tf32"), 8.0).dispatch_bytes == 4.0
    assert parallel_plans(PlanFields(), 8.0).dispatch_bytes == 2.0
    assert parallel_plans(PlanFields(dispatch_dtype="fp8"), 8.0).dispatch_bytes == pytest.approx(1.03125)


def test_latents_are_projected_again_under_policies_that_keep_products() -> None:
    """keep-products runs no GEMM again by itself; with `latent` in the list it does those from the latents."""
    shape, at = shape_named("deepseek-v3"), speeds(products=1e15)
    latent = plans(again=frozenset({"latent"}), recompute=float(RECOMPUTE.index("keep-products")))
    full = replace(latent, recompute=float(RECOMPUTE.index("full")))
    assert float(np.asarray(parts_again(shape, latent, at, 1.0).products)) > 0
    assert float(np.asarray(parts_again(shape, full, at, 1.0).products)) == 0
