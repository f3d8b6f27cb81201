"""Combinations of plan fields that a review found wrong: each is held here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.design.training import PlanFields
from ffplan.training.axes import RECOMPUTE
from ffplan.training.constraints import violations
from ffplan.training.fsdp import unit_collectives
from ffplan.training.group_collectives import Cluster, with_sharding_nics
from ffplan.training.kept_activations import layer_kept_bytes, policy_kept_bytes
from ffplan.training.parallel_plan import parallel_plans
from ffplan.training.recomputed import parts_again
from ffplan.training.train_run import TrainRun
from tests.support import host_named, library_named, shape_named
from tests.unit.training.test_layer import plans, speeds


def cluster(nics: int | None) -> Cluster:
    nccl = library_named("nccl")
    return with_sharding_nics(Cluster(host=host_named("hgx-h100-8nic"), library=nccl, reducer=nccl), nics)


def test_one_nic_counts_for_zero_3_alone_in_a_batch_of_plans() -> None:
    """Plans of ZeRO 2 and 3 side by side take the times that each has by itself."""
    shape = shape_named("llama3-8b")

    def gather(zero: object) -> object:
        run = TrainRun(shape, plans(gpus=64.0, data=64.0, batch=64.0, zero=zero), speeds(), cluster(1))
        return unit_collectives(run, 2e8, 64.0, 1.0).gather

    both = np.asarray(gather(np.array([2.0, 3.0])))
    assert both.tolist() == pytest.approx([float(np.asarray(gather(zero))) for zero in (2.0, 3.0)])
    assert both[1] > 3 * both[0]


def test_operators_of_a_list_leave_memory() -> None:
    """Llama 3 8B, a token at 16 bits: q, k, v are 6,144 numbers, attention's result 4,096, gate and up 28,672."""
    shape = shape_named("llama3-8b")
    whole = layer_kept_bytes(shape, plans())
    for part, numbers in (("qkv", 6144), ("attention", 4096), ("up", 28672)):
        less = whole - layer_kept_bytes(shape, plans(again=frozenset({part})))
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
