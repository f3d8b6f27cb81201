"""An InfiniBand subnet as a netlist that ibsim reads, in the format of `ibnetdiscover`.

Ports count from 1 there, since port 0 of a switch is its management port. Every NIC is a separate HCA, named
`host/nic`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.fabric.wiring.network import INTERZONE

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def netlist(network: Network, names: Names, inside: Bools) -> Iterator[str]:
    """Yield the netlist of the devices that are inside, device by device: hosts, then switches.

    Args:
        network: the fabric.
        names: names of its devices.
        inside: which devices to list, as `subnet` returns them.
    """
    k, switches = network.links, len(network.switches)
    title = names.devices()
    kept = inside[k.a] & inside[k.b]
    own = np.concatenate([k.a[kept], k.b[kept]])
    port = np.concatenate([k.a_port[kept], k.b_port[kept]])
    order = np.lexsort((port, own))
    start = np.searchsorted(own[order], np.arange(len(inside) + 1))
    port, peer, peer_port = (
        column[order]
        for column in (
            port,
            np.concatenate([k.b[kept], k.a[kept]]),
            np.concatenate([k.b_port[kept], k.a_port[kept]]),
        )
    )
    for device in [*range(switches, len(inside)), *range(switches)]:
        if not inside[device]:
            continue
        kind, count = ("Hca", 1) if device >= switches else ("Switch", network.radix)
        rows = slice(start[device], start[device + 1])
        links = "".join(
            f'[{one + 1}]\t"{title[other]}"[{two + 1}]\n'
            for one, other, two in zip(port[rows].tolist(), peer[rows].tolist(), peer_port[rows].tolist(), strict=True)
        )
        yield f'{kind}\t{count} "{title[device]}"\t# "{title[device]}"\n{links}\n'
