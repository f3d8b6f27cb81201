"""Layers that predict further tokens, and the ends of pipelines that run both ways."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ffplan.training.axes import ParallelPlans
from ffplan.training.layer import output_passes
from ffplan.training.memory import stage_bytes
from ffplan.training.microbatch import _pass_time
from ffplan.training.parallel_plan import stage_layers
from ffplan.training.step import step_parts
from tests.support import shape_named
from tests.unit.training import test_layer
from tests.unit.training.test_step import run

PLAN = ParallelPlans(
    gpus=2048.0, batch=15360.0, micro=1.0, tensor=1.0, pipeline=16.0, data=128.0, expert=64.0, expert_tensor=1.0, zero=0
)


def stages(layers: int, count: int, **more: float) -> list[float]:
    """Return the layers of every stage."""
    item = replace(PLAN, pipeline=float(count), **more)  # type: ignore[arg-type]
    return [float(stage_layers(layers, item, float(at))) for at in range(count)]


@pytest.mark.parametrize(
    ("layers", "count", "more", "held"),
    [
        (32, 8, {"mtp_layers": 1.0}, [4] * 7 + [5]),  # layers divide: one more on the last stage
        (32, 8, {"mtp_layers": 3.0}, [4] * 7 + [7]),
        (32, 1, {"mtp_layers": 2.0}, [34]),
        (61, 16, {"mtp_layers": 1.0}, [3] + [4] * 14 + [3]),  # three lack: two off the last, which has one more
        (61, 8, {"mtp_layers": 1.0, "chunks": 4.0}, [7, 8, 8, 8, 8, 8, 8, 7]),  # Et(tt)x30 mL
        (61, 16, {}, [3] + [4] * 13 + [3, 3]),
    ],
)
def test_layers_that_predict_are_on_the_last_stage(
    layers: int, count: int, more: dict[str, float], held: list[int]
) -> None:
    assert stages(layers, count, **more) == held
    assert sum(held) == layers + more.get("mtp_layers", 0)


def test_memory_of_a_layer_that_predicts_further_tokens() -> None:
    """DeepSeek-V3's module: a layer, a projection of 2 x 7,168 by 7,168, scores, and embeddings that are looked up."""
    shape, plain = shape_named("deepseek-v3"), PLAN
    more = replace(plain, mtp_layers=1.0)
    one, two = (stage_bytes(shape, item, 15.0) for item in (plain, more))
    assert (two.weights - one.weights) / 2 == pytest.approx(2 * 7168**2 + 129280 * 7168)  # three layers as before
    assert two.logits == 2 * one.logits
    both_ways = [stage_bytes(shape, replace(item, schedule="dualpipe"), 15.0).gradients for item in (plain, more)]
    assert (both_ways[1] - both_ways[0]) / 2 / 2 == pytest.approx(2 * 7168**2)  # its rank has the embedding
    tied = shape.model_copy(update={"tied": True})
    one, two = (stage_bytes(tied, item, 15.0) for item in (plain, more))
    assert (two.weights - one.weights) / 2 == pytest.approx(2 * 7168**2)  # the output layer is the embedding


def test_an_output_pass_more_for_each_layer_that_predicts() -> None:
    """At 1 FLOP/s and nothing else: twice 3 x 2 T h V, and 3 x 2 T 2 h h for the projection."""
    shape, at = shape_named("llama3-8b"), test_layer.speeds(products=1.0, plain=1.0, units=1.0)
    one = test_layer.plans(micro=1.0)
    two = replace(one, mtp_layers=1.0)
    output, more = (float(_pass_time(output_passes(shape, item, at))) for item in (one, two))
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


def test_two_ranks_of_dualpipe_are_both_ends() -> None:
    """On 61 layers, 31 and 30, no rank lies between: the output layer counts."""
    base = {"shape": "deepseek-v3", "tensor": 1.0, "expert_tensor": 1.0, "pipeline": 2.0, "data": 32.0}
    item = run(**base, gpus=64.0, expert=8.0, batch=256.0, schedule="dualpipe")  # type: ignore[arg-type]
    assert float(step_parts(item)["output"]) > 0
