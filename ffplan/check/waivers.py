"""Findings that a team accepts: by its policy, by a comment next to the value, or in a baseline of earlier ones.

A comment `# ffplan: waive RULE until 2027-03-31: reason` accepts the findings of a rule on its line, or alone on a
line, on the next, and on everything below that field. The reason is compulsory, the day is not.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import replace
from datetime import date
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ffplan.base.errors import Finding, Severity, UsageError, did_you_mean
from ffplan.base.files import is_file, text_lines
from ffplan.base.plain import steps
from ffplan.base.record import record
from ffplan.check.formats import path_of
from ffplan.check.policy import UNWAIVABLE, _known_rules
from ffplan.inputs.composer import value_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    """File that states it."""
    line: int
    path: str | None
    """Field that it covers, with everything below it; None for any."""
    rows: tuple[int, ...]
    """Lines that it covers besides; empty for one of a policy."""

    def covers(self, finding: Finding) -> bool:
        """Return whether it accepts a finding, whether or not it has expired."""
        if finding.rule != self.rule:
            return False
        if self.rows and finding.line in self.rows:
            return True
        if self.path is None:
            return not self.rows
        return finding.path == self.path or finding.path.startswith(f"{self.path}.")


def _finding(rule: str, file: str, line: int, message: str, remedy: str) -> Finding:
    severity = Severity.ERROR if rule == "waiver-invalid" else Severity.WARNING
    return Finding(rule=rule, severity=severity, file=file, line=line, column=1, message=message, remedy=remedy)


def _paths(root: Node) -> Iterator[tuple[int, str]]:
    stack = [(root, "")]  # no recursion: a hostile file nests deeper than Python's stack
    while stack:
        node, path = stack.pop()
        if isinstance(node.children, dict):
            for name, child in node.children.items():
                inner = f"{path}.{name}".lstrip(".")
                yield node.keys[name][0], inner
                stack.append((child, inner))
        elif isinstance(node.children, list):
            for position, child in enumerate(node.children):
                inner = f"{path}.{position}".lstrip(".")
                yield child.line, inner
                stack.append((child, inner))


def _comments(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield (line, match) of every comment that waives; the same words inside a value do not count."""
    spans: list[tuple[int, int]] | None = None
    start = 0
    for row, line in enumerate(text_lines(text, ends=True), 1):
        comment = _COMMENT.search(line.rstrip("\r\n"))
        while comment is not None:
            spans = value_spans(text) if spans is None else spans
            offset = start + comment.start()
            if not any(first <= offset < last for first, last in spans):
                yield row, comment
                break
            comment = _COMMENT.search(line.rstrip("\r\n"), comment.start() + 1)
        start += len(line)


def comment_waivers(text: str, file: str, root: Node | None) -> tuple[list[Waiver], list[Finding]]:
    """Return the waivers in the comments of a file, and the faults of these comments.

    Args:
        text: content of the file.
        file: its name.
        root: its values; None if it is not YAML.
    """
    waivers: list[Waiver] = []
    faults: list[Finding] = []
    lines, places = text_lines(text), dict[int, str]()
    for row, comment in _comments(text):
        line = lines[row - 1]
        covered = row
        if line.lstrip().startswith("#"):
            later = range(row + 1, len(lines) + 1)
            covered = next((number for number in later if lines[number - 1].split("#")[0].strip()), row)
        if not places and root is not None:
            # Of the fields that begin on a line, the outermost is what a comment there is about.
            for number, path in sorted(_paths(root), key=lambda place: (place[0], place[1].count("."))):
                places.setdefault(number, path)
        parts = _PARTS.fullmatch(comment[1].rstrip())
        fault = _comment_fault(parts)
        if fault or parts is None:
            faults.append(_finding("waiver-invalid", file, row, *fault))
            continue
        until = date.fromisoformat(parts[2]) if parts[2] else None
        waivers.append(
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
    return waivers, faults


def _comment_fault(parts: re.Match[str] | None) -> tuple[str, ...]:
    if parts is None:
        return ("a waiver without rule or reason", "write `# ffplan: waive RULE until 2027-03-31: reason`")
    known = _known_rules()
    if parts[1] in UNWAIVABLE:
        return (f"`{parts[1]}` is about waivers: no waiver accepts it", "remove the waiver")
    if parts[1] not in known:
        return (f"no rule `{parts[1]}`", did_you_mean(parts[1], known, what="rule"))
    try:
        date.fromisoformat(parts[2] or "2000-01-01")
    except ValueError:
        return (f"`{parts[2]}` is not a date", "write it as 2027-03-31")
    return ()


def _ends(path: str, start: int, piece: str) -> Iterable[int]:
    """Return the ends of possible matches of a piece of a pattern in a path from `start`; `*` stays within a folder."""
    if piece == "?":
        return (start + 1,) if path[start : start + 1] not in ("", "/") else ()
    if piece == "*":
        end = path.find("/", start)
        return range(start, (len(path) if end < 0 else end) + 1)
    if piece == "**":
        return range(start, len(path) + 1)
    if piece == "**/":
        return (start, *(slash + 1 for slash in range(start, len(path)) if path[slash] == "/"))
    return (start + len(piece),) if path.startswith(piece, start) else ()


def _matches(pattern: str, path: str) -> bool:
    """Return whether a path with `/` matches a pattern with `?`, `*`, `**` and `**/`.

    All ends of a piece are followed at once, so that no pattern takes exponential time.
    """
    starts = {0}
    for piece in filter(None, re.split(r"(\*\*/|\*\*|\*|\?)", pattern)):
        ends = set[int]()
        for start in sorted(starts):
            if piece not in ("*", "**") or start not in ends:  # else an earlier start reached here, and as far
                ends.update(_ends(path, start, piece))
        starts = ends
    return len(path) in starts


def _of_policy(policy: Policy, position: int) -> Waiver:
    waiver = policy.fields.waivers[position]
    return Waiver(
        rule=waiver.rule,
        reason=waiver.reason,
        until=waiver.until,
        file=policy.file,
        line=policy.places.get(position, 1),
        path=waiver.path and ".".join(map(str, steps(waiver.path))),
        rows=(),
    )


def policy_waivers(policy: Policy, path: Path) -> list[Waiver]:
    """Return the waivers of a policy for one file."""
    try:
        inside = path.absolute().relative_to(policy.folder.absolute()).as_posix()
    except ValueError:
        inside = path.absolute().as_posix()
    return [
        _of_policy(policy, position)
        for position, waiver in enumerate(policy.fields.waivers)
        if any(_matches(pattern, inside) for pattern in waiver.files)
    ]


def settled_waivers(policy: Policy, folders: list[Path], broken: list[Path]) -> list[Waiver]:
    """Return the waivers of a policy of which all files were checked, those that no file answers to included.

    Args:
        folders: folders that were checked.
        broken: files that could not be assessed, of which nobody knows what a waiver would accept.
    """
    unknown = [waiver for path in broken for waiver in policy_waivers(policy, path)]
    every = [_of_policy(policy, position) for position in range(len(policy.fields.waivers))]
    return [
        waiver
        for waiver, stated in zip(every, policy.fields.waivers, strict=True)
        if waiver not in unknown
        and all(any(_folder(policy, files).is_relative_to(folder) for folder in folders) for files in stated.files)
    ]


def _folder(policy: Policy, pattern: str) -> Path:
    """Return the folder that all files of a pattern are in."""
    named = takewhile(lambda name: not set(name) & set("*?"), pattern.split("/")[:-1])
    return policy.folder.absolute() / "/".join([*named, ""])


@record
class _Waived:
    kept: tuple[Finding, ...]
    waived: tuple[tuple[Finding, Waiver], ...]
    used: tuple[Waiver, ...]
    """Waivers that accepted a finding, or would have, had they not expired."""


def weighed(findings: tuple[Finding, ...], policy: Policy) -> tuple[Finding, ...]:
    """Return the findings of a file with its policy's severities, without rules that are off."""
    pairs = [(finding, policy.severity(finding)) for finding in findings]
    return tuple(replace(finding, severity=severity) for finding, severity in pairs if severity is not None)


def waive(findings: tuple[Finding, ...], waivers: list[Waiver], policy: Policy, today: date) -> _Waived:
    """Return which findings of a file a waiver accepts, with the severities of its policy.

    Findings of rules that the policy calls mandatory are never waived.
    """
    kept: list[Finding] = []
    waived: list[tuple[Finding, Waiver]] = []
    used: list[Waiver] = []
    for finding in weighed(findings, policy):
        covering = [waiver for waiver in waivers if waiver.covers(finding)]
        used += covering
        allowed = [] if finding.rule in policy.fields.mandatory else covering
        valid = [waiver for waiver in allowed if waiver.until is None or waiver.until >= today]
        if valid:
            waived.append((finding, valid[0]))
        else:
            kept.append(finding)
    expired = {
        (waiver.file, waiver.line): waiver for waiver in used if waiver.until is not None and waiver.until < today
    }
    for waiver in expired.values():
        message = f"the waiver of `{waiver.rule}` expired on {waiver.until}: {waiver.reason}"
        remedy = "correct the finding, or agree on a new date"
        kept += weighed((_finding("waiver-expired", waiver.file, waiver.line, message, remedy),), policy)
    return _Waived(kept=tuple(kept), waived=tuple(waived), used=tuple(used))


def unused(waivers: list[Waiver], used: list[Waiver]) -> list[Finding]:
    """Return a finding for every waiver of the files checked that is not among those used."""
    places = {(waiver.file, waiver.line) for waiver in used}
    left = {(waiver.file, waiver.line): waiver for waiver in waivers if (waiver.file, waiver.line) not in places}
    return [
        _finding(
            "waiver-unused",
            waiver.file,
            waiver.line,
            f"nothing breaks `{waiver.rule}` here any more",
            "remove the waiver",
        )
        for waiver in left.values()
    ]


_FORMAT = 1


class _Entry(NamedTuple):
    """An accepted finding: no line and no figure, so that it outlives edits elsewhere."""

    file: str
    rule: str
    path: str
    severity: str
    """Severity that it accepts, with all that are less grave; empty in a baseline of before, for any."""
    unchecked: bool
    """Whether the limit could not be checked; then it accepts no broken one, and the other way round."""

    @property
    def place(self) -> tuple[str, str, str]:
        """File, rule and field."""
        return self[:3]


def _entry(finding: Finding) -> _Entry:
    return _Entry(path_of(finding.file), finding.rule, finding.path, finding.severity.value, finding.unchecked)


def _accepting(finding: Finding) -> Iterator[_Entry]:
    """Yield the entries that accept a finding, the least grave first."""
    entry = _entry(finding)
    for severity in list(Severity)[finding.severity.rank :]:
        yield entry._replace(severity=severity.value)
    yield entry._replace(severity="", unchecked=False)


@record
class _Compared:
    new: tuple[Finding, ...]
    known: int
    """Findings that the baseline has [1]."""
    fixed: int
    """Entries of the baseline in whose place there is no finding any more [1]."""


def _absolute(file: str) -> Path:
    return Path(os.path.normpath(Path.cwd() / file))


def others(baseline: Counter[_Entry], files: Iterable[str], folders: Iterable[str] = ()) -> Counter[_Entry]:
    """Return the entries of a baseline for other files than those checked.

    Args:
        baseline: every entry.
        files: files that were checked.
        folders: folders that were checked: a file that is gone from there leaves no entry.
    """
    checked, inside = {path_of(file) for file in files}, [_absolute(folder) for folder in folders]

    def gone(file: str) -> bool:
        return any(_absolute(file).is_relative_to(folder) for folder in inside) and not is_file(file)

    away = {file for file in {entry.file for entry in baseline} - checked if not gone(file)}
    return Counter({entry: count for entry, count in baseline.items() if entry.file in away})


def write_baseline(findings: Iterable[Finding], mandatory: frozenset[str], kept: Counter[_Entry] | None = None) -> str:
    """Return a baseline of findings, one entry a line, sorted.

    Args:
        findings: findings to accept.
        mandatory: rules that no baseline may hold.
        kept: entries of files that are not checked now.
    """
    accepted = [finding for finding in findings if finding.rule not in mandatory and finding.rule not in UNWAIVABLE]
    entries = sorted([*map(_entry, accepted), *(kept or Counter()).elements()])
    rows = [json.dumps(_row(entry), ensure_ascii=False) for entry in entries]
    inside = ",\n".join(f"    {row}" for row in rows)
    listed = f"[\n{inside}\n  ]" if rows else "[]"
    return f'{{\n  "format": {_FORMAT},\n  "findings": {listed}\n}}\n'


def _row(entry: _Entry) -> dict[str, Any]:
    return {name: value for name, value in entry._asdict().items() if value or name == "path"}


def read_baseline(text: str, file: str) -> Counter[_Entry]:
    """Return the entries of a baseline, with the count of each.

    Raises:
        UsageError: if the text is not a baseline.
    """
    try:
        data = json.loads(text)
        entries = [
            _Entry(row["file"], row["rule"], row["path"], row.get("severity", ""), row.get("unchecked", False))
            for row in data["findings"]
        ]
        valid = data["format"] == _FORMAT and all(map(_is_entry, entries))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        valid, entries = False, []
    if not valid:
        raise UsageError(f"ffplan check: --baseline {file}: this is not a baseline; write one with --update-baseline")
    return Counter(entries)


def _is_entry(entry: _Entry) -> bool:
    words = all(isinstance(part, str) for part in entry[:4])
    return words and entry.severity in ("", *Severity) and isinstance(entry.unchecked, bool)


def against(findings: Iterable[Finding], baseline: Counter[_Entry], mandatory: frozenset[str]) -> _Compared:
    """Return the new findings; no baseline accepts a finding of a mandatory rule, nor one graver than its entry.

    An entry is fixed if nothing new stands in its place.
    """
    left, findings, known = Counter(baseline), list(findings), set[int]()
    for number in sorted(range(len(findings)), key=lambda number: -findings[number].severity.rank):
        found = findings[number]
        entry = next((entry for entry in _accepting(found) if left[entry] > 0), None)
        if entry is not None and found.rule not in mandatory:
            left[entry] -= 1
            known.add(number)
    new = tuple(finding for number, finding in enumerate(findings) if number not in known)
    open_places = Counter(entry.place for entry in left.elements())
    graver = Counter(_entry(finding).place for finding in new if finding.rule not in mandatory)
    return _Compared(new=new, known=len(known), fixed=sum((open_places - graver).values()))
