"""Time of a collective: for one message on one job, or one call for a grid of sizes x scales x algorithms.

Both take the same choices and the same formula; a single time needs no arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Bools, Floats, Ints, Number, choose, minimum
from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.collectives import expert_dispatch, hfreduce, nccl
from ffplan.collectives.bottleneck import sustained_rate
from ffplan.collectives.expert_dispatch import Gate, Routing
from ffplan.collectives.latency import transfer_time
from ffplan.collectives.nccl import _Choice
from ffplan.collectives.volumes import OF_TOKENS, _mean_tree_load, bus_factor
from ffplan.node.resources import resources

if TYPE_CHECKING:
    from ffplan.collectives.bottleneck import Line
    from ffplan.collectives.rank_layout import RankLayout


COEFFICIENTS = (
    "seconds_per_byte",
    "latency",
    "inner_latency",
    "fill",
    "inner_most",
    "hops",
    "slot",
    "channel_per_byte",
    "channels_least",
    "channels_most",
    "part",
)
"""Coefficients of `transfer_time`, in its order."""
_TABLE = (*COEFFICIENTS, "estimate_latency", "estimate_per_byte", "possible")
"""Rows of a table of coefficients."""


@record
class CollectiveQuery:
    """A query: operation, library and forced choices."""

    operation: str
    library: Library
    name: str = ""
    """Display name of the library, if it differs from its id."""
    nvlink: bool = False
    """HFReduce: reduce over NVLink first."""
    memcpy_async: bool = False
    """HFReduce: return results with MemcpyAsync."""
    in_network: bool = False
    """The network's switches reduce (SHARP)."""
    algorithm: str | None = None
    """The only algorithm allowed."""
    protocol: str | None = None
    """The only protocol allowed."""
    routing: Routing | None = None
    """How tokens find experts, for dispatch and combine."""
    gate: Gate | None = None
    """In its place in training: a model's choice of experts, whose tokens go to a node once."""


@record
class TimingGrid:
    """Times of every choice at every scale and size."""

    choices: tuple[tuple[str, str], ...]
    """Algorithm and protocol of each choice."""
    time: Floats
    """Time [s]: choice x scale x size."""
    estimate: Floats
    """Time in the library's own cost model [s]: choice x scale x size; infinite if a choice cannot run."""
    latency: Floats
    """Part of the time that does not grow with the message [s]: choice x scale x 1."""
    seconds_per_byte: Floats
    """1 / B of a long message [s/byte]: choice x scale x 1."""
    chosen: Ints
    """Position of the library's choice: scale x size."""
    possible: Bools
    """True if at least one choice can run: scale."""

    def pick(self, values: Floats) -> Floats:
        """Return the values of the chosen algorithm: scale x size."""
        import numpy as np

        whole = np.broadcast_to(values, self.time.shape)
        picked: Floats = np.take_along_axis(whole, self.chosen[None], axis=0)[0]
        return picked


def _hfreduce_choice(query: CollectiveQuery, job: RankLayout) -> _Choice:
    """Return HFReduce as a choice of one: streams at the mean load of the trees, fills them chunk by chunk."""
    ways = 2 if query.operation == "allreduce" else 1
    load = ways * _mean_tree_load(job.nodes) / 2
    lines, _ = hfreduce.hfreduce(job, nvlink=query.nvlink, memcpy_async=query.memcpy_async, operation=query.operation)
    spb = 1e-9 / sustained_rate(resources(job.host, job.cuts), lines)
    library = query.library
    chunk = library.chunk.value if library.chunk else 0.0
    extra = library.zone_hops.value if library.zone_hops else 0
    hops = hfreduce._pipeline_hops(job.nodes, job.zones, extra, ways)
    slower = (
        load / (job.host.payload_gbyte_s * 1e9) / spb
    )  # a stage passes its chunk on at the rate of the NIC, not of the whole
    bridged = bool(job.host.pairs or job.host.joined)
    whole = (job.per_node == len(job.host.gpus)) & (bridged or not query.nvlink)
    latency = hops * (library.hop.value if library.hop else 0.0)
    return _Choice(
        algorithm="hfreduce",
        protocol="",
        seconds_per_byte=spb,
        latency=latency,
        inner_latency=0.0,
        fill=0.0,
        inner_most=0.0,
        hops=hops * slower,
        slot=chunk,
        estimate_latency=latency,
        estimate_per_byte=spb,
        possible=whole,
    )


def dispatch_ledger(query: CollectiveQuery, job: RankLayout, algorithm: str) -> list[Line]:
    """Return the ledger of a way of sending tokens, node-limited or straight."""
    if query.gate is not None:
        return expert_dispatch._node_limited(job, query.gate)
    assert query.routing is not None
    if algorithm == "node-limited":
        return expert_dispatch._node_limited(job, query.routing)
    return expert_dispatch.straight(job, query.routing, query.operation)


def _dispatch_choices(query: CollectiveQuery, job: RankLayout) -> list[_Choice]:
    """Return both ways of sending tokens; the message is a GPU's tokens.

    Kernels that send tokens straight take every multiprocessor, so that a number of them asks for the others.
    """
    known = resources(job.host, job.cuts)
    rows = []
    fixed = query.library.fixed.value if query.library.fixed else 0.0
    limited = query.gate is not None or (query.routing is not None and query.routing.sms is not None)
    algorithm = query.algorithm or ("node-limited" if limited else None)
    for name in ("node-limited", "straight"):
        if algorithm in (None, name):
            spb = 1e-9 / sustained_rate(known, dispatch_ledger(query, job, name))
            rows.append(
                _Choice(
                    algorithm=name,
                    protocol="",
                    seconds_per_byte=spb,
                    latency=fixed,
                    inner_latency=0.0,
                    fill=0.0,
                    inner_most=0.0,
                    hops=0.0,
                    slot=0.0,
                    estimate_latency=fixed,
                    estimate_per_byte=spb,
                    possible=job.ranks > 1,
                )
            )
    return rows


def choices(query: CollectiveQuery, job: RankLayout) -> list[_Choice]:
    """Return the algorithms and protocols that the library may choose from."""
    if query.library.method == "hfreduce":
        runs = query.operation in hfreduce.OPERATIONS and query.algorithm is None and query.protocol is None
        return [_hfreduce_choice(query, job)] if runs else []
    if query.library.method == "deepep":
        return _dispatch_choices(query, job) if query.operation in OF_TOKENS else []
    return nccl.choices(
        query.library,
        job,
        query.operation,
        in_network=query.in_network,
        algorithm=query.algorithm,
        protocol=query.protocol,
    )


@record
class Coefficients:
    """The coefficients of every choice at every scale; they hold for messages of any size."""

    choices: tuple[tuple[str, str], ...]
    """Algorithm and protocol of each choice."""
    table: Floats
    """Coefficient x choice x scale."""

    @property
    def columns(self) -> dict[str, Floats]:
        """The coefficients by name: choice x scale x 1."""
        return dict(zip(_TABLE, self.table[..., None], strict=True))


def side_by_side(parts: list[Coefficients]) -> Coefficients:
    """Return the coefficients of one operation at the scales of all parts."""
    import numpy as np

    return Coefficients(parts[0].choices, np.concatenate([part.table for part in parts], axis=-1))


def stack(options: list[_Choice], scales: int) -> Coefficients:
    """Return the coefficients of choices at a number of scales."""
    import numpy as np

    table = np.empty((len(_TABLE), len(options), scales))
    for row, name in zip(table, _TABLE, strict=True):
        for number, choice in enumerate(options):
            row[number] = getattr(choice, name)
    return Coefficients(tuple((choice.algorithm, choice.protocol) for choice in options), table)


def coefficients(query: CollectiveQuery, job: RankLayout) -> Coefficients | None:
    """Return the coefficients of every choice at every scale.

    Args:
        job: the ranks; its numbers are arrays of one axis, the scales.

    Returns:
        None if the library has no such operation or algorithm.
    """
    import numpy as np

    options = choices(query, job)
    return stack(options, np.size(job.nodes)) if options else None


def time_grid(query: CollectiveQuery, job: RankLayout, sizes: Floats) -> TimingGrid | None:
    """Return the times of every choice at every scale and size, in one broadcast.

    Args:
        job: the ranks; its numbers are arrays of one axis, the scales.
        sizes: messages [byte], one axis.

    Returns:
        The grid, or None if the library has no such operation or algorithm.
    """
    known = coefficients(query, job)
    return None if known is None else grid_of(known, query.library, sizes)


def grid_of(known: Coefficients, library: Library, sizes: Floats) -> TimingGrid:
    """Return the times of messages, from coefficients for messages of any size.

    Args:
        sizes: messages [byte], one axis.
    """
    import numpy as np

    columns = known.columns
    size = np.asarray(sizes, dtype=float)[None, None, :]
    time = np.asarray(transfer_time(size, **{name: columns[name] for name in COEFFICIENTS}))
    runs = columns["possible"] > 0
    fraction = [
        np.broadcast_to(nccl._size_correction(library, *choice, sizes), np.shape(sizes)) for choice in known.choices
    ]
    counted = size / np.array(fraction)[:, None, :]
    estimate = np.where(runs, columns["estimate_latency"], np.inf) + counted * columns["estimate_per_byte"]
    return TimingGrid(
        choices=known.choices,
        time=time,
        estimate=estimate,
        latency=columns["latency"],
        seconds_per_byte=columns["seconds_per_byte"],
        # the library goes by its own estimate, even where another choice would be faster
        chosen=estimate.argmin(axis=0),
        possible=np.asarray(runs[:, :, 0].any(axis=0)),
    )


@record
class Timed:
    """Time of one message with one choice."""

    algorithm: str
    protocol: str
    time: float
    """Time [s]."""
    latency: float
    """Part that does not grow with the message [s]."""
    stream: float
    """Part that the tightest resource takes [s]."""
    estimate: float
    """Time in the library's own cost model [s]."""


def time_choices(query: CollectiveQuery, job: RankLayout, size: float) -> list[Timed]:
    """Return the time of one message with each choice that can run, as `time_grid` does for many.

    Args:
        size: message [byte].
    """
    timed = []
    for choice in choices(query, job):
        if choice.possible:
            coefficients = {name: getattr(choice, name) for name in COEFFICIENTS}
            timed.append(
                Timed(
                    algorithm=choice.algorithm,
                    protocol=choice.protocol,
                    time=float(transfer_time(size, **coefficients)),
                    latency=float(choice.latency),
                    stream=float(size * choice.seconds_per_byte),
                    estimate=float(nccl._estimate_time(query.library, choice, size)),
                )
            )
    return timed


def chosen_time(query: CollectiveQuery, job: RankLayout, size: Number) -> Number:
    """Return the time of a library's choice [s], for one job or arrays of jobs; infinite if no algorithm can run.

    Args:
        size: message [byte].
    """
    least: Number = float("inf")
    time: Number = float("inf")
    for choice in choices(query, job):
        estimate = choose(choice.possible, nccl._estimate_time(query.library, choice, size), float("inf"))
        takes = transfer_time(size, **{name: getattr(choice, name) for name in COEFFICIENTS})
        # strictly less, so that the first of equals stays, as in `chosen`
        time = choose(estimate < least, takes, time)
        least = minimum(least, estimate)
    return time


def chosen(timed: list[Timed]) -> Timed:
    """Return the library's choice: the least estimate of its cost model, the first of equals."""
    return min(timed, key=lambda choice: choice.estimate)


def fastest(timed: list[Timed]) -> Timed:
    """Return the fastest choice, the first of equals."""
    return min(timed, key=lambda choice: choice.time)


def bus_bandwidth(operation: str, ranks: Number, algbw: Floats) -> Floats:
    """Return the bus bandwidth as nccl-tests defines it [GB/s]: scale x size."""
    import numpy as np

    factor: Floats = np.asarray(bus_factor(operation, np.asarray(ranks, dtype=float)))
    return algbw * factor[:, None]
