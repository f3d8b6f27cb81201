"""The nearest valid name, for errors that end in "did you mean"."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `name`, or None where no name is close."""
    from difflib import get_close_matches

    names = sorted(set(known))
    folded = {candidate.lower().replace("_", "-"): candidate for candidate in names}
    query = name[:200].lower().replace("_", "-")
    swapped = (query[:at] + query[at + 1] + query[at] + query[at + 2 :] for at in range(len(query) - 1))
    if (exchanged := next((text for text in swapped if text in folded), None)) is not None:
        return folded[exchanged]  # two letters exchanged, as `sn5060` for `sn5600`
    matches = get_close_matches(query, list(folded), n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


LEAST = 3
"""Shortest name that is searched within known names."""
SHOWN = 6
"""Most matching names in a remedy."""


def _containing(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that contain `name`: prefix matches first, then the shortest."""
    query = name[:200].lower().replace("_", "-")
    if len(query) < LEAST:
        return []
    folded = {candidate: candidate.lower().replace("_", "-") for candidate in known}
    matches = [candidate for candidate, text in folded.items() if query in text]
    return sorted(matches, key=lambda match: (not folded[match].startswith(query), len(match), match))


def listed_names(names: list[str]) -> str:
    """Return the first of some names, at least one, as alternatives."""
    *most, last = [f"`{name}`" for name in names[:SHOWN]]
    return f"{', '.join(most)}{' or ' if most else ''}{last}"


def did_you_mean(name: str, known: Iterable[str], *, what: str) -> str:
    """Return a remedy with the nearest known name, else the names that contain it, else all names."""
    names = sorted(set(known))
    within = _containing(name, names)
    if not within and (close := nearest(name, names)):
        return f"did you mean `{close}`?"
    if within:
        more = f" ({len(within) - SHOWN} more contain `{name}`)" if len(within) > SHOWN else ""
        return f"did you mean {listed_names(within)}?{more}"
    if not names:
        return f"no {what} is known"
    shown = ", ".join(f"`{known_name}`" for known_name in names[:12])
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"known {what}: {shown}{more}"
