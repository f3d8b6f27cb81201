"""Sweeps and recommendations from Python: what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

import ffplan
from ffplan.base.errors import UsageError

ASKED: dict[str, Any] = {"tokens": 1e12, "days": 30.0}
AXIS = {"site.pue": [1.1, 1.2]}


@pytest.mark.parametrize(
    ("model", "changed", "words"),
    [
        ("resnet-50", {}, "no transformer"),
        ("llama3-9b", {}, "did you mean"),
        ("llama3-8b", {"days": 0}, "tokens and days are above 0"),
        ("llama3-8b", {"tokens": -1}, "tokens and days are above 0"),
        ("llama3-8b", {"pue": 0}, "pue and best at least 1"),
        ("llama3-8b", {"best": 0}, "pue and best at least 1"),
        ("llama3-8b", {"aim": "cheap"}, "write one of capex, tco"),
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
        (AXIS, {"sample": 0}, "give at least 2"),
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
