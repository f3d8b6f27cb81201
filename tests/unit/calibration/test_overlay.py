"""Catalogue files that a calibration writes, and the runs it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.calibration.calibrate import runs
from ffplan.calibration.fit import Fit
from ffplan.calibration.overlay import _figure_text, _source_line, _training_block, _with_training
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.inputs.validate import validate
from tests.golden.cases import STEPS
from tests.support import ROOT, document

if TYPE_CHECKING:
    from pathlib import Path


TEXT = (ROOT / "catalogs" / "accelerators" / "nvidia" / "h100-sxm-80gb.yaml").read_text()
FITTED = Fit(
    values={"matrix": 0.5, "kernel": 1.25e-5}, notes={"kernel": 'a "note"\nof two'}, rows=1, before=None, after=0.0
)


def part(text: str) -> Accelerator:
    return validate(Accelerator, document(text))


def overlaid(*, own: bool = True) -> str:
    base = part(TEXT).training
    sources = [_source_line("calibration", "ours", "2026-11"), _source_line("calibration-start", "theirs", "2025")]
    return _with_training(TEXT, sources, _training_block(FITTED, base, 132, same_part=own, set_name="mine"))


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("matrix", 0.678, "67.8 %"),
        ("matrix", 1 / 3, "33.33 %"),
        ("kernel", 6.667e-5, "66.67 us"),
        ("launch_step", 5.135e-3, "5135 us"),
        ("units", 132.0, "132"),
    ],
)
def test_constants_as_people_write_them(name: str, value: float, text: str) -> None:
    assert _figure_text(name, value) == text


def test_what_was_fitted_is_read_back() -> None:
    found, before = part(overlaid()), part(TEXT)
    assert found.training is not None
    assert before.training is not None
    assert found.training.set == "mine"
    assert (found.training.matrix.value, found.training.kernel.value) == pytest.approx((0.5, 1.25e-5))
    assert (found.training.matrix.source, found.training.kernel.note) == ("calibration", 'a "note" of two')
    assert found.training.memory.value == before.training.memory.value
    assert (found.peak, found.collectives, found.power) == (before.peak, before.collectives, before.power)


def test_sources_of_what_was_kept() -> None:
    """An older fit becomes the start; what came from elsewhere keeps its source, but not in another part's file."""
    own, other = part(overlaid()).training, part(overlaid(own=False)).training
    assert own is not None
    assert other is not None
    assert (own.memory.source, own.units.source) == ("calibration-start", "chapter")
    assert other.units.source == "calibration-start"
    assert own.overlap is not None
    assert str(own.overlap.note).endswith("range 37 % to 65 %")
    assert "range" not in str(own.memory.note)
    assert part(overlaid()).sources["calibration"].title == "ours"


def test_a_second_calibration_replaces_the_first() -> None:
    twice = _with_training(
        overlaid(),
        [_source_line("calibration", "again", "2027")],
        _training_block(FITTED, None, 99, same_part=True, set_name="next"),
    )
    assert (twice.count("training:\n"), twice.count("  calibration: "), twice.count("  calibration-start: ")) == (
        1,
        1,
        0,
    )
    assert "units: {value: 99, source: calibration}" in twice


def test_titles_stand_on_one_line_between_quotes() -> None:
    line = _source_line("k", 'C:\\runs "of"\nours', "2026")
    assert line == r'  k: {title: "C:\\runs \"of\" ours", date: "2026", grade: derived, status: D}'


def test_text_behind_the_block_is_kept() -> None:
    text = "sources:\n  a: {}\ntraining:\n  set: x\n\n  matrix: {}\n# end\npower: 1\n"
    assert _with_training(text, ["  b: {}"], ["training:", "  set: y"]) == (
        "sources:\n  b: {}\n  a: {}\npower: 1\ntraining:\n  set: y\n"
    )


RIGHT = STEPS.replace("[8, 64, 2, 2, 2, 1, 2.5]", "[8, 64, 2, 2, 4, 1, 2.5]")
TABLE = RIGHT.partition("tables:\n")[2]


def test_tables_that_are_not_scored_or_have_no_time_are_left_out(tmp_path: Path) -> None:
    others = {"b": "    scored: false\n", "c": "    arithmetic: true\n"}
    text = RIGHT + "".join(TABLE.replace("id: gpt\n", f"id: {name}\n{field}") for name, field in others.items())
    path = tmp_path / "runs.yaml"
    path.write_text(text)
    found = runs(Catalog(), (str(path),))
    assert [replay.table.id for replay in found] == ["gpt"]
