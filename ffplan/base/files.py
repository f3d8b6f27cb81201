"""Files of the user: read up to a limit, and written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path


def read_limited(path: Path, most: int) -> bytes | None:
    """Return the content of a file, or None where it holds more than a limit; no more than that is read.

    Args:
        path: the file; a pipe or a device will do.
        most: the limit [byte].

    Raises:
        OSError: where it cannot be read.
    """
    with path.open("rb") as stream:
        raw = stream.read(most + 1)
    return None if len(raw) > most else raw


def write_whole(target: Path, text: str) -> None:
    """Write a file that appears whole or not at all; a link is followed, and the mode of a file is kept.

    The text goes to a new file of an unpredictable name in the same folder, which then takes the place of the target.
    What is no regular file, such as a pipe or a terminal, is written to directly.

    Raises:
        OSError: where it cannot be written; the target is then as it was.
    """
    data = text.encode("utf-8", "backslashreplace")
    real = Path(os.path.realpath(target))
    try:
        mode: int | None = real.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        real.write_bytes(data)
        return
    scratch = real.with_name(f".ffplan-{secrets.token_hex(8)}")
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            scratch.chmod(mode & 0o7777)
        scratch.replace(real)
    except BaseException:
        with suppress(OSError):
            scratch.unlink()
        raise
