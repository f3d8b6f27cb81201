"""A reliability profile that states what it changes of another: its data with those of the other, and what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.inputs.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.inputs.document import Document

EXTENDS, WITHOUT = "extends", "without"
BY_NAME = ("sources", "hazards", "domain_parts", "relative", "storage_tiers")
"""Fields whose entries stand beside those of the other profile; any other field takes the place of the other's."""


def base_name(data: Any) -> str | None:
    """Return the profile that the data of a reliability profile extend; None of any other part."""
    if not isinstance(data, dict) or data.get("kind") != "reliability":
        return None
    name = data.get(EXTENDS)
    return name if isinstance(name, str) else None


def with_base(own: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a profile with those of the profile that it extends.

    Args:
        own: what it states.
        base: the whole data of the other.
    """
    found = {**base, **own}
    for field in BY_NAME:
        ours, theirs = own.get(field), base.get(field)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            found[field] = {**theirs, **ours}
    left_out = own.get(WITHOUT)
    found.pop(WITHOUT, None)
    if isinstance(left_out, list):
        found[WITHOUT] = left_out
        found["hazards"] = {name: hazard for name, hazard in found["hazards"].items() if name not in left_out}
    return found


def extension_faults(document: Document, base: dict[str, Any]) -> Iterator[Finding]:
    """Yield what a profile cannot change of the one that it extends.

    Args:
        base: the whole data of the other.
    """
    own = document.data
    sources = own.get("sources")
    for name, source in (sources if isinstance(sources, dict) else {}).items():
        theirs = base["sources"].get(name)
        if theirs is not None and theirs != source:
            message = f"`{base['id']}` has another source of the name `{name}`, which its figures are from"
            yield document.finding("catalog-source", ("sources", name), message, "give the source a name of its own")
    left_out = own.get(WITHOUT)
    for position, name in enumerate(left_out if isinstance(left_out, list) else ()):
        if name not in base["hazards"]:
            message = f"`{base['id']}` has no hazard `{name}` to leave out"
            remedy = did_you_mean(str(name), base["hazards"], what="hazard")
            yield document.finding("catalog-reliability", (WITHOUT, position), message, remedy)
