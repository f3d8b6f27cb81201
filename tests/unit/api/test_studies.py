"""What the functions of studies return, keep and refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ffplan
from ffplan.base.errors import UsageError
from ffplan.base.plain import plain
from tests.support import ffplan as run

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


@pytest.mark.deep
def test_the_same_as_the_commands_print() -> None:
    found = ffplan.goodput("superpod-h100-4su", "llama3-70b", draws=0)
    same = ("goodput", "superpod-h100-4su", "-m", "llama3-70b", "--draws", "0", "-f", "json")
    printed = json.loads(run(*same).out)
    assert found.to_dict()["reliability"] == printed["reliability"]
    assert len(found.to_frame()) == len(printed["sizes"])
    stored = ffplan.storage("fire-flyer-2", "llama-13b", gpus=512)
    assert stored.burst is not None
    assert stored.storage.servers == 135
    assert ffplan.storage("fire-flyer-2").burst is None


def test_a_section_of_a_design_changes_it() -> None:
    design = ffplan.load("superpod-h100-4su")
    faster = design.vary({"reliability": {"restart": "standby"}})
    plain, quick = (ffplan.goodput(item, "llama3-70b", draws=0).reliability.goodput.likely for item in (design, faster))
    assert quick > plain


def test_a_convolutional_network_has_a_goodput() -> None:
    found = ffplan.goodput("superpod-h100-4su", "resnet-50", draws=0).reliability
    assert (found.unit, found.model) == ("images", "resnet-50")


@pytest.mark.parametrize(("arguments", "words"), [(("qm9700",), "is a switch, not a model"), ((None,), "no job")])
def test_what_is_refused(arguments: tuple[str | None], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ffplan.goodput("superpod-h100-4su", *arguments)
    with pytest.raises(UsageError, match="one job can span 1,016"):
        ffplan.goodput("superpod-h100-4su", "llama3-70b", gpus=2000)


ASKED: dict[str, Any] = {"tokens": 1e12, "days": 30.0}
AXIS = {"site.pue": [1.1, 1.2]}


@pytest.mark.parametrize(
    ("model", "changed", "words"),
    [
        ("resnet-50", {}, "not a transformer"),
        ("llama3-9b", {}, "did you mean"),
        ("llama3-8b", {"days": 0}, "days: `0`: give a number of at least 0.01"),
        ("llama3-8b", {"tokens": -1}, "tokens: `-1` is not a number of tokens"),
        ("llama3-8b", {"chance": 1.5}, "chance: `1.5`: give a number of at least 0.01 and at most 0.99"),
        ("llama3-8b", {"pue": 0}, "pue: `0`: give a number of at least 1"),
        ("llama3-8b", {"best": 0}, "best: `0`: give a whole number from 1"),
        ("llama3-8b", {"aim": "cheap"}, "aim: no `cheap`; did you mean `capex`"),
        ("llama3-8b", {"excluded": ("nonsense",)}, "the catalogue has no `nonsense`"),
        ("llama3-8b", {"allowed": ("h101",)}, "h101"),
    ],
)
def test_targets_that_are_refused(model: str, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ffplan.recommend(model, **(ASKED | changed))


@pytest.mark.parametrize(
    ("vary", "options", "words"),
    [
        (AXIS, {"pareto": {"cost.total": "minimum", "accelerators": "max"}}, "write min or max"),
        (AXIS, {"sample": 0}, "sample: `0`: give a whole number from 2"),
        (AXIS, {"metrics": ("cost.totl",)}, "did you mean"),
        ({"site.pu": [1.1]}, {}, "pue"),
    ],
)
def test_sweeps_that_are_refused(vary: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ffplan.sweep("pcie-a100-three-tier", vary, **options)


def test_nothing_in_a_list_is_null() -> None:
    found = ffplan.sweep("superpod-b200-4su", {"fabric.scalable_unit": [None, 32]}, metrics=("fabric.switches.total",))
    assert found.axes == {"fabric.scalable_unit": ["null", "32"]}
    assert found.reason == ["", ""]


@pytest.mark.deep
def test_a_recommendation() -> None:
    found = ffplan.recommend("llama3-8b", allowed=("h100-sxm-80gb",), capex=5e6, **ASKED)
    assert found.designs[0].accelerators == 8 * found.designs[0].nodes
    assert found.designs[0].capex <= 5e6
