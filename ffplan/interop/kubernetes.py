"""Labels that tell Kubernetes where a node is: its scale-up domain, and the switches above it, nearest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.interop.slurm import tree
from ffplan.interop.slurm_blocks import blocks, domain_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.exported import Exported

OLD = ("leaf", "spine", "core")
"""Names of tiers in topograph before 1.0."""


def _above(wired: Exported) -> dict[str, list[str]]:
    """Return the switches above every compute node, nearest first; spines of a pod stand as one, as in Slurm's tree."""
    switches = tree(wired.fabric, wired.names)
    parent = {below: switch.name for switch in switches for below in switch.switches}
    found = {}
    for switch in switches:
        for node in switch.nodes:
            way = [switch.name]
            while way[-1] in parent:
                way.append(parent[way[-1]])
            found[node] = way
    return found


def node_labels(wired: Exported, *, old: bool) -> Iterator[str]:
    """Yield a node with its labels, as topograph sets them, for `kubectl apply --server-side`.

    Args:
        wired: the design.
        old: use the labels of topograph 0.3 to 0.5, not those of 1.0.
    """
    domain = "network.topology.nvidia.com/accelerator" if old else "accelerator.topograph.run/domain"
    several = domain_nodes(wired) > 1
    inside = {node: block.name for block in blocks(wired) for node in block.nodes} if several else {}
    for node, way in sorted(_above(wired).items()):
        labels = {domain: inside[node]} if node in inside else {}
        for tier, name in enumerate(way):
            if not old:
                labels[f"fabric.topograph.run/tier-{tier}"] = name
            elif tier < len(OLD):
                labels[f"network.topology.nvidia.com/{OLD[tier]}"] = name
        lines = ["---", "apiVersion: v1", "kind: Node", "metadata:", f"  name: {node}", "  labels:"]
        yield "\n".join([*lines, *(f"    {key}: {value}" for key, value in labels.items())]) + "\n"
