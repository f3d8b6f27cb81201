"""Power of an accelerator that serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, minimum
from ffplan.serving.step import _product_seconds

if TYPE_CHECKING:
    from ffplan.catalog.engines import Engine
    from ffplan.catalog.parts import Accelerator
    from ffplan.serving.load import Steady
    from ffplan.serving.step import Served


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
        TDP (idle (1 - a) + a min(1, base + memory u_m + compute u_c)): a the fraction of the time that any request is
        under way, u_m that of a token's time that memory is read, u_c that of GEMMs and prompts

    Source:
        Least squares over 324 rows of ML.ENERGY v3 on H100 and B200; 13 % mean error.
    """
    if accelerator.power is None:
        return 0.0
    step = steady.step
    active = minimum(steady.running, 1.0)
    reads = (step.weights + step.experts + step.compute + step.cache) / steady.tpot
    batch = steady.decoding / served.deployment.pipeline
    products = minimum(_product_seconds(served, batch) / steady.tpot + prompts, 1.0)
    shares = engine.power
    serving = shares.base.value + shares.memory.value * minimum(reads, 1.0) + shares.compute.value * products
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
