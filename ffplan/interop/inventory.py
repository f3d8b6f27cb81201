"""Devices, ports and cables of a design, as inventories of data centres list them."""

from __future__ import annotations

import csv
from io import StringIO
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.base.visible import plain_cell
from ffplan.fabric.wiring.cabling import cable_label, first_of_cables
from ffplan.fabric.wiring.cabling import cables as cables_of
from ffplan.fabric.wiring.network import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.interop.exported import Exported

SITE = "ffplan"
"""Site of the devices; it must exist, or be replaced."""
INFINIBAND = {100: "infiniband-edr", 200: "infiniband-hdr", 400: "infiniband-ndr", 800: "infiniband-xdr"}
ETHERNET = {
    10: "10gbase-x-sfpp",
    25: "25gbase-x-sfp28",
    100: "100gbase-x-qsfp28",
    200: "200gbase-x-qsfp56",
    400: "400gbase-x-osfp",
    800: "800gbase-x-osfp",
}
"""Types of interfaces by their rate [Gb/s]; NetBox 4.6.8, dcim/choices.py."""
CABLES = {"dac": "dac-passive", "aoc": "aoc", "optics": "smf"}
"""Types of cables by medium."""


@record
class ListedDevice:
    """A node or a switch."""

    name: str
    role: str
    maker: str
    model: str


@record
class ListedCable:
    """A cable, or one leg of a split one."""

    ends: tuple[tuple[str, str], tuple[str, str]]
    """Device and interface of both ends."""
    kind: str
    label: str
    length_m: float | None
    """Length [m]; None where the design has no floor."""


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
    """Yield the devices: nodes, then switches.

    Args:
        wired: the design.
    """
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


def _links(wired: Exported) -> Iterator[tuple[tuple[str, str], tuple[str, str], int]]:
    """Yield both ends of every link as device and interface, and its tier."""
    k, first = wired.fabric.network.links, len(wired.fabric.network.switches)
    switches, endpoints = wired.names.switches(), wired.names.endpoints()
    printed = wired.names.printed

    def end(device: int, port: int) -> tuple[str, str]:
        return endpoints[device - first] if device >= first else (switches[device], printed.name(device, port))

    columns = ("a", "a_port", "b", "b_port", "tier")
    for a, p, b, q, tier in k.rows(np.arange(len(k)), *columns):
        yield end(a, p), end(b, q), tier


def ports_of(wired: Exported) -> Iterator[tuple[str, str, int]]:
    """Yield device, interface and rate [Gb/s] of every port with a link, by the names of devices, then of ports.

    Args:
        wired: the design.
    """
    network, names = wired.fabric.network, wired.names
    k, first = network.links, len(network.switches)
    ends, ports, rates = (np.concatenate(pair) for pair in ((k.a, k.b), (k.a_port, k.b_port), (k.gbyte_s, k.gbyte_s)))
    order = np.argsort(ends, kind="stable")
    start = np.searchsorted(ends, np.arange(first + len(network.endpoints) + 1), sorter=order).tolist()
    devices = [(name, [number]) for number, name in enumerate(names.switches())]
    devices += [(name, [first + end for end in ends]) for name, ends in names.hosts().items()]
    for device, numbers in sorted(devices):
        found = {}
        for number in numbers:
            own = order[start[number] : start[number + 1]]
            for port, rate in zip(ports[own].tolist(), rates[own].tolist(), strict=True):
                name = names.endpoint(number - first)[1] if number >= first else names.printed.name(number, port)
                found[name] = round(8 * rate)
        yield from ((device, name, rate) for name, rate in sorted(found.items()))


def interface_kinds(wired: Exported) -> dict[int, str]:
    """Return the types of interfaces by their rate [Gb/s].

    Args:
        wired: the design.
    """
    return INFINIBAND if wired.design.switch.fabric == "infiniband" else ETHERNET


def cables_listed(wired: Exported) -> Iterator[ListedCable]:
    """Yield a cable for every link; a split cable is one for each leg.

    Args:
        wired: the design.

    Raises:
        InputError: where something does not fit its rack, or no cable reaches.
    """
    design = wired.design
    kinds = [design.endpoint_link.medium, design.inter_switch_link.medium]
    placed = cables_of(design, wired.fabric) if design.spec.floor is not None else None
    first, of_link = first_of_cables(design, wired.fabric)
    for number, (one, two, tier) in enumerate(_links(wired)):
        at = int(of_link[number])
        medium = kinds[tier > 0] if placed is None else placed.types[int(placed.kind[at])].medium
        length = None if placed is None else float(placed.length_m[at])
        yield ListedCable(ends=(one, two), kind=CABLES[medium], label=cable_label(at, len(first)), length_m=length)
