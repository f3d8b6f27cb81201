"""An InfiniBand subnet as a netlist that ibsim reads, in the format of `ibnetdiscover`.

Ports count from 1 there, since port 0 of a switch is its management port. Every NIC is a separate HCA, named
`host/nic`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.fabric.wiring.network import INTERZONE

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network


def subnet(network: Network, plane: int | None, zone: int | None) -> Bools:
    """Return which devices belong to one plane, and to one zone of it, shape (switches + endpoints,).

    Args:
        network: the fabric.
        plane: its position; all planes if None.
        zone: its position; all zones, with the switches that join them, if None.
    """
    s, e = network.switches, network.endpoints
    inside = np.ones(len(s) + len(e), bool)
    if plane is not None:
        inside &= np.concatenate([s.plane, e.plane]) == plane
    if zone is not None:
        inside &= np.concatenate([np.where(s.role == INTERZONE, -1, s.zone), e.zone]) == zone
    return inside


def netlist(network: Network, names: Names, inside: Bools) -> str:
    """Return the netlist of the devices that are inside.

    Args:
        network: the fabric.
        names: names of its devices.
        inside: which devices to list, as `subnet` returns them.
    """
    k, switches = network.links, len(network.switches)
    title = names.devices()
    kept = np.flatnonzero(inside[k.a] & inside[k.b])
    ports: dict[int, list[tuple[int, str]]] = {int(device): [] for device in np.flatnonzero(inside)}
    rows: Any = zip(*(column[kept].tolist() for column in (k.a, k.a_port, k.b, k.b_port)), strict=True)
    for a, a_port, b, b_port in rows:
        ports[a].append((a_port + 1, f'"{title[b]}"[{b_port + 1}]'))
        ports[b].append((b_port + 1, f'"{title[a]}"[{a_port + 1}]'))
    hosts = [device for device in ports if device >= switches]
    lines = []
    for device in [*hosts, *(device for device in ports if device < switches)]:
        kind, count = ("Hca", 1) if device >= switches else ("Switch", network.radix)
        lines.append(f'{kind}\t{count} "{title[device]}"\t# "{title[device]}"')
        lines += [f"[{port}]\t{peer}" for port, peer in sorted(ports[device])]
        lines.append("")
    return "\n".join(lines) + "\n"
