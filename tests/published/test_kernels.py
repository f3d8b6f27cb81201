"""What docs/measure.md says of kernels alone beside training steps, replayed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from ffplan.calibration.kernel_fit import _fit_kernels, _timed_groups
from ffplan.calibration.measured_fit import MeasuredRequest, fit_recording
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.measuring.recording import read_recording
from ffplan.validation.replay import case_files, replay_files
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("scipy")
FOLDER = ROOT / "tests" / "published" / "recordings"
ROWS = {
    "XLA's table, length not stated": ("h100-xla-cudnn", "h100-sxm-80gb"),
    "SimuMax | B200": ("b200-simumax", "b200"),
    "SimuMax | A100 PCIe": ("a100-pcie-simumax", "a100-pcie-40gb"),
    "own run | H200": ("h200-pytorch-2.11", "h200-sxm"),
}
NEVER_FITTED = {"gemm bf16": 8, "gemm fp8": 8, "attention fa2": 8, "attention cudnn": 8, "pcie": 6}
"""Largest mean error of the catalogue's constants on kernels that none was fitted to [%]."""


@pytest.mark.parametrize("words", ROWS)
def test_the_page_states_what_kernels_and_steps_reach(words: str) -> None:
    name, accelerator = ROWS[words]
    part = Catalog().entry(accelerator).part
    assert isinstance(part, Accelerator)
    assert part.training is not None
    recording, _ = read_recording(str(FOLDER / f"{name}.json"))
    found = _fit_kernels(recording, part)
    timed = _timed_groups(recording, part)["gemm bf16"]
    missed = abs(timed.model(found.values) / timed.seconds - 1)[timed.used].mean()
    alone, steps = found.values["matrix"], part.training.matrix.value
    line = next(line for line in (ROOT / "docs" / "measure.md").read_text().splitlines() if words in line)
    stated = [float(number) for number in re.findall(r"\| ([0-9.]+)(?= |%)", line)]
    assert stated[:3] == [round(100 * alone), round(100 * steps), round(steps / alone, 2)]
    assert stated[3] == pytest.approx(100 * missed, rel=0.03)


@pytest.mark.parametrize(
    ("name", "accelerator", "source", "shipped", "alone"),
    [
        ("h100-xla-cudnn", "h100-sxm-80gb", "mosaic-h100", -0.005, -0.12),
        ("b200-simumax", "b200", "simumax-b200", -0.018, -0.105),
    ],
)
def test_steps_are_modelled_too_fast_with_the_rates_of_kernels(
    tmp_path: Path, name: str, accelerator: str, source: str, shipped: float, alone: float
) -> None:
    recording, document = read_recording(str(FOLDER / f"{name}.json"))
    asked = MeasuredRequest(accelerator=accelerator, only=("matrix",), stack=None)
    for part, text in fit_recording(Catalog(), recording, document, asked).files.items():
        (tmp_path / f"{part}.yaml").write_text(text)
    cases = [item for item in case_files("training") if source in str(item)]
    for catalog, bias in ((Catalog(), shipped), (Catalog([str(tmp_path)]), alone)):
        scores = replay_files("training", cases, catalog).sources
        found = next(score for score in scores if score.name == source)
        assert found.bias == pytest.approx(bias, abs=0.01)


def test_the_catalogue_knows_the_kernels_of_an_h200_that_nothing_was_fitted_to() -> None:
    recording, document = read_recording(str(FOLDER / "h200-pytorch-2.11.json"))
    asked = MeasuredRequest(accelerator="h200-sxm", only=(), stack=None)
    before = {row.group: row.before for row in fit_recording(Catalog(), recording, document, asked).report.groups}
    for group, most in NEVER_FITTED.items():
        error = before[group]
        assert error is not None
        assert error < most / 100, group
