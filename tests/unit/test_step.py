"""Hand-worked parts of a training step, and the files of training runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import numpy as np
import pytest

from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.perf.step import layer_forward, matrix_time, output_time, stage_time, step_time
from ffplan.perf.train import Plans, step_times
from tests.support import ROOT, ffplan, host_named

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
    recompute: full
    gradient_bytes: 4
    columns: [gpus, batch, micro, tensor, data, stages, seconds]
    rows:
      - [8, 64, 2, 2, 2, 2, 2.5]
      - [32, 512, 16, 1, 32, 1, 3.5]
"""


def test_tiles_of_a_matrix_product() -> None:
    """1,024 x 1,024: 64 tiles on 108 multiprocessors leave 44 idle; 2,048 x 13,824 are 16 x 108 tiles: 16 waves."""
    assert matrix_time(1024, 1024, 1000, 1e12, 108, 0) == pytest.approx(2 * 1024**2 * 1000 / 1e12 * 108 / 64)
    assert matrix_time(2048, 13824, 10, 1e12, 108, 1e-5) == pytest.approx(2 * 2048 * 13824 * 10 / 1e12 + 1e-5)


def test_layer() -> None:
    """No operations' time but memory's: 11 b a s^2 and 1.3 s b h (10 + 24) bytes."""
    moved = 11 * 2 * 16 * 1024**2 + 1.3 * 2 * 1024 * 1024 * 34
    assert layer_forward(2, 1024, 1024, 16, 4096, 1, 1e30, 1000, 108, 0) == pytest.approx(moved / 1e12)
    kernels = layer_forward(2, 1024, 1024, 16, 4096, 1, 1e30, 1e30, 108, 1e-5)
    assert kernels == pytest.approx(4e-5)


def test_output_layer() -> None:
    """Three kernels, and 14 bytes for each of 2,048 x 51,200 scores."""
    assert output_time(2048, 51200, 1024, 1e30, 1e30, 108, 1e-5) == pytest.approx(3e-5)
    assert output_time(2048, 51200, 1024, 1e30, 1000, 108, 0) == pytest.approx(14 * 2048 * 51200 / 1e12)


def test_stage_and_step() -> None:
    assert stage_time(10, 1e-3, 2e-3, 5e-4, 1e-3) == pytest.approx(12e-3)
    assert stage_time(10, 1e-3, 2e-3, 2e-3, 1e-3) == pytest.approx(21e-3)
    assert step_time(0.1, 0.01, 8, 4, 1, 0.5) == pytest.approx(11 * 0.11 + 0.5)
    assert step_time(0.1, 0.01, 8, 4, 3, 0.5) == pytest.approx(9 * 0.11 + 0.5)


def plans(count: int, **more: float) -> Plans:
    values = {
        "gpus": 8, "batch": 32, "micro": 2, "layers": 24, "hidden": 2048, "heads": 16, "sequence": 1024,
        "vocabulary": 51200, "tensor": 2, "data": 2, "stages": 2, "chunks": 1, **more,
    }  # fmt: skip
    return Plans(**{name: np.full(count, float(value)) for name, value in values.items()}, recompute="full",
                 gradient_bytes=4.0)  # fmt: skip


def test_plans_are_reckoned_one_by_one_and_together() -> None:
    library = Catalog().entry("nccl").part
    assert isinstance(library, Library)
    host = host_named("dgx-a100-320gb")
    one = step_times(plans(1), host, library)
    three = step_times(plans(3), host, library)
    assert three.step.tolist() == pytest.approx([one.step[0]] * 3)
    assert one.tensor[0] > 0
    alone = step_times(plans(1, gpus=2, tensor=1, data=1, stages=2), host, library)
    assert alone.tensor[0] == alone.gradients[0] == 0
    assert step_times(plans(1, layers=48), host, library).step[0] > 1.9 * one.step[0] - 2 * one.gradients[0]
    with pytest.raises(ValueError, match="no training rates"):
        step_times(plans(1), host_named("mi300x-8nic"), library)


def test_training_command(tmp_path: Path) -> None:
    run = ffplan("accuracy", "training", "--format", "json", "--max-mape", "10")
    assert run.code == 0
    report = json.loads(run.out)
    jsonschema.validate(report, json.loads((ROOT / "schema" / "accuracy.schema.json").read_text()))
    assert report["subject"] == "training"
    assert {item["name"] for item in report["kinds"]} == {"predicted", "fitted"}
    file = tmp_path / "mine.yaml"
    file.write_text(RUNS)
    own = json.loads(ffplan("accuracy", "training", "--cases", str(file), "--format", "json").out)
    assert [row["gpus"] for row in own["rows"]] == [8, 32]
    assert max(len(line) for line in ffplan("accuracy", "training", "--cases", str(file)).out.splitlines()) <= 80


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 2, 2, 2, 1, 2.5]", "do not multiply"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 3, 2, 2, 2, 2.5]", "no whole number of micro-batches"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 2, 2, 2, 2]", "6 value(s) for 7 columns"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[56, 64, 2, 7, 4, 2, 2.5]", "does not divide the heads"),
        ("[32, 512, 16, 1, 32, 1, 3.5]", "[32, 512, 16, 1, 1, 32, 3.5]", "more stages than layers"),
        ("seconds]", "hours]", "seconds"),
        (", seconds]", "]", "`seconds` is missing"),
        ("model: megatron-1.7b", "model: llama-13b", "no plain GPT model"),
        ("    model: megatron-1.7b\n", "", "neither `model` nor `vocabulary`"),
        ("server: dgx-a100-320gb", "server: hgx-h100-8nic", "nothing was calibrated"),
        ("kind: training-cases", "kind: communication-cases", "of kind `communication-cases`"),
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
