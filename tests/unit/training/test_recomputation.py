"""What is recomputed backward, and what it costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ffplan.design.training import PlanFields
from ffplan.training.accelerator_rates import accelerator_rates
from ffplan.training.axes import RECOMPUTE
from ffplan.training.kept_activations import _layer_kept_bytes, policy_kept_bytes
from ffplan.training.layer import _dense_layer
from ffplan.training.mfu import _operations_again, step_flops
from ffplan.training.microbatch import parts_again
from ffplan.training.model_flops import _attention_flops, _layer_matrix_weights
from ffplan.training.parallel_plan import parallel_plans
from ffplan.training.recompute import _fraction_again
from tests.support import host_named, shape_named
from tests.unit.training.test_layer import plans, speeds


def policy(name: str) -> float:
    return float(RECOMPUTE.index(name))


@pytest.mark.parametrize(
    ("name", "again"),
    [
        ("none", (0, 0, 0, 0, 0, 0)),
        ("selective", (0, 1, 0, 0, 0, 0)),
        ("full", (1, 1, 1, 1, 1, 1)),
        ("keep-qkv", (0, 1, 1, 1, 0, 1)),
        ("keep-products", (0, 1, 0, 0, 0, 1)),
        ("every-second", (1024 / 6144, 0, 1, 0.5, 0, 1)),
    ],
)
def test_operators_of_a_policy(name: str, again: tuple[float, ...]) -> None:
    """Llama 3 8B: keys are 1,024 of 6,144 columns; of gate and up-projection the latter half runs."""
    shape, plan = shape_named("llama3-8b"), plans(recompute=policy(name))
    found = [float(_fraction_again(shape, plan, item)) for item in ("qkv", "attention", "out", "up", "down", "moved")]
    assert found == pytest.approx(again)


def test_every_second_without_a_gate() -> None:
    """Of q, k, v, out, up and down the second, fourth and sixth."""
    shape, plan = shape_named("gpt3-175b"), plans(recompute=policy("every-second"))
    found = [float(_fraction_again(shape, plan, item)) for item in ("qkv", "out", "up", "down")]
    assert found == pytest.approx([1 / 3, 1, 0, 1])


def test_parts_add_to_a_policy() -> None:
    shape = shape_named("llama3-8b")
    plan = plans(recompute=policy("selective"), again=frozenset({"up"}))
    assert [float(_fraction_again(shape, plan, item)) for item in ("attention", "up", "out")] == [1, 1, 0]


def test_policies_of_many_plans() -> None:
    shape, plan = shape_named("llama3-8b"), plans(recompute=np.arange(6.0))
    assert list(np.asarray(_fraction_again(shape, plan, "out"))) == [0, 0, 1, 1, 0, 1]


def test_time_of_what_runs_again() -> None:
    """Llama 3 8B, torchtitan's `op`: k, out and up are 37 % of a layer's forward products."""
    shape = shape_named("llama3-8b")
    found = _dense_layer(shape, plans(recompute=policy("every-second")), speeds(products=1e15))
    assert found.products_again / found.products == pytest.approx(0.37, abs=0.005)
    whole = _dense_layer(shape, plans(recompute=policy("full")), speeds(products=1e15))
    assert whole.products_again == pytest.approx(whole.products)


def test_operations_again_are_those_of_the_equations() -> None:
    """Megatron-LM's equation 3 has every layer again; selective recomputation the core of attention."""
    shape = shape_named("gpt3-175b")
    layers, s = shape.layers, shape.sequence
    whole = layers * (2 * s * _layer_matrix_weights(shape) + _attention_flops(shape, s))
    assert _operations_again(shape, plans(recompute=policy("full"))) == pytest.approx(whole)
    core = _operations_again(shape, plans(recompute=policy("selective")))
    assert core == pytest.approx(layers * _attention_flops(shape, s))
    plan = plans(recompute=policy("full"), batch=4.0)
    assert step_flops(shape, plan, "hardware") - step_flops(shape, plan, "model") == pytest.approx(4 * whole)


def test_operations_again_of_experts() -> None:
    shape = shape_named("deepseek-v3")
    whole = 3 * _layer_matrix_weights(shape) + 58 * _layer_matrix_weights(shape, dense=False)
    core = 61 * _attention_flops(shape, shape.sequence)
    found = _operations_again(shape, plans(recompute=policy("full")))
    assert found == pytest.approx(2 * shape.sequence * whole + core)


def test_what_a_policy_keeps_of_a_layer() -> None:
    """Llama 3 8B, 8,192 tokens at 16 bits: the input; with q, k, v; with the results of all products but down's."""
    shape = shape_named("llama3-8b")
    kept = {name: float(policy_kept_bytes(shape, plans(recompute=policy(name)))) / 8192 / 2 for name in RECOMPUTE}
    assert kept["full"] == pytest.approx(4096)
    assert kept["keep-qkv"] == pytest.approx(4096 + 6144)
    assert kept["keep-products"] == pytest.approx(4096 + 6144 + 2 * 14336 + 2 * 4096)
    assert kept["every-second"] == pytest.approx(4096 + 4096 + 1024 + 4096 + 14336 + 4096)
    assert kept["none"] == kept["selective"] == pytest.approx(_layer_kept_bytes(shape, plans()) / 8192 / 2)


def again(model: str, *parts: str, **fields: Any) -> tuple[float, float]:
    """Return the operations and the bytes of a micro-batch on a machine of 1 FLOP/s and 1 byte/s."""
    part = host_named("hgx-h100-8nic").accelerator
    assert part is not None
    rates = replace(accelerator_rates(part, "bf16"), products=1.0, memory=1.0)
    plans = parallel_plans(PlanFields.model_validate({"recompute_parts": parts, "batch": 8, **fields}), 8.0)
    found = parts_again(shape_named(model), plans, rates, 0.0)
    return float(np.asarray(found.products)), float(np.asarray(found.moved))


def test_only_latent_attention_has_latents() -> None:
    assert again("llama2-70b", "latent") == (0.0, 0.0)
    products, moved = again("deepseek-v3", "latent")
    assert products > 0
    assert moved == 0.0


def test_the_activation_of_a_dense_network_is_its_width() -> None:
    """A gated network of 28,672: gate and value read, result written, 2 bytes each; TP 2 halves it."""
    one, two = again("llama2-70b", "activation")[1], again("llama2-70b", "activation", tensor=2)[1]
    tokens, width = shape_named("llama2-70b").sequence, 28_672
    assert one == pytest.approx(3 * tokens * 2 * width)
    assert two == pytest.approx(one / 2)


def test_norms_read_and_write_the_hidden_state_twice() -> None:
    """Two norms of 2 w h bytes each."""
    tokens = shape_named("llama2-70b").sequence
    assert again("llama2-70b", "norms")[1] == pytest.approx(tokens * 4 * 2 * 8192)
