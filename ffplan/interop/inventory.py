"""Devices, ports and cables of a design, as inventories of data centres list them."""

from __future__ import annotations

import csv
from heapq import merge
from io import StringIO
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.control_characters import plain_cell
from ffplan.base.record import record
from ffplan.fabric.wiring.cable_list import cable_legs
from ffplan.fabric.wiring.cabling import cables
from ffplan.fabric.wiring.network import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.catalog.parts import Link
    from ffplan.fabric.wiring.cable_list import CableLeg
    from ffplan.interop.exported import Exported

SITE = "ffplan"
"""Site of the devices; it must exist, or be replaced."""
INFINIBAND = {100: "infiniband-edr", 200: "infiniband-hdr", 400: "infiniband-ndr", 800: "infiniband-xdr"}
ETHERNET = {
    1: "1000base-t",
    10: "10gbase-x-sfpp",
    25: "25gbase-x-sfp28",
    100: "100gbase-x-qsfp28",
    200: "200gbase-x-qsfp56",
    400: "400gbase-x-osfp",
    800: "800gbase-x-osfp",
}
"""Types of interfaces by their rate [Gb/s]; NetBox 4.6.8, dcim/choices.py."""
CABLES = {
    "passive-copper": "dac-passive",
    "active-copper": "dac-active",
    "twisted-pair": "cat6",
    "active-optical": "aoc",
    "single-mode": "smf",
    "multimode": "mmf",
}
"""Types of cables by what their parts say; NetBox 4.6.8 and Nautobot 3.2.7, dcim/choices.py."""
MEDIA = {"dac": "passive-copper", "aoc": "active-optical"}
"""What a cable of a medium is where its part does not say; optics run over either fibre."""


@record
class ListedDevice:
    """A node or a switch."""

    name: str
    role: str
    maker: str
    model: str


def csv_rows(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    """Yield lines of CSV."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in chain((head,), rows):
        writer.writerow([plain_cell(item) if isinstance(item, str) else item for item in row])
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def devices_of(wired: Exported) -> Iterator[ListedDevice]:
    """Yield the devices of every network: nodes, then switches; each device once.

    Args:
        wired: the design.
    """
    known: set[str] = set()
    for network in wired.networks:
        for device in _devices(network):
            if device.name not in known:
                known.add(device.name)
                yield device


def _devices(wired: Exported) -> Iterator[ListedDevice]:
    """Yield the nodes of a network, then its switches."""
    groups = wired.design.groups
    e = wired.fabric.network.endpoints
    for name, ports in wired.names.hosts().items():
        group = groups[int(e.group[ports[0]])]
        yield ListedDevice(name=name, role=group.group.role, maker=group.server.vendor, model=group.server.name)
    role = wired.fabric.network.switches.role.tolist()
    models = [wired.design.switch_of(name) for name in ROLES]
    for number, name in enumerate(wired.names.switches()):
        model = models[role[number]]
        yield ListedDevice(name=name, role="switch", maker=model.vendor, model=model.name)


def ports_of(wired: Exported) -> Iterator[tuple[str, str, str, int]]:
    """Yield device, interface, its type and rate [Gb/s] of every port with a link, by the names of devices, then of
    ports.

    Args:
        wired: the design.
    """
    return merge(*(_ports(network) for network in wired.networks))


def _ports(wired: Exported) -> Iterator[tuple[str, str, str, int]]:
    """Yield the ports of a network."""
    network, names = wired.fabric.network, wired.names
    kinds = INFINIBAND if wired.design.switch.fabric == "infiniband" else ETHERNET
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


def cable_kind(link: Link) -> str:
    """Return the type of a cable, empty where its part does not say which fibre it has.

    Args:
        link: the part.
    """
    return CABLES.get(link.cable or MEDIA.get(link.medium, ""), "")


def cables_listed(wired: Exported) -> Iterator[CableLeg]:
    """Yield the cables of every network; a split cable is one for each leg.

    Args:
        wired: the design.

    Raises:
        InputError: where something does not fit its rack, or no cable reaches.
    """
    for one in wired.networks:
        yield from cable_legs(one.fabric.network, one.names, cables(one.design, one.fabric))
