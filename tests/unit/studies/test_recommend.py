"""Recommendations: the smallest size that meets a target, limits, near misses, files, and bad requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.store import Catalog
from ffplan.studies.first_designs import IDEAS
from ffplan.studies.recommend import ClusterSearch, Target, recommend
from ffplan.studies.recommendation import spread
from tests.support import ffplan, valid

if TYPE_CHECKING:
    from pathlib import Path

ASKED = ("recommend", "--model", "llama3-8b", "--tokens", "1T", "--days", "30")


def quiet(words: str) -> None:
    """Take what is tried, and say nothing."""


def target(**changed: object) -> Target:
    fields = {"model": "llama3-8b", "tokens": 1e12, "days": 30.0, "capex": None, "watts": None, "excluded": ()}
    fields |= {"allowed": ("h100-sxm-80gb",), "book": "usd-2026", "pue": 1.25}
    return Target(**(fields | changed))  # type: ignore[arg-type]


def test_a_node_fewer_is_too_slow() -> None:
    """Against every size around the one that is recommended, tried one by one."""
    wanted, catalog = target(), Catalog()
    found = recommend(wanted, catalog, quiet)
    full = next(item for item in found.meet if item.built.idea is IDEAS[0])
    nodes = full.built.assessment.nodes["compute"]
    search = ClusterSearch(wanted, catalog, "h100-sxm-80gb", quiet)
    fewer = search.tried(IDEAS[0], nodes - 1)
    assert full.days <= 30
    assert fewer is None or fewer.days > 30
    assert found.patient is not None
    assert found.patient.days <= 33
    assert found.patient.capex < full.capex
    assert [item.capex for item in found.meet] == sorted(item.capex for item in found.meet)


def test_limits_and_what_breaks_them() -> None:
    cheap = recommend(target(capex=1e6, watts=1e4), Catalog(), quiet)
    assert cheap.meet == []
    assert {item.accelerator for item in cheap.miss} == {"h100-sxm-80gb"}


def test_spread_of_a_time() -> None:
    """A mean absolute error of 10 %: sigma 0.1253, and 1.2816 of it at the ninetieth percentile."""
    assert spread(0.1) == pytest.approx(1.1742, abs=1e-4)
    assert spread(0.0) == 1.0


def test_the_command(tmp_path: Path) -> None:
    run = ffplan(*(*ASKED, "-a", "h100-sxm-80gb", "--best", "2"), *("--folder", str(tmp_path), "-f", "json"))
    assert run.code == 0, run.err
    found = valid(run.out, "recommendation")
    designs = json.loads(run.out)["designs"]
    assert found["left_out"] == []
    assert len(designs) == 2
    assert all(item["days_p10"] < item["days"] <= 30 < item["days_p90"] for item in designs)
    for item in designs:
        checked = ffplan("check", item["file"])
        assert checked.code == 0, checked.out
        cost = json.loads(ffplan("cost", item["file"], "--draws", "0", "-f", "json").out)
        assert cost["bom"]["total"] == item["capex"]
    again = ffplan(*(*ASKED, "-a", "h100-sxm-80gb", "--best", "2"), "--folder", str(tmp_path))
    assert (again.code, "exists already" in again.err) == (2, True)


def test_nothing_within_the_limits() -> None:
    run = ffplan(*(*ASKED, "-a", "h100-sxm-80gb"), "--capex", "$1M")
    assert run.code == 1
    assert "No design trains llama3-8b on 1 T tokens in 30 days within the limits." in run.out
    assert "capex" in run.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "llama3-9b", "--tokens", "1T", "--days", "30"), "did you mean `llama3-8b`"),
        (("--model", "vgg16", "--tokens", "1T", "--days", "30"), "name a transformer"),
        ((*ASKED[1:], "--capex", "3 CNY"), "--capex is in CNY"),
        ((*ASKED[1:], "-a", "h101"), "h101"),
        ((*ASKED[1:], "--tokens", "many"), "tokens"),
        ((*ASKED[1:], "-a", "h100-sxm-80gb", "--folder", "/nowhere"), "there is no folder /nowhere"),
    ],
)
def test_bad_requests(arguments: tuple[str, ...], words: str) -> None:
    run = ffplan("recommend", *arguments)
    assert (run.code, words in run.err) == (2, True), run.err
