"""Arguments of the command line turned into designs, parts, files, numbers and lists of numbers."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ffplan.base.errors import UsageError
from ffplan.base.files import CHUNK, PACKED, LargeText, TooLargeError, encoding_of, opened, read_limited, text_of
from ffplan.inputs.design_files import find_design
from ffplan.inputs.series import MOST as MOST
from ffplan.inputs.series import series as series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.catalog.ownership import Effort
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.design import Assessment
    from ffplan.studies.fabric.cabling import WiredDesign

T = TypeVar("T")
MOST_BYTES = 256 * 2**20
"""Largest file of another program that is read [byte]."""


def _unreadable(file: str, error: Exception) -> UsageError:
    return UsageError(f"ffplan: {file}: cannot be read: {getattr(error, 'strerror', None) or error}")


def _too_large(file: str, most: int) -> UsageError:
    return UsageError(f"ffplan: {file}: larger than {most // 2**20:,} MiB, the limit for such a file")


def read_bytes(file: str, most: int = MOST_BYTES) -> bytes:
    """Return the content of a file.

    Raises:
        UsageError: if the file cannot be read, or is far too large.
    """
    try:
        raw = read_limited(Path(file), most)
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None
    if raw is None:
        raise _too_large(file, most)
    return raw


def _read_text(file: str, most: int = MOST_BYTES) -> str:
    raw = read_bytes(file, most)
    try:
        return raw.decode(encoding_of(raw))
    except UnicodeDecodeError:
        raise UsageError(f"ffplan: {file}: this is no UTF-8 text, nor UTF-16 with its mark") from None


def _output(file: str, raw: bytes, text: str | None) -> str:
    """Decode the output of another program."""
    if raw.startswith(PACKED):
        raise UsageError(f"ffplan: {file}: this is packed; unpack it first")
    if text is None:
        raise UsageError(
            f"ffplan: {file}: this is no text; a cache of ibnetdiscover is printed by `ibnetdiscover --load-cache FILE`"
        )
    return text


def _read_output(file: str, most: int = MOST_BYTES) -> str:
    raw = read_bytes(file, most)
    return _output(file, raw, text_of(raw))


@contextmanager
def _large_output(file: str, held: int, most: int) -> Iterator[str | LargeText]:
    """Open another program's output: its text, or its parts above `held` bytes; `most` bytes at the most."""
    try:
        stream = opened(Path(file))
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None
    try:
        with stream:
            size = os.fstat(stream.fileno()).st_size
            if size > most:
                raise TooLargeError
            raw = stream.read(held + 1 if size <= held else CHUNK)
            if max(size, len(raw)) <= held:
                yield _output(file, raw, text_of(raw))
            else:
                text = LargeText(raw, stream, most)
                _output(file, raw, text.start)
                yield text
    except TooLargeError:
        raise _too_large(file, most) from None
    except OSError as error:
        raise _unreadable(file, error) from None


def _resolved_design(
    name: str, catalogs: list[str] | None, profile: str | None = None, effort: Effort | None = None
) -> tuple[ResolvedDesign, Catalog]:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolve import resolve
    from ffplan.design.resolved import with_effort
    from ffplan.inputs.document import read_document

    path, file = find_design(name)
    catalog = Catalog(catalogs or ())
    design = _with_profile(resolve(read_document(path, file), catalog), catalog, profile)
    return with_effort(design, effort), catalog


def _with_profile(design: ResolvedDesign, catalog: Catalog, profile: str | None) -> ResolvedDesign:
    if profile is None:
        return design
    from ffplan.catalog.named import part_of
    from ffplan.catalog.reliability import ReliabilityProfile
    from ffplan.design.resolved import profiled

    return profiled(design, part_of(catalog, ReliabilityProfile, profile, "ffplan: --profile").id)


def _wired_design(name: str, catalogs: list[str] | None) -> WiredDesign:
    from ffplan.studies.fabric.cabling import wire_design

    return wire_design(_resolved_design(name, catalogs)[0])


def _wired_trees(name: str, catalogs: list[str] | None, what: str) -> WiredDesign:
    return _only_trees(_wired_design(name, catalogs), what)


def _only_trees(wired: WiredDesign, what: str) -> WiredDesign:
    if not wired.fabric.trees:
        raise UsageError(f"ffplan {what} only, and `{wired.design.spec.name}` is a {wired.fabric.family}")
    return wired


def _examined_design(name: str, catalogs: list[str] | None, profile: str | None = None) -> Assessment:
    from ffplan.check.run import examine

    return examine(*_resolved_design(name, catalogs, profile))


def _parsed(parse: Callable[[], T], option: str, command: str = "") -> T:
    from pydantic_core import PydanticCustomError

    try:
        return parse()
    except PydanticCustomError as error:
        context = error.context or {}
        place = f"ffplan {command}".strip()
        raise UsageError(f"{place}: {option}: {context.get('message')}; {context.get('remedy')}") from None


def _day_of(text: str | None, command: str, option: str = "--date") -> str:
    """Return a day as YYYY-MM-DD; today in UTC if None, which is the same wherever a pipeline runs."""
    from datetime import UTC, date, datetime

    if text is None:
        return datetime.now(tz=UTC).date().isoformat()
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise UsageError(f"{command}: {option}: `{text}` is no day; write it as 2026-08-31") from None


def message_size(design: ResolvedDesign, text: str | None) -> float:
    """Return the bytes per node: as requested, the design's message, or 1 GiB."""
    from ffplan.inputs.dimensions import DATA
    from ffplan.inputs.quantities import parse_quantity
    from ffplan.studies.fabric.cabling import message_bytes

    if text is not None:
        return _parsed(lambda: parse_quantity(text, DATA), "--size")
    return message_bytes(design)


def choice(value: str, known: tuple[str, ...], option: str) -> str:
    """Check that a value is one of the choices.

    Raises:
        UsageError: if the value is unknown, with the nearest choice.
    """
    if value in known:
        return value
    from ffplan.base.errors import did_you_mean

    raise UsageError(f"ffplan: {option}: no `{value}`; {did_you_mean(value, known, what='choice')}")


def choices(text: str, known: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Return values separated by commas, each one of the choices.

    Raises:
        UsageError: if a value is unknown, with the nearest choice.
    """
    return tuple(choice(value.strip(), known, option) for value in text.split(","))
