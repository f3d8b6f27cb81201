"""Devices, interfaces and cables as CSV that NetBox imports, one kind of object a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.interop.inventory import SITE, cable_kind, cables_listed, csv_rows, devices_of, ports_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.exported import Exported


def devices(wired: Exported) -> Iterator[str]:
    """Yield the devices: nodes, then switches.

    Args:
        wired: the design.
    """
    head = ("name", "role", "manufacturer", "device_type", "status", "site")
    return csv_rows(head, ((d.name, d.role, d.maker, d.model, "planned", SITE) for d in devices_of(wired)))


def interfaces(wired: Exported) -> Iterator[str]:
    """Yield the interfaces that have a cable, with type and rate [kb/s]; a split port has one for each part.

    Args:
        wired: the design.
    """
    head = ("device", "name", "type", "speed")
    return csv_rows(head, ((*port, rate * 1_000_000) for *port, rate in ports_of(wired)))


def cables(wired: Exported) -> Iterator[str]:
    """Yield a cable for every link, with its length where the design has a floor; a split cable is one for each leg.

    Args:
        wired: the design.

    Raises:
        InputError: where something does not fit its rack, or no cable reaches.
    """
    side = ("side_{}_device", "side_{}_type", "side_{}_name")
    head = (*(name.format(end) for end in "ab" for name in side), "type", "status", "label", "length", "length_unit")

    def rows() -> Iterator[tuple[object, ...]]:
        for cable in cables_listed(wired):
            (a, a_port), (b, b_port) = cable.lower, cable.upper
            length = ("", "") if cable.length_m is None else (f"{cable.length_m:g}", "m")
            ends = (a, "dcim.interface", a_port, b, "dcim.interface", b_port)
            yield (*ends, cable_kind(cable.type), "planned", cable.label, *length)

    return csv_rows(head, rows())
