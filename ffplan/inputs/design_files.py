"""Design files by path, or by the name of a shipped one."""

from __future__ import annotations

from pathlib import Path

from ffplan.base.errors import UsageError
from ffplan.base.paths import data_folder


def shipped_designs() -> list[str]:
    """Return the names of the designs that ship with ffplan."""
    return sorted(path.stem for path in data_folder("designs").glob("*.yaml"))


def shipped_label(name: str) -> str:
    """Return what to call the file of a shipped design."""
    return f"designs/{name}.yaml"


def find_design(name: str) -> tuple[Path, str]:
    """Return the file of a design given by path, or by the name of a shipped one, and what to call the file."""
    if not name:
        raise UsageError("ffplan: the name of a design is empty")
    path = Path(name)
    try:
        plain_name = not path.exists() and not path.suffix and path.name == name
    except (OSError, ValueError):
        return path, name
    if plain_name:
        shipped = data_folder("designs") / f"{name}.yaml"
        if shipped.is_file():
            return shipped, shipped_label(name)
        from ffplan.inputs.quantities import printable
        from ffplan.inputs.suggest import did_you_mean

        hint = did_you_mean(name, shipped_designs(), what="shipped design")
        raise UsageError(f"ffplan: no file and no shipped design is called `{printable(name)}`; {hint}")
    return path, name
