"""Time of a collective: latency, stream and the filling of pipelines; one formula for floats and arrays.

Sources:
    [1] NVIDIA/nccl v2.30.7, src/graph/tuning.cc: base latency, hops inside and between nodes, by algorithm and
        protocol.
    [2] Store-and-forward pipelines: k pieces over d stages take (d + k - 1) (a + m / (k B)); the best k leaves
        L + m / B + 2 sqrt(L m / B).
"""

from __future__ import annotations

from ffplan.base.array_math import Number, maximum, minimum
from ffplan.collectives.volumes import depth


def ring_latency(
    base: Number,
    inside: Number,
    between: Number,
    steps: Number,
    crossings: Number,
    *,
    overhead: Number = 0.0,
    plateau: Number = 1.0,
) -> Number:
    """Return the latency of a ring.

    Args:
        base: of the call [s].
        inside: of a hop inside a node [s].
        between: of a hop between nodes [s].
        steps: hops that a piece makes [1].
        crossings: those between nodes [1].
        overhead: least of a hop inside a node where the ring spans several [s].
        plateau: factor where the ring spans several nodes [1].

    Returns:
        Latency [s].

    Equation:
        (base + (steps - crossings) max(inside, overhead) + crossings between) x plateau

    Source:
        [1].
    """
    several = crossings > 0
    hop = maximum(inside, overhead * several)
    return (base + (steps - crossings) * hop + crossings * between) * (1 + (plateau - 1) * several)


def tree_latency(base: Number, inside: Number, between: Number, ranks_per_node: Number, nodes: Number) -> Number:
    """Return the latency of a double binary tree with a chain inside each node.

    Args:
        base: of the call [s].
        inside: of a hop inside a node [s].
        between: of a hop between nodes [s].
        ranks_per_node: ranks p on each node [1].
        nodes: nodes N [1].

    Returns:
        Latency [s].

    Equation:
        base + 2 ((p - 1) inside + log2(N) between)

    Source:
        [1].
    """
    return base + 2 * ((ranks_per_node - 1) * inside + depth(nodes) * between)


def log_latency(base: Number, between: Number, nodes: Number) -> Number:
    """Return the latency of an algorithm that passes nodes in steps of half the distance.

    Args:
        base: of the call [s].
        between: of a hop between nodes [s].
        nodes: nodes N [1].

    Returns:
        Latency [s].

    Equation:
        base + log2(N) between

    Source:
        [1] for the constants; NCCL's own estimate of PAT adds a part that grows with the ranks (recalled, left out).
    """
    return base + depth(nodes) * between


def switch_latency(inside: Number, between: Number, nodes: Number, *, in_network: bool = False) -> Number:
    """Return the latency of reduction in the scale-up switch, with trees or the network's own reduction beyond.

    Args:
        inside: of the reduction in a node [s].
        between: of a hop between nodes [s].
        nodes: nodes N [1].
        in_network: the network's switches reduce, in one hop.

    Returns:
        Latency [s].

    Equation:
        inside + 2 log2(N) between; inside + between where the network reduces and N > 1

    Source:
        [1].
    """
    hops = (nodes > 1) * 1.0 if in_network else 2 * depth(nodes)
    return inside + hops * between


def transfer_time(
    size: Number,
    seconds_per_byte: Number,
    latency: Number,
    *,
    inner_latency: Number,
    fill: Number,
    inner_most: Number,
    hops: Number,
    slot: Number,
) -> Number:
    """Return the time of a collective.

    Args:
        size: message m [byte].
        seconds_per_byte: 1 / B of a long message [s/byte].
        latency: L, of everything that does not grow with the message [s].
        inner_latency: part of it inside a node, l [s].
        fill: weight f of filling the pipeline inside a node [1].
        inner_most: most that filling inside a node takes F [s]: its hops, a slot each.
        hops: hops h between nodes that a piece passes one after the other [1].
        slot: largest piece that a hop holds, over all channels of a node [byte].

    Returns:
        Time [s], in the broadcast shape of the arguments.

    Equation:
        T = L + m / B + min(f sqrt(l m / B), F) + h min(slot, m / 4) / B

    Source:
        [2] for the root: a library cuts the message so that latency and stream balance; f = 2 would be plain store
        and forward, 1 is what sweeps of one node show; pieces grow no larger than a slot. The last term is store and
        forward between nodes in pieces of a fixed slot; two trees of two pieces each leave a quarter of a small
        message.
    """
    stream = size * seconds_per_byte
    inside = minimum(fill * (inner_latency * stream) ** 0.5, inner_most)
    return latency + stream + inside + hops * minimum(slot, size / 4) * seconds_per_byte
