"""Terms of a step and of a prompt, by hand."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.serving.plan import _Deployment, _Machine
from ffplan.serving.step import (
    _critical_batch,
    _product_seconds,
    attention_flops,
    collective_seconds,
    hand_over_seconds,
    launch_seconds,
    prompt_seconds,
    step_time,
    token_flops,
)
from tests.unit.serving.conftest import MACHINE

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.serving.step import Served

H100_8 = replace(MACHINE, peak=1979e12)
B200_8 = _Machine(bandwidth=8e12, peak=4500e12, peak16=2250e12, memory=180 * 2.0**30, link=700e9, exchange=700e9)


def test_a_batch_from_which_arithmetic_binds() -> None:
    # scaling book: 295 of an H100 at 16 bit and at 8, 281 of a B200 at 8
    assert _critical_batch(MACHINE, 2.0) == pytest.approx(295, abs=0.5)
    assert _critical_batch(H100_8, 1.0) == pytest.approx(295, abs=0.5)
    assert _critical_batch(B200_8, 1.0) == pytest.approx(281, abs=0.5)


def test_terms_of_a_dense_step(served: Callable[..., Served]) -> None:
    model = served()
    step = step_time(model, 32.0, 1500.0)
    # 70.55e9 weights but the embedding, at 2 bytes on 4 cards
    read = (model.weights.attention + model.weights.dense + model.weights.head) * 2 / 4
    assert step.weights == pytest.approx(read / (3.35e12 * 0.9))
    assert step.experts == 0
    assert step.cache == pytest.approx(32 * 1500 * 327_680 / 4 / (3.35e12 * 0.9))
    assert step.layers == pytest.approx(80 * 40e-6)
    assert step.sequences == pytest.approx(32 * 20e-6)
    # two allreduces a layer, 2 (t - 1) / t of 32 x 8192 x 2 bytes
    moved = 1.5 * 32 * 8192 * 2 / 370e9
    assert step.communication == pytest.approx(160 * (8e-6 + moved))
    assert step.fixed == 300e-6
    assert step.total == pytest.approx(sum(getattr(step, field.name) for field in fields(step)))


def test_arithmetic_counts_beyond_the_time_of_the_weights(served: Callable[..., Served]) -> None:
    model = served()
    few, many = step_time(model, 8.0, 100.0), step_time(model, 4000.0, 100.0)
    assert few.compute == 0
    dense, experts = token_flops(model.weights, model.deployment)
    assert experts == 0
    assert many.compute + many.weights == pytest.approx(4000 * dense / (989.4e12 * 0.5))


def test_terms_of_latent_attention_experts_and_quantised_layers(served: Callable[..., Served]) -> None:
    model = served("deepseek-r1", tensor=8, width=1.0, attention_width=1.0, quantised=1)
    step = step_time(model, 16.0, 1000.0)
    assert step.layers == pytest.approx(61 * (40e-6 + 30e-6 + 10e-6) + 58 * 20e-6)
    assert step.sequences == pytest.approx(16 * 25e-6)
    # the latent is whole on every rank
    assert step.cache == pytest.approx(16 * 1000 * 70_272 / (3.35e12 * 0.9))


def test_a_pipeline_runs_as_many_groups_as_stages(served: Callable[..., Served]) -> None:
    one, two = step_time(served(tensor=4), 32.0, 1000.0), step_time(served(tensor=4, pipeline=2), 32.0, 1000.0)
    assert two.cache == pytest.approx(one.cache / 2)
    assert two.weights == one.weights
    assert hand_over_seconds(served(tensor=4), 16.0) == 0
    assert hand_over_seconds(served(tensor=4, pipeline=3), 16.0) == pytest.approx(2 * (8e-6 + 16 * 8192 * 2 / 370e9))
    assert two.communication == pytest.approx(collective_seconds(served(tensor=4), 16.0) + 8e-6 + 16 * 8192 * 2 / 370e9)


def test_dispatch_and_combine_between_attention_groups(served: Callable[..., Served]) -> None:
    model = served("deepseek-r1", tensor=1, data=8, expert=8)
    # eight draws of eight ranks reach 7 (1 - (7/8)^8) others; two bytes out and two back
    reached = 7 * (1 - (7 / 8) ** 8)
    assert reached == pytest.approx(4.595, abs=0.001)
    assert collective_seconds(model, 10.0) == pytest.approx(116 * (10e-6 + reached * 10 * 7168 * 2 / 370e9))
    quantised = served("deepseek-r1", tensor=1, data=8, expert=8, quantised=1)
    assert collective_seconds(quantised, 10.0) == pytest.approx(116 * (10e-6 + reached * 10 * 7168 * 1.5 / 370e9))
    assert collective_seconds(served(tensor=1), 10.0) == 0
    # with tensor ranks each sends its part, and the allreduce behind the experts goes
    both = served("deepseek-r1", tensor=2, data=4, expert=8)
    allreduce = 8e-6 + 1.0 * 10 * 7168 * 2 / 370e9
    exchange = 10e-6 + reached * 5 * 7168 * 2 / 370e9
    assert collective_seconds(both, 10.0) == pytest.approx((122 - 58) * allreduce + 116 * exchange)


def test_a_prompt(served: Callable[..., Served]) -> None:
    model = served()
    dense, _ = token_flops(model.weights, model.deployment)
    assert _product_seconds(model, 1000.0) == pytest.approx(1000 * dense / (989.4e12 * 0.5))
    # scores and values of 64 heads of 128, each token with half of the others
    attention = attention_flops(model.shape, 1000.0)
    assert attention == pytest.approx(2 * 80 * 64 * (128 + 128) * 1000 * 500)
    work = prompt_seconds(model, 1000.0)
    moved = 160 * 1.5 * 1000 * 8192 * 2 / 370e9
    assert work == pytest.approx(_product_seconds(model, 1000.0) + attention / 4 / (989.4e12 * 0.25) + moved)


def test_the_host_launches_every_kernel_of_a_step_with_prompts(served: Callable[..., Served]) -> None:
    def launch(name: str) -> float:
        model = served(name)
        return float(launch_seconds(replace(model, rates=replace(model.rates, prompt_layer=1e-3))))

    assert launch("llama3.1-70b") == pytest.approx(0.08)
    # 48 layers, each with experts; 61 with latent attention, 58 of them with experts
    assert launch("qwen3-30b-a3b") == pytest.approx(0.096)
    assert launch("deepseek-r1") == pytest.approx(0.18)


def test_experts_multiply_at_a_fraction(served: Callable[..., Served]) -> None:
    model = served("qwen3-30b-a3b", tensor=1)
    dense, experts = token_flops(model.weights, model.deployment)
    assert experts == pytest.approx(2 * 8 * model.weights.expert * 48)
    assert _product_seconds(model, 1.0) == pytest.approx((dense + 2 * experts) / (989.4e12 * 0.5))


def test_arrays_and_numbers_agree(served: Callable[..., Served]) -> None:
    ways = np.array([1.0, 2.0, 4.0, 8.0])
    many = step_time(served(tensor=ways), 16.0, 1000.0).total
    single = [float(step_time(served(tensor=way), 16.0, 1000.0).total) for way in ways]
    assert np.asarray(many) == pytest.approx(single)


def test_groups_of_a_deployment() -> None:
    own = _Deployment(tensor=2, data=4)
    shared = _Deployment(tensor=2, data=4, expert=8)
    assert (own.gpus, own.expert_gpus, own.expert_groups) == (8, 2, 1)
    assert (shared.gpus, shared.expert_gpus, shared.expert_groups) == (8, 8, 4)
