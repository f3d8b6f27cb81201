"""A micro-batch in one layer, forward and backward: computing, recomputation, exposed collectives.

Sources:
    [1] Korthikanti et al., arXiv 2205.05198, section 4 (what a layer keeps, tensor by tensor).
    [2] DeepSeek-V3 report, arXiv 2412.19437, section 3.2.3: RMSNorm and MLA up-projections are recomputed, and SwiGLU
        from its inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number
from ffplan.base.record import record
from ffplan.training import layer, overlap
from ffplan.training.exchange import _exchange_time
from ffplan.training.group_collectives import _group_time
from ffplan.training.layer import _expert_rows, _LayerTimes
from ffplan.training.memory_traffic import _activation_numbers, _score_bytes
from ffplan.training.model_flops import attention_out, attention_widths, shared_width
from ffplan.training.parallel_plan import _strides
from ffplan.training.recompute import _fraction_again
from ffplan.training.train_run import TrainRun, _pace_fraction, placement_of

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """Return the time of the parts that a layer computes again for a micro-batch; zero under full recomputation [s].

    Args:
        shape: the model: width h, up-projections from latents, inner width f.
        plans: the plans: the parts, bytes of a number w, u = t with sequence parallelism, else 1.
        share: fraction of layers with experts [1].

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


@record
class _MicroBatch:
    """A micro-batch in one layer [s]."""

    forward: _LayerTimes
    back: _LayerTimes
    again: _LayerTimes
    """Activation recomputation."""
    exposed: dict[str, Number]
    """Exposed time of collectives, by the names of `COLLECTIVES`."""

    @property
    def ahead(self) -> Number:
        """Computing forward."""
        return _pass_time(self.forward)

    @property
    def behind(self) -> Number:
        """Computing backward, with recomputation."""
        return _pass_time(self.back) + _pass_time(self.again)

    @property
    def whole(self) -> Number:
        """All of it."""
        return sum(self.exposed.values(), self.ahead + self.behind)


def _pass_time(work: _LayerTimes) -> Number:
    return work.products + work.attention + work.scores + work.moved + work.kernels


def _mean_layer(run: TrainRun) -> _LayerTimes:
    """Return the mean layer of the slowest stages: all behind the first, which holds the dense layers."""
    dense = layer._dense_layer(run.shape, run.plans, run.speeds)
    if run.shape.experts is None:
        return dense
    share = _pace_fraction(run.shape, run.plans)
    mixed = layer.expert_layer(run.shape, run.plans, run.speeds)
    return dense.scaled(1 - share).plus(mixed.scaled(share))


def _backward(forward: _LayerTimes, plans: ParallelPlans) -> _LayerTimes:
    """Return the backward pass: twice the operations; fused attention also computes its scores again."""
    return _LayerTimes(
        products=forward.products_back,
        products_back=0.0,
        products_again=0.0,
        attention=forward.attention_back,
        attention_back=0.0,
        scores=_score_bytes(plans, back=True) / _score_bytes(plans) * forward.scores,
        moved=forward.back,
        back=0.0,
        kernels=2 * forward.kernels,
    )


def _again(shape: Transformer, plans: ParallelPlans, forward: _LayerTimes) -> _LayerTimes:
    """Return the recomputed part of a layer, operator by operator; small kernels in proportion to GEMMs."""
    core, moved = (_fraction_again(shape, plans, name) for name in ("attention", "moved"))
    return _LayerTimes(
        products=forward.products_again,
        products_back=0.0,
        products_again=0.0,
        attention=core * forward.attention,
        attention_back=0.0,
        scores=core * forward.scores,
        moved=moved * forward.moved,
        back=0.0,
        kernels=forward.products_again / forward.products * forward.kernels,
    )


def _split_input(shape: Transformer) -> Number:
    """Return the numbers of a token that attention's split matrices take [1]: its state, or latents and rotary key.

    Source:
        megatron-core 0.14.0, multi_latent_attention.py: the matrices into latents are copied on all tensor ranks, those
        out of them are split.
    """
    latent = shape.latent
    if latent is None:
        return shape.hidden
    return (latent.query_rank or shape.hidden) + latent.key_value_rank + latent.rope_dim


def _split_networks(run: TrainRun) -> Number:
    """Return the fraction of layers whose feed-forward network tensor ranks split [1]: all but those of routed experts
    alone.

    Source:
        megatron-core 0.14.0, moe_layer.py and token_dispatcher.py: router and exchange take a rank's part of the
        sequence; ranks that split an expert gather and add up as part of the exchange.
    """
    experts = run.shape.experts
    if experts is None or shared_width(experts):
        return 1.0
    return 1.0 - _pace_fraction(run.shape, run.plans)


def _tensor(run: TrainRun, forward: _LayerTimes, _: _LayerTimes) -> Number:
    """Return the exposed time of tensor parallelism's collectives in a layer [s].

    Products at FP8 gather operands that are cast already, one byte a number (Transformer Engine and torchao, recalled);
    sums of parts stay at 16 bits.

    Source:
        megatron-core 0.14.0, tensor_parallel/layers.py: the linear layer saves a rank's
        part of its input, and gathers the rest for the gradient of its weights, recomputed or not.
    """
    p, shape, split = run.plans, run.shape, run.plans.sequence_parallel * 1.0
    placement, tokens = placement_of(run, p.tensor, _strides(p)["tensor"]), p.tokens(run.shape.sequence)

    def time(operation: str, width: Number, size: Number) -> Number:
        return _group_time(run.system, operation, placement, size * tokens * width)

    narrow, wide = _split_input(shape), shape.hidden
    reduce, reduce_input = (time("allreduce", width, p.width) for width in (wide, narrow))
    scatter, scatter_input = (time("reduce-scatter", width, p.width) for width in (wide, narrow))
    gather, gather_input = (time("all-gather", width, p.operand_width) for width in (wide, narrow))
    qkv, out, up, down = (_fraction_again(shape, p, name) for name in ("qkv", "out", "up", "down"))
    # inputs are gathered forward and where their GEMMs run again, and anew for gradients of weights unless kept
    anew = 0.0 if run.speeds.keeps_gathered else 1.0
    attention = (1 - split) * ((1 + out) * reduce + reduce_input)
    attention += split * ((1 + out) * scatter + scatter_input + gather + (1 + anew + qkv) * gather_input)
    parts = (2 + down) * scatter + (2 + anew + up) * gather
    network = (1 - split) * (2 + down) * reduce + split * _split_networks(run) * parts
    whole: Number = attention + network
    if "tensor" not in p.overlap:
        return whole
    # computing beside it: a forward pass, a backward one of twice the work, and what runs again
    return overlap._exposed(whole, 3 * forward.products + forward.products_again, p.tensor, run.hiding)


def _context(run: TrainRun, forward: _LayerTimes, _: _LayerTimes) -> Number:
    """Return the exposed time of passing keys and values around in a layer [s], or of exchanging heads."""
    p, width = run.plans, attention_widths(run.shape, run.plans.tensor)
    placement = placement_of(run, p.context, _strides(p)["context"])
    if p.by_heads:  # queries, keys and values there, the result back; their gradients the other way
        token = p.width * p.tokens(run.shape.sequence) / p.tensor
        around = width.query + width.key + width.value
        sizes = (token * around, token * attention_out(run.shape))
        once: Number = sum(_group_time(run.system, "all-to-all", placement, size) for size in sizes)
        return (2 + _fraction_again(run.shape, p, "attention")) * once
    # keys and values of the whole sequence: what each rank has seen after a round
    keys = p.width * p.micro * run.shape.sequence * (width.key + width.value) / p.tensor
    gather = _group_time(run.system, "all-gather", placement, keys)
    share = run.hiding
    ahead = overlap._exposed(gather, forward.attention, p.context, share)
    again = _fraction_again(run.shape, p, "attention")
    # backward, gradients of keys and values go round as well
    return (1 + again) * ahead + overlap._exposed(2 * gather, forward.attention_back, p.context, share)


def _experts(run: TrainRun, forward: _LayerTimes, back: _LayerTimes) -> Number:
    """Return the exposed time of bringing tokens to experts and back in a layer [s]."""
    return _exchange_time(run, _pass_time(forward) + _pass_time(back))


COLLECTIVES: dict[str, Callable[[TrainRun, _LayerTimes, _LayerTimes], Number]] = {
    "tensor": _tensor,
    "context": _context,
    "experts": _experts,
}
"""Exposed time of each axis's collectives in a layer, forward and backward."""


def micro_batch(run: TrainRun) -> _MicroBatch:
    """Return a micro-batch's times in an average layer, part by part."""
    forward = _mean_layer(run)
    back = _backward(forward, run.plans)
    exposed = {name: time(run, forward, back) for name, time in COLLECTIVES.items()}
    again = _again(run.shape, run.plans, forward)
    if run.plans.again:
        again = again.plus(parts_again(run.shape, run.plans, run.speeds, _pace_fraction(run.shape, run.plans)))
    return _MicroBatch(forward, back, again, exposed)
