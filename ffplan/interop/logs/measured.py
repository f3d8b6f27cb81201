"""How every reader of a log refuses a line, reads a number, and names a node."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

from ffplan.base.errors import InputError, located
from ffplan.base.record import record
from ffplan.results.acceptance import Measured, Unread

if TYPE_CHECKING:
    from collections.abc import Iterator

Found = Measured | Unread
"""What a reader yields: a value, or a part of the log that it could not read."""


@record
class CollectiveHints:
    """What the user says of a log of collectives that does not say it itself."""

    operation: str | None = None
    """Name of the operation; None if unsaid."""
    ranks: int = 0
    """Number of ranks; 0 if unsaid [1]."""


NO_HINTS = CollectiveHints()


def _fault(file: str, line: int, message: str, remedy: str, column: int = 1) -> InputError:
    return located("measured-log", file, (line, column), message, remedy)


def _refuse(file: str, line: int, message: str, remedy: str, column: int = 1) -> NoReturn:
    raise _fault(file, line, message, remedy, column)


_AS_WRITTEN = "give the log as the program wrote it"


def _number_of(text: str, file: str, line: int, what: str, remedy: str = _AS_WRITTEN) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1e18:
        _refuse(file, line, f"`{text[:40]}` is not a {what}", remedy)
    return value


def _stem(file: str) -> str:
    """Return the name of a file without folders and ending: it names the node of a log that has no host name."""
    name = file.replace("\\", "/").rpartition("/")[2]
    return name.partition(".")[0] or name


def _unread(file: str, line: int, why: str, host: str = "") -> Unread:
    return Unread(host=host or _stem(file), file=file, line=line, why=why)


@record
class _JsonDocument:
    """A document of JSON in a text that may hold several."""

    line: int
    value: Any
    fault: str = ""
    """Why it cannot be read; empty for a good one."""
    fault_line: int = 0


_OWN_LINE = re.compile(r"^[ \t]*\[?[ \t]*\{", re.MULTILINE)
_NEXT = re.compile(r"^[\[,]?\{", re.MULTILINE)
_OBJECT = re.compile(r"\{\s*(?:\"|\Z)")
_MOST_FAULTS = 100
"""Most broken documents of a text; what follows them is not searched [1]."""


def _documents(text: str) -> Iterator[_JsonDocument]:
    """Yield the objects of a text one after another, those of a list too; behind a broken one, from the next line that
    begins with a brace.
    """
    own = _OWN_LINE.search(text)  # a command line ahead may have braces of the shell
    position, decoder = own.end() - 1 if own else text.find("{"), json.JSONDecoder()
    counted, line, faults = 0, 1, 0
    while position >= 0 and faults < _MOST_FAULTS:
        line, counted = line + text.count("\n", counted, position), position
        try:
            loaded, end = decoder.raw_decode(text, position)
            yield _JsonDocument(line=line, value=loaded)
            position = text.find("{", end)
        except (ValueError, RecursionError) as error:
            faults += 1
            if _OBJECT.match(text, position) or not own:
                fault = str(getattr(error, "msg", error))
                yield _JsonDocument(line=line, value=None, fault=fault, fault_line=getattr(error, "lineno", line))
            behind = _NEXT.search(text, position + 1)
            position = behind.end() - 1 if behind else -1
