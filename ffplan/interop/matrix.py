"""Traffic from a CSV file: columns src, dst, bytes; hosts by name, as in the exported host list."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING

import numpy as np

from ffplan.errors import Finding, InputError, Severity
from ffplan.fabric.traffic import Flows
from ffplan.inputs.suggest import did_you_mean

if TYPE_CHECKING:
    from ffplan.fabric.names import Names

MOST_BYTES = 64 * 2**20
"""Largest file read [byte]."""


def _fault(file: str, line: int, message: str, remedy: str) -> InputError:
    return InputError(Finding("file-traffic-matrix", Severity.ERROR, file, line, 1, message, remedy))


def _amount(text: str, file: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise _fault(file, line, f"`{text[:40]}` is no number of bytes", "write a number of 0 or more")
    return value


def read_matrix(text: str, file: str, names: Names) -> Flows:
    """Return the flows of a traffic matrix; each row is spread evenly over the NICs that both hosts have.

    Args:
        text: the file.
        file: its name in messages.
        names: names of the fabric's devices.

    Raises:
        InputError: located, where a row cannot be read or names an unknown host.
    """
    hosts = names.hosts()
    plane, zone = names.network.endpoints.plane, names.network.endpoints.zone
    src: list[int] = []
    dst: list[int] = []
    nbytes: list[float] = []
    rows = csv.reader(text.splitlines())
    header = [cell.strip() for cell in next(rows, [])]
    if header != ["src", "dst", "bytes"]:
        raise _fault(file, 1, "the first line is not `src,dst,bytes`", "write that header, then a row for each flow")
    for line, row in enumerate(rows, start=2):
        if not row:
            continue
        if len(row) != 3:
            raise _fault(file, line, f"{len(row)} cells where three are wanted", "write src, dst and bytes")
        pair = [cell.strip() for cell in row[:2]]
        for name in pair:
            if name not in hosts:
                raise _fault(file, line, f"no host is called `{name[:60]}`", did_you_mean(name, hosts, what="host"))
        amount = _amount(row[2], file, line)
        near = [
            (a, b)
            for a in hosts[pair[0]]
            for b in hosts[pair[1]]
            if plane[a] == plane[b]
            and names.network.endpoints.port[a] % max(1, len(hosts[pair[1]]))
            == names.network.endpoints.port[b] % max(1, len(hosts[pair[0]]))
        ] or [(a, b) for a in hosts[pair[0]] for b in hosts[pair[1]] if plane[a] == plane[b] and zone[a] == zone[b]]
        if not near:
            raise _fault(file, line, f"`{pair[0]}` and `{pair[1]}` share no plane", "name hosts that share one")
        for a, b in near:
            src.append(a)
            dst.append(b)
            nbytes.append(amount / len(near))
    return Flows(np.array(src, np.int64), np.array(dst, np.int64), np.array(nbytes))
