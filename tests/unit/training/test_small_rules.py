"""Small rules of plans, each on both sides of its boundary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.design.training import PlanFields
from ffplan.training.accelerator_rates import UncalibratedError, _curve
from ffplan.training.axes import ParallelPlans, _inside, divisors
from ffplan.training.constraints import violations
from ffplan.training.memory_traffic import score_bytes
from ffplan.training.model_flops import narrow_weights
from ffplan.training.parallel_plan import _dispatched
from tests.support import shape_named

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
    assert narrow_weights(shape) == 7168 * (1536 + 512 + 64)
    plain = shape.model_copy(update={"latent": shape.latent.model_copy(update={"query_rank": None})})
    assert narrow_weights(plain) == 7168 * (512 + 64)


@pytest.mark.parametrize(
    ("eager", "back", "numbers"), [(False, False, 5), (False, True, 6), (True, False, 9), (True, True, 10)]
)
def test_bytes_of_an_unfused_score(eager: bool, back: bool, numbers: int) -> None:
    """Numbers of two bytes, and a dropout mask of one."""
    plans = replace(BASE, eager=eager)
    assert score_bytes(plans, back=back) == numbers * plans.width + 1


@pytest.mark.parametrize(("plan", "size"), [({}, 2.0), ({"precision": "tf32"}, 4.0), ({"dispatch_dtype": "fp8"}, None)])
def test_bytes_of_a_dispatched_number(plan: dict[str, str], size: float | None) -> None:
    """Two of 16 bits, four of TF32; FP8 has its scales with it: a little more than one."""
    found = _dispatched(PlanFields.model_validate(plan))
    assert found == size if size else 1.0 < found < 1.1


def test_a_kernel_that_nobody_measured_is_refused() -> None:
    part = Catalog().entry("a100-pcie-40gb").part
    assert isinstance(part, Accelerator)
    with pytest.raises(UncalibratedError, match="no rates of fa3 are known of `a100-pcie-40gb`"):
        _curve(part, 1.0, None, None, "fa3")
    assert _curve(part, 1.0, None, None, "") is None
