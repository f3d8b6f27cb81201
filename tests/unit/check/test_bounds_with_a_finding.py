"""Figures that nobody means: a run of two tokens, thirds of a port, a grid without carbon, a tenth of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.catalog.parts import Switch
from ffplan.catalog.store import Catalog
from ffplan.design.tier_faults import MOST_SPLIT, no_split
from tests.support import document, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

CATALOG = Catalog()
WORKLOAD = "workload: {{model: llama3-8b, tokens: {tokens}}}\n"


def with_lines(folder: Path, lines: str) -> str:
    """Return the file of a shipped design with more lines."""
    path = vary_design(folder, "superpod-h100-4su")
    path.write_text(path.read_text() + lines)
    return str(path)


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ("2.6", "2.6 is below the 30 to 560 of `owned-2026` (V: codecarbon"),
        ("820", "820 is above the 30 to 560"),
        ("30", ""),
    ],
)
def test_a_grid_beyond_its_sources(grid: str, words: str, tmp_path: Path) -> None:
    done = ffplan("check", with_lines(tmp_path, f"ownership: {{grid: {grid}}}\n"))
    assert ("outside-known-range" in done.out) == bool(words)
    assert words in done.out
    assert done.code == 0


def test_a_recalled_range_bounds_nothing(tmp_path: Path) -> None:
    """The profile's 1 to 3 people for a thousand accelerators are recalled."""
    assert "outside-known-range" not in ffplan("check", with_lines(tmp_path, "ownership: {staff: 9}\n")).out


@pytest.mark.parametrize(("tokens", "refused"), [("2", True), ("4M", True), ("1T", False)])
def test_a_run_has_a_step_at_least(tokens: str, refused: bool, tmp_path: Path) -> None:
    done = ffplan("check", with_lines(tmp_path, WORKLOAD.format(tokens=tokens)))
    assert ("are fewer than the" in done.out) == refused
    assert done.code == (2 if refused else 0)
    line = ffplan("cost superpod-h100-4su --model llama3-8b --tokens", tokens)
    assert ("are fewer than the" in line.err) == refused
    assert line.code == (2 if refused else 0)


@given(st.sampled_from(["sn5600", "qm9700", "qm8700", "th6-128x800g"]), st.integers(1, 9))
def test_ports_split_as_their_lanes_divide(name: str, parts: int) -> None:
    switch = CATALOG.get(Switch, name, document("{}"), ())
    most = switch.splits.value if switch.splits is not None else MOST_SPLIT
    assert (no_split(switch, parts) is None) == (parts <= most and most % parts == 0)


def test_size_refuses_thirds_of_a_port() -> None:
    done = ffplan("fabric size --endpoints 100 --switch sn5600 --breakout 3")
    assert done.code == 2
    assert "do not divide into 3 equal parts, but into 1, 2, 4" in done.err


def test_staff_below_one_person_are_named() -> None:
    """Two for a thousand accelerators are 0.13 people for 64."""
    assert "Staff are 0.13 of a person" in " ".join(ffplan("cost l40s-8-roce").out.split())
    assert "of a person" not in ffplan("cost superpod-h100-4su").out
