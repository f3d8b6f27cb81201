"""Rooflines of parallelism from the scaling book: the batch at which communication limits training.

Source:
    [1] "How to Scale Your Model", chapter on GPUs, key takeaways for LLM scaling and questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import maximum

if TYPE_CHECKING:
    from ffplan.base.array_math import Number


def data_parallel_tokens(flops: Number, gbyte_s: Number, gradient: Number = 2.0, *, in_network: bool = True) -> Number:
    """Return the batch per GPU from which data parallelism is bound by compute [1].

    Args:
        flops: peak of a GPU C [FLOP/s].
        gbyte_s: allreduce bandwidth W [GB/s].
        gradient: bytes of a gradient g [byte].
        in_network: switches reduce, so that a message passes once; twice with rings and trees.

    Equation:
        C g / (4 W), twice as much where switches do not reduce: 4 operations a parameter and token backward

    Source:
        [1]: 989e12 / (2 x 450e9) = 1,098 in a node that reduces in its switch, 1,236 across nodes at 400 GB/s, with
        gradients of 2 bytes.
    """
    # 4: a parameter costs two GEMMs of 2 operations a token backward, beside which gradients travel
    return flops * gradient / (4 * gbyte_s * 1e9) * (1 if in_network else 2)


def sharded_tokens(flops: Number, gbyte_s: Number, gradient: Number = 2.0, parameter: Number = 2.0) -> Number:
    """Return the batch per GPU from which fully sharded data parallelism is bound by compute [1].

    Args:
        flops: peak of a GPU C [FLOP/s].
        gbyte_s: bandwidth of gathers and scatters W [GB/s].
        gradient: bytes of a gradient g [byte].
        parameter: bytes of a parameter as gathered w [byte].

    Equation:
        C max(w / 2, (w + g) / 4) / W: parameters against 2 operations each forward, with gradients against 4 backward

    Source:
        [1]: twice the batch of data parallelism, 2,472 across nodes, with gradients of 2 bytes.
    """
    # forward there are half the operations to hide a gather behind
    return flops * maximum(parameter / 2, (parameter + gradient) / 4) / (gbyte_s * 1e9)


def scattered_tokens(flops: Number, gbyte_s: Number, gradient: Number, parameter: Number = 0.0) -> Number:
    """Return the batch per GPU from which data parallelism with sharded optimizer states is bound by compute [1].

    Args:
        flops: peak of a GPU C [FLOP/s].
        gbyte_s: bandwidth of gathers and scatters W [GB/s].
        gradient: bytes of a gradient g [byte].
        parameter: bytes of a parameter whose gather overlaps the same computing w [byte].

    Equation:
        C max(g / 4, w / 2) / W: gradients against 4 operations backward, parameters against 2 forward

    Source:
        Rajbhandari et al., "ZeRO", SC'20, arXiv 1910.02054, section 7: a scatter and a gather in place of an allreduce;
        the form follows [1].
    """
    return flops * maximum(gradient / 4, parameter / 2) / (gbyte_s * 1e9)


def tensor_parallel_ways(inner: Number, flops: Number, gbyte_s: Number, node: Number) -> Number:
    """Return the largest TP size that is bound by compute.

    Args:
        inner: inner width of the feed-forward network F [1].
        flops: peak of a GPU C [FLOP/s].
        gbyte_s: rate of a GPU to the others [GB/s].
        node: GPUs of a node N [1].

    Returns:
        TP size [1].

    Equation:
        F / (C (N - 1) / (N W))

    Source:
        [1] prints F / 1746, which needs C = 898e12 in its own formula; with the 989e12 that it uses elsewhere the
        divisor is 1,923.
    """
    return inner / (flops * (node - 1) / (node * gbyte_s * 1e9))


def expert_parallel_tokens(
    experts: Number, top_k: Number, flops: Number, gbyte_s: Number, speedup: Number = 1.0
) -> Number:
    """Return the batch per GPU from which a mixture of experts with data parallelism is bound by compute [1].

    Args:
        experts: experts E [1].
        top_k: experts of a token k [1].
        flops: peak of a GPU C [FLOP/s].
        gbyte_s: allreduce bandwidth W [GB/s].
        speedup: of the reduction, since experts are sharded over an inner axis [1]; see
            `switch_hierarchy.sharded_speedup`.

    Equation:
        E C / (2 k W) / speed-up

    Source:
        [1]: 1,236 x 256 / 8 / 8 = 4,944 for DeepSeek-V3 with 64-way expert parallelism.
    """
    return experts / top_k * data_parallel_tokens(flops, gbyte_s) / speedup
