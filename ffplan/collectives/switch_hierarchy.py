"""Reductions over a hierarchy of switches, as in the scaling book.

Source:
    [1] "How to Scale Your Model", chapter on GPUs: collectives beyond the node, sharded reductions, questions 1 and 2.
"""

from __future__ import annotations

from ffplan.base.array_math import Number, maximum, minimum


def level_bandwidth(egress: Number, switches: Number, ports: Number, port_gbyte_s: Number) -> Number:
    """Return the bandwidth that a level of switches passes on.

    Args:
        egress: rate at which its members send together [GB/s].
        switches: switches of the level [1].
        ports: ports of a switch [1].
        port_gbyte_s: rate of a port, one direction [GB/s].

    Returns:
        Bandwidth [GB/s].

    Equation:
        W = min(egress, switches x ports / 2 x rate)

    Source:
        [1]: 8 and 16 switches of 1.6 TB/s, half of 64 ports at 50 GB/s: a byte enters by one and leaves by another.
        Full duplex, a switch passes twice as much; the book's 25.6 TB/s at the spine counts half.
    """
    return minimum(egress, switches * ports / 2 * port_gbyte_s)


def reduction_rate(members: Number, bandwidth: Number, *, in_network: bool = True) -> Number:
    """Return the allreduce rate that one level allows.

    Args:
        members: subdomains that the level joins S [1].
        bandwidth: total bandwidth of the level W [GB/s].
        in_network: the switches reduce (SHARP); otherwise every byte passes twice.

    Returns:
        Algorithm bandwidth [GB/s].

    Equation:
        W / S; half of it without reduction in the switches

    Source:
        [1]: T = max over levels of bytes x S / W.
    """
    return bandwidth / members / (1 if in_network else 2)


def sharded_speedup(ways: Number, inner_size: Number) -> Number:
    """Return by how much a level's reduction of a sharded array is faster.

    Args:
        ways: shards of the array over the inner axis Y [1].
        inner_size: GPUs below one member of the level S(i-1) [1].

    Returns:
        Speed-up [1].

    Equation:
        max(Y, S(i-1)) / S(i-1)

    Source:
        [1]: T = max over levels of bytes x S(i) / (max(Y, S(i-1)) x W(i)).
    """
    return maximum(ways, inner_size) / inner_size


def sharded_rate(ways: Number, size: Number, inner_size: Number, bandwidth: Number) -> Number:
    """Return the rate at which a level reduces a sharded array.

    Args:
        ways: shards of the array over the inner axis Y [1].
        size: GPUs below the level S(i) [1].
        inner_size: GPUs below one of its members S(i-1) [1].
        bandwidth: total bandwidth of the level W(i) [GB/s].

    Returns:
        Bytes of the whole array over time [GB/s].

    Equation:
        max(Y, S(i-1)) W(i) / S(i)

    Source:
        [1].
    """
    return maximum(ways, inner_size) * bandwidth / size
