"""Devices, interfaces and cables as CSV that Nautobot imports, one kind of object a file.

Columns by the parser and the serializers of Nautobot 3.2.7 (core/api/parsers.py, dcim/api/serializers.py): related
objects by `field__name`, and the ends of a cable by the id of an interface, which an import may set.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, UUID, uuid5

from ffplan.interop.inventory import SITE, cable_kind, cables_listed, csv_rows, devices_of, ports_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.exported import Exported

STATUS = "Planned"
"""Status of all objects; Nautobot has it for devices, interfaces and cables."""
MOST_LENGTH = 32_767
"""Largest length of a cable, a small whole number [1]."""


def _space(wired: Exported) -> UUID:
    """Return the space of the ids of a design's interfaces: the same in every export, others in other designs."""
    return uuid5(NAMESPACE_URL, f"ffplan:{wired.design.spec.name}")


def _id(space: UUID, device: str, interface: str) -> str:
    return str(uuid5(space, f"{device}\n{interface}"))


def devices(wired: Exported) -> Iterator[str]:
    """Yield the devices: nodes, then switches.

    Args:
        wired: the design.
    """
    kind = ("device_type__manufacturer__name", "device_type__model")
    head = ("name", "role__name", *kind, "status__name", "location__name")
    return csv_rows(head, ((d.name, d.role, d.maker, d.model, STATUS, SITE) for d in devices_of(wired)))


def interfaces(wired: Exported) -> Iterator[str]:
    """Yield the interfaces that have a cable, with their ids, type and rate [kb/s]; a split port has one for each part.

    Args:
        wired: the design.
    """
    space = _space(wired)
    head = ("id", "device__name", "name", "type", "status__name", "speed")

    def rows() -> Iterator[tuple[object, ...]]:
        for device, name, kind, rate in ports_of(wired):
            yield _id(space, device, name), device, name, kind, STATUS, rate * 1_000_000

    return csv_rows(head, rows())


def _length(length_m: float | None) -> tuple[object, str]:
    """Return a length as a whole number with its unit, rounded up; empty where it is not known."""
    if length_m is None:
        return "", ""
    centimetres = math.ceil(round(100 * length_m, 6))
    return (centimetres, "cm") if centimetres <= MOST_LENGTH else (math.ceil(length_m), "m")


def cables(wired: Exported) -> Iterator[str]:
    """Yield a cable for every link, with its length where the design has a floor; a split cable is one for each leg.

    Args:
        wired: the design.

    Raises:
        InputError: where something does not fit its rack, or no cable reaches.
    """
    space = _space(wired)
    ends = tuple(f"termination_{end}_{what}" for end in "ab" for what in ("type", "id"))
    head = (*ends, "type", "status__name", "label", "length", "length_unit")

    def rows() -> Iterator[tuple[object, ...]]:
        for cable in cables_listed(wired):
            a, b = (_id(space, *end) for end in (cable.lower, cable.upper))
            own = ("dcim.interface", a, "dcim.interface", b)
            yield (*own, cable_kind(cable.type), STATUS, cable.label, *_length(cable.length_m))

    return csv_rows(head, rows())
