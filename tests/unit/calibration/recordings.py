"""Recordings made of known constants by the model's own formulas, and those that were transcribed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.calibration.kernel_fit import _rates_of, _starting_values, _units_of
from ffplan.calibration.kernel_times import _attention_operations, _rates_at
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.measuring.kernels import AttentionCall, Gemm, _default_plan, _MemoryCall
from ffplan.measuring.recording import Recording, read_recording
from ffplan.measuring.run import RecordingHead, run_plan
from ffplan.training.gemm import gemm_time
from tests.support import ROOT
from tests.unit.measuring.fakes import RuledDevice

if TYPE_CHECKING:
    from ffplan.measuring.kernels import Kernel

FOLDER = ROOT / "tests" / "published" / "recordings"
KNOWN = {
    "matrix": 0.74,
    "matrix_fp8": 0.68,
    "matrix_tf32": 0.71,
    "stream": 0.88,
    "memory": 0.82,
    "gemm": 6e-6,
    "small": 2.5e-6,
}
"""Constants that a made-up GPU follows: fractions [1], and times of kernels [s]."""
LINK, START = {"to-device": 54e9, "from-device": 56e9, "both": 45e9}, 8e-6
"""Rates of its link to the host by way [byte/s], and time before a copy [s]."""
CALLS = 512
"""Length of a sequence at which its attention reaches half of what it reaches at last [1]."""


def accelerator(name: str = "h100-sxm-80gb") -> Accelerator:
    part = Catalog().entry(name).part
    assert isinstance(part, Accelerator)
    return part


def transcribed(name: str) -> Recording:
    return read_recording(str(FOLDER / f"{name}.json"))[0]


def reached(call: AttentionCall) -> float:
    """Return the rate of attention of the made-up GPU [TFLOP/s]."""
    last = 600.0 if call.kernel == "cudnn" else 350.0
    return last * call.length / (call.length + CALLS) * (1.0 if call.measured == "forward" else 0.8)


def seconds(kernel: Kernel, part: Accelerator, known: dict[str, float]) -> float:
    """Return the time of a kernel by the model's formulas [s]."""
    if isinstance(kernel, Gemm):
        at = _rates_at(part, _rates_of(known, part, 132), kernel.dtype)
        moved = {"read": kernel.read, "written": kernel.written}
        return float(gemm_time(kernel.m, kernel.n, kernel.k, at, **moved)) + known["gemm"]
    if isinstance(kernel, AttentionCall):
        any_rates = _rates_at(part, _rates_of(known, part, 132), "bf16")
        return _attention_operations(kernel, any_rates) / reached(kernel) / 1e12
    if isinstance(kernel, _MemoryCall):
        fraction = known["stream" if kernel.operation == "copy" else "memory"]
        return kernel.bytes / (part.memory_bandwidth.value * 1e9 * fraction) + known["small"]
    return kernel.bytes / LINK[kernel.direction] + START


def made_up(noise: float = 0.01, *, seed: int = 1, known: dict[str, float] | None = None) -> Recording:
    """Return a recording of the usual plan on a made-up H100, with noise of each batch [1]."""
    part, rules = accelerator(), known or KNOWN
    assert _units_of(part, transcribed("h100-xla-cudnn")) == 132
    assert set(rules) == set(_starting_values(part))
    device = RuledDevice(lambda kernel: seconds(kernel, part, rules), noise=noise, seed=seed)
    plan = replace(_default_plan(), seconds=0.1, warm=0.05, soak=0.0)
    found = run_plan(plan, device, RecordingHead("made up of known constants", "2026-11"))
    return found.model_copy(update={"origin": "synthetic"})
