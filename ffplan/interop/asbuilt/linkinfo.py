"""Output of iblinkinfo: a heading for each device with its ports below, or, with `-l`, a line for each port."""

from __future__ import annotations

import re
from collections import Counter
from io import StringIO
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.interop.asbuilt.builder import _Builder
from ffplan.interop.asbuilt.infiniband import _signalled
from ffplan.interop.asbuilt.model import PORTS, _fault

if TYPE_CHECKING:
    from ffplan.interop.asbuilt.model import AsBuilt

_HEAD = re.compile(r"^(CA|Switch|Router): +(?:(0x[0-9a-fA-F]{1,16}) +)?(.*):\s*$")
_PORT = re.compile(
    r'^(?:(0x[0-9a-fA-F]{1,16}) +"([^"]*)"|\s++(?:0x[0-9a-fA-F]{1,16})?+)\s*+'
    r"([0-9]{1,6})\s++([0-9]{1,6})\[[^\]]{0,8}\]\s*==\((.{0,80}?)\)==>\s*(?:(0x[0-9a-fA-F]{1,16})\s+)?([0-9]{1,6})?\s*([0-9]{1,6})?\[[^\]]{0,8}\]\s*\"([^\"]*)\""
)
_RATE = re.compile(r"\b([0-9]{1,2})X\s+([0-9]{1,3}(?:\.[0-9]{1,5})?) Gbps")
_FEW = 4
"""Ports from which a device of a list without headings is a switch: adapters have one or two [1]."""


@record
class _Line:
    head: str
    """Key of its device."""
    lid: int
    port: int
    state: str
    guid: str
    """Guid of the other end, with `-l` alone."""
    peer_lid: int
    peer_port: int
    peer: str
    number: int


def _is_linkinfo_line(line: str) -> bool:
    return _HEAD.match(line) is not None or ("==(" in line and _PORT.match(line) is not None)


class _Reading:
    def __init__(self, file: str) -> None:
        self.builder = _Builder(file, "iblinkinfo")
        self.lines: list[_Line] = []
        self.heads: dict[str, tuple[str, str, int]] = {}
        """Name, kind and line of every device by its key."""
        self.current = ""

    def read(self, text: str) -> None:
        for number, line in enumerate(StringIO(text), start=1):
            if head := _HEAD.match(line):
                kind = "host" if head[1] == "CA" else head[1].lower()
                self.current = head[2] or head[3]
                self.heads.setdefault(self.current, (head[3].strip(), kind, number))
                continue
            match = _PORT.match(line)
            if match is None:
                if line.strip() and not line.startswith("#"):
                    self.builder.skip(line, number)
                continue
            guid, name, lid, port, state, peer_guid, peer_lid, peer_port, peer = match.groups()
            if guid:
                self.heads.setdefault(guid, (name.strip(), "", number))
            elif not self.current:
                raise _fault(self.builder.file, number, "a port before any device", "give the whole output")
            self.lines.append(
                _Line(
                    head=guid or self.current,
                    lid=int(lid),
                    port=int(port),
                    state=state,
                    guid=peer_guid or "",
                    peer_lid=int(peer_lid or 0),
                    peer_port=int(peer_port or 0),
                    peer=peer.strip(),
                    number=number,
                )
            )

    def name_kinds(self) -> None:
        """Decide which devices of a list without headings are switches."""
        ports = Counter(line.head for line in self.lines)
        self.heads = {
            key: (name, kind or ("switch" if ports[key] >= _FEW else "host"), number)
            for key, (name, kind, number) in self.heads.items()
        }

    def key(self, guid: str) -> str:
        """Return the key of a device: a switch's guid, or an adapter's name, as its ports have different guids."""
        name, kind, _ = self.heads[guid]
        return name if kind == "host" and name else guid

    def peer(self, line: _Line, by_name: dict[str, list[str]], lids: dict[tuple[str, int], str]) -> str:
        if line.guid in self.heads:
            return self.key(line.guid)
        key = lids.get((line.peer, line.peer_lid))
        if key is not None:
            return key
        keys = by_name.get(line.peer, [])
        if len(keys) > 1:
            message = f"{len(keys)} devices are named `{line.peer[:40]}`, and no LID tells them apart"
            raise _fault(self.builder.file, line.number, message, "give the output of `iblinkinfo -l`, which has guids")
        return keys[0] if keys else line.peer or line.guid


def _read_linkinfo(text: str, file: str) -> AsBuilt:
    """Return the fabric of iblinkinfo's output, with or without `-l`, of switches alone or of all devices."""
    reading = _Reading(file)
    reading.read(text)
    reading.name_kinds()
    by_name: dict[str, list[str]] = {}
    for guid, (name, _, _) in reading.heads.items():
        keys = by_name.setdefault(name, [])
        if (key := reading.key(guid)) not in keys:
            keys.append(key)
    several: dict[tuple[str, int], set[str]] = {}
    for line in reading.lines:
        if line.lid:
            several.setdefault((reading.heads[line.head][0], line.lid), set()).add(reading.key(line.head))
    lids = {place: next(iter(keys)) for place, keys in several.items() if len(keys) == 1}
    builder = reading.builder
    for guid, (name, kind, number) in reading.heads.items():
        builder.device_of(reading.key(guid), name or guid, kind, number)
    for line in reading.lines:
        if "LinkUp" not in line.state and not line.peer_port:
            continue
        if max(line.port, line.peer_port) >= PORTS or not line.peer_port:
            raise _fault(file, line.number, "a link without the port at its other end", "give the output as it was")
        key = reading.peer(line, by_name, lids)
        device = builder.number(reading.key(line.head))
        neighbour = builder.device_of(key, line.peer or key, "host", line.number, seen=False)
        builder.end(device, line.port, neighbour, line.peer_port, line.number, _rate(line.state))
    return builder.built()


def _rate(state: str) -> tuple[int, float]:
    """Return lanes and rate of a link [Gb/s]; 0 of what its state does not say."""
    match = _RATE.search(state)
    lanes = int(match[1]) if match else 0
    return lanes, lanes * _signalled(float(match[2])) if match else 0.0
