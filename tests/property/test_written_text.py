"""Any text that goes into a file of ours comes out as that text, or as what a reader would see of it."""

from __future__ import annotations

import csv
import io
import re

import yaml
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base.control_characters import FORMULA, HIDDEN, plain_cell, visible
from ffplan.inputs.composer import compose
from ffplan.inputs.emit import comment, quoted, scalar
from ffplan.inputs.model import IDENTIFIER
from ffplan.report.formats.data import csv_text

ANY = st.text(st.characters(codec=None), max_size=40) | st.text(
    "'\"\\:{}[],#&*!|>%@`-? \n\t~=+0123456789.eE", max_size=12
)


@given(ANY)
def test_quoted_text_is_one_line_and_read_back(text: str) -> None:
    wanted = visible(text.replace("\n", " "))
    line = quoted(text)
    assert "\n" not in line
    document = f"before: 1\nkey: {line}\nafter: [{line}, 2]\n"
    for read in (yaml.safe_load(document), compose(document, "x.yaml").data):
        assert read == {"before": 1, "key": wanted, "after": [wanted, 2]}


@given(ANY | st.sampled_from(["yes", "on", "0o7", "1e3", "null", "~", "1_000", "2026-11-22", "12:30", "<<", "="]))
def test_values_are_texts_to_every_reader(text: str) -> None:
    document = f"key: {scalar(text)}\nflow: {{a: {scalar(text)}}}\n"
    wanted = visible(text.replace("\n", " "))
    for read in (yaml.safe_load(document), compose(document, "x.yaml").data):
        assert read == {"key": wanted, "flow": {"a": wanted}}


@given(st.from_regex(IDENTIFIER, fullmatch=True))
def test_ids_stay_texts(text: str) -> None:
    assert yaml.safe_load(f"id: {scalar(text)}") == {"id": text.removesuffix("\n")}


@given(ANY)
def test_comments_end_with_their_line(text: str) -> None:
    assert yaml.safe_load(f"a: 1  # {comment(text)}\nb: 2\n") == {"a": 1, "b": 2}
    assert not re.search(f"[{HIDDEN}\n\t]", comment(text))


@given(st.lists(ANY, min_size=1, max_size=4))
def test_no_cell_of_csv_is_a_formula(texts: list[str]) -> None:
    (row,) = list(csv.reader(io.StringIO(csv_text(["a"] * len(texts), [list(texts)]), newline="")))[1:]
    for cell, text in zip(row, texts, strict=True):
        assert cell.removeprefix("'") == plain_cell(text).removeprefix("'")
        assert not set(cell) & {"\n", "\r"}
        assert not cell.startswith(FORMULA) or re.fullmatch(r"[-+]?[0-9.]*", cell)
