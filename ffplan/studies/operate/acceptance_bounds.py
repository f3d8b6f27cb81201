"""What nothing can exceed: rates above which a measurement is wrong, from peaks and line rates alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.catalog.parts import Server
from ffplan.node.host import memory_bandwidth
from ffplan.node.host_copies import pcie_line_rate
from ffplan.studies.basis.job_layout import node_of

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.node.host import Host
    from ffplan.studies.basis.placement import Placement

ROUNDING = 1e-3
"""Part by which a value may exceed its bound: programs round what they print [1]."""


@record
class RateLimit:
    """A rate that nothing exceeds."""

    most: float
    """In the unit of its check."""
    of: str
    """What bounds it, for people."""


def collective_bound(operation: str, gpus: int, host: Host, placement: Placement | None = None) -> RateLimit | None:
    """Return the bus bandwidth that no algorithm of a collective exceeds [GB/s]; None where a link is unknown.

    Args:
        operation: allreduce, all-gather, reduce-scatter or all-to-all.
        gpus: ranks [1].
        placement: nodes that the ranks are spread over evenly; as few as hold them if omitted.

    Equation:
        with n ranks, d of them in a scale-up domain, L the scale-up rate of a rank and R that of the NICs that d use:
        allreduce 2 (n - 1) / n min(L, R), since every rank, and every domain, sends and receives the message once; the
        others L, and (n - 1) / (n - d) R, over d for all-to-all; no L where d is 1

    Source:
        Data that must pass the links, whatever reduces on the way; bus bandwidth as nccl-tests has it.
    """
    if gpus < 2:
        return None
    inside, domain, rates = host.accelerator.nvlink if host.accelerator else None, host.domain_gpus, host.nic_gbyte_s
    network = sum(rates) * host.domain_nodes
    if placement is not None:
        domain = gpus // placement.nodes * host.domain_nodes
        network = min(network, placement.nics * max(rates, default=0.0) * host.domain_nodes)
    ring = 2 * (gpus - 1) / gpus
    found = []
    if inside is not None and domain > 1 and (host.joined or host.pairs):
        found.append(
            RateLimit(
                most=inside.value * (ring if operation == "allreduce" else 1.0), of=f"the rate of {host.scale_up_name}"
            )
        )
    if gpus > domain and network:
        cross = (gpus - 1) / (gpus - domain)
        factor = {"allreduce": ring, "all-to-all": cross / domain}.get(operation, cross)
        found.append(RateLimit(most=network * factor, of="what the NICs between nodes carry"))
    if not host.joined and gpus <= domain:
        return None  # pairs alone: rings pass the host
    return min(found, key=lambda bound: bound.most, default=None)


def node_bounds(design: ResolvedDesign) -> dict[str, RateLimit]:
    """Return the rates of a node's parts that nothing exceeds, by check.

    Args:
        design: the design, with accelerators.

    Equation:
        GEMM: the dense peak; memory: channels * MT/s * 8 bytes; copies: the line rate of PCIe; copies between
        accelerators: the scale-up rate

    Source:
        Data sheets of the parts; the PCI Express base specification.
    """
    host, server = node_of(design), design.compute.server
    assert isinstance(server, Server)
    channels = [
        float(memory_bandwidth(socket.memory.channels.value, socket.memory.rate.value, 1.0))
        for socket in server.sockets
    ]
    found = {"memory": RateLimit(most=sum(channels), of="the rate of its memory channels")}
    part = host.accelerator
    if part is None:
        return found
    for precision, figure in part.peak.items():
        found[f"gemm-{precision}"] = RateLimit(most=float(figure.value), of=f"the peak of `{part.id}`")
    if part.pcie is not None:
        rate = pcie_line_rate(float(part.pcie.generation.value), float(part.pcie.lanes.value))
        for way in ("to-device", "to-host"):
            for shared in ("", "-shared"):
                found[f"copy-{way}{shared}"] = RateLimit(most=rate, of="the line rate of PCIe")
    if part.nvlink is not None:
        found["nvlink-copy"] = RateLimit(most=float(part.nvlink.value), of=f"the rate of {host.scale_up_name}")
    return found
