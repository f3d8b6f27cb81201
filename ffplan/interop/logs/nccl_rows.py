"""Text of nccl-tests and rccl-tests taken apart: runs with their ranks, command lines and rows of numbers.

Rows are recognised by content, not by position: a log may have lost its head or its tail, and lines of NCCL may
interrupt a row. Versions differ in their columns: no `root` or `redop`, `error` or `res` in place of `#wrong`, one
half or two, statistics and time stamps at the end.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain, product
from typing import TYPE_CHECKING

from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTHS = {"int8": 1, "uint8": 1, "char": 1, "half": 2, "bfloat16": 2, "int32": 4, "int": 4, "uint32": 4, "float": 4}
WIDTHS |= {"int64": 8, "uint64": 8, "double": 8, "fp8_e4m3": 1, "fp8_e5m2": 1, "f8e4m3": 1, "f8e5m2": 1}
"""Bytes of an element by type [byte]."""
_RANK = re.compile(
    r"#\s+Rank\s+([0-9]{1,7})\b.{0,400}?\bon\s+(\S+)\s+device\s+([0-9]{1,4})(?:\s+\[[^\]]{0,40}\]\s*(.{0,80}))?"
)
COMMAND = re.compile(r"(?<![\w$}])(\w+?)_perf(?:_mpi)?(?!\w)")
"""A program of nccl-tests, wherever a command line names it."""
_SPOKEN = r"(?:all ?reduce|all ?gather|reduce ?scatter|all ?to ?all|send ?recv|broadcast|reduce|gather|scatter)"
_AROUND = (
    r"(?:(?:running|run|tests?|testing|start|starting|begin|bench|benchmark|benchmarking|nccl|rccl|collective|operation"
    r"|op|perf|performance|bandwidth|busbw|results?|output|case|now|on|with|the|of|gpus?|nodes?|ranks?|float|half) )*"
)
_HEADING = re.compile(rf"{_AROUND}({_SPOKEN}) {_AROUND}")
_LOOP = re.compile(rf"\bfor \w+ in ((?:\s*{_SPOKEN.replace(' ?', '[_-]?')}(?![a-z]))+)")
_LONGEST_HEADING = 80
"""Most letters of a heading [1]."""
_FRACTION = re.compile(r"[0-9][.,][0-9]")
"""What a result or an address has, and no heading."""
_HEAD = re.compile(r"#\s*nThread:?\s+[0-9]")
_COLUMNS = re.compile(r"#\s*(?:size\s+count\s+type|bytes\s+N\s+type)\b")
_CONCLUDED = "Collective test concluded"
_LEFT_OUT = re.compile(r"#?\s*[\[(<]?(?:\.\.|…|snip|cut|truncated|omitted)", re.IGNORECASE)
"""What people write in place of ranks that they leave out."""
_TABLE = re.compile(r"\|\s*[0-9]|[0-9]+([,;])\s*[0-9]+\1\s*[a-z]")
"""Start of a row in a table of Markdown or in CSV."""
_AVERAGE = re.compile(r"#\s*Avg bus bandwidth\s*:")
_OUT_OF_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*([0-9]{1,12})")
_ROW = re.compile(
    r"(?:^|(?<=[\s:|>]))([0-9][0-9,]{0,24})\s+([0-9][0-9,]{0,24})\s+([a-z][a-z0-9_]{2,15})"
    r"(?:\s+(sum|prod|max|min|avg|mulsum|none|all)(?![a-z]))?(?:\s+(-?[0-9]{1,7})(?=[A-Za-z]|\s|$))?(.*)"
)
_NUMBER = re.compile(r"N/A|-?[0-9][0-9A-Za-z]{0,20}(?:[.,][0-9A-Za-z]{1,12})?(?:e[+-][0-9]{1,3})?", re.IGNORECASE)
"""A number, or a damaged one, which is refused later."""
_REST = re.compile(r"[ \t]*[0-9N/A.][-0-9N/A., \te+]*")
"""The rest of a row that a terminal wrapped."""
_MOST_LINES = 4
"""Most lines that a row is wrapped into [1]."""
_STUB = re.compile(r"[ \t|]*([0-9]{1,25})(?:[ \t|]+[0-9]{1,25}([ \t|]+[a-z]\w{0,15}(?:[ \t|]+[a-z]{1,8})?)?)?")
"""The first columns of a row, behind which a log was cut."""
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")
_HALF = 4
"""Columns of a half: time, algbw, busbw and #wrong [1]."""
_WITH_STATISTICS = 16
"""Columns of two halves with the statistics of rccl-tests [1]."""


@record
class Rank:
    """A line of the table of ranks."""

    host: str
    device: int
    """Number of the accelerator on its node; -1 where the log does not say."""
    accelerator: str
    """Its name; empty where the log does not say."""


@record
class Row:
    """A row of the table: a size, and what was measured of it."""

    line: int
    size: float
    count: float
    kind: str
    """Type of an element."""
    redop: str
    """Reduction; empty where the row has none."""
    root: int | None
    halves: list[list[str]]
    """Time, algbw, busbw and #wrong out of place, then in place, as written but for decimal commas."""


class Run:
    """A test of one operation."""

    def __init__(self) -> None:
        self.named: list[str] = []
        """Programs that command lines named since the run before."""
        self.head = ""
        self.ranks: dict[int, Rank] = {}
        self.mixed = False
        """Whether two ranks have one number: the lines of several runs are mixed."""
        self.left_out = False
        """Whether the list of ranks says that it was shortened."""
        self.rows: list[Row] = []
        self.line = 0
        """Line of its head."""
        self.cut = 0
        """Line of a last row that lacks numbers; 0 if none does."""
        self.averaged = False
        self.out_of_bounds = 0

    @property
    def begun(self) -> bool:
        """Whether a line of the program itself was seen."""
        return bool(self.head or self.ranks or self.rows)


class _CutRowError(Exception):
    """A row inside the log that lacks numbers."""

    def __init__(self, line: int, columns: int) -> None:
        super().__init__(line, columns)
        self.line, self.columns = line, columns


def _programs(content: str) -> list[str]:
    """Return the programs that a line names: in a command, in a loop of a script, or alone in a heading."""
    if commands := COMMAND.findall(content):
        return [] if "NCCL " in content or _CONCLUDED in content else commands
    if loop := _LOOP.search(content):
        return loop[1].split()
    if len(content) > _LONGEST_HEADING or _FRACTION.search(content):
        return []
    heading = _HEADING.fullmatch("".join(f"{word} " for word in re.findall("[a-z]+", content.lower())))
    return [heading[1].replace(" ", "")] if heading else []


def _has_row(text: str) -> bool:
    """Return whether a text has a row, or what stands around rows."""
    marks = ("Avg bus bandwidth", "busbw")
    return any(mark in text for mark in marks) or any(
        (match := _ROW.search(line)) is not None and match[3] in WIDTHS and _numbers(match[6])
        for line in text.splitlines()
    )


def _numbers(text: str) -> list[str]:
    """Return the numbers at the start of a text, with a point for a decimal comma."""
    numbers = []
    for cell in text.split():
        if not _NUMBER.fullmatch(cell):
            break
        numbers.append(cell.replace(",", "."))
    return numbers


def _whole(text: str) -> float:
    """Return a whole number, which a table may have written in groups of three digits."""
    return float(text.replace(",", "")) if _GROUPED.fullmatch(text) or text.isdigit() else -1.0


def _halves(numbers: list[str]) -> list[list[str]]:
    """Return the halves of a row without their statistics."""
    width = 2 * _HALF if len(numbers) == _WITH_STATISTICS else _HALF
    return [numbers[start : start + _HALF] for start in range(0, len(numbers) - _HALF + 1, width)]


def _started(match: re.Match[str], line: int) -> Row | None:
    """Return the row that a line begins, perhaps without all of its numbers; None if it begins none."""
    size, count, kind, redop, root, rest = match.groups()
    numbers = _numbers(rest)
    if root and (len(numbers) + 1) % _HALF == 0 and not root.startswith("-"):
        numbers, root = [root, *numbers], ""  # versions without a root: the number is the time
    if kind not in WIDTHS and len(numbers) < _HALF:
        return None
    if min(_whole(size), _whole(count)) < 0:
        return None
    return Row(
        line=line,
        size=_whole(size),
        count=_whole(count),
        kind=kind,
        redop=redop or "",
        root=int(root) if root else None,
        halves=[numbers],
    )


def _completed(row: Row) -> Row:
    (numbers,) = row.halves
    if not (halves := _halves(numbers)):
        columns = 3 + bool(row.redop) + (row.root is not None) + len(numbers)
        raise _CutRowError(row.line, columns)
    return replace(row, halves=halves)


class _Reader:
    def __init__(self) -> None:
        self.runs = [Run()]
        self.open: Row | None = None
        """A row whose numbers may follow in later lines, after lines of NCCL."""

    @property
    def run(self) -> Run:
        return self.runs[-1]

    def next_run(self, named: list[str]) -> None:
        self.close()
        self.runs.append(Run())
        self.run.named = named

    def close(self, *, last: bool = False) -> None:
        """End the row that is open; one without numbers was not measured, and the last of a log may be cut off."""
        row, self.open = self.open, None
        if row is None or not row.halves[0]:
            self.run.cut = row.line if row is not None and last else 0
            return
        try:
            self.run.rows.append(_completed(row))
        except _CutRowError:
            if not last:
                raise
            self.run.cut = row.line

    def line(self, number: int, content: str) -> None:
        if table := _TABLE.match(content):
            content = content.replace(table[1] or "|", " ")
        match = None if content.startswith("#") else _ROW.search(content)
        row = _started(match, number) if match is not None else None
        if row is None and "#" in content:
            self.comment(number, content)
        if row is not None:
            self.close()
            if self.run.averaged:
                self.next_run([])
            self.open = row
        elif self.open is not None and (cells := content.split()) and len(_numbers(content)) == len(cells):
            self.open.halves[0].extend(_numbers(content))
        elif self.run.ranks and not self.run.rows and _LEFT_OUT.match(content):
            self.run.left_out = True
        elif programs := _programs(content):
            if self.run.rows or self.open is not None:
                self.next_run([])
            self.run.named += programs

    def comment(self, number: int, content: str) -> None:
        if _HEAD.search(content):
            if self.run.begun or self.open is not None:
                self.next_run([])
            self.run.head, self.run.line = content, number
        elif rank := _RANK.search(content):
            if self.run.rows:
                self.next_run([])
            self.run.left_out = False  # the last ranks are there
            found = Rank(rank[2], int(rank[3]), (rank[4] or "").strip())
            self.run.mixed |= self.run.ranks.setdefault(int(rank[1]), found) != found
        elif _COLUMNS.search(content):
            if self.run.rows or self.open is not None:
                self.next_run([])
            self.run.head += f"\n{content}"
        elif _AVERAGE.search(content):
            self.close()
            self.run.averaged = True
        elif out := _OUT_OF_BOUNDS.search(content):
            self.run.out_of_bounds = int(out[1])


def _is_start(line: str) -> bool:
    match = _ROW.search(line)
    return match is not None and match[3] in WIDTHS


def _joined(parts: list[str], width: int) -> str:
    """Return a row from the lines of a terminal: they were cut between its numbers, or inside one at the width."""
    joints = [["", " "] if len(part) == width else [" "] for part in parts[:-1]]
    rows = ["".join(chain.from_iterable(zip(parts, [*joint, ""], strict=True))) for joint in product(*joints)]
    return next((row for row in rows if _is_whole(row)), rows[0])


def _is_whole(line: str) -> bool:
    match = _ROW.search(line)
    row = _started(match, 0) if match is not None else None
    return row is not None and len(row.halves[0]) % _HALF == 0


def _unwrapped(lines: list[str]) -> list[str]:
    """Return lines with those joined that a terminal cut at its width; others keep their places.

    A row was cut where the next line has numbers alone, and then lines of the head as long as the longest were, too.
    """
    rests = [number for number, line in enumerate(lines) if number and _REST.fullmatch(line)]
    width, joined, last = max(map(len, lines), default=0), list(lines), 0
    starts: dict[int, list[str]] = {}
    for number in rests:
        start = last if last in starts and lines[number - 1] == starts[last][-1] else number - 1
        if len(starts[start]) < _MOST_LINES if start in starts else _is_start(lines[start]):
            last = start
            starts.setdefault(start, [lines[start]]).append(lines[number])
            joined[number] = ""
    for start, parts in starts.items():
        joined[start] = _joined(parts, width)
    for number, line in enumerate(joined[1:], 1) if starts else ():
        head = joined[number - 1]
        cut = head.startswith("#") and len(head) > width - 2
        if cut and line and line[0] != "#" and number not in starts and "NCCL " not in line:
            joined[number - 1 : number + 1] = [head.ljust(width) + line, ""]
    return joined


def _runs_of(text: str) -> Iterator[Run]:
    reader, lines = _Reader(), _unwrapped(text.splitlines())
    for number, line in enumerate(lines, 1):
        reader.line(number, line.strip())
    reader.close(last=True)
    last = text.rstrip().rpartition("\n")[2]
    if reader.run.rows and (stub := _STUB.fullmatch(last)) and (stub[2] or int(stub[1]) > reader.run.rows[-1].size):
        reader.run.cut = reader.run.cut or text.rstrip().count("\n") + 1
    yield from (run for run in reader.runs if run.rows or run.cut or (run.line and run.ranks))
