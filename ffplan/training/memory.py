"""Device memory of every stage of a plan, part by part; takes floats and arrays.

Sources:
    [1] Korthikanti et al., arXiv 2205.05198, section 4 (layers of the first and last stage).
    [2] Rajbhandari et al., "ZeRO", SC'20, arXiv 1910.02054 (sharded states).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats, Number
from ffplan.base.record import record
from ffplan.training.kept_activations import _in_flight, _layer_kept_bytes, policy_kept_bytes
from ffplan.training.model_flops import (
    _copied_weights,
    _layer_weights,
    _moe_fraction,
    _narrow_weights,
    attention_widths,
    feed_forward_weights,
)
from ffplan.training.parallel_plan import _layers_before, _units_of, stage_layers
from ffplan.training.recompute import _fraction_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.models import Transformer
    from ffplan.training.axes import ParallelPlans

WEIGHT = 2.0
"""Bytes of a weight at 16 bits [byte]."""
PASSING = 2.0
"""Layers whose activations are on their way to the host or back: one computes while the other is copied [1]."""
LOGIT_BYTES = 6.0
"""Bytes that a score over the vocabulary keeps: 2 as computed, 4 at 32 bits."""
EAGER_LOGIT_BYTES = 10.0
"""The same where every operation of the loss is a kernel: 2 as computed, 4 of its logarithm and 4 of its gradient."""
PARTS = ("weights", "gradients", "optimizer", "activations", "logits", "working")
"""Parts of the memory of a stage."""


@record
class _RankParameters:
    """Parameters of a rank [1]."""

    layer: Number
    """Mean over layers, without routed experts."""
    experts: Number
    """Routed experts, mean over layers with and without them."""
    embedding: Number
    """Embedding of the vocabulary, or the output layer."""


def _rank_parameters(shape: Transformer, plans: ParallelPlans, share: Number) -> _RankParameters:
    """Return the parameters that a rank holds of a layer and of the vocabulary.

    Args:
        shape: the model: E routed experts in a fraction of its layers, vocabulary V.
        plans: the plans: tensor parallelism t, within experts t_e, expert parallelism e.
        share: fraction of layers with experts [1].

    Returns:
        Parameters [1] before ZeRO.

    Equation:
        layer / t without routed experts, but routers and the narrow matrices of latent attention whole, and one head of
        keys and values where t exceeds their heads; experts E x 3 h f_e / (e t_e); V h / t

    Source:
        Megatron-LM's mapping; norms and biases are counted as split, which they are not: they are small.
    """
    common, whole = _layer_weights(shape), _narrow_weights(shape)
    routed: Number = 0.0
    if shape.experts is not None:
        expert_weights = shape.experts.routed * feed_forward_weights(shape, shape.experts.ffn)
        routed = share * expert_weights / (plans.expert * plans.expert_tensor)
        common = (1 - share) * common + share * (_layer_weights(shape, dense=False) - expert_weights)
        # every rank routes its own tokens, so it needs the whole router
        whole = whole + share * shape.hidden * shape.experts.routed
    common = common + _copied_weights(shape, plans.tensor)
    return _RankParameters(
        (common - whole) / plans.tensor + whole, routed, shape.vocabulary * shape.hidden / plans.tensor
    )


@record
class _StageBytes:
    weights: Number
    gradients: Number
    optimizer: Number
    activations: Number
    logits: Number
    working: Number
    """Fresh gradients, layers gathered under ZeRO 3, a recomputed layer: what these take beyond the logits, which are
    free once the backward pass of the layers begins."""
    host: Number = 0.0
    """What host memory holds for a rank; not in the total."""

    @property
    def total(self) -> Number:
        """Total [byte]."""
        total: Number = sum(getattr(self, name) for name in PARTS)
        return total


def _passing(
    shape: Transformer,
    plans: ParallelPlans,
    parts: _RankParameters,
    held: tuple[Number, Number, Number],
    last_stage: Number,
    gathers: Number,
) -> tuple[Number, Number]:
    """Return the memory of the scores over the vocabulary, and other temporary memory beyond it [byte]."""
    p, (count, copies, share) = plans, held
    score = EAGER_LOGIT_BYTES if p.eager else LOGIT_BYTES
    passes = last_stage * (1.0 + p.mtp_layers)
    logits = passes * score * p.tokens(shape.sequence) * shape.vocabulary / p.tensor
    layer = parts.layer + parts.experts
    # one unit computes while the next is gathered
    pair = np.minimum(2 * _units_of(count, p)[1], count) * layer
    root = np.where(gathers, (p.width * copies + p.gradient_bytes * last_stage) * parts.embedding, 0.0)
    output = np.where(gathers, 0.0, WEIGHT * parts.embedding * last_stage)
    again = np.where(_fraction_again(shape, p, "moved") > 0, _layer_kept_bytes(shape, p, share), 0.0)
    of_layers = np.where(gathers, (p.width + p.gradient_bytes) * pair, WEIGHT * layer) + again
    if p.dispatcher == "allgather":  # tokens of all ranks that share the experts, and results to scatter
        both = 2 * p.width * p.gathered(shape.sequence) * shape.hidden
        of_layers = of_layers + np.where(np.asarray(share) > 0, both, 0.0)
    # loss and layers take turns, so the larger counts; the logits are a part by themselves
    return logits, root + np.maximum(of_layers, logits + output) - logits


def _end_parameters(shape: Transformer, plans: ParallelPlans, first: Number, last: Number) -> tuple[Number, Number]:
    """Return the copies of the embedding on a stage, and the projections of layers that predict further tokens.

    Returns copies, the output layer among them, and parameters [1].
    """
    both, predictors = np.asarray(first) & np.asarray(last), np.asarray(last) * plans.mtp_layers
    copies = np.where(both, 1.0 if shape.tied else 2.0, np.asarray(first) * 1.0 + np.asarray(last) * 1.0)
    if plans.schedule != "dualpipe":  # its last stage lies on the rank of the first, which has the embedding
        apart = ~np.asarray(first) & (not shape.tied)
        copies = copies + (predictors > 0) * apart  # further tokens are looked up on the last stage
    return copies, predictors * (2 * shape.hidden**2 / plans.tensor)


def stage_bytes(shape: Transformer, plans: ParallelPlans, stage: Number) -> _StageBytes:
    """Return the memory of one stage, part by part [byte].

    Args:
        stage: position of the stage, the first 0 [1].

    Equation:
        weights 2 N, gradients g N, optimizer o N (12 N for Adam at 32 bits), sharded from ZeRO 3, 2, 1 on; under ZeRO 3
        no weights but the optimizer's own if gathering casts them; layers x kept x micro-batches in
        flight, of layers whose activations are on the host two of one micro-batch; under ZeRO 3 the embeddings whole,
        and the output layer's gradient; the larger of what the loss takes on the last stage, 6 T V / t for the scores
        (10 if not fused) and the output layer's gradient, and of what a layer's backward pass takes: its gradients at
        16 bits before they are added up, under ZeRO 3 two units whole with their gradients, one whole layer where
        element-wise kernels run again, and 2 w T / t e t_e h where tokens are gathered for experts

    Source:
        [1]; [2]. The scores are free before the backward pass of the layers begins. What a runtime takes
        beyond them is in `memory_margins`; buffers of its libraries are left out.
    """
    p, count = plans, stage_layers(shape.layers, plans, stage)
    first_stage, last_stage = np.asarray(stage) == 0, np.asarray(stage) == p.pipeline - 1
    share = _moe_fraction(shape, p.pipeline, count, _layers_before(shape.layers, p, stage))
    parts = _rank_parameters(shape, p, share)
    copies, projections = _end_parameters(shape, p, first_stage, last_stage)
    plain, routed = parts.layer * count + parts.embedding * copies + projections, parts.experts * count
    shared, zero = p.sharing, np.asarray(p.zero)
    # a rank of DualPipe holds two stages, one for each direction
    twice = 2.0 if p.schedule == "dualpipe" else 1.0

    def states(size: Number, least: int) -> Number:
        mine = np.where(zero >= least, p.sharing_experts, 1.0)
        divided = plain / np.where(zero >= least, shared, 1.0) + routed / mine
        held: Number = size * divided
        return held

    gathers = (zero == 3) & (shared > 1)
    logits, working = _passing(shape, p, parts, (count, copies, share), last_stage, gathers)
    single = p.precision == "tf32"  # no second copy of the weights
    # ZeRO shards optimizer states from stage 1 on, gradients from 2, weights from 3
    weight, moments = states(4.0 if single else WEIGHT, 3), states(p.optimizer_bytes, 1)
    # the optimizer's copy is cast on the way, so no 16-bit weights stay behind
    if p.casts and p.offload == "none":
        weight = np.where(gathers, 0.0, weight)
    gradient = states(1.0, 2) * p.gradient_bytes
    kept = policy_kept_bytes(shape, p, share)
    flight, away = _in_flight(p, stage), np.minimum(p.offload_layers, count)
    # on the host all micro-batches in flight wait; on the device only those on their way
    host = kept * away * flight
    if p.offload != "none":
        host, moments = host + moments, 0.0 * moments
    if p.offload == "parameters":
        host, weight = host + weight, 0.0 * weight
    return _StageBytes(
        weights=twice * weight,
        gradients=twice * gradient,
        optimizer=moments,
        # of the layers on the host, a few are on the device: on their way, or computing
        activations=kept * ((count - away) * flight + np.minimum(away, PASSING)),
        logits=logits,
        working=working,
        host=host,
    )


def plan_bytes(shape: Transformer, plan: ParallelPlans, stages: Sequence[float]) -> dict[str, Floats]:
    """Return the memory of several stages of one plan at once; the plan holds plain numbers.

    Args:
        stages: positions of the stages, the first 0 [1].

    Returns:
        Parts, total and host memory by name [byte], each by stage.
    """
    parts = stage_bytes(shape, plan, np.array(stages, dtype=float))
    sizes = {name: getattr(parts, name) for name in (*PARTS, "total", "host")}
    return {name: np.broadcast_to(size, len(stages)) for name, size in sizes.items()}


def kv_bytes(shape: Transformer, tokens: Number, width: Number = WEIGHT) -> Number:
    """Return the keys and values that inference keeps of a context [byte].

    Args:
        shape: the model: layers L, keys k and values v of all heads; latent rank r and rotary width d_r.
        tokens: tokens of the context [1].
        width: bytes of a number [byte].

    Equation:
        tokens L (k + v) w; with latent attention tokens L (r + d_r) w

    Source:
        DeepSeek-V2, arXiv 2405.04434, section 2.1: the cache of latent attention holds the latent vector and one
        rotary key.
    """
    if shape.latent is not None:
        return tokens * shape.layers * (shape.latent.key_value_rank + shape.latent.rope_dim) * width
    widths = attention_widths(shape)
    return tokens * shape.layers * (widths.key + widths.value) * width
