"""Precisions of gradients and optimizer states, and parts of layers that are recomputed, worked by hand."""

from __future__ import annotations

import pytest

from ffplan.design.training import PRESETS, PlanFields
from ffplan.training.accelerator_rates import AcceleratorRates
from ffplan.training.kept_activations import _layer_kept_bytes
from ffplan.training.memory import stage_bytes
from ffplan.training.microbatch import parts_again
from ffplan.training.parallel_plan import parallel_plans
from tests.support import model_named, shape_named

RATES = AcceleratorRates(
    products=1e15,
    attention=5e14,
    plain=5e14,
    memory=2e12,
    stream=2e12,
    units=132,
    kernel=0.0,
    launch=0.0,
    launch_parallel=0.0,
    launch_step=0.0,
    peak=2e15,
)


def kept(model: str, *parts: str, precision: str = "bf16", share: float = 0.0) -> float:
    """Return the bytes that a layer keeps of a token."""
    transformer = model_named(model).transformer
    assert transformer is not None
    shape = transformer
    plan = PlanFields.model_validate({"precision": precision, "recompute_parts": parts})
    return float(_layer_kept_bytes(shape, parallel_plans(plan, 1.0), share) / shape.sequence)


def test_bytes_of_a_parameter() -> None:
    plain, low = PlanFields(), PlanFields(grad_dtype="fp32", grad_reduce_dtype="bf16", optimizer_dtype="bf16")
    assert (plain.kept_bytes, plain.reduced_bytes, plain.optimizer_bytes) == (4, 4, 12)
    assert (low.kept_bytes, low.reduced_bytes, low.optimizer_bytes) == (4, 2, 8)
    assert PlanFields(gradient_bytes=2).reduced_bytes == 2
    assert PlanFields(main_params="none").optimizer_bytes == 8
    shape = shape_named("llama-13b")
    twelve, eight = (stage_bytes(shape, parallel_plans(plan, 8.0), 0) for plan in (plain, low))
    assert eight.optimizer / twelve.optimizer == pytest.approx(8 / 12)
    assert eight.gradients == twelve.gradients


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_plans(name: str) -> None:
    assert PlanFields.model_validate({**PRESETS[name], "preset": name}).preset == name


def test_recomputed_parts_are_not_kept() -> None:
    """LLaMA-13B, h 5120, f 13824, gated, bf16: norms keep 2 h less, the activation f, 2 bytes each."""
    whole = kept("llama-13b")
    assert whole - kept("llama-13b", "norms") == pytest.approx(2 * 2 * 5120)
    assert whole - kept("llama-13b", "activation") == pytest.approx(2 * 13824)
    assert kept("llama-13b", "latent") == whole


def test_latents_and_experts_keep_less() -> None:
    """DeepSeek-V3: q and k 128 x 192, v 128 x 128; eight routed experts of 2048 and a shared one, results of 7168."""
    whole = kept("deepseek-v3", share=1.0)
    assert whole - kept("deepseek-v3", "latent", share=1.0) == pytest.approx(2 * 128 * (192 + 192 + 128))
    assert whole - kept("deepseek-v3", "activation", share=1.0) == pytest.approx(2 * (9 * 2048 + 8 * 7168))
    short = whole - kept("deepseek-v3", precision="fp8", share=1.0)
    assert short == pytest.approx(2 * 7168 + 128 * 128 + 9 * 2048 + 8 * 7168)  # inputs of GEMMs take a byte less


def test_time_of_recomputed_parts() -> None:
    """Norms move 4 w h bytes a token, up-projections 2 (q r_q + heads (d_nope + d_v) r_kv) operations."""
    shape = shape_named("deepseek-v3")
    plan = PlanFields(recompute_parts=("norms", "latent"))
    again = parts_again(shape, parallel_plans(plan, 1.0), RATES, 1.0)
    tokens = shape.sequence
    assert float(again.moved) == pytest.approx(tokens * 4 * 2 * 7168 / 2e12)
    flops = 2 * (128 * 192 * 1536 + 128 * (128 + 128) * 512)
    assert float(again.products) == pytest.approx(tokens * flops / 1e15)
    full = parts_again(shape, parallel_plans(plan.model_copy(update={"recompute": "full"}), 1.0), RATES, 1.0)
    assert float(full.moved) == 0
