"""The list of cables that installers work from, and what it adds up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.fabric.wiring.cabling import Cables, cables, first_of_cables
from ffplan.fabric.wiring.network import TIERS
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import CableKind, CableRow, CablingReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.arrays import Ints
    from ffplan.design.resolve import ResolvedDesign
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.wiring import Fabric


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
    place = found.places
    where = [
        f"row {row} rack {rack} U{unit}"
        for row, rack, unit in zip(
            (place.row + 1).tolist(), (place.rack + 1).tolist(), place.unit.tolist(), strict=True
        )
    ]
    rest = zip(found.kind.tolist(), found.length_m.tolist(), strict=True)
    return [
        CableRow(label, *lower, where[a], *upper, where[b], found.types[kind].id, length)
        for (label, a, lower, b, upper), (kind, length) in zip(
            _ends(design, fabric, names, found.link), rest, strict=True
        )
    ]


def _ends(
    design: ResolvedDesign, fabric: Fabric, names: Names, links: Ints
) -> Iterator[tuple[str, int, tuple[str, str], int, tuple[str, str]]]:
    """Yield (label, lower device, its name and port, upper device, its name and port) of each cable.

    Ports are those printed on the device: whole ones of a switch, counted from 1.
    """
    k, first = fabric.network.links, len(fabric.network.switches)
    switches, endpoints = names.switches(), names.endpoints()
    breakout, width = design.spec.fabric.breakout, len(str(len(links)))

    def end(device: int, port: int) -> tuple[str, str]:
        return endpoints[device - first] if device >= first else (switches[device], str(port // breakout + 1))

    columns = (column[links].tolist() for column in (k.a, k.a_port, k.b, k.b_port))
    for number, (a, a_port, b, b_port) in enumerate(zip(*columns, strict=True), start=1):
        yield f"C{number:0{width}}", a, end(a, a_port), b, end(b, b_port)


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
    kept, _ = first_of_cables(fabric, design.spec.fabric.breakout)
    kinds = [
        (design.inter_switch_link if tier else design.endpoint_link).id for tier in fabric.network.links.tier[kept]
    ]
    return [
        PlainRow(label, *lower, *upper, kind)
        for (label, _, lower, _, upper), kind in zip(_ends(design, fabric, names, kept), kinds, strict=True)
    ]


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
