"""Output of fio (JSON) and IOR (text): reads and writes of nodes."""

from __future__ import annotations

import re
from typing import Any

from ffplan.interop.logs.measured import number_of, refuse, stem
from ffplan.results.acceptance import Measured

MIB, KIB = 2.0**20, 2.0**10
SHORT_MS = 30_000
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
        file: name of the file.

    Raises:
        InputError: where it has no job, or one that failed.
    """
    clients = [item for item in loaded.get("client_stats") or [] if isinstance(item, dict)]
    jobs = [item for item in clients if item.get("jobname") != "All clients"] or loaded.get("jobs") or []
    sums: dict[tuple[str, str, str], float] = {}
    doubts: dict[tuple[str, str, str], str] = {}
    common = loaded.get("global options") or {}
    for job in jobs:
        if not isinstance(job, dict):
            refuse(file, 1, "`jobs` holds something else than jobs", "give the file as fio wrote it")
        if job.get("error"):
            refuse(file, 1, f"the job `{job.get('jobname')}` failed with error {job['error']}", "run it again")
        options = {**common, **(job.get("job options") or {})}
        host = str(job.get("hostname") or stem(file))
        for side, check in (("read", "storage-read"), ("write", "storage-write")):
            part = job.get(side) or {}
            if not part.get("io_bytes") and not part.get("bw"):
                continue
            key = (host, check, str(job.get("groupid", 0)))
            rate = part["bw_bytes"] if part.get("bw_bytes") else float(part.get("bw", 0)) * KIB
            sums[key] = sums.get(key, 0.0) + number_of(str(rate), file, 1, "rate") / 1e9
            if str(options.get("direct", "0")) != "1":
                doubts[key] = "without direct=1: the page cache may have answered"
            elif float(part.get("runtime") or 0) < SHORT_MS:
                doubts[key] = "shorter than 30 s"
    if not sums:
        refuse(file, 1, "no job has read or written", "give the file of a run that ended")
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

    Args:
        text: what the program printed.
        file: name of the file.

    Raises:
        InputError: where a row has no rate.
    """
    nodes = int(found[1]) if (found := _NODES.search(text)) else 0
    rows = []
    for line, words in enumerate(text.splitlines(), 1):
        if words.startswith("Summary of all tests"):
            break
        cells = words.split()
        if len(cells) < 8 or cells[0] not in ("read", "write") or cells[1] == "-":
            continue
        rate = number_of(cells[1], file, line, "rate") * MIB / 1e9
        doubt = "" if nodes else "the log does not say how many nodes took part"
        check = f"storage-{cells[0]}"
        host = f"{nodes} nodes" if nodes > 1 else stem(file)
        rows.append(
            Measured(check=check, value=rate, host=host, part="", file=file, line=line, nodes=nodes, doubt=doubt)
        )
    if not rows:
        refuse(file, 1, "no row of reads or writes", "give the whole output of IOR")
    return rows
