"""What is odd of the devices of a topology file: slower links than others, ports above their link, shared bus ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import first_few, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ffplan.interop.topology.model import PciDevice
    from ffplan.interop.xml_tree import Element


def slow_links(gpus: Iterable[PciDevice]) -> list[str]:
    """Return a warning for every GPU whose PCIe link is slower than that of others."""
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


def slow_ports(nics: Iterable[PciDevice]) -> list[str]:
    """Return a warning for NICs whose PCIe link is slower than their port, one for each pair of rates."""
    found: dict[tuple[float, str, float], list[PciDevice]] = {}
    for nic in nics:
        if nic.link and nic.gbyte_s and nic.link.generation > 1 and nic.link.gbyte_s < 0.99 * nic.gbyte_s:
            found.setdefault((nic.gbyte_s, str(nic.link), nic.link.gbyte_s), []).append(nic)
    return [
        f"line {same[0].line}: {plural(len(same), 'NIC')} ({first_few(nic.name or nic.bus for nic in same)}) "
        f"with {8 * port:,.0f} Gb/s at the port and {8 * rate:,.0f} Gb/s of PCIe {link} behind it: PCIe binds"
        for (port, link, rate), same in found.items()
    ]


def repeated(gpus: Iterable[PciDevice]) -> list[str]:
    """Return a warning where GPUs share a bus id."""
    buses = [gpu.bus for gpu in gpus if gpu.bus]
    twice = sorted({bus for bus in buses if buses.count(bus) > 1})
    return [f"several GPUs have the bus id {', '.join(twice)}: their links cannot be told apart"] if twice else []


def partitions(gpus: Iterable[PciDevice]) -> list[str]:
    """Return a warning where GPUs are functions of fewer devices, as partitions of a GPU are (CPX, MIG)."""
    buses = [gpu.bus for gpu in gpus if "." in gpu.bus]
    whole = {bus.rpartition(".")[0] for bus in buses}
    if len(set(buses)) == len(whole):
        return []
    return [
        f"{plural(len(buses), 'GPU')} are functions of {plural(len(whole), 'device')}, as partitions of a GPU are: a "
        "part of the catalogue is a whole GPU"
    ]


def unused(found: Mapping[str, Sequence[Element]]) -> list[str]:
    """Return a warning for the PCI devices that a file lists without saying that NCCL uses them.

    Args:
        found: devices of the class of a GPU or a NIC, by the element that they lack: `gpu` or `net`.
    """
    titles = {"gpu": "GPU", "net": "NIC"}
    return [
        f"line {devices[0].line}: {plural(len(devices), 'device')} of the class of a {titles[name]} "
        f"({first_few(device.attributes.get('busid', '?')[:20] for device in devices)}) without a `{name}` element, "
        "which others have: NCCL did not use them, and they are left out"
        for name, devices in found.items()
        if devices
    ]
