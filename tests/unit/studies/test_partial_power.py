"""A power that is not wholly known is a least one in every report, and decides nothing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.support import ffplan, overlay_part

if TYPE_CHECKING:
    from pathlib import Path

MAXIMUM = "  maximum: {value: 10200 W, source: epoch}\n"
OTHER = (
    '  other: {value: 2000 W, low: 1000 W, high: 3000 W, source: recalled, note: "four NVSwitches, fans, local disks'
)
POD = "superpod-h100-4su"


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """Return a folder whose H100 chassis has no power."""
    overlay_part(tmp_path, "hgx-h100-8nic", (MAXIMUM, ""), (f'{OTHER}, conversion losses"}}\n', ""))
    return str(tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        f"design {POD}",
        f"cost {POD} --draws 0",
        f"design {POD} --section whole",
        f"cost {POD} --draws 0 --section power",
        f"compare {POD} superpod-b200-4su --draws 0",
    ],
)
def test_a_partial_peak_is_printed_as_a_least_one(command: str, bare: str) -> None:
    for least in (True, False):
        run = ffplan(*command.split(), *(("--catalog", bare) if least else ()))
        text = " ".join(run.out.split())
        assert ("at least" in text) == least, text
        peaks = re.findall(r"(at least )?[0-9.,]+ [kM]W", text)
        assert peaks


def test_no_comparison_ranks_by_a_partial_peak(bare: str) -> None:
    run = ffplan(f"compare {POD} superpod-b200-4su --draws 0 --catalog {bare}")
    (line,) = [line for line in run.out.splitlines() if "facility peak" in line]
    assert "%" not in line
    assert "x" not in line.split("kW")[-1]


def test_no_wish_for_power_is_met_by_one_that_is_not_known(bare: str, tmp_path: Path) -> None:
    asked = ("init", "--gpus", "64", "--accelerator", "h100-sxm-80gb", "--folder", str(tmp_path / "out"))
    free = ffplan(*asked, "--catalog", bare)
    assert free.code == 0, free.err
    assert "at least" in free.out
    bound = ffplan(*asked, "--power", "10MW", "--catalog", bare)
    assert bound.code != 0
    assert "no power of `hgx-h100-8nic`" in " ".join(f"{bound.out} {bound.err}".split())


def test_tokens_of_a_megawatt_need_the_whole_power(bare: str) -> None:
    asked = ("serve", POD, "-m", "llama3.1-70b", "-c", "8", "-f", "json")
    for known, folder in ((True, ()), (False, ("--catalog", bare))):
        row = json.loads(ffplan(*asked, *folder).out)["rows"][0]
        assert (row["output_tokens_s_mw"] is not None) == known


def test_no_recommendation_rests_on_a_partial_peak(bare: str) -> None:
    asked = ("recommend", "--model", "llama3-8b", "--tokens", "1T", "--days", "30", "-a", "h100-sxm-80gb")
    rest = ("--chance", "0.5", "--catalog", bare, "-f", "json")
    found = json.loads(ffplan(*asked, *rest).out)
    assert found["designs"]
    assert all(row["missing_power"] == ["hgx-h100-8nic"] for row in found["designs"])
    limited = json.loads(ffplan(*asked, *rest, "--power", "50MW").out)
    assert limited["designs"] == []
    assert limited["unmeasured"]


def test_a_fleet_for_a_load_has_a_least_peak_and_wins_nothing_by_it(bare: str) -> None:
    load = "--serve 5/s --isl 256 --osl 64 --ttft 2s --tpot 50ms"
    asked = ("recommend", "--model", "llama3.1-8b", *load.split(), "-a", "h100-sxm-80gb", "--catalog", bare)
    found = json.loads(ffplan(*asked, "-f", "json").out)
    assert {(row["unrated"][0], row["output_tokens_s_mw"]) for row in found["designs"]} == {
        ("`power.other` of `hgx-h100-8nic`", None)
    }
    assert re.search(r"Power +at least [0-9.]+ kW at the peak: no `power.other`", ffplan(*asked).out)
    for more in (("--aim", "power"), ("--power", "50MW")):
        run = ffplan(*asked, *more)
        assert run.code == 1
        assert "its power is unknown: `power.other` of `hgx-h100-8nic`" in " ".join(run.out.split())


def test_designs_that_serve_side_by_side_are_not_compared_by_a_partial_peak(bare: str) -> None:
    asked = (
        "compare",
        POD,
        "superpod-b200-4su",
        "--serve",
        "--model",
        "llama3.1-70b",
        "--tpot",
        "50ms",
        "--catalog",
        bare,
    )
    sides = json.loads(ffplan(*asked, "-f", "json").out)["sides"]
    assert [side["output_tokens_s_mw"] is None for side in sides] == [True, False]
    assert " unknown\n" in ffplan(*asked).out
