"""A transformer as formulas of training take it: its dimensions as numbers, or as arrays over plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.models import Experts, Transformer


def shape_of(model: Transformer, **replaced: Number) -> Transformer:
    """Return a model with some of its dimensions replaced by numbers or arrays.

    Args:
        model: the model of the catalogue.
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
    """Return the fraction of a stage's layers that have experts.

    Args:
        shape: the model; layers without experts come first.
        pipeline: stages p [1].
        count: layers of the stage n [1].
        before: layers in front of the stage b [1]; it is behind all layers without experts if omitted.

    Returns:
        Fraction [1].

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
