"""Bytes of a served model: weights with their scales, keys and values, and the tokens that fit beside the weights.

Sources:
    [1] Kwon et al., PagedAttention, arXiv 2309.06180: keys and values in blocks; a request wastes half a block.
    [2] DeepSeek-V2, arXiv 2405.04434, section 2.1: a latent of keys and values, the same for all heads.
    [3] Ainslie et al., arXiv 2305.13245: grouped-query attention.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, Truth, ceil_div, maximum, minimum
from ffplan.base.record import record
from ffplan.training.model_flops import attention_weights, feed_forward_weights, moe_layers, shared_width

if TYPE_CHECKING:
    from ffplan.catalog.models import Transformer
    from ffplan.serving.plan import _Deployment

UNQUANTISED = 2.0
"""Bytes of a weight of the embeddings, the output layer and the router, which checkpoints keep at 16 bit."""


@record
class _ModelWeights:
    """Weights of a model by kind [1], over all layers."""

    attention: Number
    dense: Number
    """Feed-forward networks of layers without experts, and experts that every token goes to."""
    expert: Number
    """One routed expert in one layer."""
    expert_layers: Number
    routed: Number
    """Routed experts of a layer."""
    top_k: Number
    router: Number
    head: Number
    """Output layer."""
    embedding: Number
    """Input embedding, unless it is the output layer."""


def model_weights(shape: Transformer) -> _ModelWeights:
    """Return the weights of a model by kind.

    Returns:
        Weights [1]; norms and biases, under a thousandth, are left out.

    Equation:
        layers x (h (q + k + v) + q h), matrices x h x f, vocabulary x h

    Source:
        Narayanan et al., arXiv 2104.04473, equation 2; [2] for latent attention.
    """
    experts = shape.experts
    layers = moe_layers(shape)
    dense = (shape.layers - layers) * feed_forward_weights(shape, shape.ffn)
    head = shape.vocabulary * shape.hidden
    embedding = 0 * head if shape.tied else head
    attention = shape.layers * attention_weights(shape)
    plain = _ModelWeights(
        attention=attention,
        dense=dense,
        expert=0.0,
        expert_layers=0.0,
        routed=1.0,
        top_k=0.0,
        router=0.0,
        head=head,
        embedding=embedding,
    )
    if experts is None:
        return plain
    return replace(
        plain,
        dense=dense + layers * feed_forward_weights(shape, shared_width(experts)),
        expert=feed_forward_weights(shape, experts.ffn),
        expert_layers=layers,
        routed=experts.routed,
        top_k=experts.top_k,
        router=layers * shape.hidden * experts.routed,
    )


def _touched_experts(routed: Number, top_k: Number, tokens: Number) -> Number:
    """Return how many experts of a layer at least one of some tokens goes to.

    Args:
        routed: routed experts E [1].
        top_k: experts of a token k [1].
        tokens: tokens B [1].

    Returns:
        Experts [1].

    Equation:
        E (1 - (1 - k / E)^B)

    Source:
        Tokens choose their experts independently and evenly: the expected number of non-empty bins.
    """
    return routed * (1 - (1 - top_k / routed) ** tokens)


def dense_bytes(weights: _ModelWeights, deployment: _Deployment) -> Number:
    """Return the bytes of all weights but routed experts that an accelerator reads in a step.

    Returns:
        Bytes over all pipeline stages [byte]: a token passes them one after the other.

    Equation:
        (attention + dense + head) / t, and the router whole

    Source:
        Shoeybi et al., Megatron-LM, arXiv 1909.08053: matrices split by columns and rows.
    """
    split = weights.attention * deployment.attention_width + weights.dense * deployment.width
    return (split + weights.head * UNQUANTISED) / deployment.tensor + weights.router * UNQUANTISED


def expert_bytes(weights: _ModelWeights, deployment: _Deployment, tokens: Number) -> Number:
    """Return the bytes of routed experts that an accelerator reads in a step.

    Args:
        tokens: tokens of a step in one attention group [1].

    Returns:
        Bytes over all pipeline stages [byte].

    Equation:
        touched experts x weights of one x layers / accelerators that share them

    Source:
        Lepikhin et al., GShard, arXiv 2006.16668: experts spread over accelerators.
    """
    touched = _touched_experts(weights.routed, weights.top_k, tokens * deployment.expert_groups)
    return touched * weights.expert * weights.expert_layers * deployment.width / deployment.expert_gpus


def weight_memory(weights: _ModelWeights, deployment: _Deployment) -> Number:
    """Return the bytes of weights in the memory of an accelerator.

    Returns:
        Bytes [byte] of an average pipeline stage.

    Equation:
        (dense bytes + embedding / t + experts of all layers / their accelerators) / p

    Source:
        As for `dense_bytes` and `expert_bytes`.
    """
    experts = weights.routed * weights.expert * weights.expert_layers * deployment.width
    embedding = weights.embedding * UNQUANTISED / deployment.tensor
    return (dense_bytes(weights, deployment) + embedding + experts / deployment.expert_gpus) / deployment.pipeline


def cache_bytes(shape: Transformer, width: Number) -> Number:
    """Return the bytes of keys and values of one token, over all heads and all layers.

    Args:
        width: bytes of an element [byte].

    Returns:
        Bytes [byte].

    Equation:
        2 x layers x key-value heads x d x width; with latent attention layers x (r_kv + d_rope) x width

    Source:
        [2]; [3].
    """
    if shape.latent is not None:
        return shape.layers * (shape.latent.key_value_rank + shape.latent.rope_dim) * width
    return 2 * shape.layers * shape.key_value_heads * shape.head_width * width


def cache_share(shape: Transformer, tensor: Number) -> Number:
    """Return the fraction of a token's keys and values that one rank of a tensor group holds.

    Args:
        tensor: tensor parallelism t [1].

    Returns:
        Fraction [1].

    Equation:
        ceil(key-value heads / t) / key-value heads, of the rank that holds most: from as many ranks as heads on, each
        holds one or a copy of one; 1 with latent attention, whose latent all heads share

    Source:
        [2]; [3].
    """
    if shape.latent is not None:
        return 1.0 + 0 * tensor
    return ceil_div(shape.key_value_heads, tensor) / shape.key_value_heads


def splits_heads(shape: Transformer, tensor: Number) -> Truth:
    """Return whether attention splits evenly over the ranks of a tensor group.

    Args:
        tensor: tensor parallelism t [1].

    Returns:
        True if t divides the heads, and divides the key-value heads or is a multiple of them. A latent has no heads.

    Source:
        vLLM, `get_num_kv_heads` and its models (recalled): each rank has as many key-value heads as the others, or a
        copy of one.
    """
    whole: Truth = shape.heads % tensor == 0
    if shape.latent is not None:
        return whole
    return whole & ((shape.key_value_heads % tensor == 0) | (tensor % shape.key_value_heads == 0))


def cached_tokens(shape: Transformer, context: Number) -> Number:
    """Return how many tokens of its context a sequence keeps, on average over layers.

    Args:
        context: tokens so far [1].

    Returns:
        Tokens [1]; fewer than `context` where layers have a sliding window.

    Equation:
        ((L - L_w) s + L_w min(s, w)) / L

    Source:
        Beltagy et al., Longformer, arXiv 2004.05150: attention within a sliding window.
    """
    if shape.window is None:
        return context
    share = shape.window.layers / shape.layers
    return (1 - share) * context + share * minimum(context, shape.window.tokens)


def _cache_room(memory: Number, share: Number, weights: Number, reserve: Number) -> Number:
    """Return the memory of an accelerator for keys and values.

    Args:
        memory: device memory [byte].
        share: fraction of it that the engine takes [1].
        weights: weights in it [byte].
        reserve: activations, graphs and communication buffers [byte].

    Returns:
        Bytes [byte]; 0 if the weights alone fill it.
    """
    return maximum(share * memory - weights - reserve, 0.0)


def _paged_tokens(tokens: Number, block: Number) -> Number:
    """Return the tokens for which a request holds memory.

    Args:
        tokens: tokens of the request [1].
        block: tokens of a block [1].

    Returns:
        Tokens [1] on average.

    Equation:
        n + (block - 1) / 2

    Source:
        [1]: the last block is half empty on average.
    """
    return tokens + (block - 1) / 2
