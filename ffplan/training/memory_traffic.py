"""Memory traffic of a layer outside GEMMs and attention: fused kernels, or unfused ones, one for every operation.

Sources:
    [1] Narayanan et al., arXiv 2104.04473, section 3 (how matrices are split).
    [2] Korthikanti et al., arXiv 2205.05198, section 4 (what lies between the matrices; sequence parallelism).
    [3] Operations of PyTorch without a compiler, counted: RMS norms and rotary positions are computed at 32 bits, GELU
        is written out, and autograd runs an operation for each of them.
    [4] Tokens on their way to experts, counted: Megatron-Core's all-to-all dispatcher sorts copies by expert at home
        and by local expert on arrival, and back; DeepEP and HybridEP deliver them by rank, which sorts them
        once; the all-gather dispatcher brings every token of the group to each rank, which picks out its own and adds
        results up over all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.training.model_flops import attention_out, attention_widths

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.models import Transformer
    from ffplan.training.axes import ParallelPlans

SINGLE = 4.0
"""Bytes of a number at 32 bits, at which losses, norms and rotary positions are computed."""
CAST_BYTES = 4.0
"""Bytes moved by casting a number to FP8: read at 16 bits, written twice, plain and transposed."""
ACTIVATION = {(False, False): (2, 3), (True, False): (3, 5), (False, True): (18, 28), (True, True): (5, 9)}
"""Numbers that an activation moves for each of its inner width, forward and backward: plain or gated, with few kernels
or operation by operation. GELU written out has eight operations, six of one number in and two of two."""
RMS, RMS_BACK = 20.0, 68.0
"""Bytes at 32 bits that an RMS norm moves for a number, operation by operation: square (8), mean (4), product (8);
backward products (20) with a sum (4), mean (4), square (28), sum of both ways (12)."""
MEETING = 9.0
"""Numbers moved to add up gradients of separate GEMMs for queries, keys and values, and for a gate: 3 sums."""
DROPPED = 1.0
"""Bytes of a dropout mask."""
COPIED, SORTED = 2.0, 4.0
"""Numbers moved for each of a routed token's width, there and back: copies written and summed at home, sorted by
expert on arrival [4]."""
PADDED = 4.0
"""Numbers moved to fill up each expert's tokens to a multiple of 16 rows, as products at FP8 need, and to take the
filling out again [4]."""
SCORES = {(False, False): 5, (False, True): 6, (True, False): 9, (True, True): 10}
"""Numbers that an unfused score of attention moves next to its dropout mask, operation by operation or not, backward or
not. Forward: written (1), softmax (2), dropout (2), and on their own scaling (2) and the causal mask (2); backward:
gradient written (1), dropout (2), softmax with its result (3), and on their own mask (2) and scaling (2)."""


def _activation_numbers(shape: Transformer, plans: ParallelPlans) -> tuple[int, int]:
    """Return numbers that an activation moves for each of its inner width, forward and backward [1]."""
    return ACTIVATION[bool(shape.gated), plans.eager]


def _score_bytes(plans: ParallelPlans, *, back: bool = False) -> float:
    """Return the bytes that an unfused score of attention moves [byte].

    Args:
        plans: the plans: bytes of a number w.
        back: in the backward pass.

    Equation:
        5 w + 1 forward and 6 w + 1 backward; operation by operation 9 w + 1 and 10 w + 1

    Source:
        [2] for softmax and dropout; [3]. The reads of the GEMMs themselves are not counted.
    """
    return SCORES[plans.eager, back] * plans.width + DROPPED


def _eager_bytes(shape: Transformer, inner: Number, plans: ParallelPlans, *, back: bool = False) -> Number:
    """Return the bytes that unfused kernels of a layer move for each token, a kernel for every operation [byte].

    Args:
        shape: the model: width h, queries q, keys k, values v, attention's output v'.
        inner: inner width of its feed-forward network f [1].
        plans: the plans: tensor parallelism t, bytes of a number w.
        back: of the backward pass.

    Equation:
        forward (n + 6 w) h / u + (r (q + k) + w (q + k + v + v' + a f)) / t, backward
        (n + 6 w) h / u + (r (q + k) + w (2 (q + k + v + v') + a f)) / t; u = t with sequence parallelism, else 1.
        With biases n = 4 w + 2 (2 w + 1) forward, 10 w + 2 (2 w + 1) + 2 w backward, and w (q + k + v + f) / t more for
        their gradients; without, n = 2 (c + 20 + 2 w) and 2 (c + 68 + 6 w) + 9 w, the last for sums of gradients.
        Rotary positions r = c + 8, learned ones 0; casts c = 2 (w + 4) at 16 bits; a = 5 and 9 with a gate, 18 and 28
        without

    Source:
        [3]. Layer norms are one kernel, and models with biases have two dropouts.
    """
    w, width, out = plans.width, attention_widths(shape, plans.tensor), attention_out(shape)
    # to 32 bits and back, each a read and a write
    casts = 2 * (w + SINGLE) if w < SINGLE else 0.0
    around = width.query + width.key
    summed: Number = 0.0
    if shape.biases:
        norms = 2 * ((5 if back else 2) * w + 2 * w + DROPPED) + (2 * w if back else 0)
        summed = w * (around + width.value + inner) if back else 0.0
    else:
        norms = 2 * (casts + (RMS_BACK + 6 * w if back else RMS + 2 * w)) + (MEETING * w if back else 0)
    turned = 0.0 if shape.positions else (casts + 8.0) * around
    attended = (2 if back else 1) * w * (around + width.value + out)
    split = turned + attended + summed + w * _activation_numbers(shape, plans)[back] * inner
    return (norms + 6 * w) * shape.hidden / plans.between + split / plans.tensor


def moved_bytes(shape: Transformer, inner: Number, plans: ParallelPlans, *, back: bool = False) -> Number:
    """Return the bytes that the operations of a layer outside GEMMs and attention move for each token [byte].

    Args:
        shape: the model: width h, queries q, keys k, values v, attention's output v'.
        inner: inner width of its feed-forward network f [1].
        plans: the plans: tensor parallelism t, bytes of a number w.
        back: of the backward pass.

    Equation:
        with few kernels, forward w (10 h / u + (3 q + 3 k + v + v' + 2 f) / t), 3 f with a gate; backward
        w (12 h / u + (4 q + 4 k + 2 v + 2 v' + 3 f) / t), 5 f with a gate; u = t with sequence parallelism, else 1; at
        FP8 4 v' / t more for casts forward, 4 (2 h / u + (q + k + v) / t) backward. Operation by operation, see
        `eager_bytes`

    Source:
        [2] for what lies where. Forward, two norms read and write h, two residual additions read it twice and write it;
        positions read and write queries and keys; attention reads q, k, v and writes v'; the activation reads f, or 2 f
        with a gate, and writes f. Backward, norms and activation read one more, attention reads and writes twice. Norms
        and activations write FP8 themselves, twice, in place of 16 bits; a separate kernel
        casts the outputs of attention and residual additions.
    """
    width, out = attention_widths(shape, plans.tensor), attention_out(shape)
    between, around = plans.between, width.query + width.key
    if plans.eager:
        moved = _eager_bytes(shape, inner, plans, back=back)
    else:
        split = 4 * around + 2 * width.value + 2 * out if back else 3 * around + width.value + out
        split = split + _activation_numbers(shape, plans)[back] * inner
        moved = plans.width * ((12 if back else 10) * shape.hidden / between + split / plans.tensor)
    if plans.precision == "fp8":
        cast = (2 * shape.hidden / between + (around + width.value) / plans.tensor) if back else out / plans.tensor
        moved = moved + CAST_BYTES * cast
    return moved


def _routed_bytes(
    shape: Transformer, plans: ParallelPlans, routed: Number, *, dispatcher: str, back: bool = False
) -> Number:
    """Return the bytes that sorting tokens for experts moves on a rank, with their activation and casts, in a layer
    [byte].

    Args:
        shape: the model, with experts: width h, inner width of an expert f.
        plans: the plans: tokens T of a rank's micro-batch, TP size t, within experts t_e, bytes of a number w.
        routed: tokens that the rank's experts compute R [1].
        dispatcher: of the exchange: alltoall, allgather, deepep or hybrid.
        back: in the backward pass.

    Equation:
        w (4 R h + n R f / t_e) with several ranks of experts, with all-to-all w (6 R h + 2 T h / t + n R f / t_e), and
        with one rank w (2 R h + 2 T h / t + n R f / t_e); with all-gather as on one rank, of e t_e T / t tokens in
        place of T / t; n = 3 forward and 5 backward with a gate, 2 and 3 without. At FP8 4 R (h + m f / t_e) + 4 w R h
        more, m = 1, backward 2 with a gate; tokens sent at FP8 are cast at home, 4 T h / t, and not filled up

    Source:
        [4]. Experts have separate scales, so separate kernels cast their operands: tokens and activations
        forward, gradients of results and of activations backward. Transformer Engine's kernels at FP8 take rows in
        multiples of 16: Megatron-Core copies the tokens of each expert into filled-up rows, and the results out again.
    """
    import numpy as np

    experts = shape.experts
    assert experts is not None
    home = plans.tokens(shape.sequence) / plans.tensor
    inner = experts.ffn / plans.expert_tensor
    apart = (np.asarray(plans.expert) > 1) * 1.0
    alone = 1.0 if dispatcher == "alltoall" else 1.0 - apart
    sorting: Number = apart * SORTED * routed + alone * COPIED * (routed + home)
    if dispatcher == "allgather":
        sorting = COPIED * (routed + plans.gathered(shape.sequence))
    numbers = _activation_numbers(shape, plans)[back]
    moved = plans.width * (sorting * shape.hidden + numbers * routed * inner)
    if plans.precision == "fp8":
        whole = plans.dispatch_bytes >= plans.width
        # backward the gradients of gate and up are both cast
        wide = 2.0 if back and shape.gated else 1.0
        moved = moved + CAST_BYTES * ((routed if whole else home) * shape.hidden + wide * routed * inner)
        moved = moved + (PADDED * plans.width * routed * shape.hidden if whole else 0.0)
    return moved
