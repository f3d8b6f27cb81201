"""Bounds of HFReduce: reduce in host memory, allreduce over a double binary tree, return to the GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.perf.bounds import Bound, Term, bound, double_tree_load, rate
from ffplan.perf.ledger import LedgerLine, hfreduce_ledger, ledger_total
from ffplan.perf.terms import PortUse, border_terms, nic_term, port_terms

if TYPE_CHECKING:
    from ffplan.catalog.parts import Accelerator
    from ffplan.perf.host import Host, Port
    from ffplan.perf.terms import Border


def scale_up_groups(host: Host, *, nvlink: bool) -> tuple[int, ...]:
    """Return the size of each set of GPUs that reduces over NVLink before a copy leaves for host memory.

    Args:
        host: the node.
        nvlink: whether the library reduces over NVLink first.
    """
    if nvlink and host.switched:
        return (len(host.gpus),)
    if nvlink:
        return (2,) * len(host.pairs) + (1,) * (len(host.gpus) - 2 * len(host.pairs))
    return (1,) * len(host.gpus)


def _share(host: Host, gpu: str, *, nvlink: bool) -> float:
    """Part of a message that one GPU moves to host memory, and back."""
    if nvlink and host.switched:
        return 1 / len(host.gpus)
    return 0.5 if nvlink and any(gpu in pair for pair in host.pairs) else 1.0


def _memory_term(host: Host, ledger: tuple[LedgerLine, ...]) -> Term:
    total = ledger_total(ledger)
    low, value, high = host.memory_gbyte_s
    return Term(
        "host_memory", "host memory", rate(value, total), rate(low, total), rate(high, total),
        f"{value:g} GB/s practical over {host.channels} channels / {total:g} operations per byte",
    )  # fmt: skip


def _link_term(host: Host, accelerator: Accelerator, *, nvlink: bool) -> Term | None:
    if accelerator.pcie is None:
        return None
    share = max(_share(host, gpu, nvlink=nvlink) for gpu in host.gpus)
    link = accelerator.pcie.bandwidth
    return Term(
        "pcie_link", "PCIe link of a GPU", rate(link.value, share), rate(link.range[0], share),
        rate(link.range[1], share),
        f"{link.value:g} GB/s one way / {share:g} sent (and received) per byte",
    )  # fmt: skip


def _nvlink_term(accelerator: Accelerator, groups: tuple[int, ...]) -> Term | None:
    widest = max(groups)
    if widest == 1 or accelerator.nvlink is None:
        return None
    load = 2 * (widest - 1) / widest
    figure = accelerator.nvlink
    return Term(
        "nvlink", "NVLink of a GPU", rate(figure.value, load), rate(figure.range[0], load),
        rate(figure.range[1], load),
        f"{figure.value:g} GB/s one way / {load:g} per byte: reduce-scatter and allgather over {widest} GPUs",
    )  # fmt: skip


def hfreduce(
    host: Host, accelerator: Accelerator, nodes: int, borders: tuple[Border, ...], *, nvlink: bool, memcpy_async: bool
) -> tuple[Bound, tuple[LedgerLine, ...]]:
    """Return the bound of HFReduce, and its ledger.

    Args:
        host: the inside of a node.
        accelerator: its accelerators.
        nodes: nodes in the allreduce [1].
        borders: links between leaves and between zones that it crosses.
        nvlink: reduce over NVLink first (HFReduce with NVLink).
        memcpy_async: return results with MemcpyAsync in place of GDRCopy.

    Returns:
        The bound (algorithm bandwidth in GB/s) and the host-memory ledger.

    Equation:
        B = min(memory / ledger, NICs / tree load, root port / use, PCIe link / share, NVLink / use)

    Source:
        An et al., arXiv 2408.14158, sections IV-A, IV-C and IV-D.
    """
    groups = scale_up_groups(host, nvlink=nvlink)
    copies = len(groups)
    ledger = hfreduce_ledger(copies, copies if memcpy_async else min(copies, host.sockets_with_gpus), nodes)
    tree = float(double_tree_load(nodes))

    def use(port: Port) -> PortUse:
        gpus = sum(_share(host, gpu, nvlink=nvlink) for gpu in port.gpus)
        nics = tree * len(port.nics) / len(host.nics)
        return PortUse(gpus + nics, gpus + nics)

    return (
        bound(
            _memory_term(host, ledger),
            nic_term(host, tree),
            _link_term(host, accelerator, nvlink=nvlink),
            _nvlink_term(accelerator, groups),
            *border_terms(borders),
            *port_terms(host, use),
        ),
        ledger,
    )
