"""What NCCL can choose from for a collective, and what each choice takes.

A choice is an algorithm with a protocol. Its stream is the rate that the algorithm's ledger leaves, its latency that of
NCCL's own cost model. NCCL chooses by an estimate of its own, which knows neither the filling of pipelines nor what
root ports and peer-to-peer through the CPU allow; the estimate is reckoned beside the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import maximum, minimum
from ffplan.base.record import record
from ffplan.collectives.algorithms import LEDGERS
from ffplan.collectives.bottleneck import sustained_rate
from ffplan.collectives.latency import ring_latency, switch_latency, tree_latency
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.volumes import PROTOCOLS, bus_factor, depth, ring_steps
from ffplan.node.resources import resources

if TYPE_CHECKING:
    from ffplan.catalog.library import Library, Place
    from ffplan.collectives.bottleneck import Key
    from ffplan.node.resources import Resource

TREES = ("tree", "nvls-tree")
BY_OPERATION = {
    "allreduce": ("ring", "tree", "nvls", "nvls-tree", "sharp"),
    "reduce-scatter": ("ring",),
    "all-gather": ("ring",),
    "broadcast": ("ring",),
    "all-to-all": ("rail", "direct"),
    "sendrecv": ("send",),
}
"""Algorithms that NCCL may choose for an operation."""
ON_REQUEST = {"allreduce": ("hierarchical",)}
"""Algorithms that are reckoned only when asked for."""
LATENCY_OF = {"hierarchical": "ring", "rail": "ring", "direct": "ring", "send": "ring"}
"""Algorithms that take another's latency figures."""
MANY = 4
"""Nodes from which the busiest of a double binary tree sends the message twice."""
FIXED_PROTOCOL = ("nvls", "nvls-tree", "sharp", "hierarchical", "rail", "direct", "send")
"""Algorithms that run protocol Simple only."""


@record
class Choice:
    """An algorithm with a protocol, and the coefficients of its time; numbers in the shape of the job."""

    algorithm: str
    protocol: str
    seconds_per_byte: Any
    latency: Any
    inner_latency: Any
    fill: Any
    inner_most: Any
    hops: Any
    slot: Any
    estimate_per_byte: Any
    """What the library reckons with in place of `seconds_per_byte` [s/byte]."""
    possible: Any
    """True where it can run."""


def _figure(library: Library, place: Place, algorithm: str, protocol: str) -> float:
    """Return a latency constant [s]; 0 where the library has none."""
    by_algorithm: Any = library.latency.get(place, {})
    figures = by_algorithm.get(LATENCY_OF.get(algorithm, algorithm), {})
    return float(figures[protocol].value) if protocol in figures else 0.0


def _between(library: Library, job: RankLayout, algorithm: str, protocol: str) -> float:
    extra = [nic.hop_latency.value for nic in job.host.nics if nic.hop_latency]
    return _figure(library, "network", algorithm, protocol) + (max(extra) if extra else 0.0)


def _latencies(library: Library, job: RankLayout, operation: str, algorithm: str, protocol: str) -> tuple[Any, Any]:
    """Return the latency of a choice, and the part of it inside a node."""
    inside = _figure(library, "nvlink" if job.host.switched else "pcie", algorithm, protocol)
    base = _figure(library, "base", algorithm, protocol)
    between = _between(library, job, algorithm, protocol)
    nodes, inner = job.nodes, job.per_node
    if algorithm in ("nvls", "nvls-tree", "sharp"):
        return switch_latency(inside, between, nodes, in_network=algorithm == "sharp"), inside + 0 * nodes
    if algorithm == "tree":
        return tree_latency(base, inside, between, inner, nodes), base + 2 * (inner - 1) * inside
    if algorithm in ("rail", "direct", "send"):
        return base + inside * job.shared + between * job.several, base + inside * job.shared
    steps, crossings = ring_steps(operation, job.ranks), ring_steps(operation, nodes) * job.several
    vendor = job.host.cpus[0].vendor if job.host.cpus else ""
    least = library.overhead.get(vendor)  # type: ignore[call-overload]
    overhead = (least.value if least else 0.0) * (3 if protocol == "simple" else 1)
    large = operation == "allreduce" and protocol == "simple"
    plateau = library.ring_plateau.value if library.ring_plateau and large else 1.0
    inner_steps = ring_steps(operation, inner)
    if algorithm == "hierarchical":
        return base + inner_steps * inside + crossings * between, base + inner_steps * inside
    return ring_latency(base, inside, between, steps, crossings, overhead, plateau), base + inner_steps * inside


def _ceiling(job: RankLayout, operation: str, algorithm: str) -> Any:
    """Return the highest algorithm bandwidth of protocol LL [GB/s]."""
    rates = job.host.rates
    if rates is None or rates.ll is None:
        return float("inf")
    one, two, more = rates.ll.one_node.value, rates.ll.two_nodes.value, rates.ll.more_nodes.value
    nodes = job.nodes
    busbw = one * (nodes == 1) + two * (nodes == 2) + more * (nodes > 2)
    return busbw / (maximum(bus_factor(operation, job.ranks), 1e-9) if algorithm == "ring" else 2.0)


def _inner_most(library: Library, job: RankLayout, operation: str, algorithm: str) -> Any:
    """Return the most that filling a ring inside a node takes [s]; without limit where no link is known."""
    rates = job.host.rates
    if algorithm != "ring" or rates is None or rates.links is None or rates.ring is None or library.slot is None:
        return float("inf")
    hop = library.slot.value * rates.links.value / (rates.ring.value * 1e9)
    return ring_steps(operation, job.per_node) * hop


def _possible(job: RankLayout, algorithm: str, protocol: str) -> Any:
    """True where a choice can run."""
    rates = job.host.rates
    in_switch = rates is not None and rates.nvls is not None and job.host.switched
    always = job.ranks > 0
    if algorithm == "nvls":
        return always & (job.nodes == 1) & (job.per_node > 1) & in_switch
    if algorithm in ("nvls-tree", "sharp"):
        return always & (job.nodes > 1) & (job.per_node > 1) & in_switch
    if protocol == "ll128":
        return always & job.host.switched
    return always & (job.host.switched or algorithm != "rail")


def _as_estimated(job: RankLayout) -> RankLayout:
    """Return the ranks as NCCL's estimate of a tree sees them: few nodes send twice, as many do."""
    if any(nic.tuned for nic in job.host.nics):
        return job
    few = (job.nodes > 1) & (job.nodes < MANY)
    return RankLayout(
        host=job.host, nodes=job.nodes + few * (MANY - job.nodes), per_node=job.per_node, zones=job.zones, borders=()
    )


def choice(
    library: Library, job: RankLayout, known: dict[Key, Resource], operation: str, algorithm: str, protocol: str
) -> Choice:
    """Return the coefficients of one algorithm with one protocol.

    Args:
        library: constants.
        job: the ranks.
        known: the resources of its nodes and borders.
        operation: the collective.
        algorithm: a key of `ledgers.LEDGERS`.
        protocol: ll, ll128 or simple.
    """
    lines = LEDGERS[algorithm](operation, job)
    trees = algorithm in TREES
    shares: Any = library.share.get(algorithm, {})  # type: ignore[call-overload]
    share = shares[protocol].value if protocol in shares else 1.0
    ceiling = _ceiling(job, operation, algorithm) if protocol == "ll" else float("inf")
    real = minimum(share * sustained_rate(known, lines, trees=trees), ceiling)
    guessed = LEDGERS[algorithm](operation, _as_estimated(job)) if algorithm == "tree" else lines
    seen = minimum(share * sustained_rate(known, guessed, trees=trees, as_library=True), ceiling)
    if algorithm == "tree" and library.tree_estimate:
        seen = seen * library.tree_estimate.value
    latency, inner = _latencies(library, job, operation, algorithm, protocol)
    fill = library.fill.get(protocol)  # type: ignore[call-overload]
    slot = library.slot.value * job.nics if library.slot and protocol != "ll" else 0.0
    return Choice(
        algorithm=algorithm,
        protocol=protocol,
        seconds_per_byte=1e-9 / real,
        latency=job.host.launch_s + latency,
        inner_latency=inner,
        fill=fill.value if fill else 0.0,
        inner_most=_inner_most(library, job, operation, algorithm),
        hops=2 * depth(job.nodes) if trees else 0.0,
        slot=slot,
        estimate_per_byte=1e-9 / seen,
        possible=_possible(job, algorithm, protocol),
    )


def choices(
    library: Library, job: RankLayout, operation: str, *, in_network: bool, algorithm: str | None, protocol: str | None
) -> list[Choice]:
    """Return what NCCL may choose from.

    Args:
        library: constants.
        job: the ranks.
        operation: the collective.
        in_network: the network's switches reduce (SHARP).
        algorithm: the only one allowed, or None.
        protocol: the only one allowed, or None.
    """
    names = BY_OPERATION[operation]
    if algorithm is not None:
        names = (algorithm,) if algorithm in names + ON_REQUEST.get(operation, ()) else ()
    known = resources(job.host, job.borders, library.link_share.value if library.link_share else 1.0)
    found = []
    for name in names:
        if name == "sharp" and not in_network:
            continue
        kinds = ("simple",) if name in FIXED_PROTOCOL else PROTOCOLS
        found += [choice(library, job, known, operation, name, kind) for kind in kinds if protocol in (None, kind)]
    return found
