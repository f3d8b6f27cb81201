"""CPU sockets behind the NUMA nodes of a topology file."""

from __future__ import annotations

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.interop.topology.model import RootPortFound, SocketFound

AMD_SOCKETS = 2
"""Most sockets of a server with AMD EPYC; AMD's processor specifications list 1P and 2P only."""
AMD_NODES = 4
"""Most NUMA nodes of a socket with AMD EPYC (NPS4), for Rome and later; AMD's tuning guides."""
CLUSTERED = 2
"""NUMA nodes from which a server may have clusters within a socket."""


@record
class NumaNode:
    """A NUMA node of the file."""

    number: int
    cpu: str
    cpuid: str
    ports: tuple[RootPortFound, ...]


def _nodes_per_socket(nodes: list[NumaNode]) -> int:
    """Return the NUMA nodes of a socket: AMD's servers have two sockets, of up to four nodes."""
    most = max(node.number for node in nodes) + 1
    if "AMD" not in nodes[0].cpu or most <= AMD_SOCKETS:
        return 1
    return 2 if most <= AMD_SOCKETS * 2 else AMD_NODES


def grouped(nodes: list[NumaNode]) -> tuple[tuple[SocketFound, ...], list[str]]:
    """Return the sockets of NUMA nodes, and what was assumed.

    A file has a `cpu` for every NUMA node with devices, and numbers them through the sockets.

    Args:
        nodes: the NUMA nodes, in the order of the file.
    """
    each = _nodes_per_socket(nodes)
    amd = "AMD" in nodes[0].cpu
    highest = max(node.number for node in nodes)
    numbers = range(highest // each + 1) if amd or highest <= 1 else sorted({node.number for node in nodes})
    held = [[node for node in nodes if node.number // each == place] for place in numbers]
    found = tuple(
        SocketFound(
            cpu=nodes[0].cpu if not inside else inside[0].cpu,
            cpuid=nodes[0].cpuid if not inside else inside[0].cpuid,
            numa=tuple(sorted(node.number for node in inside)),
            ports=tuple(port for node in inside for port in node.ports),
        )
        for inside in held
    )
    if each == 1 and not amd and len(nodes) > CLUSTERED:
        words = (
            f"{len(nodes)} NUMA nodes are taken for as many sockets: with sub-NUMA clusters there are fewer; correct it"
        )
        return found, [words]
    if each == 1:
        return found, []
    words = (
        f"{plural(len(nodes), 'NUMA node')} are taken for {plural(len(found), 'socket')}, {each} to a socket: servers "
        "with AMD EPYC have at most two sockets; correct it where this one has one"
    )
    return found, [words]
