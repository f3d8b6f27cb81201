"""Rates that an accelerator reaches in training, as plain numbers that what-if questions can scale."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.catalog.parts import Accelerator

SIXTEEN = ("bf16", "fp16")


class UncalibratedError(ValueError):
    """An accelerator has no training constants at a precision; the message is for people."""

    def __init__(self, message: str, remedy: str = "fit it on runs of your own: `ffplan calibrate --help`") -> None:
        super().__init__(message)
        self.remedy = remedy
        """Remedy."""


@record
class AcceleratorRates:
    """Rates of one accelerator within a training step."""

    products: float
    """Rate of large GEMMs at the plan's precision [FLOP/s]."""
    attention: float
    """Rate of fused attention [FLOP/s]."""
    plain: float
    """Rate of large GEMMs at 16 bits [FLOP/s]."""
    memory: float
    """Rate of memory-bound kernels [byte/s]."""
    units: float
    """Multiprocessors [1]."""
    kernel: float
    """Time that a GEMM takes beyond its operations, with the small kernels around it [s]."""
    launch: float
    """Time in which the host launches a layer, forward and backward [s]."""
    launch_parallel: float
    """Extra time to launch a layer with tensor parallelism [s]."""
    launch_step: float
    """Time in which the host launches the rest of a micro-batch [s]."""
    peak: float
    """Dense peak at the plan's precision, for MFU [FLOP/s]."""
    peak_16: float = 0.0
    """Dense peak at 16 bits; 0 where it has none [FLOP/s]."""
    overlap: float = 0.0
    """Fraction of a hidden collective's time by which computing slows down [1]."""

    def faster(self, name: str, factor: float) -> AcceleratorRates:
        """Return the rates with one resource faster: matrix, memory, kernels or host."""
        names = {"matrix": ("products", "attention", "plain"), "memory": ("memory",)}
        if name in ("host", "kernels"):
            kept = ("kernel",) if name == "kernels" else ("launch", "launch_parallel", "launch_step")
            return replace(self, **{key: getattr(self, key) / factor for key in kept})
        return replace(self, **{key: getattr(self, key) * factor for key in names[name]})


def accelerator_rates(part: Accelerator, precision: str) -> AcceleratorRates:
    """Return the rates that an accelerator reaches in training.

    Args:
        part: the accelerator.
        precision: precision of GEMMs.

    Raises:
        UncalibratedError: where the accelerator has no training constants at this precision.
    """
    rates = part.training
    if rates is None:
        raise UncalibratedError(f"nothing was calibrated for training on `{part.id}`")
    if precision not in part.peak:
        known = ", ".join(part.peak)
        raise UncalibratedError(f"`{part.id}` has no peak for {precision}", f"it has {known}")
    peak = part.peak[precision].value * 1e12
    share = rates.reached(precision)
    if share is None:
        raise UncalibratedError(f"nothing was calibrated for training at {precision} on `{part.id}`")
    half = next((part.peak[name].value for name in SIXTEEN if name in part.peak), peak * 1e-12) * 1e12
    plain = half * rates.matrix.value if precision != "tf32" else peak * share.value
    fused = half * rates.attention.value if rates.attention and precision != "tf32" else plain
    return AcceleratorRates(
        products=peak * share.value,
        attention=fused,
        plain=plain,
        memory=part.memory_bandwidth.value * 1e9 * rates.memory.value,
        units=rates.units.value,
        kernel=rates.kernel.value,
        launch=rates.launch.value if rates.launch else 0.0,
        launch_parallel=rates.launch_parallel.value if rates.launch_parallel else 0.0,
        launch_step=rates.launch_step.value if rates.launch_step else 0.0,
        peak=peak,
        peak_16=next((part.peak[name].value * 1e12 for name in SIXTEEN if name in part.peak), 0.0),
        overlap=rates.overlap.value if rates.overlap else 0.0,
    )
