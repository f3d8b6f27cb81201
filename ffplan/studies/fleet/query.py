"""The sweep of a file, by what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.inputs.document import parse_document
from ffplan.studies.choose.sweep import SweepQuery

if TYPE_CHECKING:
    from ffplan.studies.choose.sweep_axes import Points


def sweep_query(
    text: str, file: str, *, overlays: tuple[str, ...], points: Points, metrics: tuple[str, ...]
) -> SweepQuery:
    """Return the sweep of a design or a fleet.

    Args:
        text: content of the file.
        file: its name in messages.
        overlays: folders of the user's parts.
        points: values of the paths that differ.
        metrics: metrics wanted; empty for the usual ones.

    Raises:
        InputError: if the content is no YAML, or a fleet with faults.
    """
    query = SweepQuery(text=text, file=file, overlays=overlays, points=points, metrics=metrics)
    data = parse_document(text.encode(), file).data
    if not isinstance(data, dict) or data.get("kind") != "fleet":
        return query
    from ffplan.studies.fleet.sweep import _fleet_query  # models of serving, which a design does not need

    return _fleet_query(query)
