"""What the attributes of a PCI element say: its class, its ids, and whether it is a GPU or a NIC."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.inputs.quantities import printable

if TYPE_CHECKING:
    from ffplan.interop.xml_tree import Element

GPUS = ("0302", "0380", "1200")
"""Classes of GPUs: 3D and display controllers, accelerators; pci.ids 2026.08.22."""
DISPLAY = "0300"
"""Class of a GPU with a display, and of the chip behind a server's console: VGA controller."""
NICS = ("0200", "0207", "0208")
"""Classes of NICs: Ethernet, InfiniBand and other fabrics."""
GPU_VENDORS = ("10de", "1002")
"""Vendors whose devices are GPUs where a file has no classes: NVIDIA and AMD; pci.ids 2026.08.22."""
SWITCHES = ("10de:1af1", "10de:22a3")
"""NVSwitches, which have the vendor of the GPUs."""
NIC_VENDORS = ("15b3", "14e4", "1d0f", "1dd8")
"""Vendors whose devices are NICs where a file has no classes: Mellanox, Broadcom, Amazon and Pensando."""
_HEX = re.compile("[0-9a-f]{1,6}")
_SHORT = 4
"""Digits of a class without its programming interface."""


class Unreadable:
    """Values of attributes that mean nothing; they are taken as unknown."""

    def __init__(self) -> None:
        self.first: dict[tuple[str, str], int] = {}
        """Line of the first element by attribute and value."""
        self.counts: Counter[tuple[str, str]] = Counter()

    def note(self, element: Element, name: str) -> None:
        """Note an attribute of an element."""
        key = (name, printable(element.attributes.get(name, "")[:20]))
        self.first.setdefault(key, element.line)
        self.counts[key] += 1

    def words(self) -> list[str]:
        """Return a warning for each value."""
        return [
            f"line {line}: `{name}` of {plural(self.counts[name, value], 'element')} is `{value}`; it is taken as "
            "unknown"
            for (name, value), line in self.first.items()
        ]


def _hex(text: str) -> str:
    """Return the digits of a hexadecimal number in small letters; empty where it is none."""
    digits = text.strip().lower().removeprefix("0x")
    return digits if _HEX.fullmatch(digits) else ""


def pci_class(element: Element, name: str = "class") -> str:
    """Return class, subclass and interface in six digits; empty where the file does not say.

    Args:
        element: an element.
        name: its attribute; files write `0x030200`, `0x0302`, or drop the first zero.
    """
    digits = _hex(element.attributes.get(name, ""))
    return digits.ljust(6, "0") if len(digits) == _SHORT else digits.rjust(6, "0") if digits else ""


def pci_id(element: Element, unreadable: Unreadable) -> str:
    """Return vendor:device; empty where either is missing, unreadable, or a placeholder, as clouds write.

    Args:
        element: a `pci` element.
        unreadable: takes note of what is no number.
    """
    parts = []
    for name in ("vendor", "device"):
        text = element.attributes.get(name, "")
        digits = _hex(text)
        if text and not 1 <= len(digits) <= _SHORT:
            unreadable.note(element, name)
            return ""
        if not digits:
            return ""
        parts.append(digits.rjust(_SHORT, "0"))
    return "" if parts[0] in ("0000", "ffff") else ":".join(parts)


def place_of(element: Element) -> str:
    """Return the bus id of an element in small letters; empty where the file does not say."""
    return element.attributes.get("busid", "").lower()


def _vendor(element: Element) -> str:
    return _hex(element.attributes.get("vendor", ""))


def has_graphics(root: Element) -> bool:
    """Return whether VGA controllers of a file without GPU elements are its GPUs: no other class of GPU is there."""
    return not any(pci_class(element)[:_SHORT] in GPUS for element in root.below() if element.tag == "pci")


def is_gpu(element: Element, *, graphics: bool) -> bool:
    """Return whether a PCI element without a GPU element is a GPU: by its class, or without one by its vendor.

    Args:
        element: a `pci` element.
        graphics: whether VGA controllers of makers of GPUs count.
    """
    found = pci_class(element)[:_SHORT]
    if not found:
        own = f"{_vendor(element)}:{_hex(element.attributes.get('device', ''))}"
        return not element.named("pci") and own[:_SHORT] in GPU_VENDORS and own not in SWITCHES
    return found in GPUS or (graphics and found == DISPLAY and _vendor(element) in ("", "0000", "ffff", *GPU_VENDORS))


def is_nic(element: Element) -> bool:
    """Return whether a PCI element without a NIC element is a NIC: by its class, or without one by its vendor."""
    found = pci_class(element)[:_SHORT]
    if not found:
        return not element.named("pci") and _vendor(element) in NIC_VENDORS
    return found in NICS
