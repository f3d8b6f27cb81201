"""Steps of Slurm in a script: the `srun` that starts the training program, whose counts go before those of `#SBATCH`.

Options of Slurm as its manual has them (recalled).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.catalog.launch.arguments import _Argument

_STEP = re.compile(
    r"(?<![\w./$-])srun(?=\s)"
    r"""(?:"[^"]{0,20000}"|'[^']{0,20000}'|\f[ \t]*\n|[^\n;&|"']|(?<=>)&|["'])*"""
)
"""A step to the end of its command: quoted words may hold lines."""
_BATCH = re.compile(r"(?m)^[ \t]*#SBATCH\b[^\n]*")
_ASSIGNED = re.compile(
    r"(?<!\w)(?P<name>[A-Za-z_]\w*)\+?="
    r"""(?P<text>\((?:"[^"]*"|'[^']*'|[^()"']){0,20000}\)|"[^"]{0,20000}"|'[^']{0,20000}'|[^\s;]*)"""
)
_USED = re.compile(r"\$\{?(\w+)")
_OPENED = re.compile(r"(?<!\w)(?P<name>[A-Za-z_]\w*)\+?=\(?(?P<quote>[\"']?)[^\n\"']*$")
"""What stands before a step that a variable holds."""
_TRAINS = re.compile(r"(?<![A-Za-z\d])(?:pre)?train|fine_?tune", re.IGNORECASE)
_RUNS = re.compile(r"\b(?:torchrun|deepspeed|accelerate|python[\d.]*)\b")
_TRIVIAL = re.compile(
    r"\s(?:/\S*/)?(?:hostnames?|nvidia-smi|true|echo|date|mkdir|cp|mv|rm|rsync|tar|ls|cat|sleep)(?=[\s)`]|$)"
)
_FILE = re.compile(r"(?<![\w.-])[\w.-]+\.sh\b")
_WRITTEN = re.compile(r">[ \t]*(?:[^\s>]{0,200}/)?(?P<name>[\w.-]{1,200}\.sh)\b")
_OF_JOB = re.compile(r"\$\{?SLURM_\w+\}?")
"""A number that Slurm takes from the job."""
_MOST_STEPS, _MOST_LETTERS = 100, 100_000
"""Most steps that are compared, and letters read of each with its variables [1]."""


@record
class _Step:
    """One `srun` of a script."""

    start: int
    end: int
    rank: int
    """How surely it starts the training program: 3 by its settings, 2 by name, 1 perhaps, 0 unknown, else -1."""


class _Script:
    """A script that `plain_lines` made, with what its variables hold."""

    def __init__(self, plain: str, settings: re.Pattern[str]) -> None:
        """Take the pattern of a setting of the training program."""
        self.plain, self.settings = plain, settings
        self.written = {row["name"] for row in _WRITTEN.finditer(plain)}
        self.held: dict[str, list[str]] = {}
        for row in _ASSIGNED.finditer(plain):
            self.held.setdefault(row["name"], []).append(row["text"])

    def steps(self) -> list[_Step]:
        """Return the steps in order; very many are not compared."""
        found = [row.span() for row in _STEP.finditer(self.plain)]
        return [self._step(*span) if len(found) <= _MOST_STEPS else _Step(*span, 0) for span in found]

    def _step(self, start: int, end: int) -> _Step:
        plain = self.plain
        opened = _OPENED.search(plain[max(plain.rfind("\n", 0, start) + 1, start - 200) : start])
        if opened is None:
            return _Step(start, end, self._rank(plain[start:end]))
        if opened["quote"] and (closed := plain.find(opened["quote"], start)) >= 0:
            end = closed
        use = re.compile(rf"\$\{{?{opened['name']}\b")
        return _Step(start, end, self._rank("\n".join(row for row in plain.split("\n") if use.search(row))))

    def _rank(self, text: str) -> int:
        whole = self._reached(text)
        if not self.written.isdisjoint(_FILE.findall(whole)) or self.settings.search(whole):
            return 3
        ranks = ((_TRAINS, 2), (_RUNS, 1), (_TRIVIAL, -1))
        return next((rank for pattern, rank in ranks if pattern.search(whole)), 0)

    def _reached(self, text: str) -> str:
        """Return a text followed by the values of its variables, and of variables inside them."""
        parts, known, next_up = [text[:_MOST_LETTERS]], set[str](), [text[:_MOST_LETTERS]]
        while next_up:
            for name in _USED.findall(next_up.pop()):
                if name not in known:
                    known.add(name)
                    next_up += self.held.get(name, [])
                    parts += self.held.get(name, [])
        return "\n".join(parts)[:_MOST_LETTERS]


def _without_other_steps(plain: str, settings: re.Pattern[str]) -> tuple[str, set[int]]:
    """Return a script without helper steps, and the lines of the steps that may start the training program.

    Args:
        settings: pattern of a setting of the training program.
    """
    steps = _Script(plain, settings).steps()
    most = max((step.rank for step in steps), default=0)
    kept = [step for step in steps if step.rank == most >= 0]
    for step in steps:
        if step.rank != most or most < 0:
            blank = re.sub(r"[^\n\f]", " ", plain[step.start : step.end])
            plain = plain[: step.start] + blank + plain[step.end :]
    starts = [0, *(match.end() for match in re.finditer("\n", plain))]
    spans = ((bisect_right(starts, step.start), bisect_right(starts, step.end)) for step in kept)
    return plain, {line for first, last in spans for line in range(first, last + 1)}


def _of_step(
    rows: list[_Argument], plain: str, steps: set[int], names: frozenset[str]
) -> tuple[list[_Argument], list[str]]:
    """Return arguments less the `#SBATCH` ones that the training program's step repeats, and remarks on them.

    Args:
        steps: lines of the steps that may start it.
        names: settings whose number in a step goes before the job's.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", plain))]
    lines = {bisect_right(starts, row.start()) for row in _BATCH.finditer(plain)}
    of_job = {_name(row): row for row in rows if row.line in lines and _name(row) in names}
    own_lines = steps - lines
    own = [row for row in rows if row.line in own_lines and _name(row) in of_job]
    passed = [row for row in own if _OF_JOB.fullmatch((row.value or "").strip("\"'"))]
    left_out = {id(row) for row in passed}
    said = {_name(row): row for row in own if id(row) not in left_out}
    remarks = [
        f"`--{row.name}` is {said[name].value} at line {said[name].line}, {row.value} in `#SBATCH`: the former counts"
        for name, row in of_job.items()
        if name in said and said[name].value != row.value
    ]
    left_out |= {id(row) for row in rows if row.line in lines and _name(row) in said}
    return [row for row in rows if id(row) not in left_out], remarks


def _name(row: _Argument) -> str:
    return row.name.replace("-", "_")
