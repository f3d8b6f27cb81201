"""Where the points of a sweep are written to, chunk by chunk, so that an interrupted sweep can go on."""

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

from ffplan.base.errors import UsageError
from ffplan.base.files import is_file, read_regular, write_whole
from ffplan.cli.output import refuse_target

if TYPE_CHECKING:
    from ffplan.studies.choose.sweep_total import Total

FORMS = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet"}


MOST_NOTE = 256 * 2**20
"""Largest note that is read [byte]."""
BLOCK = 2**20
"""What is read at once to check a file [byte]."""
NOTED_EVERY = 0.5
"""Least time between notes, each of which waits for the disk [s]."""


def _digest(key: str, kept: int, check: int, state: Any) -> str:
    """Return what tells a note from a damaged one."""
    return sha256(json.dumps([key, kept, check, state]).encode()).hexdigest()


def form_of(name: str | None) -> str | None:
    """Return the form of a file of points by its name; None without one.

    Raises:
        UsageError: if its ending is none that is written, or Parquet cannot be written here.
    """
    if name is None:
        return None
    form = FORMS.get(Path(name).suffix.lower())
    if form is None:
        raise UsageError(f"--points {name}: end the name in {', '.join(FORMS)}")
    if form == "parquet" and find_spec("pyarrow") is None:
        raise UsageError(f"--points {name}: Parquet needs pyarrow: `pip install 'ffplan[tables]'`")
    return form


class PointsTarget(ABC):
    """Points on disk, with a note beside them until they are complete."""

    def __init__(self, name: str, key: str) -> None:
        """Name it.

        Args:
            key: what tells the sweep from any other.
        """
        self.name, self.key = name, key
        self.path, self.note = Path(name), Path(f"{name}.resume")
        self.kept = 0
        """Bytes of a file, or parts of a folder, that are whole [1]."""
        self.check = 0
        """CRC-32 of the whole bytes of a file; parts of a folder appear whole by themselves."""
        self.begun = False
        """True once something was written: nothing is replaced before the first chunk is there."""
        self._nothing: Any = None
        """What no chunk at all came to, as a note has it."""
        self._noted_at = float("-inf")
        """When the last note was written [s]."""
        self._written = self._noted = 0
        """Chunks that are written, and those that the last note counts [1]."""

    def start(self, total: Total, *, resume: bool) -> None:
        """Begin, or cut back to the last whole chunk.

        Args:
            total: takes up what the chunks that are there came to.
            resume: continue where it stopped.

        Raises:
            UsageError: if it cannot be written, belongs to another sweep, or its note is damaged.
        """
        self.refuse()
        self._nothing = deepcopy(total.state())  # its lists grow with the chunks
        noted = os.path.lexists(self.note)
        if noted and (self.note.is_symlink() or not self.note.is_file()):
            raise UsageError(f"--points {self.name}: {self.note} is no file of ffplan; remove it")
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
            found = json.loads(read_regular(self.note, MOST_NOTE) or b"")
            key, kept, check = found["key"], int(found["bytes"]), int(found["check"])
            if found["digest"] != _digest(key, kept, check, found["total"]):
                raise ValueError
            total.restore(found["total"])
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
        """Note how far it goes, where the last note does not say so and no chunk is half taken.

        Args:
            total: what all chunks came to.

        Raises:
            UsageError: if it cannot be written.
        """
        if not self._noted < self._written == total.chunks:
            return
        try:
            self._note(self.kept, self.check, total.state())
        except OSError as error:
            raise self._unwritten(error) from None
        self._noted_at, self._noted = time.monotonic(), self._written

    def _note(self, kept: int, check: int, state: Any) -> None:
        """Write the note.

        Raises:
            OSError: if it cannot be written; the last one is then as it was.
        """
        digest = _digest(self.key, kept, check, state)
        note = {"key": self.key, "bytes": kept, "check": check, "digest": digest, "total": state}
        write_whole(self.note, json.dumps(note), follow=False)

    @abstractmethod
    def refuse(self) -> None:
        """Refuse a name that cannot be written to, before anything else."""

    @abstractmethod
    def refuse_again(self, *, interrupted: bool) -> None:
        """Refuse what a new sweep may not take the place of.

        Args:
            interrupted: a sweep to here was interrupted.
        """

    @abstractmethod
    def begin(self) -> None:
        """Begin with nothing."""

    @abstractmethod
    def cut(self, kept: int) -> bool:
        """Drop what comes after some bytes or parts; return whether they are there, as they were written."""

    @abstractmethod
    def put(self, data: bytes) -> int:
        """Write a chunk; return by how many bytes or parts it has grown."""

    def add(self, data: bytes, total: Total) -> None:
        """Append a chunk, and note it where the last note is old; a chunk without a note is evaluated again.

        Args:
            total: what all chunks up to it came to.

        Raises:
            UsageError: if it cannot be written.
        """
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
        """Drop the note once the disk has everything.

        Raises:
            UsageError: if it does not take it; the note stays.
        """
        try:
            self.settle()
        except OSError as error:
            raise self._unwritten(error) from None
        self.note.unlink(missing_ok=True)

    @abstractmethod
    def settle(self) -> None:
        """Wait until the disk has everything."""


class PointsFile(PointsTarget):
    """A file of lines."""

    def __init__(self, name: str, key: str, header: str) -> None:
        """Name it.

        Args:
            key: what tells the sweep from any other.
        """
        super().__init__(name, key)
        self.header = header

    def refuse(self) -> None:
        """Refuse a folder, a folder that is missing, and YAML files."""
        refuse_target(self.name, "--points")

    def refuse_again(self, *, interrupted: bool) -> None:
        """Refuse nothing: a file of points is replaced, as any output is."""

    def begin(self) -> None:
        """Write the header."""
        with self.path.open("wb") as stream:
            self.kept = stream.write(self.header.encode())
        self.check = crc32(self.header.encode())

    def cut(self, kept: int) -> bool:
        """Drop the lines after some bytes; return whether these are there, with the check sum of the note."""
        found, left = 0, kept
        if not is_file(self.name):
            return False
        with self.path.open("r+b") as stream:
            while left and (block := stream.read(min(left, BLOCK))):
                found, left = crc32(block, found), left - len(block)
            if left or found != self.check:
                return False
            stream.truncate(kept)
        return True

    def put(self, data: bytes) -> int:
        """Append lines; return their bytes."""
        with self.path.open("ab") as stream:
            count = stream.write(data)
        self.check = crc32(data, self.check)
        return count

    def settle(self) -> None:
        """Wait until the disk has every line."""
        if self.begun:
            with self.path.open("r+b") as stream:
                os.fsync(stream.fileno())


class PointsFolder(PointsTarget):
    """A folder of Parquet files, one for each chunk, which readers of Parquet take as one table."""

    PARTS = "part-[0-9][0-9][0-9][0-9][0-9][0-9].parquet"

    def refuse(self) -> None:
        """Refuse the name of a file."""
        if is_file(self.name):
            raise UsageError(f"--points {self.name}: a file has this name; Parquet is written as a folder of parts")

    def refuse_again(self, *, interrupted: bool) -> None:
        """Refuse a folder with files that are not of an interrupted sweep.

        Raises:
            UsageError: if there are any.
        """
        inside = list(self.path.iterdir()) if self.path.exists() else []
        if any(not (interrupted and item.match(self.PARTS)) for item in inside):
            raise UsageError(f"--points {self.name}: the folder has files in it; choose another name")

    def begin(self) -> None:
        """Make the folder, without the parts of an interrupted sweep."""
        self.path.mkdir(exist_ok=True)
        self.cut(0)

    def cut(self, kept: int) -> bool:
        """Drop all parts but the first ones; return whether these are there."""
        parts = sorted(self.path.glob(self.PARTS))
        for part in parts[kept:]:
            part.unlink()
        return len(parts) >= kept

    def put(self, data: bytes) -> int:
        """Write the next part; return 1."""
        write_whole(self.path / f"part-{self.kept:06}.parquet", data, follow=False)
        return 1

    def settle(self) -> None:
        """Wait for nothing: the disk had each part before it appeared."""
