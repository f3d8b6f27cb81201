"""The files that were checked with their findings, and the formats of these: a function each, in `_RENDERERS`."""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ffplan.base.control_characters import inert, visible
from ffplan.base.errors import Finding, Severity
from ffplan.base.files import MAX_BYTES, read_regular
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.base.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from xml.etree.ElementTree import Element

    from ffplan.check.rule import Rule


@record
class Checked:
    """Files and their findings."""

    files: tuple[str, ...]
    """Files checked, as the user named them."""
    words: tuple[str, ...]
    """Kind of each: design, part, case file or plan."""
    findings: tuple[Finding, ...]
    """Findings, by place."""
    waived: int = 0
    """Findings that a waiver accepts [1]."""
    known: int = 0
    """Findings that the baseline has [1]."""
    fixed: int = 0
    """Entries of the baseline that match no finding any more [1]."""
    limits: int = 0
    """Limits that designs and policies declare [1]."""
    held: int = 0
    """Limits that hold [1]."""
    shipped: frozenset[str] = frozenset()
    """Files that ship with ffplan, which no checkout has."""

    @property
    def worst_first(self) -> tuple[Finding, ...]:
        """Findings, errors first, then by place."""
        return tuple(sorted(self.findings, key=lambda finding: (-finding.severity.rank, finding.sort_key)))

    @property
    def summary(self) -> str:
        """Numbers of files by kind and findings by severity."""
        counts = [
            f"{number} {severity}{'s' if number != 1 and severity != Severity.INFO else ''}"
            for severity in reversed(Severity)
            if (number := sum(finding.severity is severity for finding in self.findings))
        ]
        kinds = [plural(self.words.count(word), word) for word in dict.fromkeys(["design", *self.words])]
        kinds = [text for text in kinds if not text.startswith("0 ")]
        accepted = [f"{self.waived} waived"] * bool(self.waived) + [f"{self.known} in the baseline"] * bool(self.known)
        if self.fixed:
            accepted.append(f"{plural(self.fixed, 'entry').replace('entrys', 'entries')} of the baseline fixed")
        more = f" ({', '.join(accepted)})" if accepted else ""
        of = "" if self.held == self.limits else f" of {self.limits}"
        verb = "holds" if 1 in (self.held, self.limits) else "hold"
        limits = f"; {self.held}{of} limit{'s' if self.limits > 1 else ''} {verb}"
        return (
            f"{', '.join(kinds)} checked: {', '.join(counts) or 'nothing found'}{more}{limits if self.limits else ''}"
        )


def path_of(file: str) -> str:
    """Return a file as a path from the working folder, with forward slashes; one outside it stays absolute."""
    path = PurePath(os.path.normpath(file))
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return path.as_posix()


def _uri_of(file: str) -> str:
    return quote(path_of(file))


def _fingerprints(findings: tuple[Finding, ...]) -> list[str]:
    """Hash rule, file, field (the message without one) and repetition, but no line: prints outlive moved lines."""
    repeats: dict[str, int] = {}
    prints = []
    for finding in findings:
        text = "\n".join((finding.rule, path_of(finding.file), finding.path or finding.message))
        repeats[text] = repeats.get(text, 0) + 1
        prints.append(sha256(f"{text}\n{repeats[text]}".encode()).hexdigest())
    return prints


def _in_one_line(finding: Finding) -> str:
    text = f"{finding.message}; {finding.remedy}" if finding.remedy else finding.message
    return " ".join(text.split())


MOST_LETTERS = 60_000
"""Letters of a comment in Markdown; GitHub takes 65,536."""
MOST_RESULTS = 25_000
"""Results of a run of SARIF that GitHub takes; it shows 5,000."""
_ANNOTATIONS = 10
"""Annotations of a kind that GitHub shows for a step; the rest is in the log alone."""
_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_GITLAB = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}
_SHIPPED = "FFPLAN"
"""Base of the files that ship with ffplan, in SARIF."""
_SARIF = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def _text(checked: Checked, width: int | None = None) -> str:
    """Without a width each message stays in one line, which programs and copies take as it is."""
    rows = [row for row in checked.worst_first if not _only_recalled(row)]
    count = len(checked.findings) - len(rows)
    rest = "rests" if count == 1 else "rest"
    said = (
        [f"info: {plural(count, 'design')} {rest} on unverified figures: `ffplan catalog audit` lists them"]
        if count
        else []
    )
    text = "".join(f"{line}\n" for line in [*rows, *said, checked.summary])
    lines = inert(visible(text)).splitlines()
    if width is not None:
        from ffplan.report.formats.wrapping import hung  # a pipe needs no report

        lines = [part for line in lines for part in hung(line, width)]
    return "".join(f"{line}\n" for line in lines)


def _only_recalled(finding: Finding) -> bool:
    return finding.rule == "recalled-figures" and finding.severity is Severity.INFO


def _json(checked: Checked) -> str:
    from ffplan.report.formats.data import to_json
    from ffplan.results.design import SCHEMA_VERSION, Findings
    from ffplan.results.result import ToolInfo

    return to_json(
        Findings(
            schema_version=SCHEMA_VERSION,
            tool=ToolInfo("ffplan", __version__),
            designs=checked.files,
            findings=checked.worst_first,
            waived=checked.waived,
            known=checked.known,
            fixed=checked.fixed,
        )
    )


def _markdown(checked: Checked) -> str:
    """Return findings for a step summary or a comment; rows beyond its room are counted."""
    from ffplan.report.formats.data import escape

    text = f"**ffplan check** {escape(checked.summary)}\n"
    findings = checked.worst_first
    if not findings:
        return text
    text += "\n| severity | place | finding | rule |\n| --- | --- | --- | --- |\n"
    for position, finding in enumerate(findings):
        place = f"{path_of(finding.file)}:{finding.line}"
        cells = (finding.severity.value, visible(place), visible(_in_one_line(finding)), finding.rule)
        row = f"| {' | '.join(escape(cell) for cell in cells)} |\n"
        if len(text) + len(row) > MOST_LETTERS:
            return f"{text}\n{len(findings) - position:,} more findings have no room here.\n"
        text += row
    return text


def _github(checked: Checked) -> str:
    """Return workflow commands; where there are more than GitHub shows, the last says how many."""
    lines = []
    for severity in reversed(Severity):
        findings = [finding for finding in checked.worst_first if finding.severity is severity]
        if len(findings) <= _ANNOTATIONS:
            lines += [_github_command(finding, checked) for finding in findings]
            continue
        lines += [_github_command(finding, checked) for finding in findings[: _ANNOTATIONS - 1]]
        more = len(findings) - _ANNOTATIONS + 1
        lines.append(f"::{_GITHUB[severity]} title=ffplan check::{more:,} more of this kind are in the log\n")
        lines += [f"{inert(visible(str(finding)))}\n" for finding in findings[_ANNOTATIONS - 1 :]]
    return "".join(lines) + f"{checked.summary}\n"


def _github_command(finding: Finding, checked: Checked) -> str:
    """Return an annotation at its line; of a file that ships with ffplan, one of the run as a whole."""
    place, text = f"line={finding.line},col={finding.column}", _in_one_line(finding)
    if finding.file in checked.shipped:
        place, text = "", f"{finding.file}:{finding.line}:{finding.column}: {text}"
    else:
        place = f"file={_github_property(path_of(finding.file))},{place},"
    return f"::{_GITHUB[finding.severity]} {place}title={_github_property(finding.rule)}::{_github_data(text)}\n"


def _github_data(text: str) -> str:
    return inert(visible(text)).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _github_property(text: str) -> str:
    return _github_data(text).replace(":", "%3A").replace(",", "%2C")


def _gitlab(checked: Checked) -> str:
    """Return a Code Quality report of GitLab, the worst first; an empty list without findings."""
    findings = checked.worst_first
    rows = [
        {
            "description": _in_one_line(finding),
            "check_name": finding.rule,
            "fingerprint": fingerprint,
            "severity": _GITLAB[finding.severity],
            "location": {"path": path_of(finding.file), "lines": {"begin": max(finding.line, 1)}},
        }
        for finding, fingerprint in zip(findings, _fingerprints(findings), strict=True)
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def _junit(checked: Checked) -> str:
    """Return JUnit XML for the test reports of CI systems: a suite for each file, a case for each finding.

    A file without findings is a case that passed. Cases have no attributes `file` and `line`: the schema of Jenkins
    refuses them. The suite names the file, the case its place.
    """
    from xml.etree import ElementTree

    root = ElementTree.Element("testsuites", {"name": "ffplan check"})
    by_file: dict[str, list[Finding]] = {path_of(file): [] for file in checked.files}
    for finding in checked.findings:
        by_file.setdefault(path_of(finding.file), []).append(finding)
    for file, findings in by_file.items():
        failures = sum(finding.severity is not Severity.INFO for finding in findings)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            {
                "name": visible(file),
                "file": visible(file),
                "tests": str(len(findings) or 1),
                "failures": str(failures),
                "errors": "0",
                "skipped": "0",
                "time": "0",
            },
        )
        for finding in findings:
            _junit_case(suite, file, finding)
        if not findings:
            ElementTree.SubElement(suite, "testcase", {"classname": visible(file), "name": "check", "time": "0"})
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _junit_case(suite: Element, file: str, finding: Finding) -> None:
    """Add a finding to a suite: a failure, or, for a mere note, a passed case with its text."""
    from xml.etree import ElementTree

    name = f"{finding.rule} at {finding.line}:{finding.column}: {finding.message}"
    attributes = {"classname": visible(file), "name": visible(name), "time": "0"}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    if finding.severity is Severity.INFO:
        ElementTree.SubElement(case, "system-out").text = visible(_in_one_line(finding))
        return
    severity = finding.severity.value
    failure = ElementTree.SubElement(
        case, "failure", {"type": f"{severity} {finding.rule}", "message": visible(finding.message)}
    )
    place = f"{file}:{finding.line}:{finding.column}"
    failure.text = visible(f"{place}: {severity}: {_in_one_line(finding)} [{finding.rule}]")


def _sarif(checked: Checked) -> str:
    """Return SARIF 2.1.0 for code scanning, the worst first: at most as many results as code hosts take."""
    from ffplan.base.version import __version__
    from ffplan.check.team_rules import every_rule

    findings = checked.worst_first[:MOST_RESULTS]
    broken = {finding.rule for finding in findings}
    rules = [rule for rule in every_rule() if rule.id in broken]
    position = {rule.id: index for index, rule in enumerate(rules)}
    lines = {file: _lines(file) for file in {finding.file for finding in findings} - checked.shipped}
    driver = {"name": "ffplan", "semanticVersion": __version__, "rules": [_sarif_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_SHIPPED: {"description": {"text": "the files that ship with ffplan"}}},
        "results": [
            _sarif_result(finding, fingerprint, position, lines.get(finding.file))
            for finding, fingerprint in zip(findings, _fingerprints(findings), strict=True)
        ],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _lines(file: str) -> list[str]:
    return re.split("\r\n|\r|\n", (read_regular(Path(file), MAX_BYTES) or b"").decode("utf-8-sig", "replace"))


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    help_ = f"{rule.why} {rule.fix}"
    examples = f"Refused:\n\n```yaml\n{rule.example}\n```\n\nAccepted:\n\n```yaml\n{rule.good}\n```"
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": help_, "markdown": f"{help_}\n\n{examples}"},
        "defaultConfiguration": {"level": _SARIF[rule.severity]},
    }


def _sarif_result(
    finding: Finding, fingerprint: str, position: dict[str, int], lines: list[str] | None
) -> dict[str, Any]:
    """`lines` is None for a file that ships with ffplan."""
    region: dict[str, Any] = {"startLine": max(finding.line, 1), "startColumn": max(finding.column, 1)}
    if lines and 0 < finding.line <= len(lines):
        region["snippet"] = {"text": lines[finding.line - 1]}
    base = _SHIPPED if lines is None else "%SRCROOT%"
    place = {"artifactLocation": {"uri": _uri_of(finding.file), "uriBaseId": base}, "region": region}
    index = {"ruleIndex": position[finding.rule]} if finding.rule in position else {}
    return {
        "ruleId": finding.rule,
        **index,
        "level": _SARIF[finding.severity],
        "message": {"text": _in_one_line(finding)},
        "partialFingerprints": {"ffplanFinding/v1": fingerprint},
        "locations": [{"physicalLocation": place}],
    }


_RENDERERS: dict[str, Callable[[Checked], str]] = {
    "text": _text,
    "json": _json,
    "sarif": _sarif,
    "junit": _junit,
    "github": _github,
    "gitlab": _gitlab,
    "markdown": _markdown,
}
FORMATS = tuple(_RENDERERS)
"""Formats by the names that the command line takes."""


def render(checked: Checked, form: str, *, width: int | None = None) -> str:
    """Return findings as text in one of `FORMATS`.

    Args:
        checked: the files and their findings.
        form: the format.
        width: letters of a line of the terminal that `text` goes to [1]; None for any other place.

    Raises:
        KeyError: for an unknown format.
    """
    return _text(checked, width) if form == "text" else _RENDERERS[form](checked)
