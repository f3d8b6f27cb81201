"""Serving over random models and deployments: what more hardware, more requests and longer contexts can never do."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.catalog.models import Model
from ffplan.catalog.store import Catalog
from ffplan.serving.hardware import deployment_of
from ffplan.serving.load import closed_loop, open_loop
from ffplan.serving.memory import cache_share, model_weights, splits_heads, weight_memory
from ffplan.serving.pools import Pools, pools_loop, prefill_rate
from ffplan.serving.requests import Requests
from ffplan.serving.step import Served, launch_seconds, prompt_seconds, step_time
from tests.unit.serving.conftest import MACHINE, RATES

MODELS = ("llama3.1-8b", "llama3.1-70b", "mixtral-8x7b", "qwen3-235b-a22b", "deepseek-r1", "gpt-oss-120b", "gemma3-27b")


@st.composite
def served(draw: st.DrawFn) -> Served:
    model = Catalog().entry(draw(st.sampled_from(MODELS))).part
    assert isinstance(model, Model)
    assert model.transformer is not None
    shape, tensor = model.transformer, draw(st.sampled_from((1, 2, 4, 8)))
    data = draw(st.sampled_from((1, 2, 4)))
    shared = shape.experts is not None and data > 1 and draw(st.booleans())
    precision = draw(st.sampled_from(("bf16", "fp8", "fp4")))
    deployment = deployment_of(
        shape,
        precision,
        draw(st.sampled_from(("bf16", "fp8"))),
        precision,
        tensor=tensor,
        data=data,
        pipeline=draw(st.sampled_from((1, 2))),
        expert=tensor * data if shared else 1,
    )
    rates = replace(RATES, prompt_layer=draw(st.sampled_from((0.0, 3e-4))))
    weights = model_weights(shape)
    return Served(shape=shape, weights=weights, deployment=deployment, machine=MACHINE, rates=rates)


REQUESTS = st.builds(Requests, prompt=st.integers(1, 30_000), output=st.integers(1, 4_000))
COUNT = st.integers(1, 300)


@given(model=served(), count=COUNT, context=st.integers(1, 100_000))
def test_parts_are_never_below_zero_and_more_of_anything_is_no_slower(model: Served, count: int, context: int) -> None:
    step = step_time(model, float(count), float(context))
    assert all(getattr(step, field.name) >= 0 for field in fields(step))
    for name in ("bandwidth", "peak", "link"):
        better = replace(model, machine=replace(model.machine, **{name: 2 * getattr(model.machine, name)}))
        assert step_time(better, float(count), float(context)).total <= step.total
        assert prompt_seconds(better, float(context)) <= prompt_seconds(model, float(context))
    assert step_time(model, float(count + 1), float(context)).total >= step.total
    assert step_time(model, float(count), float(context + 1)).total >= step.total


@given(model=served(), requests=REQUESTS, count=COUNT)
def test_a_closed_loop_keeps_little_s_law(model: Served, requests: Requests, count: int) -> None:
    groups = float(model.deployment.data)
    # fewer than groups too
    concurrency = np.sort([1.0, float(count), count * groups, 2.0 * count * groups])
    steady = closed_loop(model, requests, concurrency, 10_000.0)
    assert (
        np.asarray(steady.rate) * float(prompt_seconds(model, requests.computed))
        <= groups * float(model.deployment.pipeline) * 1.001
    ).all()
    under_way = np.asarray(steady.rate * steady.latency(requests.output))
    assert under_way == pytest.approx(concurrency, rel=1e-3)
    assert (np.diff(np.asarray(steady.tpot)) >= -1e-3 * np.asarray(steady.tpot)[:-1]).all()
    assert (np.diff(np.asarray(steady.rate)) >= -1e-2 * np.asarray(steady.rate)[:-1]).all()
    assert (np.asarray(steady.decoding) <= np.asarray(steady.running) + 1e-9).all()
    later = max(requests.output - 1, 1e-6)
    assert np.asarray(steady.rate * later * steady.tpot) == pytest.approx(np.asarray(steady.decoding) * groups)


@given(model=served(), prompt=st.integers(1, 100), mixed=st.booleans())
def test_a_pipeline_in_place_of_tensor_parallelism_hastens_no_prompt_that_waits_for_launches(
    model: Served, prompt: int, *, mixed: bool
) -> None:
    rates = replace(model.rates, prompt_layer=1e-2)
    firsts = []
    for stages in (1.0, 2.0, 4.0, 8.0):
        deployment = replace(model.deployment, tensor=8 / stages, pipeline=stages, data=1.0, expert=1.0)
        plan = replace(model, deployment=deployment, rates=rates, mixed=mixed)
        firsts.append(float(closed_loop(plan, Requests(prompt=prompt, output=100), 1.0, 64.0).ttft))
    launches = float(launch_seconds(replace(model, rates=rates)))
    assert min(firsts) >= float(rates.first) + launches - 1e-9
    assert (np.diff(firsts) >= -1e-9).all()


@given(model=served(), requests=REQUESTS, share=st.floats(0.05, 0.5))
def test_an_open_loop_serves_its_rate(model: Served, requests: Requests, share: float) -> None:
    most = float(np.asarray(closed_loop(model, requests, 64.0 * model.deployment.data, 64.0).rate))
    steady = open_loop(model, requests, share * most, 64.0)
    assert steady.rate == pytest.approx(share * most, rel=1e-3)


@given(model=served())
def test_more_ranks_hold_no_more_weights(model: Served) -> None:
    held = weight_memory(model.weights, model.deployment)
    wider = replace(model.deployment, tensor=2 * model.deployment.tensor)
    assert 0 < weight_memory(model.weights, wider) <= held


@given(
    prefill=served(),
    decode=served(),
    copies=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    requests=REQUESTS,
    concurrency=st.integers(1, 5_000),
    room=st.integers(1, 500),
)
def test_pools_keep_the_law_of_little_and_more_of_anything_is_no_slower(
    prefill: Served, decode: Served, copies: tuple[int, int], requests: Requests, concurrency: int, room: int
) -> None:
    prefill = replace(prefill, shape=decode.shape, weights=decode.weights)  # one model
    unit = Pools(prefill=prefill, decode=decode, prefills=copies[0], decodes=copies[1], rate=50e9)
    steady = pools_loop(unit, requests, float(concurrency), float(room))
    assert float(steady.rate) * float(steady.latency(requests.output)) == pytest.approx(concurrency, rel=1e-2)
    assert float(steady.rate) <= float(prefill_rate(unit, requests)) * (1 + 1e-9)
    assert float(steady.decoding) <= room * (1 + 1e-9)
    for more in ({"prefills": copies[0] + 1}, {"decodes": copies[1] + 1}, {"rate": 100e9}):
        better = pools_loop(replace(unit, **more), requests, float(concurrency), float(room))
        assert float(better.rate) >= float(steady.rate) * (1 - 1e-2)


@given(name=st.sampled_from(Catalog().ids_of("model")), tensor=st.integers(1, 128))
def test_the_fullest_rank_holds_whole_heads_of_keys_and_values(name: str, tensor: int) -> None:
    model = Catalog().entry(name).part
    assert isinstance(model, Model)
    shape = model.transformer
    if shape is None or shape.latent is not None:
        return
    held = cache_share(shape, tensor) * shape.key_value_heads
    ranks = [0] * tensor
    for head in range(max(shape.key_value_heads, tensor)):  # dealt in turn, copies too
        ranks[head % tensor] += 1
    assert held == pytest.approx(max(ranks))
    if splits_heads(shape, tensor):
        assert min(ranks) == max(ranks)
        assert shape.heads % tensor == 0
