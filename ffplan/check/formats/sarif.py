"""Findings as SARIF 2.1.0, for code scanning: one run, relative URIs, fingerprints that outlive moved lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ffplan import __version__
from ffplan.base.errors import Severity
from ffplan.check.every_rule import every_rule
from ffplan.check.formats.checked import fingerprints, uri_of, words_of

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.check.formats.checked import Checked
    from ffplan.check.rule import Rule

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
MOST_RESULTS = 25_000
"""Results of a run that GitHub takes; it shows 5,000."""


def _rule(rule: Rule) -> dict[str, Any]:
    help_ = f"{rule.why} {rule.fix}"
    examples = f"Refused:\n\n```yaml\n{rule.example}\n```\n\nAccepted:\n\n```yaml\n{rule.good}\n```"
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": help_, "markdown": f"{help_}\n\n{examples}"},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }


def _result(item: Finding, fingerprint: str, position: dict[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {"ruleId": item.rule}
    if item.rule in position:
        found["ruleIndex"] = position[item.rule]
    place = {
        "artifactLocation": {"uri": uri_of(item.file), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": max(item.line, 1), "startColumn": max(item.column, 1)},
    }
    return found | {
        "level": LEVELS[item.severity],
        "message": {"text": words_of(item)},
        "partialFingerprints": {"ffplanFinding/v1": fingerprint},
        "locations": [{"physicalLocation": place}],
    }


def render(checked: Checked) -> str:
    """Return findings as SARIF, the worst first; at most as many as code hosts take."""
    findings = checked.worst_first[:MOST_RESULTS]
    wanted = {item.rule for item in findings}
    rules = [rule for rule in every_rule() if rule.id in wanted]
    position = {rule.id: at for at, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "ffplan",
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(item, mark, position) for item, mark in zip(findings, fingerprints(findings), strict=True)],
    }
    whole = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
