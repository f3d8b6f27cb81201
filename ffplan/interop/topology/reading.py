"""Topology XML of NCCL and RCCL, read into the inside of a server."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.formatting import first_few, plural
from ffplan.base.whole import whole
from ffplan.interop.topology.model import PciDevice, RootPortFound, ServerTopology
from ffplan.interop.topology.pcie import link_of
from ffplan.interop.topology.scale_up import links_of, structure
from ffplan.interop.topology.sockets import NumaNode, grouped
from ffplan.interop.xml_tree import fault, parse

if TYPE_CHECKING:
    from ffplan.interop.topology.pcie import PcieRate
    from ffplan.interop.topology.scale_up import ScaleUpLink
    from ffplan.interop.xml_tree import Element

GPUS = ("0x0302", "0x0300", "0x0380", "0x1200")
"""Classes of GPUs: 3D, VGA and display controllers, accelerators; pci.ids 2026.08.22."""
NICS = ("0x0200", "0x0207")
"""Classes of NICs: Ethernet and InfiniBand."""
MOST_NODES = 64
"""More NUMA nodes than a server has."""
MANAGEMENT_GBYTE_S = 10 / 8
"""Rate up to which a NIC is taken for management, not for the fabric [GB/s]."""
_HEX = re.compile("[0-9a-f]{1,4}")
_SPEED = re.compile(r"-1|[0-9]{1,9}(\.[0-9]{1,6})?")
_NOT_THIS = {
    "graphs": "these are the rings and trees of NCCL (NCCL_GRAPH_DUMP_FILE), not the topology",
    "testset": "this is a list of tests",
}


def _pci_id(element: Element, file: str) -> str:
    """Return vendor:device; empty where either is missing or a placeholder, as clouds write."""
    parts = []
    for name in ("vendor", "device"):
        text = element.attributes.get(name, "").lower().removeprefix("0x")
        if not text:
            return ""
        if not _HEX.fullmatch(text):
            remedy = f'write `{name}="0x..."`, or leave it out'
            raise fault(file, element, f"`{name}` of a PCI device is `{text[:20]}`", remedy)
        parts.append(text.rjust(4, "0"))
    return "" if parts[0] in ("0000", "ffff") else ":".join(parts)


class _Walk:
    """What the elements so far describe."""

    def __init__(self, root: Element, file: str) -> None:
        self.file = file
        tags = {element.tag for element in root.below()}
        self.listed = "gpu" in tags
        """True where GPUs are elements of their own; without them PCI classes tell."""
        self.netted = "net" in tags
        self.links: list[ScaleUpLink] = []
        self.coherent = False
        self.management: list[PciDevice] = []

    def port(self, element: Element) -> RootPortFound:
        """Return the devices at and below an element that hangs at a CPU."""
        gpus: list[PciDevice] = []
        nics: list[PciDevice] = []
        self._collect(element, gpus, nics)
        return RootPortFound(gpus=tuple(gpus), nics=tuple(nics))

    def _collect(self, element: Element, gpus: list[PciDevice], nics: list[PciDevice]) -> None:
        if element.tag == "nic":
            nics += self._nic(element, None, None)
            return
        if element.tag == "gpu":
            gpus.append(self._gpu(element, element, None))
            return
        if element.tag != "pci":
            return
        here = link_of(element, self.file)
        own_gpus, own_nics = element.named("gpu"), element.named("nic")
        pci_class = element.attributes.get("class", "").lower()
        if own_gpus or (not self.listed and not own_nics and pci_class.startswith(GPUS)):
            gpus.append(self._gpu(element, own_gpus[0] if own_gpus else None, here))
        elif own_nics:
            for nic in own_nics:
                nics += self._nic(nic, element, here)
        elif not self.netted and pci_class.startswith(NICS):
            nics.append(self._device(element, here))
        for child in element.named("pci"):
            self._collect(child, gpus, nics)

    def _device(self, element: Element, link: PcieRate | None) -> PciDevice:
        return PciDevice(
            bus=element.attributes.get("busid", "").lower(),
            pci_id=_pci_id(element, self.file),
            name="",
            number=None,
            link=link,
            line=element.line,
        )

    def _gpu(self, element: Element, gpu: Element | None, link: PcieRate | None) -> PciDevice:
        found = self._device(element, link)
        if gpu is None:
            return found
        self.links += links_of(gpu, found.bus)
        self.coherent |= bool(gpu.named("c2c"))
        return replace(found, number=whole(gpu.attributes.get("dev", "")))

    def _nic(self, nic: Element, card: Element | None, link: PcieRate | None) -> list[PciDevice]:
        """Return the card of a NIC with the rate of its fastest port; nothing where it serves management alone."""
        nets = nic.named("net")
        rates = []
        for net in nets:
            text = net.attributes.get("speed", "")
            if text and not _SPEED.fullmatch(text):
                raise fault(self.file, net, f"`speed` is `{text[:20]}`", "write a rate in Mb/s, such as 400000")
            rates.append(float(text) / 8000 if text and float(text) > 0 else None)
        known = [rate for rate in rates if rate is not None]
        first = nets[rates.index(max(known))] if known else nets[0] if nets else nic
        found = (
            self._device(card, link)
            if card
            else PciDevice(bus="", pci_id="", name="", number=None, link=None, line=nic.line)
        )
        name = first.attributes.get("name", "")
        found = replace(
            found, name=name, number=whole(first.attributes.get("dev", "")), gbyte_s=max(known) if known else None
        )
        slow = bool(known) and max(known) <= MANAGEMENT_GBYTE_S
        if slow or (card is None and not known):
            self.management.append(found)
            return []
        return [found]


def _cpu_words(cpu: Element) -> tuple[str, str]:
    """Return vendor, family and model of a CPU in words, and as catalogued CPUs list them."""
    vendor, family, model = (cpu.attributes.get(name, "") for name in ("vendor", "familyid", "modelid"))
    arch = "" if vendor else cpu.attributes.get("arch", "")
    told = (("", vendor), ("family", family), ("model", model), ("", arch))
    words = " ".join(f"{name} {text}".strip() for name, text in told if text)
    return words[:80], f"{vendor}:{family}:{model}" if vendor and family and model else ""


def read_server(data: bytes, file: str) -> ServerTopology:
    """Return the inside of a server from a topology file.

    Args:
        data: the file.
        file: its name in messages.

    Raises:
        InputError: located, where it is no such file, or tells of no GPU.
    """
    root = parse(data, file)
    if root.tag != "system":
        what = _NOT_THIS.get(root.tag, f"the first element is `{root.tag[:40]}`, not `system`")
        raise fault(file, root, what, "give a file that NCCL reads or writes (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE)")
    hosts = {cpu.attributes["host_hash"] for cpu in root.named("cpu") if "host_hash" in cpu.attributes}
    if len(hosts) > 1:
        words = f"the file joins {len(hosts)} hosts, as NCCL writes of a domain over several"
        raise fault(file, root, words, "give the file of one host: NCCL_MNNVL_ENABLE=0 writes it")
    walk = _Walk(root, file)
    nodes = []
    for position, cpu in enumerate(root.named("cpu")):
        words, cpuid = _cpu_words(cpu)
        ports = [walk.port(child) for child in cpu.children]
        numa = whole(cpu.attributes.get("numaid", ""))
        if numa is not None and numa >= MOST_NODES:
            words = f"`numaid` is {numa:,}, and a server has fewer than {MOST_NODES} NUMA nodes"
            raise fault(file, cpu, words, "number the NUMA nodes from 0")
        nodes.append(
            NumaNode(
                number=position if numa is None else numa,
                cpu=words,
                cpuid=cpuid,
                ports=tuple(port for port in ports if port.gpus or port.nics),
            )
        )
    gpus = [gpu for node in nodes for port in node.ports for gpu in port.gpus]
    if not gpus:
        devices = [element for element in root.below() if element.tag == "pci"]
        bare = bool(devices) and not any("class" in child.attributes for child in devices)
        what = "PCI devices have bus ids alone: nothing tells which are GPUs" if bare else "no GPU is listed"
        remedy = "give the file that NCCL writes on the server itself (NCCL_TOPO_DUMP_FILE)"
        raise fault(file, root, what, remedy)
    sockets, assumed = grouped(nodes)
    scale_up = structure(walk.links, [gpu.bus for gpu in gpus])
    return ServerTopology(
        sockets=sockets,
        scale_up=scale_up,
        coherent=walk.coherent,
        management=tuple(walk.management),
        warnings=(*assumed, *scale_up.faults, *_slow_links(gpus), *_slow_ports(nodes), *_repeated(gpus)),
    )


def _slow_links(gpus: list[PciDevice]) -> list[str]:
    """Return a warning for every GPU whose PCIe link is slower than that of others."""
    known = [gpu for gpu in gpus if gpu.link is not None]
    best = max((gpu.link.gbyte_s for gpu in known if gpu.link), default=0.0)
    fastest = next((gpu.link for gpu in known if gpu.link and gpu.link.gbyte_s == best), None)
    found = []
    for gpu in known:
        link = gpu.link
        assert link is not None
        if link.gbyte_s < 0.99 * best and link.generation > 1:
            found.append(
                f"line {gpu.line}: the GPU {gpu.bus} runs at {link}, {link.gbyte_s:.1f} GB/s, where others run at "
                f"{fastest}, {best:.1f} GB/s: its copies take {best / link.gbyte_s:.1f} times as long, and a "
                "step waits for the slowest"
            )
    return found


def _slow_ports(nodes: list[NumaNode]) -> list[str]:
    """Return a warning for NICs whose PCIe link is slower than their port, one for each pair of rates."""
    found: dict[tuple[float, str, float], list[PciDevice]] = {}
    for nic in (nic for node in nodes for port in node.ports for nic in port.nics):
        if nic.link and nic.gbyte_s and nic.link.generation > 1 and nic.link.gbyte_s < 0.99 * nic.gbyte_s:
            found.setdefault((nic.gbyte_s, str(nic.link), nic.link.gbyte_s), []).append(nic)
    return [
        f"line {nics[0].line}: {plural(len(nics), 'NIC')} ({first_few(nic.name or nic.bus for nic in nics)}) "
        f"with {8 * port:,.0f} Gb/s at the port and {8 * rate:,.0f} Gb/s of PCIe {link} behind it: PCIe binds"
        for (port, link, rate), nics in found.items()
    ]


def _repeated(gpus: list[PciDevice]) -> list[str]:
    """Return a warning where GPUs share a bus id."""
    buses = [gpu.bus for gpu in gpus if gpu.bus]
    twice = sorted({bus for bus in buses if buses.count(bus) > 1})
    return [f"several GPUs have the bus id {', '.join(twice)}: their links cannot be told apart"] if twice else []
