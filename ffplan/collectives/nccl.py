"""NCCL's algorithms, its choices for a collective, and the time of each.

A choice is an algorithm with a protocol. Its stream is the rate that the algorithm's ledger leaves. Its latency comes
from NCCL's own cost model. NCCL chooses by a separate estimate, which omits pipeline fill and the limits of root ports
and of peer-to-peer through the CPU; the estimate is computed in addition to the time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import Number, Truth, choose, maximum, minimum
from ffplan.base.record import record
from ffplan.collectives.algorithm import _LatencyFigures
from ffplan.collectives.bottleneck import _sustained_rates, sustained_rate
from ffplan.collectives.exchanges import DIRECT, RAIL, SEND, STAR
from ffplan.collectives.inside_node import _one_pair
from ffplan.collectives.latency import DOUBLED
from ffplan.collectives.rings import HIERARCHICAL, RING
from ffplan.collectives.switch_reduction import NVLS, NVLS_TREE, SHARP
from ffplan.collectives.trees import PAT, TREE
from ffplan.collectives.volumes import _depth, ring_steps
from ffplan.node.resources import resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ffplan.catalog.evidence import FractionFigure
    from ffplan.catalog.library import Library, NodeRates, Sends
    from ffplan.catalog.rates import LowLatencyCeiling, Protocol
    from ffplan.collectives.algorithm import Algorithm
    from ffplan.collectives.bottleneck import Key
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.node.host import Host
    from ffplan.node.resources import Resource


_REGISTERED = (RING, TREE, NVLS, NVLS_TREE, SHARP, HIERARCHICAL, RAIL, DIRECT, STAR, SEND, PAT)
ALGORITHMS = {algorithm.name: algorithm for algorithm in _REGISTERED}
"""Algorithms by name; the first of equals wins."""
OF_TOKENS = ("node-limited", "straight")
"""Ways of sending tokens to experts, see `expert_dispatch`."""
NAMES = (*ALGORITHMS, *OF_TOKENS)
"""Algorithms that can be forced."""


EXCHANGES = ("all-to-all", "gather", "scatter", "sendrecv")
"""Operations that begin without the extra time of a call: on eight B200 all-to-all and sendrecv take what NCCL's
constants give. Gather and scatter are made of the same sends."""
MANY = 4
"""Nodes from which rings are counted as over many."""
PAIR = 2
"""Number of nodes with a separate row in NCCL's tables."""
FIRST_SIZE = 64
"""Smallest message whose trees NCCL corrects [byte]."""


@record
class _Choice:
    """An algorithm with a protocol, and the coefficients of its time; numbers in the shape of the job."""

    algorithm: str
    protocol: str
    seconds_per_byte: Number
    latency: Number
    inner_latency: Number
    fill: Number
    inner_most: Number
    hops: Number
    slot: Number
    estimate_latency: Number
    """Value of the library's own cost model in place of `latency` [s]."""
    estimate_per_byte: Number
    """Value of the library's own cost model in place of `seconds_per_byte` [s/byte]."""
    possible: Truth
    """True for ranks that it can run on."""
    channel_per_byte: Number = 0.0
    """Time of one channel of a send for a byte [s/byte]; 0 if channels are no limit."""
    channels_least: Number = 1.0
    """Fewest channels of a send [1]."""
    channels_most: Number = 1.0
    """Most channels of a send [1]."""
    part: Number = 1.0
    """Piece of a message from which it takes twice as many channels [byte]."""


def _by_nodes(rates: NodeRates | LowLatencyCeiling, job: RankLayout) -> Number:
    """Return a rate over several nodes [GB/s]; infinite on one node, or if the library states none."""
    pair, more = (rate.value if rate else float("inf") for rate in (rates.two_nodes, rates.more_nodes))
    most: Number = choose(job.nodes > PAIR, more, choose(job.nodes == PAIR, pair, float("inf")))
    return most


def _ceiling(library: Library, job: RankLayout, operation: str, algorithm: Algorithm) -> Number:
    """Return the highest algorithm bandwidth of protocol LL [GB/s].

    On one node it goes by the GPU, over several by the CPU: NVIDIA/nccl v2.30.7, src/graph/tuning.cc (`llMaxBw`).
    """
    own = job.host.rates.ll if job.host.rates is not None else None
    vendor: Any = job.host.cpus[0].vendor if job.host.cpus else ""
    by_cpu = library.ll_nodes.get(vendor, library.ll_nodes.get("Intel"))
    busbw: Number = float("inf")
    if own is not None:
        busbw = choose(job.nodes == 1, own.one_node.value, _by_nodes(own, job))
    if by_cpu is not None and (own is None or own.two_nodes is None):
        busbw = minimum(busbw, _by_nodes(by_cpu, job))
    most: Number = busbw / maximum(algorithm.bus_per_ll(operation, job.ranks), 1e-9)
    return most


def _channel_limit(library: Library, job: RankLayout, algorithm: Algorithm, protocol: str) -> Number:
    """Return the rate of the channels in NCCL's estimate over several nodes, with one channel per NIC [GB/s]."""
    chip: Any = job.host.accelerator.chip if job.host.accelerator else None
    limits = library.channel_limits.get(chip, {}).get(algorithm.name, {})
    if protocol not in limits:
        return float("inf")
    return job.nics * _by_nodes(limits[protocol], job)


def _size_correction(library: Library, algorithm: str, protocol: str, size: Number) -> Number:
    """Return the fraction of a tree's rate that the library's estimate leaves to a message of some size [1]; `size`
    [byte].

    `algorithm`: name; only `tree` is corrected.

    Source:
        NVIDIA/nccl, src/graph/tuning.cc (`treeCorrectionFactor`): the entry floor(log2(size / 64)), 1 beyond the last.
    """
    steps: Any = library.tree_corrections.get(protocol) if algorithm == "tree" else None  # type: ignore[call-overload]
    if not steps:
        return 1.0
    # one more entry before the table and behind it: whole
    entry = minimum(maximum(_depth(maximum(size, 1.0) / FIRST_SIZE) + 1, 0), len(steps) + 1)
    fractions: tuple[float, ...] = (1.0, *steps, 1.0)
    if isinstance(entry, int | float):
        return fractions[int(entry)]
    import numpy as np

    fraction: Number = np.array(fractions)[entry.astype(int)]
    return fraction


def _estimate_time(library: Library, choice: _Choice, size: Number) -> Number:
    """Return the time of a choice in the library's own cost model [s]; `size` [byte]."""
    fraction = _size_correction(library, choice.algorithm, choice.protocol, size)
    return choice.estimate_latency + size / fraction * choice.estimate_per_byte


def _many(library: Library, job: RankLayout, operation: str, algorithm: Algorithm) -> Number:
    """Return the limit of a ring over many nodes whose pieces pass once [GB/s]."""
    rates = job.host.rates
    if library.ring_many is None or rates is None or rates.ring is None:
        return float("inf")
    busbw: Number = library.ring_many.value * rates.ring.value
    most: Number = busbw / maximum(algorithm.bus_per_ll(operation, job.ranks), 1e-9)
    limit: Number = choose(job.nodes >= MANY, most, float("inf"))
    return limit


def _pair(library: Library, job: RankLayout) -> Number:
    """Return the fraction of a ring's rate that is left to two ranks behind a scale-up switch [1].

    The ring rate there belongs to a whole node; the rate of bridges is measured on two ranks.
    """
    share = library.ring_pair.value if library.ring_pair and job.host.joined else 1.0
    left: Number = choose((job.ranks == 2) & (job.nodes == 1), share, 1.0)
    return left


def _inner_most(library: Library, job: RankLayout, operation: str) -> Number:
    """Return the limit on the filling time of a ring inside a node [s]; infinite for unknown links."""
    rates = job.host.rates
    if rates is None or rates.links is None or rates.ring is None or library.slot is None:
        return float("inf")
    hop = library.slot.value * rates.links.value / (rates.ring.value * 1e9)
    seconds: Number = ring_steps(operation, job.per_node) * hop
    return seconds


def _filling(library: Library, host: Host, operation: str, algorithm: Algorithm) -> Mapping[Protocol, FractionFigure]:
    """Return the weight of pipeline filling by protocol: for rings, an exchange, a switch, or everything else."""
    rates = host.rates.nvls if host.rates else None
    if operation == "all-to-all":
        return library.fill_exchange or library.fill_ring or library.fill
    if algorithm.name == "nvls" and rates and rates.fill:
        return {"simple": rates.fill}
    return (library.fill_ring or library.fill) if algorithm.rings or operation != "allreduce" else library.fill


def call_time(host: Host, operation: str) -> float:
    """Return the time from call to start of a collective beyond the library's own constants [s]."""
    return 0.0 if operation in EXCHANGES else host.launch_s


def _channels_a_peer(job: RankLayout, sends: Sends) -> tuple[Number, float]:
    """Return the channels that every rank has to each other one, and the most of a rank [1].

    Channels equal links, rounded up to a power of two. Every rank begins with enough of them to leave one for each
    other rank.
    """
    rates = job.host.rates
    links = rates.links.value if rates and rates.links else sends.channels.value
    most = float(min((count for count in DOUBLED if count >= links), default=DOUBLED[-1]))
    most, least = min(most, float(sends.channels.value)), 1.0 + 0.0 * job.ranks
    for count in DOUBLED:
        # the largest power of two that leaves a channel for every peer
        least = choose((most / job.ranks >= count) & (count <= most), float(count), least)
    return least, most


def _channels(library: Library, job: RankLayout) -> dict[str, Number]:
    """Return the coefficients of a send's channels: few of them for a short message, doubled piece by piece.

    A send between nodes has the channels of one peer on one NIC, and fewer if all GPUs of a node send.
    """
    sends = library.sends
    if sends is None or not job.host.joined:
        return {}
    rates, (least, most) = job.host.rates, _channels_a_peer(job, sends)
    whole = job.per_node >= len(job.host.gpus)
    # a full node has a rank at every NIC, so each send has less of it
    away = choose(whole, sends.network_full.value, sends.network.value)
    measured = rates.send.value / most if rates and rates.send else 0.0
    channel = measured or sends.channel.value
    inside = job.several == 0
    return {
        "channel_per_byte": 1e-9 / choose(inside, channel, away),
        "channels_least": choose(inside, least, 1.0),
        "channels_most": choose(inside, most, 1.0),
        "part": sends.part.value,
    }


def _exchange_most(library: Library, job: RankLayout) -> Number:
    """Return the limit of an all-to-all by the channels between its ranks, behind one scale-up switch [GB/s].

    On two of eight B200 16 channels carry 352 GB/s, where the links would carry 640; from 32 ranks on none binds.
    """
    if library.sends is None or not job.host.joined:
        return float("inf")
    most = job.ranks * _channels_a_peer(job, library.sends)[0] * library.sends.channel.value
    limit: Number = choose(job.several == 0, most, float("inf"))
    return limit


def _rates(
    library: Library, job: RankLayout, known: dict[Key, Resource], operation: str, algorithm: Algorithm
) -> tuple[Number, Number]:
    """Return the rate of a long message, and the library's own estimate of it [GB/s], before any protocol."""
    lines = algorithm.ledger(operation, job)
    real, guess = _sustained_rates(known, lines, trees=algorithm.trees)
    if algorithm.as_estimated is None:
        return real, guess
    ranks, correction = algorithm.as_estimated(library, job)
    _, guess = _sustained_rates(known, algorithm.ledger(operation, ranks), trees=algorithm.trees)
    return real, correction * guess


def _hop_share(
    job: RankLayout, known: dict[Key, Resource], operation: str, algorithm: Algorithm, rate: Number
) -> Number:
    """Return the time of a hop between nodes over its time at the rate of the whole [1].

    A hop passes a slot at the rate of its NIC. Where NVLink or PCIe bind the whole, more NICs must not slow a hop.
    """
    between = {key: resource for key, resource in known.items() if key[0] in ("nic", "gpu_nic_peer")}
    hop = sustained_rate(between, algorithm.ledger(operation, job), trees=algorithm.trees)
    return minimum(rate / hop, 1.0)


def _as_tuned(job: RankLayout) -> tuple[RankLayout, Truth]:
    """Return the ranks as NCCL's cost model sees them, and whether it sees bridges.

    It takes the slowest link of a graph for all of its hops, so bridges count only if nothing else is crossed:
    NVIDIA/nccl v2.30.7, src/graph/tuning.cc (`typeIntra`, `bwIntra`).
    """
    if not job.host.pairs:
        return job, True
    return replace(job, host=replace(job.host, pairs=())), _one_pair(job) > 0


def _choices_of(
    library: Library,
    job: RankLayout,
    known: dict[Key, Resource],
    operation: str,
    algorithm: Algorithm,
    protocols: Iterable[str],
) -> list[_Choice]:
    """Return the coefficients of one algorithm with some protocols, which share its ledger and rates."""
    rate, guess = _rates(library, job, known, operation, algorithm)
    if algorithm.rings and operation != "allreduce":
        rate = minimum(rate, _many(library, job, operation, algorithm))
    rate = rate * _pair(library, job) if algorithm.rings else rate
    if operation == "all-to-all":
        rate = minimum(rate, _exchange_most(library, job))
    plain, alone = _as_tuned(job)
    if plain is not job:
        # the estimate only chooses; the time counts the bridges that are there
        guess = choose(alone, guess, _rates(library, plain, known, operation, algorithm)[1])
    shares: Any = library.share.get(algorithm.name, {})
    inner_most = _inner_most(library, job, operation) if algorithm.rings else float("inf")
    hops = 2 * _depth(job.nodes) * _hop_share(job, known, operation, algorithm, rate) if algorithm.trees else 0.0
    launch = call_time(job.host, operation)
    filling = _filling(library, job.host, operation, algorithm)
    switched_off = {kind for kind in algorithm.protocols for nic in job.host.nics if kind not in nic.library_protocols}
    bus = maximum(algorithm.bus_per_ll(operation, job.ranks), 1e-9)
    rows = []
    for protocol in protocols:
        fraction = shares[protocol].value if protocol in shares else 1.0
        ceiling = _ceiling(library, job, operation, algorithm) if protocol == "ll" else float("inf")
        counted = minimum(fraction * guess, _channel_limit(library, job, algorithm, protocol) / bus)
        fill = filling.get(protocol)  # type: ignore[call-overload]
        figures = partial(_LatencyFigures, library, operation=operation, key=algorithm.key, protocol=protocol)
        latency, inner = algorithm.latency(figures(job=job, measured=True))
        tuned, _ = algorithm.latency(figures(job=job, measured=False))
        if plain is not job:
            tuned = choose(alone, tuned, algorithm.latency(figures(job=plain, measured=False))[0])
        rows.append(
            _Choice(
                algorithm=algorithm.name,
                protocol=protocol,
                seconds_per_byte=1e-9 / minimum(fraction * rate, ceiling),
                latency=launch + latency,
                inner_latency=inner,
                fill=fill.value if fill else 0.0,
                inner_most=inner_most,
                hops=hops,
                slot=library.slot.value * job.nics if library.slot and protocol != "ll" else 0.0,
                estimate_latency=launch + tuned,
                estimate_per_byte=1e-9 / minimum(counted, ceiling),
                # LL128 needs NVLink between all ranks of a node: a switch, or the bridge of a lone pair
                possible=algorithm.possible(job)
                & algorithm.allowed(library, job)
                & ((protocol != "ll128") | job.host.joined | (_one_pair(job) > 0))
                & ((job.nodes == 1) | (protocol not in switched_off)),
                **(_channels(library, job) if algorithm.channels else {}),
            )
        )
    return rows


def choices(
    library: Library, job: RankLayout, operation: str, *, in_network: bool, algorithm: str | None, protocol: str | None
) -> list[_Choice]:
    """Return the algorithms and protocols that NCCL may choose from.

    Args:
        in_network: the network's switches reduce (SHARP).
        algorithm: the only one allowed, or None.
        protocol: the only one allowed, or None.
    """
    known = resources(job.host, job.cuts, library.link_share.value if library.link_share else 1.0)
    rows = []
    for candidate in ALGORITHMS.values():
        allowed = not candidate.on_request if algorithm is None else candidate.name == algorithm
        if allowed and operation in candidate.operations and (in_network or not candidate.in_network):
            kinds = [kind for kind in candidate.protocols if protocol in (None, kind)]
            rows += _choices_of(library, job, known, operation, candidate, kinds)
    return rows
