"""Times of one layer on a rank, forward, for one micro-batch: GEMMs, attention, memory, kernels.

Every function takes floats and arrays. Tensor parallelism splits every matrix by columns or by rows.

Sources:
    [1] Narayanan et al., arXiv 2104.04473, section 3 (how matrices are split).
    [2] Korthikanti et al., arXiv 2205.05198, section 4 (activations between the matrices; sequence parallelism).
    [3] Dao, "FlashAttention-2", arXiv 2307.08691 (fused attention: 2.5 times the operations backward).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, minimum
from ffplan.base.record import record
from ffplan.training.accelerator_rates import _attention_rate
from ffplan.training.gemm import _around_attention, _feed_forward, both_ways
from ffplan.training.memory_traffic import SINGLE, _routed_bytes, _score_bytes, moved_bytes
from ffplan.training.model_flops import (
    _windowed_layers,
    _windowed_scores,
    attention_out,
    attention_widths,
    shared_width,
)
from ffplan.training.recompute import _fraction_again

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.catalog.models import Transformer
    from ffplan.training.accelerator_rates import AcceleratorRates
    from ffplan.training.axes import ParallelPlans

EXPERT_KERNELS = 9.0
"""Kernels of a layer with experts beyond those beside its GEMMs, in times of a GEMM's: some 35 small ones choose
experts, count, sort and weight tokens (router and dispatcher of Megatron-Core, counted)."""
BACK = 2.5
"""Operations of fused attention backward over those forward: it computes its scores again [3]."""
LOGIT_BYTES, EAGER_LOGIT_BYTES, EAGER_LOGIT_CASTS = 14.0, 24.0, 12.0
"""Bytes that a score over the vocabulary moves with few kernels, with one for every operation, and for casts."""


@record
class _LayerTimes:
    """Times of a layer forward on one rank [s]."""

    products: Number
    """GEMMs."""
    products_back: Number
    """GEMMs of the backward pass."""
    products_again: Number
    """GEMMs that recomputation runs once more."""
    attention: Number
    """Scores and weighted values."""
    attention_back: Number
    """Scores and weighted values of the backward pass."""
    scores: Number
    """Memory traffic of unfused scores."""
    moved: Number
    """Memory-bound kernels."""
    back: Number
    """Memory-bound kernels of the backward pass."""
    kernels: Number
    """Time of GEMMs beyond their operations."""

    def scaled(self, factor: Number) -> _LayerTimes:
        """Return the times scaled."""
        return _LayerTimes(**{name: factor * getattr(self, name) for name in LAYER_PARTS})

    def plus(self, more: _LayerTimes) -> _LayerTimes:
        """Return the sum of two."""
        return _LayerTimes(**{name: getattr(self, name) + getattr(more, name) for name in LAYER_PARTS})


LAYER_PARTS = (
    "products",
    "products_back",
    "products_again",
    "attention",
    "attention_back",
    "scores",
    "moved",
    "back",
    "kernels",
)


def attention_time(shape: Transformer, plans: ParallelPlans, rates: AcceleratorRates) -> tuple[Number, Number, Number]:
    """Return the times of the core of attention: operations forward and backward, and traffic of unfused scores [s].

    Args:
        shape: the model; s is its sequence.
        plans: the plans: micro-batch b, tensor parallelism t, context parallelism c.

    Equation:
        2 b s^2 (q + v') / (t c) / rate, half of it where the kernel skips the blocks that a causal mask removes, and
        backward 2.5 times as many operations at its own rate; of layers with a window the part of them that
        `windowed_scores` leaves; b a s^2 / (t c) scores x bytes of each / memory and twice the operations backward if
        it is not fused

    Source:
        [2]; [3]; rates by kernel, width of a head and length: `attention_rate`.
    """
    width, square = (
        attention_widths(shape),
        plans.micro * shape.sequence * shape.sequence / (plans.tensor * plans.context),
    )
    # a score is a product over the query's width, and weighs a value: a multiply-add each
    operations = 2.0 * square * (width.query + attention_out(shape))
    if not plans.fused_attention:
        scores = _score_bytes(plans) * square * shape.heads / rates.memory
        # unfused, backward needs no scores again: gradients of both factors, twice the operations
        return operations / rates.plain, 2.0 * operations / rates.plain, scores
    # a causal mask removes half of the square
    kept = operations * (0.5 if plans.causal_skip else 1.0)
    # with heads exchanged, a rank sees the whole sequence of fewer heads
    piece = shape.sequence / (1.0 if plans.by_heads else plans.context)
    ahead, behind = _core_times(shape, plans, rates, kept, piece)
    narrow = _windowed_layers(shape)
    if shape.window is None or not plans.causal_skip:
        return ahead, behind, 0.0 * operations
    # a row of a window's band has as many scores as the mean row of a causal sequence twice as long as the window
    band = kept * _windowed_scores(shape, shape.sequence)
    short = _core_times(shape, plans, rates, band, minimum(piece, 2.0 * shape.window.tokens))
    ahead, behind = ((1.0 - narrow) * whole + narrow * less for whole, less in zip((ahead, behind), short, strict=True))
    return ahead, behind, 0.0 * operations


def _core_times(
    shape: Transformer, plans: ParallelPlans, rates: AcceleratorRates, kept: Number, piece: Number
) -> tuple[Number, Number]:
    """Return the times of fused attention forward and backward [s], of the operations that its kernel runs on pieces of
    some tokens [FLOP].
    """
    if rates.curve is None:
        return kept / rates.attention, BACK * kept / rates.attention
    # tables go by the width of one head
    head = attention_widths(shape, plans.tensor).query / shape.heads
    ahead, behind = (
        _attention_rate(rates.curve, head, piece, causal=plans.causal_skip, back=back) for back in (False, True)
    )
    return kept / ahead, BACK * kept / behind


def _sum(
    timed: Iterable[tuple[str, tuple[Number, Number]]], shape: Transformer, plans: ParallelPlans
) -> tuple[Number, Number, Number]:
    """Return the total times of GEMMs forward, backward, and recomputed, by the policy for their operators."""
    pairs = list(timed)
    again = {name: _fraction_again(shape, plans, name) for name in dict.fromkeys(name for name, _ in pairs)}
    return (
        sum(ahead for _, (ahead, _) in pairs),
        sum(behind for _, (_, behind) in pairs),
        sum(again[name] * ahead for name, (ahead, _) in pairs),
    )


@record
class _Gemm:
    """A GEMM of a layer."""

    operator: str
    """Its operator, as recomputation counts it."""
    rows: Number
    columns: Number
    inner: Number


def _around(shape: Transformer, plans: ParallelPlans) -> list[_Gemm]:
    """Return the GEMMs around attention; a matrix that tensor ranks copy multiplies a rank's part of the sequence."""
    tokens = plans.tokens(shape.sequence)
    *ahead, (columns, inner, _) = _around_attention(shape, plans.tensor)
    into = [_Gemm("qkv", tokens / plans.between if copied else tokens, n, k) for n, k, copied in ahead]
    return [*into, _Gemm("out", tokens, columns, inner)]


def _network(shape: Transformer, plans: ParallelPlans, width: Number) -> list[_Gemm]:
    """Return the GEMMs of a feed-forward network of an inner width."""
    tokens, (up, down) = plans.tokens(shape.sequence), _feed_forward(shape, width, plans.tensor)
    return [_Gemm("up", tokens, *up), _Gemm("down", tokens, *down)]


def _timed(
    gemms: list[_Gemm], rates: AcceleratorRates, plans: ParallelPlans
) -> list[tuple[str, tuple[Number, Number]]]:
    """Return the operator of each GEMM, and its times forward and backward [s]."""
    return [(gemm.operator, both_ways(gemm.rows, gemm.columns, gemm.inner, rates, plans)) for gemm in gemms]


def _moved_rate(plans: ParallelPlans, rates: AcceleratorRates) -> float:
    """Return the rate of kernels that move memory [byte/s]: one for every operation streams, few kernels do more."""
    return rates.stream if plans.eager else rates.memory


def _dense_layer(shape: Transformer, plans: ParallelPlans, rates: AcceleratorRates) -> _LayerTimes:
    """Return the times of a layer without experts, forward [s].

    Equation:
        GEMMs of attention and feed-forward network, the core of attention, element-wise kernels, a kernel's time
        for each GEMM

    Source:
        [1]; [2].
    """
    tokens = plans.tokens(shape.sequence)
    gemms = [*_around(shape, plans), *_network(shape, plans, shape.ffn)]
    products, behind, again = _sum(_timed(gemms, rates, plans), shape, plans)
    attention, attention_back, scores = attention_time(shape, plans, rates)
    rate = _moved_rate(plans, rates)
    moved, back = (tokens * moved_bytes(shape, shape.ffn, plans, back=way) / rate for way in (False, True))
    return _LayerTimes(
        products=products,
        products_back=behind,
        products_again=again,
        attention=attention,
        attention_back=attention_back,
        scores=scores,
        moved=moved,
        back=back,
        kernels=len(gemms) * rates.kernel,
    )


def _expert_rows(shape: Transformer, plans: ParallelPlans) -> Number:
    """Return the tokens of a micro-batch that the experts of the fullest rank compute [1].

    Args:
        shape: the model, with experts: k of a token.
        plans: the plans: tensor parallelism t, within experts t_e.

    Equation:
        i b s / c k t_e / t, i the imbalance

    Source:
        On average a rank receives as many tokens as it sends; DeepSeekMoE, arXiv 2401.06066, balances the load. All
        wait for the fullest rank.
    """
    assert shape.experts is not None
    tokens = plans.tokens(shape.sequence)
    return plans.imbalance * tokens * shape.experts.top_k * plans.expert_tensor / plans.tensor


def _dispatcher_of(plans: ParallelPlans, rates: AcceleratorRates) -> str:
    """Return how tokens reach experts: the plan's dispatcher, or the stack's."""
    return plans.dispatcher or rates.dispatcher


def expert_layer(shape: Transformer, plans: ParallelPlans, rates: AcceleratorRates) -> _LayerTimes:
    """Return the times of a layer with experts, forward [s].

    Args:
        plans: the plans: expert parallelism e, tensor parallelism within experts.

    Equation:
        attention as in `dense_layer`; a router on each rank's part of the sequence; shared experts; R / (E / e)
        tokens for each of E / e experts, whose
        GEMMs run together; tokens sorted and brought back: `routed_bytes`

    Source:
        DeepSeekMoE, arXiv 2401.06066 (shared and routed experts); [1].
    """
    experts = shape.experts
    assert experts is not None
    tokens = plans.tokens(shape.sequence)
    routed, local = _expert_rows(shape, plans), experts.routed / plans.expert
    shared = shared_width(experts)
    router = _Gemm("up", tokens / plans.between, experts.routed, shape.hidden)
    plain = [*_around(shape, plans), router, *(_network(shape, plans, shared) if shared else [])]
    together = _feed_forward(shape, experts.ffn, plans.expert_tensor)
    # the GEMMs of a rank's experts run together, which fills the multiprocessors better than one by one
    several = [
        (name, both_ways(routed / local, n, k, rates, plans, local))
        for name, (n, k) in zip(("up", "down"), together, strict=True)
    ]
    products, behind, again = _sum([*_timed(plain, rates, plans), *several], shape, plans)
    attention, attention_back, scores = attention_time(shape, plans, rates)
    by = _dispatcher_of(plans, rates)
    moved, back = (
        tokens * moved_bytes(shape, shared, plans, back=way) / _moved_rate(plans, rates)
        + _routed_bytes(shape, plans, routed, dispatcher=by, back=way) / rates.memory
        for way in (False, True)
    )
    kernels = (len(plain) + len(together) + EXPERT_KERNELS) * rates.kernel
    return _LayerTimes(
        products=products,
        products_back=behind,
        products_again=again,
        attention=attention,
        attention_back=attention_back,
        scores=scores,
        moved=moved,
        back=back,
        kernels=kernels,
    )


def output_passes(shape: Transformer, plans: ParallelPlans, rates: AcceleratorRates) -> _LayerTimes:
    """Return the times of all passes of the output layer, with the projections of layers that predict further tokens.

    Args:
        shape: the model: width h.
        plans: the plans: d layers that predict further tokens.

    Returns:
        Times [s], forward and backward.

    Equation:
        (1 + d) output layer + d GEMMs T x h / t x 2 h, forward and backward

    Source:
        DeepSeek-V3 report, arXiv 2412.19437, section 2.2: each module joins the state of a token with the embedding of
        the next by a projection M of h x 2 h, has its own layer, and shares embedding and output layer.
    """
    output, more = _output_layer(shape, plans, rates), plans.mtp_layers
    if not more:
        return output
    joined = sum(both_ways(plans.tokens(shape.sequence), shape.hidden / plans.tensor, 2 * shape.hidden, rates, plans))
    whole = output.scaled(1.0 + more)
    return replace(whole, products=whole.products + more * joined, kernels=whole.kernels + more * rates.kernel)


def _output_layer(shape: Transformer, plans: ParallelPlans, rates: AcceleratorRates) -> _LayerTimes:
    """Return the times of the output layer over the vocabulary with its loss, forward and backward [s].

    Args:
        shape: the model: vocabulary V, width h.

    Equation:
        3 GEMMs T x V / t x h at 16 bits, 14 T V / t bytes / memory, 3 kernels; operation by operation 36 bytes, and
        24 where GEMMs have 32 bits

    Source:
        [1] for the GEMMs. The scores are written and read at 16 and at 32 bits: 2 + 4 bytes for the loss, 4 + 4 for
        its gradient. Operation by operation they are cast (6), their logarithms taken (8), and backward the gradient of
        the loss is written (4), read with them, written (12), and cast (6).
    """
    tokens = plans.tokens(shape.sequence)
    columns = shape.vocabulary / plans.tensor
    products, behind = both_ways(tokens, columns, shape.hidden, rates, plans, plain=True)
    eager = EAGER_LOGIT_BYTES + (EAGER_LOGIT_CASTS if plans.width < SINGLE else 0.0)
    moved = eager if plans.eager else LOGIT_BYTES
    return _LayerTimes(
        products=products + behind,
        products_back=0.0,
        products_again=0.0,
        attention=0.0,
        attention_back=0.0,
        scores=0.0,
        moved=moved * tokens * columns / _moved_rate(plans, rates),
        back=0.0,
        kernels=3 * rates.kernel,
    )
