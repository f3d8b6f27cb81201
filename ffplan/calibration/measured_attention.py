"""Measured times of attention as tables of rates by length."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.calibration.kernel_times import _attention_operations
from ffplan.calibration.overlay import MEASURED, _attention_file, _merged_tables
from ffplan.catalog.evidence import Source
from ffplan.catalog.stacks import AttentionRates, AttentionTable
from ffplan.training.accelerator_rates import attention_curve

if TYPE_CHECKING:
    from ffplan.calibration.overlay import _MeasuredSource
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.stacks import AttentionKernel
    from ffplan.measuring.recording import Recording
    from ffplan.training.accelerator_rates import AcceleratorRates

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
