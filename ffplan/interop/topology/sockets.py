"""CPU sockets behind the NUMA nodes of a topology file."""

from __future__ import annotations

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.interop.topology.model import RootPortFound, SocketFound

SOCKETS = 2
"""Most sockets of a server with x86 CPUs beside accelerators: AMD's processor specifications list 1P and 2P only, and
GPU servers with four sockets of Intel are rare; recalled."""
NODES = 4
"""Most NUMA nodes of a socket with AMD EPYC (NPS4), for Rome and later; AMD's tuning guides."""
APU = ("AuthenticAMD:175:144", "AuthenticAMD:25:144")
"""CPUs that are one package with a GPU, MI300A, of which a server has up to four; recalled. NCCL adds 16 times the
extended family to the base family, and so writes family 25 as 175."""
CLUSTERED = 2
"""NUMA nodes from which a server may have clusters within a socket."""
_X86 = ("AMD", "Genuine", "x86")


@record
class NumaNode:
    """A NUMA node of the file."""

    number: int
    cpu: str
    cpuid: str
    ports: tuple[RootPortFound, ...]


def _nodes_per_socket(nodes: list[NumaNode]) -> int:
    """Return the NUMA nodes of a socket: servers with x86 CPUs have two sockets, of several nodes each."""
    most = max(node.number for node in nodes) + 1
    if not _is_x86(nodes) or most <= SOCKETS:
        return 1
    even = -(-most // SOCKETS)
    return max(even, NODES) if "AMD" in nodes[0].cpu and most > SOCKETS * 2 else even


def _is_x86(nodes: list[NumaNode]) -> bool:
    return any(name in nodes[0].cpu for name in _X86) and nodes[0].cpuid not in APU


def grouped(nodes: list[NumaNode]) -> tuple[tuple[SocketFound, ...], list[str]]:
    """Return the sockets of NUMA nodes, and what was assumed.

    A file has a `cpu` for every NUMA node with devices, and numbers them through the sockets.

    Args:
        nodes: the NUMA nodes, in the order of the file.
    """
    each = _nodes_per_socket(nodes)
    x86 = _is_x86(nodes)
    highest = max(node.number for node in nodes)
    numbers = range(highest // each + 1) if x86 or highest <= 1 else sorted({node.number for node in nodes})
    held = [[node for node in nodes if node.number // each == place] for place in numbers]
    found = tuple(
        SocketFound(
            cpu=nodes[0].cpu if not inside else inside[0].cpu,
            cpuid=nodes[0].cpuid if not inside else inside[0].cpuid,
            numa=tuple(sorted({node.number for node in inside})),
            ports=tuple(port for node in inside for port in node.ports),
        )
        for inside in held
    )
    if each == 1 and not x86 and nodes[0].cpuid not in APU and len(nodes) > CLUSTERED:
        words = (
            f"{len(nodes)} NUMA nodes are taken for as many sockets: with sub-NUMA clusters there are fewer; correct it"
        )
        return found, [words]
    if each == 1:
        return found, []
    words = (
        f"{plural(len(nodes), 'NUMA node')} are taken for {plural(len(found), 'socket')}, {each} to a socket: servers "
        "with GPUs have two sockets of AMD or Intel, rarely one or four; correct it where this one has"
    )
    return found, [words]
