"""JSON Schema of ffplan's inputs and outputs, with the docstring under each field as its description."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from dataclasses import is_dataclass
from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter

from ffplan.base.errors import Finding
from ffplan.catalog.folders import KINDS, model_of
from ffplan.design import fleet_file
from ffplan.design import policy_schema as policies
from ffplan.design import schema as design
from ffplan.design import training as plans
from ffplan.inputs.model import Frozen, other_names
from ffplan.inputs.part_ids import KINDS_KEY
from ffplan.measuring import recording as recordings
from ffplan.results import (
    acceptance,
    as_built,
    comparison,
    difference,
    explanation,
    fabric_counts,
    reliability,
    serving_runs,
)
from ffplan.results import accuracy as accuracies
from ffplan.results import collective as tables
from ffplan.results import cost as costs
from ffplan.results import design as assessment
from ffplan.results import fabric as results
from ffplan.results import fleet as fleets
from ffplan.results import fleet_plan as fleet_plans
from ffplan.results import measurement as measurements
from ffplan.results import recommendation as recommendations
from ffplan.results import serve_comparison as served_comparisons
from ffplan.results import serving as servings
from ffplan.results import storage as storages
from ffplan.results import sweep as sweeps
from ffplan.results import training as trainings
from ffplan.results import utilization as utilizations
from ffplan.validation import cases, serving_cases

if TYPE_CHECKING:
    from collections.abc import Callable

DRAFT = "https://json-schema.org/draft/2020-12/schema"

ADDRESSED = ("limits", "regressions")
"""Tables of a project's settings whose keys may be addresses of figures."""
OWNERS = (
    accuracies,
    design,
    assessment,
    comparison,
    costs,
    cases,
    serving_cases,
    plans,
    fleet_file,
    policies,
    tables,
    trainings,
    servings,
    results,
    as_built,
    difference,
    explanation,
    acceptance,
    reliability,
    storages,
    fabric_counts,
    utilizations,
    sweeps,
    recommendations,
    fleets,
    fleet_plans,
    served_comparisons,
    measurements,
    recordings,
    serving_runs,
)
"""Modules that own the models; each registers its own in `SCHEMAS`."""

_PARTS: Any = sorted(map(model_of, KINDS), key=lambda model: model.__name__)
_ROOTS: dict[str, tuple[Any, str]] = {
    "catalog": (Annotated[reduce(or_, _PARTS), Field(discriminator="kind")], "An ffplan catalogue file"),
    **{kind: root for owner in OWNERS for kind, root in owner.SCHEMAS.items()},
}


@cache
def field_docs(model: type) -> dict[str, str]:
    """Return the docstring under each field of a class, its bases included."""
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not (is_dataclass(base) or (issubclass(base, Frozen) and base is not Frozen)):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                docs[field.target.id] = inspect.cleandoc(str(text.value.value))
    return docs


def _classes(base: type[Frozen]) -> list[type[Frozen]]:
    """Return a class and its subclasses in modules; classes made at run time have no source."""
    classes: list[type[Frozen]] = [base]
    for child in base.__subclasses__():
        if getattr(sys.modules[child.__module__], child.__name__, None) is child:
            classes += _classes(child)
    return classes


def _known_classes() -> dict[str, type]:
    known: dict[str, type] = {model.__name__: model for model in _classes(Frozen)}
    for module in OWNERS:
        known |= {n: member for n, member in vars(module).items() if is_dataclass(member) and isinstance(member, type)}
    return known | {"Finding": Finding}


def _describe(node: Any, known: dict[str, type]) -> None:
    model = known.get(node.get("title", ""))
    if model is not None and "properties" in node:
        docs = field_docs(model)
        for name, field in node["properties"].items():
            if name in docs:
                field["description"] = docs[name]
        for name, alias in other_names(model) if issubclass(model, Frozen) else ():
            node["properties"][alias] = {**node["properties"][name], "description": f"The same as `{name}`."}
    for definition in node.get("$defs", {}).values():
        _describe(definition, known)


def _tidied(node: Any, ids_of: Callable[[str], list[str]] | None) -> Any:
    """Return a schema as editors read it: a line per paragraph, keys of JSON Schema alone, ids of parts as choices."""
    if isinstance(node, list):
        return [_tidied(inner, ids_of) for inner in node]
    if not isinstance(node, dict):
        return node
    tidied = {key: _tidied(inner, ids_of) for key, inner in node.items()}
    if isinstance(tidied.get("description"), str):
        tidied["description"] = re.sub(r"(?<!\n)\n(?![\n|-])", " ", tidied["description"])
    if "propertyName" in (tidied.get("discriminator") or ()):
        del tidied["discriminator"]  # OpenAPI's, which validators of JSON Schema warn of
    kinds = tidied.pop(KINDS_KEY, None)
    if kinds is not None and ids_of is not None:
        return {"type": "string", "enum": [name for kind in kinds for name in ids_of(kind)]} | {
            key: value for key, value in tidied.items() if key not in ("type", "pattern", "maxLength")
        }
    return tidied


def _nested(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a TOML file, with a nested table for a key such as `run.days`."""
    for name in ADDRESSED:
        table = schema["$defs"][schema["properties"][name]["$ref"].rpartition("/")[2]]
        inner: dict[str, dict[str, Any]] = {}
        for key, field in table["properties"].items():
            head, dot, rest = key.partition(".")
            if dot:
                inner.setdefault(head, {})[rest] = field
        for head, fields in inner.items():
            below = {"type": "object", "properties": fields, "additionalProperties": False}
            plain = table["properties"].get(head)  # `goodput` is a limit, and `goodput.goodput` its address
            text = plain["description"] if plain else f"Figures of `{head}`, by their address."
            table["properties"][head] = {"anyOf": [below, *([plain] if plain else [])], "description": text}
        if isinstance(table.get("additionalProperties"), dict):
            table["additionalProperties"] = {"anyOf": [table["additionalProperties"], {"type": "object"}]}
    dashed = {name.replace("_", "-"): field for name, field in schema["properties"].items()}
    return {**schema, "properties": {**schema["properties"], **dashed}}


def json_schema(name: str, ids_of: Callable[[str], list[str]] | None = None) -> dict[str, Any]:
    """Return the JSON Schema of design files, catalogue files, or one of the JSON outputs.

    Args:
        name: design, catalog, or one of the outputs, as `_ROOTS` names them.
        ids_of: ids of a kind of part, which the schema then offers; None for any id.

    Raises:
        KeyError: for any other name.
    """
    root, title = _ROOTS[name]
    result = TypeAdapter(root).json_schema(mode="validation")
    _describe(result, _known_classes())
    result = _tidied(result if root is not policies.PolicyFields else _nested(result), ids_of)
    return {"$schema": DRAFT, **result, "title": f"{title} ({result.get('title', name)})"}
