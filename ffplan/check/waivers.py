"""Findings that a team accepts: by its policy, or by a comment beside the value.

A comment `# ffplan: waive RULE until 2027-03-31: reason` accepts the findings of a rule on its line, or on the next
line where it stands alone, and on everything below that field. The reason is compulsory, the day is not.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from ffplan.base.errors import Finding, Severity
from ffplan.base.record import record
from ffplan.check.policy import ABOUT, known_rules
from ffplan.inputs.comments import value_spans
from ffplan.inputs.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ffplan.check.policy import Policy
    from ffplan.inputs.composer import Node

_COMMENT = re.compile(r"#\s*ffplan:\s*waive\b(.*)")
_PARTS = re.compile(r"\s+([a-z0-9-]+)(?:\s+until\s+(\S+?))?\s*:\s*(\S.*)")


@record
class Waiver:
    """Findings that are accepted."""

    rule: str
    reason: str
    until: date | None
    file: str
    """Where it stands."""
    line: int
    path: str | None
    """Field that it covers, with everything below; None for any."""
    rows: tuple[int, ...]
    """Lines that it covers besides; none of a policy."""

    def covers(self, item: Finding) -> bool:
        """True where it accepts a finding, its day apart."""
        if item.rule != self.rule:
            return False
        if self.rows and item.line in self.rows:
            return True
        if self.path is None:
            return not self.rows
        return item.path == self.path or item.path.startswith(f"{self.path}.")


def _finding(rule: str, file: str, line: int, message: str, remedy: str) -> Finding:
    severity = Severity.ERROR if rule == "waiver-invalid" else Severity.WARNING
    return Finding(rule=rule, severity=severity, file=file, line=line, column=1, message=message, remedy=remedy)


def _paths(node: Node, path: str = "") -> Iterator[tuple[int, str]]:
    """Yield (line, path) of every field, from the root on."""
    waiting = [(node, path)]
    while waiting:
        at, own = waiting.pop()
        if isinstance(at.children, dict):
            for name, child in at.children.items():
                inner = f"{own}.{name}".lstrip(".")
                yield at.keys[name][0], inner
                waiting.append((child, inner))
        elif isinstance(at.children, list):
            for position, child in enumerate(at.children):
                inner = f"{own}.{position}".lstrip(".")
                yield child.line, inner
                waiting.append((child, inner))


def _comments(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield (line, match) of every comment that waives; the same words inside a value are no comment."""
    spans: list[tuple[int, int]] | None = None
    start = 0
    for row, line in enumerate(text.splitlines(keepends=True), 1):
        found = _COMMENT.search(line.rstrip("\r\n"))
        while found is not None:
            spans = value_spans(text) if spans is None else spans
            at = start + found.start()
            if not any(first <= at < last for first, last in spans):
                yield row, found
                break
            found = _COMMENT.search(line.rstrip("\r\n"), found.start() + 1)
        start += len(line)


def comment_waivers(text: str, file: str, root: Node | None) -> tuple[list[Waiver], list[Finding]]:
    """Return the waivers in the comments of a file, and faults of them.

    Args:
        text: the file.
        file: its name.
        root: its values; None where it is no YAML.
    """
    found: list[Waiver] = []
    faults: list[Finding] = []
    lines, places = text.splitlines(), dict[int, str]()
    for row, comment in _comments(text):
        line = lines[row - 1]
        covered = row
        if line.lstrip().startswith("#"):
            after = (at for at in range(row + 1, len(lines) + 1) if lines[at - 1].split("#")[0].strip())
            covered = next(after, row)
        if not places and root is not None:
            for at, path in sorted(_paths(root), key=lambda item: (item[0], item[1].count("."))):
                places.setdefault(at, path)
        parts = _PARTS.fullmatch(comment[1].rstrip())
        fault = _comment_fault(parts)
        if fault or parts is None:
            faults.append(_finding("waiver-invalid", file, row, *fault))
            continue
        until = date.fromisoformat(parts[2]) if parts[2] else None
        found.append(
            Waiver(
                rule=parts[1],
                reason=parts[3],
                until=until,
                file=file,
                line=row,
                path=places.get(covered),
                rows=(row, covered),
            )
        )
    return found, faults


def _comment_fault(parts: re.Match[str] | None) -> tuple[str, ...]:
    """Return (fault, remedy) of a comment that waives; nothing where it is right."""
    if parts is None:
        return ("a waiver without rule or reason", "write `# ffplan: waive RULE until 2027-03-31: reason`")
    known = known_rules()
    if parts[1] in ABOUT:
        return (f"`{parts[1]}` is about waivers: no waiver accepts it", "remove the waiver")
    if parts[1] not in known:
        return (f"no rule `{parts[1]}`", did_you_mean(parts[1], known, what="rule"))
    try:
        date.fromisoformat(parts[2] or "2000-01-01")
    except ValueError:
        return (f"`{parts[2]}` is no day", "write it as 2027-03-31")
    return ()


def _reached(path: str, at: int, piece: str) -> Iterable[int]:
    """Return how far a piece of a pattern may reach in a path from a place; a single star stays within a folder."""
    if piece == "?":
        return (at + 1,) if path[at : at + 1] not in ("", "/") else ()
    if piece == "*":
        end = path.find("/", at)
        return range(at, (len(path) if end < 0 else end) + 1)
    if piece == "**":
        return range(at, len(path) + 1)
    if piece == "**/":
        return (at, *(slash + 1 for slash in range(at, len(path)) if path[slash] == "/"))
    return (at + len(piece),) if path.startswith(piece, at) else ()


def matches(pattern: str, path: str) -> bool:
    """Return whether a path is of a pattern of files, with `?`, `*`, `**` and `**/`; in time that no pattern blows up.

    Args:
        pattern: the pattern.
        path: path from the folder of the policy, with `/`.
    """
    places = {0}
    for piece in filter(None, re.split(r"(\*\*/|\*\*|\*|\?)", pattern)):
        found = set[int]()
        for at in sorted(places):
            if piece not in ("*", "**") or at not in found:  # an earlier place reached this one, and as far
                found.update(_reached(path, at, piece))
        places = found
    return len(path) in places


def policy_waivers(policy: Policy, path: Path) -> list[Waiver]:
    """Return the waivers of a policy for one file.

    Args:
        policy: the policy.
        path: the file.
    """
    try:
        inside = path.absolute().relative_to(policy.folder.absolute()).as_posix()
    except ValueError:
        inside = path.absolute().as_posix()
    return [
        Waiver(
            rule=item.rule,
            reason=item.reason,
            until=item.until,
            file=policy.file,
            line=policy.places.get(at, 1),
            path=item.path,
            rows=(),
        )
        for at, item in enumerate(policy.fields.waivers)
        if any(matches(pattern, inside) for pattern in item.files)
    ]


@record
class Waived:
    """Findings after waiving."""

    kept: tuple[Finding, ...]
    waived: tuple[tuple[Finding, Waiver], ...]
    used: tuple[Waiver, ...]
    """Waivers that accepted a finding, and those that have expired but would."""


def weighed(findings: tuple[Finding, ...], policy: Policy) -> tuple[Finding, ...]:
    """Return findings with the severities of a policy, without those of rules that are off.

    Args:
        findings: findings of one file.
        policy: its policy.
    """
    pairs = [(item, policy.severity(item)) for item in findings]
    return tuple(replace(item, severity=severity) for item, severity in pairs if severity is not None)


def waive(findings: tuple[Finding, ...], waivers: list[Waiver], policy: Policy, today: date) -> Waived:
    """Return which findings stand, with the severities of the policy.

    Args:
        findings: findings of one file.
        waivers: waivers for it.
        policy: its policy; the rules that it calls mandatory are never waived.
        today: the day.
    """
    kept: list[Finding] = []
    waived: list[tuple[Finding, Waiver]] = []
    used: list[Waiver] = []
    for item in weighed(findings, policy):
        fitting = [waiver for waiver in waivers if waiver.covers(item)]
        used += fitting
        accepted = [] if item.rule in policy.fields.mandatory else fitting
        valid = [waiver for waiver in accepted if waiver.until is None or waiver.until >= today]
        if valid:
            waived.append((item, valid[0]))
        else:
            kept.append(item)
    expired = {(item.file, item.line): item for item in used if item.until is not None and item.until < today}
    for waiver in expired.values():
        message = f"the waiver of `{waiver.rule}` expired on {waiver.until}: {waiver.reason}"
        remedy = "mend what it covers, or agree on a new day"
        kept += weighed((_finding("waiver-expired", waiver.file, waiver.line, message, remedy),), policy)
    return Waived(kept=tuple(kept), waived=tuple(waived), used=tuple(used))


def unused(waivers: list[Waiver], used: list[Waiver]) -> list[Finding]:
    """Return a finding for every waiver that accepts nothing.

    Args:
        waivers: every waiver of the files checked.
        used: those that accepted a finding.
    """
    places = {(item.file, item.line) for item in used}
    left = {(item.file, item.line): item for item in waivers if (item.file, item.line) not in places}
    found = []
    for item in left.values():
        message = f"nothing breaks `{item.rule}` here any more"
        found.append(_finding("waiver-unused", item.file, item.line, message, "remove the waiver"))
    return found
