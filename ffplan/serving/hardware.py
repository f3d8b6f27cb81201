"""From parts of the catalogue to what formulas of serving take: a machine, constants, bytes of a weight, power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, minimum
from ffplan.base.record import record
from ffplan.catalog.engines import ANY
from ffplan.serving.plan import CACHE_WIDTHS, WIDTHS, Rates, _Deployment, _Machine
from ffplan.serving.step import _product_seconds

if TYPE_CHECKING:
    from ffplan.catalog.engines import Engine, EngineRates
    from ffplan.catalog.library import Library
    from ffplan.catalog.models import Transformer
    from ffplan.catalog.parts import Accelerator
    from ffplan.serving.load import Steady
    from ffplan.serving.step import Served

_COMPUTED = {
    "bf16": ("bf16",),
    "fp8": ("fp8", "bf16"),
    "fp4": ("fp4", "fp8", "bf16"),
    "mxfp4": ("bf16",),
    "int4": ("bf16",),
}
"""Precisions of GEMMs, best first, by precision of the weights. INT4 and MXFP4 weights meet 16-bit activations,
unless 4-bit units take MXFP4."""
_NATIVE_FP4 = "fp4"


@record
class EngineSpeed:
    """Constants of an engine for one accelerator and precision, with their origin."""

    rates: Rates
    source: str
    """Accelerator of the runs behind them; `any` for the mean over accelerators."""
    runs: int
    """Measured rows behind them [1]."""
    band: float
    """P10 to P90 of time over model, as a fraction up and down [1]; wider for constants of kin."""


def compute_precision(accelerator: Accelerator, precision: str) -> str:
    """Return the precision at which GEMMs of quantised weights compute.

    Args:
        precision: precision of the weights.

    Returns:
        The best that the accelerator has: without 4- or 8-bit units, such weights meet 16-bit activations.
    """
    native = precision == "mxfp4" and _NATIVE_FP4 in accelerator.peak
    ways = _COMPUTED["fp4" if native else precision]
    return next((way for way in ways if way in accelerator.peak), ways[-1])


def group_link(accelerator: Accelerator, library: Library) -> float:
    """Return the rate of collectives between accelerators of a node [byte/s], one direction.

    Args:
        accelerator: the accelerator.
        library: its communication library, whose share of the links holds where no ring was measured.

    Returns:
        Rate; 0 if the catalogue has no link of it.

    Equation:
        the measured plateau of a ring; else the scale-up network's rate times the library's share; else the PCIe
        link's

    Source:
        Catalogue.
    """
    if accelerator.collectives is not None and accelerator.collectives.ring is not None:
        return float(accelerator.collectives.ring.value) * 1e9
    if accelerator.nvlink is not None:
        share = library.link_share.value if library.link_share else 1.0
        return float(accelerator.nvlink.value) * 1e9 * share
    return float(accelerator.pcie.bandwidth.value) * 1e9 if accelerator.pcie else 0.0


def machine_of(accelerator: Accelerator, precision: str, link: Number, exchange: Number) -> _Machine:
    """Return an accelerator as formulas of serving take it.

    Args:
        precision: precision of the weights.
        link: rate of a tensor group's collectives [byte/s].
        exchange: the same of all that share a layer's experts [byte/s].
    """
    sixteen = accelerator.peak.get("bf16") or accelerator.peak["fp16"]
    peak = accelerator.peak.get(compute_precision(accelerator, precision)) or sixteen  # type: ignore[call-overload]
    return _Machine(
        bandwidth=float(accelerator.memory_bandwidth.value) * 1e9,
        peak=float(peak.value) * 1e12,
        peak16=float(sixteen.value) * 1e12,
        memory=float(accelerator.memory.value),
        link=link,
        exchange=exchange,
    )


NARROW = {"fp8": "matrix_fp8", "fp4": "matrix_fp4"}
"""Constant of GEMMs by the precision at which they compute, below 16 bits; `matrix` at 16."""


def _rates(constants: EngineRates, computed: str) -> Rates:
    matrix = getattr(constants, NARROW.get(computed, "matrix"))
    names = [name for name in Rates.__annotations__ if name != "matrix"]
    return Rates(matrix=matrix.value, **{name: getattr(constants, name).value for name in names})


def engine_speed(engine: Engine, accelerator: Accelerator, precision: str) -> EngineSpeed:
    """Return an engine's constants for an accelerator, or its constants for any accelerator."""
    name = accelerator.id if accelerator.id in engine.rates else ANY
    constants = engine.rates[name]
    return EngineSpeed(
        rates=_rates(constants, compute_precision(accelerator, precision)),
        source=name,
        runs=constants.runs,
        band=(engine.band if constants.runs else engine.band_kin).value,
    )


def cache_precision(engine: Engine, precision: str, kv: str | None = None) -> str:
    """Return the precision of keys and values: a given one, or the engine's for the precision of the weights."""
    return kv or engine.cache.get(precision, "bf16")  # type: ignore[call-overload]


def deployment_of(
    shape: Transformer,
    precision: str,
    cache: str,
    computed: str,
    *,
    tensor: Number = 1,
    pipeline: Number = 1,
    data: Number = 1,
    expert: Number = 1,
) -> _Deployment:
    """Return a deployment with the bytes of its weights and of its keys and values.

    Args:
        precision: precision of the weights.
        cache: precision of keys and values.
        computed: precision at which GEMMs compute.
        tensor: tensor parallelism [1].
        pipeline: stages [1].
        data: attention groups [1].
        expert: expert parallelism [1].
    """
    attention = shape.attention_fp4 if precision in ("fp4", "mxfp4", "int4") else precision
    attention = precision if attention == "fp4" else attention
    return _Deployment(
        tensor=tensor,
        pipeline=pipeline,
        data=data,
        expert=expert,
        width=WIDTHS[precision],
        attention_width=WIDTHS[attention],
        cache_width=CACHE_WIDTHS[cache],
        quantised=int(computed != "bf16"),
    )


def accelerator_power(
    engine: Engine, accelerator: Accelerator, served: Served, steady: Steady, prompts: Number
) -> Number:
    """Return the mean power of an accelerator.

    Args:
        engine: its shares of power.
        accelerator: its thermal design power.
        served: the model on its deployment.
        steady: the load.
        prompts: fraction of the time that prompts are computed [1].

    Returns:
        Power [W]; 0 if the accelerator's is unknown.

    Equation:
        TDP (idle (1 - a) + a min(1, base + memory u_m + compute u_c)): a the fraction of time with any request
        under way, u_m the fraction of a token's time spent reading memory, u_c on GEMMs and prompts

    Source:
        Least squares over 324 rows of ML.ENERGY v3 on H100 and B200; 13 % mean error.
    """
    if accelerator.power is None:
        return 0.0
    step = steady.step
    active = minimum(steady.running, 1.0)
    reads = (step.weights + step.experts + step.compute + step.cache) / step.total
    each = steady.tpot - steady.lost
    batch = steady.together / served.deployment.pipeline
    reads = reads * (each - steady.prompts) / each * minimum(batch, 1.0)  # a stage without a sequence stands idle
    products = minimum(_product_seconds(served, batch) / each + prompts, 1.0)
    shares = engine.power
    serving = shares.base.value + shares.memory.value * reads + shares.compute.value * products
    return (shares.idle.value * (1 - active) + active * minimum(serving, 1.0)) * accelerator.power.value


def prompt_power(engine: Engine, accelerator: Accelerator, busy: Number) -> Number:
    """Return the mean power of an accelerator that computes prompts only.

    Args:
        engine: its shares of power.
        accelerator: its thermal design power.
        busy: fraction of the time that prompts are computed [1].

    Returns:
        Power [W]; 0 if the accelerator's is unknown.

    Equation:
        TDP (idle (1 - busy) + busy min(1, base + compute))

    Source:
        As `accelerator_power`, with GEMMs all the time.
    """
    if accelerator.power is None:
        return 0.0
    shares = engine.power
    working = minimum(shares.base.value + shares.compute.value, 1.0)
    return (shares.idle.value * (1 - busy) + working * busy) * accelerator.power.value
