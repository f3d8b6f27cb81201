"""Schemas against the files that ship, and against files that are wrong."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from ffplan.cli.schema import SchemaName
from ffplan.inputs.document import read_document
from ffplan.schema.json_schema import DRAFT, OWNERS, json_schema
from tests.support import ROOT, ffplan

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = sorted(kind for owner in OWNERS for kind in owner.SCHEMAS)


def properties(node: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, field) of every property of every class."""
    for name, field in node.get("properties", {}).items():
        yield f"{node.get('title')}.{name}", field
    for definition in node.get("$defs", {}).values():
        yield from properties(definition)


@pytest.mark.parametrize("kind", KINDS)
def test_every_schema_is_one_and_says_what_each_field_is(kind: str) -> None:
    found = json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["$schema"] == DRAFT
    figures = ("value", "low", "high")  # of every figure alike
    bare = [place for place, field in properties(found) if not field.get("description")]
    assert not [place for place in bare if place.rpartition(".")[2] not in figures]


def test_schemas_are_those_that_ship() -> None:
    shipped = {path.name.removesuffix(".schema.json") for path in (ROOT / "schema").iterdir()}
    assert shipped == set(KINDS) == {name.value for name in SchemaName}


def test_no_schema_of_another_name() -> None:
    with pytest.raises(KeyError):
        json_schema("desing")


def test_a_description_is_the_text_under_the_field() -> None:
    tiers = json_schema("design")["$defs"]["Fabric"]["properties"]["tiers"]
    assert tiers["description"] == (
        "Switch tiers: 1, 2 (leaf, spine) or 3 (leaf, spine, core). Required for trees; a dragonfly has\nnone."
    )
    assert (tiers["minimum"], tiers["maximum"], tiers["default"]) == (1, 3, 1)


def test_a_subclass_keeps_the_texts_of_its_base() -> None:
    plan = json_schema("training-plan")["properties"]
    assert plan["tensor"]["description"] == "TP size."
    assert plan["kind"]["description"] == "Kind of file."


def test_the_title_names_the_file_and_its_class() -> None:
    assert json_schema("design")["title"] == "An ffplan design file (Design)"
    assert json_schema("catalog")["title"].endswith("(catalog)")  # a union of parts has no class


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("nodes",), []),
        (("nodes", 0, "count"), 0),
        (("nodes", 0, "role"), "computer"),
        (("fabric", "tiers"), 4),
        (("fabric", "colour"), "red"),
        (("site", "pue"), 0.9),
        (("name",), "Fire Flyer"),
        (("communication", "libraries", 0), "mpi"),
    ],
)
def test_a_wrong_design_does_not_meet_its_schema(path: tuple[str | int, ...], value: object) -> None:
    check = jsonschema.Draft202012Validator(json_schema("design"))
    data = copy.deepcopy(read_document(ROOT / "designs" / "fire-flyer-2.yaml", "x").data)
    assert check.is_valid(data)
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert not check.is_valid(data)


def test_a_report_meets_its_schema_and_a_report_without_a_field_does_not() -> None:
    check = jsonschema.Draft202012Validator(json_schema("assessment"))
    report = json.loads(ffplan("design fire-flyer-2 --format json").out)
    assert check.is_valid(report)
    for name in report:
        assert not check.is_valid({key: value for key, value in report.items() if key != name}), name
