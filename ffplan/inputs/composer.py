"""From YAML text to a tree of located values, with plain scalars as in YAML 1.2 (core schema, §10.3.2).

PyYAML's own composer recurses in C and dies on deep nesting; its event parser does not recurse.
We therefore compose from events, with an explicit stack, and apply every limit on the way.

Unlike YAML 1.1, `NO`, `on` and `yes` are text, `3:1` is text and not 181, and `1e3` is a number.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import yaml

from ffplan.base.errors import located

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # pragma: no cover - PyYAML built without libyaml: slower, same events
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]


_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""End of a line to libyaml."""
MAX_DEPTH = 40
"""Deepest nesting of lists and mappings, aliases followed."""
MAX_NODES = 100_000
"""Most values in one file, counted after every alias is expanded."""

Scalar = None | bool | int | float | str

_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)")
_NAN = {".nan", ".NaN", ".NAN"}

MAX_NUMBER_LENGTH = 100
"""Longest number we read; longer ones stay text and fail as text."""


def _resolve_plain(text: str) -> Scalar:
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if text[0] not in "0123456789+-." or len(text) > MAX_NUMBER_LENGTH:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEX.fullmatch(text):
        return int(text[2:], 16)
    if _FLOAT.fullmatch(text) or _INFINITE.fullmatch(text):
        return float(text.replace(".inf", "inf").replace(".Inf", "inf").replace(".INF", "inf"))
    return float("nan") if text in _NAN else text


@dataclass(slots=True)
class Node:
    """One YAML value with its place; `children` follow the shape of `data`."""

    line: int
    column: int
    data: Any = None
    children: dict[str, Node] | list[Node] | None = None
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    size: int = 1
    height: int = 0


class _Places:
    """Lines and columns as editors count them.

    libyaml also ends a line at U+0085, U+2028 and U+2029, and places the end of a text without final line break one
    line too far.
    """

    def __init__(self, text: str) -> None:
        self.starts = [0, *(match.end() for match in re.finditer("\r\n|\r|\n", text))]
        self.length = len(text)
        self.ended = text.endswith(("\r", "\n"))
        self.same = not re.search("[\x85\u2028\u2029]", text)

    def at(self, mark: Any) -> tuple[int, int]:
        if self.same and (self.ended or mark.index < self.length):
            return mark.line + 1, mark.column + 1
        return self.of(mark.index)

    def of(self, index: int) -> tuple[int, int]:
        """Return the place of a character, by its number from 0."""
        index = min(index, self.length)
        row = bisect_right(self.starts, index)
        return row, index - self.starts[row - 1] + 1


class _Composer:
    def __init__(self, file: str, places: _Places) -> None:
        self.file = file
        self.places = places
        self.stack: list[Node] = []
        self.pending: list[tuple[str, int, int] | None] = []
        self.anchors: dict[str, Node] = {}
        self.open_anchors: list[str | None] = []
        self.root: Node | None = None

    def fail(self, rule: str, line: int, column: int, message: str, remedy: str) -> NoReturn:
        raise located(rule, self.file, (line, column), message, remedy)

    def feed(self, event: Any) -> None:
        line, column = self.places.at(event.start_mark)
        if isinstance(event, yaml.DocumentStartEvent):
            self._document(event, line, column)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event, line, column)
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line, column)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event, line, column)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()

    def _document(self, event: Any, line: int, column: int) -> None:
        if self.root is not None:
            self.fail(
                "yaml-syntax",
                line,
                column,
                "a second YAML document starts here",
                "keep one document per file",
            )
        if event.version not in (None, (1, 2)):
            version = ".".join(str(part) for part in event.version)
            self.fail(
                "yaml-syntax",
                line,
                column,
                f"the file declares YAML {version}",
                "ffplan reads YAML 1.2: drop the %YAML line or write 1.2",
            )

    def _reject_tag(self, event: Any, line: int, column: int) -> None:
        if event.tag is not None and event.tag != "!":
            self.fail(
                "yaml-tag",
                line,
                column,
                f"the tag `{event.tag[:60]}` is not allowed",
                "write the plain value; ffplan reads no YAML tags",
            )

    def _wants_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].children, dict) and not self.pending[-1]

    def _alias(self, event: Any, line: int, column: int) -> None:
        if event.anchor in self.open_anchors:
            self.fail(
                "yaml-limits",
                line,
                column,
                f"`*{event.anchor}` stands inside the value it names",
                "a value cannot contain itself",
            )
        if event.anchor not in self.anchors:
            self.fail(
                "yaml-syntax",
                line,
                column,
                f"no anchor `&{event.anchor}` stands before this alias",
                "define the anchor above its first use",
            )
        if self._wants_key():
            self.fail("yaml-syntax", line, column, "an alias cannot be a key", "write the key out")
        self._attach(self.anchors[event.anchor])

    def _scalar(self, event: Any, line: int, column: int) -> None:
        self._reject_tag(event, line, column)
        if self._wants_key():
            self._key(event, line, column)
            return
        plain = event.implicit[0] and not event.style
        node = Node(line=line, column=column, data=_resolve_plain(event.value) if plain else event.value)
        if event.anchor:
            self.anchors[event.anchor] = node
        self._attach(node)

    def _key(self, event: Any, line: int, column: int) -> None:
        key = event.value
        if key == "<<" and not event.style:
            self.fail(
                "yaml-merge-key",
                line,
                column,
                "the merge key `<<` is not part of YAML 1.2",
                "write the fields out",
            )
        first = self.stack[-1].keys.get(key)
        if first is not None:
            self.fail(
                "yaml-duplicate-key",
                line,
                column,
                f"the field `{key[:60]}` is written twice",
                f"keep one; the first is at line {first[0]}, column {first[1]}",
            )
        self.stack[-1].keys[key] = (line, column)
        self.pending[-1] = (key, line, column)

    def _open(self, event: Any, line: int, column: int) -> None:
        self._reject_tag(event, line, column)
        if self._wants_key():
            self.fail("yaml-syntax", line, column, "a key must be a plain word", "write a field name")
        if len(self.stack) >= MAX_DEPTH:
            self._too_deep(line, column)
        mapping = isinstance(event, yaml.MappingStartEvent)
        node = Node(line=line, column=column, data={} if mapping else [], children={} if mapping else [])
        self.stack.append(node)
        self.pending.append(None)
        self.open_anchors.append(event.anchor)

    def _close(self) -> None:
        node = self.stack.pop()
        self.pending.pop()
        anchor = self.open_anchors.pop()
        if anchor:
            self.anchors[anchor] = node
        self._attach(node)

    def _attach(self, node: Node) -> None:
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        if isinstance(parent.children, dict):
            pending = self.pending[-1]
            assert pending is not None
            parent.children[pending[0]] = node
            parent.data[pending[0]] = node.data
            self.pending[-1] = None
        else:
            assert parent.children is not None
            parent.children.append(node)
            parent.data.append(node.data)
        parent.size += node.size
        parent.height = max(parent.height, node.height + 1)
        if len(self.stack) + node.height > MAX_DEPTH:
            self._too_deep(node.line, node.column)
        if parent.size > MAX_NODES:
            self.fail(
                "yaml-limits",
                parent.line,
                parent.column,
                f"this value holds more than {MAX_NODES:,} values once aliases are expanded",
                "split the file, or use fewer aliases",
            )

    def _too_deep(self, line: int, column: int) -> NoReturn:
        self.fail(
            "yaml-limits",
            line,
            column,
            f"nested deeper than {MAX_DEPTH} levels",
            "no ffplan file needs such depth; look for unclosed brackets",
        )


def _character(text: str, line: int, column: int) -> str:
    """Return the character at a place, or an empty text beyond the end."""
    lines = re.split("\r\n|\r|\n", text, maxsplit=line)
    return lines[line - 1][column - 1 : column] if line <= len(lines) else ""


def _raw_events(text: str) -> Iterator[Any]:
    yield from yaml.parse(text, Loader=_Loader)


def _events(text: str, file: str, places: _Places) -> Iterator[Any]:
    try:
        yield from _raw_events(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = places.at(mark) if mark else (1, 1)
        problem = error.problem or "the YAML cannot be read"
        remedy = "check quotes, colons and indentation here"
        if _character(text, line, column) == "\t":
            problem, remedy = "a tab stands where YAML wants spaces", "indent with spaces"
        raise located("yaml-syntax", file, (line, column), problem, remedy) from None
    except yaml.reader.ReaderError as error:
        line, column = places.of(error.position if isinstance(error.position, int) else 0)
        raise located(
            "file-not-text",
            file,
            (line, column),
            f"the character U+{_codepoint(error.character):04X} is not allowed in YAML",
            "save the file as plain UTF-8 text",
        ) from None


def _codepoint(character: Any) -> int:
    return character if isinstance(character, int) else ord(character)


def compose(text: str, file: str) -> Node:
    """Compose one YAML document into a tree of located values.

    Args:
        file: its name as the user wrote it, for error messages.

    Raises:
        InputError: on any syntax fault, duplicate key, tag, merge key, or exceeded limit.
    """
    places = _Places(text)
    composer = _Composer(file, places)
    for event in _events(text, file, places):
        composer.feed(event)
    if composer.root is None or composer.root.data is None:
        raise located(
            "file-empty",
            file,
            (1, 1),
            "the file holds no data",
            "a design starts with `name:`, any other file with `kind:`; `ffplan catalog schema` lists the fields",
        )
    return composer.root


def value_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of a YAML text's scalars, keys included, up to its first syntax fault.

    The span of a block text excludes its first line, which may end in a comment.
    """
    spans: list[tuple[int, int]] = []
    with suppress(yaml.YAMLError):
        spans.extend(_span(text, event) for event in _raw_events(text) if isinstance(event, yaml.ScalarEvent))
    return spans


def _span(text: str, event: Any) -> tuple[int, int]:
    start, end = event.start_mark.index, event.end_mark.index
    if event.style in ("|", ">"):
        head = _BREAK.search(text, start)
        start = head.end() if head else len(text)
    return start, end
