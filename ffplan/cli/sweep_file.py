"""Points of a sweep on disk, written chunk by chunk so that an interrupted sweep can resume."""

from __future__ import annotations

import json
import os
import time
from abc import ABC, abstractmethod
from copy import deepcopy
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ffplan.base.errors import UsageError, lacking
from ffplan.base.files import is_file, read_regular, write_whole
from ffplan.cli.output import _refuse_target

if TYPE_CHECKING:
    from ffplan.studies.choose.sweep_run import Total

FORMS = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet"}


MOST_NOTE = 256 * 2**20
"""Largest note [byte]."""
BLOCK = 2**20
"""Block of a file read at once for its check sum [byte]."""
NOTED_EVERY = 0.5
"""Least time between notes, since each waits for the disk [s]."""


def _digest(key: str, kept: int, check: int, state: Any) -> str:
    return sha256(json.dumps([key, kept, check, state]).encode()).hexdigest()


def _form_of(name: str | None) -> str | None:
    if name is None:
        return None
    form = FORMS.get(Path(name).suffix.lower())
    if form is None:
        raise UsageError(f"--points {name}: end the name in {', '.join(FORMS)}")
    if form == "parquet" and find_spec("pyarrow") is None:
        raise UsageError(lacking(f"--points {name}: Parquet", "pyarrow", "pyarrow"))
    return form


class _PointsTarget(ABC):
    def __init__(self, name: str, key: str) -> None:
        self.name, self.key = name, key
        self.path, self.note = Path(name), Path(f"{name}.resume")
        self.kept = 0
        """Complete bytes of a file, or parts of a folder [1]."""
        self.check = 0
        """CRC-32 of a file's complete bytes; parts of a folder are written atomically."""
        self.begun = False
        """Whether anything was written: no file is replaced before the first chunk exists."""
        self._nothing: Any = None
        """Outcome of no chunks, in the form of a note."""
        self._noted_at = float("-inf")
        """Time of the last note [s]."""
        self._written = self._noted = 0
        """Chunks written, and chunks counted in the last note [1]."""

    def start(self, total: Total, *, resume: bool) -> None:
        """Begin, or cut back to the last complete chunk."""
        self.refuse()
        self._nothing = deepcopy(total.state())  # its lists grow with the chunks
        noted = os.path.lexists(self.note)
        if noted and (self.note.is_symlink() or not self.note.is_file()):
            raise UsageError(f"--points {self.name}: {self.note} was not written by ffplan; remove it")
        try:
            if resume and noted:
                self._continue(total)
            elif resume and os.path.lexists(self.path):
                raise UsageError(f"--resume: {self.name} is complete, or of no sweep: there is no {self.note.name}")
            else:
                self.refuse_again(interrupted=noted)
        except OSError as error:
            raise self._unwritten(error) from None

    def _unwritten(self, error: OSError) -> UsageError:
        return UsageError(f"--points {self.name}: cannot be written: {error.strerror or error}")

    def _continue(self, total: Total) -> None:
        try:
            note = json.loads(read_regular(self.note, MOST_NOTE) or b"")
            key, kept, check = note["key"], int(note["bytes"]), int(note["check"])
            if note["digest"] != _digest(key, kept, check, note["total"]):
                raise ValueError
            total.restore(note["total"])
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise UsageError(
                f"--resume: {self.note} is damaged; delete it and {self.name}, and run the sweep without --resume"
            ) from None
        if key != self.key:
            raise UsageError(
                f"--resume: {self.name} is of another sweep: its design, axes, metrics or version of ffplan differ"
            )
        if not kept:
            return  # the disk was full before the first chunk was there
        self.check = check
        if not self.cut(kept):
            raise UsageError(f"--resume: {self.name} was changed since; run the sweep without --resume")
        self.kept, self.begun = kept, True
        self._written = self._noted = total.chunks

    def say(self, total: Total) -> None:
        """Write a note of the progress, if the last note is behind and no chunk is half processed."""
        if not self._noted < self._written == total.chunks:
            return
        try:
            self._note(self.kept, self.check, total.state())
        except OSError as error:
            raise self._unwritten(error) from None
        self._noted_at, self._noted = time.monotonic(), self._written

    def _note(self, kept: int, check: int, state: Any) -> None:
        """Write the note; if writing fails, the last note stays unchanged."""
        digest = _digest(self.key, kept, check, state)
        note = {"key": self.key, "bytes": kept, "check": check, "digest": digest, "total": state}
        write_whole(self.note, json.dumps(note), follow=False)

    @abstractmethod
    def refuse(self) -> None:
        """Refuse an unwritable name first."""

    @abstractmethod
    def refuse_again(self, *, interrupted: bool) -> None:
        """Refuse existing data that a new sweep must not replace."""

    @abstractmethod
    def begin(self) -> None:
        """Begin without points."""

    @abstractmethod
    def cut(self, kept: int) -> bool:
        """Drop everything after some bytes or parts; return whether these exist unchanged."""

    @abstractmethod
    def put(self, data: bytes) -> int:
        """Write a chunk; return its bytes or parts."""

    def add(self, data: bytes, total: Total) -> None:
        """Append a chunk, and write a note if the last is old; a chunk without a note is evaluated again."""
        try:
            if not self.begun:
                self._note(0, 0, self._nothing)  # from now on what is there is known to be a part
                self.begin()
                self.begun = True
            self.kept += self.put(data)
        except OSError as error:
            raise self._unwritten(error) from None
        self._written = total.chunks
        if time.monotonic() - self._noted_at >= NOTED_EVERY:
            self.say(total)

    def finish(self) -> None:
        """Drop the note once all data is on disk."""
        try:
            self.settle()
        except OSError as error:
            raise self._unwritten(error) from None
        self.note.unlink(missing_ok=True)

    @abstractmethod
    def settle(self) -> None:
        """Wait until all data is on disk."""


class _PointsFile(_PointsTarget):
    def __init__(self, name: str, key: str, header: str) -> None:
        super().__init__(name, key)
        self.header = header

    def refuse(self) -> None:
        _refuse_target(self.name, "--points")

    def refuse_again(self, *, interrupted: bool) -> None:
        """Refuse nothing: a points file is replaced like any output."""

    def begin(self) -> None:
        with self.path.open("wb") as stream:
            self.kept = stream.write(self.header.encode())
        self.check = crc32(self.header.encode())

    def cut(self, kept: int) -> bool:
        """Drop the lines after some bytes; return whether these match the note's check sum."""
        check, left = 0, kept
        if not is_file(self.name):
            return False
        with self.path.open("r+b") as stream:
            while left and (block := stream.read(min(left, BLOCK))):
                check, left = crc32(block, check), left - len(block)
            if left or check != self.check:
                return False
            stream.truncate(kept)
        return True

    def put(self, data: bytes) -> int:
        with self.path.open("ab") as stream:
            count = stream.write(data)
        self.check = crc32(data, self.check)
        return count

    def settle(self) -> None:
        if self.begun:
            with self.path.open("r+b") as stream:
                os.fsync(stream.fileno())


class _PointsFolder(_PointsTarget):
    """A folder of Parquet files, one per chunk, which Parquet readers take as one table."""

    PARTS = "part-[0-9][0-9][0-9][0-9][0-9][0-9].parquet"

    def refuse(self) -> None:
        if is_file(self.name):
            raise UsageError(f"--points {self.name}: a file has this name; Parquet is written as a folder of parts")

    def refuse_again(self, *, interrupted: bool) -> None:
        inside = list(self.path.iterdir()) if self.path.exists() else []
        if any(not (interrupted and entry.match(self.PARTS)) for entry in inside):
            raise UsageError(f"--points {self.name}: the folder has files in it; choose another name")

    def begin(self) -> None:
        self.path.mkdir(exist_ok=True)
        self.cut(0)

    def cut(self, kept: int) -> bool:
        parts = sorted(self.path.glob(self.PARTS))
        for part in parts[kept:]:
            part.unlink()
        return len(parts) >= kept

    def put(self, data: bytes) -> int:
        write_whole(self.path / f"part-{self.kept:06}.parquet", data, follow=False)
        return 1

    def settle(self) -> None:
        """Return at once: each part is on disk before it appears."""
