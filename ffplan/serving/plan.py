"""A deployment and the machine under it, as formulas of serving take them: numbers, or arrays over plans."""

from __future__ import annotations

from dataclasses import replace

from ffplan.base.array_math import Number, choose, maximum
from ffplan.base.record import record

WIDTHS = {"bf16": 2.0, "fp8": 1.0 + 4 / 16384, "int4": 0.5 + 4 / 128, "mxfp4": 0.5 + 1 / 32, "fp4": 0.5 + 1 / 16}
"""Bytes of a weight with its scales: FP8 in blocks of 128 x 128 with 4 bytes, INT4 in groups of 128 with 4, MXFP4 in
blocks of 32 with one, NVFP4 (`fp4`) in blocks of 16 with one."""
CACHE_WIDTHS = {"bf16": 2.0, "fp8": 1.0}
"""Bytes of an element of keys and values."""


@record
class _Machine:
    """One accelerator and its links."""

    bandwidth: Number
    """Device memory bandwidth [byte/s]."""
    peak: Number
    """Dense peak at the precision of the matrices [FLOP/s]."""
    peak16: Number
    """Dense peak at 16 bit, at which attention computes [FLOP/s]."""
    memory: Number
    """Device memory [byte]."""
    link: Number
    """Rate of collectives between the accelerators of a tensor group, one direction [byte/s]."""
    exchange: Number
    """The same between all that share a layer's experts."""


@record
class Rates:
    """Constants of an engine on one kind of accelerator."""

    weights: Number
    """Fraction of the memory bandwidth that reading weights reaches."""
    experts: Number
    """The same of experts, whose matrices are small."""
    cache: Number
    """The same of keys and values."""
    matrix: Number
    """Fraction of the peak that GEMMs of a prompt reach."""
    grouped: Number
    """Fraction of that rate that GEMMs of experts reach, with tokens sorted to them unevenly."""
    attention: Number
    """Fraction of the 16-bit peak that attention of a prompt reaches."""
    layer: Number
    """Time of a layer beyond the terms above [s]."""
    expert_layer: Number
    """Time more of a layer with experts [s]."""
    latent_layer: Number
    """Time more of a layer with latent attention, whose kernels are more [s]."""
    quantised_layer: Number
    """Time more of a layer that quantises activations before its GEMMs [s]."""
    sequence: Number
    """Time of a sequence in a step: scheduling, sampling, text [s]."""
    expert_sequence: Number
    """Time more of a sequence of a model with experts: sorting and gathering tokens [s]."""
    call: Number
    """Latency of a collective within a step [s]."""
    exchange: Number
    """Latency of a dispatch or a combine within a step, at which attention groups also wait for each other [s]."""
    step: Number
    """Time of a step whatever is in it [s]."""
    first: Number
    """Time of a request outside steps: HTTP, tokens, transport of the first answer [s]."""
    prompt_layer: Number
    """Least time of a layer, or of its experts, in a step with a prompt: the host launches every kernel [s]."""


def on_network(rates: Rates, latency: Number, exchange: Number) -> Rates:
    """Return constants for groups with a separate time of collectives.

    Args:
        rates: constants of the engine.
        latency: time of a small collective of a tensor group [s]; 0 where the engine's own holds.
        exchange: the same of all that share a layer's experts [s].
    """
    return replace(rates, call=maximum(rates.call, latency), exchange=maximum(rates.exchange, exchange))


@record
class _Deployment:
    """One copy of a model on several accelerators."""

    tensor: Number = 1
    """Tensor parallelism t: ways that attention and dense matrices are split."""
    pipeline: Number = 1
    """Pipeline stages p."""
    data: Number = 1
    """Attention groups d, each with its own requests."""
    expert: Number = 1
    """Expert parallelism e; experts within a tensor group if 1."""
    width: Number = 2.0
    """Bytes of a weight."""
    attention_width: Number = 2.0
    """Bytes of a weight around attention."""
    cache_width: Number = 2.0
    """Bytes of an element of keys and values."""
    quantised: Number = 0
    """1 if activations are quantised for GEMMs at 8 or 4 bit."""

    @property
    def gpus(self) -> Number:
        """Accelerators [1]."""
        return self.tensor * self.pipeline * self.data

    @property
    def expert_gpus(self) -> Number:
        """Accelerators over which a layer's experts are spread [1]."""
        gpus: Number = choose(self.shares_experts, self.tensor * self.data, self.tensor)
        return gpus

    @property
    def shares_experts(self) -> Number:
        """True if attention groups share the experts, as with data-parallel attention."""
        return self.expert > self.tensor

    @property
    def expert_groups(self) -> Number:
        """Attention groups whose tokens meet the same experts [1]."""
        groups: Number = choose(self.shares_experts, maximum(self.data, 1), 1)
        return groups
