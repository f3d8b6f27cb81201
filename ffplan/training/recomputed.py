"""Parts of a layer that a plan keeps in part only and computes again: norms, latents, the activation function.

Sources:
    [1] Korthikanti et al., arXiv 2205.05198, section 4 (what a layer keeps, tensor by tensor).
    [2] DeepSeek-V3 report, arXiv 2412.19437, section 3.2.3: RMSNorm and MLA up-projections are recomputed, and SwiGLU
        from its inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.training.layer import _expert_rows, _LayerTimes
from ffplan.training.memory_traffic import _activation_numbers
from ffplan.training.model_flops import attention_widths
from ffplan.training.model_shape import shared_width
from ffplan.training.recompute import _fraction_again

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.models import Transformer
    from ffplan.training.accelerator_rates import AcceleratorRates
    from ffplan.training.axes import ParallelPlans


def _latent_flops(shape: Transformer, tensor: Number) -> Number:
    """Return the operations of a token's up-projections from the latents [FLOP]; 0 without latent attention."""
    latent = shape.latent
    if latent is None:
        return 0.0
    queries = attention_widths(shape).query * (latent.query_rank or 0)
    wide = shape.heads * (latent.nope_dim + latent.value_dim) * latent.key_value_rank
    return 2.0 * (queries + wide) / tensor


def _activation_width(shape: Transformer, plans: ParallelPlans, share: Number) -> Number:
    """Return the inner width of a token's feed-forward networks on a rank, averaged over layers [1]."""
    dense = shape.ffn / plans.tensor
    if shape.experts is None:
        return dense
    rows = _expert_rows(shape, plans) / plans.tokens(shape.sequence)
    mixed = shared_width(shape.experts) / plans.tensor + rows * shape.experts.ffn / plans.expert_tensor
    return (1 - share) * dense + share * mixed


def parts_again(shape: Transformer, plans: ParallelPlans, rates: AcceleratorRates, share: Number) -> _LayerTimes:
    """Return the time of the parts that a layer computes again for a micro-batch; zero under full recomputation.

    Args:
        shape: the model: width h, up-projections from latents, inner width f.
        plans: the plans: the parts, bytes of a number w, u = t with sequence parallelism, else 1.
        rates: rates.
        share: fraction of layers with experts [1].

    Returns:
        Times [s].

    Equation:
        norms: 4 w h / u bytes a token; latents: 2 (q r_q + heads (d_nope + d_v) r_kv) / t operations; activation: the
        numbers that it moves forward, w each

    Source:
        [1] and [2] for what is computed again.
    """
    # what a policy repeats whole is counted with it, and not again here
    tokens, part = plans.tokens(shape.sequence), 1.0 - _fraction_again(shape, plans, "moved")
    projected = 1.0 - _fraction_again(shape, plans, "qkv")
    moved: Number = 0.0
    if "norms" in plans.again:
        # two norms, each read and written
        moved = moved + 4 * plans.width * shape.hidden / plans.between
    if "activation" in plans.again:
        numbers = _activation_numbers(shape, plans)[0]
        moved = moved + numbers * plans.width * _activation_width(shape, plans, share)
    flops = _latent_flops(shape, plans.tensor) if "latent" in plans.again else 0.0
    return _LayerTimes(
        products=projected * tokens * flops / rates.products,
        products_back=0.0,
        products_again=0.0,
        attention=0.0,
        attention_back=0.0,
        scores=0.0,
        moved=part * tokens * moved / rates.memory,
        back=0.0,
        kernels=0.0,
    )
