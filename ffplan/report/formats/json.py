"""JSON: the whole result, the same bytes for the same input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ffplan.base.control_characters import visible_json
from ffplan.base.plain import plain

if TYPE_CHECKING:
    from ffplan.report.document import Document


def to_json(value: Any) -> str:
    """Return `value` as JSON text that is the same for the same input."""
    return visible_json(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def render(document: Document, *, terminal: bool) -> str:  # noqa: ARG001
    """Return the whole result as JSON."""
    return to_json(document.value)
