"""Time of one decoding step and of a prompt: named terms over the design's own hardware.

Sources:
    [1] Pope et al., "Efficiently scaling transformer inference", arXiv 2211.05102: memory time of weights and of keys
        and values, compute time, and communication of a decoding step.
    [2] Agrawal et al., Sarathi-Serve, arXiv 2403.02310: prompts in chunks beside decoding.
"""

from __future__ import annotations

from ffplan.base.array_math import Number, maximum
from ffplan.base.record import record
from ffplan.catalog.models import Transformer
from ffplan.serving.memory import _ModelWeights, cache_bytes, cache_share, cached_tokens, dense_bytes, expert_bytes
from ffplan.serving.plan import Rates, _Deployment, _Machine
from ffplan.training.model_flops import attention_out, attention_widths


@record
class Served:
    """A model on a deployment, with the constants of its engine."""

    shape: Transformer
    weights: _ModelWeights
    deployment: _Deployment
    machine: _Machine
    rates: Rates
    mixed: bool = True
    """True if sequences decode in steps that carry prompts."""


@record
class _StepTime:
    """Terms of a step [s]; their sum is its time."""

    weights: Number
    """Dense weights from memory."""
    experts: Number
    """Experts from memory."""
    compute: Number
    """GEMMs of the sequences beyond the time of their weights."""
    cache: Number
    """Keys and values from memory."""
    layers: Number
    """Kernels of the layers beyond memory and arithmetic."""
    sequences: Number
    """Scheduling, sampling and text of each sequence."""
    communication: Number
    """Collectives within layers, and hand-over between pipeline stages."""
    fixed: Number
    """Time whatever is in the step."""

    @property
    def total(self) -> Number:
        """Seconds of the step [s]."""
        memory = self.weights + self.experts + self.compute + self.cache
        return memory + self.layers + self.sequences + self.communication + self.fixed


def token_flops(weights: _ModelWeights, deployment: _Deployment) -> tuple[Number, Number]:
    """Return the operations of one token on each accelerator that works on it.

    Returns:
        Operations [FLOP] of dense matrices and of experts, over all pipeline stages, without attention's own.

    Equation:
        2 (attention + dense + head) / t; 2 k experts x attention groups / accelerators that share them

    Source:
        [1]: two operations a weight.
    """
    dense = 2 * (weights.attention + weights.dense + weights.head) / deployment.tensor
    experts = 2 * weights.top_k * weights.expert * weights.expert_layers
    return dense, experts * deployment.expert_groups / deployment.expert_gpus


def _product_seconds(served: Served, tokens: Number) -> Number:
    """Return the time of GEMMs for some tokens [s], without reading weights.

    Args:
        tokens: tokens of one attention group [1].

    Equation:
        tokens (dense + experts / grouped) / (peak eta)

    Source:
        [1]; GEMMs of experts have fewer rows each, and uneven ones.
    """
    dense, experts = token_flops(served.weights, served.deployment)
    return tokens * (dense + experts / served.rates.grouped) / (served.machine.peak * served.rates.matrix)


def collective_seconds(served: Served, tokens: Number) -> Number:
    """Return the time of the collectives of one pass over all layers.

    Args:
        tokens: tokens of one attention group [1].

    Returns:
        Seconds [s].

    Equation:
        2 L (call + 2 (t - 1) / t x tokens h 2 / link) for t > 1; where attention groups share experts, dispatch and
        combine take the place of the second in L_e layers: 2 (exchange + r tokens / t h bytes / link), r = (e - 1)
        (1 - (1 - 1 / e)^k) ranks a token on average; out at the width of activations, back at 16 bit; link among the
        tensor group in the first, among all that share the experts in the second

    Source:
        [1], two allreduces a layer; DeepSeek-V3, arXiv 2412.19437, section 3.2.2, for dispatch and combine.
    """
    deployment, machine = served.deployment, served.machine
    hidden, tensor = served.shape.hidden, deployment.tensor
    volume = 2 * (tensor - 1) / tensor * tokens * hidden * 2
    shared = served.weights.expert_layers * deployment.shares_experts
    split = (2 * served.shape.layers - shared) * (served.rates.call + volume / machine.link) * (tensor > 1)
    ranks = deployment.expert_gpus
    reached = (ranks - 1) * (1 - (1 - 1 / ranks) ** served.weights.top_k)
    # out at 1 byte if activations are quantised, else 2; back at 2: on average of the two calls
    width = 2 - 0.5 * deployment.quantised
    moved = served.rates.exchange + reached * tokens / tensor * hidden * width / machine.exchange
    return split + 2 * shared * moved


def hand_over_seconds(served: Served, tokens: Number) -> Number:
    """Return the time of handing tokens on between pipeline stages.

    Args:
        tokens: tokens of one attention group [1].

    Returns:
        Seconds [s] of a token's way through all stages.

    Equation:
        (p - 1) (call + tokens h 2 / link)

    Source:
        [1].
    """
    moved = served.rates.call + tokens * served.shape.hidden * 2 / served.machine.link
    return (served.deployment.pipeline - 1) * moved


def _kernels(served: Served) -> Number:
    """Return the time of the layers' kernels beyond memory and arithmetic [s]."""
    rates, layers = served.rates, served.shape.layers
    latent = rates.latent_layer * (served.shape.latent is not None)
    seconds = rates.layer + latent + rates.quantised_layer * served.deployment.quantised
    return layers * seconds + served.weights.expert_layers * rates.expert_layer


def step_time(served: Served, sequences: Number, context: Number, tokens: Number = 1.0) -> _StepTime:
    """Return the time of one decoding step.

    Args:
        sequences: sequences of one attention group that decode [1]; with fewer than stages, stages stand idle.
        context: tokens that each has so far, on average [1].
        tokens: tokens a sequence checks in the step [1]; more than 1 with speculation.

    Returns:
        Terms [s]; with a pipeline, summed over all stages for a token.

    Equation:
        weights / (B eta_w) + experts / (B eta_e) + max(0, GEMMs - both) + keys and values / (B eta_c)
        + kernels of the layers + sequences x sequence + collectives + step; B the memory bandwidth

    Source:
        [1].
    """
    deployment, machine, rates = served.deployment, served.machine, served.rates
    # a pipeline has as many groups of sequences under way as stages, of one sequence at least
    batch = maximum(sequences / deployment.pipeline, 1.0)
    checked = batch * tokens
    weights = dense_bytes(served.weights, deployment) / (machine.bandwidth * rates.weights)
    experts = expert_bytes(served.weights, deployment, checked) / (machine.bandwidth * rates.experts)
    products = _product_seconds(served, checked)
    read = cached_tokens(served.shape, context) * cache_bytes(served.shape, deployment.cache_width)
    held = read * cache_share(served.shape, deployment.tensor)
    return _StepTime(
        weights=weights,
        experts=experts,
        compute=maximum(products - weights - experts, 0.0),
        cache=batch * held / (machine.bandwidth * rates.cache),
        layers=_kernels(served),
        sequences=sequences * (rates.sequence + rates.expert_sequence * (served.weights.expert_layers > 0)),
        communication=collective_seconds(served, checked) + hand_over_seconds(served, checked),
        fixed=rates.step,
    )


def attention_flops(shape: Transformer, tokens: Number, before: Number = 0.0) -> Number:
    """Return the operations of causal attention of a prompt.

    Args:
        tokens: tokens of the prompt that are computed [1].
        before: tokens in front of them whose keys and values are cached [1].

    Returns:
        Operations [FLOP] over all layers and heads.

    Equation:
        2 L heads (d_q + d_v) x tokens x (before + tokens / 2); layers with a window see at most its tokens

    Source:
        [1]; Korthikanti et al., arXiv 2205.05198, appendix A, with half the products for causal attention.
    """
    width = attention_widths(shape).query + attention_out(shape)
    seen = cached_tokens(shape, before + tokens / 2)
    return 2 * shape.layers * width * tokens * seen


def prompt_seconds(served: Served, tokens: Number, before: Number = 0.0) -> Number:
    """Return the time that a prompt takes of the accelerators of its attention group.

    Args:
        tokens: tokens that are computed [1].
        before: tokens in front of them that are cached [1].

    Returns:
        Seconds [s] over all pipeline stages; weights and fixed times count in the step that carries it.

    Equation:
        GEMMs + attention / (t peak_16 eta_a) + collectives

    Source:
        [1]; [2].
    """
    attention = attention_flops(served.shape, tokens, before) / served.deployment.tensor
    moved = collective_seconds(served, tokens) - collective_seconds(served, 0.0)
    return _product_seconds(served, tokens) + attention / (served.machine.peak16 * served.rates.attention) + moved


def launch_seconds(served: Served) -> Number:
    """Return the least time of a step with prompts, over all pipeline stages.

    Returns:
        Seconds [s].

    Equation:
        layers x prompt_layer: such a step runs without CUDA graphs, so that the host launches every kernel

    Source:
        vLLM documentation, "CUDA Graphs" (recalled): steps beyond the captured sizes run without them.
    """
    return prompt_layers(served) * served.rates.prompt_layer


def prompt_layers(served: Served) -> Number:
    """Return the layers of a prompt by the kernels that the host launches [1]; experts and latent attention add one."""
    layers = served.shape.layers
    return layers * (2 if served.shape.latent is not None else 1) + served.weights.expert_layers


def _critical_batch(machine: _Machine, width: float) -> Number:
    """Return the tokens of a step from which arithmetic takes longer than reading the weights.

    Args:
        machine: the accelerator, with its peak at the precision of the weights.
        width: bytes of a weight [byte].

    Returns:
        Tokens [1], at peak rates.

    Equation:
        peak x width / (2 B)

    Source:
        Scaling book, chapter on GPUs: 295 of an H100 at 16 bit, 281 of a B200 at 8.
    """
    return machine.peak * width / (2 * machine.bandwidth)
