"""Devices, ports and cables of a design as CSV tables that NetBox and Nautobot import.

Columns of Nautobot follow the parser and the serializers of Nautobot 3.2.7 (core/api/parsers.py,
dcim/api/serializers.py): related objects by `field__name`, the ends of a cable by the id of an interface, which an
import may set.
"""

from __future__ import annotations

import math
from heapq import merge
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np

from ffplan.base.plain import csv_parts
from ffplan.base.record import record
from ffplan.fabric.wiring.cabling import cable_legs, cables
from ffplan.fabric.wiring.network import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.catalog.parts import Link
    from ffplan.fabric.wiring.cabling import CableLeg
    from ffplan.interop.exported import Exported

_SITE = "ffplan"
"""Site of the devices; it must exist, or be replaced."""
_INFINIBAND = {100: "infiniband-edr", 200: "infiniband-hdr", 400: "infiniband-ndr", 800: "infiniband-xdr"}
_ETHERNET = {
    1: "1000base-t",
    10: "10gbase-x-sfpp",
    25: "25gbase-x-sfp28",
    100: "100gbase-x-qsfp28",
    200: "200gbase-x-qsfp56",
    400: "400gbase-x-osfp",
    800: "800gbase-x-osfp",
}
"""Types of interfaces by their rate [Gb/s]; NetBox 4.6.8, dcim/choices.py."""
_CABLES = {
    "passive-copper": "dac-passive",
    "active-copper": "dac-active",
    "twisted-pair": "cat6",
    "active-optical": "aoc",
    "single-mode": "smf",
    "multimode": "mmf",
}
"""Types of cables by what their parts say; NetBox 4.6.8 and Nautobot 3.2.7, dcim/choices.py."""
_MEDIA = {"dac": "passive-copper", "aoc": "active-optical"}
"""What a cable of a medium is where its part does not say; optics run over either fibre."""


@record
class _ListedDevice:
    name: str
    role: str
    maker: str
    model: str


def _devices_of(wired: Exported) -> Iterator[_ListedDevice]:
    """Yield the devices of every network: nodes, then switches; each device once."""
    known: set[str] = set()
    for network in wired.networks:
        for device in _devices(network):
            if device.name not in known:
                known.add(device.name)
                yield device


def _devices(wired: Exported) -> Iterator[_ListedDevice]:
    groups = wired.design.groups
    e = wired.fabric.network.endpoints
    for name, ports in wired.names.hosts().items():
        group = groups[int(e.group[ports[0]])]
        yield _ListedDevice(name=name, role=group.group.role, maker=group.server.vendor, model=group.server.name)
    role = wired.fabric.network.switches.role.tolist()
    models = [wired.design.parts.switch_of(name) for name in ROLES]
    for number, name in enumerate(wired.names.switches()):
        model = models[role[number]]
        yield _ListedDevice(name=name, role="switch", maker=model.vendor, model=model.name)


def _ports_of(wired: Exported) -> Iterator[tuple[str, str, str, int]]:
    """Yield device, interface, its type and rate [Gb/s] of every port with a link, by the names of devices, then of
    ports.
    """
    return merge(*(_ports(network) for network in wired.networks))


def _ports(wired: Exported) -> Iterator[tuple[str, str, str, int]]:
    network, names = wired.fabric.network, wired.names
    kinds = _INFINIBAND if wired.design.parts.switch.fabric == "infiniband" else _ETHERNET
    k, first = network.links, len(network.switches)
    ends, ports, rates = (np.concatenate(pair) for pair in ((k.a, k.b), (k.a_port, k.b_port), (k.gbyte_s, k.gbyte_s)))
    order = np.argsort(ends, kind="stable")
    start = np.searchsorted(ends, np.arange(first + len(network.endpoints) + 1), sorter=order).tolist()
    devices = [(name, [number]) for number, name in enumerate(names.switches())]
    devices += [(name, [first + end for end in ends]) for name, ends in names.hosts().items()]
    for device, numbers in sorted(devices):
        by_name = {}
        for number in numbers:
            here = order[start[number] : start[number + 1]]
            for port, rate in zip(ports[here].tolist(), rates[here].tolist(), strict=True):
                name = names.endpoint(number - first)[1] if number >= first else names.printed.name(number, port)
                by_name[name] = round(8 * rate)
        yield from ((device, name, kinds.get(rate, "other"), rate) for name, rate in sorted(by_name.items()))


def _cable_kind(link: Link) -> str:
    """Return the type of a cable, empty where its part does not say which fibre it has."""
    return _CABLES.get(link.cable or _MEDIA.get(link.medium, ""), "")


def _cables_listed(wired: Exported) -> Iterator[CableLeg]:
    """Yield the cables of every network; a split cable is one for each leg."""
    for network in wired.networks:
        yield from cable_legs(network.fabric.network, network.names, cables(network.design, network.fabric))


def _netbox_devices(wired: Exported) -> Iterator[str]:
    head = ("name", "role", "manufacturer", "device_type", "status", "site")
    return csv_parts(head, ((d.name, d.role, d.maker, d.model, "planned", _SITE) for d in _devices_of(wired)))


def _netbox_interfaces(wired: Exported) -> Iterator[str]:
    """Yield the interfaces that have a cable, with type and rate [kb/s]; a split port has one for each part."""
    head = ("device", "name", "type", "speed")
    return csv_parts(head, ((*port, rate * 1_000_000) for *port, rate in _ports_of(wired)))  # Gb/s to kb/s


def _netbox_cables(wired: Exported) -> Iterator[str]:
    """Yield a cable for every link, with its length where the design has a floor; a split cable is one for each leg."""
    side = ("side_{}_device", "side_{}_type", "side_{}_name")
    head = (*(name.format(end) for end in "ab" for name in side), "type", "status", "label", "length", "length_unit")

    def rows() -> Iterator[tuple[object, ...]]:
        for cable in _cables_listed(wired):
            (a, a_port), (b, b_port) = cable.lower, cable.upper
            length = ("", "") if cable.length_m is None else (f"{cable.length_m:g}", "m")
            ends = (a, "dcim.interface", a_port, b, "dcim.interface", b_port)
            yield (*ends, _cable_kind(cable.type), "planned", cable.label, *length)

    return csv_parts(head, rows())


_STATUS = "Planned"
"""Status of all objects; Nautobot has it for devices, interfaces and cables."""
_MOST_LENGTH = 32_767
"""Largest length of a cable, a small whole number [1]."""


def _space(wired: Exported) -> UUID:
    """Return the space of the ids of a design's interfaces: the same in every export, others in other designs."""
    return uuid5(NAMESPACE_URL, f"ffplan:{wired.design.spec.name}")


def _id(space: UUID, device: str, interface: str) -> str:
    return str(uuid5(space, f"{device}\n{interface}"))


def _nautobot_devices(wired: Exported) -> Iterator[str]:
    kind = ("device_type__manufacturer__name", "device_type__model")
    head = ("name", "role__name", *kind, "status__name", "location__name")
    return csv_parts(head, ((d.name, d.role, d.maker, d.model, _STATUS, _SITE) for d in _devices_of(wired)))


def _nautobot_interfaces(wired: Exported) -> Iterator[str]:
    space = _space(wired)
    head = ("id", "device__name", "name", "type", "status__name", "speed")

    def rows() -> Iterator[tuple[object, ...]]:
        for device, name, kind, rate in _ports_of(wired):
            yield _id(space, device, name), device, name, kind, _STATUS, rate * 1_000_000

    return csv_parts(head, rows())


def _length(length_m: float | None) -> tuple[object, str]:
    """Return a length as a whole number with its unit, rounded up; empty if unknown."""
    if length_m is None:
        return "", ""
    centimetres = math.ceil(round(100 * length_m, 6))  # rounded first: 100 * 0.29 is 28.999999999999996
    return (centimetres, "cm") if centimetres <= _MOST_LENGTH else (math.ceil(length_m), "m")


def _nautobot_cables(wired: Exported) -> Iterator[str]:
    space = _space(wired)
    ends = tuple(f"termination_{end}_{what}" for end in "ab" for what in ("type", "id"))
    head = (*ends, "type", "status__name", "label", "length", "length_unit")

    def rows() -> Iterator[tuple[object, ...]]:
        for cable in _cables_listed(wired):
            a, b = (_id(space, *end) for end in (cable.lower, cable.upper))
            ends = ("dcim.interface", a, "dcim.interface", b)
            yield (*ends, _cable_kind(cable.type), _STATUS, cable.label, *_length(cable.length_m))

    return csv_parts(head, rows())


_TABLES: dict[tuple[str, str], Callable[[Exported], Iterator[str]]] = {
    ("netbox", "devices"): _netbox_devices,
    ("netbox", "interfaces"): _netbox_interfaces,
    ("netbox", "cables"): _netbox_cables,
    ("nautobot", "devices"): _nautobot_devices,
    ("nautobot", "interfaces"): _nautobot_interfaces,
    ("nautobot", "cables"): _nautobot_cables,
}


def inventory_table(wired: Exported, program: str, table: str) -> Iterator[str]:
    """Yield a table as CSV, line by line.

    Args:
        table: devices, interfaces or cables, which are imported in this order.

    Raises:
        InputError: where something does not fit its rack, or no cable reaches.
    """
    return _TABLES[program, table](wired)
