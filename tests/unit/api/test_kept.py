"""What a loaded design keeps from one call to the next changes no result."""

from __future__ import annotations

from typing import Any

import pytest

import ffplan
from ffplan.base.plain import plain

PLAN: dict[str, Any] = {"gpus": 256, "batch": 512, "zero": 1, "recompute": "full"}


@pytest.mark.parametrize("reducer", [None, "nccl", "hfreduce"])
def test_a_second_step_is_that_of_a_fresh_design(reducer: str | None) -> None:
    plan = {**PLAN, "pipeline": 8} | ({} if reducer is None else {"reducer": reducer})
    design = ffplan.load("fire-flyer-2")
    ffplan.train(design, "llama3-8b", **{**plan, "batch": 1024})
    ffplan.train(design, "llama3-8b", **plan)
    again, fresh = (ffplan.train(item, "llama3-8b", **plan) for item in (design, "fire-flyer-2"))
    assert plain(again) == plain(fresh)
    assert again.catalog  # the files read are listed, although its machine was made before


def test_an_assessment_is_made_once_for_a_design() -> None:
    design = ffplan.load("fire-flyer-2")
    found = ffplan.assess(design)
    assert ffplan.assess(design) is found
    other = design.vary({"nodes[0].count": 640})
    assert ffplan.assess(other) is not found
    design.resolved = other.resolved
    assert plain(ffplan.assess(design).fabric) == plain(ffplan.assess(other).fabric)


@pytest.mark.parametrize("plan", [{}, {"offload": "optimizer"}, {"zero": 3}, {"pipeline": 2, "stack": "meta-2024"}])
def test_gains_of_one_plan_are_those_that_it_has_among_others(plan: dict[str, Any]) -> None:
    """One plan is timed on all faster machines in one call, several on one machine after the other."""
    design, fields = ffplan.load("hpn-dual-plane"), {**PLAN, **plan}
    alone = ffplan.train(design, "llama3-8b", **fields).rows[0]
    among = ffplan.train(design, "llama3-8b", **{**fields, "gpus": [128, 256]}).rows[1]
    assert [gain.faster for gain in alone.gains] == [gain.faster for gain in among.gains]
    assert alone.path_lost == among.path_lost
    assert alone.step_s == among.step_s
