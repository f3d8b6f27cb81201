"""The file that the points of a sweep are written to, chunk by chunk, so that an interrupted sweep can go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.base.files import write_whole
from ffplan.cli.output import refuse_target

if TYPE_CHECKING:
    from ffplan.studies.sweep_total import Total

FORMS = {".csv": "csv", ".jsonl": "jsonl"}


def form_of(name: str | None) -> str | None:
    """Return the form of a file of points by its name; None without one.

    Raises:
        UsageError: where its ending is none that is written.
    """
    if name is None:
        return None
    form = FORMS.get(Path(name).suffix.lower())
    if form is None:
        raise UsageError(f"--points {name}: end the name in {' or '.join(FORMS)}")
    return form


class PointsFile:
    """A file of points, with a note beside it until it is complete."""

    def __init__(self, name: str, key: str, header: str) -> None:
        """Name it.

        Args:
            name: the file.
            key: what tells the sweep from any other.
            header: its first line.
        """
        self.name, self.key, self.header = name, key, header
        self.path, self.note = Path(name), Path(f"{name}.resume")
        self.bytes = 0

    def start(self, total: Total, *, resume: bool) -> None:
        """Begin the file, or cut it back to its last whole chunk.

        Args:
            total: takes up what the chunks that are there came to.
            resume: continue where it stopped.

        Raises:
            UsageError: where it cannot be written, belongs to another sweep, or its note is damaged.
        """
        refuse_target(self.name, "--points")
        try:
            if resume and self.note.exists():
                self._continue(total)
            elif resume and self.path.exists():
                raise UsageError(f"--resume: {self.name} is complete, or of no sweep: there is no {self.note.name}")
            else:
                with self.path.open("wb") as stream:
                    self.bytes = stream.write(self.header.encode())
                self._say(total)
        except OSError as error:
            raise UsageError(f"--points {self.name}: cannot be written: {error.strerror or error}") from None

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
        if self.path.stat().st_size < kept:
            raise UsageError(f"--resume: {self.name} is shorter than its note says; run the sweep without --resume")
        with self.path.open("r+b") as stream:
            stream.truncate(kept)
        self.bytes = kept

    def _say(self, total: Total) -> None:
        """Note how far the file goes."""
        write_whole(self.note, json.dumps({"key": self.key, "bytes": self.bytes, "total": total.state()}))

    def add(self, text: str, total: Total) -> None:
        """Append a chunk.

        Args:
            text: its lines.
            total: what all chunks up to it came to.

        Raises:
            UsageError: where it cannot be written.
        """
        try:
            with self.path.open("ab") as stream:
                self.bytes += stream.write(text.encode())
            self._say(total)
        except OSError as error:
            raise UsageError(f"--points {self.name}: cannot be written: {error.strerror or error}") from None

    def finish(self) -> None:
        """Drop the note: the file is complete."""
        self.note.unlink(missing_ok=True)
