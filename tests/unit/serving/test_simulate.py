"""A run of requests, with round times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.serving.simulate import Arrivals, Room, _simulate, _StepTable

PACE = _StepTable(base=[0.0, *([0.01] * 64)], context=0.0, prompt=1e-4, square=0.0)


def requests(count: int, prompt: float, output: float) -> tuple[np.ndarray, np.ndarray]:
    return np.full(count, prompt), np.full(count, output)


def test_one_request() -> None:
    arrivals = Arrivals(*requests(1, 100, 11), None, 1)
    times = _simulate(PACE, arrivals, Room(1e6, 64), chunk=8192, first=0.5)
    # 100 tokens of 0.1 ms; then ten steps of 10 ms
    assert times.ttft[0] == pytest.approx(0.5 + 0.01)
    assert times.tpot[0] == pytest.approx(0.01)
    assert times.e2e[0] == pytest.approx(0.5 + 0.01 + 0.1)
    assert times.end == pytest.approx(0.11)


def test_prompts_share_a_step_up_to_its_chunk() -> None:
    arrivals = Arrivals(*requests(2, 100, 2), None, 2)
    both = _simulate(PACE, arrivals, Room(1e6, 64), chunk=200, first=0.0)
    assert both.ttft == pytest.approx([0.02, 0.02])
    one = _simulate(PACE, arrivals, Room(1e6, 64), chunk=100, first=0.0)
    # the second's chunk is one token short beside the first's decoding, and takes a step more
    assert one.ttft[0] == pytest.approx(0.01)
    assert one.ttft[1] > 0.03


def test_requests_wait_for_room_of_whole_answers() -> None:
    arrivals = Arrivals(*requests(3, 100, 11), None, 3)
    times = _simulate(PACE, arrivals, Room(250, 64), chunk=8192, first=0.0)
    assert times.ttft[:2] == pytest.approx([0.02, 0.02])
    assert times.ttft[2] == pytest.approx(0.02 + 0.1 + 0.01)
    assert times.evicted == 0


def test_the_youngest_is_evicted_and_computed_again() -> None:
    arrivals = Arrivals(*requests(2, 100, 101), None, 2)
    times = _simulate(PACE, arrivals, Room(300, 64, whole=False), chunk=8192, first=0.0)
    assert times.evicted == 1
    # the elder is not slowed; the younger waits for its end
    assert times.e2e[0] == pytest.approx(0.02 + 1.0)
    assert times.e2e[1] > times.e2e[0]
    assert times.ttft[1] == pytest.approx(0.02)


def test_no_more_sequences_than_the_engine_runs() -> None:
    arrivals = Arrivals(*requests(4, 10, 101), None, 4)
    times = _simulate(PACE, arrivals, Room(1e6, 2), chunk=8192, first=0.0)
    assert (times.ttft > 1.0).sum() == 2
    assert times.running <= 2


def test_arrivals_in_time() -> None:
    arrivals = Arrivals(*requests(2, 100, 11), np.array([0.0, 5.0]))
    times = _simulate(PACE, arrivals, Room(1e6, 64), chunk=8192, first=0.0)
    assert times.ttft == pytest.approx([0.01, 0.01])
    assert times.end == pytest.approx(5.11)


def test_context_slows_a_step_as_it_grows() -> None:
    pace = _StepTable(base=[0.0, 0.01], context=1e-6, prompt=0.0, square=0.0)
    arrivals = Arrivals(*requests(1, 1000, 101), None, 1)
    times = _simulate(pace, arrivals, Room(1e6, 64), chunk=8192, first=0.0)
    # contexts of 1,000 to 1,099 tokens
    assert times.tpot[0] == pytest.approx(0.01 + 1e-6 * 1049.5)


def test_the_host_bounds_a_step_with_a_prompt() -> None:
    pace = _StepTable(base=[0.0, 0.01], context=0.0, prompt=1e-4, square=0.0, floor=0.25)
    times = _simulate(pace, Arrivals(*requests(1, 100, 2), None, 1), Room(1e6, 64), chunk=8192, first=0.0)
    assert times.ttft[0] == pytest.approx(0.25)


def test_speculation_takes_fewer_steps() -> None:
    pace = _StepTable(base=[0.0, 0.01], context=0.0, prompt=0.0, square=0.0, yielded=2.5)
    times = _simulate(pace, Arrivals(*requests(1, 10, 101), None, 1), Room(1e6, 64), chunk=8192, first=0.0)
    assert times.e2e[0] == pytest.approx(0.4)


def test_an_engine_that_looks_for_requests_every_ten_steps() -> None:
    arrivals = Arrivals(*requests(2, 100, 101), np.array([0.0, 0.055]))
    each = _simulate(PACE, arrivals, Room(1e6, 64), chunk=8192, first=0.0)
    # a step is under way until 60 ms; the prompt's has 10 ms more
    assert each.ttft[1] == pytest.approx(0.08 - 0.055)
    tenth = _simulate(PACE, replace(arrivals, poll=10), Room(1e6, 64), chunk=8192, first=0.0)
    # it looked after the first prompt, at 10 ms, and looks ten steps later
    assert tenth.ttft == pytest.approx([0.01, 0.13 - 0.055])
    # an idle engine looks at once
    late = replace(arrivals, times=np.array([0.0, 5.0]), poll=10)
    assert _simulate(PACE, late, Room(1e6, 64), chunk=8192, first=0.0).ttft[1] == pytest.approx(0.01)


def test_prompts_have_steps_of_their_own_and_go_first() -> None:
    pace = replace(PACE, base=[0.004, *([0.01] * 64)], mixed=False)
    arrivals = Arrivals(*requests(2, 100, 101), np.array([0.0, 0.055]))
    times = _simulate(pace, arrivals, Room(1e6, 64), chunk=8192, first=0.0)
    # the first prompt ends at 14 ms and a step of decoding at 64; a step with a prompt has 4 ms beside it
    assert times.ttft == pytest.approx([0.014, 0.078 - 0.055])
    # decoding stands still meanwhile
    assert times.e2e[0] == pytest.approx(0.014 + 1.0 + 0.014)


def test_equal_requests_stay_in_step_where_prompts_go_first() -> None:
    arrivals = Arrivals(*requests(8, 100, 11), None, 2)
    apart = replace(PACE, mixed=False)
    assert _simulate(apart, arrivals, Room(1e6, 64), chunk=100, first=0.0).ttft == pytest.approx([0.01, 0.02] * 4)
