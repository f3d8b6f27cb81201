"""Findings as Markdown, for a step summary or a comment: the summary, then a table, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.control_characters import visible
from ffplan.check.formats.checked import path_of, words_of
from ffplan.report.formats.markdown import escape

if TYPE_CHECKING:
    from ffplan.check.formats.checked import Checked

MOST_LETTERS = 60_000
"""Letters of a comment; GitHub takes 65,536."""


def render(checked: Checked) -> str:
    """Return findings as Markdown; rows that no comment has room for are counted."""
    text = f"**ffplan check** {escape(checked.summary)}\n"
    findings = checked.worst_first
    if not findings:
        return text
    text += "\n| severity | place | finding | rule |\n| --- | --- | --- | --- |\n"
    for at, item in enumerate(findings):
        place = f"{path_of(item.file)}:{item.line}"
        cells = (item.severity.value, visible(place), visible(words_of(item)), item.rule)
        row = f"| {' | '.join(escape(cell) for cell in cells)} |\n"
        if len(text) + len(row) > MOST_LETTERS:
            return f"{text}\n{len(findings) - at:,} more findings have no room here.\n"
        text += row
    return text
