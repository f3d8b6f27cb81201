"""The front door. `--version` answers without importing anything else."""

from __future__ import annotations

import sys


def main() -> None:
    """Run ffplan on the arguments of the process and exit."""
    if sys.argv[1:] == ["--version"]:
        from ffplan import __version__

        print(f"ffplan {__version__}")
        return
    from ffplan.cli.app import run

    sys.exit(run())


if __name__ == "__main__":
    main()
