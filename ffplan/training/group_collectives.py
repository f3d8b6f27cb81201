"""Times of the collectives of training, for many groups and sizes in one call each."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Floats, Ints, Number, choose, maximum
from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.collectives.nccl import call_time
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import Coefficients, CollectiveQuery, coefficients, grid_of, side_by_side
from ffplan.node.host import Host, with_first_nics
from ffplan.training.parallel_plan import _placed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.collectives.expert_dispatch import Gate
    from ffplan.fabric.sizing.plan import LinkCut

    CutsCrossed = Callable[["GroupPlacement"], tuple[Number, tuple[LinkCut, ...]]]

MOST = 2_000_000
"""Largest grid of groups and sizes evaluated at once."""


@record
class GroupPlacement:
    """Placement of a group's ranks; numbers of any shape."""

    per_node: Number
    """Ranks on each node [1]."""
    nodes: Number
    """Nodes [1]."""
    apart: Number = 1.0
    """Nodes from one of them to the next [1]; 1 for adjacent nodes."""
    adjacent: Number = 1.0
    """1 if neighbouring ranks of a node sit on neighbouring GPUs, else 0 [1]."""


INSIDE, APART, MIXED = "inside", "apart", "mixed"
"""Groups within a node; groups with one rank on each of their nodes; all others."""
_STREAMS, _DISTINCT = "streams", "distinct"
"""Marks of known coefficients, valid for any message size, and of an array's distinct groups."""
_Group = tuple[float, ...]
"""Fields of the placement of one group."""


@record
class Cluster:
    """The machine that plans run on."""

    host: Host
    """A node."""
    library: Library
    """Library of every collective except the ones below."""
    reducer: Library
    """The library that reduces gradients."""
    dispatcher: Library | None = None
    """The library that sends a token to a node once; None without the links that it forwards over."""
    crossed: CutsCrossed | None = None
    """Zones and link cuts that groups cross, with the rate that each group has of every cut."""
    nvlink: bool = False
    """HFReduce reduces over NVLink first."""
    paths: int = 1
    """Ports of a NIC, one to every plane [1]."""
    sharder: Cluster | None = None
    """Machine of ZeRO 3's collectives, if their library uses fewer NICs."""
    rows: tuple[Cluster, ...] = ()
    """Machines of different rates for one repeated plan, one for each row of its arrays."""
    variants: dict[tuple[str, float], Cluster] = field(default_factory=dict)
    """Variants of the machine with one resource faster, by resource and factor."""
    known: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    """Cache: times, by place of the groups, collective, groups and sizes; coefficients, by place,
    `_STREAMS`, collective, library and group; and distinct groups, by `_DISTINCT` and all groups."""

    @property
    def reducer_name(self) -> str:
        """The library that reduces gradients, as a plan names it."""
        return f"{self.reducer.id}-nvlink" if self.nvlink else self.reducer.id

    @property
    def scatters(self) -> bool:
        """True if the library for gradients scatters them; HFReduce has allreduce alone."""
        return self.reducer.method != "hfreduce"

    @property
    def domain(self) -> int:
        """Accelerators that one scale-up switch joins, or the accelerators of a node [1]."""
        return self.host.domain_gpus


def with_known_times(system: Cluster, source: Cluster) -> Cluster:
    """Return a machine that knows the times of collectives that another, like it, has found before."""
    return replace(system, known=dict(source.known), variants={})


def with_inner_times(system: Cluster, source: Cluster | None) -> Cluster:
    """Return a machine that knows what another with the same nodes and libraries has found of groups within a node."""
    if source is None or _nodes(system) != _nodes(source):
        return system
    return replace(system, known=_known_at(source, INSIDE))


def _nodes(system: Cluster) -> tuple[Host, Library, Library, Library | None, bool]:
    return system.host, system.library, system.reducer, system.dispatcher, system.nvlink


def _known_at(system: Cluster, place: str | None) -> dict[tuple[Any, ...], Any]:
    return {mark: known for mark, known in system.known.items() if mark[0] == place}


def with_library(system: Cluster, part: Library) -> Cluster:
    """Return a machine with a changed library in place of its namesake, without known times."""
    library, reducer = (part if part.id == current.id else current for current in (system.library, system.reducer))
    same = system.dispatcher is not None and system.dispatcher.id == part.id
    dispatcher = part if same else system.dispatcher
    return replace(system, library=library, reducer=reducer, dispatcher=dispatcher, known={}, variants={})


def same_times(system: Cluster, machine: Cluster) -> bool:
    """Return whether all collectives timed on one machine take the same time on another, which learns their times."""
    for mark, known in system.known.items():
        if mark[0] != _DISTINCT and mark[1] != _STREAMS:
            _, operation, reducing, gate, shape, *rows = mark
            *where, sizes = (np.frombuffer(row).reshape(shape) for row in rows)
            query = _query(machine, operation, reducing=reducing, gate=gate)
            times = machine.known[mark] = _group_times(machine, query, where, sizes)
            if not np.array_equal(known, times):
                return False
    return True


def _by_machine(system: Cluster, find: Callable[[Cluster], Number]) -> Floats:
    """Return a figure of each row of plans on its own machine."""
    # rows often share a machine: compute it once
    known: dict[int, Floats] = {}
    for machine in system.rows:
        if id(machine) not in known:
            known[id(machine)] = np.broadcast_to(find(machine), (len(system.rows),))
    return np.array([known[id(machine)][row] for row, machine in enumerate(system.rows)])


def _first(value: Number) -> Floats:
    return np.atleast_1d(value)[:1]


def _merged_clusters(systems: Sequence[Cluster]) -> Cluster:
    """Return one machine that holds machines of different rates, one for each row of a repeated plan."""
    sharders = [system.sharder for system in systems if system.sharder is not None]
    sharder = _merged_clusters(sharders) if sharders else None
    return replace(systems[0], rows=tuple(systems), sharder=sharder, known={}, variants={})


def with_sharding_nics(system: Cluster, nics: int | None) -> Cluster:
    """Return a machine on which the collectives of ZeRO 3 use the first NICs of a node only; all if None."""
    if nics is None or nics >= len(system.host.nics):
        return system
    sharder = replace(system, host=with_first_nics(system.host, nics), known={}, variants={})
    return replace(system, sharder=sharder, variants={})


def _place_group(system: Cluster, gpus: Number, size: Number, inside: Number) -> GroupPlacement:
    """Return the placement of groups."""
    domain = np.minimum(system.domain, gpus)
    per_node, nodes = _placed(size, inside, domain, aligned=system.host.domain_nodes > 1)
    return GroupPlacement(per_node, nodes, np.maximum(inside / domain, 1.0), (np.asarray(inside) == 1) * 1.0)


def overlap_cost(system: Cluster, share: float) -> float:
    """Return the slowdown of computing under a hidden collective, over the collective's time [1].

    None if no fabric joins the accelerators of a node: channels that wait for PCIe occupy few multiprocessors, and
    GPT-2 under FSDP on Fire-Flyer 2 shows none (An et al., arXiv 2408.14158, Fig. 9).

    Args:
        share: the fraction where a fabric joins them [1].
    """
    return share if system.host.joined else 0.0


def _hidden_fraction(system: Cluster, placement: GroupPlacement, share: float) -> Number:
    """Return the slowdown of computing under a hidden reduction, over the reduction's time [1].

    HFReduce adds on the host, which costs no computing time; for groups that do not fill nodes, NCCL reduces instead.
    """
    on_host = (system.reducer.method == "hfreduce") & (np.asarray(placement.per_node) >= len(system.host.gpus))
    return np.where(on_host, 0.0, overlap_cost(system, share))


def _contention(gpus: Number, nics: Number, per_node: Number, nodes: Number) -> Number:
    """Return how many groups share a NIC if each is counted with at least one.

    Args:
        gpus: accelerators of a node G [1].
        nics: NICs of a node [1].
        per_node: ranks of a group on each node r [1].
        nodes: nodes of a group [1].

    Returns:
        Factor on the size of a message [1].

    Equation:
        max(1, G / (NICs r)) over several nodes, else 1

    Source:
        All groups of a node run the same collective at the same time; each has NICs r / G of its NICs.
    """
    shared = maximum(1.0, gpus / (maximum(nics, 1) * per_node))
    return 1.0 + (nodes > 1) * (shared - 1.0)


def cut_fraction(gpus: int, nics: int, placement: GroupPlacement, below: Number) -> Number:
    """Return the fraction of a link cut's rate that a group has while all groups cross it.

    Args:
        gpus: accelerators of a node G [1].
        nics: NICs of a node [1].
        placement: r ranks of the group on a node, at a distance of d nodes.
        below: nodes, or scale-up domains, below the link cut b [1].

    Returns:
        Fraction [1]. Messages count as often as groups share a NIC, so the fraction counts as often too.

    Equation:
        min(1, r / G) / min(d, b) x contention

    Source:
        G / r groups of every node cross the link cut; nodes between the nodes of one group belong to other groups.
    """
    mine = np.minimum(1.0, placement.per_node / gpus) / np.minimum(placement.apart, np.maximum(below, 1.0))
    return mine * _contention(gpus, nics, placement.per_node, placement.nodes)


def _query(system: Cluster, operation: str, *, reducing: bool = False, gate: Gate | None = None) -> CollectiveQuery:
    library = system.reducer if reducing else system.library
    if gate is not None:
        assert system.dispatcher is not None
        library = system.dispatcher
    return CollectiveQuery(operation=operation, library=library, nvlink=system.nvlink, gate=gate)


def _group_time(
    system: Cluster,
    operation: str,
    placement: GroupPlacement,
    size: Number,
    *,
    reducing: bool = False,
    gate: Gate | None = None,
) -> Floats:
    """Return the time of a collective that every group of the job runs at once; 0 over a single rank [s]; `size`
    [byte].

    The call itself is not counted: the launch times of the host have a separate figure.

    `operation`: allreduce, reduce-scatter, all-gather, all-to-all or sendrecv; dispatch or combine with a gate.
    """
    # a NIC that groups share carries their messages one after the other
    scaled = np.asarray(size * _contention(system.domain, system.host.domain_nics, placement.per_node, placement.nodes))
    # distance counts only across a fabric: without one, more groups share a known time
    apart = np.where(np.asarray(placement.nodes) > 1, placement.apart, 1.0) if system.crossed else 1.0
    beside = placement.adjacent if system.host.pairs else 1.0
    every = [np.asarray(v, dtype=float) for v in (placement.per_node, placement.nodes, apart, beside, scaled)]
    if system.rows:  # they are of one plan
        every = [_first(array) for array in every]
    *where, sizes = every if len({array.shape for array in every}) == 1 else np.broadcast_arrays(*every)
    inside, alone = bool((where[1] <= 1).all()), bool((where[0] <= 1).all())
    place = INSIDE if inside else APART if alone and not reducing else MIXED
    # times follow from these arrays alone, so their bytes are the key
    mark = (place, operation, reducing, gate, sizes.shape, *(array.tobytes() for array in (*where, sizes)))
    machines = system.rows or (system,)
    for machine in machines:
        if mark not in machine.known:
            query = _query(machine, operation, reducing=reducing, gate=gate)
            machine.known[mark] = _group_times(machine, query, where, sizes)
    times: list[Floats] = [machine.known[mark] for machine in machines]
    return np.concatenate(times) if system.rows else times[0]


def _group_times(system: Cluster, query: CollectiveQuery, where: list[Floats], sizes: Floats) -> Floats:
    """Return times, shaped like the sizes [s]; `where` holds ranks on a node, nodes, distance in nodes, and
    adjacency."""
    if sizes.size == 1:
        return _single_time(system, query, where, sizes)
    groups = (_DISTINCT, *(array.tobytes() for array in where))
    if groups not in system.known:
        system.known[groups] = _distinct([array.ravel() for array in where])
    keys, key = system.known[groups]
    values, column = np.unique(sizes.ravel(), return_inverse=True)
    time = np.zeros((keys.shape[1], len(values)))
    several = np.flatnonzero(keys[0] * keys[1] >= 2)
    # parts bound the memory of one evaluation
    stride = max(1, MOST // max(1, len(values)))
    for first in range(0, len(several), stride):
        part = several[first : first + stride]
        time[part] = _grid(system, query, list(map(tuple, keys[:, part].T.tolist())), values)
    return _without_call(system, query, sizes, time[key, column.ravel()].reshape(sizes.shape))


def _without_call(system: Cluster, query: CollectiveQuery, sizes: Floats, time: Floats) -> Floats:
    """Return times less the time of the call itself, in the shape of the sizes [s]; 0 without a message."""
    # NCCL's times include a call's launch, those of DeepEP its fixed time alone
    call = call_time(system.host, query.operation) if query.gate is None else 0.0
    times: Floats = np.where(sizes > 0, np.maximum(time - call, 0.0), 0.0)
    return times


def _single_time(system: Cluster, query: CollectiveQuery, where: list[Floats], sizes: Floats) -> Floats:
    """Return the time of one message of one group, as `_group_times` does, without sorting [s]."""
    group, time = tuple(row.item() for row in where), np.zeros(1)
    if group[0] * group[1] >= 2:
        time = _grid(system, query, [group], sizes.ravel())
    return _without_call(system, query, sizes, time.reshape(sizes.shape))


def _distinct(rows: list[Floats]) -> tuple[Floats, Ints]:
    """Return the distinct columns of some rows, in order, and the position of every column among them.

    Each row is numbered separately: sorting whole columns takes ten times as long.
    """
    code = np.zeros(rows[0].shape, dtype=np.int64)
    for row in rows:
        if (row != row[:1]).any():  # one value numbers nothing
            values, position = np.unique(row, return_inverse=True)
            code = code * len(values) + position  # a number in mixed base: each row is a digit
    _, first, position = np.unique(code, return_index=True, return_inverse=True)
    return np.stack([row[first] for row in rows]), position


def _grid(system: Cluster, query: CollectiveQuery, groups: list[_Group], sizes: Floats) -> Floats:
    """Return times of group x size [s]."""
    # a message of no bytes would divide by 0; `_without_call` sets its time to 0
    grid = grid_of(_streams(system, query, groups), query.library, np.maximum(sizes, 1.0))
    times = np.asarray(grid.pick(grid.time))
    # HFReduce takes whole nodes; NCCL does the rest
    if query.library is system.reducer and system.reducer is not system.library and not grid.possible.all():
        return np.where(grid.possible[:, None], times, _grid(system, _query(system, query.operation), groups, sizes))
    return times


def _streams(system: Cluster, query: CollectiveQuery, groups: list[_Group]) -> Coefficients:
    """Return the coefficients of a collective for messages of any size, found once for each group."""
    known, single = system.known, len(groups) == 1  # one group needs no arrays, which are slow to go through
    what = (_STREAMS, query.operation, query.library.id, query.gate, single)
    marks = [(INSIDE if group[1] <= 1 else MIXED, *what, group) for group in groups]
    new = [mark for mark in marks if mark not in known]
    if new:
        rows = groups[0] if single else np.array([mark[-1] for mark in new]).T.copy()
        coefficients = _coefficients(system, query, GroupPlacement(*rows))
        tables = np.split(coefficients.table, len(new), axis=-1)
        known.update((mark, Coefficients(coefficients.choices, table)) for mark, table in zip(new, tables, strict=True))
    return side_by_side([known[mark] for mark in marks])


def _coefficients(system: Cluster, query: CollectiveQuery, placement: GroupPlacement) -> Coefficients:
    """Return the coefficients of a collective for messages of any size."""
    zones, cuts = system.crossed(placement) if system.crossed else (placement.nodes * 0 + 1, ())
    if isinstance(placement.nodes, float):
        zones, cuts = (
            float(zones),
            tuple(cut.each(float) for cut in cuts),
        )
    # a group of one rank has no collective: two keep the formulas finite, and the time is dropped
    safe = choose(placement.per_node * placement.nodes < 2, 2.0, placement.per_node)
    job = RankLayout(
        host=system.host,
        nodes=placement.nodes,
        per_node=safe,
        zones=zones,
        cuts=cuts,
        adjacent=placement.adjacent,
    )
    streams = coefficients(query, job)
    if streams is None:
        raise ValueError(f"{query.library.id} has no {query.operation}")
    return streams
