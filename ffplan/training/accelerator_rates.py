"""Training rates of an accelerator, as plain numbers to scale; attention's are read off measured tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.rates import TrainingRates
    from ffplan.catalog.stacks import AttentionRates, SoftwareStack, StackRates

Line = tuple[tuple[float, ...], tuple[float, ...]]
"""Lengths of the sequence [1], and fractions of the 16-bit peak [1]."""


@record
class _AttentionCurve:
    kernel: str
    """Kernel."""
    peak: float
    """Dense 16-bit peak of the accelerator [FLOP/s]."""
    lines: dict[tuple[int, bool, bool], Line]
    """Line by head width [1], causal mask, and backward pass."""

    def widths(self, *, causal: bool, back: bool) -> tuple[int, ...]:
        """Return the head widths that were measured, rising [1]."""
        return tuple(sorted(width for width, mask, behind in self.lines if (mask, behind) == (causal, back)))


def attention_curve(rates: AttentionRates, kernel: str, peak: float) -> _AttentionCurve | None:
    """Return the rates of one kernel; None if the file lacks it.

    Args:
        kernel: kernel, such as fa2.
        peak: dense 16-bit peak of the accelerator; the kernel's fraction of it carries over [FLOP/s].
    """
    mine = [table for table in rates.tables if table.kernel == kernel]
    lines: dict[tuple[int, bool, bool], Line] = {}
    # tables of one pass come last and override those of both
    for table in sorted(mine, key=lambda table: table.measured != "both"):
        scale = table.longest.value / table.tflops[-1] / rates.peak.value
        line = (tuple(map(float, table.lengths)), tuple(rate * scale for rate in table.tflops))
        for back in {"forward": (False,), "backward": (True,), "both": (False, True)}[table.measured]:
            lines[(table.head_dim, table.causal, back)] = line
    # a training step needs both passes under a causal mask
    whole = all(any(key[1:] == (True, back) for key in lines) for back in (False, True))
    return _AttentionCurve(kernel, peak, lines) if whole else None


def _attention_rate(curve: _AttentionCurve, width: Number, length: Number, *, causal: bool, back: bool) -> Number:
    """Return the rate of a kernel [FLOP/s].

    Args:
        width: width of a head d [1].
        length: tokens of the sequence s on a rank [1].
        causal: with a causal mask, whose removed operations are not counted; a kernel measured only with a mask has
            one rate for both.
        back: of the backward pass.

    Equation:
        peak x fraction(d, s): linear in log s and in d between measured points, as at the nearest one outside them,
        and below the narrowest head in proportion to its width

    Source:
        The tables' own. A head narrower than the tile of the tensor cores leaves the rest of it idle.
    """
    import numpy as np

    mask = causal if curve.widths(causal=causal, back=back) else True
    known = curve.widths(causal=mask, back=back)
    logs = np.log(np.maximum(np.asarray(length, dtype=float), 1.0))
    heads = np.asarray(width, dtype=float)
    rates = np.stack(
        [
            np.interp(logs, np.log(lengths), fractions)
            for lengths, fractions in (curve.lines[(wide, mask, back)] for wide in known)
        ]
    )
    # place between measured widths; its fraction is the weight of the wider one
    place = np.interp(heads, known, np.arange(len(known)))
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, len(known) - 1)
    narrow = np.minimum(1.0, heads / known[0])
    shape = np.broadcast_shapes(logs.shape, heads.shape)
    place, low, high, narrow = (np.broadcast_to(array, shape) for array in (place, low, high, narrow))
    rates = np.stack([np.broadcast_to(line, shape) for line in rates])
    below = np.take_along_axis(rates, low[None], axis=0)[0]
    above = np.take_along_axis(rates, high[None], axis=0)[0]
    rate: Number = curve.peak * narrow * (below + (place - low) * (above - below))
    return rate


SIXTEEN = ("bf16", "fp16")


class UncalibratedError(ValueError):
    """An accelerator has no training constants at a precision; the message is for people."""

    def __init__(
        self, message: str, remedy: str = "fit it on runs of your own: `ffplan model calibrate --help`"
    ) -> None:
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
    stream: float
    """Rate of a GEMM's, or an optimizer's, reads and writes [byte/s]."""
    units: float
    """Multiprocessors [1]."""
    kernel: float
    """Time that a GEMM takes beyond its operations, with the small kernels around it [s]."""
    launch: float
    """Launch time of a layer on the host, forward and backward [s]."""
    launch_parallel: float
    """Extra time to launch a layer with tensor parallelism [s]."""
    launch_step: float
    """Launch time of the rest of a micro-batch on the host [s]."""
    peak: float
    """Dense peak at the plan's precision, for MFU [FLOP/s]."""
    peak_16: float = 0.0
    """Dense peak at 16 bits; 0 without one [FLOP/s]."""
    curve: _AttentionCurve | None = None
    """Measured rates of the fused attention kernel; without them `attention` is its one rate."""
    stack: str = ""
    """Catalogue id of the software stack; empty if unknown."""
    of_stack: bool = False
    """True if the stack has constants of this accelerator."""
    dispatcher: str = "alltoall"
    """How the stack sends tokens to experts."""
    accumulation: str = "fused"
    """How the stack adds gradients of weights up."""
    keeps_gathered: bool = False
    """Whether the stack keeps inputs that tensor-parallel ranks gathered for gradients of weights."""
    sharding_calls: float = 0.0
    """Calls for ZeRO 3 to gather the tensors of a layer; 0 for one call a unit [1]."""
    overlap: float = 0.0
    """Slowdown of computing under a hidden collective, over the collective's time [1]."""

    def faster(self, name: str, factor: float) -> AcceleratorRates:
        """Return the rates with one resource faster: matrix, memory, kernels or host."""
        # attention runs on the matrix units too
        names = {"matrix": ("products", "attention", "plain"), "memory": ("memory", "stream")}
        if name in ("host", "kernels"):
            kept = ("kernel",) if name == "kernels" else ("launch", "launch_parallel", "launch_step")
            return replace(self, **{key: getattr(self, key) / factor for key in kept})
        rates = replace(self, **{key: getattr(self, key) * factor for key in names[name]})
        if name == "matrix" and rates.curve is not None:
            rates = replace(rates, curve=replace(rates.curve, peak=rates.curve.peak * factor))
        return rates


def accelerator_rates(
    part: Accelerator,
    precision: str,
    *,
    stack: SoftwareStack | None = None,
    kernels: AttentionRates | None = None,
    kernel: str = "",
) -> AcceleratorRates:
    """Return the rates that an accelerator reaches in training.

    Args:
        stack: software; its constants override the accelerator's.
        kernels: measured rates of attention kernels of its generation; without them it has one attention rate.
        kernel: kernel of fused attention; the stack's, or the table's default, if empty.

    Raises:
        UncalibratedError: if the accelerator has no training constants at this precision.
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
    # GEMMs outside a plan's low precision run at 16 bits; TF32 is its own
    plain = half * rates.matrix.value if precision != "tf32" else peak * share.value
    fused = half * rates.attention.value if rates.attention and precision != "tf32" else plain
    constants = stack.constants.get(rates.set) if stack else None
    memory = constants.memory if constants is not None and constants.memory is not None else rates.memory
    host: StackRates | TrainingRates = rates if constants is None else constants
    return AcceleratorRates(
        products=peak * share.value,
        attention=fused,
        plain=plain,
        memory=part.memory_bandwidth.value * 1e9 * memory.value,
        # reads and writes of a GEMM stream better than small kernels, where that was measured
        stream=part.memory_bandwidth.value * 1e9 * (rates.stream or memory).value,
        units=rates.units.value,
        kernel=rates.kernel.value,
        launch=host.launch.value if host.launch else 0.0,
        launch_parallel=host.launch_parallel.value if host.launch_parallel else 0.0,
        launch_step=host.launch_step.value if host.launch_step else 0.0,
        peak=peak,
        peak_16=next((part.peak[name].value * 1e12 for name in SIXTEEN if name in part.peak), 0.0),
        curve=_curve(part, half, stack, kernels if precision != "tf32" else None, kernel),
        stack=stack.id if stack else "",
        of_stack=constants is not None,
        dispatcher=stack.dispatcher if stack else "alltoall",
        accumulation=stack.accumulation if stack else "fused",
        keeps_gathered=stack.keeps_gathered if stack else False,
        sharding_calls=float(stack.sharding_calls.value) if stack and stack.sharding_calls else 0.0,
        overlap=rates.overlap.value if rates.overlap else 0.0,
    )


def _curve(
    part: Accelerator, half: float, stack: SoftwareStack | None, kernels: AttentionRates | None, kernel: str
) -> _AttentionCurve | None:
    """Return the rates of the attention kernel, from a 16-bit peak [FLOP/s]; None without a table."""
    if kernels is None:
        if kernel:
            what = f"no rates of {kernel} are known of `{part.id}` at this precision"
            raise UncalibratedError(what, "leave `attention` out, or write unfused")
        return None
    name = kernel or (stack.attention.get(kernels.id) if stack else None) or kernels.usual
    curve = attention_curve(kernels, name, half)
    if curve is None:
        known = ", ".join(dict.fromkeys(table.kernel for table in kernels.tables))
        raise UncalibratedError(f"`{kernels.id}` has no rates of {name} for `{part.id}`", f"it has {known}")
    return curve
