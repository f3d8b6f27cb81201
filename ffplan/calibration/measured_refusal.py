"""Recordings that say nothing of an accelerator: another device, no rows, rates that it cannot reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError, did_you_mean
from ffplan.calibration.kernel_times import _attention_operations
from ffplan.calibration.measured_fits import _default_rates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document
    from ffplan.measuring.recording import Recording, Timing

RULE = "measured-recording"


def _refuse_recording(catalog: Catalog, recording: Recording, document: Document, part: Accelerator) -> None:
    """Refuse a recording that says nothing of an accelerator.

    Raises:
        InputError: with a finding for each fault.
    """
    device = recording.device
    faults = []
    if device.type == "cpu":
        message = "times of a CPU show that the program runs, and are not fitted"
        faults.append(document.finding(RULE, ("device", "type"), message, "run `ffplan model measure run` on a GPU"))
    elif device.pci_id is not None and part.pci_ids and device.pci_id not in part.pci_ids:
        parts = [catalog.entry(name).part for name in catalog.ids_of("accelerator")]
        same = [candidate.id for candidate in parts if device.pci_id in getattr(candidate, "pci_ids", ())]
        message = f"the device is {device.name} ({device.pci_id}), not `{part.id}`"
        remedy = did_you_mean(part.id, same, what="accelerator of this PCI id")
        faults.append(document.finding(RULE, ("device", "pci_id"), message, f"give its own --accelerator; {remedy}"))
    elif not recording.rows:
        message = "the recording holds no measured kernel"
        faults.append(document.finding(RULE, (), message, "run `ffplan model measure run` again, to its end"))
    if not faults:
        faults = list(_impossible(recording, document, part))
    if faults:
        raise InputError(*faults)


def _impossible(recording: Recording, document: Document, part: Accelerator) -> Iterator[Finding]:
    """Yield a finding for each row whose rate is above the dense peak of the accelerator."""
    rates = _default_rates(part, 1.0)
    half = next((part.peak[name].value for name in ("bf16", "fp16") if name in part.peak), None)
    rows: list[tuple[tuple[str, int], Timing, float, float | None]] = []
    for position, gemm in enumerate(recording.gemms):
        peak = part.peak[gemm.dtype].value if gemm.dtype in part.peak else None
        rows.append((("gemms", position), gemm, gemm.operations, peak))
    for position, call in enumerate(recording.attention):
        rows.append((("attention", position), call, _attention_operations(call, rates), half))
    for path, row, operations, peak in rows:
        rate = operations / row.median_us / 1e6
        if peak is not None and rate > peak:
            message = f"{rate:,.0f} TFLOP/s is more than the dense peak of `{part.id}`, {peak:,.0f}"
            remedy = "check the time, the sizes and the --accelerator"
            yield document.finding(RULE, (*path, "median_us"), message, remedy)
