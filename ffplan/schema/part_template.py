"""A commented file of a part to start from: every field explained, with values of a shipped part as examples."""

from __future__ import annotations

import json
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError
from ffplan.base.formatting import article
from ffplan.inputs.document import scalar
from ffplan.schema.json_schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.catalog.store import Catalog

WIDTH = 100
SOURCE = "todo"
EVIDENCE = ("source", "grade", "status", "note", "low", "high", "distribution")
HEADER = (
    "{kind}. Every value below is an example from `{example}` or another shipped part: replace it, name "
    "its source under `sources`, and remove fields that do not apply. Fields behind `#` are optional. "
    "`ffplan check FILE` says what is missing; `--catalog FOLDER` makes the part known."
)
SOURCES = (
    "title: enough to find it again. date: year, month or day. grade: measured, datasheet, derived or estimate. "
    "status: V seen in the source, VS second-hand, DG digitised, D derived, R recalled, always graded estimate."
)
APART = ("announced", "note")
"""Fields of an example that do not apply to another part."""
FITTED = ("training", "constants")
"""Fields that a fit to measured runs writes (`ffplan model calibrate`); values of another part are wrong."""
COUNTED = ("parameters", "active")
"""Fields that others of the file give as well; those of another part contradict the dimensions once they change."""
NONE = {"announced": True, "extends": "usd-2026", "without": ["nic"], "beside": "rsc-1"}
"""Examples of fields that no shipped part need have."""
HEAD = ("kind", "id", "name", "vendor", "sources")
"""Fields that every part has, in the order of a file."""


def _entries(catalog: Catalog, kind: str, like: str | None) -> list[Any]:
    """Return the data of parts of a kind: the named part first, then parts with most fields."""
    entries = {}
    for name in catalog.ids_of(kind):
        try:
            entries[name] = catalog.entry(name).document.data
        except InputError:
            continue
    first = [entries.pop(like)] if like in entries else []
    return [*first, *sorted(entries.values(), key=lambda data: (-len(data), str(data.get("id"))))]


def _mended(value: Any) -> Any:
    """Return example data whose figures and settings name our source, without their part's evidence."""
    if isinstance(value, dict):
        if isinstance(value.get("source"), str):
            kept = {name: _mended(inner) for name, inner in value.items() if name not in EVIDENCE}
            return {**kept, "source": SOURCE}
        return {name: _mended(inner) for name, inner in value.items()}
    return [_mended(inner) for inner in value] if isinstance(value, list) else value


def _flow(value: Any) -> str:
    """Return a value in one line of YAML."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{scalar(str(key))}: {_flow(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_flow(inner) for inner in value)}]"
    return scalar(value) if isinstance(value, str) else json.dumps(value)


def _comment(text: str, indent: str = "") -> list[str]:
    flat = " ".join(text.split())
    return [f"{indent}# {line}" for line in wrap(flat, WIDTH - len(indent))]


def _fields_of_kind(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the fields of a kind with their descriptions."""
    for option in schema.get("oneOf", schema.get("anyOf", [])):
        node = schema["$defs"][option["$ref"].rsplit("/", 1)[1]]
        if node["properties"]["kind"].get("const") == kind:
            return {"properties": node["properties"], "required": node.get("else", node).get("required", [])}
    raise KeyError(kind)


def _value(name: str, value: Any, *, optional: bool) -> Iterator[str]:
    """Yield the lines of a field, commented out if it is optional."""
    mark = "# " if optional else ""
    mended = SOURCE if name == "recipe" else _mended(value)
    if isinstance(mended, list) and mended and isinstance(mended[0], dict):
        yield f"{mark}{name}:"
        for inner in mended:
            yield f"{mark}  - {_flow(inner)}"
    elif isinstance(mended, dict) and "source" not in mended and len(_flow(mended)) > WIDTH:
        yield f"{mark}{name}:"
        for key, inner in mended.items():
            yield f"{mark}  {key}: {_flow(inner)}"
    else:
        yield f"{mark}{name}: {_flow(mended)}"


def part_template(kind: str, identity: str, catalog: Catalog, like: str | None = None) -> str:
    """Return a catalogue file with every field of a kind, explained.

    Args:
        kind: kind of part, such as switch.
        like: id of the part whose values come first.

    Raises:
        KeyError: for an unknown kind.
    """
    schema = _fields_of_kind(json_schema("catalog"), kind)
    examples = _entries(catalog, kind, like)
    example = examples[0]
    lines = [
        *_comment(HEADER.format(kind=article(kind).capitalize(), example=example["id"])),
        "",
        f"kind: {kind}",
        f"id: {_flow(identity)}  # the name of the file, without its ending",
        f"name: {_flow('TODO: name as its maker writes it')}",
        f"vendor: {_flow('TODO: maker')}",
        "sources:",
        *_comment(SOURCES, "  "),
        f'  {SOURCE}: {{title: "TODO: publication, section, page", date: "2026", grade: estimate, status: R}}',
    ]
    names = [name for name in schema["properties"] if name not in HEAD]
    shown = set(example) - {*APART, *FITTED, *COUNTED}
    required = [name for name in names if name in schema["required"] or name in shown]
    for name in [*required, *(name for name in names if name not in required)]:
        default = next((data[name] for data in examples if name in data), NONE.get(name, ""))
        lines += ["", *_comment(schema["properties"][name].get("description", ""))]
        optional = name not in required
        lines += list(_value(name, example.get(name, default), optional=optional))
    return "\n".join(lines) + "\n"
