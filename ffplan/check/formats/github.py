"""Findings as workflow commands of GitHub Actions, which show them beside the lines of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.control_characters import inert, visible
from ffplan.base.errors import Severity
from ffplan.check.formats.checked import path_of, words_of

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.check.formats.checked import Checked

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
SHOWN = 10
"""Annotations of a kind that GitHub shows for a step; the rest is in the log alone."""


def _data(text: str) -> str:
    return inert(visible(text)).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _line(item: Finding) -> str:
    place = f"file={_property(path_of(item.file))},line={item.line},col={item.column}"
    return f"::{COMMANDS[item.severity]} {place},title={_property(item.rule)}::{_data(words_of(item))}\n"


def render(checked: Checked) -> str:
    """Return workflow commands, the worst first: where there are more than are shown, the last says how many."""
    lines = []
    for severity in reversed(Severity):
        findings = [item for item in checked.worst_first if item.severity is severity]
        if len(findings) <= SHOWN:
            lines += [_line(item) for item in findings]
            continue
        lines += [_line(item) for item in findings[: SHOWN - 1]]
        more = len(findings) - SHOWN + 1
        lines.append(f"::{COMMANDS[severity]} title=ffplan check::{more:,} more of this kind stand in the log\n")
        lines += [f"{inert(visible(str(item)))}\n" for item in findings[SHOWN - 1 :]]
    return "".join(lines) + f"{checked.summary}\n"
