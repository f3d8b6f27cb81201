"""Output of nccl-tests and rccl-tests: text and JSON.

The page of nccl-tests calls its times milliseconds; the header of the columns has microseconds, which is right but for
versions before 2.0.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import zip_longest
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ffplan.base.hostlist import fold
from ffplan.base.record import record
from ffplan.interop.logs.measured import NO_HINTS, Found, _number_of, _refuse, _stem, _unread
from ffplan.interop.logs.nccl_operations import (
    CLOSE,
    OPERATIONS,
    _bus_factor,
    _count_of,
    _depends_on_ranks,
    _named_in_order,
    _operation_of,
    _rates_of,
    agrees,
    operation_named,
)
from ffplan.interop.logs.nccl_rows import COMMAND, WIDTHS, Rank, Row, Run, _CutRowError, _has_row, _runs_of
from ffplan.results.acceptance import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.interop.logs.measured import CollectiveHints
    from ffplan.results.acceptance import Unread

_NAMED_PAIR = 2
_LONGEST_LIST = 40
"""Most letters of a list of nodes in words [1]."""
_SINGLE = {"agg iters": 1, "graph": 0}
"""What the header has where calls are measured one by one."""


@record
class _Ranks:
    count: int
    accelerators: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    """Nodes that took part, each once; empty where the log does not list all ranks."""
    fewest: int = 0
    most: int = 0
    """Fewest and most ranks of a node."""
    devices: tuple[int, ...] = ()
    """Numbers of the accelerators on each node; empty where nodes differ, or ranks see one each."""


def _ranks_of(ranks: dict[int, Rank]) -> _Ranks:
    """Return the ranks that a log lists; of a list that is cut, the number alone."""
    accelerators = tuple(dict.fromkeys(rank.accelerator for rank in ranks.values() if rank.accelerator))
    if not ranks or sorted(ranks) != list(range(len(ranks))):
        return _Ranks(count=max(ranks, default=-1) + 1, accelerators=accelerators)
    per_host: dict[str, list[int]] = {}
    for rank in ranks.values():
        per_host.setdefault(rank.host, []).append(rank.device)
    sets = {tuple(sorted(devices)) for devices in per_host.values()}
    alike = sets.pop() if len(sets) == 1 else ()
    known = -1 not in alike and len(set(alike)) == len(alike)
    counts = Counter(rank.host for rank in ranks.values()).values()
    return _Ranks(
        count=len(ranks),
        hosts=tuple(per_host),
        fewest=min(counts),
        most=max(counts),
        devices=alike if known else (),
        accelerators=accelerators,
    )


def _is_nccl_tests(text: str) -> bool:
    return _has_row(text)


def _other(text: str) -> str:
    """Say why a run did not measure single calls; empty if it did."""
    if "cputime" in text:
        return "times of the CPU (-C), which does not wait for the collective"
    for name, doubt in (("agg iters", "calls were aggregated"), ("graph", "calls ran in a CUDA graph")):
        if any(int(count) > _SINGLE[name] for count in re.findall(rf"\b{name}:\s*(\d{{1,9}})", text)):
            return doubt
    return ""


def _wrong(row: Row, run: Run) -> bool:
    """Return whether a result was wrong: counted, or in old versions an error of a run with values out of bounds."""
    for half in row.halves:
        if half[3] == "N/A" or not float(half[3]):
            continue
        if half[3].isdigit() or run.out_of_bounds:
            return True
    return False


def _hosts_words(hosts: tuple[str, ...]) -> str:
    """Return the nodes of a run in words: both of a pair, all of few, else their number and the first and the last."""
    if len(hosts) <= _NAMED_PAIR:
        return " and ".join(hosts)
    folded = fold(list(hosts))
    few = len(folded) <= _LONGEST_LIST
    return f"{len(hosts)} nodes, {folded}" if few else f"{len(hosts)} nodes from {hosts[0]} to {hosts[-1]}"


def _measured(row: Row, run: Run, ranks: _Ranks, operation: str, file: str) -> Measured:
    count, hosts = ranks.count, ranks.hosts
    time, algbw, busbw = _rates_of(row, file)
    factor = _bus_factor(operation, count)
    modelled = operation in OPERATIONS.values()
    if modelled and not agrees(row, operation, count, file, CLOSE):
        message = f"busbw {busbw:g} is not algbw {algbw:g} x {factor:.4g}, as {operation} on {count} ranks has it"
        remedy = "the operation or the number of ranks differs: keep all lines `#  Rank ...`, or give --ranks"
        _refuse(file, row.line, message, remedy)
    width = WIDTHS.get(row.kind)
    if (
        width
        and row.count
        and not any(abs(row.size - row.count * width * part) <= width * count for part in (1, count))
    ):
        message = f"{row.size:.0f} bytes are not {row.count:.0f} elements of {row.kind}, nor of {count} ranks"
        _refuse(file, row.line, message, "give the log as the program wrote it")
    doubt = "wrong results" if _wrong(row, run) else _other(run.head)
    return Measured(
        check=operation,
        value=busbw
        if busbw or not time
        else row.size / time / 1e3 * factor,  # byte/us to GB/s; 0.00 is printed below 5 MB/s
        host=_hosts_words(hosts) or _stem(file),
        part="",
        file=file,
        line=row.line,
        gpus=count,
        nodes=len(hosts),
        size_bytes=row.size,
        doubt=doubt if modelled else "an operation that is not modelled",
        fewest_ranks=ranks.fewest,
        most_ranks=ranks.most,
        devices=ranks.devices,
        accelerators=ranks.accelerators,
    )


def _refuse_no_run(run: Run, file: str) -> None:
    """Refuse what single processes printed that knew nothing of each other, and lines of several runs."""
    line = run.rows[0].line
    if len(run.ranks) == 1 and 0 in run.ranks and not any(_rates_of(row, file)[2] for row in run.rows):
        message = "a run of one rank alone: if mpirun started several, nccl-tests was built without MPI"
        _refuse(file, line, message, "build it with `make MPI=1`, and run it again")
    if run.mixed:
        remedy = "give each run alone, or all with labels: srun -l, mpirun --tag-output, pdsh"
        _refuse(file, line, "the lines of several runs are mixed", remedy)


def _of_runs(runs: list[Run], file: str, said: CollectiveHints) -> list[Measured]:
    """Return the measured values of runs; for a size that repeats on the same nodes, the mean."""
    measured, sets, named, open_runs = list[Measured](), list[tuple[str, ...]](), list[str](), 0
    _named_in_order(runs)
    for run in runs:
        _refuse_no_run(run, file)
        ranks = _Ranks(count=0, accelerators=()) if run.left_out else _ranks_of(run.ranks)
        named = run.named or named  # a script may name the programs of all runs ahead of the first
        operation, is_open = _operation_of(run, named, ranks.count or said.ranks, file, said)
        open_runs += is_open
        if open_runs > 1:
            message = "nothing says which operation each of several runs measured, and one --op or name is of one"
            _refuse(file, run.rows[0].line, message, "give each run as a file of its own, or with its command line")
        named = [name for name in named if operation_named(name) != operation] or named
        if ranks.fewest < ranks.most and not _depends_on_ranks(operation):
            run.left_out = True  # a node with fewer ranks than the others: the list seems cut, and no rate says so
            ranks = _Ranks(count=0, accelerators=())
        count = _count_of(run, ranks.count, operation, file, said)
        if count != ranks.count:
            ranks = _Ranks(count=count, accelerators=_ranks_of(run.ranks).accelerators)
        measured += [_measured(row, run, ranks, operation, file) for row in run.rows]
        sets += [tuple(sorted(ranks.hosts))] * len(run.rows)
    if measured and not any(row.check in OPERATIONS.values() for row in measured):
        known = ", ".join(f"{operation}_perf" for operation in OPERATIONS)
        message = f"`{measured[0].check}` measures an operation that is not modelled"
        _refuse(file, measured[0].line, message, f"known are {known}")
    return _merged(measured, sets)


_FAILURE = re.compile(
    r"\bTest (?:NCCL |CUDA |MPI )?failure\b|Got completion (?:\w+ .{0,80})?with (?:error|status)"
    r"|unhandled (?:system|cuda) error|[Ww]atchdog caught collective|MPI_ABORT was invoked|exited on signal"
    r"|Segmentation fault|DUE TO TIME LIMIT"
)
"""What is printed by a run that broke off."""


def _lost(text: str, runs: list[Run], file: str) -> list[Unread]:
    """Return the runs that failed or printed no row, and rows that were cut."""
    parts = [_unread(file, run.cut, "the last row is cut") for run in runs if run.cut]
    empty = [run for run in runs if not run.rows and not run.cut]
    parts += [_unread(file, run.line, f"a run without rows on {_nodes_of(run)}") for run in empty]
    told = False
    for line, content in enumerate(text.splitlines(), 1):
        if "nThread" in content:
            told = False
        elif not told and _FAILURE.search(content):
            parts.append(_unread(file, line, f"the run failed: {content.strip()[:120]}"))
            told = True
    return parts


def _nodes_of(run: Run) -> str:
    return _hosts_words(tuple(dict.fromkeys(rank.host for rank in run.ranks.values())))


def _read_nccl_tests(text: str, file: str, said: CollectiveHints = NO_HINTS) -> list[Found]:
    """Return the rows of nccl-tests or rccl-tests; of a size that repeats on the same nodes, the mean."""
    try:
        runs = list(_runs_of(text))
    except _CutRowError as cut:
        message = f"a row of {cut.columns} columns; 9 or more are expected"
        _refuse(file, cut.line, message, "give the log as the program wrote it")
    lost = _lost(text, runs, file)
    runs = [run for run in runs if run.rows]
    if not runs:
        average = "# Avg bus bandwidth" in text
        message = (
            "the mean over all sizes alone, which compares with nothing" if average else "the log has no result rows"
        )
        _refuse(file, 1, message, "give the rows of the table, one for each size")
    return [*_of_runs(runs, file, said), *lost]


def _merged(rows: list[Measured], sets: Sequence[tuple[str, ...]] = ()) -> list[Measured]:
    """Return a row for each operation, size and set of nodes.

    Args:
        sets: nodes of each row, in one order; none where no log lists them.
    """
    groups: dict[tuple[object, ...], list[Measured]] = {}
    for row, nodes in zip_longest(rows, sets):
        ranks = (row.nodes, row.fewest_ranks, row.most_ranks, row.devices, row.accelerators)
        groups.setdefault((row.check, row.gpus, nodes or row.host, row.size_bytes, *ranks), []).append(row)
    return [
        replace(
            group[0],
            value=fmean(row.value for row in group),
            doubt=next((row.doubt for row in group if row.doubt), ""),
        )
        for group in groups.values()
    ]


def _nwrong(half: dict[str, Any]) -> str:
    return "N/A" if half.get("nwrong") is None else str(half["nwrong"])


def _read_nccl_tests_json(loaded: dict[str, Any], file: str, said: CollectiveHints = NO_HINTS) -> list[Measured]:
    """Return the rows of nccl-tests' JSON (`-J`); its environment and arguments are not kept."""
    run = Run()
    devices = [device for device in loaded.get("devices") or [] if isinstance(device, dict)]
    run.ranks = {n: Rank(str(device.get("hostname", _stem(file))), -1, "") for n, device in enumerate(devices)}
    run.named = COMMAND.findall(" ".join(map(str, loaded.get("args") or [])))
    if len(devices) < 2 and not said.ranks:
        _refuse(file, 1, "the file lists fewer than two devices", "keep its `devices`: they count the ranks")
    for result in loaded.get("results") or []:
        try:
            halves = [
                [str(half["time"]), str(half["alg_bw"]), str(half["bus_bw"]), _nwrong(half)]
                for half in (result.get("out_of_place"), result.get("in_place"))
                if half is not None
            ]
            root = result.get("root")
            if not halves:
                raise KeyError("in_place")
            row = Row(
                line=1,
                size=_number_of(str(result["size"]), file, 1, "size"),
                count=_number_of(str(result["count"]), file, 1, "count"),
                kind=str(result["type"]),
                redop=str(result.get("redop") or ""),
                root=None if root is None else int(root),
                halves=halves,
            )
        except (KeyError, TypeError, AttributeError):
            _refuse(file, 1, "a result lacks size, count, type or its times", "give the file as the program wrote it")
        run.rows.append(row)
    if not run.rows:
        _refuse(file, 1, "the file has no `results`", "give the file of a finished run")
    return _of_runs([run], file, said)


def _is_nccl_tests_json(loaded: Any) -> bool:
    return isinstance(loaded, dict) and "results" in loaded and "devices" in loaded
