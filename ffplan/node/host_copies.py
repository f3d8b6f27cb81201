"""Copies between accelerators and host memory: one alone, and all of a node at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, maximum, minimum
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.node.host import Host, Port


@record
class _HostCopies:
    alone: Number
    """Of one accelerator [GB/s]."""
    shared: Number
    """Of all accelerators of a node at once, each [GB/s]."""
    binds: str
    """What binds the shared rate."""


def pcie_line_rate(generation: float, lanes: float) -> float:
    """Return the rate of a PCIe link's lanes, packets included.

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
        # 8b/10b coding below generation 3, 128b/130b from there on
        return float(lanes * 2.0 ** (generation - 1) * 2.5 * 8 / 10 / 8)
    # generation 3 doubles the payload at 8, not 10, GT/s, thanks to the lighter coding
    return float(lanes * 2.0 ** (generation - 3) * 8 * 128 / 130 / 8)


def _below(host: Host, port: Port, running: Number) -> Number:
    """Return the accelerators below a root port that run, where the first `running` of a node do [1]."""
    below: Number = 0
    for gpu in port.gpus:
        below = below + (running > host.gpus.index(gpu))
    return maximum(below, 1)


def host_shares(host: Host, running: Number) -> dict[str, Number]:
    """Return each accelerator's share of every resource on the way to host memory, while all copy at once.

    Args:
        running: accelerators of the node that run, its first [1].

    Returns:
        Rates of an accelerator, one direction [GB/s], by the resource's name; unknown rates are left out.

    Equation:
        PCIe link L; PCIe switch L / n, root port P / n with n below it that run; host memory M / running

    Source:
        Shared resources of a node; An et al., arXiv 2408.14158, section IV-C: two accelerators share a root port. A
        PCIe switch has the lanes of one accelerator to the CPU (recalled of DGX A100, p4d and servers of L40S).
    """
    ports = [port for port in host.ports if port.gpus]
    shares: dict[str, Number] = {"host memory": host.memory_gbyte_s[1] / running}
    if host.pcie is not None:
        shares["PCIe link"] = link = host.pcie[1]
        # a switch above one accelerator is no narrower than its link
        switches = [port for port in ports if port.pcie_switch and len(port.gpus) > 1]
        if switches:
            shares["PCIe switch"] = minimum(*(link / _below(host, port, running) for port in switches))
    limits = [(port, port.limits.one_way.value) for port in ports if port.limits is not None]
    if limits:
        shares["root port"] = minimum(*(rate / _below(host, port, running) for port, rate in limits))
    return shares


def host_copies(host: Host) -> _HostCopies | None:
    """Return the rates of copies between accelerators and host memory.

    Returns:
        Rates of an accelerator [GB/s]; None if its PCIe link is unknown.

    Equation:
        min over `host_shares`, for one accelerator and for a whole node

    Source:
        Definition.
    """
    if host.pcie is None or not host.gpus:
        return None
    alone, every = host_shares(host, 1), host_shares(host, len(host.gpus))
    binds = min(every, key=lambda name: every[name])
    return _HostCopies(minimum(*alone.values()), minimum(*every.values()), binds)
