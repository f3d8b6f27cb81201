"""Prefill and decoding apart: bytes by hand, means beside the run, and what binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.catalog.engines import Engine
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.serving.hardware import prompt_power
from ffplan.serving.pools import (
    Pools,
    moved_bytes,
    pools_loop,
    pools_open_loop,
    prefill_rate,
    prompt_pace,
    slices,
    transfer_seconds,
)
from ffplan.serving.requests import Requests
from ffplan.serving.room import memory_use
from ffplan.serving.run import run_pools
from ffplan.serving.simulate import Arrivals
from ffplan.serving.step import prompt_seconds, step_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.serving.step import Served
    from ffplan.serving.times import Times

    Make = Callable[..., Served]

CHAT = Requests(prompt=2048.0, output=256.0)


def pools(prefill: Served, decode: Served, *, prefills: int = 2, decodes: int = 3, rate: float = 50e9) -> Pools:
    return Pools(prefill=prefill, decode=decode, prefills=prefills, decodes=decodes, rate=rate)


@pytest.fixture
def unit(served: Make) -> Pools:
    return pools(served(), served())


def run(unit: Pools, arrivals: Arrivals, *, begun: bool = True) -> Times:
    engine = Catalog().entry("vllm-2026").part
    assert isinstance(engine, Engine)
    uses = memory_use(unit.prefill, engine), memory_use(unit.decode, engine)
    return run_pools(unit, uses, CHAT, arrivals, begun=begun)


def test_keys_and_values_of_a_prompt_by_hand(served: Make) -> None:
    # 8,192 tokens x 80 layers x 2 x 8 heads x 128 x 2 bytes = 2.68 GB, from four ranks to four: 0.67 GB each
    sent, received = moved_bytes(pools(served(), served()), 8192)
    assert sent == received == 8192 * 80 * 2 * 8 * 128 * 2 / 4
    # from two ranks to four: half as many send twice as much
    sent, received = moved_bytes(pools(served(tensor=2), served()), 8192)
    assert sent == 2 * received


def test_every_rank_of_latent_attention_receives_the_whole(served: Make) -> None:
    sent, received = moved_bytes(pools(served("deepseek-r1", tensor=1), served("deepseek-r1", tensor=8)), 1000)
    assert received == 1000 * 61 * (512 + 64) * 2
    assert sent == 8 * received


def test_the_last_chunk_moves_once_a_prompt_is_computed(unit: Pools) -> None:
    whole = transfer_seconds(unit, Requests(prompt=8192.0, output=10.0, chunk=8192.0))
    assert transfer_seconds(unit, Requests(prompt=8192.0, output=10.0, chunk=2048.0)) == pytest.approx(whole / 4)


def test_decoding_has_no_prompts_of_others(unit: Pools, served: Make) -> None:
    alone = pools_loop(unit, CHAT, 3.0, 100.0)
    crowded = pools_loop(pools(served(), served(), prefills=8), CHAT, 3.0, 100.0)
    assert float(alone.prompts) == 0
    assert float(alone.tpot) == pytest.approx(float(crowded.tpot), rel=1e-3)


def test_requests_under_way_are_their_rate_times_their_time(unit: Pools) -> None:
    for concurrency in (3.0, 30.0, 300.0, 3000.0):
        steady = pools_loop(unit, CHAT, concurrency, 80.0)
        assert float(steady.rate) * float(steady.latency(CHAT.output)) == pytest.approx(concurrency, rel=1e-3)
        assert float(steady.rate) <= float(prefill_rate(unit, CHAT)) * (1 + 1e-9)


def test_a_slow_network_bounds_the_rate(served: Make) -> None:
    slow = pools(served(), served(), rate=1e8)
    sent, _ = moved_bytes(slow, CHAT.prompt)
    assert float(prefill_rate(slow, CHAT)) == pytest.approx(2 * 1e8 / sent)
    assert float(pools_loop(slow, CHAT, 500.0, 200.0).rate) == pytest.approx(2 * 1e8 / sent)


def test_means_and_the_run_agree_below_saturation(unit: Pools) -> None:
    assert slices(unit) == 1
    rate = 0.4 * float(prefill_rate(unit, CHAT))
    steady = pools_open_loop(unit, CHAT, rate, 200.0)
    draw = np.random.default_rng(1)
    count = 4000
    times = run(
        unit, Arrivals(np.full(count, 2048.0), np.full(count, 256.0), np.cumsum(draw.exponential(1 / rate, count)))
    )
    assert times.tpot[400:].mean() == pytest.approx(float(steady.tpot), rel=0.05)
    assert times.ttft[400:].mean() == pytest.approx(float(steady.ttft), rel=0.15)


def test_a_saturated_prefill_pool_runs_at_its_own_rate(served: Make) -> None:
    few = pools(served(), served(), prefills=1, decodes=8)
    arrivals = Arrivals(np.full(1500, 2048.0), np.full(1500, 256.0), None, 400)
    assert run(few, arrivals, begun=False).rate == pytest.approx(float(prefill_rate(few, CHAT)), rel=0.05)
    assert float(pools_loop(few, CHAT, 400.0, 200.0).rate) == pytest.approx(float(prefill_rate(few, CHAT)), rel=1e-3)


def test_slices_have_whole_groups_of_both_pools(served: Make) -> None:
    assert slices(pools(served(), served(), prefills=4, decodes=6)) == 2
    assert slices(pools(served(data=8), served(data=32), prefills=4, decodes=1)) == 32


def test_a_prompt_waits_longer_the_busier_the_pool(served: Make) -> None:
    model = served()
    most, idle = prompt_pace(model, CHAT, 0.0)
    step = float(step_time(model, 1.0, 2048.0).total)
    prompt = float(prompt_seconds(model, 2048.0))
    # a step carries four such prompts, so that each pays a quarter of it
    assert float(most) == pytest.approx(1 / (prompt + step / 4))
    assert float(idle) == pytest.approx(0.02 + prompt + step)
    assert float(prompt_pace(model, CHAT, 0.9)[1]) > 2 * float(prompt_pace(model, CHAT, 0.5)[1])


def test_power_of_a_pool_that_computes_prompts() -> None:
    catalog = Catalog()
    engine, accelerator = catalog.entry("vllm-2026").part, catalog.entry("h100-sxm-80gb").part
    assert isinstance(engine, Engine)
    assert isinstance(accelerator, Accelerator)
    # 14 % of 700 W while idle; base and compute together are above the limit
    assert float(prompt_power(engine, accelerator, 0.0)) == pytest.approx(0.14 * 700)
    assert float(prompt_power(engine, accelerator, 1.0)) == pytest.approx(700)
    assert float(prompt_power(engine, accelerator, 0.5)) == pytest.approx((0.07 + 0.5) * 700)
