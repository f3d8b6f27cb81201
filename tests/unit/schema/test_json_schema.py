"""Schemas against the files that ship, and against files that are wrong."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from ffplan.cli.catalog import _SchemaName
from ffplan.inputs.document import read_document
from ffplan.schema.json_schema import _ROOTS, DRAFT, json_schema
from tests.support import ROOT, ffplan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KINDS = sorted(_ROOTS)


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
    assert shipped == set(KINDS) == {name.value for name in _SchemaName}


def test_no_schema_of_another_name() -> None:
    with pytest.raises(KeyError):
        json_schema("desing")


def test_a_description_is_the_text_under_the_field() -> None:
    tiers = json_schema("design")["$defs"]["Fabric"]["properties"]["tiers"]
    assert tiers["description"] == (
        "Switch tiers: 1, 2 (leaf, spine) or 3 (leaf, spine, core). Required for trees; a dragonfly has none."
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


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping in a schema."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(inner)


@pytest.mark.parametrize("kind", ["design", "catalog", "project", "assessment"])
def test_editors_get_whole_lines_and_keys_of_json_schema_alone(kind: str) -> None:
    texts = [node["description"] for node in nodes(json_schema(kind)) if isinstance(node.get("description"), str)]
    assert not [text for text in texts if re.search(r"[^\n]\n[^\n|-]", text)]
    assert not [node for node in nodes(json_schema(kind)) if "propertyName" in node or "x-ffplan-kinds" in node]


def test_a_schema_with_the_catalogue_knows_every_part(tmp_path: Path) -> None:
    text = ffplan("catalog new switch --id sn9999 --like sn5600").out
    (tmp_path / "own.yaml").write_text(text)
    done = ffplan("catalog", "schema", "design", "--with-catalog", "--catalog", str(tmp_path))
    check = jsonschema.Draft202012Validator(json.loads(done.out))
    data = read_document(ROOT / "designs" / "superpod-h100-4su.yaml").data
    assert not list(check.iter_errors(data))
    data["fabric"]["switch"] = "sn9999"
    assert not list(check.iter_errors(data))
    data["fabric"]["switch"], data["cost"]["price_book"] = "sn5060", "usd-2062"
    assert sorted(error.json_path for error in check.iter_errors(data)) == ["$.cost", "$.fabric.switch"]


def test_without_the_catalogue_any_id_will_do() -> None:
    check = jsonschema.Draft202012Validator(json_schema("design"))
    data = read_document(ROOT / "designs" / "superpod-h100-4su.yaml").data
    data["fabric"]["switch"] = "sn5060"
    assert not list(check.iter_errors(data))


def test_the_settings_of_a_project_have_a_schema() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)
    data = json.loads(json.dumps(tomllib.loads(text), default=str))
    check = jsonschema.Draft202012Validator(json_schema("project"))
    assert [error.message for error in check.iter_errors(data)] == []
    wrong: list[dict[str, Any]] = [{"catalogue": []}, {"catalog": "parts"}, {"fail-on": "always"}]
    for change in [*wrong, {"limits": {"run": {"dayz": 3}}}]:
        assert list(check.iter_errors(data | change)), change
    assert not list(check.iter_errors({"limits": {"run": {"days": 30.0}, "goodput": "90 %"}, "fail_on": "error"}))
