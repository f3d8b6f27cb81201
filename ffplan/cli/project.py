"""Settings of a project that stand in for options: `catalog` and `prices` of the nearest `ffplan.toml`."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.design.policy_schema import PolicyFields

_TABLE = re.compile(rb"\btool\.ffplan\b|^\s*\[tool\]", re.MULTILINE)
"""What a `pyproject.toml` with settings of ffplan has."""


def _may_have(folder: Path) -> bool:
    """Return whether a folder may have settings, without importing what reads them."""
    if (folder / "ffplan.toml").is_file():
        return True
    try:
        return _TABLE.search((folder / "pyproject.toml").read_bytes()) is not None
    except OSError:
        return False


def _here() -> Path | None:
    """Return the working folder; None if it is gone."""
    try:
        return Path.cwd()
    except OSError:
        return None


@cache
def _settings(folder: Path | None) -> tuple[Path, PolicyFields] | None:
    """Return the folder of the nearest settings upwards, and the settings; None without any.

    Raises:
        InputError: if the settings are wrong.
    """
    if folder is None or not any(map(_may_have, (folder, *folder.parents))):
        return None
    from ffplan.check.policy import find_policy, read_defaults

    path = find_policy(folder)
    return None if path is None else (path.parent, read_defaults(path, os.path.relpath(path)))


def _project_catalogs(given: list[str] | None = None) -> list[str]:
    """Return the folders of parts: those of the option, then those of the project.

    Args:
        given: values of `--catalog`.
    """
    found = _settings(_here())
    own = [] if found is None else [os.path.relpath(found[0] / name) for name in found[1].catalog]
    return [*(given or ()), *own]


def _project_prices() -> str | None:
    """Return the project's price book; None of a project without one."""
    found = _settings(_here())
    return None if found is None else found[1].prices
