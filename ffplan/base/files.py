"""Files of the user: read up to a limit, and written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import BinaryIO


_ODD = {stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}
"""What is no file, by its type: who reads it may wait for ever, or never come to an end."""


def _is_handed(path: Path) -> bool:
    """Return whether a path is a descriptor that this process was started with, such as the shell's `<(command)`."""
    return os.path.realpath(path).startswith(("/dev/fd/", f"/proc/{os.getpid()}/fd/"))


def _refuse_odd(path: Path) -> None:
    """Refuse what is no file, before it is opened; a pipe that the shell has opened ends with its command.

    Raises:
        OSError: where it is none.
    """
    kind = stat.S_IFMT(path.stat().st_mode)
    if kind in _ODD and not (kind == stat.S_IFIFO and _is_handed(path)):
        raise OSError(errno.EINVAL, f"this is {_ODD[kind]}; give a file")


def opened(path: Path) -> BinaryIO:
    """Return a file, or a pipe of the shell, open for reading; other pipes and devices are refused at once.

    Raises:
        OSError: where it cannot be opened.
    """
    _refuse_odd(path)
    return path.open("rb")


def read_limited(path: Path, most: int) -> bytes | None:
    """Return the content of a file, or None where it holds more than a limit; no more than that is read.

    Args:
        path: the file, or a pipe of the shell; other pipes and devices are refused at once.
        most: the limit [byte].

    Raises:
        OSError: where it cannot be read.
    """
    with opened(path) as stream:
        raw = stream.read(most + 1)
    return None if len(raw) > most else raw


PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd")
"""First bytes of files of gzip, zip, xz, bzip2 and zstd."""
_CONTROLS = bytes(code for code in range(0x20) if chr(code) not in "\t\n\r\f\x1b")
"""Bytes that no text has but for those that end lines and those of a terminal."""


def encoding_of(raw: bytes) -> str:
    """Return the encoding that a text says it has by its first bytes: UTF-8 where it says none.

    Args:
        raw: start of a file.
    """
    return "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


def text_of(raw: bytes) -> str | None:
    """Return the text of what another program wrote, or None where it is none.

    It is UTF-8, UTF-16 as a shell of Windows writes it, or Latin-1, in which names of old devices and comments are.

    Args:
        raw: content of a file.
    """
    try:
        return raw.decode(encoding_of(raw))
    except UnicodeDecodeError:
        return raw.decode("latin-1") if raw.translate(None, _CONTROLS) == raw else None


def _write(stream: BinaryIO, parts: Iterable[str | bytes]) -> None:
    for part in parts:
        stream.write(part.encode("utf-8", "backslashreplace") if isinstance(part, str) else part)


def write_whole(target: Path, content: str | bytes | Iterable[str], *, follow: bool = True) -> None:
    """Write a text, its parts, or bytes to a file that appears whole or not at all; a link is followed, the mode stays.

    A file whose name nobody chose, such as a note beside another, takes the place of a link (`follow=False`).

    The text goes to a new file of an unpredictable name in the same folder, which then takes the place of the target.
    What is no regular file, such as a pipe or a terminal, is written to directly.

    Raises:
        OSError: where it cannot be written; the target is then as it was.
    """
    parts: Iterable[str | bytes] = [content] if isinstance(content, str | bytes) else content
    real = Path(os.path.realpath(target)) if follow else Path(os.path.realpath(target.parent)) / target.name
    try:
        mode: int | None = real.stat(follow_symlinks=follow).st_mode
    except FileNotFoundError:
        mode = None
    if not follow and mode is not None and not stat.S_ISREG(mode):
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with real.open("wb") as stream:
            _write(stream, parts)
        return
    scratch = real.with_name(f".ffplan-{secrets.token_hex(8)}")
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            _write(stream, parts)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            scratch.chmod(mode & 0o7777)
        scratch.replace(real)
    except BaseException:
        with suppress(OSError):
            scratch.unlink()
        raise


def read_regular(path: Path, most: int) -> bytes | None:
    """Return the content of a regular file, or None where it is none, is missing, or holds more than a limit.

    Args:
        path: the file; no pipe or device is opened.
        most: the limit [byte].
    """
    try:
        return read_limited(path, most) if is_regular(path) else None
    except OSError:
        return None


def _asked(name: str | Path, ask: Callable[[Path], bool]) -> bool:
    """Return what is asked of a path; False where it is too long, or no name at all."""
    try:
        return ask(Path(name))
    except (OSError, ValueError):
        return False


def is_regular(name: str | Path) -> bool:
    """True for the name of a regular file, or of a link to one; no name is too long to ask.

    Args:
        name: any text.
    """
    return _asked(name, Path.is_file)


def is_file(name: str | Path) -> bool:
    """True for the name of a file, a pipe or a device that is there; no name is too long to ask.

    Args:
        name: any text.
    """
    return _asked(name, lambda path: path.exists() and not path.is_dir())


def is_folder(name: str | Path) -> bool:
    """True for the name of a folder that is there; no name is too long to ask.

    Args:
        name: any text.
    """
    return _asked(name, Path.is_dir)
