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


OWN = """kind: training-cases
id: own
name: own runs
source: {title: ours, date: "2026-11", grade: measured, status: V}
tables:
  - id: a
    system: {server: hgx-h100-8nic}
    model: llama3-8b
    plan: {zero: 1, sequence: 4096}
    columns: [gpus, batch, tensor, pipeline, micro_batch, seconds]
    rows:
"""
RUN = "      - [8, 16, 1, 1, 1, 1.0]\n"


def own_runs(tmp_path: Path, rows: str, *changes: tuple[str, str]) -> str:
    text = OWN + rows
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "own.yaml").write_text(text)
    return str(tmp_path / "own.yaml")


def test_copies_of_one_run_determine_no_three_constants(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    file, folder = own_runs(tmp_path, RUN * 5), tmp_path / "parts"
    run = ffplan("model calibrate h100-sxm-80gb --cases", file, "--write", str(folder))
    assert (run.code, run.out) == (2, "")
    assert "1 different row cannot tell matrix, memory, kernel" in run.err
    assert not folder.exists()
    alone = ffplan("model calibrate h100-sxm-80gb --only matrix --cases", file, "-f", "json")
    assert [item["name"] for item in json.loads(alone.out)["constants"]] == ["matrix"]


def test_what_runs_do_not_determine_stays_and_is_said(tmp_path: Path) -> None:
    """Runs of one model at nearly one size of a rank: they tell how fast it is, and not by which of three constants."""
    pytest.importorskip("scipy")
    rows = RUN + "      - [8, 32, 1, 1, 1, 1.98]\n      - [8, 64, 1, 1, 1, 3.94]\n      - [16, 64, 1, 1, 1, 2.0]\n"
    run = ffplan("model calibrate h100-sxm-80gb -f json --cases", own_runs(tmp_path, rows))
    assert run.code == 0, run.err
    report = json.loads(run.out)
    assert [item["name"] for item in report["constants"]] == ["matrix"]
    stays = sorted(text for text in report["assumptions"] if "do not determine" in text)
    assert stays == [
        "These rows do not determine `kernel`: it stays at 12 us.",
        "These rows do not determine `memory`: it stays at 34.4 %.",
    ]
    assert report["after"] < 0.03


def test_a_file_counts_once(tmp_path: Path) -> None:
    file = own_runs(tmp_path, RUN)
    for command in ("model calibrate h100-sxm-80gb --only matrix", "model accuracy training"):
        run = ffplan(command, "--cases", file, "--cases", file)
        assert (run.code, run.out) == (2, "")
        assert "two files of cases have the id `own`" in run.err


COLUMNS = "tensor, pipeline, micro_batch, seconds]"


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("tensor, pipeline, micro_batch, micro_batch]", "no column was measured; the column `micro_batch` is listed"),
        ("tensor, pipeline, seconds, seconds]", "the column `seconds` is listed twice"),
        ("tensor, pipeline, batch, seconds]", "the column `batch` is listed twice"),
        ("batch, pipeline, micro_batch, batch]", "no column was measured; the column `batch` is listed twice"),
    ],
)
@pytest.mark.parametrize(
    "command", ["model calibrate h100-sxm-80gb", "model accuracy training", "model accuracy memory"]
)
def test_columns_that_are_doubled_or_missing_are_named(command: str, columns: str, words: str, tmp_path: Path) -> None:
    run = ffplan(command, "--cases", own_runs(tmp_path, RUN, (COLUMNS, columns)))
    assert run.code == 2
    assert words in run.err


@pytest.mark.parametrize(
    ("rate", "fits"), [(8192, True), (7500, True), (8960, True), (7400, False), (5000, False), (9100, False)]
)
@pytest.mark.parametrize("command", ["model calibrate h100-sxm-80gb --only matrix", "model accuracy training"])
def test_columns_that_contradict_each_other_are_refused(command: str, rate: int, fits: bool, tmp_path: Path) -> None:
    """16 x 4,096 tokens in 1 s on 8 GPUs are 8,192 tokens/s each; a tenth is between 7,447 and 9,011."""
    row = RUN.replace("1.0]", f"1.0, {rate}]")
    run = ffplan(command, "--cases", own_runs(tmp_path, row, ("seconds]", "seconds, tokens_s_gpu]")))
    assert run.code == (0 if fits else 2), run.err
    assert ("they differ by" in run.err and "own.yaml:12:" in run.err) is not fits


def test_runs_without_a_stack_are_what_train_predicts_under_the_usual_one(tmp_path: Path) -> None:
    """Before a calibration and after it, and the report of accuracy says which stack that is."""
    pytest.importorskip("scipy")
    file, parts, plan = own_runs(tmp_path, RUN), tmp_path / "parts", tmp_path / "plan.yaml"
    plan.write_text("kind: training-plan\nzero: 1\nsequence: 4096\nmicro_batch: 1\nbatch: 16\n")
    train = ("train superpod-h100-4su --model llama3-8b --gpus 8 --stack nemo-2025 -f json --plan", str(plan))
    accuracy = ("model accuracy training -f json --cases", file)
    own = ("--catalog", str(parts))
    assert ffplan("model calibrate h100-sxm-80gb --only matrix --cases", file, "--write", str(parts)).code == 0
    for more in ((), own):
        report = json.loads(ffplan(*accuracy, *more).out)
        step = json.loads(ffplan(*train, *more).out)["rows"][0]["step_s"]
        assert report["rows"][0]["model"] == pytest.approx(step, rel=1e-9)
    assert step == pytest.approx(1.0, rel=1e-3)
    assert report["assumptions"] == [
        "Runs of `own` name no `stack` in their plan; they are replayed under `nemo-2025`, as most published runs on "
        "the accelerator: `train --stack nemo-2025` predicts the same."
    ]
    assert "they are replayed under" in " ".join(ffplan("model accuracy training --cases", file).out.split())


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
    assert "cannot tell matrix_fp8" in blind.err


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
