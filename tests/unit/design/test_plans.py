"""Training plans: what a file and options say together, and what goes together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic_core import ValidationError

from ffplan.base.errors import InputError, UsageError
from ffplan.design.plan_file import read_plan
from ffplan.design.training import PlanFields

if TYPE_CHECKING:
    from pathlib import Path

PLAN = "kind: training-plan\ntensor: 8\npipeline: 4\nchunks: 2\nbatch: 512\n"


def plan_file(folder: Path, text: str = PLAN) -> str:
    path = folder / "plan.yaml"
    path.write_text(text)
    return str(path)


def test_options_replace_the_file_and_the_file_the_defaults(tmp_path: Path) -> None:
    plan = read_plan(plan_file(tmp_path), {"pipeline": 2, "zero": 3})
    assert (plan.tensor, plan.pipeline, plan.chunks, plan.batch, plan.zero) == (8, 2, 2, 512, 3)
    assert plan.model_fields_set == {"tensor", "pipeline", "chunks", "batch", "zero"}
    assert type(plan) is PlanFields  # the kind of file is no part of the plan


def test_without_a_file_the_defaults_stand() -> None:
    assert read_plan(None, {}) == PlanFields()
    assert read_plan(None, {"tensor": 2}) == PlanFields(tensor=2)


def test_options_may_heal_nothing_that_is_wrong_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_plan(plan_file(tmp_path, PLAN + "schedule: dualpipe\n"), {"schedule": "1f1b"})
    (found,) = caught.value.findings
    assert (found.rule, found.line) == ("training-plan", 4)  # at `chunks`
    assert "belong to 1f1b, not to dualpipe" in found.message


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"micro_batch": 0}, "ffplan train: --micro-batch: 0: input should be greater than or equal to 1"),
        ({"zero": 4}, "--zero: 4: input should be less than or equal to 3"),
        ({"recompute": "most"}, "--recompute: 'most': input should be 'none', 'selective', 'full', 'keep-qkv'"),
    ],
)
def test_options_that_do_not_go_with_the_file(tmp_path: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_plan(plan_file(tmp_path), given)
    assert words in str(caught.value)


def test_an_option_that_contradicts_the_file_points_at_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_plan(plan_file(tmp_path), {"schedule": "zb-h1"})
    (found,) = caught.value.findings
    assert (found.rule, found.line, found.column) == ("training-plan", 4, 9)  # the value of `chunks`
    assert found.message == "`chunks` belong to 1f1b, not to zb-h1"


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"order": ("tensor", "data", "pipeline")}, "order"),
        ({"order": ("tensor", "tensor", "data", "pipeline")}, "order"),
        ({"chunks": 2, "schedule": "v-min"}, "chunks"),
        ({"shard": 8, "zero": 0}, "shard"),
        ({"unit_layers": 2, "zero": 2}, "unit_layers"),
    ],
)
def test_fields_that_contradict_each_other(fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationError) as caught:
        PlanFields(**fields)
    (error,) = caught.value.errors()
    assert error["ctx"]["field"] == wrong


def test_fields_that_agree() -> None:
    assert PlanFields(shard=8, zero=1).shard == 8
    assert PlanFields(unit_layers=2, zero=3).unit_layers == 2
    assert PlanFields(order=("data", "tensor", "pipeline", "context")).order[0] == "data"


def test_hfreduce_reduces_whole_gradients() -> None:
    """It has allreduce alone: section IV of arXiv 2408.14158."""
    wholes = {name: PlanFields(reducer=name).reduces_whole for name in ("nccl", "hfreduce", "hfreduce-nvlink")}
    assert wholes == {"nccl": False, "hfreduce": True, "hfreduce-nvlink": True}
    assert not PlanFields().reduces_whole
