"""Every error that ffplan raises on purpose, the finding they carry, and words that errors share.

FfplanError             anything we raise on purpose; exit code 70 unless a subclass says otherwise
├── UsageError          the command line asks for something that cannot be done; exit code 2
└── InputError          a file is wrong, with one located finding per fault; exit code 2
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from ffplan.base.formatting import plural

if TYPE_CHECKING:
    from collections.abc import Iterable


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
    unchecked: bool = False
    """Whether it is a limit whose figure is not known in full, which says less than that the limit is broken."""

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
    """Return a fault at a place of a file."""
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


def lacking(what: str, name: str, package: str) -> str:
    """Return the line that names a missing package, and how the Python that runs gets it.

    Args:
        what: what cannot go on.
    """
    import shlex

    python = Path(sys.executable or "python3")
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    return f"{what} needs {name}: `{shlex.join((str(python), '-m', 'pip', 'install', package))}`"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `name`, or None if no name is close."""
    from difflib import get_close_matches

    names = sorted(set(known))
    folded = {candidate.lower().replace("_", "-"): candidate for candidate in names}
    query = name[:200].lower().replace("_", "-")
    swapped = (query[:at] + query[at + 1] + query[at] + query[at + 2 :] for at in range(len(query) - 1))
    if (exchanged := next((text for text in swapped if text in folded), None)) is not None:
        return folded[exchanged]  # two letters exchanged, as `sn5060` for `sn5600`
    matches = get_close_matches(query, list(folded), n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


LEAST = 3
"""Shortest name that is searched within known names."""
SHOWN = 6
"""Most matching names in a remedy."""


def _containing(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that contain `name`: prefix matches first, then the shortest."""
    query = name[:200].lower().replace("_", "-")
    if len(query) < LEAST:
        return []
    folded = {candidate: candidate.lower().replace("_", "-") for candidate in known}
    matches = [candidate for candidate, text in folded.items() if query in text]
    return sorted(matches, key=lambda match: (not folded[match].startswith(query), len(match), match))


def listed_names(names: list[str]) -> str:
    """Return the first of some names, at least one, as alternatives."""
    *most, last = [f"`{name}`" for name in names[:SHOWN]]
    return f"{', '.join(most)}{' or ' if most else ''}{last}"


def did_you_mean(name: str, known: Iterable[str], *, what: str) -> str:
    """Return a remedy with the nearest known name, else the names that contain it, else all names."""
    names = sorted(set(known))
    within = _containing(name, names)
    if not within and (close := nearest(name, names)):
        return f"did you mean `{close}`?"
    if within:
        more = f" ({len(within) - SHOWN} more contain `{name}`)" if len(within) > SHOWN else ""
        return f"did you mean {listed_names(within)}?{more}"
    if not names:
        return f"no {what} is known"
    shown = ", ".join(f"`{known_name}`" for known_name in names[:12])
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"known {what}: {shown}{more}"
