"""Timing kernels and fitting them, as a user meets it."""

from __future__ import annotations

import importlib.util
import json
import re
from typing import TYPE_CHECKING

import pytest

from ffplan.measuring import torch_device
from ffplan.measuring.recording import read_recording, recording_text
from tests.support import ROOT, ffplan, invoked, valid
from tests.unit.calibration.recordings import made_up
from tests.unit.measuring.fakes import RuledDevice

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "tests" / "published" / "recordings"
H100 = str(FOLDER / "h100-xla-cudnn.json")
RECORDED = json.loads((FOLDER / "h100-xla-cudnn.json").read_text())
FIT = ("measure fit", H100, "--accelerator", "h100-sxm-80gb")


def test_a_plan_needs_no_gpu() -> None:
    run = ffplan("model measure plan")
    assert run.code == 0, run.err
    assert run.out.startswith("measure: usual sizes, 151 kernels, 2.3 minutes\n")
    assert max(len(line) for line in run.out.splitlines()) <= 80
    report = valid(ffplan("model measure plan --groups memory,pcie --format json").out, "measure-plan")
    groups = report["groups"]
    assert isinstance(groups, list)
    assert [(item["group"], len(item["kernels"])) for item in groups] == [("memory", 13), ("pcie", 15)]
    assert report["seconds"] == pytest.approx(28 * 0.8)
    wrong = ffplan("model measure plan --groups gem")
    assert (wrong.code, wrong.out) == (2, "")
    assert "did you mean `gemm`?" in wrong.err


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is here")
def test_without_pytorch_a_run_says_what_to_install(tmp_path: Path) -> None:
    for device in ("cuda", "cpu"):
        run = ffplan("model measure run --device", device, "-o", str(tmp_path / "run.json"))
        assert (run.code, run.out) == (2, "")
        assert "ffplan model measure run: timing kernels needs PyTorch: `" in run.err
        assert run.err.endswith("-m pip install torch`\n")
    assert not list(tmp_path.iterdir())


def ruled(monkeypatch: pytest.MonkeyPatch, *, stop_at: int = 0) -> None:
    """Put a device of our own in place of PyTorch's."""
    monkeypatch.setattr(torch_device, "TorchDevice", lambda *, gpu: RuledDevice(1e-4, stop_at=stop_at if gpu else 0))


def test_a_run_writes_a_recording_and_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ruled(monkeypatch)
    file = tmp_path / "run.json"
    words = ["measure", "run", "--sizes", "tiny", "--title", "rack 7", "--date", "2026-11-24", "-o", str(file)]
    done = invoked(*words)
    assert done.exit_code == 0, done.output
    found, _ = read_recording(str(file))
    assert (found.title, found.date, found.rows, found.complete) == ("rack 7", "2026-11-24", 14, True)
    valid(file.read_text(), "kernel-recording")
    assert "13 of 14: both 1 MiB" in done.stderr
    assert done.stderr.endswith(f"ffplan model measure: wrote {file}: 14 of 14 kernels\n")


def test_an_interrupted_run_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ruled(monkeypatch, stop_at=60)
    file = tmp_path / "run.json"
    done = invoked("measure", "run", "--sizes", "tiny", "-o", str(file))
    assert done.exit_code == 130
    found, _ = read_recording(str(file))
    assert not found.complete
    assert 0 < found.rows < 14
    assert f"interrupted; wrote {file}: {found.rows} of 14 kernels" in done.stderr


def test_a_cpu_takes_the_tiny_plan_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ruled(monkeypatch)
    file = tmp_path / "run.json"
    done = invoked("measure", "run", "--device", "cpu", "-o", str(file))
    assert done.exit_code == 0
    assert read_recording(str(file))[0].load == "short"
    assert "its times are never fitted" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-o", "none/run.json"), "there is no folder none"),
        (("-o", "run.json", "--date", "24.11."), "no day `24.11.`"),
        (("-o", "run.json", "--title", ""), "write 1 to 500 letters"),
        (("-o", "run.json", "--groups", "x"), "--groups: no `x`"),
        (("-o", "run.json", "--sizes", "big"), "no `big`"),
        ((), "Missing option"),
    ],
)
def test_a_run_refuses_before_it_starts(options: tuple[str, ...], words: str) -> None:
    run = ffplan("model measure run", *options)
    assert (run.code, run.out) == (2, "")
    assert words in run.err


def test_a_fit_shows_constants_and_errors_by_size() -> None:
    pytest.importorskip("scipy")
    run = ffplan(*FIT)
    assert run.code == 0, run.err
    assert re.search(r"  matrix +7[45]\.\d+ % +92\.34 % +87\.24 to 97\.74 +19\n", run.out)
    assert "bf16 4096 x 4096 x 4096" in run.out
    assert "23 GEMMs have fewer tiles than multiprocessors" in run.out
    report = valid(ffplan(*FIT, "--format", "json").out, "measure-fit")
    kernels = report["kernels"]
    assert isinstance(kernels, list)
    assert len(kernels) == 82
    rows = {f"{row['dtype']} {row['m']} x {row['n']} x {row['k']}": row for row in RECORDED["gemms"]}
    timed = [(item["rate"], rows[item["kernel"]]) for item in kernels if item["kernel"] in rows]
    assert len(timed) > 40
    for rate, row in timed:  # multiplications and additions by the time that was recorded
        assert rate == pytest.approx(2 * row["m"] * row["n"] * row["k"] / row["median_us"] / 1e6, rel=1e-4)
    assert len(ffplan(*FIT, "--format", "csv").out.splitlines()) == 1 + 82


def test_measured_files_are_a_catalogue(tmp_path: Path) -> None:
    """Written, checked, shown, and taken up by a training time; what is made up is written on request only."""
    pytest.importorskip("scipy")
    file, folder = tmp_path / "run.json", tmp_path / "own"
    file.write_text(recording_text(made_up(noise=0.01)))
    words = ("measure fit", str(file), "--accelerator", "h100-sxm-80gb", "--write", str(folder))
    refused = ffplan(*words)
    assert refused.code == 1
    assert "nothing written: the times were made up; --force writes it anyway" in refused.err
    assert not folder.exists()
    file.write_text(file.read_text().replace('"synthetic"', '"measured"'))
    run = ffplan(*words)
    assert run.code == 0, run.err
    assert sorted(path.name for path in folder.iterdir()) == ["attention-h100.yaml", "h100-sxm-80gb.yaml"]
    checked = ffplan("check", *map(str, sorted(folder.iterdir())))
    assert (checked.code, checked.out) == (0, "2 parts checked: nothing found\n")
    shown = json.loads(ffplan("catalog show h100-sxm-80gb --format json --catalog", str(folder)).out)
    kernel = next(item for item in shown["figures"] if item["path"] == "training.kernel")
    assert kernel["grade"] == "measured"
    train = ("train superpod-h100-4su --model llama2-70b --gpus 64 --batch 64 --tp 8 --pp 2 --zero 1 --recompute full",)
    before, after = (ffplan(*train, "--format", "json", *more) for more in ((), ("--catalog", str(folder))))
    assert (before.code, after.code) == (0, 0), after.err
    first, second = (json.loads(item.out)["rows"][0]["step_s"] for item in (before, after))
    assert first != second
    again = ffplan(*words)
    assert (again.code, again.out) == (2, "")
    assert "is there already and would be lost" in again.err
    over = ffplan(*words, "--catalog", str(folder))
    assert over.code == 0, over.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--accelerator", "h100-sxm-80g"), "did you mean `h100-sxm-80gb`?"),
        (("--accelerator", "vgg16"), "is a model, not an accelerator"),
        (("--accelerator", "h100-sxm-80gb", "--only", "matrx"), "did you mean `matrix`?"),
        (("--accelerator", "h100-sxm-80gb", "--stack", "nemo-2026"), "did you mean `nemo-2025`?"),
        (("--accelerator", "h100-sxm-80gb", "--stack", "nemo-2025", "--only", "kernel"), "--stack has no effect"),
        (("--accelerator", "h100-sxm-80gb", "--write", H100), "is no folder to write into"),
    ],
)
def test_a_fit_says_what_is_wrong(options: tuple[str, ...], words: str) -> None:
    run = ffplan("model measure fit", H100, *options)
    assert (run.code, run.out) == (2, "")
    assert words in run.err


@pytest.mark.parametrize("name", ["kernel-recording", "measure-plan", "measure-fit"])
def test_schemas_are_printed(name: str) -> None:
    run = ffplan("catalog schema", name)
    assert (run.code, run.out) == (0, (ROOT / "schema" / f"{name}.schema.json").read_text())


def test_a_recording_that_tells_nothing_of_what_is_asked_writes_nothing(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    run = ffplan(*FIT, "--only", "pcie", "--write", str(tmp_path))
    assert run.code == 1
    assert "nothing written: the recording tells none of it" in run.err
