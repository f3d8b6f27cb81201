"""Programs that print a table over message sizes: perftest, the OSU benchmarks, the benchmark of oneCCL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.interop.logs.measured import NO_HINTS, Found, _number_of, _refuse, _stem, _unread
from ffplan.interop.logs.nccl_operations import _IN_PIECES, OPERATIONS, _bus_factor
from ffplan.results.acceptance import Measured, Unread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.logs.measured import CollectiveHints

_COLUMN = re.compile(
    r"#[ \t]*(?:bytes|Size)(?![\w(])|#?(?:iterations|repetitions)"
    r"|[A-Za-z0-9%._]{1,24}(?: [A-Za-z0-9]{1,16}){0,3} ?[\[(][A-Za-z0-9%/]{1,12}[\])]",
    re.IGNORECASE,
)
"""A column: the size, a count, or a name with its unit in brackets."""
_START = re.compile(r"^[ \t|]{0,12}#[ \t]*(?:bytes|Size)\b.{0,200}[\[(]", re.IGNORECASE)
_CELL = re.compile(r"[0-9]{1,20}(?:[.,][0-9]{1,9})?")
_NUMBERS = re.compile(r"[ \t|]*[0-9]{1,20}(?:[ \t|]+[0-9.,]{1,20})*[ \t|]*")
_FILLS = 2.0**16
"""Messages from this size on fill a link [byte]."""
_SMALL = "messages below 64 KiB, which fill no link"


@record
class _Row:
    line: int
    cells: Mapping[str, str]
    """Numbers as written, by column; the size is `size`."""
    failed: bool
    """Whether the program found a wrong result."""


@record
class _Table:
    before: str
    """All of the text ahead of it."""
    own: str
    """The part behind the table before."""
    line: int
    columns: tuple[str, ...]
    rows: tuple[_Row, ...]

    def column(self, *names: str) -> str | None:
        return next((column for name in names for column in self.columns if column.lower().startswith(name)), None)

    def said(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the last match ahead of the table."""
        return next(reversed(list(pattern.finditer(self.own)) or list(pattern.finditer(self.before))), None)


def _columns_of(line: str) -> tuple[str, ...]:
    """Return the columns of a heading; none of any other line."""
    if not _START.match(line):
        return ()
    columns = [match[0].strip() for match in _COLUMN.finditer(line)]
    return ("size", *columns[1:])


def _row_of(content: str, number: int, columns: tuple[str, ...]) -> _Row | None:
    """Return a row; None where a line does not begin with two numbers, or lacks some."""
    cells = [cell for cell in re.split(r"[\s|;]+", content.strip()) if cell]
    numbers = [cell.replace(",", ".") for cell in cells if _CELL.fullmatch(cell)]
    if len(numbers) < len(columns) or cells[0] != numbers[0] or not numbers[0].isdigit():
        return None
    words = {cell.lower() for cell in cells} - set(numbers)
    return _Row(line=number, cells=dict(zip(columns, numbers, strict=False)), failed="fail" in words)


def _tables(text: str) -> Iterator[_Table]:
    """Yield the tables of a text that have rows.

    Rows that lack numbers are left out: the log was cut there. The last row of a text without a last line end counts
    if its last number has as many places as those above.
    """
    lines = text.splitlines()
    heads = [(number, columns) for number, line in enumerate(lines) if (columns := _columns_of(line))]
    ends = [*(number for number, _ in heads[1:]), len(lines)]
    own = 0
    for (start, columns), end in zip(heads, ends, strict=False):
        rows = [row for number in range(start + 1, end) if (row := _row_of(lines[number], number + 1, columns))]
        if len(rows) > 1 and rows[-1].line == len(lines) and not text.endswith("\n"):
            places = [len(row.cells[columns[-1]].partition(".")[2]) for row in rows[-2:]]
            rows = rows if places[0] == places[1] else rows[:-1]
        before, near = ("\n".join(lines[first:start]) for first in (0, own))
        own = rows[-1].line if rows else start + 1
        if rows:
            yield _Table(before=before, own=near, line=start + 1, columns=columns, rows=tuple(rows))


def _losses(text: str, file: str) -> list[Unread]:
    """Return the tables without a row, and the rows that lack numbers or that the log ends in."""
    lines, parts = text.splitlines(), list[Unread]()
    read = {row.line for table in _tables(text) for row in table.rows}
    columns: tuple[str, ...] = ()
    head = 0
    for number, line in enumerate([*lines, "# bytes ["], 1):
        if found := _columns_of(line):
            if head and not any(head < row < number for row in read):
                parts.append(_unread(file, head, "a table without rows"))
            columns, head = found, number
        elif columns and number not in read and _NUMBERS.fullmatch(line):
            parts.append(_unread(file, number, "the row is cut"))
    return parts


_PERFTEST = re.compile(
    r"BW average ?\[|t_typical ?\[|\bBW_average\"?[ \t]*:"
    r"|^[ \t]{0,60}(?:RDMA_Write|RDMA_Read|Send) (?:\w+ ){0,3}(?:BW|Latency) Test",
    re.MULTILINE,
)
_TITLE = re.compile(r"\b(?:RDMA_Write|RDMA_Read|Send|Atomic\w*)[ _][\w ]{0,40}Test\b")
_DEVICE = re.compile(r"\bDevice[ \t]*\"?[ \t]*:[ \t]*\"?([\w.-]{1,64})")
_DUAL = re.compile(r"\bDual[-_]port[ \t]*\"?[ \t]*:[ \t]*\"?(ON|OFF)")
_DOCUMENT = re.compile(r"\bresults\"?[ \t]*:[ \t]*\{([^{}]{0,2000})\}")
_KEY = re.compile(r"\b(MsgSize|BW_average|MsgRate)\"?[ \t]*:[ \t]*([0-9.]{1,24})")
_RATES = {"gb/sec": 1 / 8, "mb/sec": 2.0**20 / 1e9, "mib/sec": 2.0**20 / 1e9}
"""Units of perftest [GB/s]: what it calls MB has 2^20 bytes."""


def _is_perftest(text: str) -> bool:
    return _PERFTEST.search(text) is not None


def _transfer(table: _Table, row: _Row, gbyte_s: float, file: str) -> Measured:
    """Return a rate [GB/s] between two NICs, of one direction and one port, where both together were printed."""
    title, device, dual = (table.said(pattern) for pattern in (_TITLE, _DEVICE, _DUAL))
    flows = (2 if title and "Bidirectional" in title[0] else 1) * (2 if dual and dual[1] == "ON" else 1)
    small = float(row.cells["size"]) < _FILLS
    return Measured(
        check="nic-transfer",
        value=gbyte_s / flows,
        host=_stem(file),
        part=device[1] if device else "",
        file=file,
        line=row.line,
        doubt="" if title else "the title is missing, which says whether both directions are summed",
        shortfall=_SMALL if small else "",
    )


def _perftest_documents(text: str) -> Iterator[tuple[_Table, float]]:
    """Yield the results of perftest's JSON with their rates [GB/s], which the file has without a unit.

    Older versions do not quote its names.

    Equation:
        rate = messages a second * size of a message
    """
    for match in _DOCUMENT.finditer(text):
        values = dict(_KEY.findall(match[1]))
        if "MsgSize" not in values or "MsgRate" not in values:
            continue
        line = text.count("\n", 0, match.start()) + 1
        row = _Row(line=line, cells={"size": values["MsgSize"]}, failed=False)
        before = text[: match.start()]
        table = _Table(before=before, own=before, line=line, columns=("size",), rows=(row,))
        yield table, float(values["MsgRate"]) * 1e6 * float(values["MsgSize"]) / 1e9


def _read_perftest(text: str, file: str) -> list[Found]:
    """Return the largest rate of each run of perftest over its sizes [GB/s], each size at its slowest.

    A size comes again where a test runs without end: a link that breaks down on the way is no good one.
    """
    measured: list[Found] = [_transfer(table, table.rows[0], rate, file) for table, rate in _perftest_documents(text)]
    for table in _tables(text):
        average = table.column("bw average")
        if average is None:
            continue
        unit = _RATES.get(average.lower().partition("[")[2].rstrip("]"))
        if unit is None:
            _refuse(file, table.line, f"`{average}` has no unit that perftest prints", "keep the heading as printed")
        slowest: dict[str, tuple[float, _Row]] = {}
        for row in table.rows:
            rate = float(row.cells[average])
            if rate < slowest.setdefault(row.cells["size"], (rate, row))[0]:
                slowest[row.cells["size"]] = rate, row
        best, row = max(slowest.values(), key=lambda rate: rate[0])
        measured.append(_transfer(table, row, best * unit, file))
    if not measured:
        late = "t_typical" in text or "Latency" in text
        message = "latencies, for which the sheet has no check" if late else "no row with a rate and its heading"
        _refuse(file, 1, message, "run ib_write_bw, and give all that it prints")
    return measured + _losses(text, file)


_OSU = re.compile(r"^# OSU |^# Size[ \t]+(?:(?:Bandwidth|(?:Avg )?Latency) ?\(|MB/s\b)", re.MULTILINE)
_PAIRS = re.compile(r"^#[ \t]*Size[ \t]+MB/s\b", re.MULTILINE)
"""The heading of osu_mbw_mr."""
_OSU_TITLE = re.compile(r"^# OSU (MPI|NCCL|RCCL)(-[A-Z]+)?[ \t]+(\w.{0,60}?) Test", re.MULTILINE)
_OSU_COMMAND = re.compile(r"\bosu_(?:i|nccl_|xccl_)?(\w+)")
_DEVICE_BUFFERS = re.compile(
    r"(?<!\S)(?:-d|--accelerator)[ =]?(?:cuda|rocm)\b|\bosu_\w+.{0,200} D D\b|DEVICE \(D\) and"
)
_NP = re.compile(r"(?<!\S)(?:-np|--np|-n|--ntasks)[ =]?([0-9]{1,7})(?!\S)")
_SPREAD = re.compile(
    r"\bsrun\b[^\n]{0,400}?(?:-N|--nodes)[ =]?([0-9]{1,6})\b[^\n]{0,400}?--ntasks-per-node[ =]([0-9]{1,4})\b"
)
_TWO_NODES = re.compile(
    r"(?<!\S)(?:-N[ =]?1(?!\S)|--ntasks-per-node[ =]1(?!\S)|-ppn[ =]1(?!\S)|--map-by[ =](?:node|ppr:1:node)"
    r"|(?:-H|-hosts|--host)[ =]([\w.-]{1,64})(?::1)?,(?!\1(?::|\s|$))[\w.-])"
)
"""Options that put each of two ranks on a node of its own."""
_ALGORITHMS = "MPI has its own algorithms: nccl-tests tells whether a link is slow"


def _is_osu(text: str) -> bool:
    return _OSU.search(text) is not None


def _operation_in(words: str) -> str | None:
    """Return the collective in a title such as `All-to-All Personalized Exchange Latency`; None if it names none."""
    letters = re.sub(r"[^a-z]", "", words.lower()).replace("bcast", "broadcast")
    known = sorted(OPERATIONS, key=len, reverse=True)
    return next((OPERATIONS[name] for name in known if name.replace("_", "") in letters), None)


def _ranks_in(table: _Table) -> int:
    """Return the ranks that a command line ahead of a table starts; 0 if none says so [1]."""
    if spread := table.said(_SPREAD):
        return int(spread[1]) * int(spread[2])
    return int(ranks[1]) if (ranks := table.said(_NP)) else 0


def _timed(table: _Table, time: str, operation: str, ranks: int, file: str, *, shortfall: str) -> Iterator[Measured]:
    """Yield the bus bandwidths of a collective from its times [GB/s].

    Args:
        time: column with the time of a call [us].
        operation: name of the operation.
        ranks: ranks that took part [1].

    Equation:
        busbw = f * S / t; S is the size, times the ranks where each has a piece, f that of nccl-tests

    Source:
        NVIDIA/nccl-tests, doc/PERFORMANCE.md; OSU counts the bytes that a rank sends to one other.
    """
    for row in table.rows:
        took = _number_of(row.cells[time], file, row.line, "time")
        size = float(row.cells["size"]) * (ranks if operation in _IN_PIECES else 1)
        if not took or not size:
            continue
        yield Measured(
            check=operation,
            value=size / took / 1e3 * _bus_factor(operation, ranks),
            host=_stem(file),
            part="",
            file=file,
            line=row.line,
            gpus=ranks,
            size_bytes=size,
            doubt="wrong results" if row.failed else "",
            shortfall=shortfall,
        )


def _osu_table(table: _Table, file: str, said: CollectiveHints) -> Iterator[Measured]:
    title, command = table.said(_OSU_TITLE), table.said(_OSU_COMMAND)
    words = title[3] if title else command[1] if command else ""
    on_devices = bool(title and title[2]) or table.said(_DEVICE_BUFFERS) is not None
    if rate := table.column("bandwidth"):
        if table.said(_TWO_NODES) is None:
            message = "nothing says that the two ranks of this bandwidth sat on two nodes"
            _refuse(file, table.line, message, "keep its command line, such as `-H node1,node2`, or run ib_write_bw")
        value, row = max(((float(row.cells[rate]), row) for row in table.rows), key=lambda pair: pair[0])
        both = words.lower().startswith(("bi-", "bibw"))
        yield Measured(
            check="nic-transfer",
            value=value / 1e3 / (2 if both else 1),
            host=_stem(file),
            part="",
            file=file,
            line=row.line,
            doubt="wrong results" if row.failed else "",
            shortfall=_SMALL if float(row.cells["size"]) < _FILLS else _ALGORITHMS,
        )
        return
    time = table.column("avg latency", "latency")
    operation = _operation_in(words) or said.operation
    if time is None or words.lower().startswith(("latency", "multi", "one")):
        _refuse(file, table.line, "a latency between two ranks, for which the sheet has no check", "run osu_bw")
    if operation is None:
        _refuse(file, table.line, "nothing says which collective was measured", "keep the line `# OSU`, or say --op")
    ranks = _ranks_in(table) or said.ranks
    if ranks < 2:
        remedy = "keep the command line, such as `mpirun -np 16`, or say --ranks"
        _refuse(file, table.line, "nothing says how many ranks took part", remedy)
    if not on_devices:
        _refuse(
            file, table.line, "buffers in the memory of hosts, for which the sheet has no check", "run it with -d cuda"
        )
    shortfall = _ALGORITHMS if title is None or title[1] == "MPI" else ""
    yield from _timed(table, time, operation, ranks, file, shortfall=shortfall)


def _read_osu(text: str, file: str, said: CollectiveHints = NO_HINTS) -> list[Found]:
    """Return the bus bandwidths of OSU's collectives and rates between its two nodes [GB/s]."""
    if (pairs := _PAIRS.search(text)) is not None:
        line = text.count("\n", 0, pairs.start()) + 1
        message = "the sum over several pairs of ranks (osu_mbw_mr), for which the sheet has no check"
        _refuse(file, line, message, "run osu_bw between two nodes, or ib_write_bw")
    measured: list[Found] = [row for table in _tables(text) for row in _osu_table(table, file, said)]
    if not measured:
        _refuse(file, 1, "no row of a size", "give the table with its heading")
    return measured + _losses(text, file)


_ONECCL = re.compile(r"#?repetitions[ \t|]+t_min\[usec\].{0,80}stddev")
_BENCHMARKING = re.compile(r"^#?[ \t]*(?:# )?Benchmarking: (\w+)", re.MULTILINE)
_PROCESSES = re.compile(r"^(?:#[ \t]*#?)?[ \t]*#?processes[ \t]*:[ \t]*([0-9]{1,7})", re.MULTILINE)
_LIBRARY = "oneCCL is another library than the sheet expects: nccl-tests or rccl-tests tells whether a link is slow"
_BACKEND = re.compile(r"^[ \t]*backend[ \t]*:[ \t]*(\w+)", re.MULTILINE)


def _is_oneccl(text: str) -> bool:
    return _ONECCL.search(text) is not None


def _read_oneccl(text: str, file: str, said: CollectiveHints = NO_HINTS) -> list[Found]:
    """Return the bus bandwidths of oneCCL's collectives, by their mean times [GB/s]."""
    measured: list[Found] = []
    for table in _tables(text):
        name, processes, backend = (table.said(pattern) for pattern in (_BENCHMARKING, _PROCESSES, _BACKEND))
        operation = (_operation_in(name[1]) if name else None) or said.operation
        ranks = int(processes[1]) if processes else _ranks_in(table) or said.ranks
        time = table.column("t_avg")
        if operation is None or ranks < 2 or time is None:
            remedy = "keep the lines `# Benchmarking:` and `# #processes:`, or say --op and --ranks"
            _refuse(file, table.line, "nothing says which collective was measured, and on how many ranks", remedy)
        if backend is not None and backend[1] == "host":
            _refuse(
                file, table.line, "buffers of hosts, for which the sheet has no check", "run it with --backend sycl"
            )
        measured += _timed(table, time, operation, ranks, file, shortfall=_LIBRARY)
    if not measured:
        _refuse(file, 1, "no row of a size", "give the table with its heading")
    return measured + _losses(text, file)
