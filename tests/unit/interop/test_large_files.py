"""Files that are too large to hold: read in parts, they tell the same as read whole, and have an end."""

from __future__ import annotations

from io import BytesIO
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from ffplan.base import files
from ffplan.base.errors import InputError, UsageError
from ffplan.base.files import LargeText, TooLargeError
from ffplan.base.pasted import _cleaned
from ffplan.cli.audit import _read_files
from ffplan.interop.asbuilt import model, read
from ffplan.interop.asbuilt.read import read_as_built
from tests.unit.interop.test_as_built_forms import pod
from tests.unit.interop.test_forms_of_files import TEXTS
from tests.unit.interop.test_ibnetdiscover_variants import LISTING

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.interop.asbuilt.model import AsBuilt

BY_LINE = ("ibnetdiscover", "ibnetdiscover -p", "ibdiagnet's .lst", "an ibdm .topo file")
HELD = 1024
"""Size from which the files of these tests are large [byte]."""


def large(raw: bytes, start: int = HELD, most: int = model.MOST_STREAMED) -> LargeText:
    return LargeText(raw[:start], BytesIO(raw[start:]), most)


def told(built: AsBuilt) -> list[object]:
    devices = [(item.name, item.kind, item.ports, item.line) for item in built.devices]
    return [devices, built.ends.tolist(), built.gbit_s.tolist(), built.lanes.tolist(), built.remarks, built.form]


@pytest.mark.parametrize("form", BY_LINE)
@pytest.mark.parametrize("chunk", [600, 977, 4096])
def test_parts_tell_what_the_whole_tells(form: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a part ends: within a line, or behind it."""
    monkeypatch.setattr(files, "CHUNK", chunk)
    text = TEXTS[form]
    assert told(read_as_built([("x", large(text.encode()))])) == told(read_as_built([("x", text)]))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("front", ["", "sm-01: ", "> "])
def test_parts_of_other_writings(front: str, end: str, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A letter of two bytes at the border of two parts, a mark of the encoding, and a host in front of every line."""
    text = "".join(f"{front}{line}{end}" for line in LISTING.replace("node01", "n\xf6\xf6\xf6\xf601").splitlines())
    raw = text.encode(encoding)
    whole = told(read_as_built([("x", text)]))
    for chunk in range(800, 830):
        monkeypatch.setattr(files, "CHUNK", chunk)
        assert told(read_as_built([("x", large(raw))])) == whole


def test_files_beyond_what_is_held_and_beyond_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of a file, and where it has none, such as a pipe, what comes from it."""
    file = tmp_path / "built.txt"
    file.write_text(pod().text())
    held = told(_read_files([str(file)], "audit"))
    monkeypatch.setattr(model, "MOST_BYTES", HELD)
    assert told(_read_files([str(file)], "audit")) == held
    monkeypatch.setattr(model, "MOST_STREAMED", 1 << 20)
    for size in (0, 1):
        monkeypatch.setattr("os.fstat", lambda _, size=size: SimpleNamespace(st_size=size * file.stat().st_size))
        file.write_text(pod().text())
        assert told(_read_files([str(file)], "audit")) == held
        file.write_text(pod().text() + "\n" * (1 << 20))
        with pytest.raises(UsageError, match="larger than 1 MiB, the limit for such a file"):
            _read_files([str(file)], "audit")


def test_a_text_without_an_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe has no size: what comes from it is counted."""
    assert model.MOST_STREAMED == 1 << 30
    monkeypatch.setattr(files, "CHUNK", 512)
    raw = (LISTING + "\n" * 4096).encode()
    assert len(read_as_built([("x", large(raw, most=len(raw)))]).ends) == 1
    with pytest.raises(TooLargeError):
        read_as_built([("x", large(raw, most=len(raw) - 1))])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TEXTS["iblinkinfo"], "^x:1:1: error: more than 64 MiB, and it reads as iblinkinfo"),
        ('{"lldp": {\n' * 99, "it reads as JSON"),
        ("y\n" * 999, "no line near its start has a known format"),
        (LISTING + "x" * 9000, r"^x:16:1: error: a line of 9,000 characters"),
        (LISTING + "\nwhat is this\n" + LISTING, r"^x:17:1: error: `what is this` is neither a device nor a port \["),
        (LISTING + "\nwhat is this\n\n", "is neither a device nor a port; it is the last line"),
        (TEXTS["ibnetdiscover -l"], "this is a list of nodes"),
    ],
)
def test_what_is_refused_of_a_large_file(text: str, words: str) -> None:
    with pytest.raises(InputError, match=rf"(?m){words}"):
        read_as_built([("x", large(text.encode()))])


def test_lines_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short lines without an end would be many before they are large."""
    count = LISTING.count("\n")
    monkeypatch.setattr(read, "_MOST_LINES", count)
    assert len(read_as_built([("x", large(LISTING.encode()))]).ends) == 1
    with pytest.raises(InputError, match=rf"^x:{count + 1}:1: error: more than {count} lines"):
        read_as_built([("x", large((LISTING + "#\n").encode()))])


def test_a_line_that_is_longer_than_a_part_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would else be held as a whole, however long it is."""
    monkeypatch.setattr(files, "CHUNK", 100)
    text = LargeText(b"a\n" + b"x" * 1000, BytesIO(b"y\nz"), 2000)
    parts = list(text.parts())
    assert "".join(parts) == "a\n" + "x" * 1000 + "y\nz"
    assert max(map(len, parts)) <= 2 * 100
    assert _cleaned("\ufeffa\x1b[1mb\0") == "ab"
