"""Findings for people: one a paragraph, the worst first, and a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.control_characters import inert, visible

if TYPE_CHECKING:
    from ffplan.check.formats.checked import Checked


def render(checked: Checked, width: int | None = None) -> str:
    """Return findings as text.

    Args:
        checked: the files and their findings.
        width: letters of a line of the terminal [1]; None keeps each message and each remedy in one line, which
            programs and copies take as it is.
    """
    text = "".join(f"{item}\n" for item in [*checked.worst_first, checked.summary])
    lines = inert(visible(text)).splitlines()
    if width is not None:
        from ffplan.report.formats.wrapping import hung  # what a pipe gets needs no report

        lines = [part for line in lines for part in hung(line, width)]
    return "".join(f"{line}\n" for line in lines)
