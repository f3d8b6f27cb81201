"""The arrows of the house: which room may import which."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from tests.support import ROOT, syntax

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = ROOT / "ffplan"

ARROWS: dict[str, set[str]] = {
    "base": set(),
    "inputs": {"base"},
    "catalog": {"inputs"},
    "design": {"catalog"},
    "fabric.sizing": {"design"},
    "fabric.wiring": {"fabric.sizing"},
    "fabric.routing": {"fabric.wiring"},
    "fabric": {"fabric.routing"},
    "node": {"fabric.sizing"},
    "collectives": {"node"},
    "training": {"collectives"},
    "serving": {"training"},
    "cost": {"fabric"},
    "reliability": {"cost"},
    "results": {"base"},
    "measuring": {"catalog"},
    "figures": {"training", "serving", "reliability", "results"},
    "studies.basis": {"figures", "measuring"},
    "studies.collective": {"studies.basis"},
    "studies.train": {"studies.collective"},
    "studies.fabric": {"studies.collective"},
    "studies.serve": {"serving", "studies.goodput"},
    "studies.operate": {"studies.train"},
    "studies.cost": {"studies.operate"},
    "studies.goodput": {"studies.cost", "studies.fabric"},
    "studies.design": {"studies.cost"},
    "studies.compare": {"studies.cost"},
    "studies.choose": {"studies.design", "studies.serve"},
    "studies.fleet": {"studies.choose"},
    "studies.explain": {"studies.compare", "studies.design", "studies.serve"},
    "studies.trust": {"studies.basis"},
    "studies": {"studies.explain", "studies.fabric", "studies.fleet", "studies.trust"},
    "validation": {"studies"},
    "calibration": {"validation"},
    "report": {"figures"},
    "check": {"studies", "report"},
    "interop": {"fabric.routing", "results"},
    "schema": {"calibration", "check", "interop", "report"},
    "api": {"check", "report"},
}
"""The rooms that each room builds on; it may import them and what they build on. `cli` may import everything."""

THIRD_PARTY = {
    "base": {"numpy"},
    "inputs": {"pydantic", "pydantic_core", "yaml"},
    "catalog": {"pydantic", "pydantic_core"},
    "design": {"pydantic", "pydantic_core"},
    "fabric.sizing": {"numpy"},
    "fabric.wiring": {"numpy"},
    "fabric.routing": {"numpy"},
    "collectives": {"numpy"},
    "training": {"numpy"},
    "serving": {"numpy"},
    "cost": {"numpy"},
    "reliability": {"numpy", "simpy"},
    "measuring": {"pydantic", "pydantic_core"},
    "studies": {"numpy"},
    "studies.choose": {"numpy", "pyarrow"},
    "validation": {"numpy", "pydantic", "pydantic_core"},
    "calibration": {"numpy", "scipy"},
    "interop": {"numpy"},
    "report": {"jinja2", "markupsafe", "rich", "vl_convert"},
    "schema": {"pydantic"},
    "api": {"networkx", "numpy", "pandas", "yaml"},
    "cli": {"typer", "numpy", "pydantic_core", "simpy"},
}
"""Packages from elsewhere that a room may import; no other room may import any."""


@cache
def imports(path: Path) -> set[str]:
    """Return the full names that a module imports, also for types only."""
    names: set[str] = set()
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            if node.module.split(".")[0] == "ffplan":
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@cache
def room_of(name: str) -> str | None:
    """Return the room of a module by its dotted name below the package; None outside of all rooms."""
    return max((room for room in (*ARROWS, "cli") if f"{name}.".startswith(f"{room}.")), key=len, default=None)


@cache
def below(room: str) -> set[str]:
    """Return a room with all that it may import."""
    return {room}.union(*(below(other) for other in ARROWS[room]))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = sorted(PACKAGE.rglob("*.py"))


def test_a_module_imports_only_what_its_room_may() -> None:
    wrong = []
    for path in MODULES:
        here = room_of(dotted(path))
        if here in (None, "cli"):
            continue
        for name in imports(path):
            there = room_of(name.removeprefix("ffplan."))
            if name.startswith("ffplan.") and there and there not in below(here):
                wrong.append(f"{dotted(path)} may not import {name}")
    assert not wrong


def test_no_modules_import_each_other() -> None:
    """Not even for types."""
    known = {dotted(path): path for path in MODULES}
    ahead = {
        name: {there for there in (item.removeprefix("ffplan.") for item in imports(path)) if there in known} - {name}
        for name, path in known.items()
    }
    while ahead:
        free = {name for name, needed in ahead.items() if not needed & set(ahead)}
        assert free, f"a circle among {sorted(ahead)}"
        ahead = {name: needed for name, needed in ahead.items() if name not in free}


def test_every_module_lives_in_a_room() -> None:
    loose = [dotted(path) for path in MODULES if room_of(dotted(path)) is None]
    assert set(loose) == {"__init__", "__main__"}, loose


def test_third_party_packages_stay_in_their_rooms() -> None:
    import sys

    wrong = []
    for path in MODULES:
        room = room_of(dotted(path)) or ""
        allowed = THIRD_PARTY.get(room, THIRD_PARTY.get(room.split(".")[0], set()))
        foreign = {name.split(".")[0] for name in imports(path)} - set(sys.stdlib_module_names) - {"ffplan"}
        wrong += [f"{dotted(path)} may not import {top}" for top in sorted(foreign - allowed)]
    assert not wrong


def test_click_is_never_imported() -> None:
    """Typer carries its own."""
    assert not [path for path in MODULES if any(name.split(".")[0] == "click" for name in imports(path))]


def test_modules_and_functions_stay_small() -> None:
    for path in MODULES:
        text = path.read_text()
        assert len(text.splitlines()) <= 450, path
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 66, f"{path}:{node.name}"


def test_unit_tests_lie_in_the_rooms_that_they_test() -> None:
    folders = {path.parent for path in (ROOT / "tests" / "unit").rglob("test_*.py")}
    assert {path.name for path in folders} <= {room.split(".")[0] for room in (*ARROWS, "cli")}
