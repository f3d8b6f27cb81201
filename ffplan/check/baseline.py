"""A baseline: findings that were there when a team began to check, so that only new ones fail."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from ffplan.base.errors import Finding, UsageError
from ffplan.base.record import record
from ffplan.check.checked import path_of
from ffplan.check.policy import UNWAIVABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORMAT = 1
_Key = tuple[str, str, str]
"""File, rule and field: no line and no figure, so that it outlives edits elsewhere."""


def _key(finding: Finding) -> _Key:
    return (path_of(finding.file), finding.rule, finding.path)


@record
class _Compared:
    new: tuple[Finding, ...]
    known: int
    """Findings that the baseline has [1]."""
    fixed: int
    """Entries of the baseline that match no finding [1]."""


def others(baseline: Counter[_Key], files: Iterable[str]) -> Counter[_Key]:
    """Return the entries of a baseline for other files than those checked."""
    checked = {path_of(file) for file in files}
    return Counter({key: count for key, count in baseline.items() if key[0] not in checked})


def write_baseline(findings: Iterable[Finding], mandatory: frozenset[str], kept: Counter[_Key] | None = None) -> str:
    """Return a baseline of findings, one entry a line, sorted.

    Args:
        findings: findings to accept.
        mandatory: rules that no baseline may hold.
        kept: entries of files that are not checked now.
    """
    keys = [_key(finding) for finding in findings if finding.rule not in mandatory and finding.rule not in UNWAIVABLE]
    keys = sorted([*keys, *(kept or Counter()).elements()])
    rows = [json.dumps({"file": file, "rule": rule, "path": path}, ensure_ascii=False) for file, rule, path in keys]
    inside = ",\n".join(f"    {row}" for row in rows)
    entries = f"[\n{inside}\n  ]" if rows else "[]"
    return f'{{\n  "format": {_FORMAT},\n  "findings": {entries}\n}}\n'


def read_baseline(text: str, file: str) -> Counter[_Key]:
    """Return the entries of a baseline, with the count of each.

    Raises:
        UsageError: if the text is not a baseline.
    """
    try:
        data = json.loads(text)
        entries = [(entry["file"], entry["rule"], entry["path"]) for entry in data["findings"]]
        valid = data["format"] == _FORMAT and all(isinstance(part, str) for entry in entries for part in entry)
    except (ValueError, TypeError, KeyError, RecursionError):
        valid, entries = False, []
    if not valid:
        raise UsageError(f"ffplan check: --baseline {file}: this is not a baseline; write one with --update-baseline")
    return Counter(entries)


def against(findings: Iterable[Finding], baseline: Counter[_Key], mandatory: frozenset[str]) -> _Compared:
    """Return the new findings; no baseline accepts a finding of a mandatory rule."""
    left, new, known = Counter(baseline), [], 0
    for finding in findings:
        key = _key(finding)
        if left[key] > 0 and finding.rule not in mandatory:
            left[key] -= 1
            known += 1
        else:
            new.append(finding)
    return _Compared(new=tuple(new), known=known, fixed=sum(left.values()))
