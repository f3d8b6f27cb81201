"""Files of measured training runs and calibration, as a user meets them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.support import ROOT, ffplan, valid
from tests.unit.validation.test_training import RUNS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.deep
def test_training_and_memory_are_replayed(tmp_path: Path) -> None:
    run = ffplan("model accuracy", "training", "--format", "json", "--max-mape", "10")
    assert run.code == 0
    report = valid(run.out, "accuracy")
    assert report["subject"] == "training"
    kinds = report["kinds"]
    assert isinstance(kinds, list)
    assert {item["name"] for item in kinds} == {"predicted", "fitted", "assumed", "arithmetic"}
    valid(ffplan("model accuracy", "memory", "--format", "json", "--max-mape", "4").out, "accuracy")
    file = tmp_path / "mine.yaml"
    file.write_text(RUNS)
    own = json.loads(ffplan("model accuracy", "training", "--cases", str(file), "--format", "json").out)
    assert [row["gpus"] for row in own["rows"]] == [8, 32]
    assert max(len(line) for line in ffplan("model accuracy", "training", "--cases", str(file)).out.splitlines()) <= 80


CASES = str(ROOT / "catalogs" / "measurements" / "training" / "simumax-b200.yaml")


def test_calibration_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    fast = tmp_path / "fast.yaml"
    text = (ROOT / "catalogs" / "measurements" / "training" / "simumax-b200.yaml").read_text()
    fast.write_text(re.sub(r", [0-9.]+\]$", ", 0.001]", text, flags=re.MULTILINE))
    assert (
        "--launches has no effect with --only"
        in ffplan("model calibrate b200 --cases", CASES, "--only", "matrix", "--launches").err
    )
    assert "leave out --units" in ffplan("model calibrate", "b200", "--cases", CASES, "--units", "99").err
    cases = (ROOT / "catalogs" / "measurements" / "training" / "simumax-b200.yaml").read_text()
    other = tmp_path / "other.yaml"
    other.write_text(cases.replace("server: hgx-b200-8nic", "server: hgx-b200-8nic, accelerator: b300"))
    options = ("--start", "b200", "--units", "99", "--only", "matrix", "--write", str(tmp_path))
    run = ffplan("model calibrate", "b300", "--cases", str(other), *options)
    assert run.code == 0, run.err
    assert "units: {value: 99" in (tmp_path / "b300.yaml").read_text()


def test_runs_without_a_stack_are_replayed_under_one_that_the_report_names(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    file = tmp_path / "mine.yaml"
    file.write_text(RUNS)
    fit = ("model calibrate", "a100-sxm-40gb", "--only", "matrix", "-f", "json", "--cases", str(file))
    (assumption,) = json.loads(ffplan(*fit).out)["assumptions"]
    assert assumption.startswith("Runs of `mine` name no `stack` in their plan; they are replayed under `")
    file.write_text(RUNS.replace("recompute: full", "recompute: full, stack: megatron-deepspeed-2023"))
    assert json.loads(ffplan(*fit).out)["assumptions"] == []


def test_calibration_writes_a_catalogue_file(tmp_path: Path) -> None:
    """Halved times: twice the matrix rate, and an overlay that the next run takes up."""
    pytest.importorskip("scipy")
    folder = tmp_path / "own"
    run = ffplan("model calibrate b200 --only matrix,kernel --format json --cases", CASES, "--write", str(folder))
    assert run.code == 0, run.err
    report = valid(run.out, "calibration")
    constants = report["constants"]
    assert isinstance(constants, list)
    assert [item["name"] for item in constants] == ["matrix", "kernel"]
    assert report["after"] <= report["before"] + 0.005  # type: ignore[operator]
    shown = ffplan("model accuracy training --cases", CASES, "--catalog", str(folder), "--format", "json")
    assert json.loads(shown.out)["total"]["mape"] == pytest.approx(report["after"], rel=1e-3)
    assert ffplan("catalog", "show", "b200", "--catalog", str(folder)).code == 0
    again = ffplan(
        "model calibrate b200 --only matrix --cases", CASES, "--catalog", str(folder), "--write", str(folder)
    )
    assert again.code == 0, again.err
    assert max(len(line) for line in again.out.splitlines()) <= 80
    lost = ffplan("model calibrate", "b200", "--cases", CASES, "--write", str(folder))
    assert (lost.code, lost.out) == (2, "")
    assert "is there already and would be lost" in lost.err
    plain = tmp_path / "plain"
    plain.write_text("")
    nowhere = ffplan("model calibrate", "b200", "--cases", CASES, "--write", str(plain))
    assert (nowhere.code, nowhere.out) == (2, "")
    assert "is no folder to write into" in nowhere.err
    assert ffplan("model calibrate", "b200", "--cases", CASES, "--only", "").code == 2
    blind = ffplan("model calibrate", "b200", "--cases", CASES, "--only", "matrix_fp8")
    assert (blind.code, blind.out) == (2, "")
    assert "these rows cannot tell matrix_fp8" in blind.err


def test_every_row_counts_with_the_first_measure_that_it_has(tmp_path: Path) -> None:
    """Four rows with a measure each: all are fitted, scored and left out."""
    pytest.importorskip("scipy")
    file = tmp_path / "cases.yaml"
    file.write_text(
        "kind: training-cases\nid: own\nname: own\n"
        "source: {title: t, date: '2026-01', grade: measured, status: V}\ntables:\n"
        "  - id: a\n    system: {server: hgx-h100-8nic}\n    model: llama3-8b\n    plan: {zero: 1, recompute: full}\n"
        "    columns: [gpus, batch, seconds, tflops, mfu, tokens_s_gpu]\n    rows:\n"
        "      - [64, 512, 8.0, null, null, null]\n      - [64, 256, null, 500, null, null]\n"
        "      - [64, 128, null, null, 0.5, null]\n      - [64, 64, null, null, null, 9000]\n"
    )
    scored = ffplan("model accuracy", "training", "--cases", str(file), "--format", "json")
    assert json.loads(scored.out)["total"]["n"] == 4
    run = ffplan("model calibrate h100-sxm-80gb --cases", str(file), "--only", "matrix", "--format", "json")
    assert run.code == 0, run.err
    assert json.loads(run.out)["rows"] == 4
    assert json.loads(run.out)["before"] == pytest.approx(json.loads(scored.out)["total"]["mape"])
    assert "for a rate, measured over model" in ffplan("model accuracy", "training", "--cases", str(file)).out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("h100-sxm-80gb", "--cases", CASES), "no timed run in these files has `h100-sxm-80gb`"),
        (("h1000", "--cases", CASES), "no accelerator `h1000`"),
        (("b200", "--cases", CASES, "--only", "matrices"), "no `matrices`"),
        (("b200", "--cases", CASES, "--start", "vgg16"), "is a model, not an accelerator"),
    ],
)
def test_calibration_says_what_it_lacks(options: tuple[str, ...], words: str) -> None:
    run = ffplan("model calibrate", *options)
    assert run.code == 2
    assert words in run.err


@pytest.mark.deep
def test_one_source_left_out(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    names = ("torchtitan-h100", "dgxc-gb200")
    files = [str(ROOT / "catalogs" / "measurements" / "training" / f"{name}.yaml") for name in names]
    run = ffplan(
        "model accuracy training --leave-one-out source --cases", files[0], "--cases", files[1], "--format", "json"
    )
    assert run.code == 0, run.err
    report = valid(run.out, "leave-one-out")
    rows = report["rows"]
    assert isinstance(rows, list)
    found = {row["source"]: row for row in rows}
    assert (found["dgxc-gb200"]["fitted_on"], found["torchtitan-h100"]["fitted_on"]) == (12, 9)  # each by the other
    assert 0.02 < found["dgxc-gb200"]["mape"] < 0.5
    assert report["mean"] == pytest.approx((found["dgxc-gb200"]["mape"] + found["torchtitan-h100"]["mape"]) / 2)
    assert report["by"] == "source"
    assert ffplan("model accuracy", "training", "--leave-one-out", "source", "--max-mape", "5").code == 2
    assert ffplan("model accuracy", "training", "--leave-one-out", "row").code == 2


def test_constants_that_stand_on_a_bound_or_miss_the_runs_are_written_on_request_only(tmp_path: Path) -> None:
    """Seconds over 2.1 push the matrix rate up, and leave the rest unexplained; the report still shows the fit."""
    pytest.importorskip("scipy")
    cases = (ROOT / "catalogs" / "measurements" / "training" / "simumax-b200.yaml").read_text()
    fast = tmp_path / "fast.yaml"
    seconds = re.compile(r"^(      - \[(?:\d+, ){7})([0-9.]+)", re.MULTILINE)
    fast.write_text(seconds.sub(lambda found: f"{found[1]}{float(found[2]) / 2.1:.5f}", cases))
    folder = tmp_path / "own"
    options = ("calibrate", "b200", "--only", "matrix", "--cases", str(fast), "--write", str(folder))
    refused = ffplan(*options)
    assert refused.code == 1
    assert "Fitted constants" in refused.out or "matrix" in refused.out
    assert "nothing written" in refused.err
    assert "--force writes it anyway" in refused.err
    assert not folder.exists()
    forced = ffplan(*options, "--force")
    assert forced.code == 0, forced.err
    assert (folder / "b200.yaml").exists()
