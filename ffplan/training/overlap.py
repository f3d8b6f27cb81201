"""Overlap, pipeline and optimizer of a step; every function takes floats and arrays.

Sources:
    [1] Narayanan et al., arXiv 2104.04473, section 2.2 (schedules).
    [2] Rajbhandari et al., "ZeRO", SC'20, arXiv 1910.02054 (gathers and reductions).
"""

from __future__ import annotations

from ffplan.base.array_math import Number, maximum, minimum

ADAM_BYTES = 38.0
"""Bytes that Adam moves for a parameter: gradient read for its norm and for the update and zeroed (12), three states
read and written (24), weight written (2)."""
HOST_ADAM_BYTES = 30.0
"""Bytes that Adam moves on the host: gradient read (4), three states read and written (24), weight written (2)."""

COUNTED_SMS = 20.0
"""Multiprocessors behind the cost of a hidden collective: DeepSeek-V3's for communication, arXiv 2412.19437
(recalled) [1]."""


def _exposed(communication: Number, computing: Number, pieces: Number, share: Number = 0.0) -> Number:
    """Return the time that a communication overlapped with computing adds to it [s].

    Args:
        communication: its time c [s].
        computing: time of the computing that overlaps w [s].
        pieces: pieces n that it is cut into; the first, or the last, runs alone [1].
        share: slowdown of computing over the hidden time f [1].

    Equation:
        e + f (c - e), e = max(c / n, c - w)

    Source:
        Pipelining of n pieces: one piece is always exposed. Collectives of accelerators take multiprocessors and
        memory bandwidth from the computing: 20 of 132 multiprocessors in DeepSeek-V3, arXiv 2412.19437.
    """
    # one piece never has computing beside it, however long the computing is
    return _with_overlap_cost(
        maximum(communication / maximum(pieces, 1.0), communication - computing), communication, share
    )


def _with_overlap_cost(alone: Number, whole: Number, share: Number) -> Number:
    """Return the time that collectives add: the exposed part, and the slowdown of computing by the hidden part [s].

    Args:
        alone: exposed time e [s].
        whole: time of the collectives c [s].
        share: slowdown of computing over the hidden time f [1].

    Equation:
        e + f max(0, c - e)

    Source:
        DeepSeek-V3, arXiv 2412.19437, section 3.2: multiprocessors that communicate do not compute.
    """
    return alone + share * maximum(0.0, whole - alone)


def _exchange_cost(share: Number, sms: Number, units: Number) -> Number:
    """Return the slowdown of computing under a hidden exchange, over the exchange's time, by its multiprocessors.

    Args:
        share: slowdown under other collectives f [1].
        sms: multiprocessors of the exchange s; 0 for the default [1].
        units: multiprocessors of the accelerator u [1].

    Returns:
        Fraction [1], between 0 and 1.

    Equation:
        min(1, max(0, f + (s - 20) / u)): hiding costs no more than waiting

    Source:
        Derived: of what hidden collectives cost, the 20 multiprocessors of DeepSeek-V3, arXiv 2412.19437, are a part;
        the rest, memory traffic and power, goes with the bytes.
    """
    # `sms > 0` keeps the default for plans that name no number
    return minimum(1.0, maximum(0.0, share + (sms - COUNTED_SMS) / units * (sms > 0)))


def launch_wait(stage: Number, layers: Number, launch: Number, launch_step: Number) -> Number:
    """Return a stage's wait for launches of its host, for one micro-batch [s].

    Args:
        stage: computing and communication time of the accelerator [s].
        layers: layers of the stage [1].
        launch: launch time of a layer on the host, forward and backward [s].
        launch_step: launch time of everything else [s].

    Equation:
        max(0, layers launch + rest - stage)

    Source:
        Launches and kernels overlap; the longer counts.
    """
    return maximum(0.0, layers * launch + launch_step - stage)


def _bubble_time(regular: Number, micro_batches: Number, bubble_share: Number) -> Number:
    """Return the time that the slowest stage idles while the pipeline fills and drains through the others [s].

    Args:
        regular: time of a micro-batch on the other stages, forward and backward [s].
        micro_batches: micro-batches of a rank m [1].
        bubble_share: idle over ideal time of the schedule [1].

    Equation:
        m share regular

    Source:
        [1]: (p - 1) / (v m) for interleaved 1F1B.
    """
    return micro_batches * bubble_share * regular


def optimizer_time(parameters: Number, ranks: Number, memory: Number, states: Number = 12.0) -> Number:
    """Return the time of Adam's update of a rank's parameters [s].

    Args:
        parameters: parameters of the rank without sharding N [1].
        ranks: ranks that shard the states under ZeRO d [1].
        memory: rate of memory-bound kernels [byte/s].
        states: bytes of the optimizer's states of a parameter o [byte].

    Equation:
        (38 + 2 (o - 12)) N / (d memory)

    Source:
        Counting what mixed-precision Adam with a clipped norm reads and writes; [2] for sharding.
    """
    # every byte of the states is read once and written once
    return (ADAM_BYTES + 2 * (states - 12.0)) * parameters / (ranks * memory)


def _drive_time(states: Number, read: Number, write: Number) -> Number:
    """Return the time to read and write an optimizer's states on drives [s].

    Args:
        states: bytes of a rank's states S [byte].
        read: read rate of a node's drives, for one rank [byte/s].
        write: write rate of a node's drives, for one rank [byte/s].

    Equation:
        S (1 / read + 1 / write)

    Source:
        Derived: every state is read and written once a step, and a drive does one of both at a time.
    """
    # one after the other: a drive does not read and write at full rate at once
    return states * (1 / read + 1 / write)


def host_optimizer_time(
    parameters: Number, ranks: Number, gradient: Number, link: Number, host_memory: Number
) -> Number:
    """Return the time of an optimizer that runs on the host [s].

    Args:
        parameters: parameters of the rank without sharding N [1].
        ranks: ranks that shard the states under ZeRO d [1].
        gradient: bytes of a gradient g [byte].
        link: rate of a rank to the host while all ranks send [byte/s].
        host_memory: host memory bandwidth of one rank [byte/s].

    Equation:
        N / d ((g + 2) / link + 30 / host memory)

    Source:
        Ren et al., "ZeRO-Offload", ATC'21, arXiv 2101.06840: gradients go down, weights come up, Adam runs on the CPU.
    """
    # weights come back at 16 bits, two bytes each
    return parameters / ranks * ((gradient + 2.0) / link + HOST_ADAM_BYTES / host_memory)
