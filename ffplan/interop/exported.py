"""The part of a design that an export covers, and its InfiniBand subnet: a netlist for ibsim, lanes for OpenSM.

The netlist has the format of `ibnetdiscover`. Ports count from 1 there, since port 0 of a switch is its management
port. Every NIC is a separate HCA, named `host/nic`. ibsim 0.10 knows speeds up to HDR: 400 Gb/s is written as eight
lanes of it, and faster links have no speed.

Two virtual lanes carry the job and storage. A policy file gives a path to or from a storage server service level 1,
every other path service level 0. Options give each level a separate lane and share every link between the lanes, as
`ffplan fabric route --beside` and `ffplan operate storage` count it. Lane 15 is the management's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import UsageError
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


_UNITS = 128
"""Units of 64 bytes that both lanes have in a turn of the arbiter [1]."""
_LEVELS = 16
"""Service levels of InfiniBand [1]."""
_LINE = 8
"""Ports in a line of the policy [1]."""
NO_STORAGE = "ffplan fabric export: no storage server has a port here, so that one class needs no lanes"
_POLICY = """
qos-levels
    qos-level
        name: DEFAULT
        use: the job
        sl: 0
    end-qos-level
    qos-level
        name: storage
        use: to and from storage servers
        sl: 1
    end-qos-level
end-qos-levels

qos-match-rules
    qos-match-rule
        use: from storage servers
        source: storage
        qos-level-name: storage
    end-qos-match-rule
    qos-match-rule
        use: to storage servers
        destination: storage
        qos-level-name: storage
    end-qos-match-rule
end-qos-match-rules
"""


def qos_policy(network: Network, names: Names, inside: Bools) -> Iterator[str]:
    """Yield the policy file of a subnet.

    Args:
        inside: its devices, shape (switches + endpoints,).

    Raises:
        UsageError: where no storage server has a port in the subnet.
    """
    ends = network.endpoints
    storage = np.array([role == "storage" for role in names.roles])[ends.group] & inside[len(network.switches) :]
    endpoints = np.flatnonzero(storage).tolist()
    if not endpoints:
        raise UsageError(NO_STORAGE)
    yield "# Names are descriptions of nodes: `host/port` for each NIC, port 1 of it.\n"
    yield "port-groups\n    port-group\n        name: storage\n        use: storage servers\n"
    ports = ["{}/{}/P1".format(*names.endpoint(number)) for number in endpoints]
    for first in range(0, len(ports), _LINE):
        yield f"        port-name: {', '.join(ports[first : first + _LINE])}\n"
    yield "    end-port-group\nend-port-groups\n"
    yield _POLICY


def _weights(share: float) -> tuple[int, int]:
    """Return the units of the job's lane and of storage's in a turn of the arbiter, at least one each [1].

    Args:
        share: fraction of a link that is the job's [1].

    Equation:
        round(share x 128), and what is left of 128

    Source:
        Definition; a weight counts 64 bytes and is at most 255 (InfiniBand architecture, volume 1, section 7.6.9).
    """
    weight = min(max(round(share * _UNITS), 1), _UNITS - 1)
    return weight, _UNITS - weight


def qos_options(share: float) -> str:
    """Return the options of OpenSM that go with the policy.

    Args:
        share: fraction of a link that is the job's [1].
    """
    job, storage = _weights(share)
    lanes = ["1" if level == 1 else "0" for level in range(_LEVELS - 1)] + [str(_LEVELS - 1)]
    lines = (
        "# Lane 0 is for the job, lane 1 for storage; `ffplan fabric export --to opensm-qos` writes the policy.",
        "qos TRUE",
        "qos_policy_file /etc/opensm/qos-policy.conf",
        "qos_max_vls 2",
        "qos_high_limit 0",
        f"qos_vlarb_high 0:{job},1:{storage}",
        f"qos_vlarb_low 0:{job},1:{storage}",
        f"qos_sl2vl {','.join(lanes)}",
    )
    return "\n".join(lines) + "\n"
