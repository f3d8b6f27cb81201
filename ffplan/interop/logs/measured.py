"""How every reader of a log refuses a line, reads a number, and names a node."""

from __future__ import annotations

from typing import NoReturn

from ffplan.base.errors import InputError, located
from ffplan.base.record import record


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
