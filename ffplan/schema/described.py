"""The numbers of a result with the descriptions that its schema has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.plain import plain
from ffplan.schema.json_schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

BAND = {"likely", "p10", "p90"}
"""Fields of a figure with its quantiles."""


def described(value: Any, name: str) -> Iterator[tuple[str, float, str]]:
    """Yield (path, number, description) of every number of a result."""
    whole = json_schema(name)
    yield from _described(plain(value), whole, whole)


def _described(
    value: Any, node: dict[str, Any], schema: dict[str, Any], path: str = "", above: str = ""
) -> Iterator[tuple[str, float, str]]:
    """Yield (path, number, description) of every number; without its own description, its parent's."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, dict | list):
        fitting = {dict: ("properties", "additionalProperties", "$ref"), list: ("items", "prefixItems")}[type(value)]
        node = next((o for o in node.get("anyOf", []) if any(name in o for name in fitting)), node)
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, dict):
        others = node.get("additionalProperties")
        for key, inner in value.items():
            child = node.get("properties", {}).get(key) or (others if isinstance(others, dict) else {})
            full = f"{path}.{key}" if path else key
            text = child.get("description", above)
            if value.keys() >= BAND and above and text != above:
                text = f"{above} {text}"  # a quantile says what it is of
            yield from _described(inner, child, schema, full, text)
    elif isinstance(value, list):
        items = node.get("items")
        for position, inner in enumerate(value):
            yield from _described(inner, items if isinstance(items, dict) else {}, schema, f"{path}[{position}]", above)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value, above
