"""What is said where a package that only some commands need is missing."""

from __future__ import annotations

import sys
from pathlib import Path


def lacking(what: str, name: str, package: str) -> str:
    """Return the line that names a missing package, and how the Python that runs gets it.

    Args:
        what: what cannot go on.
        name: the package as people know it.
        package: its name in a package index.
    """
    import shlex

    python = Path(sys.executable or "python3")
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    return f"{what} needs {name}: `{shlex.join((str(python), '-m', 'pip', 'install', package))}`"
