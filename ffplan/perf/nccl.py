"""Bounds of an NCCL ring allreduce over GPUs and NICs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.perf.bounds import Bound, Term, bound, rate, ring_factor
from ffplan.perf.terms import PortUse, border_terms, nic_term, port_terms

if TYPE_CHECKING:
    from ffplan.catalog.parts import Accelerator, Cpu
    from ffplan.perf.host import Host, Port
    from ffplan.perf.terms import Border


def _peer_term(host: Host, cpus: tuple[Cpu, ...], load: float) -> Term | None:
    """Peer-to-peer between GPU and NIC where they meet only in the CPU."""
    if not host.peer_through_cpu:
        return None
    figures = [cpu.gpu_nic_peer for cpu in cpus if cpu.gpu_nic_peer is not None]
    if not figures:
        return None
    figure = min(figures, key=lambda candidate: candidate.value)
    count = len(host.nics)
    return Term(
        "gpu_nic_peer", "GPU to NIC peer-to-peer through the CPU", rate(figure.value * count, load),
        rate(figure.range[0] * count, load), rate(figure.range[1] * count, load),
        f"{count} x {figure.value:.4g} GB/s / {load:.4g} per byte on the ring",
    )  # fmt: skip


def _inside_term(host: Host, accelerator: Accelerator, load: float) -> Term | None:
    """The link over which a GPU reaches its neighbours on the ring."""
    if host.switched and accelerator.nvlink is not None:
        name, label, figure = "nvlink", "NVLink of a GPU", accelerator.nvlink
    elif accelerator.pcie is not None:
        name, label, figure = "pcie_link", "PCIe link of a GPU", accelerator.pcie.bandwidth
    else:
        return None
    return Term(
        name, label, rate(figure.value, load), rate(figure.range[0], load), rate(figure.range[1], load),
        f"{figure.value:g} GB/s one way / {load:.4g} per byte on the ring",
    )  # fmt: skip


def _feed_term(host: Host, accelerator: Accelerator, load: float) -> Term | None:
    """PCIe links that feed the NICs where the ring inside the node runs over NVLink."""
    if not host.switched or accelerator.pcie is None or not host.nics:
        return None
    lanes = min(len(host.gpus), len(host.nics))
    figure = accelerator.pcie.bandwidth
    return Term(
        "pcie_link", "PCIe links that feed the NICs", rate(figure.value * lanes, load),
        rate(figure.range[0] * lanes, load), rate(figure.range[1] * lanes, load),
        f"{lanes} x {figure.value:g} GB/s one way / {load:.4g} per byte on the ring",
    )  # fmt: skip


def nccl_ring(
    host: Host, accelerator: Accelerator, cpus: tuple[Cpu, ...], nodes: int, borders: tuple[Border, ...]
) -> Bound:
    """Return the bound of NCCL's ring allreduce over all accelerators of `nodes` nodes.

    One ring runs through each NIC; together they carry the ring load once. Neighbours inside a node talk over
    NVLink where a switch joins all GPUs, over PCIe otherwise; GPUs of one root port are neighbours, so that one
    flow enters and one leaves each port. In-network reduction is off.

    Args:
        host: the inside of a node.
        accelerator: its accelerators.
        cpus: its CPUs, one per socket.
        nodes: nodes in the allreduce [1].
        borders: links between leaves and between zones that it crosses.

    Returns:
        The bound; algorithm bandwidth in GB/s.

    Equation:
        B = min over resources of capacity / (2 (n - 1) / n)

    Source:
        NVIDIA nccl-tests, doc/PERFORMANCE.md; An et al., arXiv 2408.14158, section IV-D2 (9 GiB/s peer-to-peer).
    """
    load = ring_factor(nodes * len(host.gpus))
    between = load if nodes > 1 else 0.0

    def use(port: Port) -> PortUse | None:
        if host.switched:
            return None
        flows = (load if port.gpus else 0.0) + between * len(port.nics) / max(1, len(host.nics))
        return PortUse(flows, flows)

    return bound(
        nic_term(host, between),
        _peer_term(host, cpus, between) if between else None,
        _inside_term(host, accelerator, load),
        _feed_term(host, accelerator, between) if between else None,
        *border_terms(borders, between),
        *port_terms(host, use),
    )
