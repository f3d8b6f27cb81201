"""Workloads that users write as CSV: traffic between hosts (src, dst, bytes), and jobs (arrival_s, gpus, run_s)."""

from __future__ import annotations

import csv
import math
import re
from array import array
from io import StringIO
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import InputError, did_you_mean, located
from ffplan.fabric.routing.job_loads import MOST_FLOWS
from ffplan.fabric.routing.traffic import Flows
from ffplan.interop.logs.measured import _refuse
from ffplan.interop.spreadsheet import _heading, _rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Floats, Ints
    from ffplan.fabric.wiring.names import Names
    from ffplan.interop.spreadsheet import _Heading

_MOST_AMOUNT = 1e21
"""Most bytes of a row."""
_AMOUNT = re.compile(r"-?[0-9]+\.?[0-9]*([eE][-+]?[0-9]{1,3})?")
_Sides = tuple[tuple[int, int, int], ...]
"""Plane, zone and number of each port of a host."""
MOST_BYTES = 64 * 2**20
"""Largest file read [byte]."""


def _fault(file: str, line: int, message: str, remedy: str) -> InputError:
    return located("file-traffic-matrix", file, (line, 1), message, remedy)


def _amount(text: str, file: str, line: int) -> float:
    value = float(text) if _AMOUNT.fullmatch(text.strip()) else math.nan
    if not 0 <= value <= _MOST_AMOUNT:
        raise _fault(file, line, f"`{text[:40]}` is not a number of bytes", f"write 0 to {_MOST_AMOUNT:.0e} bytes")
    return value


def _ways(src: _Sides, dst: _Sides) -> tuple[list[int], list[int]]:
    """Return the pairs of ports between two hosts, as positions among the ports of each.

    The pairs stay within one zone if any do, and join the same port numbers if both hosts have them.
    """
    pairs = [(i, j) for i, a in enumerate(src) for j, b in enumerate(dst) if a[0] == b[0]]
    pairs = [(i, j) for i, j in pairs if src[i][1] == dst[j][1]] or pairs
    pairs = [(i, j) for i, j in pairs if src[i][2] % len(dst) == dst[j][2] % len(src)] or pairs
    return [i for i, _ in pairs], [j for _, j in pairs]


class _Hosts:
    """Hosts by name, with their ports; hosts whose ports have the same planes, zones and numbers are of one kind."""

    def __init__(self, names: Names) -> None:
        e = names.network.endpoints
        hosts = names.hosts()
        self.number = {name: place for place, name in enumerate(hosts)}
        most = max(map(len, hosts.values()), default=0)
        self.ports = np.full((len(hosts), most), -1, np.int64)
        self.kind = np.zeros(len(hosts), np.int64)
        kinds: dict[_Sides, int] = {}
        for place, ports in enumerate(hosts.values()):
            self.ports[place, : len(ports)] = ports
            sides = tuple(zip(*(column[ports].tolist() for column in (e.plane, e.zone, e.port)), strict=True))
            self.kind[place] = kinds.setdefault(sides, len(kinds))
        self.sides = list(kinds)


def _traffic_rows(text: str, file: str, number: dict[str, int]) -> Iterator[tuple[int, int, float, int]]:
    rows = csv.reader(StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        header = [cell.strip() for cell in next(rows, [])]
        if header != ["src", "dst", "bytes"]:
            message = "the first line is not `src,dst,bytes`"
            raise _fault(file, 1, message, "write that header, then a row for each flow")
        end = rows.line_num
        for row in rows:
            line, end = end + 1, rows.line_num
            if not row:
                continue
            if len(row) != 3:
                raise _fault(file, line, f"{len(row)} cells; three are expected", "write src, dst and bytes")
            src, dst = row[0].strip(), row[1].strip()
            for name in (src, dst):
                if name not in number:
                    remedy = did_you_mean(name, number, what="host")
                    raise _fault(file, line, f"unknown host `{name[:60]}`", remedy)
            if src == dst:
                raise _fault(file, line, f"`{src}` sends to itself", "name two hosts")
            yield number[src], number[dst], _amount(row[2], file, line), line
    except csv.Error as error:
        raise _fault(file, rows.line_num, f"not valid CSV: {error}", "write src, dst and bytes") from None


def read_matrix(text: str, file: str, names: Names) -> Flows:
    """Return the flows of a traffic matrix; each row is spread evenly over the NICs that both hosts have.

    Raises:
        InputError: located, where a row cannot be read, names an unknown host or two that share no plane, or there are
            too many flows.
    """
    hosts = _Hosts(names)
    titles = list(hosts.number)
    kinds = len(hosts.sides)
    read = array("d")
    for row in _traffic_rows(text, file, hosts.number):
        read.extend(row)
    rows = np.frombuffer(read, np.float64).reshape(-1, 4)
    src_hosts, dst_hosts = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
    pair = hosts.kind[src_hosts] * kinds + hosts.kind[dst_hosts]
    parts: list[tuple[Ints, Ints, Ints, Floats]] = []
    count = 0
    for kind in np.unique(pair).tolist():
        chosen = np.flatnonzero(pair == kind)
        a, b = _ways(hosts.sides[kind // kinds], hosts.sides[kind % kinds])
        if not a:
            first = int(chosen[0])
            message = f"`{titles[src_hosts[first]]}` and `{titles[dst_hosts[first]]}` share no plane"
            raise _fault(file, int(rows[first, 3]), message, "name hosts that share one")
        count += len(chosen) * len(a)
        if count > MOST_FLOWS:
            raise _fault(
                file, 1, f"more than {MOST_FLOWS:,} flows between NICs", "add up the rows of each pair of hosts"
            )
        src, dst = hosts.ports[src_hosts[chosen]][:, a], hosts.ports[dst_hosts[chosen]][:, b]
        amount = np.repeat(rows[chosen, 2] / len(a), len(a))
        parts.append((np.repeat(chosen, len(a)), src.ravel(), dst.ravel(), amount))
    if not rows[:, 2].any():
        raise _fault(file, 1, "no row has any bytes", "write a row for each flow, with its bytes")
    place, sources, targets, nbytes = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(place, kind="stable")
    return Flows(sources[order], targets[order], nbytes[order])


_JOB_COLUMNS = ("arrival_s", "gpus", "run_s")
_MOST_JOBS = 5_000_000
"""Most jobs that are read [1]."""


_HEAD_LETTERS = 200_000
"""Letters among which the heading of a file of jobs is sought [1]."""
_LAST_S = 1e12
"""What times of jobs stay below [s]: 31,700 years."""
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def _number(text: str) -> float:
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def _job_fault(arrival: float, run: float, gpus: float) -> str | None:
    """Return the fault in the numbers of a job; None without one."""
    if not 0 <= arrival < _LAST_S:
        return f"`arrival_s` is {arrival:g}; it is 0 or more, and below {_LAST_S:g}"
    if not 0 < run < _LAST_S:
        return f"`run_s` is {run:g}; it is above 0, and below {_LAST_S:g}"
    if not (gpus >= 1 and gpus.is_integer()):
        return f"`gpus` is {gpus:g}; it is a whole number from 1 on"
    return None


def _job_heading(text: str, file: str) -> _Heading:
    """Return the heading of a file of jobs; refuse a file without one."""
    heading = _heading(text, _JOB_COLUMNS, _HEAD_LETTERS)
    if heading is None:
        lacks = next((name for name in _JOB_COLUMNS if _heading(text, (name,), _HEAD_LETTERS) is None), None)
        what = f"no column `{lacks}`" if lacks else f"no line names the columns {', '.join(_JOB_COLUMNS)}"
        _refuse(file, 1, what, f"give the columns {', '.join(_JOB_COLUMNS)}")
    return heading


def read_jobs(text: str, file: str, most_gpus: int) -> tuple[Floats, Floats, Ints]:
    """Return jobs by arrival.

    Args:
        text: a table, read as an acceptance sheet is: commas, semicolons or tabs between its cells.
        most_gpus: accelerators that one job can hold [1].

    Returns:
        Arrival and run time [s], and accelerators [1], shapes [jobs].

    Raises:
        InputError: at a row that is no job, or a job that is too large.
    """
    text = text.removeprefix("\ufeff")
    heading = _job_heading(text, file)
    rows: list[tuple[float, float, int]] = []
    for line, row in _rows(text, file, heading):
        arrival, gpus, run = (_number(heading.number(row[name])) for name in _JOB_COLUMNS)
        if math.isnan(arrival + gpus + run):
            _refuse(file, line, "not a job", "write arrival_s, gpus and run_s as numbers")
        fault = _job_fault(arrival, run, gpus)
        if fault is not None:
            _refuse(file, line, f"not a job: {fault}", "correct the row, or leave it out")
        if gpus > most_gpus:
            _refuse(file, line, f"a job of {gpus:.0f}; one can hold {most_gpus:,} of this design", "leave it out")
        if len(rows) == _MOST_JOBS:
            _refuse(file, line, f"more than {_MOST_JOBS:,} jobs", "give fewer")
        rows.append((arrival, run, int(gpus)))
    if not rows:
        _refuse(file, heading.line, "no job", "give a row for each job")
    rows.sort(key=lambda job: job[0])
    arrivals, runs, sizes = (np.array(column) for column in zip(*rows, strict=True))
    return arrivals - arrivals[0], runs, sizes.astype(int)
