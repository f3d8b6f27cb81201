"""A server's catalogue file, written from its topology file, with marks where values are to be filled in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import first_few, plural
from ffplan.base.record import record
from ffplan.catalog.parts import Server
from ffplan.inputs.document import comment, flow, quoted, scalar
from ffplan.interop.topology.devices import _PcieRate
from ffplan.interop.topology.model import _arch_of, _of_gpu, _of_nic

if TYPE_CHECKING:
    from ffplan.catalog.parts import Accelerator
    from ffplan.interop.topology.model import _KnownParts, _PciDevice, _ServerTopology, _SocketFound

_TODO = "TODO"
"""Marks a value that the topology file does not have, to be filled in by hand."""
_RACKS = ("gb200", "gb300")
"""Accelerators whose scale-up network joins the nodes of a rack."""
_HALVES = ("1002:7408", "1002:740c")
"""PCI ids of one die of MI250 or MI250X; a card has two; pci.ids 2026.08.22."""
_MEMORY = (
    ("channels", "populated channels of a socket, such as 8"),
    ("rate", "at which they run, such as 4800 MT/s"),
    ("dimms", "memory modules of a socket, such as 16"),
    ("capacity", "memory of a socket, such as 1024 GB"),
)
"""Figures of memory, which topology files lack."""


@record
class Basis:
    """A catalogued server that supplies what a topology file does not have."""

    server: Server
    data: Mapping[str, Any]
    """Its file as plain values."""


@record
class _ServerFile:
    text: str
    todo: tuple[str, ...]
    warnings: tuple[str, ...]


class _Writer:
    def __init__(self, topology: _ServerTopology, parts: _KnownParts, basis: Basis | None, cpu: str | None) -> None:
        self.topology, self.parts, self.basis, self.cpu = topology, parts, basis, cpu
        self.todo: list[str] = []
        self.warnings = list(topology.warnings)
        self.gpus = _numbered(list(topology.gpus), "gpu")
        self.nics = _numbered(list(topology.nics), "nic")
        self.other_rates: dict[tuple[str, str], list[_PciDevice]] = {}
        """NICs whose ports run at another rate than their part, by both rates in words."""
        self.sources: set[str] = set()
        """Sources of the basis that its figures name."""

    def fill(self, field: str, what: str) -> str:
        """Return the mark of a value to fill in, and note it."""
        if (entry := f"{field}: {what}") not in self.todo:
            self.todo.append(entry)
        return _TODO

    def taken(self, value: Any) -> str:
        """Return data of the basis in one line; its sources are noted."""
        self.sources |= _sources(value)
        return flow(value)

    def cpu_of(self, socket: _SocketFound) -> tuple[str, str]:
        description = socket.cpu or "the file does not say which"
        if self.cpu is not None:
            return self.cpu, description
        may, arch = [part.id for part in self.parts.cpus.get(socket.cpuid, [])], _arch_of(socket)
        if self.basis is not None:
            cpu = self.basis.server.sockets[0].cpu
            if not (may and cpu not in may) and arch in ("", self.parts.arches.get(cpu, arch)):
                return cpu, description
            self.warn(f"the CPUs are {description}, but `{self.basis.server.id}` has `{cpu}`: name them")
        known = f"{' or '.join(may)}, or another of this family" if may else "no catalogued CPU is known to be one"
        if arch == socket.cpu and (
            alike := sorted(name for name, cpu_arch in self.parts.arches.items() if cpu_arch == arch)
        ):
            known = f"of this kind the catalogue has {first_few(f'`{name}`' for name in alike)}"
        return self.fill("cpu", f"catalogue id of the CPU ({description}): {known}"), description

    def warn(self, warning: str) -> None:
        """Note something odd, once."""
        if warning not in self.warnings:
            self.warnings.append(warning)

    def sockets(self) -> list[str]:
        lines = ["sockets:"]
        for number, socket in enumerate(self.topology.sockets):
            cpu, description = self.cpu_of(socket)
            lines += [f"  - id: cpu{number}", f"    cpu: {scalar(cpu)}  # {comment(description)}", *self.memory(number)]
            lines += ["    root_ports:"] if socket.ports else []
            for position, port in enumerate(socket.ports):
                lines.append(f"      - {{id: cpu{number}-rp{position}, pcie_switch: {str(port.switched).lower()}}}")
        return lines

    def memory(self, number: int) -> list[str]:
        """Return the lines of a socket's memory; all sockets repeat the first."""
        if number:
            return ["    memory: *memory"]
        if self.basis is not None:
            held = self.basis.data["sockets"][0]["memory"]
            return ["    memory: &memory", *(f"      {name}: {self.taken(held[name])}" for name in held)]
        lines = ["    memory: &memory"]
        for name, what in _MEMORY:
            self.fill(f"memory.{name}", what)
            lines.append(f"      {name}: {{value: {_TODO}, source: filled}}  # {what}")
        return lines

    def accelerators(self) -> list[str]:
        lines = [f"accelerator: {self.accelerator()}", "accelerators:"]
        for name, port, gpu in self.placed("gpu"):
            lines.append(f"  - {{id: {name}, root_port: {port}}}  # {comment(gpu.bus) or 'no bus id'}")
        return lines

    def placed(self, kind: str) -> list[tuple[str, str, _PciDevice]]:
        """Return name, root port and device of every GPU or NIC, in the order of their names."""
        names = self.gpus if kind == "gpu" else self.nics
        rows = []
        for number, socket in enumerate(self.topology.sockets):
            for position, port in enumerate(socket.ports):
                devices = port.gpus if kind == "gpu" else port.nics
                rows += [(names[id(device)], f"cpu{number}-rp{position}", device) for device in devices]
        return sorted(rows, key=lambda row: (len(row[0]), row[0]))

    def accelerator(self) -> str:
        ids = sorted({gpu.pci_id for gpu in self.topology.gpus})
        may = sorted({part.id for gpu in self.topology.gpus for part in _of_gpu(self.parts, gpu)})
        pci = f"PCI id {', '.join(ids)}" if any(ids) else "the file has no PCI id"
        if len(ids) > 1 and (len(may) > 1 or any(not _of_gpu(self.parts, gpu) for gpu in self.topology.gpus)):
            self.warn(f"the GPUs have several PCI ids ({', '.join(ids)}); a server file has one kind")
            may = []
        if len(may) == 1:
            return f"{may[0]}  # {pci}"
        accelerator = self.basis.server.accelerator if self.basis is not None else None
        if accelerator is not None and not any(ids):
            self.warn(f"the file has no PCI ids: the GPUs are assumed to be `{accelerator}`, as in the given server")
            return f"{accelerator}  # {pci}"
        known = f"one of {', '.join(may)}" if may else "no catalogued accelerator has it" if any(ids) else "name it"
        if ids and set(ids) <= set(_HALVES):
            known = (
                "a card of MI250 or MI250X is two of them, and `mi250x` of the catalogue is a whole card: name a half"
            )
        return f"{self.fill('accelerator', f'catalogue id of the GPUs ({pci}): {known}')}  # {pci}"

    def kind(self) -> Accelerator | None:
        """Return the accelerator, where its PCI id tells."""
        may = {part.id: part for gpu in self.topology.gpus for part in _of_gpu(self.parts, gpu)}
        return next(iter(may.values())) if len(may) == 1 else None

    def slower_link(self) -> list[str]:
        """Return the PCIe rate of the GPUs, where most run below the link of their kind.

        Where GPUs have a coherent link to the CPU, their copies take that, and PCIe is for control alone.
        """
        part = None if self.topology.coherent else self.kind()
        links = Counter(str(gpu.link) for gpu in self.topology.gpus if gpu.link is not None)
        if part is None or part.pcie is None or not links:
            return []
        usual = links.most_common(1)[0][0]
        link = next(gpu.link for gpu in self.topology.gpus if str(gpu.link) == usual)
        rated = _PcieRate(int(part.pcie.generation.value), int(part.pcie.lanes.value))
        if link is None or link.generation == 1 or link.gbyte_s > 0.99 * rated.gbyte_s:
            return []
        rate = part.pcie.bandwidth.value * link.gbyte_s / rated.gbyte_s
        self.warn(
            f"the GPUs run at PCIe {link}; `{part.id}` has {rated}: copies to hosts and NICs reach {rate:.3g} GB/s in "
            f"place of {part.pcie.bandwidth.value:g} GB/s"
        )
        note = quoted(f"PCIe {link}, of {rated}: the practical rate of the part, scaled")
        return [f"accelerator_pcie: {{value: {rate:.4g} GB/s, source: xml, grade: derived, status: D, note: {note}}}"]

    def nic_lines(self) -> list[str]:
        """Return the lines of the NICs: a NIC that shares a switch with a GPU carries the GPUs' fabric."""
        lines = ["nics:"] if self.topology.nics else []
        beside = {
            id(nic) for socket in self.topology.sockets for port in socket.ports if port.gpus for nic in port.nics
        }
        apart = beside and len(beside) < len(self.topology.nics)
        for name, port, nic in self.placed("nic"):
            network = "both" if not apart else "compute" if id(nic) in beside else "storage"
            rate = f", {nic.rate_words}" if nic.gbyte_s else ""
            title = comment(f"{nic.name or nic.bus}{rate}")
            lines.append(
                f"  - {{id: {name}, part: {self.nic_part(nic)}, root_port: {port}, network: {network}}}  # {title}"
            )
        for (rate, has), alike in self.other_rates.items():
            shown = first_few(nic.name or nic.bus for nic in alike)
            ports = f"the port of {shown} runs" if len(alike) == 1 else f"the ports of {shown} run"
            self.warn(f"{ports} at {rate}, {has}: name a part of the rate that is used")
        if apart:
            self.warn(
                f"{plural(len(beside), 'NIC')} beside GPUs are taken for the compute network, the other "
                f"{len(self.topology.nics) - len(beside)} for storage"
            )
        return lines

    def nic_part(self, nic: _PciDevice) -> str:
        may = _of_nic(self.parts, nic)
        if len(may) == 1:
            part = may[0]
            rates = [nic.gbyte_s, nic.ports * nic.gbyte_s] if nic.gbyte_s else []
            if rates and all(abs(part.rate.value - rate) > 0.05 * rate for rate in rates):
                has = f"`{part.id}` has {8 * part.rate.value:,.0f} Gb/s"
                self.other_rates.setdefault((nic.rate_words, has), []).append(nic)
            return scalar(part.id)
        if self.basis is not None and not nic.pci_id and nic.bus and self.basis.server.nics:
            self.warn(f"the file has no PCI ids of NICs: they are assumed to be `{self.basis.server.nics[0].part}`")
            return scalar(self.basis.server.nics[0].part)
        pci = f"PCI id {nic.pci_id}" if nic.pci_id else "no PCI id in the file"
        rate = f", {'port of ' if nic.ports == 1 else ''}{nic.rate_words}" if nic.gbyte_s else ""
        known = f": one of {', '.join(part.id for part in may)}" if may else ""
        return self.fill("nics[].part", f"catalogue id of the NIC ({pci}{rate}){known}")

    def same_gpus(self) -> bool:
        """Tell whether the basis has the same number of GPUs, and the same kind if the file states it."""
        assert self.basis is not None
        part, server = self.kind(), self.basis.server
        alike = part is None and not any(gpu.pci_id for gpu in self.topology.gpus)
        return len(server.accelerators) == len(self.topology.gpus) and (
            alike or (part is not None and part.id == server.accelerator)
        )

    def scale_up(self) -> list[str]:
        network = self.topology.scale_up
        links_note = f"  # {network.links_per_gpu} links of a GPU" if network.links_per_gpu else ""
        name = f", name: {scalar(network.name)}" if network.name not in ("", "NVLink") else ""
        if network.kind == "switch":
            nvlink = self.basis.server.nvlink if self.basis is not None and self.same_gpus() else None
            nodes = self.topology.hosts
            if nodes == 1 and nvlink is not None and nvlink.switched:
                nodes = nvlink.nodes
            part = self.kind()
            if nodes == 1 and part is not None and part.id.startswith(_RACKS):
                self.warn("NVLink of this GPU joins several nodes: write `nodes`, such as 18 of an NVL72 rack")
            return [f"nvlink: {{switched: true{f', nodes: {nodes}' if nodes > 1 else ''}{name}}}{links_note}"]
        if network.kind == "mesh":
            return [f"nvlink: {{mesh: true{name}}}{links_note}"]
        if network.kind in ("pairs", "links"):
            bus = {gpu.bus: self.gpus[id(gpu)] for gpu in self.topology.gpus}
            joined = sorted(
                (sorted((bus[a], bus[b])), count) for (a, b), count in zip(network.pairs, network.counts, strict=True)
            )
            shown = ", ".join(f"[{', '.join(pair)}]" for pair, _ in joined)
            equal = network.kind == "pairs" or set(network.counts) == {1}
            counts = "" if equal else f", counts: [{', '.join(str(count) for _, count in joined)}]"
            return [f"nvlink: {{{network.kind}: [{shown}]{counts}{name}}}{links_note}"]
        nvlink = self.basis.data.get("nvlink") if self.basis is not None else None
        if nvlink is not None and self.same_gpus() and not nvlink.get("pairs"):
            return [f"nvlink: {self.taken(nvlink)}"]
        part = self.kind()
        if len(self.topology.gpus) > 1 and (part is None or part.nvlink is not None):
            self.warn("the file lists no links between GPUs; if there are any, write `nvlink: {switched: true}`")
        return []

    def power(self) -> list[str]:
        if self.basis is not None:
            held = self.basis.data["power"]
            part = self.kind()
            if part is not None and part.id != self.basis.server.accelerator:
                self.warn(f"power and memory come from a server with `{self.basis.server.accelerator}`: correct them")
            return ["power:", *(f"  {name}: {self.taken(held[name])}" for name in held)]
        self.warn("the power of this server is unknown: fill in `power` if energy and cooling matter")
        return ["power: {}  # training, idle, maximum, such as maximum: {value: 6500 W, source: filled}"]


def _numbered(devices: list[_PciDevice], prefix: str) -> dict[int, str]:
    """Return a name of every device: by its own number where all have one, else by its place in the file."""
    numbers = [device.number for device in devices]
    numbered = None not in numbers and len(set(numbers)) == len(numbers) and prefix == "gpu"
    return {id(device): f"{prefix}{device.number if numbered else place}" for place, device in enumerate(devices)}


def _sources(value: Any) -> set[str]:
    if isinstance(value, dict):
        named = {value["source"]} if isinstance(value.get("source"), str) else set()
        return named.union(*(_sources(part) for part in value.values()))
    return set().union(*(_sources(part) for part in value)) if isinstance(value, list) else set()


def server_file(
    topology: _ServerTopology,
    parts: _KnownParts,
    *,
    name: str,
    file: str,
    date: str,
    cpu: str | None = None,
    basis: Basis | None = None,
) -> _ServerFile:
    """Write a server file from a topology file.

    Args:
        file: the topology file, named as the source.
        date: day on which it was read, as YYYY-MM-DD.
        cpu: catalogue id of the CPUs, if known.
        basis: a server that supplies what the file does not have.
    """
    writer = _Writer(topology, parts, basis, cpu)
    body = [
        *writer.sockets(),
        *writer.accelerators(),
        *writer.nic_lines(),
        *writer.slower_link(),
        *writer.scale_up(),
        *writer.power(),
    ]
    if basis is not None and len(basis.server.accelerators) != len(topology.gpus):
        have = len(basis.server.accelerators)
        writer.warn(f"`{basis.server.id}` has {plural(have, 'accelerator')}, this file {len(topology.gpus)}")
    taken = f"; memory and power come from {basis.server.id}" if basis is not None else ""
    coherent = "; GPUs have a coherent link to the CPU" if topology.coherent else ""
    title = quoted(f"topology file {file} of NCCL or RCCL")
    sources = [f'  xml: {{title: {title}, date: "{date}", grade: measured, status: V}}']
    if basis is None:
        source_title = "filled in by hand; name a data sheet, with grade and status, if one exists"
        sources.append(f'  filled: {{title: "{source_title}", date: "{date}", grade: estimate, status: R}}')
    else:
        sources += [f"  {key}: {flow(basis.data['sources'][key])}" for key in sorted(writer.sources)]
    head = [f"# {len(writer.todo)} values to fill in; they are marked {_TODO}:"] if writer.todo else []
    head += [f"#   {number}. {comment(entry)}" for number, entry in enumerate(writer.todo, start=1)]
    lines = [
        *head,
        "kind: server",
        f"id: {scalar(name)}",
        f"name: {scalar(name)}",
        f"vendor: {scalar(basis.server.vendor) if basis is not None else 'unknown'}",
        f"note: {quoted(f'Read from {file}{taken}{coherent}.')}",
        "sources:",
        *sources,
        *body,
    ]
    return _ServerFile("\n".join(lines) + "\n", tuple(writer.todo), tuple(writer.warnings))
