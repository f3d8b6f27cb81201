"""One YAML file: its bytes, its data and the place of every value; and values and comments to emit into one."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import yaml

from ffplan.base.control_characters import visible
from ffplan.base.errors import Finding, InputError, Severity, located
from ffplan.base.files import MAX_BYTES, read_limited
from ffplan.base.record import record
from ffplan.inputs.composer import Node, _resolve_plain, compose

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@record
class Document:
    """A composed YAML file."""

    file: str
    """Name as the user wrote it."""
    sha256: str
    """SHA-256 of the bytes, in hexadecimal."""
    root: Node
    """The located values."""
    inside: tuple[str | int, ...] = ()
    """Path of the fabric in the file if it is not `fabric`; paths under `fabric` are moved there."""

    @property
    def data(self) -> Any:
        """The plain values: mappings, lists and scalars."""
        return self.root.data

    def _moved(self, path: Iterable[str | int]) -> tuple[str | int, ...]:
        steps = tuple(path)
        return (*self.inside, *steps) if self.inside and steps[:1] == ("fabric",) else steps

    def place(self, path: Iterable[str | int], *, key: bool = False) -> tuple[int, int]:
        """Return (line, column) of the value at `path`, or of its deepest existing parent.

        Args:
            path: field names and list positions from the root.
            key: locate the last field's name instead of its value.
        """
        node = self.root
        place = (node.line, node.column)
        for step in self._moved(path):
            if isinstance(node.children, dict) and step in node.children:
                place = node.keys[str(step)]
                node = node.children[str(step)]
            elif isinstance(node.children, list) and isinstance(step, int) and step < len(node.children):
                node = node.children[step]
                place = (node.line, node.column)
            else:
                return place
        return place if key else (node.line, node.column)

    def finding(
        self,
        rule: str,
        path: Iterable[str | int],
        message: str,
        remedy: str,
        *,
        severity: Severity = Severity.ERROR,
        key: bool = False,
        unchecked: bool = False,
    ) -> Finding:
        """Return a finding placed at `path` of this document."""
        steps = self._moved(path)
        line, column = self.place(path if self.inside else steps, key=key)
        return Finding(
            rule=rule,
            severity=severity,
            file=self.file,
            line=line,
            column=column,
            message=message,
            remedy=remedy,
            path=".".join(map(str, steps)),
            unchecked=unchecked,
        )


def _fault(rule: str, file: str, message: str, remedy: str, place: tuple[int, int] = (1, 1)) -> InputError:
    return located(rule, file, place, message, remedy)


def read_bytes(path: Path, file: str) -> bytes:
    """Return the content of a file within the limit.

    Args:
        path: where the file lies.

    Raises:
        InputError: if the file is missing, unreadable or too large.
    """
    try:
        if path.is_dir():
            raise _fault("file-unreadable", file, "this is a folder", "name a YAML file")
        raw = read_limited(path, MAX_BYTES)
    except FileNotFoundError:
        raise _fault("file-unreadable", file, "no such file", "check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _fault("file-unreadable", file, f"cannot be read: {reason}", "check the path") from None
    if raw is None:
        raise _fault(
            "yaml-limits",
            file,
            f"the file is larger than {MAX_BYTES // 1024} KiB",
            "a design or a catalogue part is a few kilobytes; check that this is the right file",
        )
    return raw


def read_document(path: Path, file: str | None = None) -> Document:
    """Read one YAML file within the limits.

    Args:
        path: where the file lies.
        file: its name in messages; the path as given if omitted.

    Raises:
        InputError: if the file is missing, unreadable, too large, not text or not YAML 1.2.
    """
    file = file or str(path)
    return parse_document(read_bytes(path, file), file)


def parse_document(raw: bytes, file: str) -> Document:
    """Read the content of one YAML file within the limits.

    Raises:
        InputError: if the content is not text or not YAML 1.2.
    """
    if b"\0" in raw:
        raise _fault("file-not-text", file, "this is a binary file", "name a YAML text file")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        place = (before.count(b"\n") + 1, len(before) - (before.rfind(b"\n") + 1) + 1)
        raise _fault(
            "file-not-text",
            file,
            f"byte 0x{raw[error.start]:02x} is not UTF-8",
            "save the file as UTF-8 text",
            place,
        ) from None
    return Document(file, sha256(raw).hexdigest(), compose(text, file))


_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]*")


class _Quoting(yaml.SafeDumper):
    """Writes every text between double quotes, which YAML 1.1 and 1.2 read alike."""


_Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def quoted(text: str) -> str:
    """Return a text in double quotes, on one line, with hidden characters escaped."""
    written: str = yaml.dump(visible(text.replace("\n", " ")), Dumper=_Quoting, width=10**9, allow_unicode=True)
    return written.rstrip("\n")


def scalar(text: str) -> str:
    """Return a text as a YAML value: plain if every reader takes it for that text, else in double quotes."""
    plain = _PLAIN.fullmatch(text) and _resolve_plain(text) == text and isinstance(_resolve_plain(text), str)
    return text if plain and _loaded(text) == text else quoted(text)


def _loaded(text: str) -> object:
    """Load a plain text as other readers do; None if they fail, as on the date 2026-13-45."""
    try:
        return yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return None


def comment(text: str) -> str:
    """Return a text as a one-line comment behind `#`."""
    return visible(" ".join(text.split()))


def flow(value: object) -> str:
    """Return plain data on one line: mappings and lists between brackets, texts as `scalar` writes them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {flow(child)}" for name, child in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return scalar(value) if isinstance(value, str) else repr(value)
