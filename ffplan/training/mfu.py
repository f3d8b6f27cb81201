"""From seconds of a step to rates: tokens, operations, and fractions of the peak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.training.axes import RECOMPUTE
from ffplan.training.model_flops import parameters, sequence_flops

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.training.axes import ParallelPlans
    from ffplan.training.model_shape import ModelShape


def step_flops(shape: ModelShape, plans: ParallelPlans, convention: str) -> Number:
    """Return the operations of a step over all ranks.

    Args:
        shape: the model.
        plans: the plans: batch and recomputation.
        convention: model (attention in full), causal (half of it), hardware (with recomputation) or 6n.

    Returns:
        Operations [FLOP].

    Equation:
        batch x operations of a sequence; 6 N s with N the parameters that a token meets

    Source:
        `model_flops.sequence_flops`; Kaplan et al., arXiv 2001.08361, for 6 N.
    """
    if convention == "6n":
        return 6.0 * plans.batch * shape.sequence * parameters(shape, active=True)
    if convention != "hardware":
        return plans.batch * sequence_flops(shape, shape.sequence, causal=convention == "causal")
    found: Number = 0.0
    for at, name in enumerate(RECOMPUTE):
        found = found + (plans.recompute == at) * sequence_flops(shape, shape.sequence, recompute=name)
    return plans.batch * found


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
