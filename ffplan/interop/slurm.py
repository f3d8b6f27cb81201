"""The fabric as Slurm's tree topology: leaves with their nodes, pods, zones, and one root per unconnected part.

Slurm wants every node under one leaf. A node with several NICs is listed under the leaf of its first NIC; the other
rails and planes repeat the same neighbourhoods. Only compute nodes are listed, since only they run jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.hostlist import fold
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.wiring import WiredFabric


@record
class TreeSwitch:
    """One line of `topology.conf`."""

    name: str
    nodes: tuple[str, ...]
    switches: tuple[str, ...]

    def __str__(self) -> str:
        under = f"Nodes={fold(list(self.nodes))}" if self.nodes else f"Switches={fold(list(self.switches))}"
        return f"SwitchName={self.name} {under}"


def leaves_of(fabric: WiredFabric, names: Names) -> dict[int, list[str]]:
    """Return the compute hosts under each leaf, by the first port of each host."""
    compute = {position for position, role in enumerate(names.roles) if role == "compute"}
    e = fabric.network.endpoints
    found: dict[int, list[str]] = {}
    for host, ports in names.hosts().items():
        if int(e.group[ports[0]]) in compute:
            found.setdefault(int(e.leaf[ports[0]]), []).append(host)
    return found


def tree(fabric: WiredFabric, names: Names) -> list[TreeSwitch]:
    """Return the tree, leaves first, roots last.

    Args:
        fabric: the wired fabric.
        names: names of its devices.
    """
    switches = fabric.network.switches
    leaves = leaves_of(fabric, names)
    lines = [TreeSwitch(names.switch(leaf), tuple(leaves[leaf]), ()) for leaf in sorted(leaves)]
    roots, word = [], "pod" if fabric.trees else "group"
    for zone in sorted({int(switches.zone[leaf]) for leaf in leaves}):
        inside = [leaf for leaf in sorted(leaves) if switches.zone[leaf] == zone]
        prefix = f"z{zone + 1}-" if fabric.zones > 1 else ""
        pods = np.unique(switches.pod[inside]).tolist()
        below = [names.switch(leaf) for leaf in inside]
        if len(pods) > 1:
            below = []
            for pod in pods:
                name = f"{prefix}{word}-{pod + 1:0{len(str(max(pods) + 1))}}"
                own = tuple(names.switch(leaf) for leaf in inside if switches.pod[leaf] == pod)
                lines.append(TreeSwitch(name, (), own))
                below.append(name)
        if len(below) > 1:
            lines.append(TreeSwitch(f"{prefix}fabric", (), tuple(below)))
            below = [f"{prefix}fabric"]
        roots += below
    if fabric.interzone and len(roots) > 1:
        lines.append(TreeSwitch("interzone", (), tuple(roots)))
    return lines


def topology_conf(fabric: WiredFabric, names: Names) -> str:
    """Return `topology.conf` for the plugin topology/tree.

    Args:
        fabric: the wired fabric.
        names: names of its devices.
    """
    note = "# Each node stands under the leaf of its first NIC; other rails and planes repeat the neighbourhoods.\n"
    return note + "".join(f"{line}\n" for line in tree(fabric, names))
