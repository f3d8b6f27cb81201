"""Parameters that a rank holds, by what they are reduced over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.record import record
from ffplan.training.model_flops import feed_forward_weights, layer_weights, narrow_weights

if TYPE_CHECKING:
    from ffplan.training.model_shape import Shape
    from ffplan.training.parallel_plan import Plans


@record
class Held:
    """Parameters of a rank [1]."""

    layer: Any
    """Of a layer, in the mean, without routed experts."""
    experts: Any
    """Routed experts of a layer, in the mean over layers with and without."""
    embedding: Any
    """Embedding of the vocabulary, or the output layer."""


def held(shape: Shape, plans: Plans, share: Any) -> Held:
    """Return the parameters that a rank holds of a layer and of the vocabulary.

    Args:
        shape: the model: E routed experts in a share of its layers, vocabulary V.
        plans: the plans: tensor parallelism t, within experts t_e, expert parallelism e.
        share: share of layers with experts [1].

    Returns:
        Parameters [1] before ZeRO.

    Equation:
        layer / t without routed experts, but routers and the narrow matrices of latent attention whole; experts
        E x 3 h f_e / (e t_e); V h / t

    Source:
        Megatron-LM's mapping; norms and biases are counted as split, which they are not: they are small.
    """
    common, whole = layer_weights(shape), narrow_weights(shape)
    routed: Any = 0.0
    if shape.experts is not None:
        each = shape.experts.routed * feed_forward_weights(shape, shape.experts.ffn)
        routed = share * each / (plans.expert * plans.expert_tensor)
        common = (1 - share) * common + share * (layer_weights(shape, dense=False) - each)
        whole = whole + share * shape.hidden * shape.experts.routed
    return Held((common - whole) / plans.tensor + whole, routed, shape.vocabulary * shape.hidden / plans.tensor)
