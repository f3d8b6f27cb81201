"""The line of progress: it moves by itself, names a silent command, and is gone before output."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING

from ffplan.cli import progress
from ffplan.cli.output import write
from ffplan.cli.progress import LINE, Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

CLEARED = "\r\x1b[K"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a terminal in place of standard error; pytest puts its own there after fixtures are made."""
    found = Terminal()
    monkeypatch.setattr("sys.stderr", found)
    monkeypatch.setattr(progress, "AGAIN", 0.01)
    monkeypatch.setattr(progress, "SILENT", 0.05)
    return found


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not done():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_the_line_of_work_moves_by_itself_and_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    line = Progress("sizing")
    line.step(1, 3, "h200")
    assert terminal.getvalue() == f"{CLEARED}sizing: 1 of 3 h200"
    until(lambda: "sizing: 1 of 3 h200 (0 s)" in terminal.getvalue())
    line.end()
    said = terminal.getvalue()
    assert said.endswith(CLEARED)
    time.sleep(0.05)
    assert terminal.getvalue() == said


def test_a_silent_command_is_named_once_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with LINE.waiting("ffplan design"):
        assert terminal.getvalue() == ""
        until(lambda: "ffplan design (0 s)" in terminal.getvalue())
    assert terminal.getvalue().endswith(CLEARED)


def test_output_clears_the_line_for_good(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = on_terminal(monkeypatch)
    with LINE.waiting("ffplan design"):
        until(lambda: "ffplan design" in terminal.getvalue())
        write("a report\n", None)
        said = terminal.getvalue()
        assert said.endswith(CLEARED)
        time.sleep(0.1)
        assert terminal.getvalue() == said
    assert capsys.readouterr().out == "a report\n"


def test_without_a_terminal_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "SILENT", 0.0)
    with LINE.waiting("ffplan design"):
        line = Progress("sizing")
        line.step(1, 3)
        line.now("h200")
        line.count(2)
        line.another(4)
        line.end()
    assert stream.getvalue() == ""
