"""Running a plan on a device: warm-up, batches of calls until their time is up, median and spread."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from ffplan.base.processes import heard
from ffplan.base.record import record
from ffplan.measuring.kernels import Gemm
from ffplan.measuring.recording import (
    VERSION,
    AttentionRow,
    CopyRow,
    DeviceFacts,
    DeviceState,
    GemmRow,
    MemoryRow,
    Recording,
    SkippedKernel,
    Timing,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.measuring.kernels import Kernel, KernelPlan

BATCH = 0.02
"""Time of a batch: long against the resolution of its clock and the gap before the next one [s]."""
FEWEST, MOST = 5, 500
"""Batches of a kernel [1]."""
MOST_TIMES = 100_000
"""Most repetitions within a batch [1]."""
FIELDS = {"gemm": "gemms", "attention": "attention", "memory": "memory", "pcie": "copies"}
ROWS: dict[str, type[Timing]] = {"gemm": GemmRow, "attention": AttentionRow, "memory": MemoryRow, "pcie": CopyRow}


class _UnsupportedKernelError(Exception):
    """A device cannot run a kernel; the message says why."""


class _Prepared(Protocol):
    calls: int
    """Calls in one repetition [1]."""

    def run(self, times: int) -> float:
        """Run repetitions; return their time [s]."""


class Device(Protocol):
    """A device that runs kernels."""

    def facts(self) -> DeviceFacts:
        """Return the facts of the device."""

    def state(self, when: str) -> DeviceState:
        """Return its clocks and power now."""

    def prepare(self, kernel: Kernel) -> _Prepared:
        """Return a kernel with its data.

        Raises:
            UnsupportedKernelError: if the device cannot run it.
        """


@record
class RecordingHead:
    """Description of a recording."""

    title: str
    """Title."""
    date: str
    """Date."""


def _percentile(values: list[float], fraction: float) -> float:
    """Return a percentile of numbers, linear between them. `values`: numbers, at least one."""
    ranked = sorted(values)
    place = fraction * (len(ranked) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (place - low) * (ranked[high] - ranked[low])


def _heated(prepared: _Prepared, seconds: float) -> int:
    """Run a kernel for a while; return the repetitions that fill a batch."""
    times, spent, rounds = 1, 0.0, 0
    while (spent < seconds and rounds < MOST) or rounds < 2:
        took = prepared.run(times)
        spent, rounds = spent + took, rounds + 1
        call = took / times
        times = min(MOST_TIMES, max(1, math.ceil(BATCH / call))) if call > 0 else min(MOST_TIMES, times * 10)
    return times


def _time_kernel(prepared: _Prepared, *, seconds: float, warm: float) -> Timing:
    """Return the time of one call; `seconds` [s], `warm` [s]."""
    microseconds: list[float] = []
    times, spent = _heated(prepared, warm), 0.0
    while (spent < seconds or len(microseconds) < FEWEST) and len(microseconds) < MOST:
        took = prepared.run(times)
        spent += took
        microseconds.append(took / (times * prepared.calls) * 1e6)
    low, median, high = (_percentile(microseconds, fraction) for fraction in (0.1, 0.5, 0.9))
    if not median > 0:
        raise _UnsupportedKernelError("the clock of the device saw no time pass")
    return Timing(
        median_us=_rounded(median), low_us=_rounded(low or median), high_us=_rounded(high), batches=len(microseconds)
    )


def _rounded(value: float) -> float:
    """Return a time of six digits; low, median and high keep their order."""
    return float(f"{value:.6g}")


def run_plan(
    plan: KernelPlan, device: Device, head: RecordingHead, progress: Callable[[int, int, str], None] | None = None
) -> Recording:
    """Time every kernel of a plan. An interrupt (Ctrl-C) ends it early and keeps the finished rows.

    Args:
        head: title and date of the recording.
        progress: callback with kernels done, their total, and the next kernel.
    """
    rows: dict[str, list[Timing]] = {group: [] for group in FIELDS}
    skipped: list[SkippedKernel] = []
    states: list[DeviceState] = []
    facts, total, done, complete = device.facts(), sum(map(len, plan.kernels.values())), 0, True
    try:
        states.append(device.state("at the start"))
        if plan.soak > 0:
            _soak(plan, device, states, progress, total)
        for group, kernels in plan.kernels.items():
            for kernel in kernels:
                if progress is not None:
                    progress(done, total, kernel.words)
                try:
                    timing = _time_kernel(device.prepare(kernel), seconds=plan.seconds, warm=plan.warm)
                    rows[group].append(_row(group, kernel, timing))
                except _UnsupportedKernelError as error:
                    skipped.append(SkippedKernel(what=kernel.words, why=str(error)[:500] or "no reason given"))
                done += 1
            states.append(device.state(f"after {group}"))
    except KeyboardInterrupt:
        heard()
        complete = False
    kept: dict[str, Any] = {FIELDS[group]: tuple(timings) for group, timings in rows.items()}
    return Recording(
        kind="kernel-recording",
        version=VERSION,
        title=head.title,
        date=head.date,
        origin="measured",
        load="short" if plan.name == "tiny" else "sustained",
        complete=complete,
        device=facts,
        states=tuple(states),
        skipped=tuple(skipped),
        **kept,
    )


def _row(group: str, kernel: Kernel, timing: Timing) -> Timing:
    fields: dict[str, Any] = {**kernel.model_dump(), **timing.model_dump()}
    return ROWS[group](**fields)


def _soak(
    plan: KernelPlan,
    device: Device,
    states: list[DeviceState],
    progress: Callable[[int, int, str], None] | None,
    total: int,
) -> None:
    """Run the largest GEMM until clocks and temperature have settled; a device that cannot run it goes without."""
    gemms = [kernel for kernel in plan.kernels.get("gemm", ()) if isinstance(kernel, Gemm) and kernel.dtype == "bf16"]
    if not gemms:
        return
    largest = max(gemms, key=lambda kernel: kernel.operations)
    if progress is not None:
        progress(0, total, f"warming up, {plan.soak:g} s")
    try:
        prepared, spent, rounds = device.prepare(largest), 0.0, 0
        times = _heated(prepared, BATCH)
        while spent < plan.soak and rounds < plan.soak / BATCH * 2:
            spent, rounds = spent + prepared.run(times), rounds + 1
    except _UnsupportedKernelError:
        return
    states.append(device.state("after warming up"))
