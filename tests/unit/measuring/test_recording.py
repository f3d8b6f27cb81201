"""Recordings: written and read back, and what is refused with its place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.measuring.plan import tiny_plan
from ffplan.measuring.recording import read_recording, recording_text
from ffplan.measuring.run import RecordingHead, run_plan
from tests.unit.measuring.fakes import RuledDevice

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = run_plan(tiny_plan(), RuledDevice(1e-4, noise=0.1), RecordingHead('a "test" of ×', "2026-11-24"))


def test_a_recording_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(recording_text(WHOLE))
    found, document = read_recording(str(file))
    assert found == WHOLE
    assert json.loads(file.read_text())["gemms"][0]["m"] == 64
    assert document.place(("gemms", 0, "median_us"))[0] > 10


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"version": "1"', '"version": "2"', "run.json:3:14: error: `2` is not a choice for `version`"),
        ('"m": 64', '"m": 0', "`m` is `0`; it must be at least 1"),
        ('"m": 64', '"m": -3', "`m` is `-3`; it must be at least 1"),
        ('"m": 64', '"m": 1.5', "`m` is `1.5`; a whole number is wanted"),
        ('"m": 64', '"mm": 64', "the field `mm` is not known here"),
        ('"dtype": "bf16"', '"dtype": "int8"', "is not a choice for `dtype`"),
        ('"median_us": ', '"median_us": -', "it must be more than 0"),
        ('"median_us": ', '"median_us": 0, "x": ', "`median_us` is `0`; it must be more than 0"),
        ('"median_us": ', '"median_us": NaN, "x": ', "`median_us` is"),
        ('"median_us": ', '"median_us": .nan, "x": ', "`median_us` is not a finite number"),
        ('"median_us": ', '"median_us": 1e99, "x": ', "`median_us` is"),
        ('"low_us": ', '"low_us": 9', "lies outside"),
        ('"kind": "kernel-recording"', '"kind": "design"', "is not a choice for `kind`"),
        ('"date": "2026-11-24"', '"date": "yesterday"', "write a year, month or day"),
        ('"gemms": [', '"gemms": [[', "run.json:"),
    ],
)
def test_a_wrong_recording_is_refused_with_its_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    text = recording_text(WHOLE)
    assert old in text
    file = tmp_path / "run.json"
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_recording(str(file))
    assert words in str(caught.value)
    assert "run.json:" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_recording(str(tmp_path / "none.json"))
