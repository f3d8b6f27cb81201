"""Remedies for a plan that cannot run, each tried before it is named, and a batch for a plan without one."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from math import lcm
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.design.training import PlanFields
from ffplan.studies.train.diagnosis import _diagnose
from ffplan.studies.train.setup import TrainSetup
from ffplan.training.axes import AXES
from ffplan.training.parallel_plan import parallel_plans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.training.axes import ParallelPlans

_Change = dict[str, Any]
"""Fields of a plan, and `gpus`, with the values to write."""

_TRIED = 256
"""Values tried on each side of the one that does not run."""
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


def _with_batch(setup: TrainSetup, batch: int) -> TrainSetup:
    return replace(setup, run=replace(setup.run, plans=replace(setup.run.plans, batch=float(batch))))
