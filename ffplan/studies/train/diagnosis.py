"""Why a plan cannot run, in words with its numbers; remedies, each tried before it is named; default batches."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.formatting import gib, plural
from ffplan.base.record import record
from ffplan.design.training import PlanFields
from ffplan.studies.train.setup import TrainSetup
from ffplan.training.axes import AXES, divisors
from ffplan.training.constraints import AXIS_REASONS, REASONS, WORDS, multiples, reason_codes, uneven, violations
from ffplan.training.memory import PARTS, plan_bytes
from ffplan.training.memory_margins import fullest_candidates, host_bytes
from ffplan.training.parallel_plan import parallel_plans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.catalog.models import Transformer
    from ffplan.training.axes import ParallelPlans


@record
class _Diagnosis:
    reason: str
    """A name of `constraints.REASONS`."""
    message: str
    remedy: str
    over: float = 0.0
    """Excess of device memory over its limit, as a share [1]; 0 for other reasons."""


_WORDS_OF = {
    "weights": "weights",
    "gradients": "gradients",
    "optimizer": "optimizer states",
    "activations": "activations",
    "logits": "scores over the vocabulary",
    "working": "layers gathered or recomputed",
}


def _nearest(value: float, number: int) -> str:
    allowed = divisors(number, number)
    below = max((choice for choice in allowed if choice < value), default=None)
    above = min((choice for choice in allowed if choice > value), default=None)
    return "take " + (" or ".join(f"{item:,}" for item in (below, above) if item is not None) or "1")


def _memory(shape: Transformer, plans: ParallelPlans, limit: float, over: float) -> _Diagnosis | None:
    stages = {name: float(index) for name, index in fullest_candidates(shape, plans).items()}
    sizes_by_part = plan_bytes(shape, plans, list(stages.values()))
    most, name, place = max((float(sizes_by_part["total"][index]), name, index) for index, name in enumerate(stages))
    if most <= (1 + over) * limit:
        return None
    layer, sizes = stages[name], {part: float(sizes_by_part[part][place]) for part in PARTS}
    biggest = max(sizes, key=lambda part: sizes[part])
    named = f"the {name} stage" if name in ("first", "last") else f"stage {int(layer) + 1}"
    where = "every rank" if plans.pipeline == 1 else named
    text = f"{where} needs {gib(most)}, {gib(most - limit)} more than the {gib(limit)} there are"
    remedy = f"most of it, {gib(sizes[biggest])}, are {_WORDS_OF[biggest]}"
    return _Diagnosis("memory", text, remedy, over=most / limit - 1)


def _batches(plans: ParallelPlans) -> str:
    return f"take a batch of {multiples(int(plans.batch), int(plans.data * plans.micro) or 1)}"


def _of_ranks(shape: Transformer, p: ParallelPlans, reason: str) -> tuple[str, str]:
    t, pp = int(p.tensor), int(p.pipeline)
    if reason == "ranks":
        ways = int(p.tensor * p.context * p.pipeline)
        axes, count = f"tensor {t} x context {int(p.context)} x pipeline {pp}", int(p.gpus)
        if count % ways == 0:
            text = f"{axes} x data {int(p.data):,} is not {plural(count, 'accelerator')}"
            return text, f"take data-parallel ranks: {count // ways:,}"
        text = f"{axes} = {ways:,} ranks do not divide {plural(count, 'accelerator')}"
        return text, f"take {multiples(count, ways)} accelerators"
    if reason == "heads":
        heads = int(shape.heads) if shape.heads % t or shape.latent is not None else int(shape.key_value_heads)
        of_keys = " of keys and values" if shape.heads % t == 0 else ""
        return f"tensor parallelism {t} does not divide {heads} heads{of_keys}", _nearest(t, heads)
    if reason == "widths":
        inner = shape.experts.ffn if shape.experts and shape.ffn % t == 0 else int(shape.ffn)
        return f"tensor parallelism {t} does not divide the feed-forward width {inner:,}", "take a power of two"
    if reason == "shard":
        ranks = int(p.reducing)
        if ranks % p.shard == 0:
            text = (
                f"ZeRO over {int(p.shard):,} ranks does not divide the {float(p.expert_data):,g} with the same experts"
            )
            return text, _nearest(float(p.shard), int(p.expert_data))
        text = f"ZeRO over {int(p.shard):,} ranks does not divide {ranks:,} data-parallel ranks"
        return text, _nearest(float(p.shard), ranks)
    experts = shape.experts.routed if shape.experts else 0
    if reason == "experts":
        if not experts:
            return f"expert parallelism {int(p.expert)} of a model without experts", "take 1"
        text = f"expert parallelism {int(p.expert)} does not divide {experts} experts"
        return text, _nearest(float(p.expert), experts)
    ranks = int(p.tensor * p.context * p.data)
    text = f"expert parallelism {int(p.expert)} with {int(p.expert_tensor)} ways of tensor parallelism within experts"
    less = " or expert_tensor: 1" if p.expert_tensor > 1 else ""
    return f"{text} does not divide {ranks:,} ranks of tensor, context and data parallelism", f"take fewer ways{less}"


def _of_pipelines(shape: Transformer, p: ParallelPlans, reason: str) -> tuple[str, str]:
    pp, layers = int(p.pipeline), int(shape.layers)
    if reason == "stages":
        return f"{pp} pipeline stages for {layers} layers", f"take at most {layers} stages"
    if reason == "chunks":
        if pp == 1:
            return "`chunks` need several stages", "take one chunk, or more stages"
        text = f"{layers} layers do not divide into {pp} stages of {int(p.chunks)} chunks"
        fits = [v for v in range(1, layers // pp + 1) if not uneven(layers, pp * v, p)]
        return text, f"take {', '.join(map(str, fits or [1]))} chunks"
    if reason == "offload":
        return "offloaded parameters need ZeRO 3", "take --zero 3, or offload: optimizer"
    if reason == "batch":
        text = f"a batch of {int(p.batch):,} is no whole number of micro-batches of {int(p.micro)}"
        return f"{text} for {float(p.data):,g} data-parallel ranks", _batches(p)
    counted = f"{float(p.micro_batches):g} micro-batches"
    if reason == "rounds":
        text = f"{counted} do not divide into rounds of {pp} stages, as interleaving needs"
        return text, "change the batch, or leave out chunks"
    text = f"{p.schedule} with {pp} stages and {counted}: {WORDS[reason]}"
    return text, "change the stages or the batch, or take 1f1b"


def _fixed_extras(plans: ParallelPlans) -> dict[str, Any]:
    """Return the fields of a plan that are set and no axis of a search has, with the values that leave them out."""
    free: dict[str, Any] = {"unit_layers": 1.0, "shard": 0.0}
    return {name: value for name, value in free.items() if getattr(plans, name) != value}


def _relaxations(plans: ParallelPlans) -> list[dict[str, Any]]:
    there = _fixed_extras(plans)
    return [{}, *({name: value} for name, value in there.items()), *([there] if len(there) > 1 else [])]


def explain(shape: Transformer, plans: ParallelPlans, reason: str) -> _Diagnosis:
    """Return a fault of one plan, of plain numbers, in words."""
    if reason in AXIS_REASONS:
        return _Diagnosis(reason, *AXIS_REASONS[reason].explain(shape, plans))
    of_ranks = reason in ("ranks", "heads", "widths", "shard", "experts", "expert-ranks")
    return _Diagnosis(reason, *(_of_ranks if of_ranks else _of_pipelines)(shape, plans, reason))


def _host_memory(shape: Transformer, plans: ParallelPlans, host_limit: float) -> _Diagnosis:
    held = float(np.max(host_bytes(shape, plans)))
    where = "the drives of its node" if plans.on_drives else "host memory"
    text = f"every rank leaves {gib(held)} to {where}, but may fill only {gib(host_limit)}"
    remedies = ["fewer `offload_layers`"] if float(plans.offload_layers) else []
    remedies += ["zero: 1, which shares the states"] if plans.offload != "none" and float(plans.zero) == 0 else []
    return _Diagnosis("host-memory", text, f"take {' or '.join(remedies or ['more pipeline stages or nodes'])}")


def _diagnose(
    shape: Transformer,
    plans: ParallelPlans,
    limit: float | None,
    host_limit: float | None = None,
    *,
    over: float = 0.0,
) -> _Diagnosis | None:
    """Return why one plan cannot run; a limit [byte] that is None is not checked.

    A plan that exceeds device memory by no more than `over`, a share of the limit, is at the edge, and runs.
    """
    code = int(reason_codes(violations(shape, plans, None)))
    if code:
        return explain(shape, plans, REASONS[code])
    if limit is not None and (wrong := _memory(shape, plans, limit, over)) is not None:
        return wrong
    if host_limit is not None and "host-memory" in (reasons := violations(shape, plans, None, host_limit)):
        return _host_memory(shape, plans, host_limit) if bool(np.any(reasons["host-memory"])) else None
    return None


_Change = dict[str, Any]
"""Fields of a plan, and `gpus`, with the values to write."""

_TRIED = 256
TOKENS = 4 * 2**20
"""Tokens of a step that a suggested batch comes near: what large models are trained with."""
_ROUNDS = 4
"""Micro-batches for every pipeline stage of a suggested batch: the bubble is then a fifth of the step."""
OPTIONS = {axis.field: axis.option for axis in AXES} | {
    name: f"--{name}" for name in ("gpus", "batch", "zero", "schedule")
}
"""Options of the command line by field; other fields are of plan files."""


@record
class Job:
    """A plan on a number of accelerators, and what bounds its remedies."""

    setup: TrainSetup
    plan: PlanFields
    count: int
    """Accelerators asked for."""
    most: int
    """Accelerators that one job can span."""


def _around(value: int, step: int, most: int) -> tuple[Iterator[int], Iterator[int]]:
    low = value // step * step
    low -= step * (low == value)
    return iter(range(low, 0, -step)[:_TRIED]), iter(range((value // step + 1) * step, most + 1, step)[:_TRIED])


def _sides(name: str, value: int, step: int, most: int) -> list[Iterable[_Change]]:
    return [({name: number} for number in side) for side in _around(value, step, most)]


def _candidates(job: Job, plans: ParallelPlans, reason: str) -> list[Iterable[_Change]]:
    """Return lists of changes that may heal a fault; of each list the first that runs is a remedy."""
    plan, shape, count = job.plan, job.setup.shape, job.count
    ways, batch = int(plans.tensor * plans.context * plans.pipeline), int(plans.batch)
    unit = max(1, int(plans.data * plans.micro))
    experts = shape.experts.routed if shape.experts else 1
    if reason == "ranks":
        data = [[{"data": count // ways}]] if plan.data and count % ways == 0 else []
        return [*data, *_sides("gpus", count, ways * (plan.data or 1), job.most)]
    if reason in ("heads", "widths"):
        return _sides("tensor", int(plans.tensor), 1, int(shape.heads))
    changes: dict[str, list[Iterable[_Change]]] = {
        "batch": _sides("batch", batch, unit, batch + _TRIED * unit),
        "stages": _sides("pipeline", int(plans.pipeline), 1, int(shape.layers)),
        "chunks": _sides("chunks", int(plans.chunks), 1, int(shape.layers)),
        "rounds": [*_sides("batch", batch, unit * int(plans.pipeline), batch * _TRIED), [{"chunks": 1}]],
        "schedule": [*_sides("batch", batch, unit, batch + _TRIED * unit), [{"schedule": "1f1b"}]],
        "experts": _sides("expert", int(plans.expert), 1, experts),
        "expert-ranks": [*_sides("expert", int(plans.expert), 1, experts), [{"expert_tensor": 1}]],
        "context": _sides("context", int(plans.context), 1, count),
        "shard": _sides("shard", int(plans.shard), 1, max(1, int(plans.reducing))),
        "offload": [[{"zero": 3}], [{"offload": "optimizer"}]],
    }
    return changes.get(reason, [])


def _runs(job: Job, change: _Change) -> bool:
    fields = {name: getattr(job.plan, name) for name in job.plan.model_fields_set}
    fields |= {name: value for name, value in change.items() if name != "gpus"}
    try:
        plan = PlanFields.model_validate(fields)
    except ValueError:  # fields that do not go together
        return False
    if (plan.zero == 3 or plan.offload == "parameters") and plan.reduces_whole:
        return False
    plans = parallel_plans(plan, float(change.get("gpus", job.count)))
    return _diagnose(job.setup.shape, plans, job.setup.limit, job.setup.host_limit) is None


def _remedies(job: Job, plans: ParallelPlans, reason: str) -> list[_Change]:
    """Return changes of a plan with which it runs: of each kind, the nearest below and above."""
    changes = []
    for side in _candidates(job, plans, reason):
        first = next((change for change in islice(side, _TRIED) if _runs(job, change)), None)
        changes += [first] if first else []
    return changes


def _typed(change: _Change) -> str:
    return " ".join(
        f"{OPTIONS[name]} {value}" if name in OPTIONS else f"`{name}: {value}`" for name, value in change.items()
    )


def _remedy_words(changes: list[_Change]) -> str:
    return f"take {' or '.join(map(_typed, changes))}" if changes else ""


def _batch_for(setup: TrainSetup, plan: PlanFields, counts: tuple[int, ...]) -> int | None:
    units, pipeline = [], plan.pipeline
    for count in counts:
        plans = parallel_plans(plan, float(count))
        if plans.data != int(plans.data) or plans.data < 1:
            return None
        units.append(int(plans.data * plans.micro))
    unit = lcm(*units)
    rounds = 1 if pipeline == 1 else pipeline * _ROUNDS
    for number in (_near_batch(setup, unit * rounds) // unit, rounds, pipeline, 1):
        batch = unit * number
        if all(_runs(Job(setup, plan, count, count), {"batch": batch}) for count in counts):
            return batch
    return None


def _batch_words(batch: int | None, counts: tuple[int, ...], *, search: bool = False) -> str:
    text = "no batch: give --batch, the sequences of a step over all ranks"
    if batch is None:
        return text
    where = " and ".join(f"{count:,}" for count in counts) if len(counts) > 1 else plural(counts[0], "accelerator")
    what = "a search finds plans" if search else "the plan runs"
    return f"{text}, such as --batch {batch}, with which {what} on {where}"


def _near_batch(setup: TrainSetup, unit: int) -> int:
    return max(1, round(TOKENS / float(setup.shape.sequence) / unit)) * unit


def _batched(plan: PlanFields, batch: int) -> PlanFields:
    fields = {name: getattr(plan, name) for name in plan.model_fields_set}
    return PlanFields.model_validate({**fields, "batch": batch})


def _with_fields(setup: TrainSetup, **fields: Any) -> TrainSetup:
    return replace(setup, run=replace(setup.run, plans=replace(setup.run.plans, **fields)))
