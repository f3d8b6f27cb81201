"""A day of load: free blocks and nodes to rent against brute force, hours of a fleet by hand, and wrong files."""

from __future__ import annotations

import json
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan import wire
from ffplan.base.errors import InputError
from ffplan.catalog.prices import RentBook
from ffplan.catalog.store import Catalog
from ffplan.inputs.requests import read_hours
from ffplan.results.fleet import FreeNodes
from ffplan.studies.fleet.report import _free_block, _reserved_nodes
from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = st.lists(st.integers(0, 6), min_size=1, max_size=8)
DAY = [310, 220, 160, 130, 120, 140, 210, 340, 560, 800, 930, 980, 960, 990, 1040, 1060, 1020, 950, 880, 850, 830, 760]
DAY += [620, 450]


@given(COUNTS)
def test_the_free_block_has_most_node_hours(free: list[int]) -> None:
    hours = len(free)
    areas = {
        (start, length): length * min(free[(start + turn) % hours] for turn in range(length))
        for start in range(hours)
        for length in range(1, hours + 1)
    }
    found = _free_block(free)
    if not max(areas.values()):
        assert found is None
        return
    assert found is not None
    assert areas[found.from_hour, found.hours] == found.nodes * found.hours == max(areas.values())


def test_the_free_block_goes_around_midnight() -> None:
    assert _free_block([3, 2, 0, 0, 1, 3]) == FreeNodes(nodes=2, from_hour=5, hours=3)
    assert _free_block([2] * 24) == FreeNodes(nodes=2, from_hour=0, hours=24)
    assert _free_block([0, 0]) is None


@given(COUNTS, st.floats(0.1, 3.0), st.floats(0.1, 3.0))
def test_no_other_number_of_reserved_nodes_is_cheaper(nodes: list[int], committed: float, hourly: float) -> None:
    def cost(kept: int) -> float:
        return committed * kept * len(nodes) + hourly * sum(max(count - kept, 0) for count in nodes)

    kept = _reserved_nodes(nodes, committed, hourly)
    assert cost(kept) == pytest.approx(min(map(cost, range(8))))


def test_hours_of_a_fleet_by_hand(tmp_path: Path) -> None:
    """Copies follow from the rate of each hour, and the rent of a month from offers of the catalogue."""
    file = tmp_path / "day.csv"
    file.write_text("hour,requests\n" + "".join(f"{hour},{count}\n" for hour, count in enumerate(DAY)))
    asked: tuple[str, ...] = (
        "recommend",
        "--model",
        "llama3.1-8b",
        "--serve",
        "40M requests a day",
        "--isl",
        "1024",
        "--osl",
        "256",
    )
    asked += ("--ttft", "2s", "-a", "h200-sxm")
    run = ffplan(*asked, "--day", str(file), "-f", "json")
    report = json.loads(run.out)
    (design,) = report["designs"]
    day, per_node = design["day"], 8
    assert report["peak_over_mean"] == pytest.approx(1060 * 24 / sum(DAY))
    assert sum(hour["rate_s"] for hour in day["hours"]) * 3600 == pytest.approx(40e6)
    copy = design["rate_s"] / design["copies"]
    per_copy = design["plan"]["gpus"]
    for hour in day["hours"]:
        assert hour["copies"] == ceil(hour["rate_s"] / copy - 1e-9)
        assert hour["nodes"] == ceil(hour["copies"] / (per_node // per_copy))
    nodes = [hour["nodes"] for hour in day["hours"]]
    assert max(nodes) == design["nodes"] - design["spare_nodes"]
    assert day["used_share"] == pytest.approx(sum(nodes) / 24 / design["nodes"])
    ways = {rent["way"]: rent for rent in day["rents"]}
    assert all(first["month"] <= second["month"] for first, second in pairwise(day["rents"]))
    book = Catalog().entry("rents-2026").part
    assert isinstance(book, RentBook)
    price = book.offers[ways["on-demand"]["hourly_offer"]].price.value
    assert ways["on-demand"]["month"] == pytest.approx(price * per_node * sum(nodes) / 24 * 730)
    assert ways["mixed"]["month"] == day["rents"][0]["month"]
    for loss in design["losses"]:
        whole = design["nodes"] - loss["nodes"]
        assert loss["copies"] == min(loss["nodes"] * (per_node // per_copy), design["copies"])
        assert loss["kept"] == pytest.approx(min(whole * (per_node // per_copy) * copy / report["peak_rate_s"], 1))
        assert loss["requests"] == pytest.approx(design["concurrency"] * loss["copies"] / design["copies"])
    assert [loss["part"] for loss in design["losses"]][::3] == ["node"]
    screen = " ".join(ffplan(*asked, "--day", str(file)).out.split())
    assert "busiest at 15:00, 1.66 x the mean" in screen


@pytest.mark.parametrize(("name", "rate", "rack"), [("gb200-gpu", "30000/s", 18), ("b200", "60000/s", 2)])
def test_a_leaf_takes_the_nodes_that_are_wired_to_it(tmp_path: Path, name: str, rate: str, rack: int) -> None:
    """And a rack of NVL72 all its 18 trays; of air-cooled nodes as many as its power allows."""
    words = (
        f"recommend --model llama3.1-8b --serve {rate} --isl 1024 --osl 256 --ttft 2s -a {name} --format json --full"
    )
    run = ffplan(*words.split(), "--folder", str(tmp_path))
    (design,) = json.loads(run.out)["designs"]
    taken = {loss["part"]: loss["nodes"] for loss in design["losses"]}
    graph = wire(design["file"])
    leaves = [node for node, fields in graph.nodes(data=True) if fields["role"] == "leaf"]
    hosts = [len({graph.nodes[near].get("host") for near in graph.neighbors(leaf)} - {None}) for leaf in leaves]
    assert len(leaves) > 1
    assert taken["leaf switch"] == max(hosts)
    assert taken["rack"] == rack


def test_hours_are_read_by_column_or_by_line() -> None:
    lines = "".join(f"{count}\n" for count in DAY)
    assert read_hours(lines, "day") == read_hours(
        "requests,hour\n" + "".join(f"{count},{hour}\n" for hour, count in reversed(list(enumerate(DAY)))), "day"
    )
    timed = "time,requests,errors\n" + "".join(f"2026-11-02 {hour:02d}:00,{DAY[hour]},0\n" for hour in range(24))
    assert read_hours(timed, "day") == read_hours(lines, "day")
    clock = "hour,requests\n" + "".join(f"{hour:02d}:00,{DAY[hour]}\n" for hour in reversed(range(24)))
    assert read_hours(clock, "day") == read_hours(lines, "day")
    assert len(read_hours(lines * 7, "week")) == 168


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("", "hour 0 is missing", 1),
        ("1\n" * 23, "hour 23 is missing", 23),
        ("1\n" * 25, "hour 25 is missing", 25),
        ("1\n" * 169, "169 hours", 169),
        ("0\n" * 24, "no hour has a request", 24),
        ("1\n-2\n", "`-2` is not a number of requests", 2),
        ("1\nnan\n", "`nan` is not a number of requests", 2),
        ("1,2\n", "2 values", 1),
        ("hour,load\n0,1\n", "no column `requests`", 1),
        ("hour,requests\n0,1\n0,2\n", "hour 0 is stated twice", 3),
        ("hour,requests\n168,1\n", "`168` is not an hour", 2),
        ("hour,requests\n1\n", "1 values", 2),
    ],
)
def test_wrong_hours_are_located(text: str, message: str, line: int) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        read_hours(text, "day.csv")
    (finding,) = refusal.value.findings
    assert (finding.rule, finding.line) == ("file-hours", line)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--serve 5/s --day x --peak 3x --ttft 2s", "--day includes a peak; leave --peak out"),
        ("--tokens 1T --days 30 --day x", "--day goes with --serve"),
        ("--serve 5/s --day missing.csv --ttft 2s", "missing.csv"),
    ],
)
def test_a_day_has_a_peak_of_its_own(words: str, message: str) -> None:
    run = ffplan("recommend", "--model", "llama3.1-8b", *words.split())
    assert run.code == 2
    assert message in run.err
