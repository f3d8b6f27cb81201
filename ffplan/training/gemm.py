"""GEMMs of a layer: their shapes on one rank, and their time in tiles and in bytes.

Sources:
    [1] Narayanan et al., arXiv 2104.04473, section 3 (how matrices are split).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Number, ceil_div, maximum
from ffplan.training.model_flops import attention_out, attention_widths

if TYPE_CHECKING:
    from ffplan.catalog.models import Transformer
    from ffplan.training.accelerator_rates import AcceleratorRates
    from ffplan.training.axes import ParallelPlans

TILE = 128
"""Rows and columns of the tile that one multiprocessor computes at a time."""


def _matrix_time(
    rows: Number,
    columns: Number,
    inner: Number,
    rates: AcceleratorRates,
    count: Number = 1,
    *,
    rate: Number | None = None,
) -> Number:
    """Return the time of the operations of GEMMs that run together [s].

    Args:
        rows: rows of a result M [1].
        columns: columns of a result N [1].
        inner: inner dimension K [1].
        rates: rates: of large GEMMs, and u multiprocessors.
        count: GEMMs that run as one, such as the GEMMs of a rank's experts [1].
        rate: of large GEMMs, in place of that at the plan's precision [FLOP/s].

    Equation:
        2 T' 128^2 K / rate, T' = u ceil(T / u), T = count ceil(M / 128) ceil(N / 128) tiles

    Source:
        Tiles, waves and their tails: NVIDIA, Matrix Multiplication Background User's Guide; 128 x 128 is its usual
        tile. A part-filled tile, or wave, takes as long as a full one.
    """
    tiles = count * ceil_div(rows, TILE) * ceil_div(columns, TILE)
    # the last wave takes a full turn, however few multiprocessors it fills
    waves = ceil_div(tiles, rates.units) * rates.units
    return 2.0 * waves * TILE * TILE * inner / (rates.products if rate is None else rate)


def gemm_time(
    rows: Number,
    columns: Number,
    inner: Number,
    rates: AcceleratorRates,
    *,
    read: Number,
    written: Number,
    count: Number = 1,
    rate: Number | None = None,
) -> Number:
    """Return the time of GEMMs that run together, with their reads and writes; without the time of a kernel [s].

    Args:
        rows: rows of a result M [1].
        columns: columns of a result N [1].
        inner: inner dimension K [1].
        rates: rates: of large GEMMs, of streams, and multiprocessors.
        read: size of the operands [byte].
        written: size of the results [byte].
        count: GEMMs that run as one [1].
        rate: of large GEMMs, in place of that at the plan's precision [FLOP/s].

    Equation:
        max(operations, read / stream) + written / stream, the operations as in `matrix_time`

    Source:
        Williams et al., "Roofline", CACM 2009. Results are written after the last step of the inner dimension: on H100
        the times of 4,096 x n by depth (openxla/xla, matmul_interpolator_data.h; DeepGEMM's README) are lines whose
        foot is the size of the result at 3 TB/s.
    """
    operations = _matrix_time(rows, columns, inner, rates, count, rate=rate)
    # results are written after the last step of the inner dimension, so they do not overlap
    return maximum(operations, read / rates.stream) + written / rates.stream


def _accumulation_bytes(accumulation: str, plans: ParallelPlans) -> Number:
    """Return the bytes that adding up the gradient of a weight moves in a micro-batch [byte].

    Args:
        plans: plans with bytes w a number and g a gradient sum, micro-batches m, and ZeRO stage.

    Equation:
        fused 2 g; added 2 w + (2 - 1 / m) g, from ZeRO 2 on 2 w + g; cast 2 w + 4 g

    Source:
        Counted. Fused, the GEMM reads and writes the sum. Else it writes a separate gradient. PyTorch copies the first
        micro-batch's, and reads the others beside the sum; from ZeRO 2 on each is copied for its reduction.
        DeepSpeed's BF16_Optimizer writes it once more at the sum's width before it adds
        (`hp_grad.add_(grad.to(hp_grad.dtype))`, recalled).
    """
    gradient = plans.gradient_bytes
    if accumulation == "fused":
        return 2 * gradient
    if accumulation == "cast":
        return 2 * plans.width + 4 * gradient
    summed = np.where(np.asarray(plans.zero) < 2, 1.0 - 1.0 / np.asarray(plans.micro_batches, dtype=float), 0.0)
    return 2 * plans.width + (1.0 + summed) * gradient


def both_ways(
    rows: Number,
    columns: Number,
    inner: Number,
    rates: AcceleratorRates,
    plans: ParallelPlans,
    count: Number = 1,
    *,
    plain: bool = False,
) -> tuple[Number, Number]:
    """Return the times of GEMMs forward, and backward for inputs and weights [s].

    Args:
        rows: tokens M [1].
        columns: columns of the weights N [1].
        inner: rows of the weights K [1].
        plans: bytes of a number w and of a gradient g.
        count: GEMMs that run as one [1].
        plain: at 16 bits.

    Equation:
        M x N over K; M x K over N and N x K over M; each as in `gemm_time`, its operands at w bytes or one at FP8, its
        result w M N, w M K, and N K times `accumulation_bytes` where gradients of weights are added up

    Source:
        Backpropagation: dX = dY W^T, dW = X^T dY.
    """
    rate, w = rates.plain if plain else rates.products, plans.width
    read = w if plain else plans.operand_width
    results, inputs, weights = count * rows * columns, count * rows * inner, count * columns * inner

    def time(first: Number, second: Number, depth: Number, operands: Number, written: Number) -> Number:
        return gemm_time(first, second, depth, rates, read=read * operands, written=written, count=count, rate=rate)

    ahead = time(rows, columns, inner, inputs + weights, w * results)
    back = time(rows, inner, columns, results + weights, w * inputs)
    # the gradient of weights is summed over micro-batches, often wider than a result
    added = _accumulation_bytes(rates.accumulation, plans) * weights
    return ahead, back + time(columns, inner, rows, results + inputs, added)


def _around_attention(shape: Transformer, tensor: Number) -> tuple[tuple[Number, Number, bool], ...]:
    """Return columns and inner width of the GEMMs around attention on one rank, and whether tensor ranks copy them.

    Args:
        tensor: TP size t [1].

    Returns:
        Columns and inner width of each [1]. Under sequence parallelism a copied one has a rank's part of the tokens.

    Equation:
        h x (q + k + v) / t and v' / t x h; with latent attention h x r_q, r_q x q / t, h x (r_kv + d_rope),
        r_kv x heads (d_nope + d_v) / t and v' / t x h

    Source:
        [1]; DeepSeek-V2, arXiv 2405.04434, section 2.1: the narrow matrices are not split; megatron-core 0.14.0,
        multi_latent_attention.py: they are duplicated, and their results gathered.
    """
    width, hidden, latent = attention_widths(shape, tensor), shape.hidden, shape.latent
    out = (hidden, attention_out(shape) / tensor, False)
    if latent is None:
        return ((width.query + width.key + width.value) / tensor, hidden, False), out
    rank, query = latent.query_rank, width.query / tensor
    queries = ((query, hidden, False),) if rank is None else ((rank, hidden, True), (query, rank, False))
    wide = shape.heads * (latent.nope_dim + latent.value_dim) / tensor
    down = (latent.key_value_rank + latent.rope_dim, hidden, True)
    return (*queries, down, (wide, latent.key_value_rank, False), out)


def _feed_forward(shape: Transformer, inner: Number, tensor: Number) -> tuple[tuple[Number, Number], ...]:
    """Return columns and inner width of the GEMMs of a feed-forward network on one rank.

    Args:
        inner: inner width f [1].
        tensor: TP size t [1].

    Returns:
        Columns and inner width of each [1].

    Equation:
        h x f / t (twice as wide with a gate) and f / t x h

    Source:
        [1]; Shazeer, arXiv 2002.05202 (gated units).
    """
    # gate and up projection run as one GEMM
    wide = (2 if shape.gated else 1) * inner / tensor
    return (wide, shape.hidden), (shape.hidden, inner / tensor)
