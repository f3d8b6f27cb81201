"""Recordings and how they are taken."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.base.formatting import data_size
from ffplan.measuring.kernels import GROUPS, Gemm, KernelPlan, _default_plan, _tiny_plan
from ffplan.measuring.recording import read_recording, recording_text
from ffplan.measuring.run import (
    BATCH,
    FEWEST,
    RecordingHead,
    _percentile,
    _time_kernel,
    _UnsupportedKernelError,
    run_plan,
)
from tests.unit.measuring.fakes import RuledCalls, RuledDevice

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.measuring.kernels import Kernel


WHOLE = run_plan(_tiny_plan(), RuledDevice(1e-4, noise=0.1), RecordingHead('a "test" of ×', "2026-11-24"))


def test_a_recording_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(recording_text(WHOLE))
    found, document = read_recording(str(file))
    assert found == WHOLE
    assert json.loads(file.read_text())["gemms"][0]["m"] == 64
    assert document.place(("gemms", 0, "median_us"))[0] > 10


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"version": "1"', '"version": "2"', "run.json:3:14: error: `2` is not a choice for `version`"),
        ('"m": 64', '"m": 0', "`m` is `0`; it must be at least 1"),
        ('"m": 64', '"m": -3', "`m` is `-3`; it must be at least 1"),
        ('"m": 64', '"m": 1.5', "`m` is `1.5`; a whole number is wanted"),
        ('"m": 64', '"mm": 64', "the field `mm` is not known here"),
        ('"dtype": "bf16"', '"dtype": "int8"', "is not a choice for `dtype`"),
        ('"median_us": ', '"median_us": -', "it must be more than 0"),
        ('"median_us": ', '"median_us": 0, "x": ', "`median_us` is `0`; it must be more than 0"),
        ('"median_us": ', '"median_us": NaN, "x": ', "`median_us` is"),
        ('"median_us": ', '"median_us": .nan, "x": ', "`median_us` is not a finite number"),
        ('"median_us": ', '"median_us": 1e99, "x": ', "`median_us` is"),
        ('"low_us": ', '"low_us": 9', "lies outside"),
        ('"kind": "kernel-recording"', '"kind": "design"', "is not a choice for `kind`"),
        ('"date": "2026-11-24"', '"date": "yesterday"', "write a year, month or day"),
        ('"gemms": [', '"gemms": [[', "run.json:"),
    ],
)
def test_a_wrong_recording_is_refused_with_its_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    text = recording_text(WHOLE)
    assert old in text
    file = tmp_path / "run.json"
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_recording(str(file))
    assert words in str(caught.value)
    assert "run.json:" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_recording(str(tmp_path / "none.json"))


HEAD = RecordingHead("a test", "2026-11")


def calls(each: float, noise: float = 0.0) -> RuledCalls:
    return RuledCalls(RuledDevice(each, noise=noise), each)


def test_a_call_is_timed_in_batches_that_last() -> None:
    """10 us a call, four calls a repetition: 500 repetitions fill a batch of 20 ms, and 0.5 s are 25 of them."""
    made = calls(1e-5)
    timing = _time_kernel(made, seconds=0.5, warm=0.1)
    assert (timing.median_us, timing.low_us, timing.high_us) == (10.0, 10.0, 10.0)
    assert timing.batches == round(0.5 / BATCH)


def test_a_long_call_is_timed_five_times() -> None:
    timing = _time_kernel(calls(3.0), seconds=0.5, warm=0.1)
    assert (timing.median_us, timing.batches) == (3e6, FEWEST)


def test_the_spread_is_that_of_the_batches() -> None:
    timing = _time_kernel(calls(1e-5, noise=0.02), seconds=2.0, warm=0.1)
    assert timing.low_us is not None
    assert timing.high_us is not None
    assert timing.low_us < timing.median_us < timing.high_us
    assert timing.median_us == pytest.approx(10.0, rel=0.01)
    assert (timing.high_us - timing.low_us) / 10.0 == pytest.approx(2 * 1.2816 * 0.02, rel=0.3)  # 10 % to 90 %


def test_a_clock_that_stands_still_is_no_time() -> None:
    with pytest.raises(_UnsupportedKernelError, match="no time pass"):
        _time_kernel(calls(0.0), seconds=0.1, warm=0.1)


@pytest.mark.parametrize(("fraction", "value"), [(0.0, 1.0), (0.5, 2.5), (1.0, 4.0), (0.1, 1.3)])
def test_percentiles(fraction: float, value: float) -> None:
    assert _percentile([4.0, 2.0, 1.0, 3.0], fraction) == pytest.approx(value)


def test_what_a_device_cannot_do_is_named() -> None:
    def rule(kernel: Kernel) -> float | None:
        return None if isinstance(kernel, Gemm) and kernel.m == 64 else 1e-4

    seen: list[str] = []

    def progress(*where: object) -> None:
        seen.append(str(where[2]))

    found = run_plan(_tiny_plan(), RuledDevice(rule), HEAD, progress)
    assert [item.what for item in found.skipped] == ["bf16 64 x 64 x 64"]
    assert found.skipped[0].why == "it does not know this one"
    assert (len(found.gemms), len(found.attention), len(found.memory), len(found.copies)) == (1, 4, 5, 3)
    assert [item.when for item in found.states][:2] == ["at the start", "after warming up"]
    assert seen[0].startswith("warming up")
    assert (found.complete, found.load, found.rows) == (True, "short", 13)


def test_an_interrupt_keeps_what_is_finished() -> None:
    whole = run_plan(_tiny_plan(), RuledDevice(1e-4), HEAD)
    device = RuledDevice(1e-4)
    run_plan(_tiny_plan(), device, HEAD)
    stopped = run_plan(_tiny_plan(), RuledDevice(1e-4, stop_at=device.runs // 2), HEAD)
    assert not stopped.complete
    assert 0 < stopped.rows < whole.rows
    assert stopped.gemms == whole.gemms
    early = run_plan(_tiny_plan(), RuledDevice(1e-4, stop_at=1), HEAD)  # while warming up
    assert (early.complete, early.rows) == (False, 0)


def test_the_usual_plan_takes_minutes_and_has_every_group() -> None:
    plan = _default_plan()
    assert tuple(plan.kernels) == GROUPS
    assert 60 < plan.total < 600
    every = [kernel.words for kernels in plan.kernels.values() for kernel in kernels]
    assert len(every) == len(set(every))
    half = plan.only(["memory", "pcie"])
    assert tuple(half.kernels) == ("memory", "pcie")
    assert half.total == pytest.approx((len(half.kernels["memory"]) + len(half.kernels["pcie"])) * 0.8)
    assert all(
        call.heads * call.head_dim == 2048 and call.batch * call.length == 16384 for call in plan.kernels["attention"]
    )


def test_a_plan_without_gemms_heats_with_nothing() -> None:
    plan = replace(_tiny_plan(), kernels={"memory": _tiny_plan().kernels["memory"]}, soak=1.0)
    assert isinstance(plan, KernelPlan)
    found = run_plan(plan, RuledDevice(1e-4), HEAD)
    assert [item.when for item in found.states] == ["at the start", "after memory"]


def test_same_times_make_the_same_bytes() -> None:
    first, second = (recording_text(run_plan(_tiny_plan(), RuledDevice(1e-4, noise=0.1), HEAD)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("size", "text"), [(12, "12 B"), (12288, "12 KiB"), (3 * 2**20, "3 MiB"), (5 * 2**29, "2.5 GiB")]
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert data_size(size) == text
