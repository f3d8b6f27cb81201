"""Loads in the mean: by hand, and against runs of requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.catalog.engines import Engine
from ffplan.catalog.library import Library
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.serving.hardware import (
    accelerator_power,
    compute_precision,
    deployment_of,
    engine_speed,
    group_link,
    machine_of,
)
from ffplan.serving.least import _least_at
from ffplan.serving.load import _Loop, _queue_wait, _tokens_a_step, closed_loop, open_loop, prompt_share
from ffplan.serving.requests import Requests
from ffplan.serving.room import memory_use, requests_with_room
from ffplan.serving.run import _pace_of, run_requests
from ffplan.serving.simulate import Arrivals, Room, _simulate
from ffplan.serving.step import prompt_seconds, step_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.serving.step import Served

REQUESTS = Requests(prompt=1024, output=256)


def engine(name: str = "vllm-2026") -> Engine:
    part = Catalog().entry(name).part
    assert isinstance(part, Engine)
    return part


def accelerator(name: str) -> Accelerator:
    part = Catalog().entry(name).part
    assert isinstance(part, Accelerator)
    return part


def test_tokens_of_a_speculative_step() -> None:
    # Leviathan: (1 - 0.8^4) / 0.2
    assert _tokens_a_step(3, 0.8) == pytest.approx(2.952)
    assert _tokens_a_step(0, 0.0) == 1


def test_the_wait_of_prompts() -> None:
    assert _queue_wait(0.5, 0.1, 100) == pytest.approx(0.05)
    assert _queue_wait(0.5, 0.1, 100, 0.0) == 0
    assert _queue_wait(0.99, 0.1, 4) == pytest.approx(0.2)


def test_one_request_alone(served: Callable[..., Served]) -> None:
    model = served()
    steady = closed_loop(model, REQUESTS, 1.0, 100.0)
    step = step_time(model, 1.0, 1024 + 128).total
    assert steady.tpot == pytest.approx(step)
    assert steady.ttft == pytest.approx(20e-3 + prompt_seconds(model, 1024.0) + step)
    assert steady.latency(256) == pytest.approx(steady.ttft + 255 * step)
    assert steady.rate == pytest.approx(1 / steady.latency(256))


def test_little_s_law_and_monotone_latency(served: Callable[..., Served]) -> None:
    counts = np.array([1.0, 2.0, 8.0, 32.0, 64.0])
    steady = closed_loop(served(), REQUESTS, counts, 1000.0)
    assert np.asarray(steady.rate * steady.latency(256)) == pytest.approx(counts, rel=1e-6)
    assert (np.diff(np.asarray(steady.tpot)) > 0).all()
    assert (np.diff(np.asarray(steady.rate)) > 0).all()


def test_requests_beyond_the_room_wait(served: Callable[..., Served]) -> None:
    full, over = closed_loop(served(), REQUESTS, 16.0, 16.0), closed_loop(served(), REQUESTS, 48.0, 16.0)
    assert over.waiting == 32
    assert over.tpot == pytest.approx(full.tpot)
    assert over.rate == pytest.approx(full.rate)
    assert over.ttft - full.ttft == pytest.approx(32 / full.rate)


def test_below_a_request_a_group_the_rate_is_that_of_the_requests_there_are(served: Callable[..., Served]) -> None:
    model = served(data=32)
    one, all_busy = closed_loop(model, REQUESTS, 1.0, 100.0), closed_loop(model, REQUESTS, 32.0, 100.0)
    assert one.ttft == all_busy.ttft
    assert one.tpot == all_busy.tpot
    assert one.rate == pytest.approx(1 / one.latency(256))
    assert one.running == pytest.approx(1 / 32)
    part = accelerator("h100-sxm-80gb")
    busy, idle = (accelerator_power(engine(), part, model, load, 0.0) for load in (all_busy, one))
    least = engine().power.idle.value * 700
    assert idle - least == pytest.approx((busy - least) / 32)


def test_where_prompts_fill_the_time_tokens_wait_and_not_prompts(served: Callable[..., Served]) -> None:
    model, requests = served(), Requests(prompt=30_000, output=64)
    steady = closed_loop(model, requests, 8.0, 100.0)
    prompt, step = prompt_seconds(model, 30_000.0), step_time(model, 1.0, 30_000.0).total
    # prompts follow each other one by one, each in four steps; seven others pass while a request decodes
    assert steady.ttft < 20e-3 + prompt + 5 * step
    assert steady.tpot == pytest.approx(7 * prompt / 63, rel=0.15)


def test_the_open_loop_is_the_closed_loop_at_its_rate(served: Callable[..., Served]) -> None:
    model = served()
    steady = open_loop(model, REQUESTS, 5.0, 400.0)
    assert steady.rate == pytest.approx(5.0, rel=1e-6)
    assert 5.0 * steady.latency(256) == pytest.approx(steady.running, rel=0.01)


@pytest.mark.parametrize("rate", [1.0, 4.0, 6.0])
@pytest.mark.parametrize(("stages", "launch"), [(1, 0.0), (2, 0.0), (4, 0.0), (4, 1.5e-3)])
def test_means_agree_with_a_run_of_requests(
    served: Callable[..., Served], rate: float, stages: int, launch: float
) -> None:
    model = served(pipeline=stages)
    model = replace(model, rates=replace(model.rates, prompt_layer=launch))
    count = 4000
    draw = np.random.default_rng(1)
    arrivals = Arrivals(np.full(count, 1024.0), np.full(count, 256.0), np.cumsum(draw.exponential(1 / rate, count)))
    use = memory_use(model, engine())
    times = run_requests(model, replace(use, most=512.0), REQUESTS, arrivals)
    steady = open_loop(model, REQUESTS, rate, 512.0)
    assert times.tpot[400:].mean() == pytest.approx(steady.tpot, rel=0.04)
    assert times.ttft[400:].mean() == pytest.approx(steady.ttft, rel=0.05)


def test_speculation_yields_tokens_and_costs_its_draft(served: Callable[..., Served]) -> None:
    plain = closed_loop(served(), REQUESTS, 1.0, 100.0)
    drafted = closed_loop(served(), replace(REQUESTS, drafted=3, accepted=0.8, draft=0.05), 1.0, 100.0)
    assert drafted.tpot == pytest.approx(plain.tpot * 1.15 / 2.952, rel=0.01)


def test_a_cached_prefix_saves_its_prompt(served: Callable[..., Served]) -> None:
    plain = closed_loop(served(), REQUESTS, 1.0, 100.0)
    hit = closed_loop(served(), replace(REQUESTS, hit=0.5), 1.0, 100.0)
    assert plain.ttft - hit.ttft == pytest.approx(
        prompt_seconds(served(), 1024.0) - prompt_seconds(served(), 512.0, 512.0)
    )
    assert hit.tpot == pytest.approx(plain.tpot)
    assert replace(REQUESTS, hit=0.5).kept(whole=True) == 512 + 256


def test_the_share_of_prompts_is_that_of_a_stage(served: Callable[..., Served]) -> None:
    for model in (served(), served(pipeline=4, data=2)):
        steady = closed_loop(model, REQUESTS, 8.0, 100.0)
        stages, groups = float(model.deployment.pipeline), float(model.deployment.data)
        prompt = prompt_seconds(model, 1024.0) / stages
        assert prompt_share(model, REQUESTS, steady) == pytest.approx(steady.rate / groups * prompt)
        assert prompt_share(model, REQUESTS, replace(steady, rate=1000.0)) == 1


def slow_host(model: Served) -> Served:
    """Return a model whose host takes 80 ms to launch the kernels of a step with prompts."""
    return replace(model, rates=replace(model.rates, prompt_layer=1e-3))


def test_a_step_with_a_short_prompt_is_as_long_as_its_launches(served: Callable[..., Served]) -> None:
    short = Requests(prompt=10, output=256)
    assert closed_loop(slow_host(served()), short, 1.0, 100.0).ttft == pytest.approx(20e-3 + 80e-3)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("mixed", [True, False])
def test_a_prompt_passes_the_launches_of_all_stages(served: Callable[..., Served], stages: int, *, mixed: bool) -> None:
    model = replace(slow_host(served(pipeline=stages)), mixed=mixed)
    short, ones = Requests(prompt=10, output=256), np.ones(20)
    assert closed_loop(model, short, 1.0, 100.0).ttft == pytest.approx(100e-3)
    times = run_requests(model, memory_use(model, engine()), short, Arrivals(10 * ones, 256 * ones, None, 1))
    assert times.ttft == pytest.approx(100e-3)
    # a step of others has one stage's part of them
    loop = _Loop(served=model, requests=short, seen=1.0, others=9.0, variation=1.0, residual=0.0)
    step = 0.03 if mixed else step_time(model, 1.0, 0.0).total
    alone = 0.0 if mixed else step
    assert loop.added(0.5, 0.03) == pytest.approx(0.3934693 * ((0.08 - step) / stages + alone))
    # so has a step full of prompts
    whole = replace(short, chunk=10)
    many = _Loop(served=model, requests=whole, seen=1.0, others=9.0, variation=1.0, residual=0.0)
    assert many.most(0.03) == pytest.approx(1 / ((0.08 - step) / stages + step))


def test_prompts_of_a_step_share_its_launches(served: Callable[..., Served]) -> None:
    model = slow_host(served())
    loop = _Loop(
        served=model, requests=Requests(prompt=10, output=256), seen=1.0, others=9.0, variation=1.0, residual=0.0
    )
    # of steps with half a prompt or four on average, 39 % and 98 % carry any
    assert loop.added(0.5, 0.03) == pytest.approx(0.3934693 * (0.08 - 0.03))
    assert loop.added(4.0, 0.03) == pytest.approx(0.9816844 * (0.08 - 0.03))
    # prompts so many that they take longer
    assert loop.added(4000.0, 0.03) == pytest.approx(4000 * prompt_seconds(model, 10.0))


def test_prompts_with_steps_of_their_own(served: Callable[..., Served]) -> None:
    mixed = served()
    apart = replace(mixed, mixed=False)
    prompt, alone = prompt_seconds(mixed, 1024.0), step_time(mixed, 1.0, 0.0).total
    assert closed_loop(apart, REQUESTS, 1.0, 100.0).ttft == pytest.approx(20e-3 + prompt + alone)
    loop = _Loop(served=apart, requests=REQUESTS, seen=1.0, others=9.0, variation=1.0, residual=0.0)
    assert loop.added(0.5, 0.03) == pytest.approx(0.5 * prompt + 0.3934693 * alone)
    assert closed_loop(apart, REQUESTS, 64.0, 100.0).tpot > closed_loop(mixed, REQUESTS, 64.0, 100.0).tpot


def test_room_for_whole_answers_or_for_prompts(served: Callable[..., Served]) -> None:
    model = served()
    whole, prompts = memory_use(model, engine("trtllm-2026")), memory_use(model, engine("vllm-2026"))
    # 72 GiB less a quarter of 141 GB, and 4 GB
    assert prompts.cache == pytest.approx(0.9 * 80 * 2**30 - prompts.weights - 4e9)
    assert prompts.tokens == pytest.approx(prompts.cache / (327_680 / 4))
    assert requests_with_room(prompts, model.shape, Requests(prompt=1000, output=1000)) == pytest.approx(
        prompts.tokens / (1500 + 7.5)
    )
    assert requests_with_room(whole, model.shape, Requests(prompt=1000, output=1000)) == pytest.approx(
        whole.tokens / (2000 + 15.5)
    )
    assert requests_with_room(prompts, model.shape, Requests(prompt=1, output=1)) == prompts.most


def test_precisions_that_accelerators_compute_at() -> None:
    assert compute_precision(accelerator("a100-sxm-80gb"), "fp8") == "bf16"
    assert compute_precision(accelerator("h100-sxm-80gb"), "fp4") == "fp8"
    assert compute_precision(accelerator("h100-sxm-80gb"), "mxfp4") == "bf16"
    assert compute_precision(accelerator("b200"), "mxfp4") == "fp4"


def test_a_machine_from_the_catalogue() -> None:
    nccl = Catalog().entry("nccl").part
    assert isinstance(nccl, Library)
    machine = machine_of(accelerator("h100-sxm-80gb"), "fp8", *[group_link(accelerator("h100-sxm-80gb"), nccl)] * 2)
    assert machine.peak == pytest.approx(1979e12, rel=0.001)
    assert machine.link == group_link(accelerator("h100-sxm-80gb"), nccl)
    # the library's share of links that nobody measured: MI300X by RCCL
    rccl = Catalog().entry("rccl").part
    assert isinstance(rccl, Library)
    assert rccl.link_share is not None
    unmeasured = accelerator("h100-sxm-80gb").model_copy(update={"collectives": None})
    assert group_link(unmeasured, rccl) == pytest.approx(450e9 * rccl.link_share.value)
    assert machine_of(accelerator("h100-sxm-80gb"), "fp8", 1e9, 2e9).link == 1e9
    # no ring is measured of an L40S: its PCIe link
    assert group_link(accelerator("l40s"), nccl) < 32e9


def test_widths_of_a_deployment(served: Callable[..., Served]) -> None:
    shape = served("gpt-oss-120b").shape
    oss = deployment_of(shape, "mxfp4", "bf16", "bf16", tensor=2)
    assert (oss.width, oss.attention_width, oss.cache_width, oss.quantised) == (0.53125, 2.0, 2.0, 0)
    dense = deployment_of(served().shape, "fp4", "fp8", "fp4")
    assert (dense.width, dense.attention_width, dense.cache_width, dense.quantised) == (0.5625, 0.5625, 1.0, 1)


def test_constants_of_kin_where_an_accelerator_has_no_runs() -> None:
    own = engine_speed(engine(), accelerator("h100-sxm-80gb"), "bf16")
    other = engine_speed(engine(), accelerator("a100-pcie-40gb"), "bf16")
    assert (own.source, other.source, other.runs) == ("h100-sxm-80gb", "any", 0)
    assert own.runs > 0
    assert other.rates.weights == engine().rates["any"].weights.value


def test_power_grows_to_the_design_power(served: Callable[..., Served]) -> None:
    model, part = served(), accelerator("h100-sxm-80gb")
    low = closed_loop(model, REQUESTS, 1.0, 400.0)
    high = closed_loop(model, REQUESTS, 256.0, 400.0)
    shares = engine().power
    assert shares.base.value * 700 < accelerator_power(engine(), part, model, low, 0.0) < 0.9 * 700
    assert accelerator_power(engine(), part, model, high, 1.0) == pytest.approx(700)
    # a request an hour: idle
    rare = open_loop(model, REQUESTS, 1 / 3600, 400.0)
    assert accelerator_power(engine(), part, model, rare, 0.0) == pytest.approx(shares.idle.value * 700, rel=0.02)


def test_prompts_bound_the_rate(served: Callable[..., Served]) -> None:
    model, long = served(), Requests(prompt=8192, output=1)
    alone = prompt_seconds(model, 8192.0)
    for count in (1.0, 16.0, 64.0):
        steady = closed_loop(model, long, count, 400.0)
        assert steady.rate <= 1 / alone
        assert steady.rate * steady.latency(1) == pytest.approx(count, rel=1e-3)
    assert closed_loop(model, long, 64.0, 400.0).rate == pytest.approx(
        1 / (alone + step_time(model, 1, 8192).total), rel=0.1
    )


def test_a_pipeline_computes_prompts_of_others_in_its_other_stages(served: Callable[..., Served]) -> None:
    long = Requests(prompt=8192, output=16)
    one = closed_loop(served(tensor=4), long, 64.0, 400.0).rate
    four = closed_loop(served(tensor=4, pipeline=4), long, 256.0, 400.0).rate
    assert 3 * one < four < 4.2 * one


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize(
    ("prompt", "output", "count"), [(8192, 128, 32), (8192, 16, 16), (32768, 10, 32), (4096, 1, 64)]
)
def test_runs_of_prompts_agree_with_the_mean(
    served: Callable[..., Served], prompt: int, output: int, count: int, *, mixed: bool
) -> None:
    model, requests = replace(served(), mixed=mixed), Requests(prompt=prompt, output=output)
    steady = closed_loop(model, requests, float(count), 400.0)
    lengths = np.full(12 * count, float(prompt)), np.full(12 * count, float(output))
    pace = _pace_of(model, count, prompt=float(prompt), context=prompt + output / 2)
    run = _simulate(pace, Arrivals(*lengths, None, count), Room(1e9, count), chunk=8192.0, first=20e-3)
    assert 12 * count / run.end == pytest.approx(steady.rate, rel=0.12)
    assert run.e2e[4 * count : -2 * count].mean() == pytest.approx(steady.latency(output), rel=0.2)


@pytest.mark.parametrize("curve", [1.0, 0.2, 6.0])
@pytest.mark.parametrize("at", [1e-6, 0.3, 1.0, 7.7, 99.999])
def test_where_a_figure_reaches_another(curve: float, at: float) -> None:
    """x^curve reaches its value at x there, from above, to 40 halvings; chords take a fraction of as many steps, but of
    curves that are nearly steps."""
    steps = []

    def excess(point: float) -> float:
        steps.append(point)
        return float(point**curve - at**curve)

    found = _least_at(excess, 0.0, 100.0, 40)
    assert at <= found <= at + 100 / 2**39
    assert len(steps) < (6 if curve == 1 else 123)
    assert _least_at(lambda point: point - 200, 0.0, 100.0, 40) == 100.0
    assert _least_at(lambda point: point + 1, 0.0, 100.0, 40) == 0.0
    stairs = _least_at(lambda point: -1.0 if point < at else 1.0, 0.0, 100.0, 40)
    assert at <= stairs <= at + 100 / 2**39
