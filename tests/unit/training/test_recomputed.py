"""Parts of a layer that are computed again, on models that have them and on models that do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ffplan.design.training import PlanFields
from ffplan.training.accelerator_rates import accelerator_rates
from ffplan.training.parallel_plan import parallel_plans
from ffplan.training.recomputed import parts_again
from tests.support import host_named, shape_named


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
