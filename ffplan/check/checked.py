"""The files that were checked and their findings, as every format renders them."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path, PurePath
from urllib.parse import quote

from ffplan.base.errors import Finding, Severity
from ffplan.base.formatting import plural
from ffplan.base.record import record


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
