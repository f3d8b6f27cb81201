"""How the code is written: typed numbers, keyword calls, one name for one record, and the formatter's word is last."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from tests.structure.test_arrows import room_of
from tests.support import ROOT, lines_of, syntax

if TYPE_CHECKING:
    from pathlib import Path

MOST_ANY = 0.03


def sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_the_formatter_has_the_last_word() -> None:
    here = "fmt: " + "skip"
    assert not [path for path in sources("ffplan", "tests") if here in path.read_text()]


def test_few_annotations_say_nothing() -> None:
    found = [
        node.annotation
        for tree in map(syntax, sources("ffplan"))
        for node in ast.walk(tree)
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None
    ]
    vague = sum(isinstance(item, ast.Name) and item.id == "Any" for item in found)
    assert vague <= MOST_ANY * len(found), f"{vague} of {len(found)}"


def test_no_call_has_seven_positional_arguments() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources("ffplan", "tests")
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Call) and sum(not isinstance(item, ast.Starred) for item in node.args) > 6
    ]
    assert not long


def test_records_have_names_of_their_own() -> None:
    """But for `Document`: a file that was read, and a page to render."""
    names = Counter(
        node.name
        for tree in map(syntax, sources("ffplan"))
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(item, ast.Name) and item.id == "record" for item in node.decorator_list)
    )
    assert [name for name, count in names.items() if count > 1] == ["Document"]


def test_what_its_room_alone_uses_has_an_underscore() -> None:
    """But for the contracts of `api` and `results`, names in a registry or a schema, and functions of commands."""
    words: dict[str, set[str]] = {"schema": set(re.findall(r"\w+", lines_of(sorted((ROOT / "schema").glob("*.json")))))}
    public: list[tuple[str, str, Path]] = []
    for path in sources("ffplan"):
        room = room_of(".".join(path.relative_to(ROOT / "ffplan").with_suffix("").parts)) or "top"
        text = path.read_text()
        words.setdefault(room, set()).update(re.findall(r"\w+", text))
        words.setdefault("registries", set()).update(re.findall(r"""[":.](\w+)["}]""", text))
        public += [
            (room, node.name, path)
            for node in syntax(path).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if room not in ("api", "results")
            if not any(ast.unparse(item).startswith("app.") for item in node.decorator_list)
        ]
    narrow = [
        f"{path.relative_to(ROOT)}: {name}"
        for room, name, path in public
        if not any(name in used for other, used in words.items() if other != room)
    ]
    assert narrow == []


def test_every_pattern_of_a_schema_has_words() -> None:
    from ffplan.inputs.validate import pattern_remedy

    texts = [path.read_text() for path in sorted((ROOT / "schema").glob("*.json"))]
    found = {json.loads(f'"{item}"') for text in texts for item in re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', text)}
    found = {item for item in found if not item.startswith(r"^\s*")}  # quantities, whose errors say more
    assert len(found) > 3
    assert [item for item in sorted(found) if "of the form" in pattern_remedy(item)] == []


def test_large_records_are_built_by_keyword() -> None:
    """More than four fields: the decorator makes them so."""
    import inspect

    from ffplan.fabric.sizing.plan import FabricPlan

    kinds = {item.kind for item in inspect.signature(FabricPlan).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


def _compared(node: ast.AST) -> list[str]:
    """Return the texts that a comparison, or a look at the start or end of a text, names."""
    if isinstance(node, ast.Compare):
        named: list[ast.expr] = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        named = list(node.args) if node.func.attr in ("startswith", "endswith", "find", "partition") else []
    else:
        named = []
    return [item.value for item in named if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def test_no_code_above_studies_recognises_a_sentence() -> None:
    """A figure is found by its path: rewording a sentence changes nothing else."""
    found = [
        (path, text)
        for path in sources("ffplan/api", "ffplan/cli", "ffplan/figures", "ffplan/report")
        for node in ast.walk(syntax(path))
        for text in _compared(node)
        if text.strip().count(" ") > 1
    ]
    assert not found


def test_the_meaning_of_a_figure_stands_alone() -> None:
    """`explain` and the schemas print it without the field before it."""
    leans = re.compile(r'^    \w+: [^\n]+\n    """(The latter|The former|The same|Likewise)\b', re.MULTILINE)
    assert [
        f"{path.name}: {found[0]}" for path in sources("ffplan/results") for found in leans.finditer(path.read_text())
    ] == []
