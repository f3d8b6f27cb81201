"""What a GPU is asked to do, on a stand-in of PyTorch with streams, events and graphs that keep a log."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.measuring import torch_device
from ffplan.measuring.kernels import _HostCopy, _MemoryCall
from ffplan.measuring.run import _time_kernel, _UnsupportedKernelError
from ffplan.measuring.torch_device import TorchDevice

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL_MS = 0.25
"""Time of a call on the stand-in [ms]."""


class Gpu:
    """A GPU that counts calls; a graph holds the calls that were made while it was captured."""

    def __init__(self, *, captures: bool = True, fails: str = "") -> None:
        self.captures, self.fails = captures, fails
        self.calls, self.recording, self.log = 0, False, list[str]()

    def call(self) -> None:
        if self.fails:
            raise RuntimeError(self.fails)
        self.calls += 1

    def torch(self) -> Any:
        gpu = self

        class Event:
            def __init__(self, *, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                self.at = gpu.calls

            def synchronize(self) -> None:
                gpu.log.append("synchronize")

            def elapsed_time(self, later: Event) -> float:
                return (later.at - self.at) * CALL_MS

        class Stream:
            def wait_stream(self, _: Stream) -> None:
                gpu.log.append("wait")

        class Graph:
            held = 0

            def replay(self) -> None:
                gpu.calls += self.held
                gpu.log.append("replay")

        @contextmanager
        def graph(found: Graph) -> Iterator[None]:
            if not gpu.captures:
                raise RuntimeError("operation not permitted when stream is capturing")
            before = gpu.calls
            yield
            found.held, gpu.calls = gpu.calls - before, before

        @contextmanager
        def stream(_: Stream) -> Iterator[None]:
            gpu.log.append("aside")
            yield

        class Tensor:
            def copy_(self, _: Tensor, **__: bool) -> None:
                gpu.call()

        def tensor(*shape: Any, **options: Any) -> Tensor:
            return Tensor()

        def props(number: int) -> Any:
            return SimpleNamespace(
                name="NVIDIA Test",
                multi_processor_count=132,
                total_memory=85 * 10**9,
                L2_cache_size=50 * 2**20,
                uuid="0123",
            )

        current = Stream()
        return SimpleNamespace(
            __version__="2.13.0",
            version=SimpleNamespace(cuda="13.0", hip=None),
            backends=SimpleNamespace(cudnn=SimpleNamespace(version=lambda: 91900)),
            bfloat16="bf16",
            uint8="u8",
            randn=tensor,
            empty=tensor,
            cuda=SimpleNamespace(
                is_available=lambda: True,
                get_device_properties=props,
                empty_cache=lambda: gpu.log.append("empty"),
                synchronize=lambda: gpu.log.append("synchronize"),
                Event=Event,
                Stream=Stream,
                CUDAGraph=Graph,
                graph=graph,
                stream=stream,
                current_stream=lambda: current,
            ),
        )


def device(monkeypatch: pytest.MonkeyPatch, gpu: Gpu) -> TorchDevice:
    made = gpu.torch()
    monkeypatch.setattr(importlib, "import_module", lambda _: made)
    monkeypatch.setattr(torch_device, "answer", lambda *_: None)
    return TorchDevice()


def test_calls_are_replayed_as_a_graph_and_timed_by_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """256 MiB outgrow four caches of 50 MiB alone: one set of data, eight calls a graph, 0.25 ms each."""
    gpu = Gpu()
    made = device(monkeypatch, gpu).prepare(_MemoryCall(operation="copy", bytes=256 * 2**20))
    assert made.calls == 8
    assert gpu.calls == 3 * 8  # before it was captured
    gpu.log.clear()
    assert made.run(5) == pytest.approx(5 * 8 * CALL_MS / 1e3)
    assert gpu.log == ["replay"] * 5 + ["synchronize"]
    assert _time_kernel(made, seconds=0.1, warm=0.05).median_us == pytest.approx(250.0)


def test_data_take_turns_where_they_fit_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 MiB: ten sets outgrow four caches of 50 MiB."""
    made = device(monkeypatch, Gpu()).prepare(_MemoryCall(operation="copy", bytes=20 * 2**20))
    assert made.calls == 10


def test_a_step_that_no_graph_holds_is_launched_call_by_call(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(captures=False)
    made = device(monkeypatch, gpu).prepare(_MemoryCall(operation="copy", bytes=256 * 2**20))
    gpu.log.clear()
    assert made.run(2) == pytest.approx(2 * 8 * CALL_MS / 1e3)
    assert gpu.log == ["synchronize"]


def test_copies_both_ways_run_on_streams_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu()
    made = device(monkeypatch, gpu).prepare(_HostCopy(direction="both", bytes=2**20))
    gpu.log.clear()
    made.run(1)
    assert gpu.log == ["wait", "aside", "wait", "synchronize"]
    assert gpu.calls == 2
    one = device(monkeypatch, Gpu()).prepare(_HostCopy(direction="to-device", bytes=2**20))
    assert one.run(4) == pytest.approx(4 * CALL_MS / 1e3)


def test_a_kernel_that_fails_is_unsupported_by_its_first_line(monkeypatch: pytest.MonkeyPatch) -> None:
    made = device(monkeypatch, Gpu(fails="CUDA error: no kernel image\nmore")).prepare(
        _HostCopy(direction="to-device", bytes=2**20)
    )
    with pytest.raises(_UnsupportedKernelError) as caught:
        made.run(1)
    assert str(caught.value) == "CUDA error: no kernel image"


def test_facts_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    found = device(monkeypatch, Gpu())
    facts = found.facts()
    assert (facts.type, facts.name, facts.multiprocessors, facts.memory) == ("gpu", "NVIDIA Test", 132, 85 * 10**9)
    assert (facts.torch, facts.cuda, facts.cudnn, facts.pci_id) == ("2.13.0", "13.0", "91900", None)
    asked: list[str] = []

    def answer(gpu: str, fields: tuple[str, ...]) -> list[str] | None:
        asked.append(gpu)
        return ["0x233010DE"] if fields == ("pci.device_id",) else None

    monkeypatch.setattr(torch_device, "answer", answer)
    assert found.facts().pci_id == "10de:2330"
    assert found.state("now").clock_mhz is None
    assert set(asked) == {"GPU-0123"}
