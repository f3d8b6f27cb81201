"""Where the points of a sweep are written to, chunk by chunk, so that an interrupted sweep can go on."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.base.files import write_whole
from ffplan.cli.output import refuse_target

if TYPE_CHECKING:
    from ffplan.studies.sweep_total import Total

FORMS = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet"}


def form_of(name: str | None) -> str | None:
    """Return the form of a file of points by its name; None without one.

    Raises:
        UsageError: where its ending is none that is written, or Parquet cannot be written here.
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
            name: the file or folder.
            key: what tells the sweep from any other.
        """
        self.name, self.key = name, key
        self.path, self.note = Path(name), Path(f"{name}.resume")
        self.kept = 0
        """Bytes of a file, or parts of a folder, that are whole [1]."""

    def start(self, total: Total, *, resume: bool) -> None:
        """Begin, or cut back to the last whole chunk.

        Args:
            total: takes up what the chunks that are there came to.
            resume: continue where it stopped.

        Raises:
            UsageError: where it cannot be written, belongs to another sweep, or its note is damaged.
        """
        self.refuse()
        try:
            if resume and self.note.exists():
                self._continue(total)
            elif resume and self.path.exists():
                raise UsageError(f"--resume: {self.name} is complete, or of no sweep: there is no {self.note.name}")
            else:
                self.begin()
                self._say(total)
        except OSError as error:
            raise self._unwritten(error) from None

    def _unwritten(self, error: OSError) -> UsageError:
        return UsageError(f"--points {self.name}: cannot be written: {error.strerror or error}")

    def _continue(self, total: Total) -> None:
        try:
            found = json.loads(self.note.read_text(encoding="utf-8"))
            key, kept = found["key"], int(found["bytes"])
            total.restore(found["total"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(
                f"--resume: {self.note} is damaged; delete it and {self.name}, and run the sweep without --resume"
            ) from None
        if key != self.key:
            raise UsageError(
                f"--resume: {self.name} is of another sweep: its design, axes, metrics or version of ffplan differ"
            )
        if not self.cut(kept):
            raise UsageError(f"--resume: {self.name} is shorter than its note says; run the sweep without --resume")
        self.kept = kept

    def _say(self, total: Total) -> None:
        """Note how far it goes."""
        write_whole(self.note, json.dumps({"key": self.key, "bytes": self.kept, "total": total.state()}))

    @abstractmethod
    def refuse(self) -> None:
        """Refuse a name that cannot be written to, before anything else."""

    @abstractmethod
    def begin(self) -> None:
        """Begin with nothing."""

    @abstractmethod
    def cut(self, kept: int) -> bool:
        """Drop what comes after some bytes or parts; return whether they are there."""

    @abstractmethod
    def put(self, data: bytes) -> int:
        """Write a chunk; return by how many bytes or parts it has grown."""

    def add(self, data: bytes, total: Total) -> None:
        """Append a chunk.

        Args:
            data: its points.
            total: what all chunks up to it came to.

        Raises:
            UsageError: where it cannot be written.
        """
        try:
            self.kept += self.put(data)
            self._say(total)
        except OSError as error:
            raise self._unwritten(error) from None

    def finish(self) -> None:
        """Drop the note: everything is written."""
        self.note.unlink(missing_ok=True)


class PointsFile(PointsTarget):
    """A file of lines."""

    def __init__(self, name: str, key: str, header: str) -> None:
        """Name it.

        Args:
            name: the file.
            key: what tells the sweep from any other.
            header: its first line.
        """
        super().__init__(name, key)
        self.header = header

    def refuse(self) -> None:
        """Refuse a folder, a folder that is missing, and YAML files."""
        refuse_target(self.name, "--points")

    def begin(self) -> None:
        """Write the header."""
        with self.path.open("wb") as stream:
            self.kept = stream.write(self.header.encode())

    def cut(self, kept: int) -> bool:
        """Drop the lines after some bytes; return whether these are there."""
        if self.path.stat().st_size < kept:
            return False
        with self.path.open("r+b") as stream:
            stream.truncate(kept)
        return True

    def put(self, data: bytes) -> int:
        """Append lines; return their bytes."""
        with self.path.open("ab") as stream:
            return stream.write(data)


class PointsFolder(PointsTarget):
    """A folder of Parquet files, one for each chunk, which readers of Parquet take as one table."""

    PARTS = "part-*.parquet"

    def refuse(self) -> None:
        """Refuse the name of a file."""
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"--points {self.name}: a file has this name; Parquet is written as a folder of parts")

    def begin(self) -> None:
        """Make the folder, without parts.

        Raises:
            UsageError: where something else is in it.
        """
        self.path.mkdir(exist_ok=True)
        if any(not item.match(self.PARTS) for item in self.path.iterdir()):
            raise UsageError(f"--points {self.name}: the folder has other files in it; choose another name")
        self.cut(0)

    def cut(self, kept: int) -> bool:
        """Drop all parts but the first ones; return whether these are there."""
        parts = sorted(self.path.glob(self.PARTS))
        for part in parts[kept:]:
            part.unlink()
        return len(parts) >= kept

    def put(self, data: bytes) -> int:
        """Write the next part; return 1."""
        write_whole(self.path / f"part-{self.kept:06}.parquet", data)
        return 1
