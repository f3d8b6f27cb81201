"""PCI elements of a topology file: class, ids, GPU or NIC, and the rate and lanes of the PCIe link."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.inputs.quantities import printable

if TYPE_CHECKING:
    from ffplan.interop.xml_tree import _Element

_GPUS = ("0302", "0380", "1200")
"""Classes of GPUs: 3D and display controllers, accelerators; pci.ids 2026.08.22."""
_DISPLAY = "0300"
"""Class of a GPU with a display, and of the chip behind a server's console: VGA controller."""
_NICS = ("0200", "0207", "0208")
"""Classes of NICs: Ethernet, InfiniBand and other fabrics."""
_GPU_VENDORS = ("10de", "1002")
"""Vendors whose devices are GPUs where a file has no classes: NVIDIA and AMD; pci.ids 2026.08.22."""
_SWITCHES = ("10de:1af1", "10de:22a3")
"""NVSwitches, which have the vendor of the GPUs."""
_NIC_VENDORS = ("15b3", "14e4", "1d0f", "1dd8")
"""Vendors whose devices are NICs where a file has no classes: Mellanox, Broadcom, Amazon and Pensando."""
_HEX = re.compile("[0-9a-f]{1,6}")
_SHORT = 4
"""Digits of a class without its programming interface."""


class _Unreadable:
    """Values of attributes that mean nothing; they are taken as unknown."""

    def __init__(self) -> None:
        self.first: dict[tuple[str, str], int] = {}
        """Line of the first element by attribute and value."""
        self.counts: Counter[tuple[str, str]] = Counter()

    def note(self, element: _Element, name: str) -> None:
        key = (name, printable(element.attributes.get(name, "")[:20]))
        self.first.setdefault(key, element.line)
        self.counts[key] += 1

    def words(self) -> list[str]:
        return [
            f"line {line}: `{name}` of {plural(self.counts[name, value], 'element')} is `{value}`; it is taken as "
            "unknown"
            for (name, value), line in self.first.items()
        ]


def _hex(text: str) -> str:
    """Return the digits of a hexadecimal number in small letters; empty for any other text."""
    digits = text.strip().lower().removeprefix("0x")
    return digits if _HEX.fullmatch(digits) else ""


def _pci_class(element: _Element, name: str = "class") -> str:
    """Return class, subclass and interface in six digits; files write `0x030200`, `0x0302`, or drop the first zero."""
    digits = _hex(element.attributes.get(name, ""))
    return digits.ljust(6, "0") if len(digits) == _SHORT else digits.rjust(6, "0") if digits else ""


def pci_id(element: _Element, unreadable: _Unreadable) -> str:
    """Return vendor:device; empty where either is missing, unreadable, or a placeholder, as clouds write.

    Args:
        unreadable: collects values that are not numbers.
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


def _place_of(element: _Element) -> str:
    """Return the bus id of an element in small letters; empty where the file does not say."""
    return element.attributes.get("busid", "").lower()


def _vendor_of(element: _Element) -> str:
    return _hex(element.attributes.get("vendor", ""))


def _has_graphics(root: _Element) -> bool:
    """Return whether VGA controllers of a file without GPU elements are its GPUs: no other class of GPU is there."""
    return not any(_pci_class(element)[:_SHORT] in _GPUS for element in root.below() if element.tag == "pci")


def _is_gpu(element: _Element, *, graphics: bool) -> bool:
    """Return whether a PCI element without a GPU element is a GPU: by its class, or without one by its vendor."""
    category = _pci_class(element)[:_SHORT]
    if not category:
        pci_id = f"{_vendor_of(element)}:{_hex(element.attributes.get('device', ''))}"
        return not element.named("pci") and pci_id[:_SHORT] in _GPU_VENDORS and pci_id not in _SWITCHES
    return category in _GPUS or (
        graphics and category == _DISPLAY and _vendor_of(element) in ("", "0000", "ffff", *_GPU_VENDORS)
    )


def _is_nic(element: _Element) -> bool:
    """Return whether a PCI element without a NIC element is a NIC: by its class, or without one by its vendor."""
    category = _pci_class(element)[:_SHORT]
    if not category:
        return not element.named("pci") and _vendor_of(element) in _NIC_VENDORS
    return category in _NICS


RATES = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""Rate of a lane by PCIe generation [GT/s]; PCI-SIG."""
_CODING = {1: 0.8, 2: 0.8, 3: 128 / 130, 4: 128 / 130, 5: 128 / 130, 6: 242 / 256}
"""Part of a lane's transfers that carries data, by generation [1]; PCI-SIG: 8b/10b, 128b/130b, flits of 242 in 256."""
_GENERATIONS = {rate: generation for generation, rate in RATES.items()}
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?) ?(?:GT/s)?(?: PCIe)?", re.IGNORECASE)
_NAMED = re.compile(r"(?:PCIe ?)?gen ?([1-6])", re.IGNORECASE)
_WIDTH = re.compile("x?([0-9]{1,3})")
_LANES = (1, 2, 4, 8, 12, 16, 32)
"""Lanes that a link may have; systems write 0, 63 or 255 for unknown."""
_UNKNOWN = re.compile("|0|0?[.]0|<?unknown.*", re.IGNORECASE)


@record
class _PcieRate:
    generation: int
    lanes: int

    @property
    def gbyte_s(self) -> float:
        """Rate of its lanes in one direction, before packet headers [GB/s]."""
        return self.lanes * RATES[self.generation] * _CODING[self.generation] / 8

    def __str__(self) -> str:
        return f"x{self.lanes} Gen{self.generation}"


def _generation(text: str) -> int | None:
    """Return the generation of a speed, such as `16.0 GT/s PCIe`, `16GT/s` or `Gen4`; None for any other text."""
    if match := _NAMED.fullmatch(text):
        return int(match[1])
    match = _SPEED.fullmatch(text)
    return _GENERATIONS.get(float(match[1])) if match else None


def _link_of(element: _Element, unreadable: _Unreadable) -> _PcieRate | None:
    """Return the PCIe link of an element; None if unstated, as in virtual machines."""
    speed = element.attributes.get("link_speed", "").strip()
    width = element.attributes.get("link_width", "").strip()
    generation, lanes = _generation(speed), _WIDTH.fullmatch(width)
    if generation is None and not _UNKNOWN.fullmatch(speed):
        unreadable.note(element, "link_speed")
    if width and lanes is None:
        unreadable.note(element, "link_width")
    if generation is None or lanes is None or int(lanes[1]) not in _LANES:
        return None
    return _PcieRate(generation=generation, lanes=int(lanes[1]))
