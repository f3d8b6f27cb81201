"""Which places of a YAML text are inside a value, and so no comment."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import yaml

from ffplan.inputs.composer import raw_events


def value_spans(text: str) -> list[tuple[int, int]]:
    """Return where the scalars of a YAML text begin and end, keys too; up to its first fault where it is none.

    The line on which a block of text begins may end in a comment, and is no part of its span.
    """
    found: list[tuple[int, int]] = []
    with suppress(yaml.YAMLError):
        found.extend(_span(text, event) for event in raw_events(text) if isinstance(event, yaml.ScalarEvent))
    return found


def _span(text: str, event: Any) -> tuple[int, int]:
    start, end = event.start_mark.index, event.end_mark.index
    if event.style in ("|", ">"):
        start = text.find("\n", start) + 1 or len(text)
    return start, end
