"""The part of a design that an export covers, and its InfiniBand subnet as a netlist for ibsim.

The netlist has the format of `ibnetdiscover`. Ports count from 1 there, since port 0 of a switch is its management
port. Every NIC is a separate HCA, named `host/nic`. ibsim 0.10 knows speeds up to HDR: 400 Gb/s is written as eight
lanes of it, and faster links have no speed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.design.resolved import ResolvedDesign
from ffplan.fabric.wiring.names import Names
from ffplan.fabric.wiring.network import INTERZONE
from ffplan.fabric.wiring.wiring import WiredFabric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Bools
    from ffplan.fabric.wiring.network import Network


@record
class Exported:
    """A design with its wired fabric."""

    design: ResolvedDesign
    fabric: WiredFabric
    names: Names
    beside: tuple[Exported, ...] = ()
    """The networks beside the compute fabric, for lists that have all of them."""

    @property
    def networks(self) -> tuple[Exported, ...]:
        """The compute fabric, then the networks beside it."""
        return (self, *self.beside)


_RATES = {10: "s=1", 20: "s=2", 40: "s=4", 56: "e=1", 100: "e=2", 200: "e=4", 400: "w=4 e=4"}
"""Options of a port in a netlist by the rate of its link [Gb/s]; from trials with ibsim 0.10, whose `w` is a code."""


def subnet(network: Network, plane: int | None, zone: int | None) -> Bools:
    """Select the devices of one plane, or of one zone in a plane, shape (switches + endpoints,).

    Args:
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
        inside: which devices to list, as `subnet` returns them.
    """
    k, switches = network.links, len(network.switches)
    title = names.devices()
    kept = inside[k.a] & inside[k.b]
    devices = np.concatenate([k.a[kept], k.b[kept]])
    port = np.concatenate([k.a_port[kept], k.b_port[kept]])
    rate = np.round(8 * np.concatenate([k.gbyte_s[kept]] * 2)).astype(np.int64)
    order = np.lexsort((port, devices))  # device by device, ports ascending: the last key sorts first
    start = np.searchsorted(devices[order], np.arange(len(inside) + 1))
    port, peer, peer_port, rate = (
        column[order]
        for column in (
            port,
            np.concatenate([k.b[kept], k.a[kept]]),
            np.concatenate([k.b_port[kept], k.a_port[kept]]),
            rate,
        )
    )
    columns = (port, peer, peer_port, rate)
    said = {speed: f"\t{_RATES[speed]}" if speed in _RATES else "" for speed in np.unique(rate).tolist()}
    for device in [*range(switches, len(inside)), *range(switches)]:
        if not inside[device]:
            continue
        host = device >= switches
        kind, count = ("Hca", 1) if host else ("Switch", network.ports_of(int(network.switches.role[device])))
        rows = slice(start[device], start[device + 1])
        links = "".join(
            f'[{a_port + 1}]\t"{title[neighbour]}"[{b_port + 1}]{said[speed]}\n'
            for a_port, neighbour, b_port, speed in zip(*(column[rows].tolist() for column in columns), strict=True)
        )
        yield f'{kind}\t{count} "{title[device]}"\t# "{title[device]}"\n{links}\n'
