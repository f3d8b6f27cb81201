"""Topology files of managers: ibdm's .topo, and the table of UFM's topology comparison."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.interop.asbuilt.builder import Builder
from ffplan.interop.asbuilt.model import fault, numbered, rows_of
from ffplan.interop.asbuilt.speeds import link_rate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.interop.asbuilt.model import AsBuilt

_SYSTEM = re.compile(r"^([A-Za-z][\w.+-]*)\s+(\S+)\s*(CFG:.*)?$")
_LINK = re.compile(r"^\s+(\S+)\s+-(\S*?)->\s+(\S+)\s+(\S+)\s+(\S+)\s*(.*)$")
_START_DEVICE = re.compile(r"(?:^|[,:])\s*StartDevice\s*,")
_END_PORT = re.compile(r",\s*EndPort\s*(?:,|$)")
_LAST = re.compile(r"(?<![0-9])([0-9]{1,6})$")
_HCA = re.compile(r"HCA|MT[0-9]{4,5}|^CX|ConnectX|BF[0-9]", re.IGNORECASE)
_SWITCH = re.compile(r"switch|quantum|^M[TQSC][A-Z]?[0-9]|MTS|MQM|MSB|MIS|SX[0-9]|SN[0-9]", re.IGNORECASE)


def is_topo_line(line: str) -> bool:
    """Return whether a line is an indented link, as .topo files have them."""
    return _LINK.match(line) is not None


def is_ndt_line(line: str) -> bool:
    """Return whether a line is the heading of UFM's topology comparison."""
    return _START_DEVICE.search(line) is not None and _END_PORT.search(line) is not None


def _port(text: str, file: str, line: int) -> int:
    """Return the number at the end of a port's name, such as `P1`, `L1/P1` or `Port 26`.

    Raises:
        InputError: where it has none.
    """
    found = _LAST.search(text.strip())
    if found is None:
        raise fault(file, line, f"`{text[:30]}` is no port", "write a name that ends in its number, such as P1")
    return int(found[1])


def _kind(words: str) -> str:
    return "host" if _HCA.search(words) else "switch" if _SWITCH.search(words) else "host"


def read_topo(text: str | Iterable[str], file: str) -> AsBuilt:
    """Return the fabric of an ibdm .topo file: `TYPE NAME`, then indented `P1 -> TYPE NAME P1`.

    Args:
        text: the file, or its lines.
        file: its name in messages.

    Raises:
        InputError: located, where a line is neither, or a port is listed twice.
    """
    builder = Builder(file, "an ibdm .topo file")
    current = -1
    for number, line in numbered(text):
        line = line.rstrip("\r\n")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if found := _LINK.match(line):
            if current < 0:
                raise fault(file, number, "a link before any system", "start with a line such as `MQM9700 leaf-01`")
            own, way, kind, name, peer, more = found.groups()
            other = builder.found(name, name, _kind(kind), number, seen=False)
            here, there = _port(own, file, number), _port(peer, file, number)
            builder.end(current, here, other, there, number, link_rate(f"{way} {more}"))
        elif found := _SYSTEM.match(line):
            current = builder.found(found[2], found[2], _kind(found[1]), number, seen=False)
        else:
            raise fault(file, number, f"`{line.strip()[:50]}` is neither a system nor a link", "give the .topo file")
    return builder.built()


def read_ndt(text: str, file: str) -> AsBuilt:
    """Return the fabric of a table with StartDevice, StartPort, EndDevice and EndPort.

    Args:
        text: the table.
        file: its name in messages.

    Raises:
        InputError: located, where a column is missing or a port has no number.
    """
    builder = Builder(file, "UFM's topology table")
    rows = rows_of(text, file)
    heads = [head.strip().removeprefix("#Fields:") for head in next(rows)[1]]
    names = ("StartDevice", "StartPort", "EndDevice", "EndPort")
    if missing := [name for name in names if name not in heads]:
        raise fault(file, 1, f"the column {missing[0]} is missing", "give the table as UFM writes it")
    at = {name: heads.index(name) for name in (*names, "Speed") if name in heads}
    switches: set[str] = set()
    links = []
    for line, row in rows:
        if not row or not any(row):
            continue
        if len(row) <= max(at[name] for name in names):
            raise fault(file, line, "a row with too few columns", "give the table as UFM writes it")
        start, port, end, peer = (row[at[name]].strip() for name in names)
        switches.add(start)
        speed = row[at["Speed"]] if "Speed" in at and at["Speed"] < len(row) else ""
        links.append((start, port, end, peer, speed, line))
    for start, port, end, peer, speed, line in links:
        one = builder.found(start, start, "switch", line, seen=False)
        two = builder.found(end, end, "switch" if end in switches else "host", line, seen=False)
        here, there = _port(port, file, line), _port(peer, file, line)
        builder.end(one, here, two, there, line, link_rate(speed))
    return builder.built()
