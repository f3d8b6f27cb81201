"""The place of every compute node for schedulers: Slurm's tree and block topologies, and labels for Kubernetes.

Slurm wants every node under one leaf. A node with several NICs is listed under the leaf of its first NIC; the other
rails and planes repeat the same neighbourhoods. Only compute nodes are listed, since only they run jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.hostlist import fold
from ffplan.base.record import record
from ffplan.fabric.routing.job_loads import domain_sizes
from ffplan.inputs.document import scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.wiring import WiredFabric
    from ffplan.interop.exported import Exported


@record
class _TreeSwitch:
    """One line of `topology.conf`."""

    name: str
    nodes: tuple[str, ...]
    switches: tuple[str, ...]

    def __str__(self) -> str:
        under = f"Nodes={fold(list(self.nodes))}" if self.nodes else f"Switches={fold(list(self.switches))}"
        return f"SwitchName={self.name} {under}"


def _leaves_of(fabric: WiredFabric, names: Names) -> dict[int, list[str]]:
    """Return the compute hosts under each leaf, by the first port of each host."""
    compute = {position for position, role in enumerate(names.roles) if role == "compute"}
    e = fabric.network.endpoints
    leaves: dict[int, list[str]] = {}
    for host, ports in names.hosts().items():
        if int(e.group[ports[0]]) in compute:
            leaves.setdefault(int(e.leaf[ports[0]]), []).append(host)
    return leaves


def tree(fabric: WiredFabric, names: Names) -> list[_TreeSwitch]:
    """Return the tree, leaves first, roots last."""
    switches = fabric.network.switches
    leaves = _leaves_of(fabric, names)
    lines = [_TreeSwitch(names.switch(leaf), tuple(leaves[leaf]), ()) for leaf in sorted(leaves)]
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
                pod_leaves = tuple(names.switch(leaf) for leaf in inside if switches.pod[leaf] == pod)
                lines.append(_TreeSwitch(name, (), pod_leaves))
                below.append(name)
        if len(below) > 1:
            lines.append(_TreeSwitch(f"{prefix}fabric", (), tuple(below)))
            below = [f"{prefix}fabric"]
        roots += below
    if fabric.interzone and len(roots) > 1:
        lines.append(_TreeSwitch("interzone", (), tuple(roots)))
    return lines


def topology_conf(fabric: WiredFabric, names: Names) -> str:
    """Return `topology.conf` for the plugin topology/tree."""
    note = "# Each node stands under the leaf of its first NIC; other rails and planes repeat the neighbourhoods.\n"
    return note + "".join(f"{line}\n" for line in tree(fabric, names))


_MOST_SIZES = 6
"""Most sizes of blocks that are listed, each twice the one before."""


@record
class _Block:
    name: str
    nodes: tuple[str, ...]


def _blocks(wired: Exported) -> list[_Block]:
    """Return the compute nodes in blocks: scale-up domains of several nodes, else the nodes below each leaf.

    Where some nodes are in domains, those of other groups are in no block: no scale-up switch joins them to any.
    """
    sizes = domain_sizes(wired.design)
    below = _leaves_of(wired.fabric, wired.names)
    parts = [tuple(below[leaf]) for leaf in sorted(below)]
    if sizes:
        groups = wired.design.groups
        parts = [
            tuple(
                wired.names.host(number, node) for node in range(first, min(first + size, groups[number].group.count))
            )
            for number, size in sizes.items()
            for first in range(0, groups[number].group.count, size)
        ]
    width = len(str(len(parts)))
    return [_Block(f"block-{number:0{width}}", nodes) for number, nodes in enumerate(parts, start=1)]


def _sizes(blocks: list[_Block]) -> list[int]:
    """Return the sizes that jobs may be given: the smallest block, then twice as many, up to all nodes."""
    smallest, most = min(len(block.nodes) for block in blocks), sum(len(block.nodes) for block in blocks)
    sizes = [smallest]
    while len(sizes) < _MOST_SIZES and 2 * sizes[-1] <= most:
        sizes.append(2 * sizes[-1])
    return sizes


def _outside(wired: Exported, blocks: list[_Block]) -> list[str]:
    """Return a comment that names the compute nodes in no block; nothing where there are none."""
    every = {host for hosts in _leaves_of(wired.fabric, wired.names).values() for host in hosts}
    left = sorted(every.difference(*(block.nodes for block in blocks)))
    return [f"# In no block, since no scale-up switch joins them to others: {fold(left)}"] if left else []


def block_conf(wired: Exported) -> str:
    """Return `topology.conf` for the plugin topology/block, of Slurm 23.11 and later."""
    blocks = _blocks(wired)
    what = "scale-up domain" if domain_sizes(wired.design) else "leaf"
    lines = [f"# A block is the nodes of a {what}. BlockSizes was called BlockLevels before Slurm 24.05."]
    lines += _outside(wired, blocks)
    lines += [f"BlockName={block.name} Nodes={fold(list(block.nodes))}" for block in blocks]
    return "\n".join([*lines, f"BlockSizes={','.join(map(str, _sizes(blocks)))}"]) + "\n"


def topology_yaml(wired: Exported) -> str:
    """Return `topology.yaml` of Slurm 25.05 and later: the tree of the fabric by default, and the blocks."""
    lines = [
        "# Where this file is present, Slurm ignores topology.conf.",
        "- topology: fabric",
        "  cluster_default: true",
    ]
    lines += ["  tree:", "    switches:"]
    for switch in tree(wired.fabric, wired.names):
        under = ("nodes", switch.nodes) if switch.nodes else ("children", switch.switches)
        lines.append(f"      - switch: {scalar(switch.name)}")
        lines.append(f"        {under[0]}: {scalar(fold(list(under[1])))}")
    blocks = _blocks(wired)
    lines += [*_outside(wired, blocks), "- topology: blocks", "  cluster_default: false", "  block:"]
    lines += [f"    block_sizes: [{', '.join(map(str, _sizes(blocks)))}]", "    blocks:"]
    for block in blocks:
        lines += [f"      - block: {scalar(block.name)}", f"        nodes: {scalar(fold(list(block.nodes)))}"]
    return "\n".join(lines) + "\n"


_OLD = ("leaf", "spine", "core")
"""Names of tiers in topograph before 1.0."""


def _above(wired: Exported) -> dict[str, list[str]]:
    """Return the switches above every compute node, nearest first; spines of a pod stand as one, as in Slurm's tree."""
    switches = tree(wired.fabric, wired.names)
    parent = {below: switch.name for switch in switches for below in switch.switches}
    paths = {}
    for switch in switches:
        for node in switch.nodes:
            way = [switch.name]
            while way[-1] in parent:
                way.append(parent[way[-1]])
            paths[node] = way
    return paths


def node_labels(wired: Exported, *, old: bool) -> Iterator[str]:
    """Yield a node with its labels for `kubectl apply --server-side`: of topograph 1.0, or `old`, of 0.3 to 0.5."""
    domain = "network.topology.nvidia.com/accelerator" if old else "accelerator.topograph.run/domain"
    inside = (
        {node: block.name for block in _blocks(wired) for node in block.nodes} if domain_sizes(wired.design) else {}
    )
    for node, way in sorted(_above(wired).items()):
        labels = {domain: inside[node]} if node in inside else {}
        for tier, name in enumerate(way):
            if not old:
                labels[f"fabric.topograph.run/tier-{tier}"] = name
            elif tier < len(_OLD):
                labels[f"network.topology.nvidia.com/{_OLD[tier]}"] = name
        lines = ["---", "apiVersion: v1", "kind: Node", "metadata:", f"  name: {node}", "  labels:"]
        yield "\n".join([*lines, *(f"    {key}: {value}" for key, value in labels.items())]) + "\n"
