"""A GPU, or for a trial the CPU, driven by PyTorch, with readings of nvidia-smi. PyTorch is imported here alone."""

from __future__ import annotations

import importlib
import subprocess
import time
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import lacking
from ffplan.measuring.recording import DeviceFacts, DeviceState
from ffplan.measuring.run import _UnsupportedKernelError
from ffplan.measuring.torch_kernels import _prepared_calls

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ffplan.measuring.kernels import Kernel
    from ffplan.measuring.torch_kernels import _KernelCalls

FACTS = {"driver": "driver_version", "power_limit_w": "power.limit", "clock_limit_mhz": "clocks.max.sm"}
STATE = {
    "clock_mhz": "clocks.sm",
    "memory_clock_mhz": "clocks.mem",
    "power_w": "power.draw",
    "temperature_c": "temperature.gpu",
}
TEXTS = ("driver",)
WAIT = 20
"""Longest time of one question [s]."""


def answer(gpu: str, fields: tuple[str, ...]) -> list[str] | None:
    """Return nvidia-smi's answer; None if it cannot run.

    Args:
        gpu: UUID or number of the GPU.
    """
    command = ["nvidia-smi", "-i", gpu, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT)
    except (OSError, subprocess.TimeoutExpired):
        return None
    values = [value.strip() for value in done.stdout.strip().split(",")]
    return values if done.returncode == 0 and len(values) == len(fields) else None


def _read(gpu: str, fields: dict[str, str]) -> dict[str, float | str]:
    """Return readings by our names, without non-numeric values, such as [N/A]."""
    texts = answer(gpu, tuple(fields.values()))
    readings: dict[str, float | str] = {}
    for name, text in zip(fields, texts or (), strict=False):
        if name in TEXTS:
            readings[name] = text
            continue
        try:
            value = float(text)
        except ValueError:
            continue
        if 0 <= value < 1e6:
            readings[name] = value
    return readings


def _facts(gpu: str) -> dict[str, float | str]:
    """Return driver, limits and PCI id of a GPU, as far as they are known."""
    readings = _read(gpu, FACTS)
    code = (answer(gpu, ("pci.device_id",)) or [""])[0].lower().removeprefix("0x")
    if len(code) == 8 and all(letter in "0123456789abcdef" for letter in code):
        readings["pci_id"] = f"{code[4:]}:{code[:4]}"
    return readings


def state(gpu: str) -> dict[str, float | str]:
    """Return clocks, power and temperature of a GPU, as far as they are known.

    Args:
        gpu: UUID or number of the GPU.
    """
    readings = _read(gpu, STATE)
    throttled = answer(gpu, ("clocks_throttle_reasons.active",))
    if throttled and throttled[0]:
        readings["throttled"] = throttled[0]
    return readings


class NoDeviceError(Exception):
    """PyTorch or a device is missing; the message is for people."""


def _torch() -> ModuleType:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise NoDeviceError(lacking("timing kernels", "PyTorch", "torch")) from None


class _Timed:
    def __init__(self, device: TorchDevice, calls: _KernelCalls) -> None:
        self._device, self._made = device, calls
        self._replay: Callable[[], Any] = calls.step
        self.calls = calls.calls
        if device.gpu and calls.capture:
            self._replay = device.captured(calls.step)

    def run(self, times: int) -> float:
        """Run repetitions; return their time [s]."""
        try:
            with self._made.around():
                return self._device.clock(self._replay, times)
        except (RuntimeError, NotImplementedError) as error:
            raise _UnsupportedKernelError(_first_line(error)) from None


class TorchDevice:
    """One device. With several GPUs, CUDA_VISIBLE_DEVICES chooses it."""

    def __init__(self, *, gpu: bool = True) -> None:
        """Find the device.

        Args:
            gpu: the first visible GPU; else the CPU, whose times do not apply to a GPU.

        Raises:
            NoDeviceError: if PyTorch or a GPU is missing.
        """
        self.torch = torch = _torch()
        self.gpu = gpu
        if gpu and not torch.cuda.is_available():
            lacking = "a build without CUDA or ROCm" if not (torch.version.cuda or torch.version.hip) else "no GPU"
            raise NoDeviceError(f"PyTorch {torch.__version__} sees {lacking}; --device cpu shows that the program runs")
        self.name = "cuda" if gpu else "cpu"
        self._asked = "0"
        if gpu:
            uuid = str(getattr(torch.cuda.get_device_properties(0), "uuid", ""))
            self._asked = f"GPU-{uuid}" if uuid else "0"

    def facts(self) -> DeviceFacts:
        """Return the facts of the device."""
        torch = self.torch
        version = str(torch.__version__)
        if not self.gpu:
            return DeviceFacts(type="cpu", name="CPU", torch=version)
        props = torch.cuda.get_device_properties(0)
        cudnn = torch.backends.cudnn.version()
        read: dict[str, Any] = _facts(self._asked) if torch.version.cuda else {}
        return DeviceFacts(
            type="gpu",
            name=str(props.name),
            multiprocessors=int(props.multi_processor_count),
            memory=int(props.total_memory),
            torch=version,
            cuda=str(torch.version.cuda or torch.version.hip),
            cudnn=str(cudnn) if cudnn else None,
            **read,
        )

    def state(self, when: str) -> DeviceState:
        """Return its clocks and power now."""
        read: dict[str, Any] = state(self._asked) if self.gpu and self.torch.version.cuda else {}
        return DeviceState(when=when, **read)

    def cache(self) -> int:
        """Return the size of the device's last cache [byte]; 0 if unknown."""
        return int(getattr(self.torch.cuda.get_device_properties(0), "L2_cache_size", 0)) if self.gpu else 0

    def prepare(self, kernel: Kernel) -> _Timed:
        """Return a kernel with its data.

        Raises:
            UnsupportedKernelError: if the device cannot run it, such as for want of memory.
        """
        if self.gpu:
            self.torch.cuda.empty_cache()
        try:
            return _Timed(self, _prepared_calls(self.torch, self.name, kernel, self.cache()))
        except (RuntimeError, NotImplementedError, AttributeError, TypeError) as error:
            raise _UnsupportedKernelError(_first_line(error)) from None

    def captured(self, step: Callable[[], Any]) -> Callable[[], Any]:
        """Return a step as a CUDA graph, which the host launches at once; the step itself if that fails."""
        torch = self.torch
        try:
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                for _ in range(3):
                    step()
            torch.cuda.current_stream().wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
        except RuntimeError:
            torch.cuda.synchronize()
            return step
        replay: Callable[[], Any] = graph.replay
        return replay

    def clock(self, step: Callable[[], Any], times: int) -> float:
        """Return the time of repetitions of a step: between two events of a GPU, by the clock of the host else [s]."""
        if not self.gpu:
            began = time.perf_counter()
            for _ in range(times):
                step()
            return time.perf_counter() - began
        first, last = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(times):
            step()
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last)) / 1e3


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
