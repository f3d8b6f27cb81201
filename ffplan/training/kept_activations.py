"""Activations that a stage keeps for its backward pass, tensor by tensor; takes floats and arrays.

Sources:
    [1] Korthikanti et al., arXiv 2205.05198, section 4 (activations kept by a layer, tensor by tensor).
    [2] Qi et al., arXiv 2401.10241, and its repository; deepseek-ai/DualPipe (activations of other schedules).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.training.axes import RECOMPUTE
from ffplan.training.layer import _expert_rows
from ffplan.training.memory_traffic import DROPPED
from ffplan.training.model_flops import attention_out, attention_widths, shared_width
from ffplan.training.recompute import _fraction_again

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.models import Transformer
    from ffplan.training.axes import ParallelPlans

KEPT_SCORES = 2
"""Numbers that an unfused score of attention keeps next to its dropout mask: softmax, and the output of dropout."""
ACTIVATIONS = {"zb-h1": 1.0, "zb-2p": 2.0, "zb-v": 1.0, "v-half": 1 / 2, "v-min": 1 / 3}
"""Activations of other schedules, on every stage, over the activations of the first stage under 1F1B."""


def _layer_kept_bytes(shape: Transformer, plans: ParallelPlans, share: Number = 0.0) -> Number:
    """Return the bytes that the mean layer keeps of a micro-batch for the backward pass, without recomputation [byte].

    Args:
        shape: the model: width h, queries q, keys k, values v, attention's output v', feed-forward f, heads a.
        plans: the plans: tensor parallelism t, bytes of a number w.
        share: fraction of layers with experts [1].

    Equation:
        b s / c (w (4 h / u + (q + k + v + v' + 2 f) / t) + 2 h / u) + (2 w + 1) b a s^2 / (t c); 3 f with a gate, 4 f
        where its kernels are not fused; u = t with sequence parallelism, else 1; the bytes of dropout masks, 2 h, only
        with biases; the scores only unfused; at FP8 the inputs of GEMMs, 2 h / u + (v' + f) / t, take a byte less.
        Experts: R (2 h + 3 f_e / t_e) for R routed tokens, and the shared ones.
        Recomputed norms keep 2 h / u less, latents q + k + v, the activation f, and of experts also their results h,
        since the routers' weights are applied inside it

    Source:
        [1]: 34 + 5 a s / h for a plain layer with f = 4 h.
    """
    width, hidden = attention_widths(shape, plans.tensor), shape.hidden
    tokens = plans.tokens(shape.sequence)
    between = plans.between
    wide = 3 if shape.gated else 2
    around = width.query + width.key + width.value + attention_out(shape)
    narrow: Number = 0.0
    if shape.latent is not None:
        narrow = 2 * (shape.latent.key_value_rank + (shape.latent.query_rank or 0)) + shape.latent.rope_dim
    norms = 0.0 if "norms" in plans.again else 2 * hidden / between
    if "qkv" in plans.again or ("latent" in plans.again and shape.latent is not None):
        around = attention_out(shape)
    if "attention" in plans.again:
        around = around - attention_out(shape)
    # inputs of both norms, their results, latents, and what surrounds attention
    base = 2 * hidden / between + norms + narrow + around / plans.tensor
    short = plans.precision == "fp8"  # inputs of GEMMs take a byte less
    saved = norms + attention_out(shape) / plans.tensor if short else 0.0
    act = 0 if "activation" in plans.again else 1
    wide, less = (0 if "up" in plans.again else wide - 1) + act, act * 1.0 * short
    if plans.eager and shape.gated:
        wide += act  # the gate after its activation, which a fused kernel computes again
    plain = plans.width * (base + wide * shape.ffn / plans.tensor) - saved - less * shape.ffn / plans.tensor
    kept = tokens * (plain + (2 * hidden / between if shape.biases else 0.0))
    if shape.experts is not None:
        experts = shape.experts
        inner, held = experts.ffn / plans.expert_tensor, shared_width(experts) / plans.tensor
        routed = plans.width * ((1 + act) * hidden + wide * inner) - short * 1.0 * hidden - less * inner
        shared = plans.width * (base + wide * held) - saved - less * held
        mixed = tokens * shared + _expert_rows(shape, plans) * routed
        kept = (1 - share) * kept + share * mixed
    if not plans.fused_attention:
        kept = kept + (1.0 - _fraction_again(shape, plans, "attention")) * _scores(shape, plans)
    return kept


def _scores(shape: Transformer, plans: ParallelPlans) -> Number:
    # s^2: every query against every key, the memory that fused attention avoids
    squares = plans.micro * shape.sequence**2 / (plans.tensor * plans.context)
    return (KEPT_SCORES * plans.width + DROPPED) * shape.heads * squares


def policy_kept_bytes(shape: Transformer, plans: ParallelPlans, share: Number = 0.0) -> Number:
    """Return the bytes that the mean layer keeps of a micro-batch under its recomputation policy [byte].

    Args:
        shape: the model, named as in `layer_kept_bytes`.
        share: fraction of layers with experts [1].

    Equation:
        T w h / u for the input of the layer, and (q + k + v) / t with keep-qkv; (q + k + v + a f) / t + 2 h / u with
        keep-products, a = 2 with a gate; (q + v + v' + f) / t, and h / u with a gate, for every second GEMM;
        `layer_kept_bytes` without recomputation, or of the core of attention alone

    Source:
        What `recompute` keeps, tensor by tensor; routed experts in the average layer as inner widths of f. Tokens of
        R h that experts were sent, and their results, are kept by keep-products; by every second GEMM the results
        with a gate, without one the tokens sent. It keeps unfused scores too.
    """
    width, tokens = attention_widths(shape, plans.tensor), plans.tokens(shape.sequence)
    between, t = shape.hidden / plans.between, plans.tensor
    inner = shape.ffn / t
    if shape.experts is not None:
        rows = _expert_rows(shape, plans) / tokens
        mixed = shared_width(shape.experts) / t + rows * shape.experts.ffn / plans.expert_tensor
        inner = (1 - share) * inner + share * mixed
    gate = 2.0 if shape.gated else 1.0
    qkv = (width.query + width.key + width.value) / t
    sent: Number = 0.0
    if shape.experts is not None:
        sent = share * _expert_rows(shape, plans) / tokens * shape.hidden
    half = (width.query + width.value + attention_out(shape)) / t + inner + (gate - 1) * between
    more = {
        "full": 0.0,
        "keep-qkv": qkv,
        "keep-products": qkv + gate * inner + 2 * between + 2 * sent,
        "every-second": half + sent,
    }
    least = _layer_kept_bytes(shape, plans, share)
    for name, numbers in more.items():
        kept = plans.width * tokens * (between + numbers)
        if name == "every-second" and not plans.fused_attention:
            kept = kept + _scores(shape, plans)
        # a policy never keeps more than no recomputation would
        least = np.where(np.asarray(plans.recompute) == RECOMPUTE.index(name), np.minimum(kept, least), least)
    return least


def _in_flight(plans: ParallelPlans, stage: Number) -> Number:
    """Return the micro-batches of a whole stage whose activations it keeps at once.

    Args:
        plans: the plans: p stages of v chunks, m micro-batches.
        stage: position of the stage i, the first 0 [1].

    Returns:
        Micro-batches [1]; a part of one where only some chunks are kept.

    Equation:
        min(p - i, m) under 1F1B; min(2 (p - i - 1) + (v - 1) p + 1, m v) / v interleaved; a factor times p of zero
        bubble schedules; p + 1 of DualPipe

    Source:
        [1] section 4.2.3, which has L (1 + (p - 1) / (p v)) layers on the first stage; [2].
    """
    p, v, m = plans.pipeline, plans.chunks, plans.micro_batches
    if plans.schedule == "dualpipe":
        # both directions fill alike, so that every rank keeps as much
        return np.minimum(p + 1.0, m) + 0 * stage
    if plans.schedule != "1f1b":
        return np.minimum(np.ceil(ACTIVATIONS[plans.schedule] * p), m) + 0 * stage
    plain = np.minimum(p - stage, m)
    ahead = np.minimum(2 * (p - stage - 1) + (v - 1) * p + 1, m * v) / v
    return np.where(np.asarray(v) > 1, ahead, plain)
