"""A device whose times follow a rule, and as much of PyTorch as GEMMs and element-wise kernels need, on numpy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ffplan.measuring.recording import DeviceFacts, DeviceState
from ffplan.measuring.run import _UnsupportedKernelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.measuring.kernels import Kernel


class RuledCalls:
    """Calls that take what a rule says, with noise of a seed."""

    calls = 4

    def __init__(self, device: RuledDevice, each: float) -> None:
        self.device, self.each = device, each

    def run(self, times: int) -> float:
        self.device.runs += 1
        if self.device.stop_at == self.device.runs:
            raise KeyboardInterrupt
        noise = 1 + self.device.noise * self.device.random.standard_normal()
        return float(self.each * times * self.calls * noise)


class RuledDevice:
    """A device on which each kernel takes a time [s], or that of a rule; None where it cannot run."""

    def __init__(
        self, rule: float | Callable[[Kernel], float | None], *, noise: float = 0.0, seed: int = 1, stop_at: int = 0
    ) -> None:
        self.rule, self.noise, self.stop_at, self.runs = rule, noise, stop_at, 0
        self.random = np.random.default_rng(seed)

    def facts(self) -> DeviceFacts:
        return DeviceFacts(type="gpu", name="ruled", multiprocessors=132)

    def state(self, when: str) -> DeviceState:
        return DeviceState(when=when, clock_mhz=1500.0)

    def prepare(self, kernel: Kernel) -> RuledCalls:
        each = self.rule(kernel) if callable(self.rule) else self.rule
        if each is None:
            raise _UnsupportedKernelError("it does not know this one")
        return RuledCalls(self, each)


class Tensor:
    """A tensor of numpy with the few methods that are called."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def t(self) -> Tensor:
        return Tensor(self.data.T)

    def copy_(self, other: Tensor) -> None:
        self.data[...] = other.data


def torch_of_numpy() -> Any:
    """Return a stand-in for PyTorch with a log of what was called."""
    log: list[tuple[Any, ...]] = []
    draw = np.random.default_rng(0)

    def randn(*shape: Any, device: str, dtype: str) -> Tensor:
        assert device == "cpu"
        size = shape[0] if isinstance(shape[0], tuple) else shape
        log.append(("randn", *size))
        return Tensor(draw.standard_normal(size))

    def mm(left: Tensor, right: Tensor, out: Tensor) -> None:
        log.append(("mm", *left.data.shape, *right.data.shape))
        np.matmul(left.data, right.data, out=out.data)

    def add(first: Tensor, second: Tensor, out: Tensor) -> None:
        np.add(first.data, second.data, out=out.data)

    return SimpleNamespace(
        log=log,
        bfloat16="bf16",
        float16="fp16",
        float32="fp32",
        randn=randn,
        empty=lambda *shape, **_: Tensor(np.empty(shape)),
        mm=mm,
        add=add,
        set_float32_matmul_precision=lambda name: None if name in ("high", "highest") else pytest.fail(name),
        nn=SimpleNamespace(
            functional=SimpleNamespace(
                layer_norm=lambda tensor, shape: log.append(("norm", *tensor.data.shape, *shape)),
                gelu=lambda tensor: log.append(("gelu", *tensor.data.shape)),
            )
        ),
    )
