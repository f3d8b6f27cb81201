"""Nodes bought with fewer NICs than their server has: slots, price, power, fabric, and bad counts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ffplan.cost.bom import node_price, price
from ffplan.design.fewer_nics import spread_slots
from tests.support import ROOT, ffplan, wired

if TYPE_CHECKING:
    from pathlib import Path

POD = ROOT / "designs" / "superpod-h100-4su.yaml"


def with_count(folder: Path, nics: str) -> str:
    """Return a file of the design whose nodes have some NICs."""
    file = folder / f"nics-{nics}.yaml"
    file.write_text(POD.read_text().replace("count: 127,", f"count: 127, nics: {nics},"))
    return str(file)


def costed(file: str) -> dict[str, dict[str, float]]:
    run = ffplan("cost", file, "--draws", "0", "-f", "json")
    assert run.code == 0, run.err
    return json.loads(run.out)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("wanted", "slots"), [(8, (0, 1, 2, 3, 4, 5, 6, 7)), (4, (0, 2, 4, 6)), (3, (0, 2, 5)), (2, (0, 4)), (1, (0,))]
)
def test_slots_that_stay(wanted: int, slots: tuple[int, ...]) -> None:
    assert spread_slots(tuple(range(8)), wanted) == slots


def test_price_and_power_of_what_is_left_out(tmp_path: Path) -> None:
    """127 nodes without four ConnectX-7 each: 508 NICs off the price, and 127 x 4 x 25 W off the rated power."""
    whole, half = costed(str(POD)), costed(with_count(tmp_path, "4"))
    servers = [line for line in half["bom"]["lines"] if line["kind"] == "servers"]  # type: ignore[attr-defined]
    assert [(line["part"], line["quantity"]) for line in servers] == [("hgx-h100-8nic", 127), ("connectx-7-400g", -508)]
    assert servers[1]["total"] == -508 * servers[1]["unit_price"]
    assert half["bom"]["total"] == pytest.approx(sum(line["total"] for line in half["bom"]["lines"]))  # type: ignore[attr-defined]
    nic = next(p for p in whole["power"]["parts"] if p["name"] == "compute")  # type: ignore[attr-defined]
    fewer = next(p for p in half["power"]["parts"] if p["name"] == "compute")  # type: ignore[attr-defined]
    assert nic["rated_kw"] - fewer["rated_kw"] == pytest.approx(127 * 4 * 25e-3)


def test_the_price_of_a_node_is_without_them(tmp_path: Path) -> None:
    """`node_price`: four NICs off that of one node, at each end of the range, so that `compare` sets like by like."""
    four = with_count(tmp_path, "4")
    whole, half = (json.loads(ffplan("design", file, "-f", "json").out)["cost"] for file in (str(POD), four))
    nic = next(line for line in half["lines"] if line["part"] == "connectx-7-400g")
    assert whole["node_price"] - half["node_price"] == pytest.approx(4 * nic["unit_price"])
    assert whole["node_price_low"] - half["node_price_low"] == pytest.approx(4 * -nic["low"] / 508)
    assert whole["node_price_high"] - half["node_price_high"] == pytest.approx(4 * -nic["high"] / 508)


def test_a_node_without_a_price_has_none(tmp_path: Path) -> None:
    own = wired(with_count(tmp_path, "4"))
    plan = price(own.design, own.plan)
    assert plan is not None
    found = node_price(own.design, plan)
    assert found is not None
    server, nic = (own.design.prices.items[name].value for name in ("hgx-h100-8nic", "connectx-7-400g"))
    assert found[0] == server - 4 * nic
    assert node_price(own.design, replace(plan, lines=plan.lines[1:])) is None


def test_all_of_them_change_nothing(tmp_path: Path) -> None:
    one, two = (json.loads(ffplan("design", f, "-f", "json").out) for f in (str(POD), with_count(tmp_path, "8")))
    named = ("design", "catalog", "findings")  # these name the file
    assert {key: one[key] for key in one if key not in named} == {key: two[key] for key in two if key not in named}


def test_the_fabric_of_one_nic(tmp_path: Path) -> None:
    """127 endpoints at 32 downlinks a leaf: 4 leaves and 2 spines, in place of 32 and 16."""
    found = json.loads(ffplan("design", with_count(tmp_path, "1"), "-f", "json").out)
    switches = found["fabric"]["switches"]
    assert [switches[name] for name in ("leaf", "spine", "total")] == [4, 2, 6]
    assert any("7 NICs of each `hgx-h100-8nic` are left out" in text for text in found["assumptions"])


def test_more_than_there_are(tmp_path: Path) -> None:
    run = ffplan("design", with_count(tmp_path, "9"))
    assert (run.code, "has 8 NICs for this fabric, not 9" in run.err) == (2, True)


def test_phases_leave_the_same_nics_out(tmp_path: Path) -> None:
    """Two phases without a change of prices cost what the whole costs."""
    file = with_count(tmp_path, "4")
    whole = costed(file)["bom"]["total"]
    text = (tmp_path / "nics-4.yaml").read_text()
    phases = "\nphases:\n  - {name: a, after: 0 months, nodes: [64]}\n  - {name: b, after: 9 months, nodes: [127]}\n"
    (tmp_path / "phased.yaml").write_text(text + phases)
    assert costed(str(tmp_path / "phased.yaml"))["bom"]["total"] == pytest.approx(whole)
