"""Outputs of `iblinkinfo`, with `-l` or without, of switches alone or of all devices."""

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
_LINK = re.compile(
    r'^(?:(0x[0-9a-fA-F]{1,16}) +"([^"]*)"|\s++(0x[0-9a-fA-F]{1,16})?+)\s*+'
    r"([0-9]{1,6})\s++([0-9]{1,6})\[[^\]]{0,8}\]\s*==\((.{0,80}?)\)==>\s*(?:(0x[0-9a-fA-F]{1,16})\s+)?([0-9]{1,6})?\s*([0-9]{1,6})?\[[^\]]{0,8}\]\s*\"([^\"]*)\""
)
_BEGUN = re.compile(
    r"^(?:0x[0-9a-fA-F]{1,16} +\"[^\"]{0,200}\"|\s++(?:0x[0-9a-fA-F]{1,16})?+)\s*+[0-9]{1,6}\s++[0-9]{1,6}\["
)
"""What the line of a port begins with; one that is cut off may end behind it."""
_RATE = re.compile(r"\b([0-9]{1,2})X\s+([0-9]{1,3}(?:\.[0-9]{1,5})?) Gbps")
_LOGICAL = re.compile(r"([A-Za-z]{1,12})\s*/")
"""State of a port, as in `Initialize/  LinkUp`."""
_FEW = 2
"""Ports of an adapter, at most: a device of a list without headings that has more is a switch [1]."""
_MANAGED = "MF0;"
"""Beginning of the name of a managed switch."""


@record
class _Line:
    head: str
    """Key of its device."""
    own: str
    """Guid of its own end, with `-l` alone."""
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
    return _HEAD.match(line) is not None or ("==(" in line and _LINK.match(line) is not None)


def _kind_of(name: str, port: int) -> str:
    """Return whether a device with a name and a port is a switch or a host."""
    return "switch" if port > _FEW or name.startswith(_MANAGED) else "host"


class _Reading:
    def __init__(self, file: str) -> None:
        self.builder = _Builder(file, "iblinkinfo")
        self.lines: list[_Line] = []
        self.heads: dict[str, tuple[str, str, int]] = {}
        """Name, kind and line of every device by its guid; of an adapter by the guid of its first port."""
        self.current = ""
        self.open: tuple[str, str, int] | None = None
        """Name, kind and line of a heading without a guid, until its first port gives one."""
        self.cut: tuple[str, int] | None = None
        """The last line and its number, if it is the beginning of a port's."""
        self.shared: set[str] = set()
        """Names that several adapters have, such as the maker's text where no host has set one."""

    def read(self, text: str) -> None:
        for number, line in enumerate(StringIO(text), start=1):
            if line.strip():
                self.cut = None
            if head := _HEAD.match(line):
                self.begin("")
                self.open = (head[3].strip(), "host" if head[1] == "CA" else head[1].lower(), number)
                self.current = ""
                if head[2]:
                    self.begin(head[2])
                continue
            match = _LINK.match(line)
            if match is None:
                self.pass_over(line, number)
                continue
            guid, name, own, lid, port, state, peer_guid, peer_lid, peer_port, peer = match.groups()
            if guid:
                self.heads.setdefault(guid, (name.strip(), "", number))
            else:
                self.begin(own or "")
                if not self.current:
                    raise _fault(self.builder.file, number, "a port before any device", "give the whole output")
            self.lines.append(
                _Line(
                    head=guid or self.current,
                    own=guid or "",
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
        self.begin("")
        if self.cut is not None:
            message = f"the line of a port ends early: `{self.cut[0].strip()[:50]}`"
            raise _fault(self.builder.file, self.cut[1], message, "the file is cut off: give the whole output")

    def pass_over(self, line: str, number: int) -> None:
        if not line.strip() or line.startswith("#"):
            return
        if _BEGUN.match(line):
            self.cut = (line, number)
        self.builder.skip(line, number)

    def begin(self, guid: str) -> None:
        """Add the device of the open heading under a guid, or under its name where no port has one."""
        if self.open is not None:
            self.current = guid or self.open[0]
            self.heads.setdefault(self.current, self.open)
            self.open = None

    def name_kinds(self) -> None:
        """Decide which devices of a list without headings are switches."""
        ports: dict[str, int] = {}
        for line in self.lines:
            for key, port in ((line.head, line.port), (line.guid, line.peer_port)):
                ports[key] = max(ports.get(key, 0), port)
        self.heads = {
            key: (name, kind or _kind_of(name, ports.get(key, 0)), number)
            for key, (name, kind, number) in self.heads.items()
        }

    def find_shared(self) -> None:
        """Find the names that several adapters have: several headings, or one port with several guids or LIDs."""
        told = {line.head for line in self.lines if line.own}
        headed = Counter(name for key, (name, _, _) in self.heads.items() if key not in told)
        ports: dict[tuple[str, int], set[str | int]] = {}
        for line in self.lines:
            if here := line.own or line.lid:
                ports.setdefault((self.heads[line.head][0], line.port), set()).add(here)
            if line.peer_port:
                there = line.guid or line.peer_lid or -line.number
                ports.setdefault((line.peer, line.peer_port), set()).add(there)
        several = {name for (name, _), ids in ports.items() if len({own for own in ids if own}) > 1}
        self.shared = several | {name for name, count in headed.items() if count > 1}

    def key(self, guid: str) -> str:
        """Return the key of a device: its guid, or an adapter's own name, as its ports have different guids."""
        name, kind, _ = self.heads[guid]
        return name if kind == "host" and name and name not in self.shared else guid

    def peer(self, line: _Line, by_name: dict[str, list[str]], lids: dict[tuple[str, int], str]) -> str:
        if line.guid in self.heads:
            return self.key(line.guid)
        shared = line.peer in self.shared
        if shared and line.guid:
            return line.guid
        key = lids.get((line.peer, line.peer_lid))
        if key is not None:
            return key
        if shared and line.peer_lid:
            return f"LID {line.peer_lid}"
        keys = by_name.get(line.peer, [])
        if len(keys) > 1 or shared:
            count = len(keys) if len(keys) > 1 else "several"
            message = f"{count} devices are named `{line.peer[:40]}`, and no LID tells them apart"
            raise _fault(self.builder.file, line.number, message, "give the output of `iblinkinfo -l`, which has guids")
        return keys[0] if keys else line.peer or line.guid


def _read_linkinfo(text: str, file: str) -> AsBuilt:
    """Return the fabric of iblinkinfo's output, with or without `-l`, of switches alone or of all devices."""
    reading = _Reading(file)
    reading.read(text)
    reading.name_kinds()
    reading.find_shared()
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
    ends: list[tuple[_Line, str]] = []
    for line in reading.lines:
        if "LinkUp" not in line.state and not line.peer_port:
            continue
        if max(line.port, line.peer_port) >= PORTS or not line.peer_port:
            raise _fault(file, line.number, "a link without the port at its other end", "give the output as it was")
        ends.append((line, reading.peer(line, by_name, lids)))
    far: dict[str, int] = {}
    for line, key in ends:
        far[key] = max(far.get(key, 0), line.peer_port)
    for line, key in ends:
        device = builder.number(reading.key(line.head))
        kind = _kind_of(line.peer, far[key])
        neighbour = builder.device_of(key, line.peer or key, kind, line.number, seen=False)
        builder.end(
            device, line.port, neighbour, line.peer_port, line.number, _rate(line.state), idle=_is_idle(line.state)
        )
    return builder.built()


def _is_idle(state: str) -> bool:
    """Return whether a link is up at a port that is initialised or armed, and not active."""
    match = _LOGICAL.search(state)
    return match is not None and "LinkUp" in state and match[1] != "Active"


def _rate(state: str) -> tuple[int, float]:
    """Return lanes and rate of a link [Gb/s]; 0 of what its state does not say."""
    match = _RATE.search(state)
    lanes = int(match[1]) if match else 0
    return lanes, lanes * _signalled(float(match[2])) if match else 0.0
