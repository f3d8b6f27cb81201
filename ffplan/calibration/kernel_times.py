"""Recorded kernels as arrays, and their times by the formulas that predict training steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats, ceil_div
from ffplan.base.record import record
from ffplan.catalog.models import Transformer
from ffplan.training.accelerator_rates import accelerator_rates, attention_curve
from ffplan.training.axes import ParallelPlans
from ffplan.training.gemm import TILE, gemm_time
from ffplan.training.layer import attention_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.rates import TrainingRates
    from ffplan.catalog.stacks import AttentionRates
    from ffplan.measuring.kernels import AttentionCall
    from ffplan.measuring.recording import GemmRow, Recording
    from ffplan.training.accelerator_rates import AcceleratorRates

STREAMED = ("copy",)
"""Operations that stream memory as GEMMs and optimizers do."""
ELEMENT_WISE = ("add", "norm", "gelu")
"""Operations of element-wise kernels."""


@record
class _GemmArrays:
    dtype: str
    """Precision."""
    rows: Floats
    """Rows of the result [1]."""
    columns: Floats
    """Columns of the result [1]."""
    inner: Floats
    """Inner dimension [1]."""
    read: Floats
    """Size of the operands [byte]."""
    written: Floats
    """Size of the result [byte]."""
    seconds: Floats
    """Measured time [s]."""

    @property
    def tiles(self) -> Floats:
        """Tiles of the result [1]."""
        return np.asarray(ceil_div(self.rows, TILE) * ceil_div(self.columns, TILE), dtype=float)

    def times(self, rates: AcceleratorRates) -> Floats:
        """Return the modelled times without the fixed time of a kernel [s]."""
        times = gemm_time(self.rows, self.columns, self.inner, rates, read=self.read, written=self.written)
        return np.asarray(times, dtype=float)


def _gemm_arrays(rows: Sequence[GemmRow], dtype: str) -> _GemmArrays:
    mine = [row for row in rows if row.dtype == dtype]

    def column(values: Sequence[float]) -> Floats:
        return np.array(values, dtype=float)

    return _GemmArrays(
        dtype=dtype,
        rows=column([row.m for row in mine]),
        columns=column([row.n for row in mine]),
        inner=column([row.k for row in mine]),
        read=column([row.read for row in mine]),
        written=column([row.written for row in mine]),
        seconds=column([row.median_us * 1e-6 for row in mine]),
    )


def _gemm_types(recording: Recording, part: Accelerator) -> tuple[str, ...]:
    """Return the precisions of recorded GEMMs that the accelerator has a peak for."""
    return tuple(dict.fromkeys(row.dtype for row in recording.gemms if row.dtype in part.peak))


def _rates_at(part: Accelerator, rates: TrainingRates, dtype: str) -> AcceleratorRates:
    """Return the rates of an accelerator with other constants."""
    return accelerator_rates(part.model_copy(update={"training": rates}), dtype)


def _attention_seconds(call: AttentionCall, rates: AcceleratorRates) -> float:
    """Return the modelled time of a call of attention [s]."""
    shape = Transformer(
        layers=1,
        hidden=call.heads * call.head_dim,
        heads=call.heads,
        head_dim=call.head_dim,
        ffn=1,
        vocabulary=1,
        sequence=call.length,
    )
    plans = ParallelPlans(
        gpus=1.0,
        batch=float(call.batch),
        micro=float(call.batch),
        tensor=1.0,
        pipeline=1.0,
        data=1.0,
        expert_tensor=1.0,
        causal_skip=call.causal,
    )
    ahead, behind, _ = attention_time(shape, plans, rates)
    return float({"forward": ahead, "backward": behind, "both": ahead + behind}[call.measured])


def _attention_operations(call: AttentionCall, rates: AcceleratorRates) -> float:
    """Return the operations of a call of attention, as the model counts them [FLOP]."""
    return _attention_seconds(call, replace(rates, attention=1.0, curve=None))


def _with_kernel(
    rates: AcceleratorRates, table: AttentionRates | None, kernel: str, half: float
) -> AcceleratorRates | None:
    """Return rates with one attention kernel's rates; None if the table lacks the kernel; `half` [FLOP/s]."""
    curve = attention_curve(table, kernel, half) if table is not None else None
    return None if curve is None else replace(rates, curve=curve)
