"""Files: the shipped folders, and the user's, read up to a limit and written atomically."""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
from contextlib import suppress
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO


MAX_BYTES = 1 << 20
"""Largest file of YAML, in bytes; a design of ten thousand lines is far below it."""
_ODD = {stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}
"""File types that are refused: reading one may block, or never end."""


def _is_handed(path: Path) -> bool:
    """Return whether a path is a descriptor that this process was started with, such as the shell's `<(command)`."""
    return os.path.realpath(path).startswith(("/dev/fd/", f"/proc/{os.getpid()}/fd/"))


def _refuse_odd(path: Path) -> None:
    """Refuse pipes, devices and sockets before opening them; a pipe from the shell ends with its command."""
    kind = stat.S_IFMT(path.stat().st_mode)
    if kind in _ODD and not (kind == stat.S_IFIFO and _is_handed(path)):
        raise OSError(errno.EINVAL, f"this is {_ODD[kind]}; give a file")


def opened(path: Path) -> BinaryIO:
    """Open a file, or a pipe of the shell, for reading; other pipes and devices are refused at once.

    Raises:
        OSError: if the file cannot be opened.
    """
    _refuse_odd(path)
    return path.open("rb")


def read_limited(path: Path, most: int) -> bytes | None:
    """Read a file up to a limit; None if it is longer, without reading the rest.

    Args:
        path: the file, or a pipe of the shell; other pipes and devices are refused at once.
        most: the limit [byte].

    Raises:
        OSError: if the file cannot be read.
    """
    with opened(path) as stream:
        raw = stream.read(most + 1)
    return None if len(raw) > most else raw


PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd")
"""First bytes of gzip, zip, xz, bzip2 and zstd files."""
_CONTROLS = bytes(code for code in range(0x20) if chr(code) not in "\t\n\r\f\x1b")
"""Control bytes that no text has; line ends and terminal codes are left out."""


def encoding_of(raw: bytes) -> str:
    """Return the encoding named by a text's byte-order mark; UTF-8 without one."""
    return "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


def unix_lines(text: str) -> str:
    """Return a text whose lines end as on Unix."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def text_of(raw: bytes) -> str | None:
    """Decode what another program wrote; None for binary data.

    It is UTF-8, UTF-16 as Windows shells write it, or Latin-1, as in names and comments of old devices.
    """
    try:
        return raw.decode(encoding_of(raw))
    except UnicodeDecodeError:
        return raw.decode("latin-1") if raw.translate(None, _CONTROLS) == raw else None


def _write(stream: BinaryIO, parts: Iterable[str | bytes]) -> None:
    for part in parts:
        stream.write(part.encode("utf-8", "backslashreplace") if isinstance(part, str) else part)


def write_whole(target: Path, content: str | bytes | Iterable[str], *, follow: bool = True) -> None:
    """Write text, parts of it, or bytes to a file atomically; links are followed, the mode stays.

    With `follow=False` the file replaces a link: for names that nobody chose, such as a note beside another file.

    The text goes to a new file of an unpredictable name in the same folder, which then takes the place of the target.
    Pipes, terminals and other special files are written to directly.

    Raises:
        OSError: if writing fails; the target then stays unchanged.
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
    scratch = real.with_name(f".ffplan-{os.urandom(8).hex()}")
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
    """Read a regular file; None if it is missing, special, or larger than a limit.

    Args:
        path: the file; no pipe or device is opened.
        most: the limit [byte].
    """
    try:
        return read_limited(path, most) if is_regular(path) else None
    except OSError:
        return None


def _tested(name: str | Path, ask: Callable[[Path], bool]) -> bool:
    """Test a path; False if the name is too long or invalid."""
    try:
        return ask(Path(name))
    except (OSError, ValueError):
        return False


def is_regular(name: str | Path) -> bool:
    """Return whether a name is a regular file, or a link to one; any text may be asked."""
    return _tested(name, Path.is_file)


def is_file(name: str | Path) -> bool:
    """Return whether a name is an existing file, pipe or device; any text may be asked."""
    return _tested(name, lambda path: path.exists() and not path.is_dir())


def is_folder(name: str | Path) -> bool:
    """Return whether a name is an existing folder; any text may be asked."""
    return _tested(name, Path.is_dir)


_PACKAGE = Path(__file__).resolve().parents[1]


def data_folder(name: str) -> Path:
    """Return the folder `catalogs` or `designs` that ships with ffplan."""
    inside = _PACKAGE / "_data" / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


CHUNK = 2**20
"""Size of a part [byte]."""
_LATIN = "ffplan-latin-1"


def _latin(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are not UTF-8 as Latin-1, as in names of old devices."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(_LATIN, _latin)


class TooLargeError(Exception):
    """A text exceeds its limit."""


class LargeText(NamedTuple):
    """A text that is read once, front to back."""

    raw: bytes
    """Bytes read so far."""
    rest: BinaryIO
    most: int
    """Largest size [byte]."""

    @property
    def start(self) -> str | None:
        """Whole lines of the first part; None for binary data."""
        raw = self.raw[:CHUNK]
        encoding = encoding_of(raw)
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(raw)
        except UnicodeDecodeError:
            return text_of(raw)
        return text[: text.rfind("\n") + 1] or text

    def parts(self) -> Iterator[str]:
        """Yield parts of whole lines; a line longer than a part is split.

        Raises:
            TooLargeError: if the text exceeds its limit.
        """
        decoder = codecs.getincrementaldecoder(encoding_of(self.raw))(_LATIN)
        tail, left = "", self.most
        for raw in chain(*(iter(partial(stream.read, CHUNK), b"") for stream in (BytesIO(self.raw), self.rest))):
            left -= len(raw)
            if left < 0:
                raise TooLargeError
            text = tail + decoder.decode(raw)
            end = text.rfind("\n") + 1 or (len(text) if len(text) > CHUNK else 0)
            if end:
                yield text[:end]
            tail = text[end:]
        if tail := tail + decoder.decode(b"", final=True):
            yield tail


_LINE = re.compile("([^\r\n]*)(\r\n|\r|\n|\\Z)")


def text_lines(text: str, *, ends: bool = False) -> list[str]:
    """Return the lines of a text as editors count them; `str.splitlines` ends one at U+2028, form feeds and others too.

    Args:
        ends: keep the line breaks.
    """
    lines = [match[0] if ends else match[1] for match in _LINE.finditer(text)]
    return lines[:-1]  # behind the last line break, or at the end of a text without one, there is no line
