"""Slurm's block topology, and its YAML of both topologies: nodes of a scale-up domain, or below one leaf, as blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.hostlist import fold
from ffplan.base.record import record
from ffplan.catalog.parts import Server
from ffplan.inputs.emit import scalar
from ffplan.interop.slurm import leaves_of, tree

if TYPE_CHECKING:
    from ffplan.interop.exported import Exported

MOST_SIZES = 6
"""Most sizes of blocks that are listed, each twice the one before."""


@record
class Block:
    """A block of nodes."""

    name: str
    nodes: tuple[str, ...]


def domain_nodes(wired: Exported) -> int:
    """Return the nodes that one scale-up switch joins; 1 where it joins the accelerators of a node alone."""
    server = wired.design.compute.server
    scale_up = server.nvlink if isinstance(server, Server) else None
    return scale_up.nodes if scale_up else 1


def blocks(wired: Exported) -> list[Block]:
    """Return the compute nodes in blocks: scale-up domains of several nodes, else the nodes below each leaf.

    Args:
        wired: the design.
    """
    each = domain_nodes(wired)
    below = leaves_of(wired.fabric, wired.names)
    if each > 1:
        hosts = sorted(host for own in below.values() for host in own)
        parts = [tuple(hosts[at : at + each]) for at in range(0, len(hosts), each)]
    else:
        parts = [tuple(below[leaf]) for leaf in sorted(below)]
    width = len(str(len(parts)))
    return [Block(f"block-{number:0{width}}", nodes) for number, nodes in enumerate(parts, start=1)]


def sizes(made: list[Block]) -> list[int]:
    """Return the sizes that jobs may be given: the smallest block, then twice as many, up to all nodes.

    Args:
        made: the blocks.
    """
    smallest, most = min(len(block.nodes) for block in made), sum(len(block.nodes) for block in made)
    found = [smallest]
    while len(found) < MOST_SIZES and 2 * found[-1] <= most:
        found.append(2 * found[-1])
    return found


def block_conf(wired: Exported) -> str:
    """Return `topology.conf` for the plugin topology/block, of Slurm 23.11 and later.

    Args:
        wired: the design.
    """
    made = blocks(wired)
    what = "scale-up domain" if domain_nodes(wired) > 1 else "leaf"
    lines = [f"# A block is the nodes of a {what}. BlockSizes was called BlockLevels before Slurm 24.05."]
    lines += [f"BlockName={block.name} Nodes={fold(list(block.nodes))}" for block in made]
    return "\n".join([*lines, f"BlockSizes={','.join(map(str, sizes(made)))}"]) + "\n"


def topology_yaml(wired: Exported) -> str:
    """Return `topology.yaml` of Slurm 25.05 and later: the tree of the fabric by default, and the blocks.

    Args:
        wired: the design.
    """
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
    made = blocks(wired)
    lines += ["- topology: blocks", "  cluster_default: false", "  block:"]
    lines += [f"    block_sizes: [{', '.join(map(str, sizes(made)))}]", "    blocks:"]
    for block in made:
        lines += [f"      - block: {scalar(block.name)}", f"        nodes: {scalar(fold(list(block.nodes)))}"]
    return "\n".join(lines) + "\n"
