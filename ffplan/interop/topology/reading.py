"""Topology XML of NCCL and RCCL, read into the inside of a server."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.hostlist import integer
from ffplan.interop.topology.devices import (
    _has_graphics,
    _is_gpu,
    _is_nic,
    _link_of,
    _pci_class,
    _place_of,
    _Unreadable,
    pci_id,
)
from ffplan.interop.topology.model import (
    _group_sockets,
    _NumaNode,
    _partitions,
    _PciDevice,
    _repeated,
    _RootPortFound,
    _ServerTopology,
    _slow_links,
    _slow_ports,
    _unused,
)
from ffplan.interop.topology.scale_up import _links_of, _structure
from ffplan.interop.topology.system import _named_devices, _no_gpu, _system_of
from ffplan.interop.xml_tree import _fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ffplan.interop.topology.devices import _PcieRate
    from ffplan.interop.topology.scale_up import _ScaleUpLink
    from ffplan.interop.xml_tree import _Element

_MOST_NODES = 64
"""More NUMA nodes than a server has."""
_MANAGEMENT_GBYTE_S = 10 / 8
"""Highest rate of a management NIC; faster NICs serve the fabric [GB/s]."""
_SPEED = re.compile(r"-[0-9]{1,9}|[0-9]{1,9}(?:\.[0-9]{1,6})?")
_DEVICES = ("pci", "gpu", "nic")


class _Walk:
    def __init__(self, root: _Element, gpus: frozenset[str], nics: frozenset[str]) -> None:
        self.gpus, self.nics = gpus, nics
        """Bus ids that the caller knows as GPUs and as NICs."""
        tags = {element.tag for element in root.below()}
        self.listed = "gpu" in tags
        """True if GPUs have separate elements; otherwise PCI classes identify them."""
        self.netted = "net" in tags
        self.names = {element.attributes.get("name", "") for element in root.below() if element.tag == "net"}
        self.graphics = _has_graphics(root)
        """True where VGA controllers are GPUs in a file without elements of GPUs."""
        self.unreadable = _Unreadable()
        self.links: list[_ScaleUpLink] = []
        self.coherent = False
        self.management: list[_PciDevice] = []
        self.unused: dict[str, list[_Element]] = {"gpu": [], "net": []}
        """PCI devices of a GPU's or a NIC's class without an element of this name, in a file that has such elements."""

    def port(self, element: _Element) -> _RootPortFound:
        """Return the devices at and below an element that hangs at a CPU."""
        gpus: list[_PciDevice] = []
        nics: list[_PciDevice] = []
        self._collect(element, gpus, nics)
        return _RootPortFound(gpus=tuple(gpus), nics=tuple(nics))

    def _collect(self, element: _Element, gpus: list[_PciDevice], nics: list[_PciDevice]) -> None:
        if element.tag == "nic":
            nics += self._nic(element, None, None)
            return
        if element.tag == "gpu":
            gpus.append(self._gpu(element, element, None))
            return
        if element.tag != "pci":
            return
        here = _link_of(element, self.unreadable)
        own_gpus = element.named("gpu")
        own_nics = element.named("nic") or ([element] if element.named("net") else [])
        if own_gpus:
            gpus += [self._gpu(element, gpu, here) for gpu in own_gpus]
        elif _place_of(element) in self.gpus or (
            not self.listed and not own_nics and _is_gpu(element, graphics=self.graphics)
        ):
            gpus.append(self._gpu(element, None, here))
        elif own_nics:
            card = None if element.named("pci") else element  # NCCL hangs NICs that it fuses at the switch above them
            for nic in own_nics:
                nics += self._nic(nic, card, here)
        elif _place_of(element) in self.nics or (not self.netted and _is_nic(element)):
            nics.append(self._device(element, here))
        elif _pci_class(element):
            for name, of_class in (("gpu", _is_gpu(element, graphics=False)), ("net", _is_nic(element))):
                self.unused[name] += [element] if of_class else []
        for child in element.named("pci"):
            self._collect(child, gpus, nics)

    def _device(self, element: _Element, link: _PcieRate | None) -> _PciDevice:
        return _PciDevice(
            bus=element.attributes.get("busid", "").lower(),
            pci_id=pci_id(element, self.unreadable),
            name="",
            number=None,
            link=link,
            line=element.line,
        )

    def _gpu(self, element: _Element, gpu: _Element | None, link: _PcieRate | None) -> _PciDevice:
        device = self._device(element, link)
        if gpu is None:
            return device
        links = _links_of(gpu, device.bus)
        self.links += links
        self.coherent |= bool(gpu.named("c2c")) or any(link.cpu for link in links)
        return replace(device, number=integer(gpu.attributes.get("dev", "")))

    def _nic(self, nic: _Element, card: _Element | None, link: _PcieRate | None) -> list[_PciDevice]:
        """Return the card of a NIC with the rate of its fastest port; nothing for a management NIC.

        Ports without a card, as virtual machines have them, are as many NICs as they have guids; one that NCCL fuses of
        several is as many as its name joins.
        """
        device = (
            self._device(card, link)
            if card
            else _PciDevice(bus="", pci_id="", name="", number=None, link=None, line=nic.line)
        )
        cards: dict[str, list[tuple[float | None, _Element]]] = {}
        for net in nic.named("net"):
            card_key = "" if card else net.attributes.get("guid") or net.attributes.get("name", "")
            cards.setdefault(card_key, []).append((self._rate(net), net))
        kept: list[_PciDevice] = []
        for ports in cards.values() or [[(None, nic)]]:
            known = [rate for rate, _ in ports if rate is not None]
            first = next(net for rate, net in ports if not known or rate == max(known))
            device = replace(
                device,
                name=first.attributes.get("name", ""),
                number=integer(first.attributes.get("dev", "")),
                gbyte_s=max(known) if known else None,
                ports=_equal_ports(ports, max(known, default=None)),
            )
            slow = bool(known) and max(known) <= _MANAGEMENT_GBYTE_S
            fused = device.name.split("+") if card is None else [device.name]
            if len(fused) > 1 and self.names.issuperset(fused):
                continue  # its parts stand by themselves, with their cards
            rate = device.gbyte_s / len(fused) if device.gbyte_s else None
            fused_nics = [replace(device, name=name, gbyte_s=rate) for name in fused]
            (self.management if slow or (card is None and not known) else kept).extend(fused_nics)
        return kept

    def _rate(self, net: _Element) -> float | None:
        """Return the rate of a port [GB/s]; None where the file does not say."""
        text = net.attributes.get("speed", "").strip()
        if text and not _SPEED.fullmatch(text):
            self.unreadable.note(net, "speed")
            return None
        rate = float(text or 0) / 8000  # Mb/s to GB/s
        return rate if rate > 0 else None


def _equal_ports(ports: Sequence[tuple[float | None, _Element]], rate: float | None) -> int:
    """Return the ports that run at the rate of the fastest [1]; one that the file lists twice, as for SHARP, is one."""
    fastest = [
        net.attributes
        for port_rate, net in ports
        if rate is not None and port_rate == rate and "coll" not in net.attributes
    ]
    return max(1, len({(net.get("guid"), net["port"]) for net in fastest if net.get("port")}))


def _cpu_words(cpu: _Element) -> tuple[str, str]:
    """Return vendor, family and model of a CPU in words, and as catalogued CPUs list them."""
    vendor, family, model = (cpu.attributes.get(name, "") for name in ("vendor", "familyid", "modelid"))
    arch = "" if vendor else cpu.attributes.get("arch", "")
    told = (("", vendor), ("family", family), ("model", model), ("", arch))
    description = " ".join(f"{name} {text}".strip() for name, text in told if text)
    return description[:80], f"{vendor}:{family}:{model}" if vendor and family and model else ""


def _first_host(root: _Element) -> tuple[list[_Element], int, list[str]]:
    """Return the `cpu` elements of the first host, the number of hosts, and a remark if there are several."""
    cpus = root.named("cpu")
    hosts = list(dict.fromkeys(cpu.attributes["host_hash"] for cpu in cpus if "host_hash" in cpu.attributes))
    loose = [child for child in root.children if child.tag in _DEVICES]
    if loose:
        cpus.append(replace(root, tag="cpu", attributes={}, children=loose))
    if len(hosts) < 2:
        return cpus, 1, []
    mine = [cpu for cpu in cpus if cpu.attributes.get("host_hash", hosts[0]) == hosts[0]]
    remark = f"the file joins {len(hosts)} hosts, as NCCL writes of a scale-up domain over several; the first is read"
    return mine, len(hosts), [remark]


def _numa(cpu: _Element, position: int, walk: _Walk, file: str) -> _NumaNode:
    message, cpuid = _cpu_words(cpu)
    ports = [walk.port(child) for child in cpu.children]
    numa = integer(cpu.attributes.get("numaid", ""))
    if numa is not None and numa >= _MOST_NODES:
        message = f"`numaid` is {numa:,}, and a server has fewer than {_MOST_NODES} NUMA nodes"
        raise _fault(file, cpu, message, "number the NUMA nodes from 0")
    return _NumaNode(
        number=position if numa is None else numa,
        cpu=message,
        cpuid=cpuid,
        ports=tuple(port for port in ports if port.gpus or port.nics),
    )


def read_server(data: bytes, file: str, gpus: Iterable[str] = (), nics: Iterable[str] = ()) -> _ServerTopology:
    """Return the inside of a server from a topology file.

    A value that cannot be read is taken as unknown, with a warning, as NCCL does.

    Args:
        gpus: bus ids of devices that are GPUs, where the file does not say.
        nics: bus ids of devices that are NICs, where the file does not say.

    Raises:
        InputError: located, if the file is no topology, has no GPU, or no device with a bus id given.
    """
    root, remarks = _system_of(data, file)
    walk = _Walk(root, _named_devices(root, gpus, file), _named_devices(root, nics, file))
    cpus, hosts, joined = _first_host(root)
    nodes = [_numa(cpu, position, walk, file) for position, cpu in enumerate(cpus)]
    all_gpus = [gpu for node in nodes for port in node.ports for gpu in port.gpus]
    all_nics = [nic for node in nodes for port in node.ports for nic in port.nics]
    if not all_gpus:
        raise _no_gpu(root, file)
    sockets, assumed = _group_sockets(nodes)
    scale_up = _structure(walk.links, [gpu.bus for gpu in all_gpus])
    odd = [*walk.unreadable.words(), *scale_up.faults, *_slow_links(all_gpus), *_slow_ports(all_nics)]
    odd += [*_repeated(all_gpus), *_partitions(all_gpus), *_unused(walk.unused)]
    return _ServerTopology(
        sockets=sockets,
        scale_up=scale_up,
        coherent=walk.coherent,
        management=tuple(walk.management),
        warnings=(*remarks, *joined, *assumed, *odd),
        hosts=hosts,
    )
