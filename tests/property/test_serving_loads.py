"""Loads of random copies: what runs and formulas say of one load, and what remedies promise."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.catalog.models import Model
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.inputs.workloads import PoolPlan
from ffplan.serving.memory import splits_heads
from ffplan.serving.requests import Requests
from ffplan.studies.fleet.capacity import Copy
from ffplan.studies.serve.apart import _apart_setup
from ffplan.studies.serve.links import Fleet, ServeError
from ffplan.studies.serve.loads import Load, Trace, run_open, targets_of
from ffplan.studies.serve.search import search
from ffplan.studies.serve.serve import ServeTask, serve
from ffplan.studies.serve.setup import PlanRequest, ServeSetup, engine_of, serve_setup
from tests.support import examples

if TYPE_CHECKING:
    from ffplan.results.serving import ServeReport, ServeRow

CATALOG = Catalog()
ACCELERATORS = ("h100-sxm-80gb", "b200", "l40s", "mi300x", "a100-sxm-40gb")
MODELS = ("llama3.1-8b", "llama3.1-70b", "llama3.1-405b", "qwen3-235b-a22b", "gpt-oss-120b", "gemma3-27b")


def refused_or_copy(
    accelerator: str, gpus: int, model: str, precision: str | None, requests: Requests
) -> ServeSetup | str:
    """Return a copy, or what its refusal says."""
    part, served = CATALOG.entry(accelerator).part, CATALOG.entry(model).part
    assert isinstance(part, Accelerator)
    assert isinstance(served, Model)
    fleet, request = Fleet(accelerator=part, gpus=gpus), PlanRequest(precision=precision)
    try:
        return serve_setup(CATALOG, served, engine_of(CATALOG, "vllm"), fleet, request, requests=requests)
    except ServeError as error:
        return str(error)


@st.composite
def loaded(draw: st.DrawFn) -> tuple[ServeSetup, Load]:
    """Return a copy with room for requests of some lengths, short enough to run in a moment."""
    requests = Requests(prompt=draw(st.integers(16, 8_000)), output=draw(st.integers(2, 1_500)), chunk=2048.0)
    name, model = draw(st.sampled_from(ACCELERATORS)), draw(st.sampled_from(MODELS))
    setup = refused_or_copy(name, draw(st.sampled_from((4, 8, 16))), model, None, requests)
    assume(not isinstance(setup, str))
    assert not isinstance(setup, str)
    return setup, Load(requests=requests, seed=draw(st.integers(0, 9)))


@st.composite
def any_load(draw: st.DrawFn) -> tuple[ServeSetup, Load]:
    """Return a copy by any engine and plan, or a unit of pools, with room for requests of any lengths."""
    prompt, output = (int(10**exponent) for exponent in draw(st.tuples(st.floats(0.5, 4.6), st.floats(0, 3.3))))
    part, model = CATALOG.entry(draw(st.sampled_from(ACCELERATORS))).part, CATALOG.entry(draw(st.sampled_from(MODELS)))
    assert isinstance(part, Accelerator)
    assert isinstance(model.part, Model)
    engine, fleet = engine_of(CATALOG, draw(st.sampled_from(("vllm", "sglang", "trtllm")))), Fleet(part, gpus=64)
    requests = Requests(prompt=prompt, output=output, chunk=float(engine.chunk.value))
    plan = PlanRequest(tensor=draw(st.sampled_from((None, 1, 4, 8))))
    pools = (PoolPlan(copies=2, tensor=4), PoolPlan(copies=1, tensor=8))
    try:
        if draw(st.integers(0, 3)) == 0:
            setup = _apart_setup(CATALOG, model.part, engine, fleet, PlanRequest(), requests=requests, pools=pools)
        else:
            plan = replace(plan, pipeline=draw(st.sampled_from((1, 1, 2))), data=draw(st.sampled_from((1, 1, 4))))
            setup = serve_setup(CATALOG, model.part, engine, fleet, plan, requests=requests)
    except ServeError:
        assume(False)
    return setup, Load(requests=requests, seed=draw(st.integers(0, 9)))


def check_row(row: ServeRow, setup: ServeSetup, load: Load) -> None:
    """Check what holds of the figures of any load together."""
    output = float(load.requests.output)
    for latency in (row.ttft_s, row.tpot_s, row.e2e_s):
        assert latency.p50 / 2 <= latency.mean * (1 + 1e-9)
        # of a run, fewer than one in a hundred may be above all others
        assert latency.mean <= latency.p99 * 1.01
    assert row.ttft_s.mean + (output - 1) * row.tpot_s.mean == pytest.approx(row.e2e_s.mean, rel=1e-6)
    assert row.rate_s * row.e2e_s.mean / setup.copies == pytest.approx(row.concurrency, rel=1e-2)
    assert sum(part.seconds for part in row.parts) == pytest.approx(row.tpot_s.mean, rel=1e-6)
    assert sum(part.share for part in row.parts) == pytest.approx(1, rel=1e-6)
    assert min(part.seconds for part in row.parts) >= 0
    assert 0 <= row.kv.used <= 1
    if row.power_w is not None:
        power = setup.fleet.accelerator.power
        assert power is not None
        assert 0 < row.power_w <= setup.gpus * setup.copies * float(power.value) * (1 + 1e-9)
    evicted = any(part.name == "evictions" for part in row.parts)
    assert not evicted or row.kv.used > 0.4, "requests are evicted where memory is full"


@examples(60)
@given(case=any_load(), exponent=st.floats(-3, 0.5))
def test_figures_of_a_load_are_of_one_state(case: tuple[ServeSetup, Load], exponent: float) -> None:
    setup, load = case
    count = float(max(round(10**exponent * setup.most(load.requests)), 1))
    check_row(report(setup, load, (count,)).rows[0], setup, load)


@examples(30)
@given(case=any_load(), factor=st.floats(1e-4, 0.95))
def test_figures_of_a_rate_are_of_one_state(case: tuple[ServeSetup, Load], factor: float) -> None:
    setup, load = case
    most = report(setup, load, (1.0,)).saturation.rate_s
    try:
        row = report(setup, load, rate=factor * most).rows[0]
    except ServeError:
        assert factor > 0.5
        return
    assert row.rate_s == pytest.approx(factor * most, rel=1e-2)
    check_row(row, setup, load)


def report(setup: ServeSetup, load: Load, concurrency: tuple[float, ...] = (), rate: float = 0.0) -> ServeReport:
    """Return a load on all copies."""
    return serve(setup, CATALOG, ServeTask(load=load, concurrency=concurrency, rates=(rate,) if rate else ()))


@examples(40)
@given(case=loaded(), factor=st.floats(0.05, 5))
def test_requests_under_way_are_the_rate_times_their_latency_however_many_wait(
    case: tuple[ServeSetup, Load], factor: float
) -> None:
    setup, load = case
    count = float(max(round(factor * setup.most(load.requests)), 1))
    row = report(setup, load, (count,)).rows[0]
    assert row.rate_s * row.e2e_s.mean / setup.copies == pytest.approx(count, rel=1e-2)


@examples(40)
@given(case=loaded(), factor=st.floats(0.05, 5))
def test_no_load_serves_more_than_the_curve_up_to_saturation(case: tuple[ServeSetup, Load], factor: float) -> None:
    setup, load = case
    curve = report(setup, load)
    row = report(setup, load, (float(max(round(factor * setup.most(load.requests)), 1)),)).rows[0]
    best = curve.rows[curve.best]
    # saturation counts no requests outside the engine, which matter where answers are a few tokens
    outside = float(setup.served.rates.first) / best.e2e_s.mean
    assert row.output_tokens_s <= (1.06 + outside) * best.output_tokens_s


@examples(30)
@given(case=loaded(), factor=st.floats(0.3, 2.0))
def test_a_rate_is_served_or_refused_and_loose_targets_hold_no_queue_that_grows(
    case: tuple[ServeSetup, Load], factor: float
) -> None:
    setup, load = case
    most = report(setup, load).saturation.rate_s
    targets = targets_of(1e9, 1e9 if load.requests.output > 1 else None, "p99", load.requests.output)
    assert targets is not None
    served = True
    try:
        assert report(setup, load, rate=factor * most).rows[0].rate_s == pytest.approx(factor * most, rel=1e-2)
    except ServeError:
        served = False
    assert served or factor > 0.8  # arrivals at random leave less than a fixed number of requests
    assert not (served and factor > 1)
    if factor < 1 or factor > 1.1:
        assert Copy(setup, load, targets).meets(factor * most / setup.copies, 1.0) == served


@examples(30)
@given(case=loaded(), factor=st.floats(0.05, 0.9), arriving=st.booleans())
def test_a_file_of_one_length_is_that_length(case: tuple[ServeSetup, Load], factor: float, *, arriving: bool) -> None:
    setup, load = case
    of_file = Trace(prompts=np.full(7, float(load.requests.prompt)), outputs=np.full(7, float(load.requests.output)))
    rate = factor * report(setup, load).saturation.rate_s
    options = {"rate": rate} if arriving else {"concurrency": (64.0,)}
    ours, theirs = (report(setup, one, **options).rows[0] for one in (replace(load, trace=of_file), load))
    # the mean of seven equal lengths may differ in its last bit
    for name in ("ttft_s", "tpot_s", "e2e_s"):
        assert asdict(getattr(ours, name)) == pytest.approx(asdict(getattr(theirs, name)), rel=1e-12)
    for name in ("rate_s", "concurrency", "output_tokens_s", "power_w"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-12)
    assert ours.kv.used == pytest.approx(theirs.kv.used, rel=1e-12)
    assert [part.name for part in ours.parts] == [part.name for part in theirs.parts]


@examples(12)
@given(seed=st.integers(0, 999))
def test_more_requests_under_way_have_no_lower_percentiles_whatever_the_draw(seed: int) -> None:
    part, model = CATALOG.entry("a100-sxm-80gb").part, CATALOG.entry("gemma3-27b").part
    assert isinstance(part, Accelerator)
    assert isinstance(model, Model)
    requests, engine = Requests(prompt=2_000, output=500, chunk=8192.0), engine_of(CATALOG, "sglang")
    fleet, plan = Fleet(accelerator=part, gpus=8), PlanRequest(kv="fp8")
    setup = serve_setup(CATALOG, model, engine, fleet, plan, requests=requests)
    rows = report(setup, Load(requests=requests, seed=seed), (4.0, 17.0, 31.0, 60.0)).rows
    for name in ("p50", "p90"):
        values = [getattr(row.ttft_s, name) for row in rows]
        assert (np.diff(values) >= -0.02 * np.array(values[1:])).all(), (name, values)


@examples(15)
@given(
    copies=st.sampled_from((1, 4, 16)),
    seed=st.integers(0, 99),
    busy=st.floats(0.2, 0.7),
    groups=st.sampled_from((1, 2)),
)
def test_a_trace_at_random_and_its_rate_have_the_same_latencies(
    copies: int, seed: int, busy: float, groups: int
) -> None:
    part, model = CATALOG.entry("h100-sxm-80gb").part, CATALOG.entry("llama3.1-8b").part
    assert isinstance(part, Accelerator)
    assert isinstance(model, Model)
    requests, fleet = Requests(prompt=2_000, output=100, chunk=2048.0), Fleet(accelerator=part, gpus=copies * groups)
    plan = PlanRequest(tensor=1, data=groups)
    setup = serve_setup(CATALOG, model, engine_of(CATALOG, "vllm"), fleet, plan, requests=requests)
    assert setup.copies == copies
    rate, count = busy * 6.0 * groups, 6_000 * copies * groups
    drawn = np.cumsum(np.random.default_rng(seed).exponential(1 / (rate * copies), count))
    trace = Trace(prompts=np.full(count, 2_000.0), outputs=np.full(count, 100.0), times=drawn - drawn[0])
    load = Load(requests=requests, seed=seed)
    of_rate, of_trace = run_open(setup, load, rate), run_open(setup, replace(load, trace=trace), rate)
    for name in ("ttft", "tpot", "e2e"):
        one, other = (np.asarray(getattr(times, name)) for times in (of_rate, of_trace))
        for share in (50, 90, 99):
            # twelve blocks of a run say how far its quantiles scatter
            blocks = [[np.percentile(b, share) for b in np.array_split(values, 12)] for values in (one, other)]
            scatter = np.sqrt(sum(np.var(block, ddof=1) / 12 for block in blocks))
            apart = abs(np.mean(blocks[0]) - np.mean(blocks[1]))
            assert apart <= 5 * scatter + 0.005 * float(np.mean(one)), (name, share)


@examples(80)
@given(
    accelerator=st.sampled_from(ACCELERATORS),
    gpus=st.sampled_from((1, 2, 4, 8)),
    model=st.sampled_from(MODELS),
    precision=st.sampled_from((None, "bf16", "fp8")),
    prompt=st.sampled_from((100, 10_000, 1_000_000, 10_000_000)),
)
def test_what_a_refusal_of_a_full_memory_advises_has_room(
    accelerator: str, gpus: int, model: str, precision: str | None, prompt: int
) -> None:
    requests = Requests(prompt=prompt, output=100)
    message = refused_or_copy(accelerator, gpus, model, precision, requests)
    assume(isinstance(message, str) and "; try --" in message)
    assert isinstance(message, str)
    for way in message.partition("; try ")[2].split(" or "):
        option, value = way.split()
        more = int(value) if option == "--gpus" else gpus
        other = value if option == "--precision" else precision
        assert isinstance(refused_or_copy(accelerator, more, model, other, requests), ServeSetup), way


@examples(60)
@given(name=st.sampled_from(CATALOG.ids_of("model")), tensor=st.integers(1, 24), searched=st.booleans())
def test_a_size_whose_heads_do_not_split_is_refused_with_the_nearest_that_do(
    name: str, tensor: int, *, searched: bool
) -> None:
    part, model = CATALOG.entry("h200-sxm").part, CATALOG.entry(name).part
    assert isinstance(part, Accelerator)
    assert isinstance(model, Model)
    shape, fleet = model.transformer, Fleet(accelerator=part, gpus=64)
    assume(shape is not None)
    assert shape is not None
    requests, engine = Requests(prompt=100, output=100), engine_of(CATALOG, "vllm")

    def copy(ways: int | None) -> ServeSetup:
        return serve_setup(CATALOG, model, engine, fleet, PlanRequest(tensor=ways, precision="fp8"), requests=requests)

    if searched:
        try:
            space = search(CATALOG, model, engine, fleet, PlanRequest(), requests=requests, targets=None)
        except ServeError:
            return
        assert all(splits_heads(shape, choice.plan.tensor) for choice in space.choices)
        return
    try:
        assert splits_heads(shape, int(copy(tensor).served.deployment.tensor))
    except ServeError as error:
        refused = str(error)
        if splits_heads(shape, tensor):
            assert "room" in refused
            return
        for ways in refused.partition("; write ")[2].split(" or "):
            assert splits_heads(shape, int(ways))
