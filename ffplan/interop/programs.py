"""Other people's programs: finding them, and running them in a scratch folder with a time limit."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a process to end; an interrupt raises an exception by itself."""

_starting: list[bool] = []
"""Not empty while a program is being started."""
_asked: list[int] = []
"""Signals that came meanwhile."""


@record
class _RunningProgram:
    log: Path
    process: subprocess.Popen[bytes]


class _ProgramError(UsageError):
    """A program failed."""


class _TimeLimitError(_ProgramError):
    def __init__(self, what: str, limit_s: float) -> None:
        super().__init__(f"ffplan fabric verify: {what} {limit_s:g} s; allow more with `--limit`")


def _find_program(name: str, package: str) -> str:
    """Return the path of a program; the error of a missing one names its Debian package."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    program = shutil.which(name, path=path)
    if program is None:
        raise UsageError(
            f"ffplan fabric verify: the program `{name}` is missing; install the Debian package `{package}`"
        )
    return program


def _find_library(name: str, package: str) -> str:
    """Return the path of a shared library below /usr/lib; the error of a missing one names its Debian package."""
    for folder in ("/usr/lib", "/usr/local/lib"):
        for path in sorted(Path(folder).glob(f"**/{name}")):
            return str(path)
    raise UsageError(f"ffplan fabric verify: the library `{name}` is missing; install the Debian package `{package}`")


@contextlib.contextmanager
def ended_in_order() -> Iterator[None]:
    """Let the block clean up where a signal ends the process: programs are stopped, scratch folders removed."""

    def leave(number: int, _: object) -> None:
        for kind in _ENDING:
            signal.signal(kind, signal.SIG_IGN)  # a second one would interrupt the cleaning
        if _starting:
            _asked.append(number)  # nobody would know the program that is just being started
        else:
            raise SystemExit(128 + number)

    before = {kind: signal.signal(kind, leave) for kind in _ENDING}
    try:
        yield
    finally:
        _asked.clear()
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextlib.contextmanager
def _start() -> Iterator[None]:
    """Put off a signal until the program that is being started is known."""
    _starting.append(True)
    try:
        yield
    finally:
        _starting.pop()


def _leave_if_asked() -> None:
    if _asked:
        raise SystemExit(128 + _asked[0])


@contextlib.contextmanager
def running(command: list[str], folder: Path, log: str, env: dict[str, str] | None = None) -> Iterator[_RunningProgram]:
    """Run a program in the background of a block; its output goes to `folder/log`, and it is stopped at the end.

    Raises:
        ProgramError: if the program cannot start.
    """
    output = folder / log
    with output.open("wb") as stream:
        try:
            with _start():
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, **(env or {})},
                )
        except OSError as error:
            raise _ProgramError(f"ffplan fabric verify: `{command[0]}` cannot be started: {error.strerror}") from None
        try:
            _leave_if_asked()
            yield _RunningProgram(output, process)
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _run_program(command: list[str], folder: Path, limit_s: float, env: dict[str, str] | None = None) -> str:
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
        )
    except subprocess.TimeoutExpired:
        raise _TimeLimitError(f"`{name}` took longer than", limit_s) from None
    except OSError as error:
        raise _ProgramError(f"ffplan fabric verify: `{name}` cannot be started: {error.strerror}") from None
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
        raise _ProgramError(f"ffplan fabric verify: `{name}` ended with exit code {done.returncode}: {last[0]}")
    return done.stdout


def _wait_for(ready: Callable[[], bool], job: _RunningProgram, limit_s: float, what: str) -> None:
    end = time.monotonic() + limit_s
    while not ready():
        if job.process.poll() is not None:
            last = job.log.read_text(errors="replace").strip().splitlines()[-1:] or ["no message"]
            raise _ProgramError(f"ffplan fabric verify: {what}: {last[0]}")
        if time.monotonic() > end:
            raise _TimeLimitError(f"{what} within", limit_s)
        time.sleep(0.02)
