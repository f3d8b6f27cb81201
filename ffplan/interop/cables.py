"""The list of cables that installers work from, and what it adds up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.assessment import SCHEMA_VERSION
from ffplan.fabric.cabling import Cables, cables
from ffplan.fabric.network import TIERS
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
            return host, nic.partition("p")[0] if breakout > 1 else nic, where[device]
        return switches[device], str(port // breakout + 1), where[device]

    width = len(str(len(found)))
    columns = (k.a[found.link], k.a_port[found.link], k.b[found.link], k.b_port[found.link], found.kind, found.length_m)
    rows = []
    for number, (a, a_port, b, b_port, kind, length) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        label = f"C{number + 1:0{width}}"
        rows.append(CableRow(label, *end(a, a_port), *end(b, b_port), found.types[kind].id, length))
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
