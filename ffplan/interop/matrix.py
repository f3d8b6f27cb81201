"""Traffic from a CSV file: columns src, dst, bytes; hosts by name, as in the exported host list."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import Finding, InputError, Severity
from ffplan.fabric.routing.traffic import Flows
from ffplan.inputs.suggest import did_you_mean

if TYPE_CHECKING:
    from ffplan.fabric.wiring.names import Names

MOST_BYTES = 64 * 2**20
"""Largest file read [byte]."""


def _fault(file: str, line: int, message: str, remedy: str) -> InputError:
    return InputError(
        Finding(
            rule="file-traffic-matrix",
            severity=Severity.ERROR,
            file=file,
            line=line,
            column=1,
            message=message,
            remedy=remedy,
        )
    )


def _amount(text: str, file: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise _fault(file, line, f"`{text[:40]}` is no number of bytes", "write a number of 0 or more")
    return value


def _ways(names: Names, one: list[int], two: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of ports between two hosts: within one zone where any are, same port numbers where both have
    them."""
    e = names.network.endpoints
    pairs = [(a, b) for a in one for b in two if e.plane[a] == e.plane[b]]
    pairs = [(a, b) for a, b in pairs if e.zone[a] == e.zone[b]] or pairs
    return [(a, b) for a, b in pairs if e.port[a] % len(two) == e.port[b] % len(one)] or pairs


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
        if pair[0] == pair[1]:
            raise _fault(file, line, f"`{pair[0]}` sends to itself", "name two hosts")
        near = _ways(names, hosts[pair[0]], hosts[pair[1]])
        if not near:
            raise _fault(file, line, f"`{pair[0]}` and `{pair[1]}` share no plane", "name hosts that share one")
        for a, b in near:
            src.append(a)
            dst.append(b)
            nbytes.append(amount / len(near))
    return Flows(np.array(src, np.int64), np.array(dst, np.int64), np.array(nbytes))
