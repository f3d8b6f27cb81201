"""Output of nccl-tests and rccl-tests: text and JSON.

The page of nccl-tests calls its times milliseconds; the header of the columns has microseconds, which is right.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from statistics import fmean
from typing import Any

from ffplan.base.record import record
from ffplan.interop.logs.measured import number_of, refuse, stem
from ffplan.results.acceptance import Measured

_OPERATIONS = {
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
_WIDTHS = {"int8": 1, "uint8": 1, "half": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float": 4, "int64": 8}
_WIDTHS |= {"uint64": 8, "double": 8, "fp8_e4m3": 1, "fp8_e5m2": 1, "f8e4m3": 1, "f8e5m2": 1}
"""Bytes of an element by type [byte]."""
_CLOSE = 0.05
"""Largest difference between the printed bus bandwidth and the one computed from the time, as a part of it [1]."""
_RANK = re.compile(
    r"#\s+Rank\s+([0-9]{1,7})\b.{0,400}?\bon\s+(\S+)\s+device\s+([0-9]{1,4})(?:\s+\[[^\]]{0,40}\]\s*(.{0,80}))?"
)
_STARTING = re.compile(r"Collective test starting:[ \t]*(\w+?)_perf")
_COMMAND = re.compile(r"\b(\w+?)_perf\b")
_CALL = re.compile(r"(?:^|[\s/])(\w+?)_perf(?=\s|$)")
"""A command line, which a log may begin with."""
_SINGLE = {"agg iters": 1, "graph": 0}
"""What the header has where calls are measured one by one."""
_SHORTEST, _LONGEST = 9, 32
"""Columns of a row: one half of four after five, and two halves with statistics and a time stamp [1]."""


@record
class _Rank:
    """A line of the table of ranks."""

    host: str
    device: int
    """Number of the accelerator on its node; -1 where the log does not say."""
    accelerator: str
    """Its name; empty where the log does not say."""


@record
class _Run:
    operation: str | None
    """As the log states it; None before it does."""
    named: str | None
    """As the name of the file has it."""
    ranks: list[_Rank]

    @property
    def hosts(self) -> list[str]:
        """Nodes that took part, each once."""
        return list(dict.fromkeys(rank.host for rank in self.ranks))

    @property
    def devices(self) -> tuple[int, ...]:
        """Numbers of the accelerators on each node; empty where nodes differ, or ranks see one each."""
        by_host: dict[str, list[int]] = {}
        for rank in self.ranks:
            by_host.setdefault(rank.host, []).append(rank.device)
        sets = {tuple(sorted(devices)) for devices in by_host.values()}
        alike = sets.pop() if len(sets) == 1 else ()
        return alike if -1 not in alike and len(set(alike)) == len(alike) else ()


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


def is_nccl_tests(text: str) -> bool:
    """Return whether a text is output of nccl-tests or rccl-tests."""
    return "#wrong" in text and "busbw" in text


def _operation(name: str | None, file: str, line: int) -> str:
    known = ", ".join(f"{operation}_perf" for operation in _OPERATIONS)
    if name is None:
        remedy = f"name the file after the program, such as all_reduce_perf.txt (known: {known})"
        refuse(file, line, "nothing says which operation was measured", remedy)
    if name not in _OPERATIONS:
        refuse(file, line, f"`{name}_perf` measures an operation that is not modelled", f"known are {known}")
    return _OPERATIONS[name]


def _of_name(file: str) -> str | None:
    """Return the operation in a file's name: the longest whose whole words the name holds."""
    name = file.rpartition("/")[2].lower().replace("-", "_")
    known = sorted(_OPERATIONS, key=len, reverse=True)
    if (program := _COMMAND.search(name)) is not None:
        return next((operation for operation in known if f"_{program[1]}".endswith(f"_{operation}")), program[1])
    return next((operation for operation in known if re.search(rf"(?<![a-z]){operation}(?![a-z])", name)), None)


def _other(text: str) -> str:
    """Say why a run did not measure single calls; empty if it did."""
    for name, doubt in (("agg iters", "calls were aggregated"), ("graph", "calls ran in a CUDA graph")):
        if any(int(count) > _SINGLE[name] for count in re.findall(rf"\b{name}:\s*(\d{{1,9}})", text)):
            return doubt
    return ""


def _halves(cells: list[str]) -> list[list[str]]:
    """Return the columns of out-of-place and in-place: time, algbw, busbw, #wrong, and more with statistics."""
    rest = cells[5:]
    if len(rest) in (10, 18) and ":" in rest[-1]:  # a time stamp of two words
        rest = rest[:-2]
    width = 8 if len(rest) == 16 else 4
    return [rest[start : start + width] for start in range(0, len(rest) - 3, width)]


def _row(cells: list[str], run: _Run, operation: str, file: str, line: int) -> Measured:
    """Return a row of the table."""
    size = number_of(cells[0], file, line, "size")
    halves = _halves(cells)
    wrong = [half[3] for half in halves if half[3] not in ("0", "N/A")]
    usable = [half for half in halves if half[0] != "N/A"]
    if not usable:
        refuse(file, line, "the row has no time", "give the log as the program wrote it")
    time, algbw, busbw = (number_of(text, file, line, "number") for text in usable[0][:3])
    ranks = len(run.ranks)
    factor = _bus_factor(operation, ranks)
    expected = algbw * factor
    # A rate below 1 GB/s is printed with two places: its last one may be half of it.
    if abs(busbw - expected) > _CLOSE * max(expected, busbw) + 0.011 * (1 + factor):
        message = f"busbw {busbw:g} is not algbw {algbw:g} x {factor:.4g}, as {operation} on {ranks} ranks has it"
        refuse(file, line, message, "the operation or the number of ranks differs")
    width = _WIDTHS.get(cells[2])
    count = number_of(cells[1], file, line, "count")
    if width and count and not any(abs(size - count * width * part) <= width * ranks for part in (1, ranks)):
        message = f"{size:.0f} bytes are not {count:.0f} elements of {cells[2]}, nor of {ranks} ranks"
        refuse(file, line, message, "give the log as the program wrote it")
    hosts, ranks_per_host = run.hosts, Counter(rank.host for rank in run.ranks).values()
    host = hosts[0] if len(hosts) == 1 else f"{len(hosts)} nodes from {hosts[0]}"
    return Measured(
        check=operation,
        value=busbw
        if busbw or not time
        else size / time / 1e3 * factor,  # byte/us to GB/s; 0.00 is printed below 5 MB/s
        host=host,
        part="",
        file=file,
        line=line,
        gpus=ranks,
        nodes=len(hosts),
        size_bytes=size,
        doubt="wrong results" if wrong else "",
        fewest_ranks=min(ranks_per_host),
        most_ranks=max(ranks_per_host),
        devices=run.devices,
        accelerators=tuple(dict.fromkeys(rank.accelerator for rank in run.ranks if rank.accelerator)),
    )


def read_nccl_tests(text: str, file: str) -> list[Measured]:
    """Return the rows of nccl-tests or rccl-tests; of a size that repeats, the mean.

    Raises:
        InputError: at a line that cannot be.
    """
    run = _Run(None, _of_name(file), [])
    doubt = _other(text)
    measured: list[Measured] = []
    for line, content in enumerate(text.splitlines(), 1):
        stripped = content.strip()
        starting = _STARTING.search(stripped)
        if starting:
            run = _Run(starting[1], None, [])
        elif stripped.startswith("#"):
            if rank := _RANK.match(stripped):
                run.ranks.append(_Rank(rank[2], int(rank[3]), (rank[4] or "").strip()))
            elif run.operation is None and (command := _COMMAND.search(stripped)):
                run = _Run(command[1], run.named, run.ranks)
        elif stripped and stripped[0].isdigit():
            cells = stripped.split()
            if not _SHORTEST <= len(cells) <= _LONGEST or not cells[1].isdigit():
                if len(cells) > 2 and cells[1].isdigit() and cells[2] in _WIDTHS:
                    remedy = "give the log as the program wrote it"
                    refuse(file, line, f"a row of {len(cells)} columns; 9 or more are expected", remedy)
                continue
            operation = _operation(run.operation or run.named, file, line)
            if len(run.ranks) < 2:
                refuse(
                    file,
                    line,
                    "the log lists fewer than two ranks",
                    "keep its lines `#  Rank ...`: they count the ranks",
                )
            row = _row(cells, run, operation, file, line)
            measured.append(replace(row, doubt=row.doubt or doubt))
        elif run.operation is None and (call := _CALL.search(stripped)):
            run = _Run(call[1], run.named, run.ranks)
    if not measured:
        refuse(file, 1, "the log has no result rows", "give the whole output of the program")
    return _merged(measured)


def _merged(rows: list[Measured]) -> list[Measured]:
    """Average the rows with the same operation, ranks, host and size."""
    groups: dict[tuple[object, ...], list[Measured]] = {}
    for row in rows:
        ranks = (row.nodes, row.fewest_ranks, row.most_ranks, row.devices, row.accelerators)
        groups.setdefault((row.check, row.gpus, row.host, row.size_bytes, *ranks), []).append(row)
    return [
        replace(
            group[0],
            value=fmean(row.value for row in group),
            doubt=next((row.doubt for row in group if row.doubt), ""),
        )
        for group in groups.values()
    ]


def read_nccl_tests_json(loaded: dict[str, Any], file: str) -> list[Measured]:
    """Return the rows of nccl-tests' JSON (`-J`); its environment and arguments are not kept.

    Raises:
        InputError: if the content is no JSON from nccl-tests.
    """
    devices = loaded.get("devices") or []
    ranks = [_Rank(str(device.get("hostname", stem(file))), -1, "") for device in devices if isinstance(device, dict)]
    command = _COMMAND.search(" ".join(map(str, loaded.get("args") or []))) if loaded.get("args") else None
    operation = _operation(command[1] if command else _of_name(file), file, 1)
    if len(ranks) < 2:
        refuse(file, 1, "the file lists fewer than two devices", "keep its `devices`: they count the ranks")
    run, measured = _Run(operation, None, ranks), []
    for result in loaded.get("results") or []:
        try:
            half = result.get("out_of_place") or result["in_place"]
            wrong = half.get("nwrong")
            texts = (half["time"], half["alg_bw"], half["bus_bw"], 0 if wrong in (None, "N/A") else wrong)
            first = (result["size"], result["count"], result["type"], result.get("redop"), result.get("root"))
        except (KeyError, TypeError, AttributeError):
            refuse(file, 1, "a result lacks size, count, type or its times", "give the file as the program wrote it")
        cells = [str(cell) for cell in (*first, *texts)]
        measured.append(_row(cells, run, operation, file, 1))
    if not measured:
        refuse(file, 1, "the file has no `results`", "give the file of a finished run")
    return _merged(measured)


def is_nccl_tests_json(loaded: Any) -> bool:
    """Return whether a JSON document is of nccl-tests."""
    return isinstance(loaded, dict) and "results" in loaded and "devices" in loaded
