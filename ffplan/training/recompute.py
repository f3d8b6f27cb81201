"""Activation recomputation by operator: the work that a policy, or a list of parts, repeats in the backward pass.

Sources:
    [1] Korthikanti et al., arXiv 2205.05198, section 5 (selective and full).
    [2] AI-Hypercomputer/maxtext, MaxText/layers/models.py, d33821f2: save_qkv_proj keeps the results of the projections
        into queries, keys and values; a compiler drops the last GEMM, whose result no gradient needs.
    [3] NVIDIA/dgxc-benchmarking, paxml: SAVE_DOT_ONLY keeps the results of GEMMs.
    [4] pytorch/torchtitan, 9dec370: option `op` keeps the results of every second GEMM and of attention. In the order
        of the forward pass (q, k, v, out, gate, up, down) k, out and up run again; without a gate k, out and down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.training.axes import RECOMPUTE
from ffplan.training.model_flops import attention_widths

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.models import Transformer
    from ffplan.training.axes import ParallelPlans

OPERATORS = ("qkv", "attention", "out", "up", "down", "moved")
"""Operators of a layer: GEMMs of queries, keys and values, the core of attention, the GEMM behind it, GEMMs into and
out of the feed-forward network, and all element-wise kernels."""
POLICIES: dict[str, tuple[str, ...]] = {
    "none": (),
    "selective": ("attention",),
    "full": OPERATORS,
    "keep-qkv": ("attention", "out", "up", "moved"),
    "keep-products": ("attention", "moved"),
    "every-second": ("out", "moved"),
}
"""Operators that a policy computes again whole [1] to [4]; of every second GEMM see `fraction_again`."""


def _every_second(shape: Transformer, operator: str) -> Number:
    """Return the fraction of an operator that every second GEMM is [1]."""
    if operator == "qkv":
        width = attention_widths(shape)
        # q, k and v are one GEMM here; of the three the second, k, runs again
        return width.key / (width.query + width.key + width.value)
    if operator == "up":
        # gate and up are one GEMM here; only up runs again
        return 0.5 if shape.gated else 0.0
    return 0.0 if shape.gated or operator != "down" else 1.0


def _fraction_again(shape: Transformer, plans: ParallelPlans, operator: str) -> Number:
    """Return the fraction of an operator that the backward pass computes again.

    Returns:
        Fraction [1], in the shape of the policies.

    Equation:
        1 where the policy or the list of parts names it, k / (q + k + v) of the first GEMM and half of a gated
        network's for every second GEMM, else 0

    Source:
        [1] to [4].
    """
    policy = np.asarray(plans.recompute)
    by_policy = [1.0 if operator in plans.again else float(operator in POLICIES[name]) for name in RECOMPUTE]
    fraction: Number = np.asarray(by_policy)[policy.astype(int)]
    second = policy == RECOMPUTE.index("every-second")
    return (
        np.where(second, np.maximum(fraction, _every_second(shape, operator)), fraction) if second.any() else fraction
    )
