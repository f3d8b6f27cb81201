"""Text without styles is laid out to the letter as rich lays it out."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ffplan.report.document import Grid, Lines, Remarks, _Body, _Matrix
from ffplan.report.formats import styled
from ffplan.report.formats.text import _NARROW, _render_plain
from tests.support import examples

WORDS = st.sampled_from(
    [
        *("a", "of", "the", "x", "×", "µs", "–", "59 %", "±3 %", "$1.2", "GB/s", "(0.102x)", "2024-11-22", "reduction"),
        *(
            "59 % (59 to 60 %)",
            "(+124,000, 125x)",
            "5.56 nccl (-0.4, 0.93x),",
            "(b 10 to 20)",
            "[2 TB/s],",
            "bytes[of 2]",
            "(1 " + "to 2 " * 5 + ")",
        ),
        *("1,433,982,976", "in-network", "superpod-h100-4su", "incomprehensible", "-" * 12, "rail-optimised"),
    ]
)


INDENTS = st.sampled_from(["", "", "  ", "    ", " " * 12])
NAMES = tuple(f"h100-sxm-80gb-{word}" for word in ("full", "lean", "rails"))


def texts(most: int) -> st.SearchStrategy[str]:
    return st.tuples(INDENTS, st.lists(WORDS, max_size=most).map(" ".join)).map("".join)


def tuples(item: st.SearchStrategy[Any], least: int = 0, most: int = 4) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(item, min_size=least, max_size=most).map(tuple)


@st.composite
def blocks(draw: st.DrawFn, names: tuple[str, ...]) -> Lines | Grid | _Matrix | Remarks:
    kind = draw(st.sampled_from([Lines, Grid, _Matrix, Remarks]))
    if kind is Remarks:
        return Remarks(draw(tuples(texts(30))))
    if kind is Lines:
        return Lines(draw(texts(3)), draw(tuples(st.tuples(texts(2), texts(25)))))
    if kind is _Matrix:
        cells = tuples(texts(4), len(names), len(names))
        return _Matrix(draw(texts(2)), names, draw(tuples(st.tuples(texts(2), cells))))
    row = tuples(texts(6), columns := draw(st.integers(1, 5)), columns)
    header = draw(st.one_of(st.just(()), row))
    style = draw(st.sampled_from(["indented", "plain", "list"]))
    return Grid(draw(texts(3)), draw(tuples(row)), header, style)


@st.composite
def bodies(draw: st.DrawFn) -> _Body:
    names = draw(st.one_of(st.just(NAMES), tuples(texts(2), 1, 4)))
    return _Body(draw(texts(4)), draw(tuples(blocks(names), 0, 3)), draw(st.one_of(st.none(), texts(30))))


@given(bodies())
@examples(300)
def test_plain_text_is_what_rich_prints(body: _Body) -> None:
    text = _render_plain(body)
    assert text in (None, styled.render(body, terminal=False))


@pytest.mark.parametrize(
    "body",
    [
        _Body("a title", [Remarks(("a remark of words " * 20,))], "and an intro " * 20),
        _Body("", [Grid("", (("row", *("1,433,982,976" for _ in range(7))),), tuple("abcdefgh"))]),
        _Body("", [Lines("of lines", (("label", "words of a text " * 20), ("", "an item")))]),
        _Body("", [_Matrix("Cluster", ("superpod-h100-4su", "b"), (("price", ("1,433,982,976", "2 ± 1 %")),))]),
        _Body(
            "", [_Matrix("Designs", NAMES, (("price", ("44.19 mn USD (+1.2 mn, 1.03x)",) * 3), ("links", ("8",) * 3)))]
        ),
        _Body("", [_Matrix("Designs", NAMES, (("to buy", ("1,433,982,976,123,456",) * 3),))]),
        _Body(
            "", [_Matrix("Designs", NAMES, (("to buy", ("  of 1,024 (59 to 60 %), and more",) * 3),)), Remarks(("x",))]
        ),
        _Body("", [Grid("", (("    uplinks of a leaf (2 to 4)", "8,533 GB/s (+124,000, 125x) " * 4),), style="plain")]),
        _Body("", [Grid("", (("    uplinks of a leaf on each of 8 rails", "links of a leaf " * 6),), style="plain")]),
        _Body("", [Remarks(("x" * 200, "  indented " + "y" * 100 + " and more"))]),
        _Body("", [Grid("nothing", ()), Lines("nothing", ())]),
    ],
)
def test_usual_text_needs_no_rich(body: _Body) -> None:
    assert _render_plain(body) == styled.render(body, terminal=False)


@pytest.mark.parametrize("letter", ["東", "🚀", "é".encode().decode() + "\u0301", "\u200b"])
def test_letters_of_other_widths_are_left_to_rich(letter: str) -> None:
    for body in (
        _Body(letter, []),
        _Body("", [Remarks((letter,))]),
        _Body("", [Lines("", (("a", letter),))]),
        _Body("", [Grid("", (("a", letter),))]),
        _Body("", [_Matrix("", (letter,), ())]),
    ):
        assert _render_plain(body) is None


def test_letters_taken_for_narrow_take_one_column() -> None:
    found = [chr(code) for code in range(0x20, 0x3000) if _NARROW.fullmatch(chr(code))]
    assert len(found) > 600
    assert all(cell_len(letter) == 1 and unicodedata.east_asian_width(letter) not in "WF" for letter in found)


def test_indented_figures_are_never_cropped() -> None:
    """A table too wide for its page keeps every digit, behind the indent."""
    row = ("a name", *["    1,433,982,976"] * 6)
    body = _Body(title="", blocks=(Grid("wide", (row, row), style="plain"),))
    shown = _render_plain(body) or styled.render(body, terminal=False)
    assert shown.count("1,433,982,976") == 12
