"""Which operation a run of nccl-tests measured, and on how many ranks, where no command or list of ranks says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.base.formatting import listed
from ffplan.interop.logs.measured import _fault, _number_of, _refuse
from ffplan.interop.logs.nccl_rows import COMMAND, WIDTHS

if TYPE_CHECKING:
    from ffplan.interop.logs.measured import CollectiveHints
    from ffplan.interop.logs.nccl_rows import Row, Run

OPERATIONS = {
    "all_reduce": "allreduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "sendrecv": "sendrecv",
}
"""Operations by the names of the programs, `_perf` left out; others are not modelled."""
_IN_PIECES = ("all-gather", "reduce-scatter", "all-to-all", "gather", "scatter")
"""Operations whose message is a buffer of one piece for each rank."""
_ROOTED = ("broadcast", "reduce", "gather", "scatter")
_REDUCING = ("allreduce", "reduce-scatter", "reduce")
_UNCHECKED = ("all-to-all", "sendrecv")
"""Operations that do not check their results in place."""
CLOSE = 0.05
"""Largest difference between the printed bus bandwidth and the one computed from the time, as a part of it [1]."""
_PRINTED = 0.011
"""Largest error of a rate that is printed with two places, twice [GB/s]: the last one may be half of it."""
_MOST_RANKS = 2**17
"""Most ranks that rates are searched for [1]."""


def _bus_factor(operation: str, ranks: int) -> float:
    """Return bus bandwidth over algorithm bandwidth.

    Args:
        operation: name of the operation.
        ranks: ranks of the run [1].

    Equation:
        2 (n - 1) / n for allreduce; (n - 1) / n for `_IN_PIECES`; 1 otherwise

    Source:
        NVIDIA/nccl-tests, doc/PERFORMANCE.md.
    """
    if operation == "allreduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if operation in _IN_PIECES else 1.0


def operation_named(name: str) -> str | None:
    """Return the operation of a name, as ffplan or nccl-tests writes it; None if it is of none that is modelled.

    The longest name counts whose whole words the text ends with.
    """
    name = f"_{name.lower().replace('-', '_')}"
    spoken = {operation.replace("-", "_"): operation for operation in OPERATIONS.values()} | OPERATIONS
    spoken |= {operation.replace("_", ""): spoken[operation] for operation in spoken}
    known = sorted(spoken, key=len, reverse=True)
    return next((spoken[operation] for operation in known if name.endswith(f"_{operation}")), None)


def _operation_in_name(file: str) -> str | None:
    """Return the operation in a file's name: the longest whose whole words the name holds."""
    name = file.rpartition("/")[2].lower().replace("-", "_")
    if (program := COMMAND.search(name)) is not None:
        return operation_named(program[1])
    known = sorted(OPERATIONS, key=len, reverse=True)
    return next((OPERATIONS[known] for known in known if re.search(rf"(?<![a-z]){known}(?![a-z])", name)), None)


def _rates_of(row: Row, file: str) -> tuple[float, float, float]:
    """Return time, algbw and busbw of the first half that has them."""
    half = next((half for half in row.halves if half[0] != "N/A"), None)
    if half is None:
        _refuse(file, row.line, "the row has no time", "give the log as the program wrote it")
    time, algbw, busbw = (_number_of(text, file, row.line, "number") for text in half[:3])
    return time, algbw, busbw


def agrees(row: Row, operation: str, ranks: int, file: str, close: float = 0.0) -> bool:
    """Return whether the rates of a row fit an operation, up to the rounding of the output.

    Args:
        close: further tolerance, as a share of the bus bandwidth [1].
    """
    _, algbw, busbw = _rates_of(row, file)
    factor = _bus_factor(operation, ranks)
    expected = algbw * factor
    return abs(busbw - expected) <= close * max(expected, busbw) + _PRINTED * (1 + factor)


def _depends_on_ranks(operation: str) -> bool:
    """Return whether the bus bandwidth of an operation says how many ranks took part."""
    return _bus_factor(operation, 2) != _bus_factor(operation, 4)


def _ranks_by_rates(rows: list[Row], operation: str, file: str) -> list[int]:
    """Return the numbers of ranks that fit the rows; empty if they are undetermined.

    Equation:
        n = size / bytes of the count, of `_IN_PIECES`; else busbw = (b - b / n) algbw with b = 2 of allreduce, 1 of the
        others
    """
    if not _depends_on_ranks(operation):
        return []
    pieces = {round(row.size / (row.count * WIDTHS[row.kind])) for row in rows if row.kind in WIDTHS and row.count}
    if operation in _IN_PIECES and len(pieces) == 1 and min(pieces) > 1:
        return sorted(pieces)
    limit = 2.0 if operation == "allreduce" else 1.0
    _, algbw, busbw = _rates_of(max(rows, key=lambda row: _rates_of(row, file)[1]), file)
    gap, slack = limit * algbw - busbw, _PRINTED * (1 + limit)
    if gap <= slack:
        return []
    least, most = int(limit * algbw / (gap + slack)), int(limit * algbw / (gap - slack)) + 1
    tried = range(max(2, least), min(most, _MOST_RANKS) + 1)
    return [count for count in tried if all(agrees(row, operation, count, file) for row in rows)]


def _fitting(run: Run, ranks: int, file: str) -> list[str]:
    """Return the operations that the columns of a run can be of."""

    def fits(operation: str) -> bool:
        if ranks > 1 or not _depends_on_ranks(operation):
            return all(agrees(row, operation, max(ranks, 2), file) for row in run.rows)
        return bool(_ranks_by_rates(run.rows, operation, file))

    return [operation for operation in OPERATIONS.values() if _columns_fit(run, operation) and fits(operation)]


def _by_checks(run: Run, fits: list[str]) -> list[str]:
    """Tell operations apart whose rates are alike: all-to-all and sendrecv do not check their results in place."""
    halves = [row.halves for row in run.rows if len(row.halves) > 1]
    checked = any(inside[3] != "N/A" for _, inside, *_ in halves)
    if not halves or (not checked and any(out[3] == "N/A" for out, *_ in halves)):
        return fits  # one half alone, or a run that checked nothing at all
    return [operation for operation in fits if (operation in _UNCHECKED) != checked] or fits


def _columns_fit(run: Run, operation: str) -> bool:
    """Return whether reduction and root are as an operation prints them; sendrecv prints reductions that it ignores."""
    reduces = any(row.redop not in ("", "none") for row in run.rows)
    rooted = any(row.root is not None and row.root >= 0 for row in run.rows)
    return rooted == (operation in _ROOTED) and (reduces == (operation in _REDUCING) or operation == "sendrecv")


def _refuse_other_columns(run: Run, operation: str, file: str) -> None:
    """Refuse rows of another operation than the command line names; old versions print no reduction and no root."""
    row = run.rows[0]
    if row.redop and row.root is not None and not _columns_fit(run, operation):
        message = (
            f"the command line or heading names {operation}, which does not print redop {row.redop} and root {row.root}"
        )
        raise _fault(file, row.line, message, "give each run with its own")


def _named_in_order(runs: list[Run]) -> None:
    """Give each run its program where a script ahead of all names as many programs as runs follow, in their order."""
    first, *others = runs
    order = [operation_named(name) for name in first.named]
    if len(order) != len(runs) or any(run.named for run in others):
        return
    if all(operation is None or _columns_fit(run, operation) for run, operation in zip(runs, order, strict=True)):
        for run, name in zip(runs, list(first.named), strict=True):
            run.named = [name]


def _operation_of(run: Run, named: list[str], ranks: int, file: str, said: CollectiveHints) -> tuple[str, bool]:
    """Return the operation of a run: by its command line, by what the user says, its columns, or the file's name.

    And whether it rests on a word of the user or the file's name alone, since the run itself leaves several open.
    """
    known = list(dict.fromkeys(operation for name in named if (operation := operation_named(name)) is not None))
    if len(known) == 1:
        _refuse_other_columns(run, known[0], file)
        return known[0], False
    if named and not known:
        return f"{named[-1]}_perf", False
    could = _fitting(run, ranks, file) or _fitting(run, 0, file)  # a list of ranks may be cut
    could = [operation for operation in could if operation in known] or could
    if said.operation is not None and said.operation in could:
        return said.operation, len(could) > 1
    fits = _by_checks(run, could)
    if len(fits) == 1:
        return fits[0], False
    beside = _operation_in_name(file)
    hint = said.operation or (beside if beside in fits or not fits else None)
    if hint is not None:
        return hint, True
    told = f"the columns fit {listed(could)}" if could else "no operation that is modelled has such columns"
    message, could = f"nothing says which operation was measured: {told}", could or list(OPERATIONS.values())
    raise _fault(file, run.rows[0].line, message, f"say which: --op {could[0]}")


def _count_of(run: Run, listed_ranks: int, operation: str, file: str, said: CollectiveHints) -> int:
    """Return the number of ranks of a run: as listed, as the user says, or as the rates have it."""
    count = listed_ranks or said.ranks
    if count > 1 and all(agrees(row, operation, count, file) for row in run.rows):
        return count
    by_rates = _ranks_by_rates(run.rows, operation, file)
    if listed_ranks and said.ranks in by_rates:
        return said.ranks
    if len(by_rates) == 1 and by_rates[0] > listed_ranks:
        return by_rates[0]
    near = all(agrees(row, operation, max(count, 2), file, CLOSE) for row in run.rows)
    if count > 1 and (near or not by_rates or by_rates[0] <= count):
        return count
    told = f"; its rates fit {by_rates[0]:,} to {by_rates[-1]:,}" if by_rates else ""
    remedy = "keep its lines `#  Rank ...`, which count the ranks, or say how many with --ranks"
    listing = "leaves ranks out" if run.left_out or count > 1 else "lists fewer than two ranks"
    raise _fault(file, run.rows[0].line, f"the log {listing}{told}", remedy)
