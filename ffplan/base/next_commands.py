"""Commands that a report suggests: each reads the folders of parts that the run read."""

from __future__ import annotations

import re
import shlex
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_catalogs: ContextVar[tuple[str, ...]] = ContextVar("catalogs", default=())
_COMMAND = re.compile(r"\bffplan [^;]+")


@contextmanager
def reading(folders: Sequence[str]) -> Iterator[None]:
    """Let suggested commands name folders of parts: those of the command line; a project's own are read anyway."""
    token = _catalogs.set(tuple(folders))
    try:
        yield
    finally:
        _catalogs.reset(token)


def following(text: str) -> str:
    """Return a next step with the run's `--catalog` options at the end of each of its commands, `;` between them."""
    options = "".join(f" --catalog {shlex.quote(folder)}" for folder in _catalogs.get())
    return _COMMAND.sub(lambda command: command[0].rstrip() + options, text) if options else text
