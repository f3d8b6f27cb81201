"""Hidden characters are shown as escapes."""

from __future__ import annotations

import io
import json

import pytest

from ffplan.base.control_characters import VisibleStream, visible, visible_but_styles, visible_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é × –\tand\nlines", "plain é × –\tand\nlines"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("a\x9b31mb", r"a\x9b31mb"),
        ("a\rb\x00\x07\x7f", r"a\x0db\x00\x07\x7f"),
        ("a\u202eb\u2066c\u200e", r"a\u202eb\u2066c\u200e"),
        ("a\u200bb\ufeff\u2028", r"a\u200bb\ufeff\u2028"),
    ],
)
def test_what_acts_on_a_terminal_or_hides_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_colours_stay_where_the_program_writes_them() -> None:
    assert visible_but_styles("\x1b[1;31mred\x1b[0m\x1b]0;title\x07") == "\x1b[1;31mred\x1b[0m" + r"\x1b]0;title\x07"
    assert visible_but_styles("\x1b[2J") == r"\x1b[2J"  # which clears the screen


def test_json_keeps_its_meaning() -> None:
    text = json.dumps({"a": "x\u202ey\x9b"}, ensure_ascii=False)
    assert visible_json(text) == '{"a": "x\\u202ey\\u009b"}'
    assert json.loads(visible_json(text)) == json.loads(text)


def test_a_stream_shows_all_that_is_written() -> None:
    below = io.StringIO()
    stream = VisibleStream(below)
    assert stream.write("a\x1b") == 5
    stream.writelines(["b\x07", "c"])
    assert below.getvalue() == r"a\x1bb\x07c"
    assert stream.getvalue() == below.getvalue()  # all else is the stream's own
