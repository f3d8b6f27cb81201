"""Data-parallel ranks of a search: it finds a plan wherever one can run, by brute force over every number of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ffplan.training.axes import ParallelPlans
from ffplan.training.search_space import EvaluatedSpace, evaluate_space, search_space
from tests.support import examples, ffplan, shape_named
from tests.unit.training.test_step import run

GIB = 2**30
PLAIN = {"recompute": 2, "sequence_parallel": 0, "zero": 3, "gradient_bytes": 2}
"""One value of each option: structures are what differs."""
EXPERTS = "train superpod-h100-4su -m qwen3-30b-a3b -g 48 --batch 72 --tp 1 --pp 1 --search"


def found(
    name: str, job: tuple[int, int], fixed: dict[str, int], limit: float, data: int | None = None, **more: Any
) -> EvaluatedSpace:
    """Return the plans of a job of accelerators and sequences, on given data-parallel ranks or on those of a search."""
    gpus, batch = job
    base = ParallelPlans(gpus=1.0, batch=float(batch), micro=1.0, tensor=1.0, pipeline=1.0, data=1.0)
    shape = shape_named(name)
    start = replace(run(), shape=shape, plans=replace(base, **more))
    return evaluate_space(start, search_space(shape, gpus, 8, PLAIN | fixed), gpus, limit, data)


FIXED = st.fixed_dictionaries(
    {},
    optional={
        "tensor": st.sampled_from([1, 2, 4]),
        "pipeline": st.sampled_from([1, 2, 4, 8]),
        "expert": st.sampled_from([1, 4, 8, 16]),
        "expert_tensor": st.sampled_from([1, 2]),
        "micro": st.sampled_from([1, 2, 3, 4, 8, 9]),
        "chunks": st.sampled_from([1, 2, 3]),
    },
)


@examples(60)
@given(
    st.sampled_from(["qwen3-30b-a3b", "llama3-8b", "gpt-oss-20b"]),
    st.tuples(st.sampled_from([8, 12, 24, 48]), st.sampled_from([12, 30, 64, 72, 96])),
    FIXED,
    st.sampled_from([20 * GIB, 78 * GIB, 1e13]),
    st.fixed_dictionaries(
        {},
        optional={
            "schedule": st.sampled_from(["zb-h1", "zb-v", "dualpipe"]),
            "shard": st.sampled_from([2.0, 4.0, 8.0]),
        },
    ),
)
@example("qwen3-30b-a3b", (48, 72), {"tensor": 1, "pipeline": 1, "expert": 8}, 1e13, {})
@example("llama3-8b", (24, 72), {"tensor": 1, "pipeline": 1, "micro": 9}, 1e13, {})
@example("llama3-8b", (24, 72), {"tensor": 1, "pipeline": 4, "chunks": 2}, 1e13, {})
@example("llama3-8b", (24, 72), {"tensor": 1, "pipeline": 4}, 1e13, {"schedule": "dualpipe"})
@example("llama3-8b", (24, 30), {"tensor": 1, "pipeline": 1}, 1e13, {"shard": 2.0})
def test_a_search_finds_a_plan_where_any_number_of_ranks_has_one(
    name: str, job: tuple[int, int], fixed: dict[str, int], limit: float, more: dict[str, Any]
) -> None:
    if "schedule" in more:
        fixed = fixed | {"chunks": 1}
    runs = [size for size in range(1, job[0] + 1) if found(name, job, fixed, limit, size, **more).feasible]
    space = found(name, job, fixed, limit, **more)
    assert space.feasible == bool(runs)
    assert space.candidates == sum(space.refused.values()) + int((space.code == 0).sum())
    assert (np.asarray(space.plans.gpus) <= job[0]).all()


@pytest.mark.parametrize(("gpus", "batch"), [(48, 72), (40, 72), (96, 144), (7, 12)])
def test_a_structure_takes_the_most_ranks_that_hold_whole_groups_of_experts(gpus: int, batch: int) -> None:
    """The largest divisor of the batch that fits where experts allow it, as without any; else the next that they do."""
    columns = ("tensor", "pipeline", "expert", "expert_tensor", "data")

    def structures(data: int | None = None) -> Any:
        plans = found("qwen3-30b-a3b", (gpus, batch), {"micro": 1, "chunks": 1}, 1e13, data).plans
        return np.stack([np.ravel(getattr(plans, name)) for name in columns], axis=1).tolist()

    # a larger number replaces a smaller
    most = {tuple(row[:-1]): row[-1] for size in range(1, gpus + 1) for row in structures(size)}
    assert {tuple(row[:-1]): row[-1] for row in structures()} == most


def test_expert_groups_that_the_largest_divisor_does_not_hold_have_plans() -> None:
    """36 of 72 sequences' ranks fit 48 GPUs, and 8-way experts do not divide them: 24 ranks do."""
    (row, *_) = json.loads(ffplan(f"{EXPERTS} --ep 8 -f json").out)["rows"]
    assert (row["plan"]["data"], row["plan"]["gpus"]) == (24, 24)
    (fixed, *_) = json.loads(ffplan(f"{EXPERTS} --ep 8 --dp 24 -f json").out)["rows"]
    assert row["step_s"] == fixed["step_s"]


@pytest.mark.parametrize(
    ("options", "ranks"),
    [
        ("--ep 1 --tp 2 --pp 3 --micro-batch 9", 8),
        ("--ep 8 --pp 4 --schedule zb-h1", 8),
        ("--ep 1 --pp 8 --chunks 2", 3),
    ],
)
def test_what_asks_for_more_micro_batches_takes_fewer_ranks(options: str, ranks: int) -> None:
    (row, *_) = json.loads(ffplan(f"{EXPERTS} {options} -f json").out)["rows"]
    assert row["plan"]["data"] == ranks


def test_a_search_without_a_plan_claims_what_it_tried() -> None:
    refused = ffplan(f"{EXPERTS} --ep 128 --micro-batch 5")
    assert refused.code == 1
    assert "more, up to the 1,016 of this design, do not help" in refused.err
    whole = ffplan("train superpod-h100-4su -m llama3-8b --batch 7 -g 1016 --micro-batch 5 --search")
    assert (whole.code, "this design has no more" in whole.err) == (1, True)
