"""Training a model on a design: one plan over several numbers of accelerators, or the best plans on one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan import __version__
from ffplan.assessment import SCHEMA_VERSION, CatalogFile
from ffplan.catalog.models import Model
from ffplan.catalog.parts import Accelerator
from ffplan.design.training import PlanFields
from ffplan.perf.assumed import image_assumptions, sharded_assumption, training_assumptions
from ffplan.perf.feasible import WORDS
from ffplan.perf.image_rows import image_rows, image_run
from ffplan.perf.images import fits, image_plan
from ffplan.perf.machine import machine, most_gpus
from ffplan.perf.passes import Run
from ffplan.perf.plans import RECOMPUTE, Plans
from ffplan.perf.refusal import RefusedError, fault
from ffplan.perf.runs import GIB, train_rows
from ffplan.perf.shapes import parameters
from ffplan.perf.space import best, nearest, single, space_of, weigh
from ffplan.perf.speeds import speeds
from ffplan.perf.vision import gradient_bytes
from ffplan.perf.workload import Shape, shape_of
from ffplan.perf.written import plans_of
from ffplan.record import record
from ffplan.trainings import Refused, Skipped, TrainReport, TrainRow
from ffplan.units import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.models import Transformer
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolve import ResolvedDesign
    from ffplan.perf.talk import System

TAKEN = 2.0 * 2**30
"""Device memory that driver, libraries and fragments take where no limit is given [byte]."""


CANNOT = "this plan cannot run"


@record
class Asked:
    """What is to be trained, and how."""

    model: Model
    plan: PlanFields
    gpus: tuple[int, ...]
    memory: float | None = None
    """Device memory [byte]; the accelerator's less what driver and libraries take, if omitted."""
    fixed: frozenset[str] = frozenset()
    """Fields of the plan that a search keeps."""


@record
class Stand:
    """Everything but the plan."""

    shape: Shape
    part: Accelerator
    limit: float
    run: Run


def _there_are(design: ResolvedDesign, count: int) -> None:
    """Refuse a number of accelerators that the design has not.

    Raises:
        RefusedError: where there are too few.
    """
    most = most_gpus(design)
    if count > most:
        raise RefusedError(
            f"--gpus {count:,}: one job can span {plural(most, 'accelerator')} of this design", infeasible=True
        )


def _machine(design: ResolvedDesign, catalog: Catalog, asked: Asked) -> tuple[Accelerator, float, System]:
    """Return accelerator, device memory [byte] and machine.

    Raises:
        RefusedError: where there are no accelerators, or the library for gradients cannot run.
    """
    part = design.compute.accelerator
    if part is None:
        raise RefusedError(f"`{design.compute.server.id}` has no accelerators", infeasible=False)
    limit = asked.memory if asked.memory is not None else part.memory.value - TAKEN
    system = machine(design, catalog, asked.plan.reducer)
    if system.nvlink and not (system.host.pairs or system.host.switched):
        raise RefusedError(
            f"`hfreduce-nvlink` needs NVLink between GPUs; `{system.host.id}` has none", infeasible=False
        )
    return part, limit, system


def _stand(design: ResolvedDesign, catalog: Catalog, asked: Asked, transformer: Transformer) -> Stand:
    """Return workload and machine.

    Raises:
        RefusedError: where no batch is given, or the machine cannot run the plan.
        UncalibratedError: where nothing is known of training on the accelerators.
    """
    plan = asked.plan
    if plan.batch is None:
        raise RefusedError("no batch: give --batch, the sequences of a step over all ranks", infeasible=False)
    if "bucket_mib" in plan.model_fields_set:
        raise RefusedError("`bucket_mib` is of convolutional networks; leave it out", infeasible=False)
    if transformer.experts is None and plan.expert_tensor not in (None, plan.tensor):
        raise RefusedError(f"expert_tensor {plan.expert_tensor} of a model without experts; leave it out",
                           infeasible=False)  # fmt: skip
    part, limit, system = _machine(design, catalog, asked)
    replaced = {"sequence": plan.sequence} if plan.sequence else {}
    shape = shape_of(transformer, **replaced)
    return Stand(shape, part, limit, Run(shape, plans_of(plan, 1.0), speeds(part, plan.precision), system))


def _read(catalog: Catalog) -> tuple[CatalogFile, ...]:
    """Return every catalogue file read so far."""
    return tuple(
        CatalogFile(item.part.id, item.part.kind, item.document.file, item.document.sha256) for item in catalog.used
    )


def _report(
    design: ResolvedDesign, catalog: Catalog, asked: Asked, part: Accelerator, size: float, rows: list[TrainRow],
    assumptions: tuple[str, ...], counts: tuple[int, int, dict[str, int]] = (0, 0, {}),
    skipped: tuple[Skipped, ...] = (),
) -> TrainReport:  # fmt: skip
    rates = part.training
    assert rates is not None
    source = part.sources[rates.matrix.source].title
    refused = sorted(counts[2].items(), key=lambda item: -item[1])
    return TrainReport(
        SCHEMA_VERSION, __version__, design.spec.name, design.document.sha256, _read(catalog),
        asked.model.id, size, "images" if asked.model.transformer is None else "tokens", part.id,
        f"{rates.set}: {source}", counts[0], counts[1],
        tuple(Refused(name, WORDS[name], count) for name, count in refused), tuple(rows), skipped,
        (*assumptions, *sharded_assumption(rows)),
    )  # fmt: skip


def _assumed(stand: Stand, asked: Asked) -> tuple[str, ...]:
    found = training_assumptions(stand.run, asked.plan, given=asked.memory is not None)
    there = stand.part.memory.value
    if stand.limit > there:
        found += (
            f"The limit of {stand.limit / GIB:.0f} GiB is more than the {there / GIB:.0f} GiB that the card has.",
        )
    return found


def _images(design: ResolvedDesign, catalog: Catalog, asked: Asked) -> TrainReport:
    """Return a convolutional network on several numbers of accelerators.

    Raises:
        RefusedError: where it cannot run on one of them.
        UncalibratedError: where nothing is known of training on the accelerators.
    """
    part, limit, system = _machine(design, catalog, asked)
    run = image_run(asked.model, asked.plan, part, system)

    def plan(count: int) -> Plans:
        _there_are(design, count)
        made = plans_of(image_plan(asked.model, asked.plan, count), float(count))
        fits(replace(run, plans=made), limit)
        return made

    plans, skipped = tried(asked.gpus, plan)
    rows = image_rows(run, list(plans.values()), limit)
    assumptions = image_assumptions(run, asked.plan, given=asked.memory is not None)
    size = gradient_bytes(run.layers, 1.0)
    return _report(design, catalog, asked, part, size, rows, assumptions, skipped=skipped)


def train(design: ResolvedDesign, catalog: Catalog, asked: Asked) -> TrainReport:
    """Return one plan on several numbers of accelerators.

    Args:
        design: the design.
        catalog: the parts.
        asked: model, plan and numbers.

    Raises:
        RefusedError: where it cannot run on one of them; says why and what would.
        UncalibratedError: where nothing is known of training on the accelerators.
    """
    transformer = asked.model.transformer
    if transformer is None:
        return _images(design, catalog, asked)
    stand = _stand(design, catalog, asked, transformer)

    def plan(count: int) -> Plans:
        _there_are(design, count)
        made = plans_of(asked.plan, float(count))
        wrong = fault(stand.shape, made, stand.limit)
        if wrong is not None:
            where = f" on {plural(count, 'accelerator')}" if len(asked.gpus) > 1 else ""
            words = f"{CANNOT}{where}: {wrong.message}; {wrong.remedy}; {_nearest(stand, made, count)}"
            raise RefusedError(words, infeasible=wrong.reason == "memory")
        return made

    plans, skipped = tried(asked.gpus, plan)
    rows = train_rows(stand.run, list(plans.values()), stand.limit, list(plans), compared=False)
    size = float(parameters(stand.shape))
    return _report(design, catalog, asked, stand.part, size, rows, _assumed(stand, asked), skipped=skipped)


def tried(counts: tuple[int, ...], plan: Callable[[int], Plans]) -> tuple[dict[int, Plans], tuple[Skipped, ...]]:
    """Return plans by numbers of accelerators, and the numbers on which there is none.

    Args:
        counts: numbers of accelerators.
        plan: makes a plan, or refuses.

    Raises:
        RefusedError: the first, where all are refused.
    """
    found: dict[int, Plans] = {}
    refused: list[tuple[int, RefusedError]] = []
    for count in counts:
        try:
            found[count] = plan(count)
        except RefusedError as error:
            refused.append((count, error))
    if not found:
        raise refused[0][1]
    why = {count: str(error) for count, error in refused}
    return found, tuple(
        Skipped(count, text.partition(": ")[2] if CANNOT in text else text) for count, text in why.items()
    )


def _nearest(stand: Stand, asked: Plans, count: int) -> str:
    """Return the options of the nearest plan that runs on so many accelerators, in words."""
    space = space_of(stand.shape, count, stand.run.system.domain, {})
    found = weigh(replace(stand.run, plans=asked), space, count, stand.limit)
    at, words = nearest(found, asked), []
    if at is None and asked.shard:
        found = weigh(replace(stand.run, plans=replace(asked, shard=0.0)), space, count, stand.limit)
        at, words = nearest(found, asked), ["without `shard`"]
    if at is None:
        return f"no plan of this model, batch and memory runs on {plural(count, 'accelerator')}"
    near = single(found.plans, found.step.shape, at)
    options = {
        "--tp": near.tensor, "--cp": near.context, "--pp": near.pipeline, "--chunks": near.chunks, "--ep": near.expert,
        "--micro-batch": near.micro,
    }  # fmt: skip
    words += [f"{name} {int(value)}" for name, value in options.items() if value > 1]
    words.append(f"--zero {int(near.zero)}")
    words += [f"--recompute {RECOMPUTE[int(near.recompute)]}"] if near.recompute else []
    words += [f"--gpus {int(near.gpus)}"] if near.gpus != count else []
    extra = [] if near.expert_tensor == near.tensor else [f"expert_tensor: {int(near.expert_tensor)}"]
    extra += ["sequence_parallel: false"] if near.tensor > 1 and not near.sequence_parallel else []
    more = f" with {', '.join(extra)} in a plan file" if extra else ""
    return f"--search finds the fastest; the nearest plan that runs: {' '.join(words)}{more}"


AXES = {
    "tensor": "tensor", "context": "context", "pipeline": "pipeline", "expert": "expert",
    "expert_tensor": "expert_tensor", "micro_batch": "micro", "chunks": "chunks", "zero": "zero",
}  # fmt: skip
"""Axes of a search by the fields of a plan that fix them."""


def _fixed(asked: Asked) -> dict[str, Any]:
    """Return the axes that a search keeps at one value."""
    found: dict[str, Any] = {
        axis: getattr(asked.plan, field) or 0 for field, axis in AXES.items() if field in asked.fixed
    }
    if "recompute" in asked.fixed:
        found["recompute"] = RECOMPUTE.index(asked.plan.recompute)
    if "sequence_parallel" in asked.fixed:
        found["sequence_parallel"] = int(asked.plan.sequence_parallel)
    if asked.plan.schedule != "1f1b":
        found["chunks"] = 1
    return found


def _enough(design: ResolvedDesign, stand: Stand, asked: Asked, count: int) -> str:
    """Return from how many accelerators a search finds a plan, trying twice as many again and again."""
    most, data = most_gpus(design), asked.plan.data if "data" in asked.fixed else None
    while count < most:
        count = min(2 * count, most)
        space = space_of(stand.shape, count, stand.run.system.domain, _fixed(asked))
        if best(weigh(stand.run, space, count, stand.limit, data), 1):
            return f"{plural(count, 'accelerator')} would do"
    return "no number of this design's accelerators would do"


def search(design: ResolvedDesign, catalog: Catalog, asked: Asked, top: int) -> TrainReport:
    """Return the best plans on a number of accelerators.

    Args:
        design: the design.
        catalog: the parts.
        asked: model, what of the plan is fixed, and one number of accelerators.
        top: how many plans.

    Raises:
        RefusedError: where none can run; says why most cannot.
        UncalibratedError: where nothing is known of training on the accelerators.
    """
    _there_are(design, asked.gpus[0])
    transformer = asked.model.transformer
    if transformer is None:
        words = f"`{asked.model.id}` is a convolutional network, which takes data parallelism alone"
        raise RefusedError(f"{words}; leave out --search", infeasible=False)
    stand, count = _stand(design, catalog, asked, transformer), asked.gpus[0]
    space = space_of(stand.shape, count, stand.run.system.domain, _fixed(asked))
    found = weigh(stand.run, space, count, stand.limit, asked.plan.data if "data" in asked.fixed else None)
    winners = [single(found.plans, found.step.shape, at) for at in best(found, top)]
    if not winners:
        if asked.plan.shard is not None:
            words = f"none of {found.weighed:,} plans can run with `shard: {asked.plan.shard}`; leave it out"
            raise RefusedError(words, infeasible=True)
        most = sorted(found.refused.items(), key=lambda item: -item[1])[:3]
        words = "; ".join(f"{number:,}: {WORDS[name]}" for name, number in most)
        raise RefusedError(
            f"none of {found.weighed:,} plans can run on {plural(count, 'accelerator')} ({words}); "
            + _enough(design, stand, asked, count), infeasible=True,
        )  # fmt: skip
    rows = train_rows(stand.run, winners, stand.limit, [count] * len(winners), compared=True)
    feasible = found.weighed - sum(found.refused.values())
    counts = (found.weighed, feasible, found.refused)
    size = float(parameters(stand.shape))
    return _report(design, catalog, asked, stand.part, size, rows, _assumed(stand, asked), counts)
