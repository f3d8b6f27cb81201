"""Where code can be changed, and how: cosmic-ray's operators on every expression that runs."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import Visitor, mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

ROOMS = {
    "fabric": ("fabric",),
    "node": ("node",),
    "collectives": ("collectives",),
    "training": ("training",),
    "cost": ("cost",),
    "reliability": ("reliability",),
    "check": ("check",),
    "interop": ("interop",),
    "accuracy": ("validation", "calibration"),
}
"""The rooms that are changed, with their folders."""
LEFT_OUT = ("RemoveDecorator", "NoOp", "Variable", "ExceptionReplacer")
"""Operators whose changes either stop every import or change nothing that can be seen."""
LEAST = 20
"""Fewest mutants of a room."""
Place = tuple[int, int]


@cache
def text_of(file: str) -> str:
    """Return a file of the project as it was when it was first asked for."""
    return (ROOT / file).read_text()


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    room: str
    file: str
    """Path from the root of the project."""
    line: int
    operator: str
    occurrence: int
    """Which of the places where the operator can act."""

    def apply(self) -> str:
        """Return the changed file."""
        text = text_of(self.file)
        changed: str | None = mutate_code(text, get_operator(self.operator)(), self.occurrence)
        assert changed is not None, self
        return changed


@cache
def _operators() -> list[tuple[str, Any]]:
    names = sorted(name for name in operator_names() if not any(word in name for word in LEFT_OUT))
    return [(name, get_operator(name)()) for name in names if not _same_for_none(name)]


def _same_for_none(name: str) -> bool:
    """True where `is` would become `==` or the like, which is the same for None and for members of an enum."""
    words = name.split("_")
    return len({word in ("Is", "IsNot") for word in words[1:]}) == 2


class _Finder(Visitor):  # type: ignore[misc]
    """Lists the places of every operator, in the order in which `mutate_code` counts them."""

    def __init__(self) -> None:
        self.found: list[list[Place]] = [[] for _ in _operators()]

    def visit(self, node: Any) -> Any:
        """Note the places of a node."""
        for places, (_, operator) in zip(self.found, _operators(), strict=True):
            places.extend(start for start, _ in operator.mutation_positions(node))
        return node


def _silent(text: str) -> list[tuple[Place, Place]]:
    """Return the stretches of code that do not run: annotations, and imports for types alone."""
    found = []
    for node in ast.walk(ast.parse(text)):
        parts: list[Any] = []
        if isinstance(node, ast.AnnAssign | ast.arg):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            parts = [node.returns]
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            parts = [node.value]  # lengths that differ would be a bug elsewhere
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            parts = [node]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp | ast.Subscript):
            parts = [node.value] if _is_type(node.value) else []
        found += [
            ((part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset))
            for part in parts
            if part is not None
        ]
    return found


def _is_type(node: ast.expr) -> bool:
    """True for the value of a type alias, such as `Number = float | Floats`."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr) and all(_is_type(side) for side in (node.left, node.right))
    if isinstance(node, ast.Subscript):
        return _is_type(node.value)
    return isinstance(node, ast.Name) and (node.id[:1].isupper() or node.id in ("int", "float", "str", "tuple", "dict"))


def _word_comparisons(text: str) -> set[int]:
    """Return the lines that compare with a word, for which an order means nothing."""
    return {
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
        and any(
            isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, *node.comparators)
        )
    }


def _ordering(name: str) -> bool:
    """True for an operator that turns equality into an order."""
    words = name.split("_")[1:]
    return len(words) == 2 and words[0] in ("Eq", "NotEq") and words[1] in ("Lt", "LtE", "Gt", "GtE")


def spots(path: Path, room: str) -> dict[Place, list[Mutant]]:
    """Return the mutants of a file by place."""
    file = str(path.relative_to(ROOT))
    text = text_of(file)
    finder, silent = _Finder(), _silent(text)
    lines, words = text.splitlines(), _word_comparisons(text)
    finder.walk(get_ast(text))
    found: dict[Place, list[Mutant]] = defaultdict(list)
    for places, (name, _) in zip(finder.found, _operators(), strict=True):
        for occurrence, place in enumerate(places):
            if lines[place[0] - 1][place[1] :].startswith("*,") or (place[0] in words and _ordering(name)):
                continue  # the mark of keyword arguments; the order of two words
            if not any(start <= place < end for start, end in silent):
                found[place].append(Mutant(room, file, place[0], name, occurrence))
    return found


def _that_parses(mutants: list[Mutant]) -> Mutant:
    """Return the first mutant that is another Python program.

    What does not even parse says nothing of the tests, nor does the same program in other words, such as `1e+21` for
    `1e21`.
    """
    for mutant in mutants[:-1]:
        try:
            tree = ast.parse(mutant.apply())
        except SyntaxError:
            continue
        if ast.dump(tree) != _program(mutant.file):
            return mutant
    return mutants[-1]


@cache
def _program(file: str) -> str:
    """Return what a file of the project says, whatever its layout."""
    return ast.dump(ast.parse(text_of(file)))


def sample(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """Return mutants drawn without replacement: every place of a room is equally likely, then every change of it.

    Rooms share by their places, with a least number for small ones.

    Args:
        rooms: names of ROOMS.
        count: mutants wanted.
        seed: seed of the draw.
    """
    chance = random.Random(seed)
    places: dict[str, list[list[Mutant]]] = {}
    for room in rooms:
        paths = (path for folder in ROOMS[room] for path in sorted((ROOT / "ffplan" / folder).rglob("*.py")))
        places[room] = [mutants for path in paths for _, mutants in sorted(spots(path, room).items())]
    every = sum(map(len, places.values()))
    found = []
    for own in places.values():
        drawn = chance.sample(own, min(len(own), max(LEAST, round(count * len(own) / every))))
        found += [_that_parses(chance.sample(mutants, len(mutants))) for mutants in drawn]
    return sorted(found, key=lambda item: (item.file, item.line))
