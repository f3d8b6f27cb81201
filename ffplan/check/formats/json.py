"""Findings as JSON, with documented paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.run import findings_report
from ffplan.report.formats.json import to_json

if TYPE_CHECKING:
    from ffplan.check.formats.checked import Checked


def render(checked: Checked) -> str:
    """Return findings as JSON."""
    return to_json(findings_report(checked))
