"""What an allreduce reaches at most, whatever its latency: the bound of each library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Truth, some
from ffplan.base.formatting import ids_listed
from ffplan.base.outcomes import LedgerLine
from ffplan.base.record import record
from ffplan.collectives.algorithms import ALGORITHMS
from ffplan.collectives.bottleneck import Line, lacking, solve
from ffplan.collectives.bounds import ring_factor
from ffplan.collectives.hfreduce import hfreduce
from ffplan.fabric.sizing.link_cuts import reachable_nodes
from ffplan.node.resources import resources
from ffplan.results.collective import CollectiveBound
from ffplan.studies.basis.job_layout import node_of

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.collectives.timing import CollectiveQuery
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.schema import Communication


OF_NCCL = ("ring", "tree", "nvls", "nvls-tree")
"""Algorithms of NCCL whose bounds are compared."""


def bound_faults(design: ResolvedDesign, wanted: Communication) -> list[Finding]:
    """Return faults of libraries that cannot run on the compute nodes, for one design or for all of an array.

    Args:
        wanted: the libraries and message of the design.
    """
    group = design.compute
    document = design.document
    if group.accelerator is None or not some(group.accelerators_per_node * reachable_nodes(design) >= 2):
        return [
            document.finding(
                "communication-nodes",
                ("nodes", group.position),
                "an allreduce needs at least two accelerators",
                "remove `communication`, or choose a server with accelerators",
            )
        ]
    scale_up, own = getattr(group.server, "nvlink", None), group.accelerator.library
    return [
        document.finding(
            "communication-library",
            ("communication", "libraries", position),
            f"`{library}` does not run on `{group.accelerator.id}`",
            f"use `{own}`",
        )
        for position, library in enumerate(wanted.libraries)
        if library not in ("nccl", own) and not library.startswith("hfreduce")
    ] + [
        document.finding(
            "communication-nvlink",
            ("communication", "libraries", position),
            f"`hfreduce-nvlink` needs NVLink between GPUs; `{group.server.id}` has none",
            "use `hfreduce`, or a server with NVLink pairs",
        )
        for position, library in enumerate(wanted.libraries)
        if library == "hfreduce-nvlink"
        and (scale_up is None or not (scale_up.pairs or scale_up.switched or scale_up.mesh or scale_up.torus))
    ]


@record
class BoundLedger:
    """Ledger of one algorithm for the allreduce that a design asks for."""

    algorithm: str
    lines: list[Line]
    possible: Truth
    """True where it can run."""
    ledger: tuple[LedgerLine, ...] = ()
    """Memory operations of HFReduce."""


def bound_ledgers(query: CollectiveQuery, job: RankLayout) -> list[BoundLedger]:
    """Return the ledgers that a library may run, for one job or for arrays of them.

    Args:
        query: the allreduce and its library.
    """
    if query.library.method == "hfreduce":
        lines, ledger = hfreduce(job, nvlink=query.nvlink, memcpy_async=query.memcpy_async)
        return [BoundLedger("hfreduce", lines, True, ledger)]
    found = [(ALGORITHMS[name], ALGORITHMS[name].possible(job)) for name in OF_NCCL]
    return [BoundLedger(item.name, item.ledger("allreduce", job), at) for item, at in found if some(at)]


def allreduce_bound(query: CollectiveQuery, job: RankLayout, size: float) -> tuple[CollectiveBound, BoundLedger] | None:
    """Return the bound of an allreduce with the ledger that allows most; None where nothing bounds it.

    Args:
        query: the allreduce and its library.
        job: the ranks, plain numbers.
        size: message [byte].
    """
    known = resources(job.host, job.cuts)
    found = [(item, solve(known, item.lines)) for item in bound_ledgers(query, job)]
    best, result = max(found, key=lambda item: item[1].gbyte_s if item[1].terms else 0.0)  # the first of equals
    if all(term.name == "hbm" for term in result.terms):
        return None
    algbw, runner_up = float(result.gbyte_s), result.runner_up
    made = CollectiveBound(
        algorithm=best.algorithm,
        time_s=size / (algbw * 1e9),
        algbw_gbyte_s=algbw,
        busbw_gbyte_s=float(algbw * ring_factor(job.ranks)),
        limited_by=result.binding.name,
        limited_by_label=result.binding.label,
        runner_up=runner_up.name if runner_up else None,
        terms=result.terms,
        lacks=lacking(job.host, best.lines),
    )
    return made, best


def left_out(design: ResolvedDesign) -> tuple[str, ...]:
    """Return which terms the bounds leave out because the catalogue has no figure for them, one sentence each."""
    wanted, group = design.spec.communication, design.compute
    if wanted is None:
        return ()
    node, accelerator = node_of(design), group.accelerator
    sentences = []
    bare = node.without_limit(port.id for port in node.ports)
    if bare and (not node.joined or any(library.method == "hfreduce" for library in design.libraries)):
        sentences.append(f"No root-port limit of {ids_listed(bare)} is known: that term is left out.")
    if accelerator is not None and accelerator.pcie is None:
        sentences.append(f"No PCIe bandwidth of `{accelerator.id}` is known: that term is left out.")
    asked = (
        any(library.method == "nccl" for library in design.libraries)
        and group.group.count > 1
        and node.peer_through_cpu
    )
    if asked and all(cpu.gpu_nic_peer is None for cpu in group.cpus):
        sentences.append(f"No GPU to NIC bandwidth through `{group.cpus[0].id}` is known: that term is left out.")
    return tuple(sentences)
