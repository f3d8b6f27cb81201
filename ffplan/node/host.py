"""The inside of a compute node: devices of each root port, the rate of each part, and GPUs linked in pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import real
from ffplan.base.record import record
from ffplan.catalog.parts import Accelerator, Cpu, Drives, Nic, RootPortLimits, Server

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ffplan.base.array_math import Number
    from ffplan.catalog.evidence import Figure
    from ffplan.catalog.rates import CollectiveRates
    from ffplan.design.resolved import ResolvedGroup


@record
class _LinkGraph:
    most: int
    """Links of the GPU that has most [1]."""
    mean: float
    """Links of the mean GPU [1]."""
    rings: int
    """Links of every GPU that rings may use at once, at most [1]."""
    fewest: int
    """Fewest links between two linked GPUs [1]."""
    hops: float
    """Links on the shortest way between two GPUs, mean over pairs [1]."""
    connected: bool
    """True if links join every GPU with every other, be it over others."""


def _distances(first: str, weights: dict[str, dict[str, int]]) -> dict[str, int]:
    """Return the links on the shortest way from a GPU to every GPU within reach."""
    distance, edge = {first: 0}, [first]
    while edge:
        following = []
        for gpu in edge:
            for neighbour in sorted(weights[gpu].keys() - distance.keys()):
                distance[neighbour] = distance[gpu] + 1
                following.append(neighbour)
        edge = following
    return distance


def _smallest_cut(weights: dict[str, dict[str, int]]) -> int:
    """Return the fewest links that part the GPUs of a graph in two.

    Args:
        weights: links of every GPU to each other one [1].

    Returns:
        Links [1]; 0 if some GPUs have no way to others.

    Equation:
        min over cuts (A, B) of the links between A and B

    Source:
        Stoer and Wagner, "A Simple Min-Cut Algorithm", Journal of the ACM 44, 1997.
    """
    left = {gpu: dict(others) for gpu, others in weights.items()}
    # more than any cut has
    best = sum(sum(others.values()) for others in left.values())
    while len(left) > 1:
        tight = dict.fromkeys(left, 0)
        order: list[str] = []
        while tight:
            # the GPU most tightly linked to those before: only this order makes the cut around the last one minimal
            following = max(tight, key=lambda gpu: tight[gpu])
            best = min(best, tight[following]) if len(tight) == 1 else best
            del tight[following]
            order.append(following)
            for neighbour, count in left[following].items():
                if neighbour in tight:
                    tight[neighbour] += count
        # the cut around the last GPU is counted, so it merges with the one before
        kept, gone = order[-2], order[-1]
        for neighbour, count in left.pop(gone).items():
            del left[neighbour][gone]
            if neighbour != kept:
                left[kept][neighbour] = left[neighbour][kept] = left[kept].get(neighbour, 0) + count
    return best


def _link_graph(gpus: Sequence[str], links: Sequence[tuple[str, str]], counts: Sequence[int] = ()) -> _LinkGraph | None:
    """Return the graph of links between GPUs; None without links.

    Args:
        counts: links of each pair [1]; one each if empty.

    Returns:
        Counts of links [1].

    Equation:
        rings = 2 floor(c / 2), c the fewest links that part the GPUs in two, at least 1: a ring crosses there and back

    Source:
        Definition; the count of rings is a bound, which circulant and complete graphs reach.
    """
    if not links:
        return None
    weights: dict[str, dict[str, int]] = {gpu: {} for gpu in gpus}
    for (first, second), count in zip(links, counts or [1] * len(links), strict=True):
        weights[first][second] = weights[second][first] = count
    degrees = [sum(others.values()) for others in weights.values()]
    distances = [_distances(gpu, weights) for gpu in gpus]
    ways = [value for reached in distances for value in reached.values() if value]
    return _LinkGraph(
        most=max(degrees),
        mean=sum(degrees) / len(degrees),
        # a ring takes two links of the cut, and a link serves one ring each way
        rings=max(1, 2 * (_smallest_cut(weights) // 2)),
        fewest=min(counts, default=1),
        hops=sum(ways) / len(ways),
        connected=all(len(reached) == len(gpus) for reached in distances),
    )


Range = tuple[float, float, float]
"""Low end, value and high end of the known range."""


def memory_bandwidth(channels: Number, megatransfers: Number, efficiency: Number) -> Number:
    """Return the practical memory bandwidth of a socket [GB/s].

    Args:
        channels: populated memory channels [1].
        megatransfers: transfer rate [MT/s].
        efficiency: fraction of the theoretical bandwidth that is reached [1].

    Equation:
        B = channels * MT/s * 8 bytes / 1000 * efficiency

    Source:
        JEDEC DDR4 (64 data bits per channel); 16 channels of DDR4-3200 at 78.1 % are the 320 GB/s of [1].
    """
    # 8 bytes: the 64 data bits of a channel
    return channels * megatransfers * 8 / 1000 * efficiency


def spread(figure: Figure) -> Range:
    """Return low end, value and high end of a figure."""
    low, high = figure.range
    return (low, figure.value, high)


@record
class Port:
    """A root port with its devices."""

    id: str
    socket: str
    cpu: str
    """Catalogue id of the CPU of its socket."""
    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    limits: RootPortLimits | None
    pcie_switch: bool

    @property
    def devices(self) -> str:
        """Devices in words, such as GPU0+NIC0."""
        return "+".join(name.upper() for name in self.gpus + self.nics)


@record
class Host:
    """A compute node seen by a collective."""

    id: str
    gpus: tuple[str, ...]
    accelerator: Accelerator | None
    cpus: tuple[Cpu, ...]
    ports: tuple[Port, ...]
    pairs: tuple[tuple[str, str], ...]
    joined: bool
    """True if a scale-up switch, a mesh or other links, or a torus join all GPUs."""
    domain_nodes: int
    """Nodes that one scale-up switch joins."""
    pcie: Range | None
    """PCIe link of a GPU, one way: low end, value and high end of the known range [GB/s]; None if unknown."""
    nics: tuple[Nic, ...]
    """NICs on the fabric."""
    nic_ids: tuple[str, ...]
    """Their names in the server."""
    nic_gbyte_s: tuple[float, ...]
    """Rate of each NIC with its link and switch port [GB/s]."""
    peer_through_cpu: bool
    """True if a NIC of the fabric and its nearest GPU meet only in the CPU."""
    sockets_with_gpus: int
    channels: int
    memory_gbyte_s: Range
    """Practical host memory bandwidth over all sockets: low end, value and high end of the known range [GB/s]."""
    mesh: bool = False
    """True if links between every two GPUs join them, and no switch."""
    links: _LinkGraph | None = None
    """Links between single GPUs, without a switch, mesh or torus; None without links."""
    torus: tuple[int, ...] = ()
    """GPUs along each axis of a torus that joins them; empty without one."""
    scale_up_name: str = "NVLink"
    """Name of the scale-up network."""
    drives: Drives | None = None
    """Data drives of the node; None without them, or if unknown."""
    forwarding: bool = True
    """True if NCCL reaches the NIC of another GPU over NVLink (PXN), as from 2.12 on."""

    @property
    def nics_built_in(self) -> bool:
        """True if every NIC on the fabric is inside a GPU, and a scale-up network joins the GPUs."""
        return self.joined and bool(self.nics) and all(nic.built_in for nic in self.nics)

    @property
    def domain_gpus(self) -> int:
        """GPUs that one scale-up switch joins, or the GPUs of one node."""
        return len(self.gpus) * self.domain_nodes

    @property
    def domain_nics(self) -> int:
        """NICs on the fabric of the nodes that one scale-up switch joins, or the NICs of one node."""
        return len(self.nics) * self.domain_nodes

    @property
    def rates(self) -> CollectiveRates | None:
        """Rates of collectives between its accelerators; None if unmeasured."""
        return self.accelerator.collectives if self.accelerator else None

    @property
    def beside(self) -> int:
        """Largest number of GPUs that share a PCIe switch with a NIC of the fabric [1]."""
        return max((len(port.gpus) for port in self.ports if port.pcie_switch and port.nics), default=0)

    @property
    def launch_s(self) -> float:
        """Time from call to start of a collective beyond the library's own [s]."""
        return real(self.rates.launch.value) if self.rates and self.rates.launch else 0.0

    @property
    def payload_gbyte_s(self) -> float:
        """Payload rate of all NICs on the fabric together, one direction [GB/s]."""
        return sum(r * nic.line_efficiency.value for r, nic in zip(self.nic_gbyte_s, self.nics, strict=True))

    def without_limit(self, ports: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the CPUs of root ports whose limit is unknown, each once: a gap that is no limit of zero cost.

        Args:
            ports: root ports to consider; all with GPUs if omitted.
        """
        used = set(ports) if ports is not None else {port.id for port in self.ports if port.gpus}
        return tuple(dict.fromkeys(port.cpu for port in self.ports if port.limits is None and port.id in used))

    def port_of(self, device: str) -> Port | None:
        """Return the root port of a GPU or a NIC."""
        return next((port for port in self.ports if device in port.gpus or device in port.nics), None)


def with_first_nics(host: Host, count: int) -> Host:
    """Return a node with only the first `count` NICs, as a library uses it."""
    # ports lose the other NICs too, else their load would count
    kept = host.nic_ids[:count]
    ports = tuple(replace(port, nics=tuple(name for name in port.nics if name in kept)) for port in host.ports)
    return replace(host, nics=host.nics[:count], nic_ids=kept, nic_gbyte_s=host.nic_gbyte_s[:count], ports=ports)


def _ports(server: Server, cpus: Sequence[Cpu], on_fabric: set[str]) -> tuple[Port, ...]:
    ports = []
    for socket, cpu in zip(server.sockets, cpus, strict=True):
        for port in socket.root_ports:
            gpus = tuple(slot.id for slot in server.accelerators if slot.root_port == port.id)
            nics = tuple(s.id for s in server.nics if s.root_port == port.id and s.id in on_fabric)
            ports.append(
                Port(
                    id=port.id,
                    socket=socket.id,
                    cpu=cpu.id,
                    gpus=gpus,
                    nics=nics,
                    # a figure of this server goes before that of its CPU
                    limits=port.limits or cpu.root_port,
                    pcie_switch=port.pcie_switch,
                )
            )
    return tuple(ports)


def _memory(server: Server, cpus: Sequence[Cpu]) -> Range:
    """Return low end, value and high end of the memory bandwidth over all sockets [GB/s]."""

    def total(efficiencies: list[float]) -> float:
        bandwidths = [
            memory_bandwidth(socket.memory.channels.value, socket.memory.rate.value, efficiency)
            for socket, efficiency in zip(server.sockets, efficiencies, strict=True)
        ]
        return real(sum(bandwidths))

    figures = [cpu.memory_efficiency for cpu in cpus]
    return (
        total([figure.range[0] for figure in figures]),
        total([figure.value for figure in figures]),
        total([figure.range[1] for figure in figures]),
    )


def host_of(
    server: Server,
    accelerator: Accelerator | None,
    cpus: Sequence[Cpu],
    nics: Sequence[tuple[str, Nic, float]],
    *,
    forwarding: bool = True,
) -> Host:
    """Return the resources of one server.

    Args:
        cpus: its CPUs, one per socket.
        nics: name, part and rate [GB/s] of each NIC on the fabric.
        forwarding: NCCL reaches another GPU's NIC over NVLink.
    """
    ports = _ports(server, cpus, {name for name, _, _ in nics})
    # a socket without GPUs counts for memory and not for chains and rings
    gpu_ports = {slot.root_port for slot in server.accelerators}
    sockets = sum(any(p.id in gpu_ports for p in socket.root_ports) for socket in server.sockets)
    with_nics = [port for port in ports if port.nics]
    switched_ports = [port for port in with_nics if port.pcie_switch and port.gpus]
    scale_up = server.nvlink
    names = [slot.id for slot in server.accelerators]
    graph = _link_graph(names, scale_up.links, scale_up.counts) if scale_up else None
    link = server.accelerator_pcie or (accelerator.pcie.bandwidth if accelerator and accelerator.pcie else None)
    return Host(
        id=server.id,
        gpus=tuple(slot.id for slot in server.accelerators),
        accelerator=accelerator,
        cpus=tuple(cpus),
        ports=ports,
        pairs=tuple(scale_up.pairs) if scale_up else (),
        joined=bool(scale_up and (scale_up.switched or scale_up.mesh or scale_up.torus))
        or (graph is not None and graph.connected),
        links=graph,
        mesh=bool(scale_up and scale_up.mesh),
        torus=tuple(scale_up.torus) if scale_up else (),
        scale_up_name=scale_up.name if scale_up else "",
        domain_nodes=scale_up.nodes if scale_up and (scale_up.switched or scale_up.torus) else 1,
        pcie=spread(link) if link else None,
        nics=tuple(nic for _, nic, _ in nics),
        nic_ids=tuple(name for name, _, _ in nics),
        nic_gbyte_s=tuple(rate for _, _, rate in nics),
        # one NIC that shares no PCIe switch with a GPU is enough
        peer_through_cpu=len(switched_ports) < len(with_nics),
        sockets_with_gpus=sockets,
        channels=sum(socket.memory.channels.value for socket in server.sockets),
        memory_gbyte_s=_memory(server, cpus),
        drives=server.drives,
        forwarding=forwarding,
    )


def host(group: ResolvedGroup, port_gbyte_s: float) -> Host:
    """Return the resources of one node of the group.

    Args:
        port_gbyte_s: rate of a switch port with its link [GB/s].

    Raises:
        TypeError: if the group's server is not a compute server (a bug of the caller).
    """
    server = group.server
    if not isinstance(server, Server):
        raise TypeError(f"{server.id} is not a compute server")
    rates = group.nic_rates(port_gbyte_s)
    nics = [(server.nics[slot].id, group.nics[slot], rate) for slot, rate in zip(group.fabric_nics, rates, strict=True)]
    return host_of(server, group.accelerator, group.cpus, nics)
