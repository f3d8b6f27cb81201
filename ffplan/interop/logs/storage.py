"""Rates of storage: fio, IOR and MLPerf Storage."""

from __future__ import annotations

import json
import re
from typing import Any

from ffplan.interop.logs.measured import Found, _number_of, _refuse, _stem, _unread
from ffplan.results.acceptance import Measured

_GIB, _MIB, _KIB = 2.0**30, 2.0**20, 2.0**10
_INTERVAL_MS = 500
"""Least time between two reports of one run [ms]."""
_SHORT_MS = 30_000
"""Runs shorter than this fill caches [ms]."""
_NODES = re.compile(r"^[ \t]*nodes[ \t]*:[ \t]*([0-9]{1,9})", re.MULTILINE)
_CLIENTS = re.compile(r"^[ \t]*clients[ \t]*=[ \t]*([0-9]{1,9}) \(([0-9]{1,9}) per node\)", re.MULTILINE)
"""Processes, and those of a node, as versions before 3.2 print them."""
_HEAD = re.compile(r"^[ \t]*access[ \t]+bw\(MiB/s\)", re.MULTILINE)


_SMALL_BLOCK = 128 * _KIB
"""Blocks below this size take as long for the operation as for their bytes [byte]."""
_BLOCK = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kmg]?)(?:i?b)?", re.IGNORECASE)
_SCALES = {"": 1.0, "k": _KIB, "m": _MIB, "g": _GIB}


def _operations(access: str, block: str) -> str:
    """Say why a rate is one of operations, and no measure of bandwidth; empty if it is none.

    Args:
        access: kind of access, such as randread.
        block: size of a block as fio writes it; empty if not known.
    """
    if access.startswith("rand"):
        return "random access, which bounds operations: give a run of sequential reads or writes (rw=read, bs=1M)"
    size = _BLOCK.fullmatch(block.strip())
    if size is not None and float(size[1]) * _SCALES[size[2].lower()] < _SMALL_BLOCK:
        return f"blocks of {block.strip()}, which bound operations: give a run with bs=1M"
    return ""


def _block_of(options: dict[str, Any], part: dict[str, Any], side: str) -> str:
    """Return the size of a block: as the options say, which may list those of reads and writes; else the mean."""
    stated = str(options.get("bs") or options.get("blocksize") or "").split(",")
    if stated[0]:
        return stated[min(len(stated) - 1, int(side == "write"))] or stated[0]
    total, number = (float(part.get(key) or 0) for key in ("io_bytes", "total_ios"))
    return f"{total / number:.0f}" if number else ""


def _is_fio(loaded: Any) -> bool:
    return isinstance(loaded, dict) and "fio version" in loaded


def _same_jobs(first: dict[str, Any], last: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the jobs of two documents of fio in pairs; none if they are not the same."""
    names = ("jobname", "groupid", "hostname", "job options", "job_start")
    sides = [
        [job for key in ("client_stats", "jobs") for job in loaded.get(key) or [] if isinstance(job, dict)]
        for loaded in (first, last)
    ]
    same = [[[job.get(name) for name in names] for job in jobs] for jobs in sides]
    return list(zip(*sides, strict=True)) if same[0] == same[1] else []


def _goes_on(loaded: Any, after: Any) -> bool:
    """Return whether the document behind one is of the same run of fio, later: it counts from the start, too.

    With `--status-interval` fio prints one now and then, at least a second later and with more bytes. Other runs of the
    same jobs, such as of other nodes, take as long.
    """
    if not (_is_fio(loaded) and _is_fio(after)) or loaded.get("global options") != after.get("global options"):
        return False
    grown = False
    for job, later in _same_jobs(loaded, after):
        for side in ("read", "write"):
            (first, time), (last, longer) = (_progress(part.get(side) or {}) for part in (job, later))
            if first > last or (first and longer - time < _INTERVAL_MS):
                return False
            grown |= last > first
    return grown


def _progress(part: dict[str, Any]) -> tuple[float, float]:
    """Return the bytes so far [byte] and the time that they took [ms]."""
    return float(part.get("io_bytes") or 0), float(part.get("runtime") or 0)


def _read_fio(loaded: dict[str, Any], file: str) -> list[Measured]:
    """Return reads and writes of fio [GB/s], each host's jobs of a group together."""
    clients = [client for client in loaded.get("client_stats") or [] if isinstance(client, dict)]
    jobs = [client for client in clients if client.get("jobname") != "All clients"] or loaded.get("jobs") or []
    sums: dict[tuple[str, str, str], float] = {}
    doubts: dict[tuple[str, str, str], str] = {}
    bounds: dict[tuple[str, str, str], str] = {}
    common = loaded.get("global options") or {}
    for job in jobs:
        if not isinstance(job, dict):
            _refuse(file, 1, "`jobs` is not a list of jobs", "give the file as fio wrote it")
        if job.get("error"):
            _refuse(file, 1, f"the job `{job.get('jobname')}` failed with error {job['error']}", "run it again")
        options = {**common, **(job.get("job options") or {})}
        host = str(job.get("hostname") or _stem(file))
        for side, check in (("read", "storage-read"), ("write", "storage-write")):
            part = job.get(side) or {}
            if not part.get("io_bytes") and not part.get("bw"):
                continue
            key = (host, check, str(job.get("groupid", 0)))
            rate = part["bw_bytes"] if part.get("bw_bytes") else float(part.get("bw", 0)) * _KIB
            sums[key] = sums.get(key, 0.0) + _number_of(str(rate), file, 1, "rate") / 1e9
            access = str(options.get("rw") or options.get("readwrite") or "")
            if operations := _operations(access, _block_of(options, part, side)):
                bounds[key] = operations
            if str(options.get("direct", "0")) != "1":
                doubts[key] = "without direct=1: the page cache may have answered"
            elif float(part.get("runtime") or 0) < _SHORT_MS:
                doubts[key] = "shorter than 30 s"
    if not sums:
        _refuse(file, 1, "no job read or wrote anything", "give the file of a finished run")
    return [
        Measured(
            check=check,
            value=value,
            host=host,
            part="",
            file=file,
            line=1,
            nodes=1,
            doubt=doubts.get((host, check, group), ""),
            shortfall=bounds.get((host, check, group), ""),
        )
        for (host, check, group), value in sums.items()
    ]


_GROUP = re.compile(
    r"^[ \t]*(READ|WRITE): "
    r"(?:bw=[^ (]{1,20} \(([0-9.]{1,12})([kMGT]?)B/s\)|io=[^,]{1,20}, aggrb=([0-9.]{1,12})([KMG]?)B/s)"
    r".{0,200}?(?:run|mint)=([0-9]{1,12})(?:-[0-9]{1,12})?msec",
    re.MULTILINE,
)
"""A line of the groups of fio: since version 3 with decimal units in brackets, before with binary ones."""
_JOB = re.compile(r"\brw=(\w{1,20}), bs=(?:\(R\) )?([0-9.]{1,12}[kKMG]?)(?:i?B)?-")
"""A job of a text, with its least block."""
_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30}


def _is_fio_text(text: str) -> bool:
    """Return whether fio printed a text, and no JSON beside it (`--output-format=json,normal`)."""
    return '"fio version"' not in text and (_GROUP.search(text) is not None or "Run status group" in text)


def _read_fio_text(text: str, file: str) -> list[Measured]:
    direct = re.search(r"\bdirect=1\b", text) is not None
    jobs = [_operations(job[1], job[2]) for job in _JOB.finditer(text)]
    operations = jobs[0] if jobs and all(jobs) else ""
    measured = []
    for group in _GROUP.finditer(text):
        line = text.count("\n", 0, group.start(1)) + 1
        number, unit = (group[2], _DECIMAL[group[3]]) if group[2] else (group[4], _BINARY[group[5]])
        doubt = "shorter than 30 s" if float(group[6]) < _SHORT_MS else ""
        if not direct:
            doubt = "nothing says that direct=1 kept the page cache out: give --output-format=json"
        measured.append(
            Measured(
                check=f"storage-{group[1].lower()}",
                value=_number_of(number, file, line, "rate") * unit / 1e9,
                host=_stem(file),
                part="",
                file=file,
                line=line,
                nodes=1,
                doubt=doubt,
                shortfall=operations,
            )
        )
    if not measured:
        _refuse(file, 1, "no group read or wrote anything", "give the output of a finished run")
    return measured


def _is_ior(text: str) -> bool:
    return _HEAD.search(text) is not None


_IOR_START = re.compile(r"^[ \t]*IOR-[0-9]|^[ \t]*Command line[ \t]*:|^[ \t]*Options:[ \t]*$")
_IOR_FAULT = re.compile(r"^[ \t]*(?:ior )?ERROR[:, ]|\bMPI_ABORT was invoked", re.IGNORECASE)


def _ior_runs(text: str) -> list[list[tuple[int, str]]]:
    """Return the numbered lines of each run, without the summaries that repeat its rows; what is ahead of the first is
    of it.
    """
    runs: list[list[tuple[int, str]]] = [[]]
    begun = summary = False
    for line, row in enumerate(text.splitlines(), 1):
        start = _IOR_START.match(row) is not None
        summary = (summary or row.lstrip().startswith("Summary of all tests")) and not (start or _HEAD.match(row))
        if start and begun:
            runs.append([])
        begun = (begun and not start) or _HEAD.match(row) is not None
        if not summary:
            runs[-1].append((line, row))
    return runs


def _ior_run(lines: list[tuple[int, str]], file: str) -> list[Found]:
    text = "\n".join(row for _, row in lines)
    nodes = int(match[1]) if (match := _NODES.search(text)) else 0
    if not nodes and (clients := _CLIENTS.search(text)) is not None:
        nodes = -(-int(clients[1]) // max(int(clients[2]), 1))
    host, found = f"{nodes} nodes" if nodes > 1 else _stem(file), list[Found]()
    for line, row in lines:
        cells = row.split()
        if _IOR_FAULT.match(row):
            found.append(_unread(file, line, f"the run failed: {row.strip()[:120]}", host))
        if len(cells) < 8 or cells[0] not in ("read", "write") or cells[1] == "-":
            continue
        rate = _number_of(cells[1].replace(",", "."), file, line, "rate") * _MIB / 1e9
        doubt = "" if nodes else "the log does not say how many nodes took part"
        check = f"storage-{cells[0]}"
        found.append(
            Measured(check=check, value=rate, host=host, part="", file=file, line=line, nodes=nodes, doubt=doubt)
        )
    if lines and not found:
        head = next((line for line, row in lines if _IOR_START.match(row)), lines[0][0])
        found.append(_unread(file, head, "a run of IOR without a row of reads or writes", host))
    return found


def _read_ior(text: str, file: str) -> list[Found]:
    """Return reads and writes of IOR [GB/s], of all nodes of a run together, each repetition a row."""
    found = [row for run in _ior_runs(text) for row in _ior_run(run, file)]
    if not any(isinstance(row, Measured) for row in found):
        _refuse(file, 1, "no row of reads or writes", "give the whole output of IOR")
    return found


_METRICS = {
    "train_io_mean_MB_per_second": ("storage-read", _MIB / 1e9),
    "load_checkpoint_io_mean_GB_per_second": ("storage-read", _GIB / 1e9),
    "save_checkpoint_io_mean_GB_per_second": ("storage-write", _GIB / 1e9),
}
"""Checks of MLPerf Storage by the names of its summary, with their units [GB/s]; its MB and GB are binary."""
_PRINTED = {
    "Training I/O Throughput (MB/second)": "train_io_mean_MB_per_second",
    "Checkpoint load I/O Throughput (GB/second)": "load_checkpoint_io_mean_GB_per_second",
    "Checkpoint save I/O Throughput (GB/second)": "save_checkpoint_io_mean_GB_per_second",
    "train_au_meet_expectation": "train_au_meet_expectation",
}
"""Names of the summary by what the program prints."""
_METRIC_LINE = re.compile(r"\[METRIC\][ \t]*([^:\n]{1,80}?)[ \t]*:[ \t]*([\w.,]{1,24})")


def _is_mlperf(text: str) -> bool:
    """Return whether a text is a result of MLPerf Storage: its `summary.json`, or lines `[METRIC]`."""
    return (
        "[METRIC]" in text
        or re.search(r"\"(?:train_io|(?:save|load)_checkpoint_io)_mean_[MG]B_per_sec", text) is not None
    )


def _summaries(text: str) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    found: list[tuple[int, dict[str, Any], dict[str, Any]]] = []
    decoder, position = json.JSONDecoder(), text.find("{")
    while position >= 0:
        end = position + 1
        try:
            loaded, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            loaded = None
        if isinstance(loaded, dict) and isinstance(loaded.get("metric"), dict):
            found.append((text.count("\n", 0, position) + 1, loaded, loaded["metric"]))
        position = text.find("{", end)
    metrics: dict[str, Any] = {}
    for match in _METRIC_LINE.finditer(text):
        if (name := _PRINTED.get(match[1])) is not None:
            if name in metrics:
                metrics = {}
            if not metrics:
                found.append((text.count("\n", 0, match.start()) + 1, {}, metrics))
            metrics[name] = match[2].replace(",", ".")
    return found


def _read_mlperf(text: str, file: str) -> list[Measured]:
    """Return reads and writes of MLPerf Storage [GB/s], of all nodes together.

    A training that kept its accelerators busy asked for no more than it got. The names of checkpoints are recalled.
    """
    rows = []
    for line, summary, metrics in _summaries(text):
        hosts = summary.get("num_hosts") or len(summary.get("host_cpu_count") or [])
        nodes = int(_number_of(str(hosts), file, line, "number of hosts"))
        doubt = "" if nodes else "the log does not say how many nodes took part"
        if any(summary.get("potential_caching") or []):
            doubt = "the data fit into the memory of the hosts: the page cache may have answered"
        for name, (check, unit) in _METRICS.items():
            if name not in metrics:
                continue
            served = name.startswith("train") and metrics.get("train_au_meet_expectation") != "fail"
            rows.append(
                Measured(
                    check=check,
                    value=_number_of(str(metrics[name]), file, line, "rate") * unit,
                    host=f"{nodes} nodes" if nodes > 1 else _stem(file),
                    part="",
                    file=file,
                    line=line,
                    nodes=nodes,
                    doubt=doubt,
                    shortfall="the accelerators asked for no more: fio or IOR finds the limit" if served else "",
                )
            )
    return rows or _refuse(file, 1, "no rate of reads or of checkpoints", "give the `summary.json` of a run")
