"""PCIe links as topology files state them: a rate of a lane in words, and lanes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.interop.xml_tree import fault

if TYPE_CHECKING:
    from ffplan.interop.xml_tree import Element

RATES = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""Rate of a lane by PCIe generation [GT/s]; PCI-SIG."""
CODING = {1: 0.8, 2: 0.8, 3: 128 / 130, 4: 128 / 130, 5: 128 / 130, 6: 242 / 256}
"""Part of a lane's transfers that carries data, by generation [1]; PCI-SIG: 8b/10b, 128b/130b, flits of 242 in 256."""
_GENERATIONS = {rate: generation for generation, rate in RATES.items()}
_NUMBER = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3})?")
_WIDTH = re.compile("[0-9]{1,3}")
_LANES = (1, 2, 4, 8, 12, 16, 32)
"""Lanes that a link may have; systems write 0, 63 or 255 where they do not know."""
_UNKNOWN = ("", "unknown", "0")


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


def link_of(element: Element, file: str) -> PcieRate | None:
    """Return the PCIe link of an element; None where it does not say, as virtual machines do not.

    Args:
        element: a `pci` element.
        file: the file, for messages.

    Raises:
        InputError: where its rate or width is no such thing.
    """
    speed = element.attributes.get("link_speed", "").split(" ")[0]
    width = element.attributes.get("link_width", "")
    words = ", ".join(f"{rate:g}" for rate in RATES.values())
    generation = _GENERATIONS.get(float(speed)) if _NUMBER.fullmatch(speed) else None
    if generation is None and speed.lower() not in _UNKNOWN:
        raise fault(file, element, f"`link_speed` is `{speed[:20]}`", f"write one of {words} GT/s")
    if width and not _WIDTH.fullmatch(width):
        raise fault(file, element, f"`link_width` is `{width[:20]}`", "write a number of lanes, 1 to 32")
    if generation is None or not width or int(width) not in _LANES:
        return None
    return PcieRate(generation=generation, lanes=int(width))
