"""Times of a collective over sizes and numbers of accelerators, with the assumptions behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import ids_listed, plural
from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.collectives import expert_dispatch
from ffplan.collectives.nccl import ALGORITHMS
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, TimingGrid, choices, time_grid
from ffplan.collectives.volumes import OF_TOKENS
from ffplan.fabric.family import plan_fabric
from ffplan.results.collective import AlgorithmRow, CollectiveRow, CollectiveTable, Limit
from ffplan.results.design import SCHEMA_VERSION
from ffplan.studies.basis.job_layout import Placement, job_layout, most_gpus, node_of, own_library
from ffplan.studies.collective.allreduce import _choice_name, _collective_row, _Pick, bound_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Floats, Number
    from ffplan.catalog.store import Catalog
    from ffplan.collectives.volumes import Bound
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan
    from ffplan.node.host import Host


class QueryError(ValueError):
    """The design cannot run the query."""


def _at(value: Number, job: RankLayout, index: int) -> float:
    return float(np.broadcast_to(value, np.shape(job.nodes))[index])


def _single(job: RankLayout, index: int) -> RankLayout:
    crossed = tuple(cut.each(lambda value: _at(value, job, index)) for cut in job.cuts)
    return RankLayout(
        host=job.host,
        nodes=_at(job.nodes, job, index),
        per_node=_at(job.per_node, job, index),
        zones=_at(job.zones, job, index),
        cuts=crossed,
        sent_by=None if job.sent_by is None else _at(job.sent_by, job, index),
        last=None if job.last is None else _at(job.last, job, index),
    )


def _tabulate(
    query: CollectiveQuery, job: RankLayout, gpus: tuple[int, ...], sizes: Floats
) -> tuple[list[CollectiveRow], list[AlgorithmRow]]:
    grid = time_grid(query, job, sizes)
    if grid is None or not bool(grid.possible.all()):
        what = " ".join(filter(None, (query.algorithm, query.protocol, query.operation)))
        over = "" if grid is None else f" over {gpus[int(np.argmin(grid.possible))]:,} accelerators"
        forced = ALGORITHMS.get(query.algorithm or "")
        only = f"; {query.algorithm} runs on {forced.runs_on}" if over and forced and forced.runs_on else ""
        raise QueryError(f"`{query.library.id}` has no {what}{over} of `{job.host.id}`{only}")
    bounds: dict[tuple[int, str], Bound] = {}
    for i in range(len(gpus)):
        for algorithm in dict.fromkeys(grid.choices[k][0] for k in grid.chosen[i]):
            bounds[i, algorithm] = bound_of(query, _single(job, i), algorithm)
    rows = _rows(query, job, gpus, sizes, grid, bounds)
    terms = [
        AlgorithmRow(query.name, gpus[i], algorithm, tuple(_limits(bound))) for (i, algorithm), bound in bounds.items()
    ]
    return rows, terms


def _limits(bound: Bound) -> Iterator[Limit]:
    for term in bound.terms:
        yield Limit(term.name, term.label, term.gbyte_s, term.derivation)


def _rows(
    query: CollectiveQuery,
    job: RankLayout,
    gpus: tuple[int, ...],
    sizes: Floats,
    grid: TimingGrid,
    bounds: dict[tuple[int, str], Bound],
) -> list[CollectiveRow]:
    time, latency, stream = grid.pick(grid.time), grid.pick(grid.latency), grid.pick(grid.seconds_per_byte) * sizes
    runs = np.where(np.isfinite(grid.estimate), grid.time, np.inf)
    fastest, least = runs.argmin(axis=0), runs.min(axis=0)
    rows = []
    for i, count in enumerate(gpus):
        ranks = _single(job, i)
        for j, size in enumerate(sizes):
            algorithm, protocol = grid.choices[int(grid.chosen[i, j])]
            pick = _Pick(
                size=float(size),
                algorithm=algorithm,
                protocol=protocol,
                time=float(time[i, j]),
                latency=float(latency[i, j]),
                stream=float(stream[i, j]),
                fastest=_choice_name(*grid.choices[int(fastest[i, j])]),
                fastest_time=float(least[i, j]),
            )
            rows.append(_collective_row(query, ranks, count, pick, bounds[i, algorithm]))
    return rows


def _collective_assumptions(query: CollectiveQuery, job: RankLayout) -> tuple[str, ...]:
    host, library = job.host, query.library
    accelerator = host.accelerator
    rates = host.rates
    sentences = [
        "Ranks go leaf by leaf and zone by zone; no other traffic, no congestion within the fabric.",
    ]
    if library.band_small and library.band_large:
        bands = [figure.range for figure in (library.band_small, library.band_large)]
        small, large = (f"{100 * low:.0f} to {100 * high:.0f} %" for low, high in bands)
        sentences.append(
            f"Measured times lie at {small} of these below 16 MiB, at {large} from there (P10 to P90 over sources)."
        )
    if library.method == "nccl":
        name = library.id.upper()
        sentences.append(f"{name} chooses by its own cost model, which omits pipeline fill and some of the limits.")
        if host.joined and accelerator and accelerator.nvlink and not (rates and rates.ring):
            share = library.link_share.value if library.link_share else 1.0
            sentences.append(
                f"No collective of `{accelerator.id}` is measured: {share:.0%} of its NVLink rate is assumed."
            )
        if rates is None or rates.nvls is None:
            name = accelerator.id if accelerator else host.id
            sentences.append(f"No reduction in the scale-up switch (NVLS) is known of `{name}`.")
        if not host.joined:
            sentences.append("LL128 is left out without a scale-up switch, as NCCL does by default (recalled).")
        if not host.joined and host.sockets_with_gpus > 1 and all(cpu.socket_fabric is None for cpu in host.cpus):
            sentences.append(f"No bandwidth between sockets of `{host.cpus[0].id}` is known: that term is left out.")
        if not host.joined and (bare := host.without_limit()):
            sentences.append(f"No root-port limit of {ids_listed(bare)} is known: that term is left out.")
        if query.operation == "all-to-all":
            sentences.append("The cost of many small all-to-all messages beyond one hop is not modelled.")
        if query.operation in ("all-gather", "reduce-scatter"):
            sentences.append("Rings are timed by default; NCCL's PAT (--algorithm pat) has less latency on many nodes.")
    if library.method == "hfreduce":
        sentences.append("HFReduce is fitted at 184 MiB; copies and additions of small messages are left out.")
        sentences.append("Nodes carry the mean load of the double binary tree, 2 (N - 1) / N.")
    if library.method == "deepep" and query.routing is not None:
        sentences.append("The fixed time of a call was fitted on H800 with 400 Gb/s NICs.")
        if query.routing.sms is not None:
            sentences.append(
                f"{plural(query.routing.sms, 'multiprocessor')} copy tokens at the rate of NCCL's channels; DeepEP's "
                "rates by their number are unknown."
            )
        sentences.append("Every expert is as likely as any other; tokens are FP8 with scales out, BF16 back.")
    if host.peer_through_cpu and library.method == "nccl" and all(cpu.gpu_nic_peer is None for cpu in host.cpus):
        sentences.append(f"No GPU to NIC bandwidth through `{host.cpus[0].id}` is known: that term is left out.")
    return tuple(sentences)


LIBRARIES = ("nccl", "rccl", "hfreduce", "hfreduce-nvlink", "deepep")
"""Libraries that can be timed."""
_ALIASES = {
    "all-reduce": "allreduce",
    "alltoall": "all-to-all",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
}


@record
class CollectiveRequest:
    """A request for a table of collectives."""

    operation: str
    algorithm: str | None = None
    protocol: str | None = None
    in_network: bool = False
    routing: expert_dispatch.Routing | None = None
    zones: int | None = None
    nic_gbyte_s: float | None = None
    """Rate limit of each NIC [GB/s]."""
    placement: Placement | None = None
    """Nodes that the ranks are spread over evenly; as few as hold them if omitted."""


def _rank_layout(
    design: ResolvedDesign,
    plan: FabricPlan,
    gpus: tuple[int, ...],
    zones: int | None,
    nic_gbyte_s: float | None = None,
    *,
    by_domain: bool = True,
    placement: Placement | None = None,
) -> RankLayout:
    """Return the ranks of jobs, arrays over the jobs; by default they take as few nodes and zones as hold them."""
    node, most = node_of(design, nic_gbyte_s), most_gpus(design)
    if not node.gpus:
        raise QueryError(f"`{node.id}` has no accelerators")
    domain = node.domain_gpus if by_domain else len(node.gpus)
    for count in gpus:
        if count < 2:
            raise QueryError(f"--gpus {count}: a collective needs at least two accelerators")
        if count > most:
            raise QueryError(f"--gpus {count:,}: one job can span {most:,} accelerators of this design")
        inside = len(node.gpus) if domain > len(node.gpus) and count > domain else -(-count // domain)
        if placement is not None:
            _check_placement(design, node, count, placement, by_domain=by_domain)
        elif count % inside:
            per_node = inside if inside == len(node.gpus) else domain
            low, high = count // per_node * per_node, min(most, (count // per_node + 1) * per_node)
            raise QueryError(
                f"--gpus {count:,}: does not split evenly over nodes of {per_node}; {low:,} or {high:,} would"
            )
    ranks: Floats = np.asarray(gpus, dtype=float)
    if zones is not None:
        _check_zones(design, np.ceil(ranks / len(node.gpus)), zones)
    return job_layout(design, plan, node, ranks, zones, by_domain=by_domain, placement=placement)


def _check_placement(design: ResolvedDesign, node: Host, ranks: int, placement: Placement, *, by_domain: bool) -> None:
    most = most_gpus(design) // len(node.gpus)
    if placement.nodes > most:
        raise QueryError(f"{placement.nodes:,} nodes: one job can span {most:,} of this design")
    domains = -(-placement.nodes // node.domain_nodes) if by_domain else placement.nodes
    if ranks % domains or ranks > placement.nodes * len(node.gpus):
        raise QueryError(f"{ranks:,} ranks do not split evenly over {placement.nodes:,} nodes")


def _check_zones(design: ResolvedDesign, boxes: Floats, zones: int) -> None:
    fabric, count = design.spec.fabric, design.compute.group.count
    if zones > fabric.zones or bool((boxes < zones).any()):
        raise QueryError(f"--zones {zones}: the fabric has {fabric.zones}, and every zone needs a node")
    if design.compute.group.zones == "every":
        raise QueryError(f"--zones {zones}: every node is in every zone")
    if zones > 1 and fabric.inter_zone is None:
        raise QueryError(f"--zones {zones}: nothing joins the zones of this fabric")
    held = -(-count // fabric.zones) * zones
    if bool((boxes > held).any()):
        raise QueryError(f"--zones {zones}: {zones} zone(s) hold {held:,} nodes, the job has {int(boxes.max()):,}")


def _query(design: ResolvedDesign, catalog: Catalog, name: str, request: CollectiveRequest) -> CollectiveQuery:
    wide = name.removesuffix("-nvlink")
    part = catalog.get(Library, own_library(design) if wide == "nccl" else wide, design.document, ())
    communication = design.spec.communication
    return CollectiveQuery(
        operation=request.operation,
        library=part,
        name=part.id if part.method == "nccl" else name,
        nvlink=name == "hfreduce-nvlink",
        memcpy_async=bool(communication and communication.hfreduce.h2d == "memcpy-async"),
        in_network=request.in_network,
        algorithm=request.algorithm,
        protocol=request.protocol,
        routing=request.routing,
    )


def _fault(query: CollectiveQuery, job: RankLayout) -> str | None:
    if query.routing is not None and (fault := expert_dispatch.routing_fault(job, query.routing)):
        return f"{fault}; see --gpus, --experts, --top-k and --max-nodes"
    if query.routing is not None and query.routing.sms is not None:
        copies = expert_dispatch.copying_fault(job.host, query.routing.sms, query.algorithm)
        if copies:
            return f"--sms: {copies}; leave it out"
    reduces = [
        choice for choice in choices(query, job) if choice.algorithm == "sharp" and bool(np.any(choice.possible))
    ]
    if query.in_network and not reduces:
        return f"--sharp: no {query.name} {query.operation} of `{job.host.id}` that reduces in the network is known"
    library = job.host.accelerator.library if job.host.accelerator else None
    if query.library.method == "nccl" and query.library.id != library:
        return f"`{query.library.id}` does not run on `{job.host.id}`; its accelerators have `{library}`"
    if query.nvlink and not (job.host.pairs or job.host.joined):
        return f"`hfreduce-nvlink` needs NVLink between GPUs; `{job.host.id}` has none"
    return None


def operation_name(text: str) -> str:
    """Return the name of an operation as ffplan writes it."""
    name = text.lower().replace("_", "-")
    return _ALIASES.get(name, name)


def default_library(operation: str, design: ResolvedDesign) -> str:
    """Return the default library: the design's first that has the operation."""
    if operation in OF_TOKENS:
        return "deepep"
    communication = design.spec.communication
    return communication.libraries[0] if communication and operation == "allreduce" else own_library(design)


def check_together(request: CollectiveRequest, libraries: list[str], design: ResolvedDesign) -> None:
    """Refuse what cannot go together; raise `QueryError` if something does not."""
    if any(name.startswith("hfreduce") for name in libraries) and (
        request.algorithm or request.protocol or request.in_network
    ):
        raise QueryError("HFReduce has one way only; leave out --algorithm, --protocol and --sharp")
    if request.algorithm == "sharp" and not request.in_network:
        raise QueryError("--algorithm sharp: the network's switches reduce only with --sharp")
    if request.in_network and design.parts.switch.fabric != "infiniband":
        raise QueryError(f"--sharp: `{design.parts.switch.id}` is an Ethernet switch; it does not reduce")


def collective_table(
    design: ResolvedDesign,
    catalog: Catalog,
    libraries: list[str],
    request: CollectiveRequest,
    gpus: tuple[int, ...] | None,
    sizes: tuple[float, ...],
) -> CollectiveTable:
    """Return the table of a collective on a design.

    Args:
        libraries: names: nccl, rccl, hfreduce, hfreduce-nvlink, deepep.
        gpus: ranks of each job; all that one job can span if omitted.
        sizes: messages [byte]; the tokens of a GPU for dispatch and combine.

    Raises:
        QueryError: if something cannot be done.
    """
    plan = plan_fabric(design)
    ranks = gpus or (most_gpus(design),)
    if request.routing is not None:
        sizes = (request.routing.message_bytes(request.operation),)
    rows: list[CollectiveRow] = []
    terms: list[AlgorithmRow] = []
    assumed: list[str] = []
    names: list[str] = []
    for name in libraries:
        query = _query(design, catalog, name, request)
        names.append(query.name)
        by_domain = query.library.method != "hfreduce"
        job = _rank_layout(
            design, plan, ranks, request.zones, request.nic_gbyte_s, by_domain=by_domain, placement=request.placement
        )
        if fault := _fault(query, job):
            raise QueryError(fault)
        found, listed = _tabulate(query, job, ranks, np.array(sizes))
        rows += found
        terms += listed
        assumed += _collective_assumptions(query, job)
    if request.nic_gbyte_s is not None:
        assumed.append(f"NICs carry {request.nic_gbyte_s:g} GB/s at most, as asked.")
    used = {row.algorithm for row in rows}
    return CollectiveTable(
        schema_version=SCHEMA_VERSION,
        design=design.spec.name,
        operation=request.operation,
        library=", ".join(dict.fromkeys(names)),
        in_network_allowed=request.in_network,
        in_network_reduction="sharp" in used,
        in_switch_reduction=bool(used & {"nvls", "nvls-tree", "sharp"}),
        rows=tuple(rows),
        algorithms=tuple(terms),
        assumptions=tuple(dict.fromkeys(assumed)),
    )
