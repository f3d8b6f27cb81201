"""PCIe links as topology files state them: a rate of a lane in words, and lanes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.interop.topology.devices import Unreadable
    from ffplan.interop.xml_tree import Element

RATES = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""Rate of a lane by PCIe generation [GT/s]; PCI-SIG."""
CODING = {1: 0.8, 2: 0.8, 3: 128 / 130, 4: 128 / 130, 5: 128 / 130, 6: 242 / 256}
"""Part of a lane's transfers that carries data, by generation [1]; PCI-SIG: 8b/10b, 128b/130b, flits of 242 in 256."""
_GENERATIONS = {rate: generation for generation, rate in RATES.items()}
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?) ?(?:GT/s)?(?: PCIe)?", re.IGNORECASE)
_NAMED = re.compile(r"(?:PCIe ?)?gen ?([1-6])", re.IGNORECASE)
_WIDTH = re.compile("x?([0-9]{1,3})")
_LANES = (1, 2, 4, 8, 12, 16, 32)
"""Lanes that a link may have; systems write 0, 63 or 255 where they do not know."""
_UNKNOWN = re.compile("|0|0?[.]0|<?unknown.*", re.IGNORECASE)


@record
class PcieRate:
    """A PCIe link."""

    generation: int
    lanes: int

    @property
    def gbyte_s(self) -> float:
        """Rate of its lanes in one direction, before packet headers [GB/s]."""
        return self.lanes * RATES[self.generation] * CODING[self.generation] / 8

    def __str__(self) -> str:
        return f"x{self.lanes} Gen{self.generation}"


def _generation(text: str) -> int | None:
    """Return the generation of a speed, such as `16.0 GT/s PCIe`, `16GT/s` or `Gen4`; None where it is none."""
    if found := _NAMED.fullmatch(text):
        return int(found[1])
    found = _SPEED.fullmatch(text)
    return _GENERATIONS.get(float(found[1])) if found else None


def link_of(element: Element, unreadable: Unreadable) -> PcieRate | None:
    """Return the PCIe link of an element; None where it does not say, as virtual machines do not.

    Args:
        element: a `pci` element.
        unreadable: takes note of a rate or a width that is no such thing.
    """
    speed = element.attributes.get("link_speed", "").strip()
    width = element.attributes.get("link_width", "").strip()
    generation, lanes = _generation(speed), _WIDTH.fullmatch(width)
    if generation is None and not _UNKNOWN.fullmatch(speed):
        unreadable.note(element, "link_speed")
    if width and lanes is None:
        unreadable.note(element, "link_width")
    if generation is None or lanes is None or int(lanes[1]) not in _LANES:
        return None
    return PcieRate(generation=generation, lanes=int(lanes[1]))
