"""Spans of YAML values, where `#` starts no comment."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import yaml

from ffplan.inputs.composer import _raw_events


def value_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of a YAML text's scalars, keys included, up to its first syntax fault.

    The span of a block text excludes its first line, which may end in a comment.
    """
    spans: list[tuple[int, int]] = []
    with suppress(yaml.YAMLError):
        spans.extend(_span(text, event) for event in _raw_events(text) if isinstance(event, yaml.ScalarEvent))
    return spans


def _span(text: str, event: Any) -> tuple[int, int]:
    start, end = event.start_mark.index, event.end_mark.index
    if event.style in ("|", ">"):
        start = text.find("\n", start) + 1 or len(text)
    return start, end
