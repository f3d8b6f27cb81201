"""Tokens, operations and fractions of the peak of a step, and the batch at which communication limits training.

Source:
    [1] "How to Scale Your Model", chapter on GPUs, key takeaways for LLM scaling and questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import maximum
from ffplan.training.gemm import _around_attention
from ffplan.training.model_flops import (
    _attention_flops,
    feed_forward_weights,
    moe_layers,
    parameters,
    sequence_flops,
    shared_width,
)
from ffplan.training.recompute import OPERATORS, _fraction_again

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.models import Transformer
    from ffplan.training.axes import ParallelPlans


def step_flops(shape: Transformer, plans: ParallelPlans, convention: str) -> Number:
    """Return the operations of a step over all ranks [FLOP].

    Args:
        convention: model (attention in full), causal (half of it), hardware (with recomputation) or 6n.

    Equation:
        batch x operations of a sequence; 6 N s with N the parameters that a token meets

    Source:
        `model_flops.sequence_flops`; Kaplan et al., arXiv 2001.08361, for 6 N.
    """
    if convention == "6n":
        return 6.0 * plans.batch * shape.sequence * parameters(shape, active=True)
    if convention != "hardware":
        return plans.batch * sequence_flops(shape, shape.sequence, causal=convention == "causal")
    return plans.batch * (sequence_flops(shape, shape.sequence) + _operations_again(shape, plans))


def _operations_again(shape: Transformer, plans: ParallelPlans) -> Number:
    """Return the operations of one sequence that the backward pass computes again [FLOP].

    Args:
        shape: the model: L layers, sequence s.

    Equation:
        L (2 s x weights + attention), each operator by the fraction of it that runs again

    Source:
        Narayanan et al., arXiv 2104.04473, equation 3, with everything again.
    """
    into, core, out, up, down = (_fraction_again(shape, plans, name) for name in OPERATORS[:5])
    # the last GEMM around attention is the one behind it
    *ahead, behind = (n * k for n, k, _ in _around_attention(shape, 1.0))
    inner = feed_forward_weights(shape, shape.ffn), shape.hidden * shape.ffn
    weights = into * sum(ahead) + out * behind
    plain = up * (inner[0] - inner[1]) + down * inner[1]
    layers: Number = shape.layers * (2 * shape.sequence * weights + core * _attention_flops(shape, shape.sequence))
    mixed = moe_layers(shape)
    if shape.experts is None:
        return layers + 2 * shape.sequence * shape.layers * plain
    width = shape.experts.top_k * shape.experts.ffn + shared_width(shape.experts)
    all_of, last = feed_forward_weights(shape, width), shape.hidden * width
    routed = up * (all_of - last + shape.hidden * shape.experts.routed) + down * last
    return layers + 2 * shape.sequence * ((shape.layers - mixed) * plain + mixed * routed)


def achieved(flops: Number, seconds: Number, gpus: Number) -> Number:
    """Return the operations of each accelerator in a second.

    Args:
        flops: operations of a step [FLOP].
        seconds: its time [s].
        gpus: accelerators [1].

    Returns:
        Rate [FLOP/s]; over the peak it is MFU, or HFU with recomputation.

    Equation:
        operations / (seconds x accelerators)

    Source:
        Chowdhery et al., PaLM, arXiv 2204.02311, appendix B.
    """
    return flops / (seconds * gpus)


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
