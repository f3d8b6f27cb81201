"""Settings of a project that stand in for options: `catalog` and `prices` of the nearest `ffplan.toml`."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.design.policy_schema import PolicyFields

FILES = ("ffplan.toml", "pyproject.toml")
"""Files of settings."""


@cache
def _settings(folder: Path) -> tuple[Path, PolicyFields] | None:
    """Return the folder of the nearest settings upwards, and the settings; None without any.

    Raises:
        InputError: if the settings are wrong.
    """
    if not any((place / name).is_file() for place in (folder, *folder.parents) for name in FILES):
        return None  # as in most folders: nothing else is imported
    from ffplan.check.policy import find_policy, read_defaults

    path = find_policy(folder)
    return None if path is None else (path.parent, read_defaults(path, os.path.relpath(path)))


def project_catalogs(given: list[str] | None = None) -> list[str]:
    """Return the folders of parts: those of the option, then those of the project.

    Args:
        given: values of `--catalog`.
    """
    found = _settings(Path.cwd())
    own = [] if found is None else [os.path.relpath(found[0] / name) for name in found[1].catalog]
    return [*(given or ()), *own]


def project_prices() -> str | None:
    """Return the project's price book; None of a project without one."""
    found = _settings(Path.cwd())
    return None if found is None else found[1].prices
