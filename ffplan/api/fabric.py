"""The wired fabric of a design as a networkx graph, for the algorithms, drawings and files of graph tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.api.arguments import reads
from ffplan.api.designs import Design, load
from ffplan.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import networkx as nx

    from ffplan.fabric.wiring.cabling import CableTable
    from ffplan.fabric.wiring.floor import Positions
    from ffplan.studies.fabric.cabling import WiredDesign


@reads()
def wire(design: str | Path | Design, *, network: str | None = "compute", merged: bool = False) -> nx.Graph[str]:
    """Return the wired fabric as a graph: a node for each switch and each NIC port, an edge for each link.

    A NIC port is a node with one edge, so that no path leads through a server. Names match cable labels and
    exports. Attributes that a node does not have are left out: planes, zones and pods count from 1.

    Args:
        design: what `load` takes.
        network: `compute` for the compute fabric, the name of a side network, or None for all networks together.
        merged: one edge for each joined pair of nodes, with `links` and the sum of their `gbyte_s` [GB/s], as flow
            algorithms need it; without, a multigraph with ports and cables.

    Raises:
        InputError: if the fabric cannot hold the design, something does not fit its rack, or no cable reaches.
        UsageError: if the design has no such network.
    """
    from ffplan.studies.fabric.cabling import cable_tables, wire_design

    tables = cable_tables(wire_design(load(design).resolved))
    places = tables[0][2].places
    if network is not None:
        names = [name for name, _, _ in tables]
        if network not in names:
            from ffplan.base.errors import did_you_mean

            raise UsageError(f"wire: no network `{network}`; {did_you_mean(network, names, what='network')}")
        tables = [row for row in tables if row[0] == network]
    graph = _merged(tables) if merged else _wired(tables)
    for name, wired, _ in tables:
        # The floor plan places the devices of the compute fabric alone.
        for device, attributes in _devices(name, wired, places if name == "compute" else None):
            graph.add_node(device, **attributes)
    return graph


def _devices(network: str, wired: WiredDesign, places: Positions | None) -> Iterator[tuple[str, dict[str, Any]]]:
    from ffplan.fabric.wiring.network import LEAF, ROLES, ROUTER

    switches, endpoints, names = wired.fabric.network.switches, wired.fabric.network.endpoints, wired.names
    groups = wired.design.groups
    devices = names.devices()
    columns = (switches.role, switches.plane, switches.zone, switches.pod)
    for device, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        role, plane, zone, pod = row
        yield (
            devices[device],
            {
                "network": network,
                "role": ROLES[role],
                "level": 1 + (LEAF if role == ROUTER else role),
                "part": wired.design.parts.switch_of(ROLES[role]).id,
                "plane": plane + 1,
                **{key: value + 1 for key, value in (("zone", zone), ("pod", pod)) if value >= 0},
                **_place(places, device),
            },
        )
    places_of = (endpoints.group, endpoints.plane, endpoints.zone)
    ports = zip(names.endpoints(), *(column.tolist() for column in places_of), strict=True)
    for device, ((host, port), group, plane, zone) in enumerate(ports, start=len(switches)):
        yield (
            devices[device],
            {
                "network": network,
                "role": "endpoint",
                "level": 0,
                "host": host,
                "host_role": names.roles[group],
                "port": port,
                "part": groups[group].server.id,
                "plane": plane + 1,
                "zone": zone + 1,
                **_place(places, device),
            },
        )


def _place(places: Positions | None, device: int) -> dict[str, int]:
    if places is None:
        return {}
    row, rack, unit = (int(column[device]) for column in (places.row, places.rack, places.unit))
    return {"row": row + 1, "rack": rack + 1, "unit": unit}


def _wired(tables: Iterable[tuple[str, WiredDesign, CableTable]]) -> nx.MultiGraph[str]:
    import networkx as nx

    from ffplan.fabric.wiring.cabling import cable_legs
    from ffplan.fabric.wiring.network import TIERS

    graph: nx.MultiGraph[str] = nx.MultiGraph()
    for name, wired, table in tables:
        links, devices = wired.fabric.network.links, wired.names.devices()
        lower, upper, tier, rate = (column.tolist() for column in (links.a, links.b, links.tier, links.gbyte_s))
        for leg in cable_legs(wired.fabric.network, wired.names, table):
            graph.add_edge(
                devices[lower[leg.link]],
                devices[upper[leg.link]],
                network=name,
                tier=TIERS[tier[leg.link]],
                lower=devices[lower[leg.link]],
                lower_port=leg.lower[1],
                upper=devices[upper[leg.link]],
                upper_port=leg.upper[1],
                gbyte_s=rate[leg.link],
                cable=leg.label,
                cable_part=leg.type.id,
                **({} if leg.length_m is None else {"length_m": leg.length_m}),
            )
    return graph


def _merged(tables: Iterable[tuple[str, WiredDesign, CableTable]]) -> nx.Graph[str]:
    """Return one edge for each joined pair of devices, with the number of its links and their rates together."""
    import networkx as nx

    from ffplan.fabric.wiring.network import TIERS

    graph: nx.Graph[str] = nx.Graph()
    for name, wired, _ in tables:
        links, devices = wired.fabric.network.links, wired.names.devices()
        columns = (links.a, links.b, links.tier, links.gbyte_s)
        for a, b, tier, rate in zip(*(column.tolist() for column in columns), strict=True):
            lower, upper = devices[a], devices[b]
            if not graph.has_edge(lower, upper):
                graph.add_edge(lower, upper, network=name, tier=TIERS[tier], links=0, gbyte_s=0.0)
            graph.edges[lower, upper]["links"] += 1
            graph.edges[lower, upper]["gbyte_s"] += rate
    return graph
