"""Tables wrap between words and after hyphens, never inside a number."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base.formatting import amount, kilowatts
from ffplan.report.document import Document, Grid, Lines, Remarks, _Body, _Matrix
from ffplan.report.formats import styled
from ffplan.report.formats.text import render_text
from ffplan.report.formats.wrapping import _column_widths, _folds, _longest_piece, breaks


def split(text: str, width: int) -> list[str]:
    places = [0, *breaks(text, width), len(text)]
    return [text[one:two].rstrip() for one, two in itertools.pairwise(places)]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("superpod-h100-4su", 12, ["superpod-", "h100-4su"]),
        ("1,433,982,976", 6, ["1,433,982,976"]),
        ("1,016 (0.102x)", 8, ["1,016", "(0.102x)"]),
        ("59 % (59 to 60 %)", 16, ["59 %", "(59 to 60 %)"]),
        ("59 % (59 to 60 %)", 9, ["59 % (59", "to 60 %)"]),
        ("125,000 (+124,000, 125x)", 17, ["125,000", "(+124,000, 125x)"]),
        ("5.56 nccl (-0.4, 0.93x), twice", 16, ["5.56 nccl", "(-0.4, 0.93x),", "twice"]),
        ("superpod-h100 (10 to 20)", 10, ["superpod-", "h100", "(10 to 20)"]),
        ("reads at [2 TB/s], or", 12, ["reads at", "[2 TB/s], or"]),
        ("a list[of 2] b", 8, ["a", "list[of", "2] b"]),
        ("a (b 10 to 20) c", 9, ["a (b 10", "to 20) c"]),
        ("from 2024-11-22", 9, ["from", "2024-11-22"]),
        ("in-network reduction", 10, ["in-network", "reduction"]),
        ("catalogs/nics/cx-6.yaml:12; x", 14, ["catalogs/nics/", "cx-6.yaml:12;", "x"]),
        ("and/or-else", 8, ["and/or-", "else"]),
        ("incomprehensible", 6, ["incomp", "rehens", "ible"]),
        ("  indented text", 10, ["  indented", "text"]),
    ],
)
def test_lines(text: str, width: int, lines: list[str]) -> None:
    assert split(text, width) == lines


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("storage writes at [2 TB/s] in all", 22, ["storage writes at", "[2 TB/s] in all"]),
        (
            "costs 1,636,893 USD (1,329,435 to 2,295,116), 0.82",
            40,
            ["costs 1,636,893 USD", "(1,329,435 to 2,295,116), 0.82"],
        ),
        ("in-network reduction", 10, ["in-network", "reduction"]),
        ("rail-optimised", 8, ["rail-opt", "imised"]),
        ("  " + "y" * 12 + " and", 8, ["  yyyyyy", "yyyyyy", "and"]),
        ("x" * 8 + " and", 8, ["xxxxxxxx", "and"]),
        ("[" + "a b " * 3 + "c]", 6, ["[a b a", "b a b", "c]"]),
    ],
)
def test_lines_of_sentences(text: str, width: int, lines: list[str]) -> None:
    places = [0, *_folds(text, width), len(text)]
    assert [text[one:two].rstrip() for one, two in itertools.pairwise(places)] == lines


@given(
    words=st.lists(st.from_regex(r"[a-z]{1,9}(-[a-z0-9]{1,5}){0,2}|[0-9]{1,3}(,[0-9]{3}){0,3}( %)?", fullmatch=True)),
    width=st.integers(3, 30),
)
def test_wrapping_loses_nothing_and_breaks_no_number(words: list[str], width: int) -> None:
    text = " ".join(words)
    lines = split(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    numbers = re.findall(r"(?<![\w,-])[0-9,]+(?: %)?", text)
    assert all(any(number in line for line in lines) for number in numbers)
    assert all(len(line) <= max(width, _longest_piece(text)) for line in lines)


def test_columns_give_way_from_the_widest_and_never_below_their_parts() -> None:
    cells = [["fixed label"], ["a few words of text"], ["1,433,982,976"]]
    assert _column_widths(cells, 1, 100) == [11, 19, 13]
    assert _column_widths(cells, 1, 34) == [11, 10, 13]
    assert _column_widths(cells, 1, 5) == [11, 5, 13]


def test_a_table_too_wide_for_its_line_keeps_its_numbers_whole() -> None:
    numbers = tuple("1,433,982,976" for _ in range(7))
    document = Document(None, lambda _: _Body("", [Grid("", (("row", *numbers),), tuple("abcdefgh"))]))
    (line,) = [text for text in render_text(document, terminal=False).splitlines() if "row" in text]
    assert line.split() == ["row", *numbers]


def test_a_comparison_wider_than_the_terminal_is_printed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    names = tuple(f"superpod-h100-{number}su" for number in range(8))
    matrix = _Matrix("Cluster", names, (("total price", tuple("1,433,982,976" for _ in names)),))
    text = re.sub(r"\x1b\[[0-9;]*m", "", render_text(Document(None, lambda _: _Body("", [matrix])), terminal=True))
    rows = [line for line in text.splitlines() if line.startswith("total price")]
    assert len(rows) > 1
    assert sum(line.count("1,433,982,976") for line in rows) == 8
    assert max(map(len, text.splitlines())) <= 80


def test_a_long_document_is_laid_out_for_a_terminal_as_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 2,001 lines on, which take rich seconds."""
    monkeypatch.setenv("FORCE_COLOR", "1")

    def both(count: int) -> tuple[str, str]:
        groups = tuple((f"group {number}", "8 x H100") for number in range(count - 1))
        document = Document(None, lambda _: _Body("groups", [Lines("Nodes", groups), Remarks(("end",))]))
        return render_text(document, terminal=True), render_text(document, terminal=False)

    short, long = both(2_000), both(2_001)
    assert "\x1b" in short[0]
    assert long[0] == long[1]
    assert "\x1b" not in long[0]


def test_the_rest_of_an_indented_label_is_indented_too() -> None:
    rows = (
        ("    uplinks of a leaf on each of 8 rails", "8,533 GB/s, the links of a leaf times what each of them has"),
    )
    text = render_text(Document(None, lambda _: _Body("", [Grid("", rows, style="plain")])), terminal=False)
    lines = text.splitlines()
    assert len(lines) > 1
    assert all(line.startswith("    ") for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_comparison_of_long_names_keeps_to_the_line() -> None:
    """Names break after their hyphens before a line grows; numbers that need more room still get it."""
    names = tuple(f"h100-sxm-80gb-{word}" for word in ("full", "lean", "rails"))
    for cell, fits in (("44.19 mn USD", True), ("1,433,982,976,123,456", False)):
        matrix = _Matrix("Designs", names, (("to buy", (cell,) * 3),))
        text = render_text(Document(None, lambda _, matrix=matrix: _Body("", [matrix])), terminal=False)  # type: ignore[misc]
        assert text.count(cell) == 3
        assert (max(map(len, text.splitlines())) <= 80) == fits


@pytest.mark.parametrize(
    ("value", "text"),
    [(355.55, "355.55"), (4_644_000, "4,644,000"), (41_876_472, "41.88 mn"), (1_433_982_976, "1.434 bn")],
)
def test_large_amounts_are_scaled(value: float, text: str) -> None:
    assert amount(value) == text


def test_large_powers_are_megawatts() -> None:
    assert (kilowatts(3276.0), kilowatts(12_345.6)) == ("3,276 kW", "12.35 MW")


def test_a_word_beside_an_indented_label_is_never_cut_off() -> None:
    word = "letters:0123456789012345678901234567890123456789"
    body = _Body("t", [Lines("title", (("l" * 35, f"{word} and more"),))])
    assert word in styled.render(body, terminal=False)
