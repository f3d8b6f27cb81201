"""Files of ibdiagnet: `ibdiagnet2.lst`, a link a line, and `ibdiagnet2.db_csv`, tables of nodes, ports and links."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from ffplan.base.integers import integer
from ffplan.interop.asbuilt.builder import Builder
from ffplan.interop.asbuilt.model import UNSAID, fault, numbered, rows_of
from ffplan.interop.asbuilt.speeds import LANE_GBIT_S, SPEED_CODES, WIDTH_CODES, signalled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.interop.asbuilt.model import AsBuilt

_END = re.compile(r"\{\s*(CA|SW|RT)[- ]\s*Ports:([0-9A-Fa-f]{1,5})\s+(.{0,400}?)\bPN:([0-9A-Fa-f]{1,5})\s*\}")
_GUID = re.compile(r"\bNodeGUID:(\S+)")
_NAME = re.compile(r"\{([^{}]*)\}")
_PHY = re.compile(r"\bPHY=([0-9]{1,3})x")
_SPEED = re.compile(r"\bSPD=([0-9.]{1,12})")
_TABLE = re.compile(r"\s*(?:START|END)_[A-Z][A-Z0-9_]{1,60}\s*$")
_KINDS = {"SW": "switch", "RT": "router"}
_NODE_KINDS = {"1": "host", "2": "switch", "3": "router"}


def is_lst_line(line: str) -> bool:
    """Return whether a line is one of an .lst file."""
    return len(_END.findall(line)) == 2


def is_db_csv_line(line: str) -> bool:
    """Return whether a line starts or ends a table of a db_csv file."""
    return _TABLE.match(line) is not None


def read_lst(text: str | Iterable[str], file: str) -> AsBuilt:
    """Return the fabric of an .lst file; its port numbers are hexadecimal.

    Args:
        text: the file, or its lines.
        file: its name in messages.

    Raises:
        InputError: located, where a line cannot be read or two ends disagree.
    """
    builder = Builder(file, "ibdiagnet's .lst")
    for number, line in numbered(text):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        ends = _END.findall(line)
        if len(ends) != 2:
            words = f"`{line.strip()[:50]}` is no link of two ends in braces"
            raise fault(file, number, words, "give ibdiagnet2.lst as it was written")
        devices = []
        for kind, ports, inside, port in ends:
            guid, name = _GUID.search(inside), _NAME.search(inside)
            if guid is None:
                raise fault(file, number, "an end without `NodeGUID:`", "give ibdiagnet2.lst as it was written")
            title = (name[1].strip() if name else "") or guid[1]
            device = builder.ids.get(guid[1], -1)
            if device not in builder.described:
                kind = _KINDS.get(kind, "host")
                device = builder.device(guid[1], title, kind, int(ports, 16), number, seen=False)
            devices.append((device, int(port, 16)))
        width, speed = _PHY.search(line), _SPEED.search(line)
        lanes = int(width[1]) if width else 0
        lane = signalled(float(speed[1])) if speed and speed[1].count(".") < 2 and speed[1] != "." else 0.0
        (one, port), (two, peer) = devices
        builder.end(one, port, two, peer, number, (lanes, lanes * lane))
    return builder.built()


def _tables(text: str, file: str) -> dict[str, list[tuple[int, dict[str, str]]]]:
    """Return the rows of every table with their lines, by the name of the table.

    Raises:
        InputError: located, where a row is no CSV.
    """
    found: dict[str, list[tuple[int, dict[str, str]]]] = {}
    name = ""
    heads: list[str] = []
    for number, line in enumerate(StringIO(text), start=1):
        line = line.strip()
        if line.startswith("START_"):
            name, heads = line.removeprefix("START_"), []
        elif line.startswith("END_"):
            name = ""
        elif name and line and not line.startswith("#"):
            cells = next(rows_of(line, file, number))[1]
            if heads:
                found.setdefault(name, []).append((number, dict(zip(heads, cells, strict=False))))
            else:
                heads = [head.strip() for head in cells]
    return found


def _whole(row: dict[str, str], name: str) -> int:
    return integer(row.get(name, "").strip()) or 0


def read_db_csv(text: str, file: str) -> AsBuilt:
    """Return the fabric of a db_csv file; tables and columns are found by name.

    Args:
        text: the file.
        file: its name in messages.

    Raises:
        InputError: located, where a link names no node, or a table is missing.
    """
    builder, tables = Builder(file, "ibdiagnet's db_csv"), _tables(text, file)
    for line, row in tables.get("NODES", []):
        guid, title = row.get("NodeGUID", ""), row.get("NodeDesc", "").strip()
        kind = _NODE_KINDS.get(row.get("NodeType", ""), "host")
        system = row.get("SystemImageGUID", "").lower()
        builder.device(guid.lower(), title or guid, kind, _whole(row, "NumPorts"), line, chassis=system)
    rates: dict[tuple[str, int], tuple[int, float]] = {}
    for _, row in tables.get("PORTS", []):
        lanes, speed = WIDTH_CODES.get(_whole(row, "LinkWidthActv"), 0), SPEED_CODES.get(_whole(row, "LinkSpeedActv"))
        key = (row.get("NodeGuid", "").lower(), _whole(row, "PortNum"))
        rates[key] = (lanes, lanes * LANE_GBIT_S[speed] if speed else 0.0)
    for line, row in tables.get("LINKS", []):
        ends = [(row.get(f"NodeGuid{n}", "").lower(), _whole(row, f"PortNum{n}")) for n in (1, 2)]
        for guid, _ in ends:
            if guid not in builder.ids:
                raise fault(file, line, f"`{guid}` is in no row of NODES", "give the whole file")
        (one, port), (two, peer) = ends
        builder.end(builder.ids[one], port, builder.ids[two], peer, line, rates.get(ends[0], UNSAID))
        builder.end(builder.ids[two], peer, builder.ids[one], port, line, rates.get(ends[1], UNSAID))
    return builder.built()
