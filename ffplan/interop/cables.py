"""The list of cables that installers work from, and what it adds up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.assessment import SCHEMA_VERSION
from ffplan.fabric.cabling import Cables, cables, first_of_cables
from ffplan.fabric.network import TIERS
from ffplan.record import record
from ffplan.results import CableKind, CableRow, CablingReport

if TYPE_CHECKING:
    from ffplan.design.resolve import ResolvedDesign
    from ffplan.fabric.names import Names
    from ffplan.fabric.wiring import Fabric


def _kinds(design: ResolvedDesign, found: Cables) -> list[CableKind]:
    rows = []
    for tier in np.unique(found.tier).tolist():
        for number in np.unique(found.kind[found.tier == tier]).tolist():
            lengths = found.length_m[(found.tier == tier) & (found.kind == number)]
            name = found.types[number].id
            figure = design.prices.items.get(name) if design.prices else None
            rows.append(
                CableKind(
                    name, TIERS[tier], len(lengths), float(lengths.min()), float(lengths.max()), float(lengths.sum()),
                    float(figure.value) * len(lengths) if figure else None,
                )
            )  # fmt: skip
    return rows


def _rows(design: ResolvedDesign, fabric: Fabric, names: Names, found: Cables) -> list[CableRow]:
    k, first = fabric.network.links, len(fabric.network.switches)
    switches, endpoints = names.switches(), names.endpoints()
    breakout = design.spec.fabric.breakout
    place = found.places
    where = [
        f"row {row} rack {rack} U{unit}"
        for row, rack, unit in zip(
            (place.row + 1).tolist(), (place.rack + 1).tolist(), place.unit.tolist(), strict=True
        )
    ]

    def end(device: int, port: int) -> tuple[str, str, str]:
        if device >= first:
            host, nic = endpoints[device - first]
            return host, nic, where[device]
        return switches[device], str(port // breakout + 1), where[device]

    width = len(str(len(found)))
    columns = (k.a[found.link], k.a_port[found.link], k.b[found.link], k.b_port[found.link], found.kind, found.length_m)
    rows = []
    for number, (a, a_port, b, b_port, kind, length) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        label = f"C{number + 1:0{width}}"
        rows.append(CableRow(label, *end(a, a_port), *end(b, b_port), found.types[kind].id, length))
    return rows


@record
class PlainRow:
    """One link of a design without a floor plan."""

    label: str
    from_device: str
    from_port: str
    to_device: str
    to_port: str
    type: str


def cable_list(design: ResolvedDesign, fabric: Fabric, names: Names) -> list[CableRow] | list[PlainRow]:
    """Return the list of cables from port to port; places and lengths where the design has a floor.

    Args:
        design: the design.
        fabric: its fabric.
        names: names of its devices.

    Raises:
        InputError: where something does not fit its rack, or no cable reaches.
    """
    if design.spec.floor is not None:
        return list(cabling(design, fabric, names).cables)
    network, breakout = fabric.network, design.spec.fabric.breakout
    k, titles = network.links, names.devices()
    kept, _ = first_of_cables(fabric, breakout)
    width, first = len(str(len(kept))), len(network.switches)
    columns = (column[kept].tolist() for column in (k.a, k.a_port, k.b, k.b_port, k.tier))
    rows = []
    for number, (a, a_port, b, b_port, tier) in enumerate(zip(*columns, strict=True)):
        host, _, nic = titles[a].partition("/")
        lower = (
            (host, nic.partition("p")[0] if breakout > 1 else nic)
            if a >= first
            else (host, str(a_port // breakout + 1))
        )
        kind = design.inter_switch_link if tier else design.endpoint_link
        rows.append(
            PlainRow(f"C{number + 1:0{width}}", lower[0], lower[1], titles[b], str(b_port // breakout + 1), kind.id)
        )
    return rows


def cabling(design: ResolvedDesign, fabric: Fabric, names: Names) -> CablingReport:
    """Return every cable of a design with a floor.

    Args:
        design: the design.
        fabric: its fabric.
        names: names of its devices.

    Raises:
        InputError: where something does not fit its rack, or no cable reaches.
    """
    found = cables(design, fabric)
    place = found.places
    racks = len(np.unique(place.row * 10_000 + place.rack))
    return CablingReport(
        SCHEMA_VERSION, design.spec.name, design.prices.currency if design.prices else None, place.rows, racks,
        tuple(_kinds(design, found)), tuple(_rows(design, fabric, names, found)),
    )  # fmt: skip
