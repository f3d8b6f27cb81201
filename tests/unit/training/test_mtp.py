"""Layers that predict further tokens, and the ends of pipelines that run both ways."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ffplan.training.axes import ParallelPlans
from ffplan.training.layer import output_passes
from ffplan.training.memory import stage_bytes
from ffplan.training.microbatch import pass_time
from ffplan.training.parallel_plan import stage_layers, staged
from ffplan.training.step import step_parts
from tests.support import shape_named
from tests.unit.training import test_layer
from tests.unit.training.test_step import run


def test_layers_that_predict_further_tokens_are_on_the_last_stage() -> None:
    """DeepSeek-V3's module: a layer, a projection of 2 x 7,168 by 7,168, a pass of the output layer, embeddings."""
    shape = shape_named("deepseek-v3")
    plain = ParallelPlans(
        gpus=2048.0,
        batch=15360.0,
        micro=1.0,
        tensor=1.0,
        pipeline=16.0,
        data=128.0,
        expert=64.0,
        expert_tensor=1.0,
        zero=0,
    )
    more = replace(plain, mtp_layers=1.0)
    assert [float(stage_layers(staged(shape, item), item, 15.0)) for item in (plain, more)] == [3, 3]
    assert [
        float(sum(stage_layers(staged(shape, item), item, float(at)) for at in range(16))) for item in (plain, more)
    ] == [
        61,
        62,
    ]
    one, two = (stage_bytes(shape, item, 15.0) for item in (plain, more))
    embedding = 129280 * 7168
    assert (two.weights - one.weights) / 2 == pytest.approx(2 * 7168**2 + embedding)
    assert two.logits == 2 * one.logits
    first = [stage_bytes(shape, item, 0.0).total for item in (plain, more)]
    assert first[0] == first[1]


def test_an_output_pass_more_for_each_layer_that_predicts() -> None:
    """At 1 FLOP/s and nothing else: twice 3 x 2 T h V, and 3 x 2 T 2 h h for the projection."""
    shape, at = shape_named("llama3-8b"), test_layer.speeds(products=1.0, plain=1.0, units=1.0)
    one = test_layer.plans(micro=1.0)
    two = replace(one, mtp_layers=1.0)
    output, more = (float(pass_time(output_passes(shape, item, at))) for item in (one, two))
    tokens, width, words = 8192, 4096, 128256
    assert output == pytest.approx(6 * tokens * width * words)
    assert more == pytest.approx(2 * output + 6 * tokens * 2 * width**2)


def test_a_rank_of_dualpipe_is_half_an_end() -> None:
    """It holds the last stage of one direction and the first of the other: half of the output layer's time."""
    base = {"shape": "llama3-70b", "tensor": 4.0, "expert_tensor": 4.0, "pipeline": 8.0, "data": 1.0}
    found = [
        step_parts(run(**base, gpus=32.0, batch=32.0, schedule=schedule))["output"]  # type: ignore[arg-type]
        for schedule in ("1f1b", "dualpipe")
    ]
    assert float(found[1]) == pytest.approx(float(found[0]) / 2)
