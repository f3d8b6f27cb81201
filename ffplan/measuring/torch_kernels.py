"""Kernels as calls of PyTorch, with their data on a device; the module of PyTorch is handed in."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from ffplan.base.record import record
from ffplan.measuring.kernels import MOVED, AttentionCall, Gemm, _HostCopy, _MemoryCall

if TYPE_CHECKING:
    from types import ModuleType

    from ffplan.measuring.kernels import Kernel

CACHES = 4
"""Data that kernels take in turn, in sizes of the last cache: so much that it holds none of the next one's [1]."""
USUAL_CACHE = 2**26
"""Size of the last cache of a device that reports none [byte]."""
MOST_SETS = 64
"""Most sets of data [1]."""
LEAST_CALLS = 8
"""Fewest calls that are launched as one graph [1]."""
WIDTH = 4096
"""Columns that a norm is taken over [1]."""
BACKENDS = {"fa2": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
"""Back ends of PyTorch's fused attention."""


@record
class _KernelCalls:
    step: Callable[[], Any]
    """Runs some calls."""
    calls: int
    """Calls of a step [1]."""
    capture: bool
    """True if a graph can hold the step."""
    around: Callable[[], AbstractContextManager[Any]] = nullcontext
    """Context of the calls."""


def _prepared_calls(torch: ModuleType, device: str, kernel: Kernel, cache: int) -> _KernelCalls:
    if isinstance(kernel, Gemm):
        return _gemm(torch, device, kernel, cache or USUAL_CACHE)
    if isinstance(kernel, AttentionCall):
        return _attention(torch, device, kernel)
    if isinstance(kernel, _MemoryCall):
        return _memory(torch, device, kernel, cache or USUAL_CACHE)
    return _copy(torch, device, kernel)


def _in_turn(calls: list[Callable[[], Any]]) -> _KernelCalls:
    """Return calls that are made in turn, often enough for a graph."""
    rounds = max(1, math.ceil(LEAST_CALLS / len(calls)))

    def step() -> None:
        for _ in range(rounds):
            for call in calls:
                call()

    return _KernelCalls(step=step, calls=rounds * len(calls), capture=True)


def _sets(size: int, cache: int) -> int:
    """Return the number of data sets of one size [byte] that outgrow a cache [byte]."""
    return min(MOST_SETS, max(1, math.ceil(CACHES * cache / size)))


def _gemm(torch: ModuleType, device: str, gemm: Gemm, cache: int) -> _KernelCalls:
    """Return GEMMs of random numbers: a GPU draws less power on zeros, and runs faster."""
    if gemm.dtype == "fp8":
        return _gemm_fp8(torch, device, gemm, cache)
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32}[gemm.dtype]
    torch.set_float32_matmul_precision("high" if gemm.dtype == "tf32" else "highest")
    if gemm.dtype == "tf32" and device == "cpu":
        raise RuntimeError("a CPU has no TF32")

    def one() -> Callable[[], Any]:
        left = torch.randn(gemm.m, gemm.k, device=device, dtype=kind)
        right = torch.randn(gemm.n, gemm.k, device=device, dtype=kind).t()
        out = torch.empty(gemm.m, gemm.n, device=device, dtype=kind)
        return lambda: torch.mm(left, right, out=out)

    return _in_turn([one() for _ in range(_sets(gemm.read + gemm.written, cache))])


def _gemm_fp8(torch: ModuleType, device: str, gemm: Gemm, cache: int) -> _KernelCalls:
    """Return GEMMs of FP8 with one scale for each operand, which write 16 bits."""
    if device == "cpu":
        raise RuntimeError("FP8 is timed on GPUs only")
    scale = torch.ones((), device=device, dtype=torch.float32)

    def one() -> Callable[[], Any]:
        left = torch.randn(gemm.m, gemm.k, device=device, dtype=torch.bfloat16).to(torch.float8_e4m3fn)
        right = torch.randn(gemm.n, gemm.k, device=device, dtype=torch.bfloat16).to(torch.float8_e4m3fn).t()
        return lambda: torch._scaled_mm(left, right, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)

    return _in_turn([one() for _ in range(_sets(gemm.read + gemm.written, cache))])


def _attention(torch: ModuleType, device: str, call: AttentionCall) -> _KernelCalls:
    if call.kernel not in BACKENDS:
        raise RuntimeError(f"PyTorch has no back end {call.kernel}")
    if device == "cpu" and call.kernel == "cudnn":
        raise RuntimeError("cuDNN runs on GPUs only")
    from_torch = torch.nn.attention
    backend = getattr(from_torch.SDPBackend, BACKENDS[call.kernel])
    attend = torch.nn.functional.scaled_dot_product_attention
    shape = (call.batch, call.length, call.heads, call.head_dim)
    back = call.measured != "forward"
    data = [
        torch.randn(shape, device=device, dtype=torch.bfloat16, requires_grad=back).transpose(1, 2) for _ in range(3)
    ]

    def around() -> AbstractContextManager[Any]:
        held: AbstractContextManager[Any] = from_torch.sdpa_kernel([backend])
        return held

    def forward() -> Any:
        return attend(*data, is_causal=call.causal)

    if call.measured == "forward":
        return _KernelCalls(step=forward, calls=1, capture=False, around=around)
    with around():
        out = forward()
    gradient = torch.randn_like(out)
    if call.measured == "both":
        return _KernelCalls(
            step=lambda: torch.autograd.grad(forward(), data, gradient), calls=1, capture=False, around=around
        )
    return _KernelCalls(
        step=lambda: torch.autograd.grad(out, data, gradient, retain_graph=True),
        calls=1,
        capture=False,
        around=around,
    )


def _memory(torch: ModuleType, device: str, call: _MemoryCall, cache: int) -> _KernelCalls:
    """Return kernels that memory binds, at 16 bits, each a single kernel."""
    numbers = call.bytes // MOVED[call.operation]
    shape = (numbers // WIDTH, WIDTH) if call.operation == "norm" else (numbers,)

    def tensor() -> Any:
        return torch.randn(shape, device=device, dtype=torch.bfloat16)

    def one() -> Callable[[], Any]:
        first, out = tensor(), tensor()
        if call.operation == "copy":
            return lambda: out.copy_(first)
        if call.operation == "norm":
            return lambda: torch.nn.functional.layer_norm(first, (WIDTH,))
        if call.operation == "gelu":
            return lambda: torch.nn.functional.gelu(first)
        second = tensor()
        return lambda: torch.add(first, second, out=out)

    if not math.prod(shape):
        raise RuntimeError(f"{call.words} is less than one row")
    return _in_turn([one() for _ in range(_sets(call.bytes, cache) if call.operation != "small" else 1)])


def _copy(torch: ModuleType, device: str, copy: _HostCopy) -> _KernelCalls:
    """Return a copy from or to pinned memory; both ways on a stream each."""
    if device == "cpu":
        raise RuntimeError("a CPU has no link to itself")
    hosts = [torch.empty(copy.bytes, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    there = [torch.empty(copy.bytes, dtype=torch.uint8, device=device) for _ in range(2)]

    def up() -> None:
        hosts[1].copy_(there[1], non_blocking=True)

    def down() -> None:
        there[0].copy_(hosts[0], non_blocking=True)

    if copy.direction != "both":
        return _KernelCalls(step=down if copy.direction == "to-device" else up, calls=1, capture=False)
    aside = torch.cuda.Stream()

    def both() -> None:
        main = torch.cuda.current_stream()
        aside.wait_stream(main)
        down()
        with torch.cuda.stream(aside):
            up()
        main.wait_stream(aside)

    return _KernelCalls(step=both, calls=1, capture=False)
