"""Progress of long work: one line on standard error that moves every second, on a terminal alone."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ffplan.base.control_characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

AGAIN = 1.0
"""Time between two redraws of the line [s]."""
SILENT = 2.0
"""Time after which a command that says nothing of its work is named, and time spent is shown [s]."""


class Line:
    """The line of progress, redrawn with the time since its work began."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._text = ""
        self._began = 0.0
        self._command = ""
        self._ticking = False

    @staticmethod
    def shown() -> bool:
        """Return whether there is a terminal to show the line on."""
        return sys.stderr is not None and sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Show a line, and keep it moving."""
        with self._lock:
            if not self._text:
                self._began = time.monotonic()
            self._text = text
            self._draw()
        self._tick()

    def clear(self) -> None:
        """Clear the line."""
        with self._lock:
            self._text = ""
            self._draw()

    def quiet(self) -> None:
        """Clear the line for good: the command prints what it has."""
        with self._lock:
            if self._text:
                self.clear()
            self._command = ""

    @contextmanager
    def waiting(self, command: str) -> Iterator[None]:
        """Name a command that takes long and says nothing of its work.

        Args:
            command: the command, as it is called.
        """
        self._command, self._began = command, time.monotonic()
        if self.shown():
            self._tick()
        try:
            yield
        finally:
            self.quiet()

    def _draw(self) -> None:
        """Replace the line on the terminal itself, since standard error escapes control characters."""
        spent = time.monotonic() - self._began
        after = f" ({spent:.0f} s)" if self._text and spent >= SILENT else ""
        stream = getattr(sys.stderr, "stream", sys.stderr)
        print(f"\r\x1b[K{visible(self._text)}{after}", end="", file=stream, flush=True)

    def _tick(self) -> None:
        """Redraw the line from a thread, as long as there is anything to show."""
        with self._lock:
            if self._ticking:
                return
            self._ticking = True
        threading.Thread(target=self._redraw, daemon=True).start()

    def _redraw(self) -> None:
        while True:
            time.sleep(AGAIN)
            with self._lock:
                if not self._text and self._command and time.monotonic() - self._began >= SILENT:
                    self._text = self._command
                if self._text:
                    self._draw()
                elif not self._command:
                    self._ticking = False
                    return


LINE = Line()
"""The one line of the process."""


class Progress:
    """What one piece of work shows of its progress; silent unless standard error is a terminal."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.done = 0
        self.shown = Line.shown()

    def step(self, done: int, total: int, detail: str = "") -> None:
        """Print the progress."""
        if self.shown:
            LINE.say(f"{self.what}: {done} of {total} {detail}".rstrip())

    def now(self, detail: str) -> None:
        """Print what is tried where nobody knows how much is left."""
        if self.shown:
            LINE.say(f"{self.what}: {detail}")

    def count(self, done: int) -> None:
        """Print a count if the total is unknown."""
        if self.shown:
            LINE.say(f"{self.what}: {done} times")

    def another(self, total: int) -> None:
        """Print the number of calls out of the total."""
        self.done += 1
        self.step(self.done, total)

    def end(self) -> None:
        """Clear the line."""
        if self.shown:
            LINE.clear()
