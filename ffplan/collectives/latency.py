"""Time of a collective: latency, stream and the filling of pipelines; one formula for floats and arrays.

Sources:
    [1] NVIDIA/nccl v2.30.7, src/graph/tuning.cc: base latency, hops inside and between nodes, by algorithm and
        protocol.
    [2] Store-and-forward pipelines: k pieces over d stages take (d + k - 1) (a + m / (k B)); the best k leaves
        L + m / B + 2 sqrt(L m / B).
"""

from __future__ import annotations

from ffplan.base.array_math import Number, choose, maximum, minimum, some
from ffplan.collectives.volumes import _depth

DOUBLED = (2, 4, 8, 16, 32, 64)
"""Channels that a send may have."""


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
    """Return the latency of a ring [s].

    Args:
        base: of the call [s].
        inside: of a hop inside a node [s].
        between: of a hop between nodes [s].
        steps: hops that a piece makes [1].
        crossings: hops between nodes [1].
        overhead: least time of a hop inside a node, if the ring spans several [s].
        plateau: factor of a ring over several nodes [1].

    Equation:
        (base + (steps - crossings) max(inside, overhead) + crossings between) x plateau

    Source:
        [1].
    """
    several = crossings > 0
    # the host's overhead counts only if the ring leaves the node
    hop = maximum(inside, overhead * several)
    return (base + (steps - crossings) * hop + crossings * between) * (1 + (plateau - 1) * several)


def _tree_latency(base: Number, inside: Number, between: Number, ranks_per_node: Number, nodes: Number) -> Number:
    """Return the latency of a double binary tree with a chain inside each node [s].

    Args:
        base: of the call [s].
        inside: of a hop inside a node [s].
        between: of a hop between nodes [s].
        ranks_per_node: ranks p on each node [1].
        nodes: nodes N [1].

    Equation:
        base + 2 ((p - 1) inside + log2(N) between)

    Source:
        [1].
    """
    # up the tree and down again
    return base + 2 * ((ranks_per_node - 1) * inside + _depth(nodes) * between)


def _log_latency(base: Number, between: Number, nodes: Number) -> Number:
    """Return the latency of an algorithm that passes nodes in steps of half the distance [s].

    Args:
        base: of the call [s].
        between: of a hop between nodes [s].
        nodes: nodes N [1].

    Equation:
        base + log2(N) between

    Source:
        [1] for the constants; NCCL's own estimate of PAT adds a part that grows with the ranks (recalled, left out).
    """
    return base + _depth(nodes) * between


def _switch_latency(inside: Number, between: Number, nodes: Number, *, in_network: bool = False) -> Number:
    """Return the latency of reduction in the scale-up switch, with trees or the network's own reduction beyond [s].

    Args:
        inside: of the reduction in a node [s].
        between: of a hop between nodes [s].
        nodes: nodes N [1].
        in_network: the network's switches reduce, in one hop.

    Equation:
        inside + 2 log2(N) between; inside + between where the network reduces and N > 1

    Source:
        [1].
    """
    hops = (nodes > 1) * 1.0 if in_network else 2 * _depth(nodes)
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
    channel_per_byte: Number = 0.0,
    channels_least: Number = 1.0,
    channels_most: Number = 1.0,
    part: Number = 1.0,
) -> Number:
    """Return the time of a collective.

    Args:
        size: message m [byte].
        seconds_per_byte: 1 / B of a long message [s/byte].
        latency: L, of everything that does not grow with the message [s].
        inner_latency: part of it inside a node, l [s].
        fill: weight f of filling the pipeline inside a node [1].
        inner_most: most that filling inside a node takes F [s]: its hops, a slot each.
        hops: hops h between nodes that a piece passes one after the other, each counted by its time over that at the
            rate of the whole [1].
        slot: largest piece that a hop holds, over all channels of a node [byte].
        channel_per_byte: time of one channel of a send for a byte c [s/byte]; 0 if channels are no limit.
        channels_least: fewest channels k0 [1].
        channels_most: most channels k1 [1].
        part: piece of a message from which it takes twice as many channels p [byte].

    Returns:
        Time [s], in the broadcast shape of the arguments.

    Equation:
        T = L + S + min(f sqrt(l m / B), F) + h min(slot, m / 4) / B, S = max(m / B, c m / k), k the least power of two
        from k0 to k1 with m / k <= p

    Source:
        [2] for the root: a library cuts the message so that latency and stream balance; f = 2 would be plain store
        and forward, 1 is what sweeps of one node show; pieces grow no larger than a slot. The last term is store and
        forward between nodes in pieces of a fixed slot; two trees of two pieces each leave a quarter of a small
        message. Channels of a send: NVIDIA/nccl, src/enqueue.cc (recalled); nccl-tests on 8 B200 show one time from 64
        to 512 MiB.
    """
    stream = size * seconds_per_byte
    if some(channel_per_byte > 0):
        channels = channels_least
        for count in DOUBLED:
            more = (size > part * count / 2) & (count <= channels_most) & (count > channels_least)
            channels = choose(more, float(count), channels)
        stream = maximum(stream, size * channel_per_byte / channels)
    inside = minimum(fill * (inner_latency * stream) ** 0.5, inner_most)
    return latency + stream + inside + hops * minimum(slot, size / 4) * seconds_per_byte
