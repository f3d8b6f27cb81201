"""Values inside the plain data of a file, set by paths such as `nodes[0].count`."""

from __future__ import annotations

from typing import Any

from ffplan.base.errors import UsageError


class NoPlaceError(LookupError):
    """A path leads nowhere; `step` is its first step that the data lacks."""

    def __init__(self, step: str | int) -> None:
        """Keep the step.

        Args:
            step: a name, or a position in a list.
        """
        super().__init__(str(step))
        self.step = step


def steps(path: str) -> list[str | int]:
    """Return the steps of a path such as `nodes[0].count`, or `nodes.0.count` as findings write it.

    Raises:
        UsageError: if the path is malformed.
    """
    path_steps: list[str | int] = []
    for part in path.split("."):
        name, *places = part.split("[")
        path_steps.append(int(name) if path_steps and len(name) < 10 and name.isdecimal() else name)
        for place in places:
            if not (place.endswith("]") and len(place) < 10 and place[:-1].isdecimal()):
                raise UsageError(f"`{path[:60]}` is no path; write one such as `nodes[0].count`")
            path_steps.append(int(place[:-1]))
    return path_steps


def put(data: Any, path: str, value: Any, *, create: bool = False) -> None:
    """Set the value at a path; the last name need not exist.

    Args:
        data: mappings and lists, changed in place.
        create: add missing mappings on the way; otherwise they must exist.

    Raises:
        UsageError: if the path is malformed.
        NoPlaceError: if the data lacks a step of the path.
    """
    *way, last = steps(path)
    parent = data
    for step in way:
        if create and isinstance(parent, dict) and isinstance(step, str):
            parent.setdefault(step, {})
        try:
            parent = parent[step]
        except (KeyError, IndexError, TypeError):
            raise NoPlaceError(step) from None
    held = isinstance(last, int) and last < len(parent) if isinstance(parent, list) else isinstance(parent, dict)
    if not held or (isinstance(parent, dict) and not isinstance(last, str)):
        raise NoPlaceError(last)
    parent[last] = value
