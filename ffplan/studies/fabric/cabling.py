"""A design wired: its networks as graphs, cables and places."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.design.resolved import ResolvedDesign
from ffplan.fabric.family import plan_fabric, plan_networks, wire
from ffplan.fabric.routing.link_loads import link_times
from ffplan.fabric.sizing.plan import FabricPlan
from ffplan.fabric.wiring.cabling import CableTable, cable_legs, cables, pieces_sold
from ffplan.fabric.wiring.floor import positions
from ffplan.fabric.wiring.names import Names
from ffplan.fabric.wiring.network import TIERS
from ffplan.fabric.wiring.wiring import WiredFabric
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import CableKind, CableRow, CablingReport, LinkLoad, PlainCable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Floats
    from ffplan.fabric.wiring.floor import Positions
    from ffplan.fabric.wiring.network import Network


@record
class WiredDesign:
    """A design with its fabric, sized once and wired."""

    design: ResolvedDesign
    plan: FabricPlan
    fabric: WiredFabric
    names: Names


def wire_design(design: ResolvedDesign) -> WiredDesign:
    """Return a design with its wired fabric; raise `InputError` as `plan_fabric` does."""
    plan = plan_fabric(design)
    fabric = wire(design, plan)
    return WiredDesign(design, plan, fabric, Names(design, fabric))


def wired_networks(wired: WiredDesign) -> Iterator[WiredDesign]:
    """Yield the networks beside the compute fabric, in their order, as separate designs.

    Raises:
        InputError: if a network cannot hold what joins it.
    """
    switches = tuple(wired.names.switches())
    for network in plan_networks(wired.design, wired.plan):
        fabric = wire(network.design, network.plan)
        names = Names(network.design, fabric, network.name, switches)
        switches += tuple(names.switches())
        yield WiredDesign(network.design, network.plan, fabric, names)


def message_bytes(design: ResolvedDesign) -> float:
    """Return the bytes of a node that a design asks for: its message, or 1 GiB [byte]."""
    communication = design.spec.communication
    return communication.message_size if communication else float(2**30)


def _port_name(network: Network, names: Names, device: int, port: int) -> str:
    """Return a port as printed: `leaf-01/p3`, `leaf-01/p3/2` of a split one, or `compute-0001/nic0`."""
    first = len(network.switches)
    if device >= first:
        return "/".join(names.endpoint(device - first))
    return f"{names.switch(device)}/p{names.printed.name(device, port)}"


def _link_name(network: Network, names: Names, link: int) -> str:
    k = network.links
    lower = _port_name(network, names, int(k.a[link]), int(k.a_port[link]))
    return f"{lower} - {_port_name(network, names, int(k.b[link]), int(k.b_port[link]))}"


def tier_loads(wired: WiredDesign, load: Floats) -> tuple[LinkLoad, ...]:
    """Return the busiest link of each tier and direction, tiers from the endpoints up.

    Args:
        load: bytes on every directed link [byte], shape (2 * links,).
    """
    network, rows = wired.fabric.network, []
    time = link_times(network, load)
    for tier, name in enumerate(TIERS):
        links = np.flatnonzero(network.links.tier == tier)
        for way, direction in enumerate(("up", "down") if len(links) else ()):
            busiest = int(links[time[links, way].argmax()])
            rows.append(
                LinkLoad(
                    link=_link_name(network, wired.names, busiest),
                    tier=name,
                    direction=direction,
                    bytes=float(load[2 * busiest + way]),
                    time_s=float(time[busiest, way]),
                    mean_time_s=float(time[links, way].mean()),
                )
            )
    return tuple(rows)


def hottest(tiers: tuple[LinkLoad, ...]) -> LinkLoad:
    """Return the busiest link of all; of equal ones, the one nearest to the endpoints."""
    return max(tiers, key=lambda row: row.time_s)


_COMPUTE = "compute"
"""What lists call the compute fabric, beside the names of the other networks."""


def cable_tables(wired: WiredDesign) -> list[tuple[str, WiredDesign, CableTable]]:
    """Return the compute fabric and the networks beside it: name, the design of each, and its cables.

    Raises:
        InputError: where something does not fit its rack, or no cable reaches.
    """
    every = [(_COMPUTE, wired), *((net.names.prefix.removesuffix("-"), net) for net in wired_networks(wired))]
    return [(name, net, cables(net.design, net.fabric)) for name, net in every]


def _kinds(name: str, design: ResolvedDesign, table: CableTable) -> Iterator[CableKind]:
    for tier, number, pieces in pieces_sold(table):
        inside = (table.tier == tier) & (table.kind == number)
        lengths = None if table.length_m is None else table.length_m[inside]
        link = table.types[number].id
        figure = design.prices.items.get(link) if design.prices else None
        yield CableKind(
            network=name,
            type=link,
            tier=TIERS[tier],
            count=int(inside.sum()),
            as_sold=pieces,
            shortest_m=None if lengths is None else float(lengths.min()),
            longest_m=None if lengths is None else float(lengths.max()),
            total_m=None if lengths is None else float(lengths.sum()),
            cost=float(figure.value) * pieces if figure else None,
        )


def _plain(name: str, wired: WiredDesign, table: CableTable) -> Iterator[PlainCable]:
    for leg in cable_legs(wired.fabric.network, wired.names, table):
        yield PlainCable(
            label=leg.label,
            network=name,
            from_device=leg.lower[0],
            from_port=leg.lower[1],
            to_device=leg.upper[0],
            to_port=leg.upper[1],
            type=leg.type.id,
        )


def _places(wired: WiredDesign, table: CableTable) -> dict[str, str]:
    place = table.places
    assert place is not None
    columns = ((place.row + 1).tolist(), (place.rack + 1).tolist(), place.unit.tolist())
    devices = (*wired.names.switches(), *(host for host, _ in wired.names.endpoints()))
    rows = zip(devices, *columns, strict=True)
    return {device: f"row {row} rack {rack} U{unit}" for device, row, rack, unit in rows}


def _placed(tables: list[tuple[str, WiredDesign, CableTable]]) -> Iterator[CableRow]:
    where = _places(*tables[0][1:])
    for name, wired, table in tables:
        for leg in cable_legs(wired.fabric.network, wired.names, table):
            yield CableRow(
                label=leg.label,
                network=name,
                from_device=leg.lower[0],
                from_port=leg.lower[1],
                from_place=where.get(leg.lower[0]),
                to_device=leg.upper[0],
                to_port=leg.upper[1],
                to_place=where.get(leg.upper[0]),
                type=leg.type.id,
                length_m=leg.length_m,
            )


def cable_list(wired: WiredDesign) -> Iterator[CableRow] | Iterator[PlainCable]:
    """Return the cables of every network from port to port, a split one leg by leg; places and lengths where the design
    has a floor.

    Raises:
        InputError: if something does not fit its rack, or no cable reaches.
    """
    if wired.design.spec.floor is not None:
        return _placed(cable_tables(wired))
    return chain.from_iterable(_plain(*item) for item in cable_tables(wired))


def _need_floor(design: ResolvedDesign) -> None:
    if design.spec.floor is None:
        raise InputError(
            design.document.finding(
                "design-floor",
                (),
                "the design has no `floor`, so that devices have no places and cables no lengths",
                "add `floor: {}`, whose fields have defaults",
            )
        )


def floor_places(wired: WiredDesign) -> Positions:
    """Return where the floor plan puts the devices of the compute fabric.

    Raises:
        InputError: if the design has no floor, something does not fit its rack, or no cable reaches.
    """
    _need_floor(wired.design)
    return positions(wired.design, wired.fabric)


def cabling(wired: WiredDesign) -> CablingReport:
    """Return every cable of a design with a floor.

    Raises:
        InputError: if the design has no floor, something does not fit its rack, or no cable reaches.
    """
    design = wired.design
    _need_floor(design)
    tables = cable_tables(wired)
    place = tables[0][2].places
    assert place is not None
    return CablingReport(
        schema_version=SCHEMA_VERSION,
        design=design.spec.name,
        currency=design.prices.currency if design.prices else None,
        rows=place.rows,
        racks=len(np.unique(place.row * 10_000 + place.rack)),
        kinds=tuple(kind for name, net, table in tables for kind in _kinds(name, net.design, table)),
        cables=tuple(_placed(tables)),
    )
