"""Design and plan files by path or shipped name."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from ffplan.base.errors import UsageError
from ffplan.base.files import data_folder

DESIGNS, PLANS, FLEETS = "designs", "designs/plans", "designs/fleets"
"""Folders of the shipped designs, plans and fleets."""


def _names(folder: str) -> list[str]:
    return sorted(path.stem for path in data_folder(folder).glob("*.yaml"))


def shipped_designs() -> list[str]:
    """Return the names of the designs that ship with ffplan."""
    return _names(DESIGNS)


def shipped_fleets() -> list[str]:
    """Return the names of the fleets that ship with ffplan."""
    return _names(FLEETS)


def shipped_label(name: str) -> str:
    """Return the name of a shipped design's file in messages."""
    return f"{DESIGNS}/{name}.yaml"


def as_argument(file: str) -> str:
    """Return a design's file as a command takes it: the name of a shipped one, which the folder at work may lack."""
    name = Path(file).stem
    return name if file == shipped_label(name) and name in shipped_designs() and not Path(file).exists() else file


def find_design(name: str) -> tuple[Path, str]:
    """Return the file of a design given by path or shipped name, and its name in messages."""
    return _find(name, {DESIGNS: "design"})


def find_design_or_fleet(name: str) -> tuple[Path, str]:
    """Return the file of a design or a fleet, as `find_design` does for designs."""
    return _find(name, {DESIGNS: "design", FLEETS: "fleet"})


def find_plan(name: str) -> tuple[Path, str]:
    """Return the file of a training plan, as `find_design` does for designs."""
    return _find(name, {PLANS: "plan"})


def find_fleet(name: str) -> tuple[Path, str]:
    """Return the file of a fleet, as `find_design` does for designs."""
    return _find(name, {FLEETS: "fleet"})


def _find(name: str, folders: dict[str, str]) -> tuple[Path, str]:
    what = " or ".join(folders.values())
    if not name:
        raise UsageError(f"ffplan: the name of a {what} is empty")
    path = Path(name)
    try:
        plain_name = not path.exists() and not path.suffix and path.name == name
    except (OSError, ValueError):
        return path, name
    if plain_name:
        for folder in folders:
            shipped = data_folder(folder) / f"{name}.yaml"
            if shipped.is_file():
                return shipped, f"{folder}/{name}.yaml"
        from ffplan.base.errors import did_you_mean
        from ffplan.inputs.quantities import printable

        hint = did_you_mean(name, chain.from_iterable(map(_names, folders)), what=f"shipped {what}")
        raise UsageError(f"ffplan: no file and no shipped {what} is called `{printable(name)}`; {hint}")
    return path, name
