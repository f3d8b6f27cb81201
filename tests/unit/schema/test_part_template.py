"""`ffplan catalog new`: the file of every kind can be read as it is, and explains every field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.folders import KINDS
from ffplan.catalog.read import read_part
from ffplan.catalog.store import Catalog
from ffplan.inputs.document import parse_document
from ffplan.schema.json_schema import json_schema
from ffplan.schema.part_template import _fields_of_kind, part_template
from tests.support import but_few, ffplan

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("kind", but_few(sorted(KINDS), "switch", "server", "price-book", "reliability"))
def test_a_new_part_is_valid_and_complete(kind: str) -> None:
    text = part_template(kind, "my-part", Catalog())
    part = read_part(parse_document(text.encode(), "my-part.yaml")).part
    assert (part.kind, part.id) == (kind, "my-part")
    assert {source.status for source in part.sources.values()} == {"R"}  # nothing is a fact yet
    assert all(figure.source == "todo" and figure.status is None for _, figure in part.figures())
    for name, field in _fields_of_kind(json_schema("catalog"), kind)["properties"].items():
        assert any(line.startswith((f"{name}:", f"# {name}:")) for line in text.splitlines()), name
        if name not in ("kind", "id", "name", "vendor", "sources"):
            words = " ".join(field.get("description", "").split())[:40]
            assert words in " ".join(text.replace("\n# ", " ").split()), name


def test_the_command_prints_or_writes(tmp_path: Path) -> None:
    target = tmp_path / "my-switch.yaml"
    assert ffplan("catalog new switch --id my-switch --like qm8700 -o", str(target)).code == 0
    assert "ports: {value: 40, source: todo}" in target.read_text()
    assert ffplan("check", str(target), "--isolated").code == 0
    assert "my-switch" in ffplan("catalog list switches --catalog", str(tmp_path)).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("swich", "no kind `swich`"),
        ("switch --like qm8701", "did you mean `qm8700`?"),
        ("switch --id A/b", "use lower-case letters"),
    ],
)
def test_what_cannot_be_made(arguments: str, words: str) -> None:
    done = ffplan("catalog new", *arguments.split())
    assert (done.code, done.out) == (2, "")
    assert words in done.err
