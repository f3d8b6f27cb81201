"""Every error that ffplan raises on purpose, and the finding they carry.

FfplanError             anything we raise on purpose; exit code 70 unless a subclass says otherwise
├── UsageError          the command line asks for something that cannot be done; exit code 2
└── InputError          a file is wrong, with one located finding per fault; exit code 2
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ffplan.base.formatting import plural

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_INVALID = 2
EXIT_BUG = 70
EXIT_STOPPED = 130
EXIT_PIPE = 141


class Severity(StrEnum):
    """Severity of a finding; ordered info < warning < error."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Position in the order info, warning, error."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark about one place in one file."""

    rule: str
    """Stable id of the rule, as documented in docs/rules.md."""
    severity: Severity
    """Weight of the finding."""
    file: str
    """File as the user named it."""
    line: int
    """Line, counted from 1."""
    column: int
    """Column, counted from 1."""
    message: str
    """The fault."""
    remedy: str
    """The way to correct it."""
    path: str = ""
    """Field of the file, such as `fabric.zones`; empty for the whole file."""

    def __str__(self) -> str:
        file = "".join(character if character.isprintable() else "?" for character in self.file)
        place = f"{file}:{self.line}:{self.column}"
        message, remedy = (text.replace("\n", "\\n") for text in (self.message, self.remedy))
        text = f"{place}: {self.severity}: {message} [{self.rule}]"
        return f"{text}\n    {remedy}" if remedy else text

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order of findings in every report: by place, then by rule."""
        return (self.file, self.line, self.column, self.rule, self.message)


class FfplanError(Exception):
    """Root of the errors that ffplan raises on purpose."""

    exit_code = EXIT_BUG


class UsageError(FfplanError):
    """The command line asks for something that cannot be done."""

    exit_code = EXIT_INVALID


MOST_SHOWN = 100
"""Most faults that one message prints; the exception keeps all."""


class InputError(FfplanError):
    """An input file is wrong; carries a finding for each fault."""

    exit_code = EXIT_INVALID

    def __init__(self, *findings: Finding) -> None:
        self.findings: tuple[Finding, ...] = tuple(sorted(set(findings), key=lambda finding: finding.sort_key))
        shown = [str(finding) for finding in self.findings[:MOST_SHOWN]]
        if (more := len(self.findings) - MOST_SHOWN) > 0:
            shown.append(f"and {plural(more, 'more fault')}")
        super().__init__("\n".join(shown))


def located(rule: str, file: str, place: tuple[int, int], message: str, remedy: str) -> InputError:
    """Return a fault at a place of a file.

    Args:
        rule: id of the rule.
        place: line and column, from 1.
        message: what is wrong.
        remedy: what would be right.
    """
    line, column = place
    return InputError(
        Finding(
            rule=rule,
            severity=Severity.ERROR,
            file=file,
            line=line,
            column=column,
            message=message,
            remedy=remedy,
        )
    )
