"""Neighbours by LLDP as switches print them: tables of `show lldp neighbors` and the text of lldpctl.

Formats: EOS, NX-OS and IOS, Cumulus, SONiC, Junos and OS10. A prompt names the switch that follows it;
without one the name of the file does.
"""

from __future__ import annotations

import re
from io import StringIO

from ffplan.interop.asbuilt.ethernet import ADDRESS, _EthernetDevice, _EthernetLink, _plain_name
from ffplan.interop.asbuilt.lldp import _local_name
from ffplan.interop.asbuilt.model import _fault

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
    *("Chassis Id", "Rem Chassis Id"),
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
