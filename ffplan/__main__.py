"""The front door. `--version` answers without importing anything else."""

from __future__ import annotations

import gc
import io
import os
import sys


def main() -> None:
    """Run ffplan on the arguments of the process and exit."""
    if sys.argv[1:] == ["--version"]:
        from ffplan import __version__

        print(f"ffplan {__version__}")
        return
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter is no bug
    gc.set_threshold(200_000, 50, 50)  # collecting during imports costs a twentieth of a short command
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # no plugin may change what a file means
    from ffplan.cli.app import run

    sys.exit(run())


if __name__ == "__main__":
    main()
