"""Files of measured training runs and calibration, as a user meets them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.support import ROOT, ffplan, valid

if TYPE_CHECKING:
    from pathlib import Path

RUNS = """\
kind: training-cases
id: mine
name: our runs
source: {title: "our cluster", date: "2026-11", grade: measured, status: V}
tables:
  - id: gpt
    system: {server: dgx-a100-320gb}
    model: megatron-1.7b
    plan: {recompute: full}
    columns: [gpus, batch, micro_batch, tensor, data, pipeline, seconds]
    rows:
      - [8, 64, 2, 2, 2, 2, 2.5]
      - [32, 512, 16, 1, 32, 1, 3.5]
"""


def test_training_and_memory_are_replayed(tmp_path: Path) -> None:
    run = ffplan("accuracy", "training", "--format", "json", "--max-mape", "10")
    assert run.code == 0
    report = valid(run.out, "accuracy")
    assert report["subject"] == "training"
    kinds = report["kinds"]
    assert isinstance(kinds, list)
    assert {item["name"] for item in kinds} == {"predicted", "fitted"}
    valid(ffplan("accuracy", "memory", "--format", "json", "--max-mape", "4").out, "accuracy")
    file = tmp_path / "mine.yaml"
    file.write_text(RUNS)
    own = json.loads(ffplan("accuracy", "training", "--cases", str(file), "--format", "json").out)
    assert [row["gpus"] for row in own["rows"]] == [8, 32]
    assert max(len(line) for line in ffplan("accuracy", "training", "--cases", str(file)).out.splitlines()) <= 80


def test_heads_of_keys_may_be_a_column(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    rows = RUNS.replace("pipeline, seconds]", "pipeline, kv_heads, seconds]").replace(
        "2, 2, 2, 2.5]", "2, 2, 2, 8, 2.5]"
    )
    file.write_text(rows.replace("32, 1, 3.5]", "32, 1, 24, 3.5]"))
    done = ffplan("accuracy", "training", "--cases", str(file), "--format", "json")
    assert done.code == 0, done.err
    assert len(json.loads(done.out)["rows"]) == 2


def test_every_measure_is_told_from_the_same_step(tmp_path: Path) -> None:
    """Seconds, TFLOP/s, MFU and tokens of one run agree with one another."""
    file = tmp_path / "mine.yaml"
    text = RUNS.replace("pipeline, seconds]", "pipeline, seconds, tflops, mfu, tokens_s_gpu, memory_gib]")
    text = text.replace("2, 2.5]", "2, 2.5, 100, 0.3, 5000, null]").replace("1, 3.5]", "1, 3.5, null, null, null, 30]")
    file.write_text(text.replace("plan: {recompute: full}", "plan: {recompute: full}\n    flops: 6n"))
    rows = json.loads(ffplan("accuracy", "training", "--cases", str(file), "--format", "json").out)["rows"]
    model = {row["unit"]: row["model"] for row in rows if row["gpus"] == 8}
    assert model["tokens_s_gpu"] == pytest.approx(64 * 2048 / model["seconds"] / 8)
    assert model["mfu"] == pytest.approx(model["tflops"] / 312)
    assert len(rows) == 5
    sizes = json.loads(ffplan("accuracy", "memory", "--cases", str(file), "--format", "json").out)["rows"]
    assert [row["unit"] for row in sizes] == ["memory_gib"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 2, 2, 2, 1, 2.5]", "is not 8 accelerators"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 3, 2, 2, 2, 2.5]", "no whole number of micro-batches"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 2, 2, 2, 2]", "6 value(s) for 7 columns"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 2, 2, 2.5, 2, 2.5]", "`data` is no whole number"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 2, 2, null, 2, 2.5]", "`data` is no whole number"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 2, 2, 2, 2, 0]", "`seconds` is not above 0"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[56, 64, 2, 7, 4, 2, 2.5]", "7 does not divide 24 heads"),
        ("[32, 512, 16, 1, 32, 1, 3.5]", "[32, 512, 16, 1, 1, 32, 3.5]", "32 pipeline stages for 24 layers"),
        ("seconds]", "hours]", "`hours` is not a choice"),
        (", seconds]", "]", "no column was measured"),
        ("gpus, batch", "sequence, batch", "the column `gpus` is missing"),
        ("gpus, batch", "gpus, gpus", "`batch` is missing"),
        ("pipeline, seconds", "seconds, seconds", "a column stands there twice"),
        ("model: megatron-1.7b", "model: vgg16", "is no transformer"),
        ("    model: megatron-1.7b\n", "", "neither `model` nor `shape`"),
        ("server: dgx-a100-320gb", "server: mi300x-8nic", "nothing was calibrated"),
        ("kind: training-cases", "kind: communication-cases", "of kind `communication-cases`"),
        ("recompute: full", "recompute: full, chunks: 2", "`chunks` need several stages"),
        ("recompute: full", "recompute: full, shard: 3", "ZeRO over 3 ranks does not divide 2"),
        ("recompute: full", "recompute: full, expert: 2", "of a model without experts"),
        ("recompute: full", "recompute: full, offload: parameters", "offloaded parameters need ZeRO 3"),
        ("server: dgx-a100-320gb", "server: dgx-a100-320gb, gpus_per_node: 4", "`gpus_per_node` has no effect"),
        ("seconds]", "mfu]", "`mfu` is 2.5, more than the peak"),
    ],
)
def test_wrong_runs_are_located(tmp_path: Path, old: str, new: str, words: str) -> None:
    file = tmp_path / "mine.yaml"
    assert old in RUNS
    file.write_text(RUNS.replace(old, new))
    run = ffplan("accuracy", "training", "--cases", str(file))
    assert run.code == 2
    assert f"{file}:" in run.err
    assert words in run.err


CASES = str(ROOT / "catalogs" / "measurements" / "training" / "simumax-b200.yaml")


def test_calibration_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    fast = tmp_path / "fast.yaml"
    text = (ROOT / "catalogs" / "measurements" / "training" / "simumax-b200.yaml").read_text()
    fast.write_text(re.sub(r", [0-9.]+\]$", ", 0.001]", text, flags=re.MULTILINE))
    assert (
        "--launches has no effect with --only"
        in ffplan("calibrate b200 --cases", CASES, "--only", "matrix", "--launches").err
    )
    assert "leave out --units" in ffplan("calibrate", "b200", "--cases", CASES, "--units", "99").err
    cases = (ROOT / "catalogs" / "measurements" / "training" / "simumax-b200.yaml").read_text()
    other = tmp_path / "other.yaml"
    other.write_text(cases.replace("server: hgx-b200-8nic", "server: hgx-b200-8nic, accelerator: b300"))
    options = ("--start", "b200", "--units", "99", "--only", "matrix", "--write", str(tmp_path))
    run = ffplan("calibrate", "b300", "--cases", str(other), *options)
    assert run.code == 0, run.err
    assert "units: {value: 99" in (tmp_path / "b300.yaml").read_text()


def test_calibration_writes_a_catalogue_file(tmp_path: Path) -> None:
    """Halved times: twice the matrix rate, and an overlay that the next run takes up."""
    pytest.importorskip("scipy")
    folder = tmp_path / "own"
    run = ffplan("calibrate b200 --only matrix,kernel --format json --cases", CASES, "--write", str(folder))
    assert run.code == 0, run.err
    report = valid(run.out, "calibration")
    constants = report["constants"]
    assert isinstance(constants, list)
    assert [item["name"] for item in constants] == ["matrix", "kernel"]
    assert report["after"] <= report["before"] + 0.005  # type: ignore[operator]
    shown = ffplan("accuracy training --cases", CASES, "--catalog", str(folder), "--format", "json")
    assert json.loads(shown.out)["total"]["mape"] == pytest.approx(report["after"], rel=1e-3)
    assert ffplan("catalog", "show", "b200", "--catalog", str(folder)).code == 0
    again = ffplan("calibrate b200 --only matrix --cases", CASES, "--catalog", str(folder), "--write", str(folder))
    assert again.code == 0, again.err
    assert max(len(line) for line in again.out.splitlines()) <= 80
    lost = ffplan("calibrate", "b200", "--cases", CASES, "--write", str(folder))
    assert (lost.code, lost.out) == (2, "")
    assert "is there already and would be lost" in lost.err
    plain = tmp_path / "plain"
    plain.write_text("")
    nowhere = ffplan("calibrate", "b200", "--cases", CASES, "--write", str(plain))
    assert (nowhere.code, nowhere.out) == (2, "")
    assert "is no folder to write into" in nowhere.err
    assert ffplan("calibrate", "b200", "--cases", CASES, "--only", "").code == 2
    blind = ffplan("calibrate", "b200", "--cases", CASES, "--only", "matrix_fp8")
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
    scored = ffplan("accuracy", "training", "--cases", str(file), "--format", "json")
    assert json.loads(scored.out)["total"]["n"] == 4
    run = ffplan("calibrate h100-sxm-80gb --cases", str(file), "--only", "matrix", "--format", "json")
    assert run.code == 0, run.err
    assert json.loads(run.out)["rows"] == 4
    assert json.loads(run.out)["before"] == pytest.approx(json.loads(scored.out)["total"]["mape"])
    assert "for a rate, measured over model" in ffplan("accuracy", "training", "--cases", str(file)).out


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
    run = ffplan("calibrate", *options)
    assert run.code == 2
    assert words in run.err


def test_one_source_left_out(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    names = ("simumax-b200", "dgxc-gb200")
    files = [str(ROOT / "catalogs" / "measurements" / "training" / f"{name}.yaml") for name in names]
    run = ffplan("accuracy training --leave-one-out --cases", files[0], "--cases", files[1], "--format", "json")
    assert run.code == 0, run.err
    report = valid(run.out, "leave-one-out")
    rows = report["rows"]
    assert isinstance(rows, list)
    found = {row["source"]: row for row in rows}
    assert found["dgxc-gb200"]["mape"] < 0.08
    assert found["simumax-b200"]["mape"] is None
    assert "cannot tell" in found["simumax-b200"]["why"]
    assert ffplan("accuracy", "training", "--leave-one-out", "--max-mape", "5").code == 2
