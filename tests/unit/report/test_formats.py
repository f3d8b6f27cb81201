"""One document in every format: the same cells, whatever marks they hold; CSV after RFC 4180, JSON after RFC 8259."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import pytest

from ffplan.base.plain import csv_parts
from ffplan.base.record import record
from ffplan.report.document import Block, Document, Grid, Lines, Remarks, _Body, _Matrix
from ffplan.report.formats import FORMATS, render
from ffplan.report.formats.data import escape, table, to_json
from ffplan.report.page.html import render_fragment


@record
class Inner:
    flag: bool
    names: tuple[str, ...]


@record
class Sample:
    label: str
    rate: float
    none: float | None
    inner: Inner


NASTY = '[/bold] a|b <b> "c", `d`'
SAMPLES = (Sample(NASTY, 0.1 + 0.2, None, Inner(True, ("x", "y"))), Sample("é", 1e-7, 2.0, Inner(False, ())))


def made(*blocks: Block, rows: bool = True) -> Document:
    body = _Body("[title]", blocks, intro="an intro", footer="the end")
    return Document(SAMPLES[0], lambda _: body, (lambda: SAMPLES) if rows else None)


class Cells(HTMLParser):
    """Collects the texts of table cells and of list items."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.tags.pop() == tag

    def handle_data(self, data: str) -> None:
        self.found.append((self.tags[-1], data))


def test_only_known_formats() -> None:
    assert FORMATS == ("table", "json", "markdown", "csv", "html")
    for form in ("fragment", "../json", ""):
        with pytest.raises(KeyError):
            render(made(), form)


def test_json_is_the_value_at_twelve_digits() -> None:
    text = render(made(), "json")
    assert json.loads(text) == {"label": NASTY, "rate": 0.3, "none": None, "inner": {"flag": True, "names": ["x", "y"]}}
    assert text.endswith("}\n")
    assert "é" in to_json("é")
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(float("nan"))


def test_csv_has_a_column_for_every_field() -> None:
    text = render(made(), "csv")
    assert list(csv.reader(io.StringIO(text))) == [
        ["label", "rate", "none", "inner.flag", "inner.names"],
        [NASTY, "0.3", "", "true", "x y"],
        ["é", "1e-07", "2.0", "false", ""],
    ]
    assert "\r" not in text
    assert "".join(csv_parts(["a"], [])) == "a\n"


def test_csv_without_a_table_has_a_row_for_every_leaf() -> None:
    rows = list(csv.reader(io.StringIO(render(made(rows=False), "csv"))))
    assert rows[0] == ["path", "value"]
    assert rows[1:] == [
        ["label", NASTY],
        ["rate", "0.3"],
        ["none", ""],
        ["inner.flag", "true"],
        ["inner.names[0]", "x"],
        ["inner.names[1]", "y"],
    ]


def test_markdown() -> None:
    blocks = (
        Grid("Grid", (("a|b", "1"),), ("x", "y")),
        Grid("Bare", (("a", "1"),)),
        _Matrix("Side by side", ("one", "two"), (("row", ("1", "2")),)),
        Lines("List", (("", "first"), ("", "second"))),
        Lines("Labelled", (("k", "v"), ("", "w"))),
        Remarks(("said *so*",)),
    )
    parts = render(made(*blocks), "markdown").split("\n\n")
    assert parts == [
        r"# \[title\]",
        "an intro",
        "## Grid",
        "| x | y |\n| --- | --- |\n| a\\|b | 1 |",
        "## Bare",
        "|  |  |\n| --- | --- |\n| a | 1 |",
        "## Side by side",
        "|  | one | two |\n| --- | --- | --- |\n| row | 1 | 2 |",
        "## List",
        "- first\n- second",
        "## Labelled",
        "|  |  |\n| --- | --- |\n| k | v |\n|  | w |",
        r"- said \*so\*",
        "the end\n",
    ]


def test_markdown_escapes_a_backslash_once() -> None:
    assert escape("a\\b_c\n d") == r"a\\b\_c d"
    assert table(("---",), [("x",)]).splitlines() == ["| --- |", "| --- |", "| x |"]


def test_html_is_well_formed_and_shows_every_cell() -> None:
    blocks = (Grid("G", ((NASTY, "1"),), ("h",)), Lines("", (("", NASTY),)), _Matrix("M", (NASTY,), (("r", ("c",)),)))
    cells = Cells()
    cells.feed(render_fragment(made(*blocks)))
    assert not cells.tags
    assert cells.found == [
        ("h3", "[title]"),
        ("p", "an intro"),
        ("h4", "G"),
        ("th", "h"),
        ("td", NASTY),
        ("td", "1"),
        ("li", NASTY),
        ("h4", "M"),
        ("th", NASTY),
        ("td", "r"),
        ("td", "c"),
    ]


def test_a_table_shows_marks_as_they_are_and_wraps() -> None:
    """A name such as `[/foo]` crashes a table that reads it as markup."""
    long = "word " * 40
    text = render(made(Grid("Grid", (("[/foo]", long),), ("name", "[b]text")), Lines("L", (("", "item"),))), "table")
    lines = text.splitlines()
    assert lines[0] == "[title]  an intro"
    assert max(map(len, lines)) <= 80
    assert "[/foo]" in text
    assert "[b]text" in text
    assert text.split().count("word") == 40
    assert "  - item" in lines
    assert not any(line.endswith(" ") for line in lines)


def test_a_matrix_grows_with_its_columns() -> None:
    """23 columns for labels, 18 or the name and 2 for each design: six of 26 need 23 + 6 x 28 = 191."""
    names = tuple(f"a-design-of-{number}-and-its-name" for number in range(6))
    assert {len(name) for name in names} == {26}
    text = render(made(_Matrix("M", names, (("row", ("1",) * 6),))), "table")
    assert not text.startswith("[title]")  # its columns are title enough
    assert 80 < max(map(len, text.splitlines())) <= 191
    assert all(name in text.splitlines()[0] for name in names)
