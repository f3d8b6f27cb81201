"""Recorded kernels as arrays, their times by the formulas of training steps, and tables of attention's rates."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats, ceil_div
from ffplan.base.record import record
from ffplan.calibration.overlay import MEASURED, _attention_file, _merged_tables
from ffplan.catalog.evidence import Source
from ffplan.catalog.models import Transformer
from ffplan.catalog.stacks import AttentionRates, AttentionTable
from ffplan.training.accelerator_rates import accelerator_rates, attention_curve
from ffplan.training.axes import ParallelPlans
from ffplan.training.gemm import TILE, gemm_time
from ffplan.training.layer import attention_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.calibration.overlay import _MeasuredSource
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.rates import TrainingRates
    from ffplan.catalog.stacks import AttentionKernel
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


Key = tuple[str, int, bool, str]
"""Kernel, width of a head, causal mask, and pass."""


@record
class _MeasuredAttention:
    """Measured tables, and the part of a catalogue that holds them."""

    part: AttentionRates | None
    """Part; None if no kernel was measured in whole."""
    whole: tuple[str, ...]
    """Kernels with both passes under a causal mask."""
    partial: tuple[str, ...]
    """Kernels without one of the passes, which a training step needs."""

    @property
    def text(self) -> str:
        """File of the part."""
        assert self.part is not None
        return _attention_file(self.part)


def _tables(recording: Recording, rates: AcceleratorRates) -> tuple[AttentionTable, ...]:
    """Return tables of the recorded calls; the median if a length was measured with several numbers of heads."""
    measured: dict[Key, dict[int, list[float]]] = {}
    for row in recording.attention:
        rate = _attention_operations(row, rates) / (row.median_us * 1e-6) / 1e12
        key = (row.kernel, row.head_dim, row.causal, row.measured)
        measured.setdefault(key, {}).setdefault(row.length, []).append(rate)
    tables = []
    for (kernel, width, causal, way), by_length in measured.items():
        lengths = tuple(sorted(by_length))
        values = tuple(float(f"{median(by_length[length]):.5g}") for length in lengths)
        tables.append(
            AttentionTable.model_validate(
                {
                    "kernel": kernel,
                    "head_dim": width,
                    "causal": causal,
                    "measured": way,
                    "lengths": lengths,
                    "tflops": values,
                    "longest": {"value": f"{values[-1]:.5g} TFLOP/s", "source": MEASURED},
                }
            )
        )
    return tuple(tables)


def _usual(name: AttentionKernel, measured: tuple[AttentionKernel, ...]) -> AttentionKernel:
    """Return the default kernel: a measured version replaces another version of it."""
    return next((kernel for kernel in measured if kernel.split("-")[0] == name.split("-")[0]), name)


def _measured_attention(
    recording: Recording,
    part: Accelerator,
    base: AttentionRates | None,
    rates: AcceleratorRates,
    source: _MeasuredSource,
) -> _MeasuredAttention:
    """Return the measured rates of attention as a part of a catalogue.

    It replaces the accelerator's table if that has the accelerator's peak, and then keeps the tables of unmeasured
    kernels; else it is a new part.

    `base`: table of kernels that the accelerator names; None without one.
    """
    measured = _tables(recording, rates)
    half = next((part.peak[name] for name in ("bf16", "fp16") if name in part.peak), None)
    names: tuple[AttentionKernel, ...] = tuple(dict.fromkeys(table.kernel for table in measured))
    if half is None or not names:
        return _MeasuredAttention(None, (), names)
    known = base if base is not None and base.peak.value == half.value else None
    kept = known.tables if known is not None else ()
    sources = known.sources if known is not None else {half.source: part.sources[half.source]}
    fields = {
        "kind": "attention-rates",
        "id": known.id if known is not None else f"attention-{part.id}",
        "name": known.name if known is not None else f"Attention kernels on {part.name}",
        "vendor": known.vendor if known is not None else part.vendor,
        "sources": {**sources, MEASURED: Source.model_validate(source.fields)},
        "note": known.note if known is not None else None,
        "peak": known.peak if known is not None else half,
        "usual": known.usual if known is not None else names[-1],
    }
    trial = AttentionRates.model_validate({**fields, "tables": _merged_tables(kept, measured)})
    whole = tuple(name for name in names if attention_curve(trial, name, 1.0) is not None)
    partial = tuple(name for name in names if name not in whole)
    if not whole:
        return _MeasuredAttention(None, (), partial)
    usual = _usual(known.usual, whole) if known is not None else whole[-1]
    tables = _merged_tables(kept, (table for table in measured if table.kernel in whole))
    merged = AttentionRates.model_validate({**fields, "usual": usual, "tables": tables})
    return _MeasuredAttention(merged, whole, partial)
