"""The inside of a server as a topology file describes it: devices, sockets behind NUMA nodes, the catalogue parts that
they may be, and what is odd."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import first_few, plural
from ffplan.base.record import record
from ffplan.catalog.parts import Accelerator, Cpu, Nic
from ffplan.interop.topology.devices import _PcieRate
from ffplan.interop.topology.scale_up import _ScaleUpFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.interop.xml_tree import _Element


@record
class _PciDevice:
    bus: str
    """Bus id; empty of a NIC without PCI."""
    pci_id: str
    """vendor:device, as in 10de:20b0; empty where the file does not say."""
    name: str
    """Name of its first interface; empty of GPUs, and where the file does not say."""
    number: int | None
    """`dev` of a GPU or an interface."""
    link: _PcieRate | None
    """Its own PCIe link, to the switch or the CPU; None where the file does not say."""
    gbyte_s: float | None = None
    """Rate of a NIC's fastest port [GB/s]; None of GPUs, and where the file does not say."""
    ports: int = 1
    """Ports of a NIC that run at this rate [1]."""
    line: int = 0

    @property
    def rate_words(self) -> str:
        if not self.gbyte_s:
            return ""
        return f"{f'{self.ports} ports of ' if self.ports > 1 else ''}{8 * self.gbyte_s:,.0f} Gb/s"


@record
class _RootPortFound:
    gpus: tuple[_PciDevice, ...]
    nics: tuple[_PciDevice, ...]

    @property
    def switched(self) -> bool:
        """True where its devices share a PCIe switch: several lie behind one port."""
        return len(self.gpus) + len(self.nics) > 1


@record
class _SocketFound:
    cpu: str
    """Vendor, family and model in words; empty where the file does not say."""
    cpuid: str
    """vendor:family:model, as catalogued CPUs list them; empty where the file does not say."""
    numa: tuple[int, ...]
    """Its NUMA nodes."""
    ports: tuple[_RootPortFound, ...]


@record
class _ServerTopology:
    sockets: tuple[_SocketFound, ...]
    scale_up: _ScaleUpFound
    coherent: bool
    """True where GPUs have a coherent link to the CPU: C2C, or NVLink of POWER9."""
    management: tuple[_PciDevice, ...]
    """NICs that are left out: up to 10 Gb/s, or without a card."""
    warnings: tuple[str, ...]
    """What the file says oddly, in words."""
    hosts: int = 1
    """Servers that share its scale-up network, this one first [1]."""

    @property
    def gpus(self) -> tuple[_PciDevice, ...]:
        return tuple(gpu for socket in self.sockets for port in socket.ports for gpu in port.gpus)

    @property
    def nics(self) -> tuple[_PciDevice, ...]:
        return tuple(nic for socket in self.sockets for port in socket.ports for nic in port.nics)


_MOST_SOCKETS = 2
"""Most sockets of a server with x86 CPUs beside accelerators: AMD's processor specifications list 1P and 2P only, and
GPU servers with four sockets of Intel are rare; recalled."""
_MOST_SOCKET_NODES = 4
"""Most NUMA nodes of a socket with AMD EPYC (NPS4), for Rome and later; AMD's tuning guides."""
_APU = ("AuthenticAMD:175:144", "AuthenticAMD:25:144")
"""CPUs that share a package with a GPU: MI300A, up to four in a server; recalled. NCCL adds 16 times the
extended family to the base family, and so writes family 25 as 175."""
_CLUSTERED = 2
"""NUMA nodes from which a server may have clusters within a socket."""
_X86 = ("AMD", "Genuine", "x86")


@record
class _NumaNode:
    number: int
    cpu: str
    cpuid: str
    ports: tuple[_RootPortFound, ...]


def _nodes_per_socket(nodes: list[_NumaNode]) -> int:
    """Return the NUMA nodes of a socket: servers with x86 CPUs have two sockets, of several nodes each."""
    most = max(node.number for node in nodes) + 1
    if not _is_x86(nodes) or most <= _MOST_SOCKETS:
        return 1
    even = -(-most // _MOST_SOCKETS)
    return max(even, _MOST_SOCKET_NODES) if "AMD" in nodes[0].cpu and most > _MOST_SOCKETS * 2 else even


def _is_x86(nodes: list[_NumaNode]) -> bool:
    return any(name in nodes[0].cpu for name in _X86) and nodes[0].cpuid not in _APU


def _group_sockets(nodes: list[_NumaNode]) -> tuple[tuple[_SocketFound, ...], list[str]]:
    """Return the sockets of NUMA nodes, and what was assumed.

    A file has a `cpu` for every NUMA node with devices, and numbers them through the sockets.
    """
    size = _nodes_per_socket(nodes)
    x86 = _is_x86(nodes)
    highest = max(node.number for node in nodes)
    numbers = range(highest // size + 1) if x86 or highest <= 1 else sorted({node.number for node in nodes})
    held = [[node for node in nodes if node.number // size == place] for place in numbers]
    sockets = tuple(
        _SocketFound(
            cpu=nodes[0].cpu if not inside else inside[0].cpu,
            cpuid=nodes[0].cpuid if not inside else inside[0].cpuid,
            numa=tuple(sorted({node.number for node in inside})),
            ports=tuple(port for node in inside for port in node.ports),
        )
        for inside in held
    )
    if size == 1 and not x86 and nodes[0].cpuid not in _APU and len(nodes) > _CLUSTERED:
        warning = f"{len(nodes)} NUMA nodes are counted as sockets; sub-NUMA clustering has fewer sockets: correct it"
        return sockets, [warning]
    if size == 1:
        return sockets, []
    warning = (
        f"{plural(len(nodes), 'NUMA node')} are taken for {plural(len(sockets), 'socket')}, {size} to a socket: "
        "servers with GPUs have two sockets of AMD or Intel, rarely one or four; correct it where this one has"
    )
    return sockets, [warning]


def _slow_links(gpus: Iterable[_PciDevice]) -> list[str]:
    """Return a warning for every GPU whose PCIe link is slower than other GPUs'."""
    known = [(gpu, gpu.link) for gpu in gpus if gpu.link is not None]
    best = max((link.gbyte_s for _, link in known), default=0.0)
    fastest = next((link for _, link in known if link.gbyte_s == best), None)
    return [
        f"line {gpu.line}: the GPU {gpu.bus} runs at {link}, {link.gbyte_s:.1f} GB/s, where others run at "
        f"{fastest}, {best:.1f} GB/s: its copies take {best / link.gbyte_s:.1f} times as long, and a "
        "step waits for the slowest"
        for gpu, link in known
        if link.gbyte_s < 0.99 * best and link.generation > 1
    ]


def _slow_ports(nics: Iterable[_PciDevice]) -> list[str]:
    """Return a warning for NICs whose PCIe link is slower than their port, one for each pair of rates."""
    slow: dict[tuple[float, str, float], list[_PciDevice]] = {}
    for nic in nics:
        if nic.link and nic.gbyte_s and nic.link.generation > 1 and nic.link.gbyte_s < 0.99 * nic.gbyte_s:
            slow.setdefault((nic.gbyte_s, str(nic.link), nic.link.gbyte_s), []).append(nic)
    return [
        f"line {same[0].line}: {plural(len(same), 'NIC')} ({first_few(nic.name or nic.bus for nic in same)}) "
        f"with {8 * port:,.0f} Gb/s at the port and {8 * rate:,.0f} Gb/s of PCIe {link} behind it: PCIe binds"
        for (port, link, rate), same in slow.items()
    ]


def _repeated(gpus: Iterable[_PciDevice]) -> list[str]:
    buses = [gpu.bus for gpu in gpus if gpu.bus]
    twice = sorted({bus for bus in buses if buses.count(bus) > 1})
    return [f"several GPUs have the bus id {', '.join(twice)}: their links cannot be distinguished"] if twice else []


def _partitions(gpus: Iterable[_PciDevice]) -> list[str]:
    """Return a warning where GPUs are functions of fewer devices, as partitions of a GPU are (CPX, MIG)."""
    buses = [gpu.bus for gpu in gpus if "." in gpu.bus]
    whole = {bus.rpartition(".")[0] for bus in buses}
    if len(set(buses)) == len(whole):
        return []
    return [
        f"{plural(len(buses), 'GPU')} are functions of {plural(len(whole), 'device')}, as partitions of a GPU are: a "
        "part of the catalogue is a whole GPU"
    ]


def _unused(elements: Mapping[str, Sequence[_Element]]) -> list[str]:
    """Return a warning for PCI devices, by the element that they lack, which a file lists without NCCL's using them."""
    titles = {"gpu": "GPU", "net": "NIC"}
    return [
        f"line {devices[0].line}: {plural(len(devices), 'device')} of the class of a {titles[name]} "
        f"({first_few(device.attributes.get('busid', '?')[:20] for device in devices)}) without a `{name}` element, "
        "which others have: NCCL did not use them, and they are left out"
        for name, devices in elements.items()
        if devices
    ]


@record
class _KnownParts:
    """Parts by the ids that a topology file has; an id may belong to several."""

    accelerators: dict[str, list[Accelerator]]
    """By PCI id."""
    nics: dict[str, list[Nic]]
    """By PCI id."""
    cpus: dict[str, list[Cpu]]
    """By vendor, family and model."""
    arches: dict[str, str]
    """Instruction sets of all CPUs, by their catalogue ids."""


def known_parts(catalog: Catalog) -> _KnownParts:
    """Return the parts of a catalogue by their ids.

    Raises:
        InputError: where a part's file is wrong.
    """
    parts = _KnownParts(accelerators={}, nics={}, cpus={}, arches={})
    for name in catalog.ids_of("accelerator"):
        part = catalog.entry(name).part
        assert isinstance(part, Accelerator)
        for pci in part.pci_ids:
            parts.accelerators.setdefault(pci, []).append(part)
    for name in catalog.ids_of("nic"):
        part = catalog.entry(name).part
        assert isinstance(part, Nic)
        for pci in part.pci_ids:
            parts.nics.setdefault(pci, []).append(part)
    for name in catalog.ids_of("cpu"):
        part = catalog.entry(name).part
        assert isinstance(part, Cpu)
        parts.arches[part.id] = part.arch
        for cpuid in part.cpuid:
            parts.cpus.setdefault(cpuid, []).append(part)
    return parts


def _of_gpu(parts: _KnownParts, gpu: _PciDevice) -> list[Accelerator]:
    return parts.accelerators.get(gpu.pci_id, [])


def _of_nic(parts: _KnownParts, nic: _PciDevice) -> list[Nic]:
    """Return the NICs that a card may be: by PCI id, narrowed down by the rate of its ports if one fits.

    A card with two ports of 200 Gb/s counts as 400 Gb/s, if the catalogue has such a part.
    """
    candidates = parts.nics.get(nic.pci_id, [])
    if nic.gbyte_s is None:
        return candidates
    for rate in (nic.ports * nic.gbyte_s, nic.gbyte_s):
        if of_rate := [part for part in candidates if abs(part.rate.value - rate) < 0.05 * rate]:
            return of_rate
    return candidates


def _arch_of(socket: _SocketFound) -> str:
    """Return the instruction set of a socket's CPU as catalogued CPUs write it; empty where the file does not say."""
    if any(name in socket.cpu for name in ("AMD", "Genuine", "x86")):
        return "x86_64"
    return next((name for name in ("arm64", "ppc64") if name in socket.cpu), "")
