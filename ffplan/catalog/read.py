"""Parts as read from files: model, document, extended profile, faults, and a record of the figures that are read."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError, did_you_mean
from ffplan.base.record import record
from ffplan.catalog.evidence import Figure
from ffplan.catalog.folders import KINDS, _unknown_kind, model_of
from ffplan.catalog.parts import Part, Server, StorageServer, Switch
from ffplan.catalog.topology import _server_faults
from ffplan.inputs.document import Document
from ffplan.inputs.model import Frozen, trusted
from ffplan.inputs.validate import validate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding


EXTENDS, WITHOUT = "extends", "without"
BY_NAME = ("sources", "hazards", "domain_parts", "relative", "storage_tiers")
"""Fields whose entries are merged with the base profile's; any other field replaces the base's."""


def base_name(data: Any) -> str | None:
    """Return the base of a reliability profile; None for any other part."""
    if not isinstance(data, dict) or data.get("kind") != "reliability":
        return None
    name = data.get(EXTENDS)
    return name if isinstance(name, str) else None


def _with_base(data: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    merged = {**base, **data}
    for field in BY_NAME:
        ours, theirs = data.get(field), base.get(field)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            merged[field] = {**theirs, **ours}
    left_out = data.get(WITHOUT)
    merged.pop(WITHOUT, None)
    if isinstance(left_out, list):
        merged[WITHOUT] = left_out
        merged["hazards"] = {name: hazard for name, hazard in merged["hazards"].items() if name not in left_out}
    return merged


def _of_user(document: Document, base: dict[str, Any], parent: dict[str, Any]) -> Document:
    """Return a shipped profile that extends a user's profile in place of the shipped one.

    It brings the sources of its own figures, under another name where the user's profile has another source of the
    name, and leaves out only the hazards that are there.

    Args:
        base: data of the user's profile, merged with those that it extends.
        parent: data of the shipped one.
    """
    data = document.data
    own = data.get("sources", {})
    sources = {**parent["sources"], **own}
    figures = {field: value for field, value in data.items() if field != "sources"}
    names: dict[str, str] = {}
    for name in dict.fromkeys((*own, *_sources_of(figures))):
        same = base["sources"].get(name, sources[name]) == sources[name]
        names[name] = name if same else f"{name}-of-{data['id']}"
    changed = {**_renamed(figures, names), "sources": {names[name]: sources[name] for name in names}}
    if WITHOUT in data:
        changed[WITHOUT] = [name for name in data[WITHOUT] if name in base["hazards"]]
    return replace(document, root=replace(document.root, data=changed))


def _sources_of(value: Any) -> Iterator[str]:
    """Yield the names of the sources of all figures below a value."""
    for key, child in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        if key == "source":
            yield child
        else:
            yield from _sources_of(child)


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: names[child] if key == "source" else _renamed(child, names) for key, child in value.items()}
    return [_renamed(child, names) for child in value] if isinstance(value, list) else value


def _extension_faults(document: Document, base: dict[str, Any]) -> Iterator[Finding]:
    data = document.data
    sources = data.get("sources")
    for name, source in (sources if isinstance(sources, dict) else {}).items():
        theirs = base["sources"].get(name)
        if theirs is not None and theirs != source:
            message = f"`{base['id']}` has another source of the name `{name}`, which its figures are from"
            yield document.finding("catalog-source", ("sources", name), message, "rename the source")
    left_out = data.get(WITHOUT)
    for position, name in enumerate(left_out if isinstance(left_out, list) else ()):
        if name not in base["hazards"]:
            message = f"`{base['id']}` has no hazard `{name}` to leave out"
            remedy = did_you_mean(str(name), base["hazards"], what="hazard")
            yield document.finding("catalog-reliability", (WITHOUT, position), message, remedy)


METHODS = {"nccl": "nccl", "rccl": "nccl", "hfreduce": "hfreduce", "deepep": "deepep"}
"""Methods of libraries known to commands; a user's file may change their constants, not the method."""

MIN_PORTS = 2
"""Fewest ports of a switch."""


@record
class Entry:
    """A part with its document."""

    part: Part
    document: Document
    recalled: tuple[tuple[str | int, ...], ...] = ()
    """Paths of recalled figures (status R) in its own file."""
    base: Entry | None = None
    """The extended price book or reliability profile."""
    key: tuple[str, int] = ("", 0)
    """Its id, and the position of its folder."""

    @property
    def data(self) -> Any:
        """Its data, merged with the extended reliability profile."""
        data = self.document.data
        return data if self.base is None or self.part.kind != "reliability" else _with_base(data, self.base.data)

    def document_of(self, path: tuple[str | int, ...]) -> Document:
        """Return the file that states the value at a path: its own, or an extended one."""
        return self.document if self.base is None or holds(self.document.data, path) else self.base.document_of(path)


def holds(data: Any, path: tuple[str | int, ...]) -> bool:
    """Return whether data have a value at a path."""
    for step in path:
        inside = step < len(data) if isinstance(data, list) and isinstance(step, int) else False
        if not (inside or (isinstance(data, dict) and step in data)):
            return False
        data = data[step]
    return True


def _recalled_paths(part: Part) -> tuple[tuple[str | int, ...], ...]:
    """Return the paths of the recalled figures (status R) of a part."""
    return tuple(
        path for path, figure in part.figures() if (figure.status or part.sources[figure.source].status) == "R"
    )


def read_part(document: Document, base: Entry | None = None, *, shipped: bool = False) -> Entry:
    """Read a part from its document.

    Raises:
        InputError: if the file is wrong.
    """
    if base is not None and not shipped and (faults := list(_extension_faults(document, base.data))):
        raise InputError(*faults)
    data = document.data if base is None else _with_base(document.data, base.data)
    part = trusted(model_of(data["kind"]), data) if shipped else _part(document, data)
    recalled = (path for path in _recalled_paths(part) if base is None or holds(document.data, path))
    return Entry(part=part, document=document, recalled=tuple(recalled), base=base)


def _part(document: Document, data: Any) -> Part:
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(_unknown_kind(document, kind))
    part = validate(model_of(kind), document, data)
    faults = list(_part_faults(part, document))
    if faults:
        raise InputError(*faults)
    return part


def _part_faults(part: Part, document: Document) -> Iterator[Finding]:
    for path, figure in part.figures():
        source = part.sources.get(figure.source)
        if source is None:
            yield document.finding(
                "catalog-source",
                (*path, "source"),
                f"the source `{figure.source}` is not under `sources`",
                did_you_mean(figure.source, part.sources, what="source"),
            )
        elif (figure.status or source.status) == "R" and (figure.grade or source.grade) != "estimate":
            yield document.finding(
                "catalog-grade",
                path,
                "a recalled figure (status R) must have grade `estimate`",
                "grade it `estimate`, or follow it to a source",
            )
    method = getattr(part, "method", None)
    if part.kind == "library" and method != METHODS.get(part.id, method):
        yield document.finding(
            "catalog-library",
            ("method",),
            f"the library `{part.id}` has the method `{method}`",
            f"write `method: {METHODS[part.id]}`",
        )
    if part.kind == "failure-study":
        from ffplan.catalog.reliability import _sum_faults

        yield from _sum_faults(part, document)
    if isinstance(part, Server | StorageServer):
        yield from _server_faults(part, document)
    if isinstance(part, Switch) and part.ports.value < MIN_PORTS:
        yield document.finding(
            "number-range",
            ("ports",),
            f"a switch of {part.ports.value} port(s) joins nothing",
            f"write at least {MIN_PORTS} ports",
        )
    from ffplan.catalog.contradictions import contradictions

    yield from contradictions(part, document)


Place = tuple[str, tuple[str | int, ...]]
"""A figure: id of its part, and its path there."""
NUMBERS = frozenset({"value", "low", "high", "__dict__"})
"""Attributes whose access counts as a read; `__dict__` covers copies, comparisons and dumps."""
NOTE = "_noted"


def _read(self: Any, name: str) -> Any:
    """Return an attribute of a figure, and record the read if it holds the number."""
    if name in NUMBERS:
        place, seen = object.__getattribute__(self, "__dict__")[NOTE]
        seen.add(place)
    return object.__getattribute__(self, name)


@cache
def _noting(model: Any) -> type[Figure]:
    """Return a subclass of a figure's class that records reads."""
    fields = {"__getattribute__": _read, "__module__": __name__}
    noting: type[Figure] = type(model)(model.__name__, (model,), fields)
    return noting


def _noted(value: Any, place: Place, seen: set[Place]) -> Any:
    """Return a part, or a value inside it, whose figures record their reads."""
    name, path = place
    if isinstance(value, Figure):
        copied = value.model_copy()
        copied.__dict__[NOTE] = (place, seen)
        object.__setattr__(copied, "__class__", _noting(type(value)))
        return copied
    if isinstance(value, Frozen):
        fields = {field: getattr(value, field) for field in type(value).model_fields}
        noted_fields = {field: _noted(child, (name, (*path, field)), seen) for field, child in fields.items()}
        return value.model_copy(
            update={field: child for field, child in noted_fields.items() if child is not fields[field]}
        )
    if isinstance(value, dict):
        items = {key: _noted(child, (name, (*path, key)), seen) for key, child in value.items()}
        return items if any(items[key] is not child for key, child in value.items()) else value
    if isinstance(value, tuple | list):
        parts = [_noted(child, (name, (*path, index)), seen) for index, child in enumerate(value)]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else type(value)(parts)
    return value


def noted(entry: Entry, seen: set[Place]) -> Entry:
    """Return a part whose figures record their reads.

    Args:
        seen: receives the places of the figures read from now on.
    """
    return replace(entry, part=_noted(entry.part, (entry.part.id, ()), seen))
