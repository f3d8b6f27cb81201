"""Lines of Slurm's configuration files: comments removed, continued lines joined, included files inserted."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError, located
from ffplan.base.files import is_regular, read_limited, text_of
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 16 * 2**20
"""Most of all files together [byte]."""
_MOST_FILES = 10_000
"""Most files that are included [1]."""
_HOW = "give topology.conf or topology.yaml as slurmctld reads it"
_INCLUDE = re.compile(r"include\s+(\S+)\s*(.*)", re.IGNORECASE)
_HASH = re.compile(r"(?<!\\)#.*")


def _fault(file: str, line: int, message: str, remedy: str = _HOW) -> InputError:
    return located("file-slurm", file, (line, 1), message, remedy)


@record
class _ConfLine:
    file: str
    line: int
    text: str
    rest: str = ""
    """Text behind the name of an included file, which is an error to Slurm."""


def _joined(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of a configuration without comments, joined where one goes on in the next."""
    held, start = "", first
    for number, line in enumerate(text.splitlines(), start=first):
        start = start if held else number
        content = _HASH.sub("", line).rstrip()
        if content.endswith("\\"):
            held += content[:-1]
            continue
        if (whole := (held + content).strip()) != "":
            yield start, whole
        held = ""
    if held.strip():
        yield start, held.strip()


class _Includes:
    """The files that a configuration may include: from its folder, or from its ConfigMap.

    Slurm 22.05 looks for a file in the folder of the one that includes it (tried); this class takes the first folder.
    """

    def __init__(self, file: str, held: dict[str, tuple[int, str]] | None = None) -> None:
        self.file = file
        self.folder = Path(file).parent
        self.held = held
        """First line and text of the files of a ConfigMap, by name."""
        self.left_bytes, self.left_files = MOST_BYTES, _MOST_FILES

    def lines(self, text: str, first: int) -> Iterator[_ConfLine]:
        """Yield every line of a configuration, with included files in the place of `Include`."""
        real_path = str(Path(self.file).resolve())
        open_files = [(real_path, self.file, _joined(text, first))]
        while open_files:
            _, file, waiting = open_files[-1]
            line, row = next(waiting, (0, ""))
            if not line:
                open_files.pop()
                continue
            match = _INCLUDE.fullmatch(row)
            if match is None:
                yield _ConfLine(file, line, row)
                continue
            key, shown, start, inner = self._read(name := match[1], file, line)
            if key in (known for known, _, _ in open_files):
                raise _fault(file, line, f"`{name[:60]}` includes itself", "remove this `Include`")
            if match[2]:
                yield _ConfLine(file, line, "", match[2])
            open_files.append((key, shown, _joined(inner, start)))

    def _read(self, name: str, file: str, line: int) -> tuple[str, str, int, str]:
        """Read an included file; return its identity, its name in messages, its first line and its text."""
        self.left_files -= 1
        if self.left_files < 0:
            raise _fault(file, line, f"more than {_MOST_FILES:,} files are included", "merge them into one file")
        if self.held is not None:
            if name not in self.held:
                raise _fault(file, line, f"`{name[:60]}` is included, but the ConfigMap lacks it", "add it to `data`")
            start, text = self.held[name]
            self._count(len(text), file, line)
            return name, self.file, start, text
        path = Path(file).parent / name
        if not is_regular(path) and is_regular(self.folder / name):
            path = self.folder / name
        raw = self._bytes(path, name, file, line)
        self._count(len(raw), file, line)
        if (content := text_of(raw)) is None:
            raise _fault(str(path), 1, "this is no text")
        return str(path.resolve()), str(path), 1, content

    def _bytes(self, path: Path, name: str, file: str, line: int) -> bytes:
        beside = "put it beside the file that includes it, or correct the name: Slurm takes no quotes and no patterns"
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise _fault(file, line, f"`{name[:60]}` is included, but is not a regular file", beside)
            raw = read_limited(path, MOST_BYTES)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise _fault(file, line, f"`{name[:60]}` is included, but cannot be read: {why}", beside) from None
        return raw if raw is not None else b" " * (MOST_BYTES + 1)

    def _count(self, size: int, file: str, line: int) -> None:
        self.left_bytes -= size
        if self.left_bytes < 0:
            raise _fault(file, line, f"the included files have more than {MOST_BYTES / 2**20:g} MiB")
