"""Kernels as calls of PyTorch: on a stand-in of numpy, and on PyTorch itself where it is installed."""

from __future__ import annotations

import importlib
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from ffplan.measuring import torch_device
from ffplan.measuring.kernels import AttentionCall, Gemm, _HostCopy, _MemoryCall, _tiny_plan
from ffplan.measuring.run import RecordingHead, run_plan
from ffplan.measuring.torch_device import NoDeviceError, TorchDevice
from ffplan.measuring.torch_kernels import CACHES, MOST_SETS, _prepared_calls
from tests.unit.measuring.fakes import torch_of_numpy


def test_gemms_take_operands_in_turn_that_outgrow_the_cache() -> None:
    """64 x 32 over 16 at 16 bits: 2 (96 x 16) + 2 (64 x 32) bytes are 7,168; a cache of 5 kB is outgrown by 3 sets."""
    torch = torch_of_numpy()
    made = _prepared_calls(torch, "cpu", Gemm(m=64, n=32, k=16, dtype="bf16"), 5000)
    assert CACHES == 4
    assert torch.log == [("randn", 64, 16), ("randn", 32, 16)] * 3
    assert (made.calls, made.capture) == (9, True)  # three rounds of three: at least eight
    torch.log.clear()
    made.step()
    assert torch.log == [("mm", 64, 16, 16, 32)] * 9
    many = _prepared_calls(torch_of_numpy(), "cpu", Gemm(m=64, n=32, k=16, dtype="fp16"), 10**9)
    assert many.calls == MOST_SETS


@pytest.mark.parametrize(
    ("operation", "size", "seen"),
    [("copy", 4 * 4096, None), ("add", 6 * 4096, None), ("norm", 4 * 8192, "norm"), ("gelu", 4 * 100, "gelu")],
)
def test_element_wise_kernels_move_their_bytes(operation: Any, size: int, seen: str | None) -> None:
    torch = torch_of_numpy()
    made = _prepared_calls(torch, "cpu", _MemoryCall(operation=operation, bytes=size), 1)
    shapes = [item[1:] for item in torch.log]
    torch.log.clear()
    made.step()
    moved = {"copy": 2, "add": 3, "norm": 2, "gelu": 2}[operation]  # tensors read and written
    numbers = 1
    for side in shapes[0]:
        numbers *= side
    assert numbers * 2 * moved == size
    assert [item[0] for item in torch.log] == ([seen] * made.calls if seen else [])


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Gemm(m=1, n=1, k=1, dtype="fp8"), "GPUs only"),
        (Gemm(m=1, n=1, k=1, dtype="tf32"), "no TF32"),
        (_MemoryCall(operation="norm", bytes=16), "less than one row"),
        (_HostCopy(direction="both", bytes=16), "no link"),
        (
            AttentionCall(kernel="fa3", batch=1, heads=1, head_dim=64, length=64, causal=True, measured="forward"),
            "no back end fa3",
        ),
        (
            AttentionCall(kernel="cudnn", batch=1, heads=1, head_dim=64, length=64, causal=True, measured="forward"),
            "cuDNN runs on GPUs only",
        ),
    ],
)
def test_what_a_cpu_cannot_do(kernel: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        _prepared_calls(torch_of_numpy(), "cpu", kernel, 1)


def test_without_pytorch_or_a_gpu_there_is_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(NoDeviceError, match=r"pip install torch`"):
        TorchDevice()
    for built, words in ((None, "a build without CUDA"), ("13.0", "no GPU")):
        torch = SimpleNamespace(
            __version__="2.13",
            cuda=SimpleNamespace(is_available=lambda: False),
            version=SimpleNamespace(cuda=built, hip=None),
        )
        monkeypatch.setattr(importlib, "import_module", lambda _, torch=torch: torch)
        with pytest.raises(NoDeviceError, match=f"PyTorch 2.13 sees {words}"):
            TorchDevice()


ANSWERS = {
    "driver_version,power.limit,clocks.max.sm": "580.65.06, 700.00, 1980\n",
    "pci.device_id": "0x233010DE\n",
    "clocks.sm,clocks.mem,power.draw,temperature.gpu": "1410, 2619, 699.12, [N/A]\n",
    "clocks_throttle_reasons.active": "0x0000000000000004\n",
}


def test_nvidia_smi_says_what_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(words: list[str], **options: Any) -> Any:
        assert words[:3] == ["nvidia-smi", "-i", "GPU-1"]
        return SimpleNamespace(returncode=0, stdout=ANSWERS[words[3].removeprefix("--query-gpu=")])

    monkeypatch.setattr(subprocess, "run", run)
    assert torch_device._facts("GPU-1") == {
        "driver": "580.65.06",
        "power_limit_w": 700.0,
        "clock_limit_mhz": 1980.0,
        "pci_id": "10de:2330",
    }
    assert torch_device.state("GPU-1") == {
        "clock_mhz": 1410.0,
        "memory_clock_mhz": 2619.0,
        "power_w": 699.12,
        "throttled": "0x0000000000000004",
    }


def test_a_machine_without_nvidia_smi_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(words: list[str], **options: Any) -> Any:
        raise FileNotFoundError(words[0])

    monkeypatch.setattr(subprocess, "run", missing)
    assert (torch_device._facts("0"), torch_device.state("0")) == ({}, {})
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=6, stdout="No devices\n"))
    assert (torch_device._facts("0"), torch_device.state("0")) == ({}, {})


def test_pytorch_itself_runs_the_tiny_plan_on_a_cpu() -> None:
    pytest.importorskip("torch")
    found = run_plan(_tiny_plan(), TorchDevice(gpu=False), RecordingHead("on a CPU", "2026-11"))
    assert (found.device.type, found.complete) == ("cpu", True)
    assert (len(found.gemms), len(found.attention), len(found.memory)) == (2, 4, 5)
    assert {item.why for item in found.skipped} == {"a CPU has no link to itself"}
