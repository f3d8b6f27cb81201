"""Neighbours by LLDP: JSON of lldpcli, Arista EOS, NX-OS and Junos, and what switches and lldpctl print.

Printed: EOS, NX-OS and IOS, Cumulus, SONiC, Junos and OS10. A prompt names the switch that follows it; without one the
name of the file does.
"""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import TYPE_CHECKING, Any

from ffplan.interop.asbuilt.ethernet import ADDRESS, _EthernetDevice, _EthernetLink, _plain_name
from ffplan.interop.asbuilt.model import _fault

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORWARDS = ("bridge", "router")


def _listed(value: Any) -> list[Any]:
    """Return a value as a list: one item stands alone in some outputs."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _text(value: Any) -> str:
    """Return the text of a value, plain, in a list or under `value`."""
    first = next(iter(_listed(value)), "")
    if isinstance(first, dict):
        first = first.get("value", "")
    return first.strip() if isinstance(first, str) else ""


def _interfaces(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and content of every interface of lldpcli: an object, a list of objects of one key, or json0."""
    for top in _listed(data["lldp"]):
        for interface in _listed(top.get("interface") if isinstance(top, dict) else None):
            if not isinstance(interface, dict):
                continue
            if isinstance(interface.get("name"), str):
                yield interface["name"], interface
            else:
                yield from ((name, inside) for name, inside in interface.items() if isinstance(inside, dict))


def _chassis(interface: dict[str, Any]) -> tuple[str, bool | None]:
    """Return the name of a neighbour, and whether it forwards; None if unstated."""
    top: Any = next(iter(_listed(interface.get("chassis"))), {})
    if not isinstance(top, dict):
        return "", None
    if "id" in top or "name" in top:
        name, inside = _text(top.get("name")) or _text(top.get("id")), top
    else:
        name, inside = next(iter(top.items()), ("", {}))
        inside = inside if isinstance(inside, dict) else {}
    capabilities = [capability for capability in _listed(inside.get("capability")) if isinstance(capability, dict)]
    if not capabilities:
        return name, None
    return name, any(
        str(capability.get("type", "")).lower() in _FORWARDS and capability.get("enabled") in (True, "true", "on")
        for capability in capabilities
    )


def _port(interface: dict[str, Any]) -> str:
    """Return the name of a neighbour's port: its id where that is a name, else its description."""
    port: Any = next(iter(_listed(interface.get("port"))), {})
    if not isinstance(port, dict):
        return ""
    first: Any = next(iter(_listed(port.get("id"))), {})
    kind = first.get("type", "") if isinstance(first, dict) else ""
    port_id, described = _text(port.get("id")), _text(port.get("descr"))
    return described if kind in ("mac", "local") and described else port_id


def _lldpcli(data: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    for name, interface in _interfaces(data):
        peer, forwards = _chassis(interface)
        if peer:
            yield name, peer, _port(interface), forwards


def _arista(data: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    neighbours = data["lldpNeighbors"]
    if isinstance(neighbours, dict):
        for name, inside in neighbours.items():
            for neighbour in _listed(inside.get("lldpNeighborInfo") if isinstance(inside, dict) else None):
                port = neighbour.get("neighborInterfaceInfo", {})
                port_id = port.get("interfaceId_v2") or port.get("interfaceId") or ""
                yield (
                    name,
                    str(neighbour.get("systemName") or neighbour.get("chassisId", "")),
                    str(port_id).strip('"'),
                    None,
                )
        return
    for neighbour in _listed(neighbours):
        yield (
            str(neighbour.get("port", "")),
            str(neighbour.get("neighborDevice", "")),
            str(neighbour.get("neighborPort", "")),
            None,
        )


def _nxos(data: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    for table in _listed(data["TABLE_nbor"]):
        for neighbour in _listed(table.get("ROW_nbor") if isinstance(table, dict) else None):
            said = str(neighbour.get("system_capability", "")).upper()
            forwards = any(letter in said for letter in "BR") if said else None
            yield (
                str(neighbour.get("l_port_id", "")),
                str(neighbour.get("chassis_id", "")),
                str(neighbour.get("port_id", "")),
                forwards,
            )


def _junos(data: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    def said(neighbour: dict[str, Any], *names: str) -> str:
        return next((str(row["data"]) for name in names for row in _listed(neighbour.get(name)) if "data" in row), "")

    for table in _listed(data["lldp-neighbors-information"]):
        for neighbour in _listed(table.get("lldp-neighbor-information")):
            yield (
                said(neighbour, "lldp-local-port-id", "lldp-local-interface"),
                said(neighbour, "lldp-remote-system-name", "lldp-remote-chassis-id"),
                said(neighbour, "lldp-remote-port-id", "lldp-remote-port-description"),
                None,
            )


_FORMS = {"lldp": _lldpcli, "lldpNeighbors": _arista, "TABLE_nbor": _nxos, "lldp-neighbors-information": _junos}


def _inner(data: Any) -> Any:
    """Return the answer inside the envelopes of eAPI and NXAPI."""
    for _ in range(6):
        if not isinstance(data, dict) or data.keys() & _FORMS.keys():
            return data
        inside = next((data[key] for key in ("result", "ins_api", "outputs", "output", "body") if key in data), None)
        if inside is None:
            return data
        data = next(iter(inside), None) if isinstance(inside, list) else inside
    return data


def _is_lldp(data: Any) -> bool:
    inside = _inner(data)
    return isinstance(inside, dict) and bool(inside.keys() & _FORMS.keys())


def _local_name(file: str) -> str:
    """Return the device that an output is of, from its file: such output does not name it."""
    return file.replace("\\", "/").rpartition("/")[2].split(".")[0]


def _read_lldp(data: Any, file: str) -> tuple[list[_EthernetLink], _EthernetDevice, set[str]]:
    """Return the links of one device, the device, and the neighbours that say that they forward."""
    inside, device = _inner(data), _plain_name(_local_name(file))
    reader = next(_FORMS[key] for key in _FORMS if key in inside)
    links, forwarding = [], set()
    try:
        rows = list(reader(inside))
    except (AttributeError, TypeError):
        message = "an entry is not an LLDP neighbour"
        raise _fault(file, 1, message, "give `lldpcli show neighbors -f json0` as it is") from None
    for port, peer, peer_port, forwards in rows:
        if not port or not peer or ("lldp" not in inside and not peer_port):
            message = f"a neighbour without {'a name' if port and not peer else 'a port'}"
            raise _fault(file, 1, message, "give the output as the switch wrote it")
        name = _plain_name(peer)
        links.append(_EthernetLink(device=device, port=port, peer=name, peer_port=peer_port, line=1))
        if forwards:
            forwarding.add(name)
    return links, _EthernetDevice(device, None), forwarding


def _neighbours(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object of JSON; one that repeats a port, as lldpcli writes of two neighbours at it, as a list."""
    merged = dict(pairs)
    twice = len(merged) < len(pairs) and all(isinstance(value, dict) and "port" in value for _, value in pairs)
    return [{name: value} for name, value in pairs] if twice else merged


def _parsed(text: str, file: str) -> Any:
    """Return the JSON between prompts."""
    opened = re.search(r"[{\[](?=\s*(?:[\"{\[\]}]|-?[0-9]|$))", text)  # `[root@host` is a prompt
    if opened is None:
        return None
    start = opened.start()
    try:
        document, end = json.JSONDecoder(object_pairs_hook=_neighbours).raw_decode(text, start)
        if behind := re.search(r"[{}\[\]\"]", text[end:]):
            raise json.JSONDecodeError("another value follows", text, end + behind.start())
        return document
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise _fault(
            file, line, f"not valid JSON: {getattr(error, 'msg', 'nested too deeply')}", "give it whole"
        ) from None


_LOCAL = ("LocalPort", "Local Intf", "Local Interface", "Loc PortID", "Interface", "Port")
_DEVICE = (
    "RemoteDevice",
    "Neighbor Device ID",
    "Device ID",
    "RemoteHost",
    "Remote Host",
    "Rem Host Name",
    "System Name",
)
_PORT = ("RemotePortID", "Neighbor Port ID", "Port ID", "RemotePort", "Remote Port", "Rem Port Id", "Port info")
_OTHERS = (
    *("Capability", "RemotePortDescr", "Hold-time", "Holdtime", "TTL", "Speed", "Mode", "Type", "Parent Interface"),
    *("Chassis Id", "Rem Chassis Id", "Admin Status", "Oper Status", "MTU", "Summary"),
)
"""Titles of columns by what they hold."""
_ROLES = {
    title.lower(): role
    for role, titles in (("local", _LOCAL), ("device", _DEVICE), ("port", _PORT))
    for title in titles
}
_ROLES |= {title.lower(): title.lower() for title in _OTHERS}
_TITLE = re.compile(
    "|".join(rf"(?<!\S){re.escape(title)}(?!\S)" for title in sorted(_ROLES, key=len, reverse=True)), re.IGNORECASE
)
_STATE = re.compile(r"(?<!\S)(?:Admin|Oper) Status(?!\S)", re.IGNORECASE)
_RULE = re.compile(r"\s*-+(?:\s+-+)+\s*")
_TOTAL = re.compile(r"\s*Total entries displayed:\s*([0-9]{1,6})")
_PROMPT = re.compile(
    r"\[?(?:[\w.-]{1,64}@)?([A-Za-z][\w.-]{0,63})(?:\([\w-]{1,20}\)|[: ][^#>$%\n]{0,40})?\]?[#>$%] ?(.*)"
)
_INTERFACE = re.compile(r"\s*Interface:\s+([\w./:-]{1,64}),\s+via:")
_FIELD = re.compile(r"\s+(SysName|ChassisID|PortID|PortDescr|Capability):\s+(.{0,200}?)\s*$")


def _heading(line: str) -> list[tuple[str, int]]:
    """Return the columns of a heading with their places; empty for any other line."""
    columns = [(_ROLES[match[0].lower()], match.start()) for match in _TITLE.finditer(line)]
    return columns if {"local", "device", "port"} <= {role for role, _ in columns} else []


def _is_lldp_table_line(line: str) -> bool:
    return bool(_heading(line)) or _TOTAL.match(line) is not None or _INTERFACE.match(line) is not None


class _Table:
    def __init__(self, file: str) -> None:
        self.file, self.device = file, _plain_name(_local_name(file))
        self.columns: list[tuple[str, int]] = []
        self.squeezed = False
        """Whether the table has lost its columns: one blank stands where there were several."""
        self.every_port = False
        """Whether the table lists ports without a neighbour too."""
        self.rows = 0
        self.head_line = 1
        self.wrapped = ""
        self.links: list[_EthernetLink] = []
        self.devices: dict[str, _EthernetDevice] = {}
        self.forwarding: set[str] = set()
        self.block: dict[str, str] = {}
        """What lldpctl says of the interface at hand."""

    def add(self, port: str, peer: str, peer_port: str, line: int, *, forwards: bool) -> None:
        name = _plain_name(peer)
        self.links.append(_EthernetLink(device=self.device, port=port, peer=name, peer_port=peer_port, line=line))
        if forwards:
            self.forwarding.add(name)

    def end_block(self) -> None:
        """Add the neighbour that lldpctl told of."""
        block, self.block = self.block, {}
        peer = block.get("SysName") or block.get("ChassisID", "").rpartition(" ")[2]
        if not block or not peer:
            return
        kind, _, port = block.get("PortID", "").partition(" ")
        told = block.get("PortDescr") if kind in ("mac", "local") else None
        self.add(block["interface"], peer, told or port, int(block["line"]), forwards="forwards" in block)

    def line(self, number: int, line: str) -> None:
        if match := _INTERFACE.match(line):
            self.end_block()
            self.columns = []
            self.block = {"interface": match[1], "line": str(number)}
        elif self.block and (field := _FIELD.match(line)):
            if field[1] != "Capability":
                self.block.setdefault(field[1], field[2])
            elif re.fullmatch(r"(?:Bridge|Router),\s*on", field[2]):
                self.block["forwards"] = "on"
        elif columns := _heading(line):
            self.columns, self.rows, self.head_line, self.wrapped = columns, 0, number, ""
            self.every_port = _STATE.search(line) is not None
            self.squeezed = not re.search(r"\S(?:\s{2,}|\t)\S", line)
            self.devices.setdefault(self.device, _EthernetDevice(self.device, switch=True))
        elif match := _TOTAL.match(line):
            if self.columns and int(match[1]) != self.rows:
                message = f"the table has {self.rows} rows, and says {match[1]}"
                raise _fault(self.file, 1, message, "give it whole")
            self.columns = []
        elif prompt := _PROMPT.match(line):
            self.end_block()
            self.columns = []
            if re.search(r"\b(?:show|lldp\w*)\b", prompt[2]):
                self.device = _plain_name(prompt[1])
        elif self.columns and _RULE.fullmatch(line):
            starts = [match.start() for match in re.finditer(r"-+", line)]
            if len(starts) == len(self.columns) and not self.squeezed:
                self.columns = [(role, start) for (role, _), start in zip(self.columns, starts, strict=True)]
        elif self.columns and line.strip() and not line.lstrip().startswith(("--", "{master")):
            self.row(number, line)

    def cells(self, line: str) -> dict[str, str]:
        """Return the cells of a row by what they hold: by their places or, where blanks were lost, in their order.

        Nothing if both leave it open.
        """
        starts = [start for _, start in self.columns]
        words = line.split() if self.squeezed else re.split(r"\s{2,}|\t", line.strip())
        through = any(
            0 < start < len(line) and line[start - 1 : start + 1].strip(" ") == line[start - 1 : start + 1]
            for start in starts
        )
        if through or self.squeezed or "\t" in line:
            fitting = words if len(words) == len(starts) else line.split()
            if len(fitting) == len(starts):
                return {role: word for (role, _), word in zip(self.columns, fitting, strict=True)}
            if self.squeezed or (through and len(words) > len(starts)):
                return {}
        slices = [slice(start, end) for start, end in zip(starts, [*starts[1:], None], strict=True)]
        return {role: line[column].strip() for (role, _), column in zip(self.columns, slices, strict=True)}

    def row(self, number: int, line: str) -> None:
        if self.columns[0][0] == "device" and len(line.split()) == 1 and not self.wrapped and line[0] != " ":
            self.wrapped = line.strip()  # a long name stands alone, and the rest below it
            return
        cells = self.cells(line)
        if not cells:
            message = f"{len(line.split())} words below {len(self.columns)} titles, and their columns are lost"
            raise _fault(self.file, number, message, "give the table with all of its blanks, or as JSON")
        peer, self.wrapped = self.wrapped or cells["device"], ""
        port, peer_port, said = cells["local"], cells["port"], cells.get("remoteportdescr", "")
        if port and not peer and not peer_port and self.every_port:
            return
        if not port or not peer or not peer_port:
            remedy = "give the table of `show lldp neighbors` as the switch printed it"
            raise _fault(self.file, number, "a row without a port and a neighbour", remedy)
        self.rows += 1
        told = said if ADDRESS.match(peer_port) and said else peer_port  # hosts send their address, and a name
        self.add(port, peer, told, number, forwards=bool(set(cells.get("capability", "")) & {"B", "R"}))


def _read_lldp_table(text: str, file: str) -> tuple[list[_EthernetLink], list[_EthernetDevice], set[str]]:
    """Return the links of switches, the switches, and the neighbours that say that they forward.

    The file's stem names the switch until a prompt does.
    """
    table = _Table(file)
    for number, line in enumerate(StringIO(text), start=1):
        table.line(number, line.rstrip("\n").expandtabs() if "\t" not in line.strip() else line.rstrip("\n"))
    table.end_block()
    unlisted = {link.device for link in table.links} - table.devices.keys()
    devices = [*table.devices.values(), *(_EthernetDevice(name, None) for name in sorted(unlisted))]
    return table.links, devices, table.forwarding
