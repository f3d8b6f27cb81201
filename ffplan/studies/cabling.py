"""The list of cables for installers, and its totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import InputError
from ffplan.fabric.wiring.cabling import CableTable, cable_label, cables, first_of_cables
from ffplan.fabric.wiring.network import TIERS
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import CableKind, CableRow, CablingReport, PlainCable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Ints
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.wired import WiredDesign


def _kinds(design: ResolvedDesign, found: CableTable) -> list[CableKind]:
    rows = []
    for tier in np.unique(found.tier).tolist():
        for number in np.unique(found.kind[found.tier == tier]).tolist():
            own = (found.tier == tier) & (found.kind == number)
            lengths, pieces = found.length_m[own], int(np.ceil(found.pieces[own].sum() - 1e-6))
            name = found.types[number].id
            figure = design.prices.items.get(name) if design.prices else None
            rows.append(
                CableKind(
                    type=name,
                    tier=TIERS[tier],
                    count=len(lengths),
                    as_sold=pieces,
                    shortest_m=float(lengths.min()),
                    longest_m=float(lengths.max()),
                    total_m=float(lengths.sum()),
                    cost=float(figure.value) * pieces if figure else None,
                )
            )
    return rows


def _plain(wired: WiredDesign, links: Ints, kinds: list[str]) -> Iterator[tuple[PlainCable, int, int]]:
    """Yield each cable with the devices at its ends, the lower one first.

    Ports are those printed on the device: whole ones of a switch, counted from 1.
    """
    k, first = wired.fabric.network.links, len(wired.fabric.network.switches)
    switches, endpoints = wired.names.switches(), wired.names.endpoints()
    printed = wired.names.printed

    def end(device: int, port: int) -> tuple[str, str]:
        return endpoints[device - first] if device >= first else (switches[device], str(printed.place(device, port)[0]))

    for number, (a, a_port, b, b_port) in enumerate(k.rows(links, "a", "a_port", "b", "b_port")):
        lower, upper = end(a, a_port), end(b, b_port)
        cable = PlainCable(
            label=cable_label(number, len(links)),
            from_device=lower[0],
            from_port=lower[1],
            to_device=upper[0],
            to_port=upper[1],
            type=kinds[number],
        )
        yield cable, a, b


def _rows(wired: WiredDesign, found: CableTable) -> Iterator[CableRow]:
    place, kinds = found.places, [found.types[kind].id for kind in found.kind.tolist()]
    where = [
        f"row {row} rack {rack} U{unit}"
        for row, rack, unit in zip(
            (place.row + 1).tolist(), (place.rack + 1).tolist(), place.unit.tolist(), strict=True
        )
    ]
    for (cable, a, b), length in zip(_plain(wired, found.link, kinds), found.length_m.tolist(), strict=True):
        yield CableRow(
            label=cable.label,
            from_device=cable.from_device,
            from_port=cable.from_port,
            from_place=where[a],
            to_device=cable.to_device,
            to_port=cable.to_port,
            to_place=where[b],
            type=cable.type,
            length_m=length,
        )


def cable_list(wired: WiredDesign) -> Iterator[CableRow] | Iterator[PlainCable]:
    """Return the cables from port to port, one after the other; places and lengths where the design has a floor.

    Args:
        wired: the design.

    Raises:
        InputError: where something does not fit its rack, or no cable reaches.
    """
    design = wired.design
    if design.spec.floor is not None:
        return _rows(wired, cables(design, wired.fabric))
    kept, _ = first_of_cables(design, wired.fabric)
    tiers = wired.fabric.network.links.tier[kept].tolist()
    ids = (design.endpoint_link.id, design.inter_switch_link.id)
    kinds = [ids[tier > 0] for tier in tiers]
    return (cable for cable, _, _ in _plain(wired, kept, kinds))


def cabling(wired: WiredDesign) -> CablingReport:
    """Return every cable of a design with a floor.

    Args:
        wired: the design.

    Raises:
        InputError: where the design has no floor, something does not fit its rack, or no cable reaches.
    """
    design = wired.design
    if design.spec.floor is None:
        raise InputError(
            design.document.finding(
                "design-floor",
                (),
                "the design has no `floor`, so that cables have no lengths",
                "add a `floor` and the `rack_units` of the nodes",
            )
        )
    found = cables(design, wired.fabric)
    place = found.places
    return CablingReport(
        schema_version=SCHEMA_VERSION,
        design=design.spec.name,
        currency=design.prices.currency if design.prices else None,
        rows=place.rows,
        racks=len(np.unique(place.row * 10_000 + place.rack)),
        kinds=tuple(_kinds(design, found)),
        cables=tuple(_rows(wired, found)),
    )
