"""InfiniBand fabrics in managers' files: ibdiagnet's .lst and .db_csv, ibdm's .topo, and UFM's topology table."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from ffplan.base.hostlist import integer
from ffplan.interop.asbuilt.builder import _Builder
from ffplan.interop.asbuilt.infiniband import _active_rate, _db_csv_tables, _link_rate, _signalled
from ffplan.interop.asbuilt.model import UNSAID, _fault, _numbered, _rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.interop.asbuilt.model import AsBuilt

_END = re.compile(r"\{\s*(CA|SW|RT)[- ]\s*Ports:([0-9A-Fa-f]{1,5})\s+(.{0,400}?)\bPN:([0-9A-Fa-f]{1,5})\s*\}")
_GUID = re.compile(r"\bNodeGUID:(\S+)")
_NAME = re.compile(r"\{([^{}]*)\}")
_PHY = re.compile(r"\bPHY=([0-9]{1,3})x")
_SPEED = re.compile(r"\bSPD=([0-9.]{1,12})")
_LOGICAL = re.compile(r"\bLOG=(\w{1,8})")
_TABLE = re.compile(r"\s*(?:START|END)_[A-Z][A-Z0-9_]{1,60}\s*$")
_KINDS = {"SW": "switch", "RT": "router"}
_INACTIVE = (2, 3)
"""Codes of a port that is initialised, or armed; InfiniBand specification, PortInfo, PortState."""
_NODE_KINDS = {"1": "host", "2": "switch", "3": "router"}


def _is_lst_line(line: str) -> bool:
    return len(_END.findall(line)) == 2


def _is_db_csv_line(line: str) -> bool:
    return _TABLE.match(line) is not None


def _read_lst(text: str | Iterable[str], file: str) -> AsBuilt:
    """Return the fabric of an .lst file; its port numbers are hexadecimal."""
    builder = _Builder(file, "ibdiagnet's .lst")
    for number, line in _numbered(text):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        ends = _END.findall(line)
        if len(ends) != 2:
            message = f"`{line.strip()[:50]}` is not a link with two ends in braces"
            raise _fault(file, number, message, "give ibdiagnet2.lst as it was written")
        devices = []
        for kind, ports, inside, port in ends:
            guid, name = _GUID.search(inside), _NAME.search(inside)
            if guid is None:
                raise _fault(file, number, "an end without `NodeGUID:`", "give ibdiagnet2.lst as it was written")
            title = (name[1].strip() if name else "") or guid[1]
            device = builder.ids.get(guid[1], -1)
            if device not in builder.described:
                kind = _KINDS.get(kind, "host")
                device = builder.device(guid[1], title, kind, int(ports, 16), number, seen=False)
            devices.append((device, int(port, 16)))
        width, speed = _PHY.search(line), _SPEED.search(line)
        lanes = int(width[1]) if width else 0
        lane = _signalled(float(speed[1])) if speed and speed[1].count(".") < 2 and speed[1] != "." else 0.0
        (near, port), (far, peer) = devices
        state = _LOGICAL.search(line)
        idle = state is not None and state[1] != "ACT"
        builder.end(near, port, far, peer, number, (lanes, lanes * lane), idle=idle)
    return builder.built()


def _whole(row: dict[str, str], name: str) -> int:
    return integer(row.get(name, "").strip()) or 0


def _read_db_csv(text: str, file: str) -> AsBuilt:
    """Return the fabric of a db_csv file; tables and columns are found by name."""
    builder = _Builder(file, "ibdiagnet's db_csv")
    nodes, ports, links = _db_csv_tables(text, partial(_fault, file), "NODES", "PORTS", "LINKS")
    for line, row in nodes:
        guid, title = row.get("NodeGUID", ""), row.get("NodeDesc", "").strip()
        kind = _NODE_KINDS.get(row.get("NodeType", ""), "host")
        system = row.get("SystemImageGUID", "").lower()
        builder.device(guid.lower(), title or guid, kind, _whole(row, "NumPorts"), line, chassis=system)
    rates: dict[tuple[str, int], tuple[int, float]] = {}
    idle: set[tuple[str, int]] = set()
    for _, row in ports:
        lanes, lane = _active_rate(row)
        port_at = row.get("NodeGuid", "").lower(), _whole(row, "PortNum")
        rates[port_at] = (lanes, lanes * lane)
        if _whole(row, "PortState") in _INACTIVE:
            idle.add(port_at)
    for line, row in links:
        ends = [(row.get(f"NodeGuid{n}", "").lower(), _whole(row, f"PortNum{n}")) for n in (1, 2)]
        for guid, _ in ends:
            if guid not in builder.ids:
                raise _fault(file, line, f"`{guid}` is missing from NODES", "give the whole file")
        for own, other in (ends, ends[::-1]):
            (near, port), (far, peer), rate = own, other, rates.get(own, UNSAID)
            builder.end(builder.ids[near], port, builder.ids[far], peer, line, rate, idle=own in idle)
    return builder.built()


_TOPO_SYSTEM = re.compile(r"^([A-Za-z][\w.+-]*)\s+(\S+)\s*(CFG:.*)?$")
_TOPO_LINK = re.compile(r"^\s+(\S+)\s+-(\S*?)->\s+(\S+)\s+(\S+)\s+(\S+)\s*(.*)$")
_START_DEVICE = re.compile(r"(?:^|[,:])\s*StartDevice\s*,")
_END_PORT = re.compile(r",\s*EndPort\s*(?:,|$)")
_LAST = re.compile(r"(?<![0-9])([0-9]{1,6})$")
_HCA = re.compile(r"HCA|MT[0-9]{4,5}|^CX|ConnectX|BF[0-9]", re.IGNORECASE)
_SWITCH = re.compile(r"switch|quantum|^M[TQSC][A-Z]?[0-9]|MTS|MQM|MSB|MIS|SX[0-9]|SN[0-9]", re.IGNORECASE)


def _is_topo_line(line: str) -> bool:
    return _TOPO_LINK.match(line) is not None


def _is_ndt_line(line: str) -> bool:
    """Return whether a line is the heading of UFM's topology comparison."""
    return _START_DEVICE.search(line) is not None and _END_PORT.search(line) is not None


def _port_number(text: str, file: str, line: int) -> int:
    """Return the number at the end of a port's name, such as `P1`, `L1/P1` or `Port 26`."""
    match = _LAST.search(text.strip())
    if match is None:
        raise _fault(file, line, f"`{text[:30]}` is not a port", "write a name that ends in its number, such as P1")
    return int(match[1])


def _kind(description: str) -> str:
    return "host" if _HCA.search(description) else "switch" if _SWITCH.search(description) else "host"


def _read_topo(text: str | Iterable[str], file: str) -> AsBuilt:
    """Return the fabric of an ibdm .topo file: `TYPE NAME`, then indented `P1 -> TYPE NAME P1`."""
    builder = _Builder(file, "an ibdm .topo file")
    current = -1
    for number, line in _numbered(text):
        line = line.rstrip("\r\n")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if match := _TOPO_LINK.match(line):
            if current < 0:
                raise _fault(file, number, "a link before any system", "start with a line such as `MQM9700 leaf-01`")
            port, way, kind, name, peer, more = match.groups()
            neighbour = builder.device_of(name, name, _kind(kind), number, seen=False)
            here, there = _port_number(port, file, number), _port_number(peer, file, number)
            builder.end(current, here, neighbour, there, number, _link_rate(f"{way} {more}"))
        elif match := _TOPO_SYSTEM.match(line):
            current = builder.device_of(match[2], match[2], _kind(match[1]), number, seen=False)
        else:
            raise _fault(file, number, f"`{line.strip()[:50]}` is neither a system nor a link", "give the .topo file")
    return builder.built()


def _read_ndt(text: str, file: str) -> AsBuilt:
    """Return the fabric of a table with StartDevice, StartPort, EndDevice and EndPort."""
    builder = _Builder(file, "UFM's topology table")
    rows = _rows_of(text, file)
    heads = [head.strip().removeprefix("#Fields:") for head in next(rows)[1]]
    names = ("StartDevice", "StartPort", "EndDevice", "EndPort")
    if missing := [name for name in names if name not in heads]:
        raise _fault(file, 1, f"the column {missing[0]} is missing", "give the table as UFM writes it")
    column = {name: heads.index(name) for name in (*names, "Speed") if name in heads}
    switches: set[str] = set()
    links = []
    for line, row in rows:
        if not row or not any(row):
            continue
        if len(row) <= max(column[name] for name in names):
            raise _fault(file, line, "a row with too few columns", "give the table as UFM writes it")
        start, port, end, peer = (row[column[name]].strip() for name in names)
        switches.add(start)
        speed = row[column["Speed"]] if "Speed" in column and column["Speed"] < len(row) else ""
        links.append((start, port, end, peer, speed, line))
    for start, port, end, peer, speed, line in links:
        near = builder.device_of(start, start, "switch", line, seen=False)
        far = builder.device_of(end, end, "switch" if end in switches else "host", line, seen=False)
        here, there = _port_number(port, file, line), _port_number(peer, file, line)
        builder.end(near, here, far, there, line, _link_rate(speed))
    return builder.built()
