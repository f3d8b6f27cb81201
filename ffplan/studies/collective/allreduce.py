"""Times of collectives as rows, and the allreduce over all accelerators of a design: its bound, every library."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import Truth, some
from ffplan.base.errors import InputError
from ffplan.base.formatting import ids_listed
from ffplan.base.outcomes import LedgerLine
from ffplan.base.record import record
from ffplan.collectives import expert_dispatch
from ffplan.collectives.bottleneck import Line, lacking, solve
from ffplan.collectives.hfreduce import hfreduce, ledger_total
from ffplan.collectives.nccl import ALGORITHMS
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, chosen, dispatch_ledger, fastest, time_choices
from ffplan.collectives.volumes import bus_factor, ring_factor
from ffplan.fabric.sizing.plan import reachable_nodes
from ffplan.node.resources import resources
from ffplan.results.collective import CollectiveBound, CollectiveReport, CollectiveRow
from ffplan.studies.basis.job_layout import job_layout, most_gpus, node_of

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.catalog.library import Library
    from ffplan.collectives.volumes import Bound
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.schema import Communication
    from ffplan.fabric.sizing.plan import FabricPlan
    from ffplan.node.host import Host


_MARGIN = 1.01
"""By how much a stream is slower than its resources before its protocol counts as what binds [1]."""


@record
class _Pick:
    size: float
    """Message [byte]."""
    algorithm: str
    protocol: str
    time: float
    """Time [s]."""
    latency: float
    """Part that does not grow with the message [s]."""
    stream: float
    """Part that the tightest resource takes [s]."""
    fastest: str
    """Algorithm and protocol that would take least."""
    fastest_time: float
    """Its time [s]."""


def _choice_name(algorithm: str, protocol: str) -> str:
    return " ".join(filter(None, (algorithm, protocol)))


def _ledger_of(query: CollectiveQuery, job: RankLayout, algorithm: str) -> list[Line]:
    if algorithm == "hfreduce":
        return hfreduce(job, nvlink=query.nvlink, memcpy_async=query.memcpy_async, operation=query.operation)[0]
    if algorithm in ("node-limited", "straight"):
        return dispatch_ledger(query, job, algorithm)
    return ALGORITHMS[algorithm].ledger(query.operation, job)


def bound_of(query: CollectiveQuery, job: RankLayout, algorithm: str) -> Bound:
    """Return the bound of an algorithm's stream on a job, with its terms."""
    share = query.library.link_share.value if query.library.link_share else 1.0
    return solve(
        resources(job.host, job.cuts, share),
        _ledger_of(query, job, algorithm),
        sustained=True,
        trees=algorithm in ALGORITHMS and ALGORITHMS[algorithm].trees,
    )


def _limit(bound: Bound, pick: _Pick) -> tuple[str, str]:
    if pick.latency > pick.stream:
        return "latency", "latency"
    if pick.stream > pick.size / (float(bound.gbyte_s) * 1e9) * _MARGIN:
        return "protocol", "share or ceiling of the protocol"
    return bound.binding.name, bound.binding.label


def _as_deepep(query: CollectiveQuery, job: RankLayout, algorithm: str, algbw: float) -> float | None:
    """Return the rate as DeepEP counts it, with tokens to a GPU's own node; None of other operations."""
    if query.routing is None:
        return None
    return float(algbw * expert_dispatch.counted_copies(job, query.routing, algorithm))


def _collective_row(query: CollectiveQuery, job: RankLayout, gpus: int, pick: _Pick, bound: Bound) -> CollectiveRow:
    algbw = pick.size / pick.time / 1e9
    name, label = _limit(bound, pick)
    spare = bound.runner_up
    return CollectiveRow(
        library=query.name,
        gpus=gpus,
        nodes=int(job.nodes),
        zones=int(job.zones),
        size_bytes=pick.size,
        algorithm=pick.algorithm,
        protocol=pick.protocol,
        time_s=pick.time,
        algbw_gbyte_s=algbw,
        busbw_gbyte_s=float(algbw * bus_factor(query.operation, job.ranks)),
        latency_s=pick.latency,
        stream_s=pick.stream,
        fill_s=max(0.0, pick.time - pick.latency - pick.stream),
        limited_by=name,
        limited_by_label=label,
        runner_up=spare.name if spare else None,
        runner_up_gbyte_s=float(spare.gbyte_s) if spare else None,
        fastest=pick.fastest,
        fastest_time_s=pick.fastest_time,
        deepep_gbyte_s=_as_deepep(query, job, pick.algorithm, algbw),
    )


def timed_row(query: CollectiveQuery, job: RankLayout, gpus: int, size: float) -> CollectiveRow | None:
    """Return the row of one message on one job; None if the library cannot run there."""
    times = time_choices(query, job, size)
    if not times:
        return None
    choice, best = chosen(times), fastest(times)
    pick = _Pick(
        size=size,
        algorithm=choice.algorithm,
        protocol=choice.protocol,
        time=choice.time,
        latency=choice.latency,
        stream=choice.stream,
        fastest=_choice_name(best.algorithm, best.protocol),
        fastest_time=best.time,
    )
    return _collective_row(query, job, gpus, pick, bound_of(query, job, choice.algorithm))


_OF_NCCL = ("ring", "tree", "nvls", "nvls-tree")
"""Algorithms of NCCL whose bounds are compared."""


def bound_faults(design: ResolvedDesign, communication: Communication) -> list[Finding]:
    """Return faults of libraries that cannot run on the compute nodes, for one design or for all of an array."""
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
        for position, library in enumerate(communication.libraries)
        if library not in ("nccl", own) and not library.startswith("hfreduce")
    ] + [
        document.finding(
            "communication-nvlink",
            ("communication", "libraries", position),
            f"`hfreduce-nvlink` needs NVLink between GPUs; `{group.server.id}` has none",
            "use `hfreduce`, or a server with NVLink pairs",
        )
        for position, library in enumerate(communication.libraries)
        if library == "hfreduce-nvlink"
        and (scale_up is None or not (scale_up.pairs or scale_up.switched or scale_up.mesh or scale_up.torus))
    ]


@record
class _BoundLedger:
    algorithm: str
    lines: list[Line]
    possible: Truth
    ledger: tuple[LedgerLine, ...] = ()


def bound_ledgers(query: CollectiveQuery, job: RankLayout) -> list[_BoundLedger]:
    """Return the ledgers that a library may run, for one job or for arrays of them."""
    if query.library.method == "hfreduce":
        lines, ledger = hfreduce(job, nvlink=query.nvlink, memcpy_async=query.memcpy_async)
        return [_BoundLedger("hfreduce", lines, True, ledger)]
    possible = [(ALGORITHMS[name], ALGORITHMS[name].possible(job)) for name in _OF_NCCL]
    return [
        _BoundLedger(algorithm.name, algorithm.ledger("allreduce", job), runs)
        for algorithm, runs in possible
        if some(runs)
    ]


def allreduce_bound(
    query: CollectiveQuery, job: RankLayout, size: float
) -> tuple[CollectiveBound, _BoundLedger] | None:
    """Return the bound of an allreduce with the ledger that allows most; None if nothing bounds it.

    Args:
        size: message [byte].
    """
    known = resources(job.host, job.cuts)
    solved = [(ledger, solve(known, ledger.lines)) for ledger in bound_ledgers(query, job)]
    best, result = max(solved, key=lambda pair: pair[1].gbyte_s if pair[1].terms else 0.0)  # the first of equals
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
    communication, group = design.spec.communication, design.compute
    if communication is None:
        return ()
    node, accelerator = node_of(design), group.accelerator
    sentences = []
    bare = node.without_limit(port.id for port in node.ports)
    if bare and (not node.joined or any(library.method == "hfreduce" for library in design.libraries)):
        sentences.append(f"No root-port limit of {ids_listed(bare)} is known: that term is left out.")
    if accelerator is not None and accelerator.pcie is None:
        sentences.append(f"No PCIe bandwidth of `{accelerator.id}` is known: that term is left out.")
    hfreduce = (
        any(library.method == "nccl" for library in design.libraries)
        and group.group.count > 1
        and node.peer_through_cpu
    )
    if hfreduce and all(cpu.gpu_nic_peer is None for cpu in group.cpus):
        sentences.append(f"No GPU to NIC bandwidth through `{group.cpus[0].id}` is known: that term is left out.")
    return tuple(sentences)


_LEAST_RANKS = 16
_STEP = 4
"""Factor from one row of the table of scales to the next."""


def allreduce_query(design: ResolvedDesign, library: Library, name: str) -> CollectiveQuery:
    """Return the allreduce of a design with one library.

    Args:
        name: hfreduce, hfreduce-nvlink, nccl for the library of the accelerators' maker, or its own name.
    """
    communication = design.spec.communication
    return CollectiveQuery(
        operation="allreduce",
        library=library,
        name=name if library.method == "hfreduce" else library.id,
        nvlink=name == "hfreduce-nvlink",
        memcpy_async=bool(communication and communication.hfreduce.h2d == "memcpy-async"),
    )


def scales(node: Host, most: int) -> tuple[int, ...]:
    """Return the rank counts of the scale table: 16, 64, ... up to all, in whole scale-up domains.

    Args:
        most: ranks of all nodes that one job can span [1].
    """
    counts, ranks = [], _LEAST_RANKS
    while ranks < most:
        per_node = node.domain_gpus if ranks > node.domain_gpus else len(node.gpus)
        counts.append(-(-ranks // per_node) * per_node)
        ranks *= _STEP
    return tuple(dict.fromkeys((*(count for count in counts if count < most), most)))


def rows_of(
    query: CollectiveQuery, design: ResolvedDesign, plan: FabricPlan, node: Host, ranks: tuple[int, ...], size: float
) -> list[CollectiveRow]:
    """Return the time over each number of ranks; those where the library cannot run are left out.

    Args:
        size: message [byte].
    """
    by_domain = query.library.method != "hfreduce"
    rows = (
        timed_row(query, job_layout(design, plan, node, count, by_domain=by_domain), count, size) for count in ranks
    )
    return [row for row in rows if row is not None]


def _report(
    query: CollectiveQuery, design: ResolvedDesign, plan: FabricPlan, node: Host, *, all_scales: bool
) -> CollectiveReport:
    communication, group = design.spec.communication, design.compute
    assert communication is not None
    most, size = most_gpus(design), communication.message_size
    job = job_layout(design, plan, node, most, by_domain=query.library.method != "hfreduce")
    bounded = allreduce_bound(query, job, size)
    if bounded is None:
        raise InputError(
            design.document.finding(
                "communication-unbounded",
                ("communication", "libraries"),
                f"nothing in the catalogue bounds `{query.name}` on `{group.server.id}`",
                f"add `pcie` or `nvlink` to `{group.accelerator.id if group.accelerator else group.server.id}`",
            )
        )
    bound, best = bounded
    counts = scales(node, most) if all_scales else (most,)
    rows = rows_of(query, design, plan, node, counts, size)
    row = rows[-1]
    return CollectiveReport(
        library=query.name,
        algorithm=row.algorithm,
        protocol=row.protocol,
        operation="allreduce",
        ranks=most,
        nodes=reachable_nodes(design),
        message_bytes=size,
        time_s=row.time_s,
        algbw_gbyte_s=row.algbw_gbyte_s,
        busbw_gbyte_s=row.busbw_gbyte_s,
        limited_by=row.limited_by,
        limited_by_label=row.limited_by_label,
        fastest=row.fastest,
        fastest_time_s=row.fastest_time_s,
        bound=bound,
        scales=tuple(rows),
        ledger=best.ledger,
        ledger_operations=float(ledger_total(best.ledger)) if best.ledger else None,
    )


def pair_times(design: ResolvedDesign) -> tuple[float, float] | None:
    """Return the time of the design's message between two accelerators of a pair, over the bridge and without it [s].

    None if the design has no bridged pairs, or names no library between accelerators.
    """
    communication = design.spec.communication
    library = next((library for library in design.libraries if library.method == "nccl"), None)
    if communication is None or library is None or not (node := node_of(design)).pairs:
        return None
    query = allreduce_query(design, library, library.id)
    layouts = [RankLayout(host=host, nodes=1, per_node=2) for host in (node, replace(node, pairs=()))]
    rows = [timed_row(query, layout, 2, communication.message_size) for layout in layouts]
    return (rows[0].time_s, rows[1].time_s) if rows[0] and rows[1] else None


def allreduces(
    design: ResolvedDesign, plan: FabricPlan | None, *, all_scales: bool = True
) -> tuple[CollectiveReport, ...]:
    """Return the allreduce over the compute nodes, for each library that the design names.

    It spans all nodes of the group, or one zone if nothing joins the zones.

    Args:
        plan: its fabric; None if it cannot be built, and then only faults are looked for.
        all_scales: time the message over fewer accelerators too.

    Raises:
        InputError: if a library cannot run on the compute nodes, or nothing bounds it.
    """
    communication = design.spec.communication
    if communication is None:
        return ()
    faults = bound_faults(design, communication)
    if faults:
        raise InputError(*faults)
    if plan is None:
        return ()
    node = node_of(design)
    named = zip(communication.libraries, design.libraries, strict=True)
    return tuple(
        _report(allreduce_query(design, library, name), design, plan, node, all_scales=all_scales)
        for name, library in named
    )
