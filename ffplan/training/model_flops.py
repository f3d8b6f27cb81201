"""Parameters and floating-point operations of models from their dimensions; one formula for floats and arrays.

Sources:
    [1] Narayanan et al., arXiv 2104.04473, equations 2 and 3 (parameters and operations of GPT models).
    [2] Korthikanti et al., arXiv 2205.05198, appendix A (model and hardware FLOPs).
    [3] Chowdhery et al., PaLM, arXiv 2204.02311, appendix B (MFU).
    [4] DeepSeek-V2, arXiv 2405.04434, section 2.1 (multi-head latent attention).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import Number, maximum, minimum
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.catalog.models import Experts, Transformer


def shape_of(model: Transformer, **replaced: Number) -> Transformer:
    """Return a model with some of its dimensions replaced by numbers or arrays.

    Args:
        replaced: dimensions by name; where `hidden` is replaced and `ffn` is not, its ratio stays.
    """
    update: dict[str, Any] = dict(replaced)
    if {"hidden", "heads"} & set(replaced) and model.latent is None:
        update["head_dim"] = None
    if "hidden" in replaced and "ffn" not in replaced:
        # a wider model of the same kind keeps its proportions
        update["ffn"] = model.ffn / model.hidden * replaced["hidden"]
    return model.model_copy(update=update)


def attention_out(shape: Transformer) -> Number:
    """Return the input width of attention's last matrix: heads times the width of a value [1]."""
    if shape.latent is not None:
        return shape.heads * shape.latent.value_dim
    return shape.heads * shape.head_width


def moe_layers(shape: Transformer) -> Number:
    """Return the layers with experts [1]."""
    if shape.experts is None:
        return 0 * shape.layers
    return (shape.layers - shape.experts.dense_layers) // shape.experts.every


def _moe_fraction(shape: Transformer, pipeline: Number, count: Number, before: Number | None = None) -> Number:
    """Return the fraction of a stage's layers that have experts [1].

    Args:
        shape: the model; layers without experts come first.
        pipeline: stages p [1].
        count: layers of the stage n [1].
        before: layers in front of the stage b [1]; it is behind all layers without experts if omitted.

    Equation:
        mixed layers / L with one stage; else ceil((n - d) / every) / n, d = min(n, max(0, dense - b)) layers of it
        without experts

    Source:
        DeepSeekMoE, arXiv 2401.06066, and DeepSeek-V3, arXiv 2412.19437: the first layers are dense.
    """
    import numpy as np

    if shape.experts is None:
        return 0.0 * np.asarray(pipeline)
    held = np.maximum(count, 1.0)
    dense: Number = 0.0
    if before is not None:
        dense = np.minimum(held, np.maximum(0.0, shape.experts.dense_layers - np.asarray(before)))
    later = np.ceil((held - dense) / shape.experts.every) / held
    return np.where(np.asarray(pipeline) > 1, later, moe_layers(shape) / shape.layers)


def shared_width(experts: Experts) -> int:
    """Return the inner width of all shared experts together [1]."""
    return experts.shared_ffn or experts.shared * experts.ffn


@record
class _AttentionWidths:
    query: Number
    """All heads of the queries together."""
    key: Number
    """All heads of the keys."""
    value: Number
    """All heads of the values that a query's head meets; the attention's output."""


def attention_widths(shape: Transformer, tensor: Number = 1.0) -> _AttentionWidths:
    """Return the widths of queries, keys and values.

    Args:
        tensor: TP size t [1].

    Returns:
        Widths over all ranks [1].

    Equation:
        heads x d, and n d for keys and values, n the larger of their heads and t

    Source:
        A rank has a head of keys and values at least: with fewer heads than ranks, ranks hold copies, as NeuronX
        Distributed's replicated keys and values do (recalled).
    """
    if shape.latent is not None:
        query = shape.heads * (shape.latent.rope_dim + shape.latent.nope_dim)
        return _AttentionWidths(query, query, shape.heads * shape.latent.value_dim)
    narrow = maximum(shape.key_value_heads, tensor) * shape.head_width
    return _AttentionWidths(shape.heads * shape.head_width, narrow, narrow)


def attention_weights(shape: Transformer) -> Number:
    """Return the weights of the matrices around attention in one layer.

    Returns:
        Weights [1], without biases.

    Equation:
        h (q + k + v) + q h; with latent attention h r_q + r_q q + h (r_kv + d_rope) + r_kv heads (d_nope + d_v) + v h

    Source:
        [1]; [4].
    """
    width, hidden, latent = attention_widths(shape), shape.hidden, shape.latent
    if latent is None:
        return hidden * (width.query + width.key + width.value) + width.query * hidden
    queries = hidden * width.query
    if latent.query_rank is not None:
        queries = (hidden + width.query) * latent.query_rank
    narrow = hidden * (latent.key_value_rank + latent.rope_dim)
    wide = latent.key_value_rank * shape.heads * (latent.nope_dim + latent.value_dim)
    return queries + narrow + wide + width.value * hidden


def _copied_weights(shape: Transformer, tensor: Number) -> Number:
    """Return the weights of copied heads of keys and values in one layer, over all ranks.

    Args:
        tensor: TP size t [1].

    Returns:
        Weights [1] beyond the model's; 0 for t up to the heads of keys and values.

    Equation:
        2 h d max(0, t - heads of keys and values)

    Source:
        As for `attention_widths`.
    """
    model, held = attention_widths(shape), attention_widths(shape, tensor)
    return shape.hidden * (held.key - model.key + held.value - model.value)


def _narrow_weights(shape: Transformer) -> Number:
    """Return the weights of latent attention that tensor parallelism does not split.

    Returns:
        Weights [1]; 0 without latent attention.

    Equation:
        h (r_q + r_kv + d_rope)

    Source:
        [4]; Megatron-LM keeps the projections into the latents whole on every rank.
    """
    latent = shape.latent
    if latent is None:
        return 0 * shape.hidden
    return shape.hidden * ((latent.query_rank or 0) + latent.key_value_rank + latent.rope_dim)


def feed_forward_weights(shape: Transformer, inner: Number) -> Number:
    """Return the weights of a feed-forward network.

    Args:
        inner: its inner width [1].

    Returns:
        Weights [1], without biases.

    Equation:
        2 h f, or 3 h f with a gate

    Source:
        [1]; Shazeer, arXiv 2002.05202 (gated units).
    """
    # up and down, and the gate
    return (3 if shape.gated else 2) * shape.hidden * inner


def _small(shape: Transformer) -> Number:
    """Return norms and biases of one layer without experts."""
    # two norms, with a bias each where the model has biases
    norms = (4 if shape.biases else 2) * shape.hidden
    if shape.latent is not None:
        norms += shape.latent.key_value_rank + (shape.latent.query_rank or 0)
    if not shape.biases:
        return norms
    width = attention_widths(shape)
    return norms + width.query + width.key + width.value + shape.hidden + shape.ffn + shape.hidden


def _layer_weights(shape: Transformer, *, active: bool = False, dense: bool = True) -> Number:
    """Return the parameters of one layer [1].

    Args:
        active: only weights that a token meets.
        dense: of a layer without experts, if the model has both kinds.

    Equation:
        attention + feed-forward + norms and biases; experts: router h E, k (or E) routed experts and the shared ones

    Source:
        [1]; DeepSeekMoE, arXiv 2401.06066 (shared and routed experts).
    """
    base = attention_weights(shape) + _small(shape)
    experts = shape.experts
    if experts is None or dense:
        return base + feed_forward_weights(shape, shape.ffn)
    routed = experts.top_k if active else experts.routed
    return (
        base
        + shape.hidden * experts.routed
        + routed * feed_forward_weights(shape, experts.ffn)
        + feed_forward_weights(shape, shared_width(experts))
    )


def parameters(shape: Transformer, *, active: bool = False) -> Number:
    """Return the parameters of a transformer [1].

    Args:
        active: only weights that a token meets; embeddings count in full.

    Equation:
        layers x layer + V h (twice where untied) + positions h + last norm

    Source:
        [1] equation 2.
    """
    mixed = moe_layers(shape)
    layers = (shape.layers - mixed) * _layer_weights(shape) + mixed * _layer_weights(shape, active=active, dense=False)
    embedding = shape.vocabulary * shape.hidden * (1 if shape.tied else 2) + shape.positions * shape.hidden
    return layers + embedding + (2 if shape.biases else 1) * shape.hidden


def _layer_matrix_weights(shape: Transformer, *, dense: bool = True) -> Number:
    """Return the weights of one layer that a token is multiplied with: neither norms nor biases nor idle experts [1].

    Args:
        dense: of a layer without experts, if the model has both kinds.

    Equation:
        attention + feed-forward, or attention + router + k routed and the shared experts

    Source:
        [1].
    """
    experts = shape.experts
    if experts is None or dense:
        return attention_weights(shape) + feed_forward_weights(shape, shape.ffn)
    inner = feed_forward_weights(shape, experts.top_k * experts.ffn + shared_width(experts))
    return attention_weights(shape) + shape.hidden * experts.routed + inner


def _windowed_layers(shape: Transformer) -> Number:
    """Return the fraction of layers with a sliding window [1]."""
    return shape.window.layers / shape.layers if shape.window else 0.0


def _windowed_scores(shape: Transformer, sequence: Number) -> Number:
    """Return the scores that a sliding window leaves, over those that a causal mask leaves [1].

    Args:
        sequence: length s [1]; the window has w tokens.

    Equation:
        2 r - r^2, r = min(1, w / s)

    Source:
        Counted: w s - w^2 / 2 of s^2 / 2, since the first w tokens see fewer than w; Beltagy et al., Longformer, arXiv
        2004.05150.
    """
    reach: Number = 1.0 if shape.window is None else minimum(1.0, shape.window.tokens / sequence)
    return reach * (2.0 - reach)


def _attention_flops(shape: Transformer, sequence: Number, *, causal: bool = False) -> Number:
    """Return the operations of scores and weighted values for one sequence, one layer, forward [FLOP].

    Args:
        sequence: length s [1].
        causal: count the half that a causal mask leaves.

    Equation:
        2 s^2 (q + v'), v' = heads x width of a value's head; half of it where causal; of layers with a window the part
        that `windowed_scores` leaves

    Source:
        [2]: 4 b s^2 h for plain heads; [3] counts the same.
    """
    width = attention_widths(shape)
    values = shape.heads * shape.latent.value_dim if shape.latent else width.query
    narrow = _windowed_layers(shape)
    scores = (1.0 - narrow + narrow * _windowed_scores(shape, sequence)) * sequence * sequence
    return 2 * scores * (width.query + values) * (0.5 if causal else 1.0)


def sequence_flops(
    shape: Transformer, sequence: Number, *, causal: bool = False, head: bool = True, recompute: str = "none"
) -> Number:
    """Return the operations of one sequence, forward and backward [FLOP].

    Args:
        sequence: length s [1].
        causal: count the half of attention that a causal mask leaves.
        head: count the output layer over the vocabulary.
        recompute: none (model FLOPs, for MFU), selective (attention again) or full (every layer again), for HFU.

    Equation:
        3 x (2 s x matrix weights + attention) x layers + 6 s h V; the forward pass of the recomputed part once more

    Source:
        [1] equation 3 with full recompute. [2] appendix A writes s / 3h with selective recompute, which counts the
        attention that is done again three times; here it counts once, so 1.7 % in place of 5.2 % on its 22B model.
    """
    mixed = moe_layers(shape)
    weights = (shape.layers - mixed) * _layer_matrix_weights(shape) + mixed * _layer_matrix_weights(shape, dense=False)
    matrices, attention = 2 * sequence * weights, shape.layers * _attention_flops(shape, sequence, causal=causal)
    again = {"none": 0.0, "selective": attention, "full": matrices + attention}[recompute]
    # 2 operations a weight and token, forward and twice backward
    output = 6 * sequence * shape.hidden * shape.vocabulary if head else 0
    # backward costs twice the forward pass: gradients of inputs and of weights
    return 3 * (matrices + attention) + again + output
