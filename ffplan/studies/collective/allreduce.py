"""The allreduce that a design asks for: its time with each library, beside what long messages reach at most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.collectives.hfreduce import ledger_total
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery
from ffplan.fabric.sizing.link_cuts import reachable_nodes
from ffplan.results.collective import CollectiveReport
from ffplan.studies.basis.job_layout import job_layout, most_gpus, node_of
from ffplan.studies.collective.allreduce_bound import allreduce_bound, bound_faults
from ffplan.studies.collective.collective_row import timed_row

if TYPE_CHECKING:
    from ffplan.catalog.library import Library
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan
    from ffplan.node.host import Host
    from ffplan.results.collective import CollectiveRow

LEAST_RANKS = 16
"""Accelerators of the first row of the table of scales."""
STEP = 4
"""Factor from one row of the table of scales to the next."""


def allreduce_query(design: ResolvedDesign, library: Library, name: str) -> CollectiveQuery:
    """Return the allreduce of a design with one library.

    Args:
        library: constants of the library.
        name: hfreduce, hfreduce-nvlink, nccl for the library of the accelerators' maker, or its own name.
    """
    asked = design.spec.communication
    return CollectiveQuery(
        operation="allreduce",
        library=library,
        name=name if library.method == "hfreduce" else library.id,
        nvlink=name == "hfreduce-nvlink",
        memcpy_async=bool(asked and asked.hfreduce.h2d == "memcpy-async"),
    )


def scales(node: Host, most: int) -> tuple[int, ...]:
    """Return the numbers of ranks of the table of scales: 16, 64, ... up to all, in whole scale-up domains.

    Args:
        most: ranks of all nodes that one job can span [1].
    """
    found, ranks = [], LEAST_RANKS
    while ranks < most:
        each = node.domain_gpus if ranks > node.domain_gpus else len(node.gpus)
        found.append(-(-ranks // each) * each)
        ranks *= STEP
    return tuple(dict.fromkeys((*(count for count in found if count < most), most)))


def rows_of(
    query: CollectiveQuery, design: ResolvedDesign, plan: FabricPlan, node: Host, ranks: tuple[int, ...], size: float
) -> list[CollectiveRow]:
    """Return the time over each number of ranks; those where the library cannot run are left out.

    Args:
        query: the allreduce and its library.
        ranks: ranks of each job.
        size: message [byte].
    """
    by_domain = query.library.method != "hfreduce"
    found = []
    for count in ranks:
        row = timed_row(query, job_layout(design, plan, node, count, by_domain=by_domain), count, size)
        if row is not None:
            found.append(row)
    return found


def _report(
    query: CollectiveQuery, design: ResolvedDesign, plan: FabricPlan, node: Host, *, all_scales: bool
) -> CollectiveReport:
    asked, group = design.spec.communication, design.compute
    assert asked is not None
    most, size = most_gpus(design), asked.message_size
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

    None where the design has no bridged pairs, or names no library between accelerators.
    """
    asked = design.spec.communication
    library = next((item for item in design.libraries if item.method == "nccl"), None)
    if asked is None or library is None or not (node := node_of(design)).pairs:
        return None
    query = allreduce_query(design, library, library.id)
    layouts = [RankLayout(host=item, nodes=1, per_node=2) for item in (node, replace(node, pairs=()))]
    rows = [timed_row(query, layout, 2, asked.message_size) for layout in layouts]
    return (rows[0].time_s, rows[1].time_s) if rows[0] and rows[1] else None


def allreduces(
    design: ResolvedDesign, plan: FabricPlan | None, *, all_scales: bool = True
) -> tuple[CollectiveReport, ...]:
    """Return the allreduce over the compute nodes, for each library that the design names.

    It spans all nodes of the group, or those of one zone where nothing joins the zones.

    Args:
        plan: its fabric; None where it has none that could be built, and then only faults are looked for.
        all_scales: time the message over fewer accelerators too.

    Raises:
        InputError: where a library cannot run on the compute nodes, or nothing bounds it.
    """
    wanted = design.spec.communication
    if wanted is None:
        return ()
    faults = bound_faults(design, wanted)
    if faults:
        raise InputError(*faults)
    if plan is None:
        return ()
    node = node_of(design)
    named = zip(wanted.libraries, design.libraries, strict=True)
    return tuple(
        _report(allreduce_query(design, library, name), design, plan, node, all_scales=all_scales)
        for name, library in named
    )
