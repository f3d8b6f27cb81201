"""Rates that benchmarks measured: copies (nvbandwidth), memory (STREAM), storage (fio, IOR)."""

from __future__ import annotations

import re
from typing import Any

from ffplan.interop.logs.measured import number_of, refuse, stem
from ffplan.results.acceptance import Measured

_COPIES = {
    "host_to_device_memcpy_ce": "copy-to-device",
    "device_to_host_memcpy_ce": "copy-to-host",
    "all_to_host_memcpy_ce": "copy-to-host-shared",
    "host_to_all_memcpy_ce": "copy-to-device-shared",
    "device_to_device_memcpy_read_ce": "nvlink-copy",
    "device_to_device_memcpy_write_ce": "nvlink-copy",
}
"""Checks by the name of a test; other tests are left out."""
_ABSENT = ("N/A",)
"""What stands where a pair has no value."""
_TRIAD = re.compile(r"^[ \t]*Triad:?[ \t]+(\S+)\s", re.MULTILINE)
_GPU = re.compile(r"^[ \t]*Implementation:[ \t]*(CUDA|HIP|SYCL\w*)", re.MULTILINE)
_STREAM = re.compile(r"^[ \t]*Function[ \t]+(Best Rate MB/s|MBytes/sec)", re.MULTILINE)


def is_nvbandwidth(loaded: Any) -> bool:
    """Return whether a JSON document is of nvbandwidth."""
    return isinstance(loaded, dict) and isinstance(loaded.get("nvbandwidth"), dict)


def read_nvbandwidth(loaded: dict[str, Any], file: str) -> list[Measured]:
    """Return the copies of nvbandwidth [GB/s], one for each pair; between GPUs the least of each row.

    Raises:
        InputError: if the content is no output of nvbandwidth.
    """
    host, measured = stem(file), []
    for case in loaded["nvbandwidth"].get("testcases") or []:
        name = case.get("name", "") if isinstance(case, dict) else ""
        check = _COPIES.get(name)
        if check is None:
            continue
        status = str(case.get("status", "Passed"))
        if status not in ("Passed", "Waived"):
            refuse(file, 1, f"the test `{name}` ended with `{status}`", "give the file of a run that passed")
        for number, row in enumerate(case.get("bandwidth_matrix") or []):
            if not isinstance(row, list):
                refuse(file, 1, f"`bandwidth_matrix` of `{name}` is not a matrix", "give the file as it was written")
            cells = [(gpu, str(cell)) for gpu, cell in enumerate(row) if str(cell) not in _ABSENT]
            rates = [(gpu, number_of(text, file, 1, "bandwidth")) for gpu, text in cells]
            values = [rate for _, rate in rates]
            if check == "nvlink-copy" and values:
                measured.append(
                    Measured(check=check, value=min(values), host=host, part=f"GPU {number}", file=file, line=1)
                )
            elif check != "nvlink-copy":
                measured += [
                    Measured(check=check, value=value, host=host, part=f"GPU {gpu}", file=file, line=1)
                    for gpu, value in rates
                ]
    if not measured:
        refuse(file, 1, "no copy test of the acceptance sheet", f"run {', '.join(sorted(_COPIES))}")
    return measured


def is_stream(text: str) -> bool:
    """Return whether a text is output of STREAM or BabelStream."""
    return _STREAM.search(text) is not None and "Triad" in text


def read_stream(text: str, file: str) -> list[Measured]:
    """Return the triad of STREAM [GB/s], as the program counts its bytes.

    Raises:
        InputError: where the row has no number.
    """
    if (kind := _GPU.search(text)) is not None:
        line = text.count("\n", 0, kind.start(1)) + 1
        refuse(file, line, f"BabelStream with {kind[1]} measures the memory of a GPU", "give STREAM on the host")
    measured = []
    for match in _TRIAD.finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        rate = number_of(match[1], file, line, "rate") / 1e3
        measured.append(Measured(check="memory", value=rate, host=stem(file), part="", file=file, line=line))
    if not measured:
        refuse(file, 1, "no row `Triad`", "give the whole output of STREAM")
    return measured


_MIB, _KIB = 2.0**20, 2.0**10
_SHORT_MS = 30_000
"""Runs shorter than this fill caches [ms]."""
_NODES = re.compile(r"^[ \t]*nodes[ \t]*:[ \t]*([0-9]{1,9})", re.MULTILINE)
_HEAD = re.compile(r"^[ \t]*access[ \t]+bw\(MiB/s\)", re.MULTILINE)


def is_fio(loaded: Any) -> bool:
    """Return whether a JSON document is of fio."""
    return isinstance(loaded, dict) and "fio version" in loaded


def read_fio(loaded: dict[str, Any], file: str) -> list[Measured]:
    """Return reads and writes of fio [GB/s], the jobs of a group on each host together.

    Args:
        loaded: the content; of several documents, the last.

    Raises:
        InputError: if the output has no job, or a failed job.
    """
    clients = [client for client in loaded.get("client_stats") or [] if isinstance(client, dict)]
    jobs = [client for client in clients if client.get("jobname") != "All clients"] or loaded.get("jobs") or []
    sums: dict[tuple[str, str, str], float] = {}
    doubts: dict[tuple[str, str, str], str] = {}
    common = loaded.get("global options") or {}
    for job in jobs:
        if not isinstance(job, dict):
            refuse(file, 1, "`jobs` is not a list of jobs", "give the file as fio wrote it")
        if job.get("error"):
            refuse(file, 1, f"the job `{job.get('jobname')}` failed with error {job['error']}", "run it again")
        options = {**common, **(job.get("job options") or {})}
        host = str(job.get("hostname") or stem(file))
        for side, check in (("read", "storage-read"), ("write", "storage-write")):
            part = job.get(side) or {}
            if not part.get("io_bytes") and not part.get("bw"):
                continue
            key = (host, check, str(job.get("groupid", 0)))
            rate = part["bw_bytes"] if part.get("bw_bytes") else float(part.get("bw", 0)) * _KIB
            sums[key] = sums.get(key, 0.0) + number_of(str(rate), file, 1, "rate") / 1e9
            if str(options.get("direct", "0")) != "1":
                doubts[key] = "without direct=1: the page cache may have answered"
            elif float(part.get("runtime") or 0) < _SHORT_MS:
                doubts[key] = "shorter than 30 s"
    if not sums:
        refuse(file, 1, "no job read or wrote anything", "give the file of a finished run")
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
        )
        for (host, check, group), value in sums.items()
    ]


def is_ior(text: str) -> bool:
    """Return whether a text is output of IOR."""
    return _HEAD.search(text) is not None


def read_ior(text: str, file: str) -> list[Measured]:
    """Return reads and writes of IOR [GB/s], of all nodes together, each repetition a row.

    Raises:
        InputError: where a row has no rate.
    """
    nodes = int(match[1]) if (match := _NODES.search(text)) else 0
    rows = []
    for line, row in enumerate(text.splitlines(), 1):
        if row.startswith("Summary of all tests"):
            break
        cells = row.split()
        if len(cells) < 8 or cells[0] not in ("read", "write") or cells[1] == "-":
            continue
        rate = number_of(cells[1], file, line, "rate") * _MIB / 1e9
        doubt = "" if nodes else "the log does not say how many nodes took part"
        check = f"storage-{cells[0]}"
        host = f"{nodes} nodes" if nodes > 1 else stem(file)
        rows.append(
            Measured(check=check, value=rate, host=host, part="", file=file, line=line, nodes=nodes, doubt=doubt)
        )
    if not rows:
        refuse(file, 1, "no row of reads or writes", "give the whole output of IOR")
    return rows
