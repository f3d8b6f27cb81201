"""`ffplan check` on parts, other files and folders; refused choices; completion of ids."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support import ROOT, ffplan

if TYPE_CHECKING:
    from pathlib import Path

SWITCH = ROOT / "catalogs" / "switches" / "nvidia" / "qm8700.yaml"


def test_a_part_is_checked_as_a_part(tmp_path: Path) -> None:
    assert "1 part checked: nothing found" in ffplan("check", str(SWITCH)).out
    broken = tmp_path / "qm8700.yaml"
    broken.write_text(SWITCH.read_text().replace("253 W", "253 GB"))
    done = ffplan("check", str(broken))
    assert done.code == 2
    assert "a power is wanted" in done.out
    assert "nodes" not in done.out  # no word of a design
    unknown = tmp_path / "x.yaml"
    unknown.write_text("kind: gpu\nid: x\n")
    assert "did you mean `accelerator`?" in ffplan("check", str(unknown)).out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("design: l40s-8-roce", "design: l40s-8-rock", "did you mean `l40s-8-roce`?"),
        ("train: llama3.1-70b", "train: llama3.1-71b", "did you mean `llama3.1-70b`?"),
        ("serve: llama3.1-8b", "serve: llama3.1-8b\n    engine: vlm", "did you mean"),
        ("train: llama3.1-70b", "train: resnet-50", "resnet-50 is no transformer"),
    ],
)
def test_names_of_a_fleet_are_looked_up(tmp_path: Path, old: str, new: str, said: str) -> None:
    fleet = (ROOT / "designs" / "fleets" / "two-sites.yaml").read_text()
    wrong = tmp_path / "fleet.yaml"
    wrong.write_text(fleet.replace(old, new))
    done = ffplan("check", str(wrong))
    assert done.code == 2
    assert said in done.out
    assert f"fleet.yaml:{fleet[: fleet.index(old)].count(chr(10)) + 1 + new.count(chr(10))}:" in done.out


def test_measured_cases_and_plans_are_checked_as_such(tmp_path: Path) -> None:
    cases = sorted((ROOT / "catalogs" / "measurements").glob("*/*.yaml"))[:1]
    plan = tmp_path / "plan.yaml"
    plan.write_text("kind: training-plan\ntensor: 8\n")
    done = ffplan("check", *map(str, cases), str(plan))
    assert (done.code, done.out) == (0, "1 case file, 1 plan checked: nothing found\n"), done.err
    plan.write_text("kind: training-plan\nrecompute: all\n")
    assert ffplan("check", str(plan)).code == 2


def test_the_last_line_counts_limits_that_hold(tmp_path: Path) -> None:
    """Those of a design and of its policy; one that cannot be checked does not hold."""
    design = tmp_path / "one.yaml"
    text = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text()
    for limits, words in (
        ("{capex: $60M, facility_peak: 3 MW}", "3 limits hold"),
        ("{capex: $6M, facility_peak: 3 MW}", "2 of 3 limits hold"),
        ("{run_days: 30, facility_peak: 1 MW}", "1 of 3 limits holds"),
    ):
        design.write_text(f"{text}\nlimits: {limits}\n")
        (tmp_path / "ffplan.toml").write_text('[limits]\nit_power = "2 MW"\n')
        assert ffplan("check", str(design)).out.splitlines()[-1].endswith(f"; {words}")
    assert "limit" not in ffplan("check", "superpod-h100-4su").out.splitlines()[-1]


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    for name in ("b", "a", ".git"):
        (tmp_path / name).mkdir()
    design = (ROOT / "designs" / "fire-flyer-2.yaml").read_text()
    (tmp_path / "a" / "one.yaml").write_text(design)
    (tmp_path / "b" / "qm8700.yml").write_text(SWITCH.read_text())
    (tmp_path / ".git" / "hidden.yaml").write_text("a: [")
    (tmp_path / "notes.txt").write_text("no design")
    done = ffplan("check", str(tmp_path), "--format", "json")
    report = json.loads(done.out)
    assert done.code == 0
    assert report["designs"] == [str(tmp_path / "a" / "one.yaml"), str(tmp_path / "b" / "qm8700.yml")]
    assert {item["file"] for item in report["findings"]} == {str(tmp_path / "a" / "one.yaml")}
    assert ffplan("check", str(tmp_path), "--fail-on", "info").code == 1
    (tmp_path / "b" / "broken.yaml").write_text("a: [")
    again = ffplan("check", str(tmp_path))
    assert again.code == 2
    assert "2 designs, 1 part checked: 1 error, 5 info" in again.out
    assert again.out == ffplan("check", str(tmp_path)).out


def test_a_folder_without_yaml_is_refused(tmp_path: Path) -> None:
    done = ffplan("check", str(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert "there is no YAML file in this folder" in done.err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("check fire-flyer-2 --format jsn", "ffplan check: --format: no `jsn`; did you mean `json`?"),
        (
            "design fire-flyer-2 --format sarif",
            "ffplan design: --format: no `sarif`; known choice: `csv`, `html`, `json`, ",
        ),
        ("catalog schema desing", "ffplan catalog schema: no `desing`; did you mean `design`?"),
        ("catalog list --format xml", "ffplan catalog list: --format: no `xml`; known choice: `json`, `table`"),
        (
            "fabric verify fire-flyer-2 --with opensn",
            "ffplan fabric verify: --with: no `opensn`; did you mean `opensm`?",
        ),
        (
            "fabric size -n 5 --switch qm9700 --rails 900",
            "ffplan fabric size: --rails: input should be less than or equal to 512",
        ),
    ],
)
def test_refused_values_read_like_our_other_errors(command: str, message: str) -> None:
    done = ffplan(command)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(message)
    assert "Value error" not in done.err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("ffplan train x --model llama-1", "llama-13b"),
        pytest.param("ffplan fabric size --switch qm9", "qm9700", marks=pytest.mark.deep),
        pytest.param("ffplan fabric size --prices usd", "usd-2024", marks=pytest.mark.deep),
        pytest.param("ffplan model calibrate accelerator h100-sxm-8", "h100-sxm-80gb", marks=pytest.mark.deep),
        ("ffplan check fire-flyer-n", "fire-flyer-next"),
    ],
)
def test_the_shell_completes_ids(words: str, found: str) -> None:
    count = str(len(words.split()) - 1)
    env = {"_FFPLAN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}
    code = "import sys; sys.argv = ['ffplan']; from ffplan.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **env}, timeout=60
    )
    assert found in done.stdout.split()


def test_books_that_extend_each_other_are_found(tmp_path: Path) -> None:
    book = "kind: price-book\nid: {}\nname: q\nvendor: me\ncurrency: USD\ndate: 2026-01\nextends: {}\n"
    tail = "sources: {s: {title: t, date: 2026-01, grade: estimate, status: R}}\nitems: {}\n"
    for one, other in (("qa", "qb"), ("qb", "qa"), ("qc", "nosuch")):
        (tmp_path / f"{one}.yaml").write_text(book.format(one, other) + tail)
    run = ffplan("check", str(tmp_path))
    assert run.code == 2
    assert run.out.count("[catalog-cycle]") + run.err.count("[catalog-cycle]") == 2
    assert "no price book `nosuch`" in run.out + run.err
