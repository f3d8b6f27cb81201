"""Catalogue parts that the ids of a topology file point to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.catalog.parts import Accelerator, Cpu, Nic

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.interop.topology.model import PciDevice, SocketFound


@record
class KnownParts:
    """Parts by the ids that a topology file has; an id may belong to several."""

    accelerators: dict[str, list[Accelerator]]
    """By PCI id."""
    nics: dict[str, list[Nic]]
    """By PCI id."""
    cpus: dict[str, list[Cpu]]
    """By vendor, family and model."""
    arches: dict[str, str]
    """Instruction sets of all CPUs, by their catalogue ids."""


def known_parts(catalog: Catalog) -> KnownParts:
    """Return the parts of a catalogue by their ids.

    Raises:
        InputError: where a part's file is wrong.
    """
    parts = KnownParts(accelerators={}, nics={}, cpus={}, arches={})
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


def of_gpu(parts: KnownParts, gpu: PciDevice) -> list[Accelerator]:
    """Return the accelerators that a GPU may be."""
    return parts.accelerators.get(gpu.pci_id, [])


def of_nic(parts: KnownParts, nic: PciDevice) -> list[Nic]:
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


def arch_of(socket: SocketFound) -> str:
    """Return the instruction set of a socket's CPU as catalogued CPUs write it; empty where the file does not say."""
    if any(name in socket.cpu for name in ("AMD", "Genuine", "x86")):
        return "x86_64"
    return next((name for name in ("arm64", "ppc64") if name in socket.cpu), "")
