"""The front door. `--version` answers without importing anything else."""

from __future__ import annotations

import gc
import io
import os
import sys
from contextlib import suppress


def main() -> None:
    """Run ffplan on the arguments of the process; `SystemExit` carries the exit code."""
    if sys.argv[1:] == ["--version"]:
        from ffplan.base.version import __version__

        print(f"ffplan {__version__}")
        return
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter is no bug
    if sys.stderr is not None:
        from ffplan.base.control_characters import VisibleStream

        sys.stderr = VisibleStream(sys.stderr)
    from ffplan.base.processes import listen

    listen()
    gc.set_threshold(500_000, 50, 50)  # one collection costs a twentieth of a short command
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # no plugin may change what a file means
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts in half the time, and no matrix here is large
    from ffplan.cli.app import run

    sys.exit(run())


def _in_utf_8() -> None:
    """Begin anew in Python's UTF-8 mode where the locale cannot spell the folder that ffplan is in.

    A C locale that is forced on Python, and a letter beyond ASCII in the path: compiled libraries fail on such names.
    """
    if not sys.flags.utf8_mode and any("\udc80" <= letter <= "\udcff" for letter in __file__):
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def entry() -> None:
    """Run `main`, and leave at once.

    The interpreter would take its modules apart one by one, a seventh of a short command's time. Every file that
    ffplan writes is closed by then, so only the two streams are left to empty.
    """
    code: str | int | None = 0
    try:
        _in_utf_8()
        main()
    except SystemExit as stop:
        code = stop.code
    except KeyboardInterrupt:
        print("ffplan: interrupted", file=sys.stderr)
        code = 130
    except OSError as error:
        code = _unwritten(error)
    if isinstance(code, str):
        print(code, file=sys.stderr)
    _leave(code if isinstance(code, int) else int(code is not None))


def _leave(code: int) -> None:
    """End the process with an exit code; results that the system does not take are an error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError as error:
            code = code or _unwritten(error)
    os._exit(code)


def _unwritten(error: OSError) -> int:
    """Return the exit code of a stream that takes nothing more; a reader that has left needs no message."""
    from ffplan.base.errors import EXIT_INVALID, EXIT_PIPE

    if isinstance(error, BrokenPipeError):
        return EXIT_PIPE
    with suppress(OSError):
        print(f"ffplan: standard output: cannot be written: {error.strerror}", file=sys.stderr, flush=True)
    return EXIT_INVALID


if __name__ == "__main__":
    entry()
