"""From seconds of a step to rates: tokens, operations, and fractions of the peak."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    *ahead, behind = (n * k for n, k in _around_attention(shape, 1.0))
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
