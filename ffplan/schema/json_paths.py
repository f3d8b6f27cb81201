"""Every path of the JSON outputs with its type and meaning, and the numbers of a result with theirs."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ffplan.base.plain import plain
from ffplan.schema.json_schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

OUTPUTS = {
    "assessment": "ffplan design --format json",
    "findings": "ffplan check --format json",
    "comparison": "ffplan compare --format json",
    "cost": "ffplan cost --format json",
    "goodput": "ffplan operate goodput --format json",
    "storage": "ffplan operate storage --format json",
    "utilization": "ffplan operate jobs --format json",
    "sweep": "ffplan sweep --format json",
    "recommendation": "ffplan recommend --format json",
    "fleet-recommendation": "ffplan recommend --serve --format json",
    "fleet-plan": "ffplan fleet --format json",
    "serve-comparison": "ffplan compare --serve --format json",
    "acceptance": "ffplan fabric accept --format json",
    "train": "ffplan train --format json",
    "collective": "ffplan collective --format json",
    "accuracy": "ffplan model accuracy communication --format json",
    "size": "ffplan fabric size --format json",
    "route": "ffplan fabric route --format json",
    "placement": "ffplan fabric place --format json",
    "faults": "ffplan fabric faults --format json",
    "cabling": "ffplan fabric cables --format json",
    "verify": "ffplan fabric verify --format json",
    "audit": "ffplan fabric audit --format json",
    "diff": "ffplan diff --format json",
    "as-built": "ffplan fabric import ibnetdiscover",
    "slurm-topology": "ffplan fabric import slurm",
    "reproduction": "ffplan model reproduce --format json",
}
"""Command that prints each output, by the name of its schema."""


def _type(node: dict[str, Any]) -> str:
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(_type(option) for option in node["anyOf"]))
    if "enum" in node or "const" in node:
        return "text"
    if node.get("type") == "object" and "additionalProperties" in node:
        return f"mapping of {_type(node['additionalProperties'])}"
    return {"string": "text", "array": "list", "number": "number", "integer": "integer", "null": "null"}.get(
        str(node.get("type")), "object"
    )


def _paths(schema: dict[str, Any], node: dict[str, Any], path: str) -> list[tuple[str, str, str]]:
    """Return (path, type, meaning) of everything below a node of a schema."""
    node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node
    rows = []
    for option in node.get("anyOf", []):
        rows += _paths(schema, option, path)
    if node.get("type") == "array":
        rows += _paths(schema, node.get("items", {}), f"{path}[]")
    if isinstance(node.get("additionalProperties"), dict):
        rows += _paths(schema, node["additionalProperties"], f"{path}.<name>")
    for name, child in node.get("properties", {}).items():
        full = f"{path}.{name}" if path else name
        rows.append((full, _type(child), child.get("description", "")))
        rows += _paths(schema, child, full)
    kept: dict[str, tuple[str, str, str]] = {}
    for full, words, meaning in rows:
        before = kept.get(full, (full, words, meaning))
        kept[full] = (full, words, meaning if meaning == before[2] else f"{before[2]} {meaning}")
    return list(kept.values())


@cache
def _path_rows(kind: str) -> list[tuple[str, str, str]]:
    """Return (path, type, meaning) of every path of an output; `[]` is any position, `<name>` any key.

    A comparison leaves out its assessments, since `ffplan design` has the same paths.
    """
    schema = json_schema(kind)
    rows = _paths(schema, schema, "")
    return [row for row in rows if not row[0].startswith("designs[].")] if kind == "comparison" else rows


def path_words(path: str) -> str:
    """Return type and meaning of a path, and the commands whose JSON has it; empty for none.

    Args:
        path: such as `tco.rents[0].hour`; a position or key matches any.
    """
    name = re.sub(r"\[[^\]]*\]", "[]", path)
    commands: dict[tuple[str, str, str], list[str]] = {}
    for kind, command in OUTPUTS.items():
        for row in _path_rows(kind):
            if row[0] == name or re.fullmatch(re.escape(row[0]).replace("<name>", r"[^.]+"), name):
                commands.setdefault(row, []).append(command)
    return "".join(
        f"{place} ({words}): {meaning}\n({', '.join(dict.fromkeys(named))})\n"
        for (place, words, meaning), named in commands.items()
    )


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
