"""Rates of attention kernels by head width, mask, pass and length, read off measured tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.stacks import AttentionRates

Line = tuple[tuple[float, ...], tuple[float, ...]]
"""Lengths of the sequence [1], and fractions of the 16-bit peak [1]."""


@record
class _AttentionCurve:
    """Rates of one kernel on one accelerator."""

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
        rates: measured rates of a generation.
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
    """Return the rate of a kernel.

    Args:
        curve: measured rates of the kernel.
        width: width of a head d [1].
        length: tokens of the sequence s on a rank [1].
        causal: with a causal mask, whose removed operations are not counted; a kernel measured only with a mask has
            one rate for both.
        back: of the backward pass.

    Returns:
        Rate [FLOP/s].

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
