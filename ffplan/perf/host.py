"""The inside of a compute node as resources that messages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.catalog.parts import Nic, RootPortLimits, Server
from ffplan.perf.ledger import memory_bandwidth
from ffplan.record import record

if TYPE_CHECKING:
    from ffplan.design.resolve import ResolvedGroup


@record
class Port:
    """A root port with what hangs on it."""

    id: str
    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    limits: RootPortLimits | None
    pcie_switch: bool


@record
class Host:
    """A compute node seen by a collective."""

    id: str
    gpus: tuple[str, ...]
    ports: tuple[Port, ...]
    pairs: tuple[tuple[str, str], ...]
    switched: bool
    nics: tuple[Nic, ...]
    """NICs on the fabric."""
    nic_gbyte_s: tuple[float, ...]
    """What each of them carries at the switch port and link it is given [GB/s]."""
    peer_through_cpu: bool
    """True where a NIC of the fabric and its nearest GPU meet only in the CPU."""
    sockets_with_gpus: int
    channels: int
    memory_gbyte_s: tuple[float, float, float]
    """Practical host memory bandwidth over all sockets: low end, value and high end of the known range [GB/s]."""


def _ports(group: ResolvedGroup, server: Server) -> tuple[Port, ...]:
    on_fabric = {server.nics[slot].id for slot in group.fabric_nics}
    ports = []
    for socket, cpu in zip(server.sockets, group.cpus, strict=True):
        for port in socket.root_ports:
            gpus = tuple(slot.id for slot in server.accelerators if slot.root_port == port.id)
            nics = tuple(s.id for s in server.nics if s.root_port == port.id and s.id in on_fabric)
            ports.append(Port(port.id, gpus, nics, port.limits or cpu.root_port, port.pcie_switch))
    return tuple(ports)


def _memory(group: ResolvedGroup, server: Server) -> tuple[float, float, float]:
    """Return low end, value and high end of the memory bandwidth over all sockets [GB/s]."""
    pairs = list(zip(server.sockets, group.cpus, strict=True))

    def total(efficiencies: list[float]) -> float:
        bandwidths = [
            memory_bandwidth(socket.memory.channels.value, socket.memory.rate.value, efficiency)
            for (socket, _), efficiency in zip(pairs, efficiencies, strict=True)
        ]
        return float(sum(bandwidths))

    figures = [cpu.memory_efficiency for _, cpu in pairs]
    return (
        total([figure.range[0] for figure in figures]),
        total([figure.value for figure in figures]),
        total([figure.range[1] for figure in figures]),
    )


def host(group: ResolvedGroup, port_gbyte_s: float) -> Host:
    """Return the resources of one node of the group.

    Args:
        group: the node group.
        port_gbyte_s: what a switch port and the link to it carry [GB/s].

    Raises:
        TypeError: where the group's server is not a compute server (a bug of the caller).
    """
    server = group.server
    if not isinstance(server, Server):
        raise TypeError(f"{server.id} is not a compute server")
    ports = _ports(group, server)
    gpu_ports = {slot.root_port for slot in server.accelerators}
    sockets = sum(any(p.id in gpu_ports for p in socket.root_ports) for socket in server.sockets)
    with_nics = [port for port in ports if port.nics]
    switched_ports = [port for port in with_nics if port.pcie_switch and port.gpus]
    scale_up = server.nvlink
    return Host(
        id=server.id,
        gpus=tuple(slot.id for slot in server.accelerators),
        ports=ports,
        pairs=tuple(scale_up.pairs) if scale_up else (),
        switched=bool(scale_up and scale_up.switched),
        nics=tuple(group.nics[slot] for slot in group.fabric_nics),
        nic_gbyte_s=group.nic_rates(port_gbyte_s),
        peer_through_cpu=len(switched_ports) < len(with_nics),
        sockets_with_gpus=sockets,
        channels=sum(socket.memory.channels.value for socket in server.sockets),
        memory_gbyte_s=_memory(group, server),
    )
