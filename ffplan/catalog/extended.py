"""Reliability profiles that extend another: merged data, and faults of the extension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.inputs.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.inputs.document import Document

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
    """Merge the data of a profile with its base.

    Args:
        data: data of the profile.
        base: the complete data of the base.
    """
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


def _extension_faults(document: Document, base: dict[str, Any]) -> Iterator[Finding]:
    """Yield faults of a profile's changes to its base.

    Args:
        base: the complete data of the base.
    """
    data = document.data
    sources = data.get("sources")
    for name, source in (sources if isinstance(sources, dict) else {}).items():
        theirs = base["sources"].get(name)
        if theirs is not None and theirs != source:
            message = f"`{base['id']}` has another source of the name `{name}`, which its figures are from"
            yield document.finding("catalog-source", ("sources", name), message, "give the source a name of its own")
    left_out = data.get(WITHOUT)
    for position, name in enumerate(left_out if isinstance(left_out, list) else ()):
        if name not in base["hazards"]:
            message = f"`{base['id']}` has no hazard `{name}` to leave out"
            remedy = did_you_mean(str(name), base["hazards"], what="hazard")
            yield document.finding("catalog-reliability", (WITHOUT, position), message, remedy)
