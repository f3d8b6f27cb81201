"""Escapes for control characters and marks that reorder text, so that a terminal shows text as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TextIO

HIDDEN = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff"
"""Characters that control a terminal or are invisible, except tab and line feed."""
_HIDDEN = re.compile(f"[{HIDDEN}]")
_NOT_STYLE = re.compile(f"(\x1b\\[[0-9;]*m)|[{HIDDEN}]")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def visible(text: str) -> str:
    r"""Return a text with its hidden characters as escapes, such as `\x1b` and `\u202e`."""
    return _HIDDEN.sub(_escape, text)


def visible_json(text: str) -> str:
    """Return JSON text with the hidden characters of its strings as the escapes of JSON."""
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def visible_but_styles(text: str) -> str:
    """Return a text with its hidden characters as escapes, colour codes kept."""
    return _NOT_STYLE.sub(lambda match: match[1] or _escape(match), text)


_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\w{0,20}\[)", re.MULTILINE)
"""Marks that a CI runner takes for a command: `::` at the start of a line, `##[` anywhere."""


def inert(text: str) -> str:
    r"""Escape lines that a CI runner would take for commands, such as `::error::` and `##[warning]`.

    The first character of the mark becomes an escape, as in `\x3a:error::`.
    """
    if "::" not in text and "##" not in text:  # nearly always, and a table may have a million cells
        return text
    return _COMMAND.sub(lambda match: f"{match[1] or ''}\\x{ord(match[0][-1]):02x}", text)


FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""Prefixes that a spreadsheet takes for a formula; such a text gets an apostrophe in front."""
_NUMBER = re.compile(r"[-+]?[0-9.]*")


def plain_cell(text: str) -> str:
    """Return a text as a one-line CSV cell that is no formula to a spreadsheet and no command to a terminal or CI
    runner."""
    shown = inert(text if text.isprintable() else visible(text).replace("\n", "\\n"))
    return f"'{shown}" if shown.startswith(FORMULA) and not _NUMBER.fullmatch(shown) else shown


class VisibleStream:
    """A text stream that escapes hidden characters and commands to a CI runner."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        return self.stream.write(inert(visible(text)))

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """Forward other attributes to the stream."""
        return getattr(self.stream, name)
