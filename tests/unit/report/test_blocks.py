"""Small charts in terminals: by value, of plain letters where there are no blocks, and nowhere else."""

from __future__ import annotations

import re
import sys
from io import BytesIO, TextIOWrapper

import pytest

from ffplan.report.compare import compare_document
from ffplan.report.design import design_document
from ffplan.report.document import Document, Grid, _Body, _Matrix
from ffplan.report.formats import FORMATS, render, styled
from ffplan.report.formats.styled import _has_blocks, _spark, bar
from ffplan.report.formats.text import render_text
from ffplan.studies.compare.compare import compare
from tests.support import assess_file

GRID = Grid("t", (("1", "4", "9"), ("2", "2", "-")), ("GPUs", "a", "b"), bars=((4.0, 8.0), (2.0, None)))
MATRIX = _Matrix("t", ("a", "b"), (("x", ("1", "2")), ("y", ("3", "4"))), sparks=(("x", "z", ((8.0, 4.0), (1.0,))),))


@pytest.fixture(params=["utf-8", "ascii"])
def letters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(styled, "_has_blocks", lambda: request.param == "utf-8")
    return str(request.param)


@pytest.mark.parametrize(("encoding", "blocks"), [("utf-8", True), ("ascii", False), ("latin-1", False)])
def test_an_encoding_has_blocks_or_not(encoding: str, blocks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO(), encoding=encoding))
    assert _has_blocks() == blocks
    monkeypatch.setattr(sys, "stdout", None)
    assert not _has_blocks()


def drawn(document: Document) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", render_text(document, terminal=True))


def test_bars_are_as_long_as_their_values() -> None:
    assert bar(8, 8, 4, blocks=True) == "████"
    assert bar(4, 8, 4, blocks=True) == "██"
    assert bar(4.25, 8, 4, blocks=True) == "██▏"
    assert bar(0.01, 8, 4, blocks=True) == ""
    assert bar(9, 8, 4, blocks=False) == "####"
    assert bar(5, 8, 4, blocks=False) == "##"


def test_sparks_start_at_zero() -> None:
    assert _spark([8, 4, 2, 1, 0], blocks=True) == "█▄▂▁▁"
    assert _spark([8, 7, 6, 5, 4, 3, 2, 1], blocks=False) == "#*+=-:._"
    assert _spark([0, 0], blocks=True) == "▁▁"
    assert _spark([], blocks=True) == ""


def test_a_terminal_draws_bars(letters: str) -> None:
    """The longest takes what the line leaves to each, here 30 letters; half of it half."""
    text = drawn(Document(None, lambda _: _Body("", [GRID])))
    full = "█" if letters == "utf-8" else "#"
    first, second = (line for line in text.splitlines() if re.match(r"  [12]", line))
    assert [len(run) for run in re.findall(f"{full}+", first)] == [15, 30]
    assert [len(run) for run in re.findall(f"{full}+", second)] == ([7] if letters == "utf-8" else [8])
    assert max(map(len, text.splitlines())) <= 80


def test_a_terminal_draws_sparks_after_their_row(letters: str) -> None:
    text = drawn(Document(None, lambda _: _Body("", [MATRIX])))
    labels = [line.split()[0] for line in text.splitlines() if line]
    assert labels == ["t", "x", "z", "y"]
    assert ("█▄ (8 to 4)" if letters == "utf-8" else "#- (8 to 4)") in text


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_but_a_terminal_has_charts(form: str) -> None:
    report = assess_file("fire-flyer-2")
    for document in (design_document(report), compare_document(compare((report, report), ("a", "b"), 0))):
        text = render(document, form)
        assert not re.search("[█▇▆▅▄▃▂▁]", text)
        assert "to all" not in text


def test_a_narrow_line_has_no_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Grid("t", (("1", "x" * 60),), ("GPUs", "a"), bars=((4.0,),))
    monkeypatch.setenv("COLUMNS", "70")
    assert not re.search("[█#]", drawn(Document(None, lambda _: _Body("", [wide]))))


@pytest.mark.parametrize("width", [80, 120])
def test_commands_draw_how_allreduce_scales(width: int, letters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    one, two = assess_file("fire-flyer-2-nvlink"), assess_file("superpod-h100-4su")
    text = drawn(design_document(one))
    full = "█" if letters == "utf-8" else "#"
    (row,) = [line for line in text.splitlines() if line.startswith("  16 ")]
    assert len(re.findall(f"{full}+", row)) == 3
    both = drawn(compare_document(compare((one, two), ("a", "b"), 0)))
    assert max(map(len, text.splitlines())) <= width
    (row,) = [line for line in both.splitlines() if line.startswith("allreduce, 16 to all")]
    rates = [found.communication[0].scales for found in (one, two)]
    assert f"({rates[1][0].algbw_gbyte_s:.0f} to {rates[1][-1].algbw_gbyte_s:.0f})" in row
    assert _spark([rate.algbw_gbyte_s for rate in rates[0]], blocks=letters == "utf-8") in row
