"""An error band is earned by a fit that stands in the catalogue, and by nothing that somebody fills in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.base.paths import data_folder
from tests.support import document, ffplan

if TYPE_CHECKING:
    from pathlib import Path

JOB = "train superpod-h100-4su --model llama3-8b --gpus 64 --batch 128 --tp 2 -f json"
H100 = data_folder("catalogs") / "accelerators" / "nvidia" / "h100-sxm-80gb.yaml"


def report(folder: Path | None = None) -> dict[str, Any]:
    run = ffplan(JOB + (f" --catalog {folder}" if folder else ""))
    assert run.code == 0, run.err
    loaded: dict[str, Any] = json.loads(run.out)
    return loaded


def overlay(folder: Path, *changes: tuple[str, str]) -> Path:
    """Return a folder with the shipped H100, changed."""
    text = H100.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / H100.name).write_text(text)
    return folder


@pytest.mark.parametrize(
    "change",
    [
        ("  matrix: {value: 75.63 %, source: calibration}", "  matrix: {value: 75 %, source: recalled}"),
        ("  memory: {value: 33.12 %, source: calibration}", "  memory: {value: 40 %, source: recalled}"),
        ("memory_bandwidth: {value: 3350 GB/s", "memory_bandwidth: {value: 5000 GB/s"),  # another chip
    ],
)
def test_constants_that_somebody_wrote_earn_no_band(tmp_path: Path, change: tuple[str, str]) -> None:
    """7.5 % are of runs on what was fitted; others have what a chip of another process has, and the line says why."""
    shipped, own = report(), report(overlay(tmp_path, change))
    assert shipped["error_band"] == 0.075
    assert own["error_band"] == 0.145
    assert "no fit of this part's own constants stands in the catalogue" in own["error_basis"]


def test_a_part_that_repeats_a_fit_keeps_its_band(tmp_path: Path) -> None:
    assert report(overlay(tmp_path, ("name: ", "name: My ")))["error_band"] == report()["error_band"]


@pytest.mark.parametrize(("kind", "field"), [("accelerator", "training"), ("stack", "constants")])
def test_a_template_writes_no_fitted_constants(kind: str, field: str) -> None:
    """They are explained behind `#`, whatever part the examples are of."""
    like = {"accelerator": "h100-sxm-80gb", "stack": "nemo-2025"}[kind]
    for more in ("", f" --like {like}"):
        run = ffplan(f"catalog new {kind}{more}")
        assert run.code == 0
        assert f"\n# {field}:" in run.out
        assert field not in document(run.out).data
