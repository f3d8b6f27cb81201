"""What every format of findings renders: the files that were checked, and the findings."""

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
    """What each is: design, part, case file or plan."""
    findings: tuple[Finding, ...]
    """Findings, by place."""
    waived: int = 0
    """Findings that a waiver accepts [1]."""
    known: int = 0
    """Findings that the baseline has [1]."""
    fixed: int = 0
    """Entries of the baseline that no finding answers to any more [1]."""

    @property
    def worst_first(self) -> tuple[Finding, ...]:
        """Findings, errors first, then by place."""
        return tuple(sorted(self.findings, key=lambda item: (-item.severity.rank, item.sort_key)))

    @property
    def summary(self) -> str:
        """How many files of each kind were checked, and how many findings of each severity there are."""
        counts = [
            f"{number} {severity}{'s' if number != 1 and severity != Severity.INFO else ''}"
            for severity in reversed(Severity)
            if (number := sum(found.severity is severity for found in self.findings))
        ]
        kinds = [plural(self.words.count(word), word) for word in dict.fromkeys(["design", *self.words])]
        kinds = [text for text in kinds if not text.startswith("0 ")]
        beside = [f"{self.waived} waived"] * bool(self.waived) + [f"{self.known} in the baseline"] * bool(self.known)
        if self.fixed:
            beside.append(f"{plural(self.fixed, 'entry').replace('entrys', 'entries')} of the baseline fixed")
        more = f" ({', '.join(beside)})" if beside else ""
        return f"{', '.join(kinds)} checked: {', '.join(counts) or 'nothing found'}{more}"


def path_of(file: str) -> str:
    """Return a file as a path from the working folder, with forward slashes; one outside it stays absolute."""
    path = PurePath(os.path.normpath(file))
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return path.as_posix()


def uri_of(file: str) -> str:
    """Return a file as a relative URI reference."""
    return quote(path_of(file))


def fingerprints(findings: tuple[Finding, ...]) -> list[str]:
    """Return a fingerprint of each finding, which outlives moved lines: of rule, file, field and repetition.

    A finding without a field takes its message in place of it.
    """
    seen: dict[str, int] = {}
    found = []
    for item in findings:
        text = "\n".join((item.rule, path_of(item.file), item.path or item.message))
        seen[text] = seen.get(text, 0) + 1
        found.append(sha256(f"{text}\n{seen[text]}".encode()).hexdigest())
    return found


def words_of(item: Finding) -> str:
    """Return message and remedy in one line."""
    text = f"{item.message}; {item.remedy}" if item.remedy else item.message
    return " ".join(text.split())
