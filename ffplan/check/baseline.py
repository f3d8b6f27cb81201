"""A baseline: findings that were there when a team began to check, so that only new ones fail."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from ffplan.base.errors import Finding, UsageError
from ffplan.base.record import record
from ffplan.check.formats.checked import path_of
from ffplan.check.policy import ABOUT

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMAT = 1
Key = tuple[str, str, str]
"""File, rule and field: no line and no figure, so that it outlives edits elsewhere."""


def _key(item: Finding) -> Key:
    return (path_of(item.file), item.rule, item.path)


@record
class Compared:
    """Findings against a baseline."""

    new: tuple[Finding, ...]
    known: int
    """Findings that the baseline has [1]."""
    fixed: int
    """Entries of the baseline that no finding answers to [1]."""


def others(baseline: Counter[Key], files: Iterable[str]) -> Counter[Key]:
    """Return the entries of a baseline for files that are not checked now.

    Args:
        baseline: entries, with how often each stands there.
        files: the files checked.
    """
    checked = {path_of(file) for file in files}
    return Counter({key: count for key, count in baseline.items() if key[0] not in checked})


def write_baseline(findings: Iterable[Finding], mandatory: frozenset[str], kept: Counter[Key] | None = None) -> str:
    """Return a baseline of findings, one entry a line, sorted.

    Args:
        findings: the findings.
        mandatory: rules that no baseline may hold.
        kept: entries of files that are not checked now.
    """
    own = [_key(item) for item in findings if item.rule not in mandatory and item.rule not in ABOUT]
    keys = sorted([*own, *(kept or Counter()).elements()])
    rows = [json.dumps({"file": file, "rule": rule, "path": path}, ensure_ascii=False) for file, rule, path in keys]
    inside = ",\n".join(f"    {row}" for row in rows)
    entries = f"[\n{inside}\n  ]" if rows else "[]"
    return f'{{\n  "format": {FORMAT},\n  "findings": {entries}\n}}\n'


def read_baseline(text: str, file: str) -> Counter[Key]:
    """Return the entries of a baseline, with how often each stands there.

    Args:
        text: its content.
        file: its name.

    Raises:
        UsageError: where it is none.
    """
    try:
        data = json.loads(text)
        entries = [(item["file"], item["rule"], item["path"]) for item in data["findings"]]
        right = data["format"] == FORMAT and all(isinstance(part, str) for entry in entries for part in entry)
    except (ValueError, TypeError, KeyError, RecursionError):
        right, entries = False, []
    if not right:
        raise UsageError(f"ffplan check: --baseline {file}: this is no baseline; write one with --update-baseline")
    return Counter(entries)


def against(findings: Iterable[Finding], baseline: Counter[Key], mandatory: frozenset[str]) -> Compared:
    """Return which findings are new.

    Args:
        findings: the findings.
        baseline: entries, with how often each stands there.
        mandatory: rules that no baseline accepts.
    """
    left, new, known = Counter(baseline), [], 0
    for item in findings:
        key = _key(item)
        if left[key] > 0 and item.rule not in mandatory:
            left[key] -= 1
            known += 1
        else:
            new.append(item)
    return Compared(new=tuple(new), known=known, fixed=sum(left.values()))
