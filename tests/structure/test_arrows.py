"""The arrows of the house: which room may import which."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = ROOT / "ffplan"
EVERYWHERE = {"__version__", "errors", "record", "elementwise", "units", "paths", "__init__"}
"""Leaves without imports of their own, open to all rooms."""

ARROWS: dict[str, set[str]] = {
    "inputs": set(),
    "catalog": {"inputs"},
    "design": {"catalog", "inputs"},
    "results": set(),
    "tables": set(),
    "trainings": {"assessment"},
    "fabric": {"design", "results", "catalog", "inputs"},
    "perf": {"assessment", "design", "fabric", "catalog", "tables", "trainings"},
    "accuracy": {"assessment", "catalog", "design", "fabric", "inputs", "perf", "tables", "trainings"},
    "cost": {"design", "fabric", "catalog"},
    "assessment": set(),
    "assumptions": {"assessment", "catalog", "cost", "design", "fabric"},
    "assess": {"assessment", "assumptions", "catalog", "cost", "design", "fabric", "perf"},
    "comparison": {"assessment", "cost"},
    "interop": {"assessment", "catalog", "design", "fabric", "inputs", "results"},
    "report": {
        "assessment",
        "comparison",
        "catalog",
        "design",
        "inputs",
        "interop",
        "results",
        "tables",
        "accuracy",
        "trainings",
    },
    "check": {"assess", "assessment", "catalog", "design", "fabric", "inputs"},
}
"""What each room may import; `cli` and `__main__` may import everything."""

THIRD_PARTY = {
    "inputs": {"pydantic", "pydantic_core", "yaml"},
    "catalog": {"pydantic", "pydantic_core"},
    "design": {"pydantic", "pydantic_core"},
    "fabric": {"numpy", "networkx"},
    "interop": {"numpy", "networkx"},
    "perf": {"numpy"},
    "accuracy": {"numpy", "pydantic", "pydantic_core", "scipy"},
    "cost": {"numpy"},
    "report": {"rich", "pydantic"},
    "cli": {"typer", "numpy", "pydantic_core"},
    "elementwise": {"numpy"},
}


def imports(path: Path) -> set[str]:
    """Return the full names that a module imports, also for types only."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            if node.module == "ffplan":
                names |= {f"ffplan.{alias.name}" for alias in node.names}
    return names


def room(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    here = room(path)
    if here in {"cli", "__main__"}:
        return
    allowed = ARROWS.get(here, set()) | EVERYWHERE | {here}
    for name in imports(path):
        if name.startswith("ffplan."):
            assert name.split(".")[1] in allowed, f"{here} may not import {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_third_party_packages_stay_in_their_rooms(path: Path) -> None:
    import sys

    for name in imports(path):
        top = name.split(".")[0]
        if top not in sys.stdlib_module_names and top != "ffplan":
            assert top in THIRD_PARTY.get(room(path), set()), f"{room(path)} may not import {top}"


def test_click_is_never_imported() -> None:
    """Typer carries its own."""
    assert not [path for path in MODULES if any(name.split(".")[0] == "click" for name in imports(path))]


def test_modules_and_functions_stay_small() -> None:
    for path in MODULES:
        text = path.read_text()
        assert len(text.splitlines()) <= 450, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 66, f"{path}:{node.name}"
