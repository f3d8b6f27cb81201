"""What holds for any plan: parts that sum, nothing negative, memory that ZeRO never raises, the best of a search."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.studies.train.diagnosis import _diagnose
from ffplan.studies.train.rows import _memory_fields
from ffplan.training.accelerator_rates import accelerator_rates
from ffplan.training.axes import COLLECTIVES, NUMBERS, OPTIONS, UNITS, ParallelPlans
from ffplan.training.constraints import REASONS, WORDS, reason_codes, violations
from ffplan.training.data_parallel import _backward_wait, _forward_wait
from ffplan.training.group_collectives import Cluster
from ffplan.training.memory import PARTS as SIZES
from ffplan.training.memory import stage_bytes
from ffplan.training.memory_margins import MemoryMargins, _peak_and_temporary, peak_bytes, worst_of
from ffplan.training.search_space import (
    PLACED,
    Refinement,
    best,
    evaluate_space,
    fastest,
    search_space,
    single,
)
from ffplan.training.step import _least_time, step_parts, step_time
from ffplan.training.train_run import TrainRun
from tests.support import examples, host_named, shape_named

if TYPE_CHECKING:
    from collections.abc import Mapping

MODELS = ("gpt3-175b", "llama3-70b", "deepseek-v3", "llama4-maverick", "grok1-314b", "llama-13b")


@cache
def system(server: str = "hgx-h100-8nic") -> Cluster:
    library = Catalog().entry("nccl").part
    assert isinstance(library, Library)
    return Cluster(host=host_named(server), library=library, reducer=library)


WAYS = st.sampled_from([1, 2, 4, 8])


@st.composite
def plans(draw: Any) -> tuple[str, ParallelPlans]:
    """Any plan, also such as cannot run."""
    tensor, pipeline, data = draw(WAYS), draw(st.sampled_from([1, 2, 3, 4, 8, 16])), draw(WAYS)
    context, micro = draw(st.sampled_from([1, 2])), draw(st.sampled_from([1, 2, 3]))
    expert = draw(st.sampled_from([1, 2, 4, 8]))
    found = ParallelPlans(
        gpus=float(tensor * pipeline * data * context),
        batch=float(data * micro * draw(st.integers(1, 40))),
        micro=float(micro),
        tensor=float(tensor),
        pipeline=float(pipeline),
        data=float(data),
        chunks=float(draw(st.sampled_from([1, 2, 3]))),
        context=float(context),
        expert=float(expert),
        expert_tensor=float(draw(st.sampled_from([1, tensor]))),
        recompute=float(draw(st.integers(0, 2))),
        sequence_parallel=float(draw(st.booleans())),
        zero=float(draw(st.integers(0, 3))),
        unit_layers=draw(st.sampled_from([1.0, 3.0, 200.0])),
        gradient_bytes=draw(st.sampled_from([2.0, 4.0])),
        precision=draw(st.sampled_from(["bf16", "fp8"])),
        schedule=draw(st.sampled_from(["1f1b", "zb-h1", "zb-2p", "v-half", "dualpipe"])),
        fused_attention=draw(st.booleans()),
        overlap=frozenset(draw(st.sets(st.sampled_from(["gradients", "parameters", "tensor", "pipeline", "experts"])))),
        offload=draw(st.sampled_from(["none", "optimizer", "parameters"])),
    )
    return draw(st.sampled_from(MODELS)), found


def run(name: str, item: ParallelPlans) -> TrainRun:
    part = system().host.accelerator
    assert part is not None
    return TrainRun(shape_named(name), item, accelerator_rates(part, item.precision), system())


def possible(name: str, item: ParallelPlans) -> bool:
    return int(reason_codes(violations(shape_named(name), item, None))) == 0


@given(plans())
def test_parts_are_never_negative_and_sum_to_the_step(drawn: tuple[str, ParallelPlans]) -> None:
    name, item = drawn
    if not possible(name, item):
        return
    parts = {key: float(value) for key, value in step_parts(run(name, item)).items()}
    assert all(np.isfinite(value) and value >= 0 for value in parts.values()), parts
    assert sum(parts.values()) == pytest.approx(float(step_time(step_parts(run(name, item)))))
    assert parts["products"] > 0


@given(plans())
def test_memory_is_never_negative_and_zero_never_raises_states(drawn: tuple[str, ParallelPlans]) -> None:
    name, item = drawn
    if not possible(name, item):
        return
    shape = shape_named(name)
    states = []
    for stage in (0.0, 1.0, 2.0, 3.0):
        found = stage_bytes(shape, replace(item, zero=stage), 0.0)
        assert all(float(np.min(getattr(found, part))) >= 0 for part in SIZES)
        states.append(float(np.max(found.weights + found.gradients + found.optimizer)))
    assert states == sorted(states, reverse=True)
    assert float(peak_bytes(shape, item)) >= max(
        float(stage_bytes(shape, item, at).total) for at in (0.0, item.pipeline - 1.0)
    ) * (1 - 1e-12)


@given(st.lists(plans(), min_size=2, max_size=5))
def test_many_plans_are_reckoned_as_each(drawn: list[tuple[str, ParallelPlans]]) -> None:
    """Arrays of plans give what plain numbers do; options that are no numbers are those of the first."""
    name = drawn[0][0]
    first = drawn[0][1]
    items = [replace(first, **{key: getattr(item, key) for key in NUMBERS}) for _, item in drawn]
    items = [item for item in items if possible(name, item)]
    if not items:
        return
    columns: Mapping[str, Any] = {key: np.array([getattr(item, key) for item in items]) for key in NUMBERS}
    many = replace(first, **columns)
    together = np.broadcast_to(step_time(step_parts(run(name, many))), (len(items),))
    apart = [float(step_time(step_parts(run(name, item)))) for item in items]
    assert together.tolist() == pytest.approx(apart, rel=1e-9)
    memory = np.broadcast_to(peak_bytes(shape_named(name), many), (len(items),))
    assert memory.tolist() == pytest.approx([float(peak_bytes(shape_named(name), item)) for item in items])


@given(plans(), st.floats(1e9, 1e12), st.floats(0, 0.5), st.floats(0, 8, allow_subnormal=False), st.floats(0, 0.2))
def test_what_fits_fits_with_all_that_its_runtime_may_take(
    drawn: tuple[str, ParallelPlans], limit: float, share: float, temporary: float, over: float
) -> None:
    """Three verdicts without a gap: what fits has room for reserve and temporaries, what is refused none for itself."""
    name, item = drawn
    if not possible(name, item):
        return
    margins = MemoryMargins(
        runtime="x", device=0.0, reserved=(share / 2, share), temporary=temporary, counted_over=over
    )
    shape = shape_named(name)
    most = float(peak_bytes(shape, item))
    taken = float(np.max(_peak_and_temporary(shape, item, margins)[1]))
    worst = float(worst_of(most, taken, margins))
    assert 0 <= taken <= temporary / item.optimizer_bytes * most
    assert worst >= most
    refused = _diagnose(shape, item, limit, over=over) is not None
    assert refused == (most > (1 + over) * limit)
    verdict = _memory_fields(margins, limit, most, worst, taken)
    assert (verdict["memory_verdict"] == "fits") == (worst <= limit) == (verdict["memory_words"] is None)
    assert not (refused and verdict["memory_verdict"] == "fits")


@given(plans(), st.floats(1e9, 1e12))
def test_a_refused_plan_says_why(drawn: tuple[str, ParallelPlans], limit: float) -> None:
    name, item = drawn
    shape = shape_named(name)
    code = int(reason_codes(violations(shape, item, limit)))
    why = _diagnose(shape, item, limit)
    assert (why is None) == (code == 0)
    if why is not None:
        assert why.reason in WORDS
        assert why.message
        assert why.remedy
        assert "nan" not in why.message + why.remedy
        assert why.reason == REASONS[code]


@pytest.mark.deep
@given(st.sampled_from(MODELS), st.sampled_from([64, 96, 256]), st.sampled_from([96, 256, 480]), st.data())
def test_a_search_finds_nothing_slower_than_any_plan_of_its_space(
    name: str, gpus: int, batch: int, data: st.DataObject
) -> None:
    part = system().host.accelerator
    assert part is not None
    shape = shape_named(name)
    base = ParallelPlans(
        gpus=1.0, batch=float(batch), micro=1.0, tensor=1.0, pipeline=1.0, data=1.0, gradient_bytes=4.0
    )
    start = TrainRun(shape, base, accelerator_rates(part, "bf16"), system())
    found = evaluate_space(start, search_space(shape, gpus, 8, {}), gpus, part.memory.value)
    step = found.step()
    assert found.candidates == sum(found.refused.values()) + int(np.isfinite(step).sum())
    winners = best(step, 3)
    if not winners:
        assert not np.isfinite(step).any()
        return
    fastest = float(step[winners[0]])
    assert fastest == pytest.approx(float(step.min()))
    item = single(found.plans, step.shape, winners[0])
    assert _diagnose(shape, item, part.memory.value) is None
    assert float(step_time(step_parts(replace(start, plans=item)))) == pytest.approx(fastest)
    at = tuple(data.draw(st.integers(0, size - 1)) for size in step.shape)
    other = single(found.plans, step.shape, at)
    why = _diagnose(shape, other, part.memory.value)
    assert (why is None) == bool(np.isfinite(step[at]))


@examples(12)
@given(
    st.sampled_from(MODELS),
    st.sampled_from([(8, 16), (24, 48), (64, 96)]),
    st.sampled_from(["1f1b", "zb-h1", "zb-2p", "zb-v", "dualpipe"]),
    st.frozensets(st.sampled_from(COLLECTIVES)),
    st.builds(dict, unit_layers=st.sampled_from(UNITS), reduced_bytes=st.sampled_from([0.0, 2.0])),
)
def test_no_step_comes_below_its_bound(
    name: str, job: tuple[int, int], schedule: str, overlap: frozenset[str], refined: dict[str, float]
) -> None:
    """A search leaves out structures by this bound, whatever is refined later."""
    part = system().host.accelerator
    assert part is not None
    shape, (gpus, batch) = shape_named(name), job
    base = ParallelPlans(
        gpus=1.0,
        batch=float(batch),
        micro=1.0,
        tensor=1.0,
        pipeline=1.0,
        data=1.0,
        gradient_bytes=4.0,
        schedule=schedule,
        overlap=overlap,
    )
    start = TrainRun(shape, base, accelerator_rates(part, "bf16"), system())
    space = evaluate_space(start, search_space(shape, gpus, 8, {}), gpus, 1e13)
    bound = _least_time(space.run)
    changed: Any = refined | {"optimizer_bytes": 8.0}
    times = np.asarray(step_time(step_parts(replace(start, plans=replace(space.plans, **changed)))))
    runs = space.code == 0
    assert runs.any()
    assert (np.broadcast_to(bound, runs.shape) <= np.broadcast_to(times, runs.shape) * (1 + 1e-12))[runs].all()


def every_refinement(options: Mapping[str, tuple[int, ...]], tried: Refinement) -> list[dict[str, float]]:
    """Return each combination of options and refinements, written out."""
    combinations = []
    for again, split, zero, kept in product(*(options[name] for name in OPTIONS)):
        for unit in UNITS if tried.units and zero == 3 else (1,):
            for reduced in (0.0, 2.0) if tried.reduced and kept == 4 else (0.0,):
                for states in (12.0, 8.0) if tried.moments else (12.0,):
                    values = (again, split, zero, kept, unit, reduced, states)
                    names = (*OPTIONS, "unit_layers", "reduced_bytes", "optimizer_bytes")
                    combinations.append(dict(zip(names, map(float, values), strict=True)))
    return combinations


@examples(10)
@given(
    st.sampled_from(MODELS),
    st.sampled_from([(8, 16), (12, 24), (16, 16)]),
    st.floats(4e9, 2e11),
    st.builds(Refinement, units=st.booleans(), reduced=st.booleans(), moments=st.booleans()),
)
def test_the_fastest_plans_are_those_of_brute_force_however_many_are_wanted(
    name: str, job: tuple[int, int], limit: float, tried: Refinement
) -> None:
    """Every structure with every option and refinement, one evaluation each, knows nothing faster."""
    part = system().host.accelerator
    assert part is not None
    shape, (gpus, batch) = shape_named(name), job
    base = ParallelPlans(
        gpus=1.0, batch=float(batch), micro=1.0, tensor=1.0, pipeline=1.0, data=1.0, gradient_bytes=4.0
    )
    start = TrainRun(shape, base, accelerator_rates(part, "bf16"), system())
    small = replace(base, optimizer_bytes=8.0 if tried.moments else 12.0)
    space = evaluate_space(replace(start, plans=small), search_space(shape, gpus, 8, {}), gpus, limit)
    structures: Any = {field: np.ravel(getattr(space.plans, field))[:, None] for field in PLACED}
    written = every_refinement(space.options, tried)
    numbers: Any = {field: np.array([fields[field] for fields in written]) for field in written[0]}
    plans = replace(space.plans, **structures, **numbers)
    code = reason_codes(violations(shape, plans, limit))
    seconds = np.where(code == 0, step_time(step_parts(replace(start, plans=plans))), np.inf)
    least = seconds.min(axis=1, initial=np.inf)
    brute = np.sort(least[np.isfinite(least)])
    listed = fastest(start, space, limit, tried, 12)
    times = [float(step_time(step_parts(replace(start, plans=plan)))) for plan in listed]
    assert times == pytest.approx(brute[:12].tolist(), rel=1e-9)
    margins = MemoryMargins(runtime="", device=0.0, reserved=(0.1, 0.3), temporary=4.0, counted_over=0.0)
    margined = replace(start, margins=margins)
    worst = worst_of(*_peak_and_temporary(shape, plans, margins), margins)
    safe = np.where(worst > limit, np.inf, seconds).min(initial=np.inf)
    (sure, *_) = (*fastest(margined, space, limit, tried, 1, sure=True), None)
    assert (sure is None) == bool(np.isinf(safe))
    if sure is not None:
        assert float(step_time(step_parts(replace(start, plans=sure)))) == pytest.approx(float(safe), rel=1e-9)
    for top in (1, 3):
        fewer = fastest(start, space, limit, tried, top)
        assert [asdict(plan) for plan in fewer] == [asdict(plan) for plan in listed[:top]]


def sharded_step(
    units: int, root: tuple[float, float], gather: float, scatter: float, busy: tuple[float, float]
) -> float:
    """Simulate a step of ZeRO 3 on a queue of kernels for computing and one for collectives.

    Each queue runs its kernels in the order in which the host issues them; a kernel waits for what it needs.
    """
    queues = {"computing": 0.0, "collectives": 0.0}
    starts: dict[tuple[str, int], float] = {}
    ends: dict[tuple[str, int], float] = {}

    def issue(queue: str, name: tuple[str, int], time: float, after: list[float]) -> None:
        starts[name] = max([queues[queue], *after])
        ends[name] = queues[queue] = starts[name] + time

    issue("collectives", ("root", 0), root[0], [])
    for at in range(units):
        before = [starts["forward", at - 1]] if at else []  # gathered as the unit before begins
        issue("collectives", ("gather", at), gather, before)
        issue("computing", ("forward", at), busy[0], [ends["gather", at], ends["root", 0]])
    turn = queues["computing"]
    issue("collectives", ("again", 0), gather, [turn])
    for at in range(units):
        issue("computing", ("backward", at), busy[1], [ends["again", at]])
        if at:
            issue("collectives", ("scatter", at - 1), scatter, [ends["backward", at - 1]])
        if at + 1 < units:
            issue("collectives", ("again", at + 1), gather, [starts["backward", at]])
    issue("collectives", ("scatter", units - 1), scatter, [ends["backward", units - 1]])
    issue("collectives", ("root", 1), root[1], [])
    return max(queues.values())


TIME = st.floats(0, 4, allow_subnormal=False)


@given(st.integers(1, 9), st.tuples(TIME, TIME), TIME, TIME, st.tuples(st.floats(0.1, 4), st.floats(0.1, 4)))
def test_units_of_zero_3_take_what_their_events_take(
    units: int, root: tuple[float, float], gather: float, scatter: float, busy: tuple[float, float]
) -> None:
    """The closed form is what a simulation of the events finds."""
    ahead, behind = units * busy[0], units * busy[1]
    found = root[0] + ahead + _forward_wait(gather, ahead, units)
    found += behind + _backward_wait(gather, scatter, behind, units) + root[1]
    assert found == pytest.approx(sharded_step(units, root, gather, scatter, busy))
