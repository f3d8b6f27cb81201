from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.inputs.composer import _resolve_plain, compose
from ffplan.inputs.document import read_document
from tests.support import document

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3:1", "3:1"),  # YAML 1.1 reads 181
        ("1:1", "1:1"),  # YAML 1.1 reads 61
        ("NO", "NO"),  # YAML 1.1 reads false
        ("on", "on"),
        ("yes", "yes"),
        ("1e3", 1000.0),  # PyYAML reads text
        ("0o17", 15),
        ("017", 17),  # YAML 1.1 reads 15
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("~", None),
        ("null", None),
        ("true", True),
        ("+12", 12),
        (".5", 0.5),
        ("5.", 5.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("2024-08-01", "2024-08-01"),  # YAML 1.1 reads a date
        ("9" * 5000, "9" * 5000),
    ],
)
def test_yaml_12_core_schema(text: str, expected: object) -> None:
    value = _resolve_plain(text)
    assert value == expected
    assert type(value) is type(expected)


def test_not_a_number() -> None:
    value = _resolve_plain(".nan")
    assert isinstance(value, float)
    assert math.isnan(value)


def test_quoted_scalars_stay_text() -> None:
    assert document("a: \"5\"\nb: 'true'\nc: |\n  5\n").data == {"a": "5", "b": "true", "c": "5\n"}


def test_every_value_knows_its_place() -> None:
    read = document("a:\n  - x\n  - {b: 1, c: 2}\n")
    assert read.place(("a", 1, "c")) == (3, 15)
    assert read.place(("a", 1, "c"), key=True) == (3, 12)
    assert read.place(("a", 1, "missing")) == (3, 5)
    assert read.place(("a", 9)) == (1, 1)


def test_aliases_repeat_a_value() -> None:
    assert document("a: &x [1, 2]\nb: *x\n").data == {"a": [1, 2], "b": [1, 2]}


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: a\n")
    assert read_document(path).data == {"name": "a"}


@pytest.mark.parametrize("text", ["[" * 26_000, "{a: " * 26_000, "- " * 26_000, "? " * 26_000])
def test_deep_nesting_is_refused_and_not_fatal(text: str) -> None:
    with pytest.raises(InputError) as caught:
        compose(text, "deep.yaml")
    assert caught.value.findings[0].rule in {"yaml-limits", "yaml-syntax"}


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    with pytest.raises(InputError) as caught:
        compose("\n".join(lines), "bomb.yaml")
    assert caught.value.findings[0].rule == "yaml-limits"


def test_depth_through_aliases_counts() -> None:
    text = "a: &a " + "[" * 30 + "]" * 30 + "\nb: " + "[" * 20 + "*a" + "]" * 20 + "\n"
    with pytest.raises(InputError) as caught:
        compose(text, "deep.yaml")
    assert "deeper" in caught.value.findings[0].message


@pytest.mark.parametrize("mark", ["\u0085", "\u2028", "\u2029"])
def test_lines_are_counted_as_editors_count_them(mark: str) -> None:
    found = document(f'a: "x{mark}y"\nb: {{c: "{mark}", d: 1}}\n')
    place = found.finding("r", ("b", "d"), "m", "r")
    assert (place.line, place.column) == (2, 16)
    assert found.data["b"]["d"] == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_other_systems(end: str) -> None:
    place = document(f"a: 1{end}b:{end}  c: 2{end}").finding("r", ("b", "c"), "m", "r")
    assert (place.line, place.column) == (3, 6)


def test_a_text_without_a_final_line_break_ends_in_its_last_line() -> None:
    with pytest.raises(InputError) as caught:
        document("a: 1\nb: [1,")
    (found,) = caught.value.findings
    assert (found.line, found.column) == (2, 7)
