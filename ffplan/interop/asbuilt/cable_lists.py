"""Lists of cables from port to port: tables of ffplan, NetBox and Nautobot, their JSON, and labs of containerlab."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.base.pasted import _unprompted
from ffplan.interop.asbuilt.ethernet import COUNTED, _EthernetLink, _plain_name
from ffplan.interop.asbuilt.model import _fault, _rows_of, _separator

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ffplan.base.errors import InputError

_HEADS = (
    ("from_device", "from_port", "to_device", "to_port"),
    ("side_a_device", "side_a_name", "side_b_device", "side_b_name"),
    ("device_a", "termination_a", "device_b", "termination_b"),
    ("termination_a_device", "termination_a_name", "termination_b_device", "termination_b_name"),
)
"""Columns of both ends by whose table it is: ffplan's list, an import of NetBox, what NetBox shows, its older form."""
_SIDES = (
    *(("a", "b"), ("side_a", "side_b"), ("from", "to"), ("source", "destination"), ("source", "target")),
    *(("src", "dst"), ("local", "remote"), ("near", "far")),
)
_PORTS = ("port", "interface")
"""Words of a sheet's own columns: `A Device`, `Source Port` or `Device A`."""
_LEAST_COLUMNS = 4
_TITLE = re.compile(r"[ \"]{0,4}[A-Za-z][\w .()/#-]{0,40}[ \"]{0,4}")
_BY_ID = ("termination_a_id", "termination_b_id")
_INTERFACES = ("id", "device__name", "name")
"""Columns of Nautobot, whose cables name interfaces by their ids."""
_BARE = re.compile(r"([0-9]{1,4})(?:/([0-9]{1,2}))?")
"""A port of a switch as printed on it, with the part of a split one."""
_LAB = re.compile(r"""endpoints:\s*\[\s*["']?([\w.-]+):([\w./-]+)["']?\s*,\s*["']?([\w.-]+):([\w./-]+)["']?\s*\]""")
_LAB_PORT = re.compile(r"eth([0-9]{1,4})")


def _columns(line: str) -> list[str]:
    """Return the names of the columns of a heading, written alike."""
    return [
        re.sub(r"[^a-z0-9]+", "_", cell.strip().strip('"').lower()).strip("_") for cell in line.split(_separator(line))
    ]


def _ends_in(columns: Collection[str]) -> tuple[str, ...] | None:
    """Return the columns with device and port of both ends; None if a heading has none."""
    if known := next((names for names in _HEADS if set(names) <= set(columns)), None):
        return known
    if not any("device" in column for column in columns):
        return None
    own = (
        tuple(form.format(side, word) for side in sides for word in ("device", port))
        for sides in _SIDES
        for port in _PORTS
        for form in ("{0}_{1}", "{1}_{0}")
    )
    return next((names for names in own if set(names) <= set(columns)), None)


def _is_cable_table_line(line: str) -> bool:
    columns = [cell.strip() for cell in line.split(_separator(line))] if "device__name" in line else _columns(line)
    known = any(set(head) <= set(columns) for head in (_BY_ID, _INTERFACES))
    return len(columns) > 2 and (known or _ends_in(columns) is not None)


def _refuse_other_table(text: str, file: str) -> None:
    """Refuse a table whose heading names no ends of cables, and say which headings do."""
    rows = [(line, row) for line, row in enumerate(text.split("\n"), 1) if row.strip()][:2]
    if len(rows) < 2:
        return
    (line, head), (_, first) = rows
    separator = _separator(head)
    cells = head.split(separator)
    if len(cells) >= _LEAST_COLUMNS and len(first.split(separator)) == len(cells) and all(map(_TITLE.fullmatch, cells)):
        message = f"no columns with device and port of both ends: `{head.strip()[:80]}`"
        remedy = "name them such as `A Device,A Port,B Device,B Port`, or give the table of ffplan, NetBox or Nautobot"
        raise _fault(file, line, message, remedy)


def _is_lab_line(line: str) -> bool:
    return _LAB.search(line) is not None


def _link(ends: tuple[str, str, str, str], line: int) -> _EthernetLink:
    """Return a cable; a bare number is a port of a switch, whose parts count from 1."""

    def port(name: str) -> str:
        if (bare := _BARE.fullmatch(name)) is None:
            return name
        return f"swp{bare[1]}" + (f"s{int(bare[2]) - 1}" if bare[2] else "")

    device, near, peer, far = (end.strip() for end in ends)
    return _EthernetLink(
        device=_plain_name(device), port=port(near), peer=_plain_name(peer), peer_port=port(far), line=line
    )


def _nothing(file: str, remedy: str = "give the list with its rows") -> InputError:
    return _fault(file, 1, "no cable between two ports is listed", remedy)


def _interfaces_of(text: str, file: str) -> dict[str, tuple[str, str]]:
    """Return device and name of each interface in a table of Nautobot, by id; empty for other tables."""
    rows = _rows_of(text.lstrip(), file)
    _, head = next(rows, (1, []))
    if not set(_INTERFACES) <= set(head):
        return {}
    places = [head.index(name) for name in _INTERFACES]
    cells = ([row[place] for place in places] for _, row in rows if len(row) == len(head))
    return {key: (device, name) for key, device, name in cells}


def _read_cable_table(text: str, file: str, interfaces: dict[str, tuple[str, str]]) -> list[_EthernetLink]:
    lines = _unprompted(text).split("\n")
    first = next(number for number, line in enumerate(lines) if _is_cable_table_line(line))
    rows = _rows_of("\n".join(lines[first:]), file, first + 1)
    _, head = next(rows)
    columns = _columns(",".join(head))
    named = _ends_in(columns) or _BY_ID
    if not set(named) <= set(columns):
        raise _nothing(file, "this is Nautobot's table of interfaces: give its cables beside it")
    places = [columns.index(name) for name in named]
    links = []
    for line, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        cells = [row[place].strip() if place < len(row) else "" for place in places]
        if named is _BY_ID:
            unknown = next((cell for cell in cells if cell not in interfaces), None)
            if unknown is not None:
                remedy = "give Nautobot's table of interfaces (id, device__name, name) beside its cables"
                raise _fault(file, line, f"the interface `{unknown[:40]}` is unknown", remedy)
            cells = [part for cell in cells for part in interfaces[cell]]
        if not all(cells):
            raise _fault(file, line, "a cable without a device or a port at one of its ends", "complete the row")
        a, a_port, b, b_port = cells
        links.append(_link((a, a_port, b, b_port), line))
    if not links:
        raise _nothing(file)
    return links


def _read_lab(text: str, file: str) -> list[_EthernetLink]:
    """Return the links of a lab of containerlab; a device that stands first in one is a switch, as ffplan writes."""
    matches = [(line, match) for line, row in enumerate(text.split("\n"), 1) if (match := _LAB.search(row))]
    if not matches:
        raise _nothing(file)
    switches = {match[1] for _, match in matches}

    def end(device: str, port: str) -> tuple[str, str]:
        number = _LAB_PORT.fullmatch(port)
        return device, COUNTED.format(number[1]) if number and device in switches else port

    return [_link((*end(match[1], match[2]), *end(match[3], match[4])), line) for line, match in matches]


def _end(value: Any) -> tuple[str, str] | None:
    """Return device and port of an end of a cable, plain, in a list or under `object`; None if it is no interface."""
    inside = value[0] if isinstance(value, list) and value else value
    inside = inside.get("object", inside) if isinstance(inside, dict) else None
    device = inside.get("device") if isinstance(inside, dict) else None
    name = device.get("name") or device.get("display") if isinstance(device, dict) else None
    return (str(name), str(inside.get("name", ""))) if inside and name else None


def _results(data: Any) -> list[dict[str, Any]]:
    """Return the objects in a page of a REST API or in a list."""
    results = data.get("results") if isinstance(data, dict) else data
    return [entry for entry in results if isinstance(entry, dict)] if isinstance(results, list) else []


def _is_cable_json(data: Any) -> bool:
    marks = ("a_terminations", "termination_a", "termination_a_id")
    return any(mark in entry for entry in _results(data)[:1] for mark in marks)


def _ends_of(data: Any) -> Iterator[tuple[tuple[str, str] | None, tuple[str, str] | None]]:
    for entry in _results(data):
        yield (
            _end(entry.get("a_terminations") or entry.get("termination_a")),
            _end(entry.get("b_terminations") or entry.get("termination_b")),
        )


def _read_cable_json(data: Any, file: str) -> list[_EthernetLink]:
    if isinstance(data, dict) and data.get("next"):
        raise _fault(file, 1, "this is one page of several", "ask for all of them: ?limit=0")
    links = [_link((*a, *b), 1) for a, b in _ends_of(data) if a is not None and b is not None]
    if not links:
        raise _nothing(file, "give /api/dcim/cables/?limit=0, of Nautobot with depth=1")
    return links
