"""Copies between accelerators and host memory: one alone, and all of a node at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, minimum
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.node.host import Host


@record
class HostCopies:
    """Rates of copies between accelerators and host memory, one direction."""

    alone: Number
    """Of one accelerator [GB/s]."""
    shared: Number
    """Of all accelerators of a node at once, each [GB/s]."""
    binds: str
    """What binds the shared rate."""


def pcie_line_rate(generation: float, lanes: float) -> float:
    """Return what the lanes of a PCIe link carry, packets included.

    Args:
        generation: 1 to 6 [1].
        lanes: lanes [1].

    Returns:
        Rate of one direction [GB/s].

    Equation:
        lanes * 2^(generation - 1) * 2.5 GT/s * 8 / 10 below generation 3; lanes * 2^(generation - 3) * 8 GT/s * 128 /
        130 from there on; over 8 bits

    Source:
        PCI Express base specification: generation 4 of 16 lanes carries 31.5 GB/s.
    """
    if generation < 3:
        return float(lanes * 2.0 ** (generation - 1) * 2.5 * 8 / 10 / 8)
    return float(lanes * 2.0 ** (generation - 3) * 8 * 128 / 130 / 8)


def host_copies(host: Host) -> HostCopies | None:
    """Return the rates of copies between accelerators and host memory.

    Args:
        host: the node.

    Returns:
        Rates of an accelerator [GB/s]; None where its PCIe link is unknown.

    Equation:
        alone = min(link, root port, host memory); shared = min(link, root port / accelerators below it, host memory /
        accelerators of the node)

    Source:
        Shared resources of a node; An et al., arXiv 2408.14158, section IV-C: two accelerators share a root port.
    """
    if host.pcie is None or not host.gpus:
        return None
    link, memory = host.pcie[1], host.memory_gbyte_s[1]
    ports = [port for port in host.ports if port.limits is not None and port.gpus]
    alone = minimum(link, memory)
    terms: dict[str, Number] = {"PCIe link": link, "host memory": memory / len(host.gpus)}
    if ports:
        alone = minimum(alone, *(port.limits.one_way.value for port in ports if port.limits))
        terms["root port"] = min(port.limits.one_way.value / len(port.gpus) for port in ports if port.limits)
    binds = min(terms, key=lambda name: terms[name])
    return HostCopies(alone, minimum(*terms.values()), binds)
