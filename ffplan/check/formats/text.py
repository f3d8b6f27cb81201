"""Findings for a terminal: one a paragraph, by place, and a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.visible import visible

if TYPE_CHECKING:
    from ffplan.check.formats.checked import Checked


def render(checked: Checked) -> str:
    """Return findings as text."""
    return visible("".join(f"{item}\n" for item in [*checked.findings, checked.summary]))
