"""Findings as a Code Quality report of GitLab; an empty list where there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.formats.checked import fingerprints, path_of, words_of

if TYPE_CHECKING:
    from ffplan.check.formats.checked import Checked

SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(checked: Checked) -> str:
    """Return findings as a Code Quality report, the worst first."""
    findings = checked.worst_first
    rows = [
        {
            "description": words_of(item),
            "check_name": item.rule,
            "fingerprint": mark,
            "severity": SEVERITIES[item.severity],
            "location": {"path": path_of(item.file), "lines": {"begin": max(item.line, 1)}},
        }
        for item, mark in zip(findings, fingerprints(findings), strict=True)
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"
