"""Bounds of the allreduce that a design asks for, for each of its libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Truth, ceil_div, some
from ffplan.base.errors import InputError
from ffplan.base.outcomes import LedgerLine
from ffplan.base.record import record
from ffplan.collectives.algorithms import ALGORITHMS
from ffplan.collectives.bottleneck import Line, solve
from ffplan.collectives.bounds import ring_factor
from ffplan.collectives.hfreduce import hfreduce, ledger_total
from ffplan.collectives.rank_layout import RankLayout
from ffplan.fabric.family import fabric_cuts
from ffplan.fabric.sizing.link_cuts import reachable_nodes
from ffplan.node.host import Host, host
from ffplan.node.resources import resources
from ffplan.results.design import CollectiveReport

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.schema import Communication
    from ffplan.fabric.sizing.link_cuts import LinkCut
    from ffplan.fabric.sizing.plan import FabricPlan


OF_NCCL = ("ring", "tree", "nvls", "nvls-tree")
"""Algorithms of NCCL whose bounds are compared."""


def bound_faults(design: ResolvedDesign, wanted: Communication) -> list[Finding]:
    """Return faults of libraries that cannot run on the compute nodes, for one design or for all of an array.

    Args:
        design: the design.
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
    scale_up = getattr(group.server, "nvlink", None)
    return [
        document.finding(
            "communication-nvlink",
            ("communication", "libraries", position),
            f"`hfreduce-nvlink` needs NVLink between GPUs; `{group.server.id}` has none",
            "use `hfreduce`, or a server with NVLink pairs",
        )
        for position, library in enumerate(wanted.libraries)
        if library == "hfreduce-nvlink" and (scale_up is None or not (scale_up.pairs or scale_up.switched))
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


def bound_ledgers(library: str, design: ResolvedDesign, node: Host, crossed: tuple[LinkCut, ...]) -> list[BoundLedger]:
    """Return the ledgers that a library may run, for one design or for arrays of them.

    Args:
        library: hfreduce, hfreduce-nvlink or nccl.
        design: the design.
        node: a compute node.
        crossed: the links between leaves, groups or zones that it crosses.
    """
    nodes, wanted = reachable_nodes(design), design.spec.communication
    assert wanted is not None
    if library != "nccl":
        job = RankLayout(host=node, nodes=nodes, per_node=len(node.gpus), zones=1, cuts=crossed)
        lines, ledger = hfreduce(
            job, nvlink=library == "hfreduce-nvlink", memcpy_async=wanted.hfreduce.h2d == "memcpy-async"
        )
        return [BoundLedger("hfreduce", lines, True, ledger)]
    ranks = nodes * len(node.gpus)
    domains = ceil_div(ranks, node.domain_gpus)
    job = RankLayout(host=node, nodes=domains, per_node=ranks / domains, zones=1, cuts=crossed)
    found = [(ALGORITHMS[name], ALGORITHMS[name].possible(job)) for name in OF_NCCL]
    return [BoundLedger(item.name, item.ledger("allreduce", job), at) for item, at in found if some(at)]


def _one(library: str, design: ResolvedDesign, plan: FabricPlan, node: Host, wanted: Communication) -> CollectiveReport:
    group = design.compute
    accelerator = group.accelerator
    assert accelerator is not None
    ranks = reachable_nodes(design) * len(node.gpus)
    crossed = fabric_cuts(design, plan, reachable_nodes(design))
    known = resources(node, crossed)
    found = [(item, solve(known, item.lines)) for item in bound_ledgers(library, design, node, crossed)]
    best, result = max(found, key=lambda item: item[1].gbyte_s if item[1].terms else 0.0)  # the first of equals
    if all(term.name == "hbm" for term in result.terms):
        raise InputError(
            design.document.finding(
                "communication-unbounded",
                ("communication", "libraries"),
                f"nothing in the catalogue bounds `{library}` on `{group.server.id}`",
                f"add `pcie` or `nvlink` to `{accelerator.id}`",
            )
        )
    algbw, runner_up = float(result.gbyte_s), result.runner_up
    return CollectiveReport(
        library=library,
        algorithm=best.algorithm,
        operation="allreduce",
        ranks=ranks,
        nodes=reachable_nodes(design),
        message_bytes=wanted.message_size,
        time_s=wanted.message_size / (algbw * 1e9),
        algbw_gbyte_s=algbw,
        busbw_gbyte_s=float(result.gbyte_s * ring_factor(ranks)),
        limited_by=result.binding.name,
        limited_by_label=result.binding.label,
        runner_up=runner_up.name if runner_up else None,
        terms=result.terms,
        ledger=best.ledger,
        ledger_operations=float(ledger_total(best.ledger)) if best.ledger else None,
    )


def allreduce_bounds(design: ResolvedDesign, plan: FabricPlan | None) -> tuple[CollectiveReport, ...]:
    """Return the bound of an allreduce over the first compute group, for each library the design names.

    It spans all nodes of the group, or the nodes of one zone where the zones are not joined.

    Args:
        design: the design.
        plan: its fabric; None where it has none that could be built, and then only faults are looked for.

    Raises:
        InputError: where a library cannot run on the compute nodes, or no term bounds it.
    """
    wanted = design.spec.communication
    if wanted is None:
        return ()
    faults = bound_faults(design, wanted)
    if faults:
        raise InputError(*faults)
    if plan is None:
        return ()
    node = host(design.compute, design.port_gbyte_s * design.stripes)
    return tuple(_one(library, design, plan, node, wanted) for library in wanted.libraries)


def left_out(design: ResolvedDesign) -> tuple[str, ...]:
    """Return which terms the bounds leave out because the catalogue has no figure for them, one sentence each."""
    wanted, group = design.spec.communication, design.compute
    if wanted is None:
        return ()
    node, accelerator = host(group, design.port_gbyte_s * design.stripes), group.accelerator
    sentences = []
    bare = [
        cpu.id
        for socket, cpu in zip(group.server.sockets, group.cpus, strict=True)
        if cpu.root_port is None and any(port.limits is None for port in socket.root_ports)
    ]
    if bare and (not node.switched or any(name != "nccl" for name in wanted.libraries)):
        sentences.append(f"No root-port limit of `{bare[0]}` is known: that term is left out.")
    if accelerator is not None and accelerator.pcie is None:
        sentences.append(f"No PCIe bandwidth of `{accelerator.id}` is known: that term is left out.")
    asked = "nccl" in wanted.libraries and group.group.count > 1 and node.peer_through_cpu
    if asked and all(cpu.gpu_nic_peer is None for cpu in group.cpus):
        sentences.append(f"No GPU to NIC bandwidth through `{group.cpus[0].id}` is known: that term is left out.")
    return tuple(sentences)
