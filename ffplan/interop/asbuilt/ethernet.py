"""Links of Ethernet fabrics: devices by name, ports by the names that network systems give them."""

from __future__ import annotations

import re
from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.interop.asbuilt.builder import _Builder
from ffplan.interop.asbuilt.model import _fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ffplan.interop.asbuilt.model import AsBuilt

_SWP = re.compile(r"^swp([0-9]{1,4})(?:s([0-9]{1,2}))?$", re.IGNORECASE)
_MANAGEMENT = re.compile(r"^(?:(?:mgmt|[Mm]anagement|Ma)[0-9]{1,2}(?:/[0-9])*|(?:eth|em|me|fxp)[0-9])$")
"""A port of a switch that is no port of its fabric: an endpoint of another network."""
_JUNOS = re.compile(r"^(?:et|xe|ge|fte)-[0-9]{1,2}/0/([0-9]{1,4})(?::([0-9]{1,2}))?$")
"""A port of a fixed switch of Junos, which counts ports and their parts from 0."""
_LANED = re.compile(r"^(?:ethernet|et)([0-9]{1,3})/([0-9])$", re.IGNORECASE)
"""Port and lane of EOS, where NX-OS has slot and port."""
_ARISTA = re.compile(r"^(?:Ethernet|Et)([0-9]{1,3})$")
_SLOTTED = re.compile(
    r"^(?:ethernet|eth|et|ce|gi|te|fo|hu|twe|xe)-?[0-9]{1,3}/([0-9]{1,4})(?:/([0-9]{1,2}))?$", re.IGNORECASE
)
_SPLIT = re.compile(r"^ethernet[0-9]{1,2}/[0-9]{1,2}/([0-9]{1,4})(?::([0-9]{1,2}))?$", re.IGNORECASE)
"""Node, slot, port and its part of OS10, where NX-OS has slot, port and part."""
_FLAT = re.compile(r"^Ethernet([0-9]{1,5})$")
_ALIAS = re.compile(r"^etp([0-9]{1,4})([a-h])?$", re.IGNORECASE)
_NUMBERED = re.compile(r"^(?:port|p)[ -]?([0-9]{1,4})$", re.IGNORECASE)
COUNTED = "#{}"
"""Name of a port by its number alone, where a file counts the parts of split ports as ports."""
_COUNTED = re.compile(r"^#([0-9]{1,7})$")
_SWITCHED = (_SWP, _JUNOS, _SLOTTED, _SPLIT, _FLAT, _ARISTA, _ALIAS, _COUNTED)
ADDRESS = re.compile(r"^([0-9a-f]{2}[:.-]){5}[0-9a-f]{2}$", re.IGNORECASE)
"""Address of a network card."""


@record
class _EthernetLink:
    device: str
    port: str
    peer: str
    peer_port: str
    line: int
    gbit_s: float = 0.0


@record
class _EthernetDevice:
    name: str
    switch: bool | None
    """None where the file does not say."""
    listed: bool = True
    """True where the links of this device itself are listed."""


def _is_switch_port(name: str) -> bool:
    return any(form.match(name) for form in _SWITCHED)


def _plain_name(name: str) -> str:
    """Return a device's name without its domain; addresses and names with dots inside brackets stay."""
    text = name.strip()
    return text if ADDRESS.match(text) or text.replace(".", "").isdigit() else text.split(".")[0]


def _spellings(links: Sequence[_EthernetLink], devices: Sequence[_EthernetDevice]) -> dict[str, str]:
    """Return the one spelling of each device by its name in lower case: as it names itself, else as first written.

    Names of hosts have no case: neighbours may write `LEAF-01` of a switch that calls itself `leaf-01`.
    """
    own = (device.name for device in sorted(devices, key=lambda device: not device.listed))
    names = (*own, *(link.device for link in links), *(link.peer for link in links))
    return {name.lower(): name for name in reversed(names)}


class _Ports:
    """Numbers of the ports of one switch, from their names; a port split in parts counts as its parts.

    A port that no name mentions is split like the port before it: switches are split in blocks.
    """

    def __init__(self, names: Iterable[str]) -> None:
        names = list(names)
        lanes = [match.groups() for name in names if (match := _LANED.match(name))]
        several = len({port for port, _ in lanes}) > 1 or any(port != "1" and lane == "1" for port, lane in lanes)
        self.laned = several and len(lanes) == sum("/" in name for name in names)
        self.split = any(match[2] for name in names if (match := _SPLIT.match(name)))
        places = [place for name in names if (place := self.place(name)) is not None]
        self.first = _first_numbers(_parts(places))
        flat = [int(match[1]) for name in names if (match := _FLAT.match(name))]
        self.step = gcd(*flat) or 1 if flat else 1
        self.from_zero = not flat or 0 in flat or self.step > 1  # SONiC counts from 0, EOS from 1

    def place(self, name: str) -> tuple[int, int | None] | None:
        return _place(name, laned=self.laned, split=self.split)

    def printed(self, names: Iterable[str]) -> tuple[tuple[int, int, int], ...]:
        """Return the number, the printed port and its part, from 0, of the ports whose names tell; -1 of a whole port.

        Lane 1 may be a whole port as well as its first part.
        """
        places = [(name, *place) for name in names if (place := self.place(name)) is not None]
        parts = [
            (self.number(name), port, part if part is not None else 0 if self.laned else -1)
            for name, port, part in places
        ]
        return tuple(sorted(parts))

    def number(self, name: str) -> int:
        """Return the number of a port, from 1; 0 where its name has none."""
        place = self.place(name)
        if place is not None:
            return self.first[place[0]] + (place[1] or 0)
        if match := _FLAT.match(name):
            return int(match[1]) // self.step + self.from_zero
        match = _NUMBERED.match(name) or _COUNTED.match(name)
        return int(match[1]) if match else 0


def _place(name: str, *, laned: bool = False, split: bool = False) -> tuple[int, int | None] | None:
    """Return the whole port and the part, from 0, in a port's name; None if the name counts no parts.

    With `laned`, `Ethernet49/1` is a lane of port 49, else port 1 of slot 49; with `split`, `ethernet1/1/5` is port 5
    beside parts such as `ethernet1/1/1:2`, else part 5 of port 1.
    """
    if split and (match := _SPLIT.match(name)):
        return int(match[1]), int(match[2]) - 1 if match[2] else None
    if laned and (match := _LANED.match(name)):
        return int(match[1]), None if match[2] == "1" else int(match[2]) - 1
    if match := _JUNOS.match(name):
        return int(match[1]) + 1, int(match[2]) if match[2] else None
    if name.startswith("Et") and (match := _ARISTA.match(name)) and not name.startswith("Ethernet"):
        return int(match[1]), None
    if match := _SWP.match(name):
        return int(match[1]), int(match[2]) if match[2] else None
    if match := _SLOTTED.match(name):
        if match[1] == "0" and match[2]:  # member, module and port of IOS: Te1/0/1
            return int(match[2]), None
        return int(match[1]), int(match[2]) - 1 if match[2] else None
    if match := _ALIAS.match(name):
        return int(match[1]), ord(match[2].lower()) - 97 if match[2] else None
    return None


def _parts(places: Iterable[tuple[int, int | None]]) -> dict[int, int]:
    """Count the parts into which each port of a switch is split, in order.

    A port with few cabled parts is split like its neighbours: like both if they agree, or like the one before it if
    ports that nobody names follow.
    """
    widths: dict[int, int] = {}
    for port, part in places:
        width = 1 if part is None else max(2, 1 << part.bit_length())
        widths[port] = max(widths.get(port, 1), width)
    parts: dict[int, int] = {}
    ports = sorted(widths)
    for before, port, after in zip([None, *ports], ports, [*ports[1:], None], strict=False):
        width = parts[before] if before is not None else 1
        block = after is None or after > port + 1 or widths[after] == width
        parts[port] = max(widths[port], width) if block and widths[port] > 1 else widths[port]
    return parts


def _first_numbers(parts: dict[int, int]) -> dict[int, int]:
    """Return the number of the first part of every port, counted from 1."""
    numbers: dict[int, int] = {}
    before, number = 1, 1
    width = parts[min(parts)] if parts else 1
    for port in sorted(parts):
        number += (port - before) * width
        numbers[port], before, width = number, port, parts[port]
    return numbers


def _built_of(file: str, form: str, links: list[_EthernetLink], devices: list[_EthernetDevice]) -> AsBuilt:
    """Return the fabric of links by name.

    A switch is a device that says so, or whose ports have names of switch ports; a port of a host is a device of its
    own, named `host port`, as adapters of InfiniBand are.
    """
    said = {device.name: device.switch for device in devices if device.switch is not None}
    own_files = {device.name for device in devices if device.listed}
    ports: dict[str, set[str]] = {}
    for link in links:
        ports.setdefault(link.device, set()).add(link.port)
        ports.setdefault(link.peer, set()).add(link.peer_port)
    # a device that says so forwards; of the others the names of their ports tell
    by_ports = {name: any(map(_is_switch_port, device_ports)) for name, device_ports in ports.items()}
    switches = {name for name, looks in by_ports.items() if (looks if said.get(name) is None else said[name])}
    numbers = {name: _Ports(sorted(ports[name])) for name in switches}
    builder = _Builder(file, form)

    def end(device: str, port: str, line: int) -> tuple[int, int]:
        listed = device in own_files
        if device not in switches or _MANAGEMENT.match(port):
            name = f"{device} {port}".strip()
            return builder.device_of(name, name, "host", line, seen=listed), 1
        number = numbers[device].number(port)
        if not number:
            message = f"`{port[:30]}` of `{device}` is not a port of a switch"
            raise _fault(file, line, message, "ports are named swp1, Ethernet1/1, Ethernet0 or etp1, or Port 1")
        return builder.device_of(device, device, "switch", line, seen=listed), number

    for link in links:
        (near, port), (far, peer) = end(link.device, link.port, link.line), end(link.peer, link.peer_port, link.line)
        builder.end(near, port, far, peer, link.line, (0, link.gbit_s))
    for device in devices:
        if device.name not in ports and device.switch is not False:
            builder.device_of(device.name, device.name, "switch", 1)
    built = builder.built()
    printed = {name: numbers[name].printed(ports[name]) for name in switches}
    return replace(built, devices=[replace(device, printed=printed.get(device.key, ())) for device in built.devices])
