"""Training a model on a design: one plan over several numbers of accelerators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.design.training import LEAST_ZERO
from ffplan.results.training import Skipped, TrainReport
from ffplan.studies.conv_rows import image_rows, image_run
from ffplan.studies.diagnosis import CANNOT, RefusedError, fault, given, relaxed
from ffplan.studies.train_assumptions import image_assumptions
from ffplan.studies.train_rows import train_rows
from ffplan.studies.train_setup import Asked, Stand, assumed, machine_of, report, stand_of, there_are
from ffplan.training.conv_layers import gradient_bytes
from ffplan.training.conv_step import fits, image_plan
from ffplan.training.model_flops import parameters
from ffplan.training.parallel_plan import RECOMPUTE, Plans
from ffplan.training.search_space import nearest, single, space_of, weigh
from ffplan.training.written import plans_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolve import ResolvedDesign
    from ffplan.design.training import PlanFields


def _images(design: ResolvedDesign, catalog: Catalog, asked: Asked) -> TrainReport:
    """Return a convolutional network on several numbers of accelerators.

    Raises:
        RefusedError: where it cannot run on one of them.
        UncalibratedError: where nothing is known of training on the accelerators.
    """
    part, limit, system = machine_of(design, catalog, asked)
    run = image_run(asked.model, asked.plan, part, system)

    def plan(count: int) -> Plans:
        there_are(design, count)
        made = plans_of(image_plan(asked.model, asked.plan, count), float(count))
        fits(replace(run, plans=made), limit)
        return made

    plans, skipped = tried(asked.gpus, plan)
    rows = image_rows(run, list(plans.values()), limit)
    assumptions = image_assumptions(run, asked.plan, given=asked.memory is not None)
    size = gradient_bytes(run.layers, 1.0)
    return report(design, catalog, asked, part, size, rows, assumptions, skipped=skipped)


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
    stand = stand_of(design, catalog, asked, transformer)

    def plan(count: int) -> Plans:
        there_are(design, count)
        made = plans_of(asked.plan, float(count))
        wrong = fault(stand.shape, made, stand.limit)
        if wrong is not None:
            where = f" on {plural(count, 'accelerator')}" if len(asked.gpus) > 1 else ""
            words = f"{wrong.message}; {wrong.remedy}; {_nearest(stand, asked.plan, made, count)}"
            raise RefusedError(words, infeasible=wrong.reason == "memory", lead=f"{CANNOT}{where}: ")
        return made

    plans, skipped = tried(asked.gpus, plan)
    rows = train_rows(stand.run, list(plans.values()), stand.limit, list(plans), compared=False)
    size = float(parameters(stand.shape))
    return report(design, catalog, asked, stand.part, size, rows, assumed(stand, asked), skipped=skipped)


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
    return found, tuple(Skipped(count, error.why) for count, error in refused)


def _nearest(stand: Stand, plan: PlanFields, asked: Plans, count: int) -> str:
    """Return the options of the nearest plan that runs on so many accelerators, in words."""
    space = space_of(stand.shape, count, stand.run.system.domain, {})
    for left_out in relaxed(asked):
        base = replace(asked, **left_out)
        found = weigh(replace(stand.run, plans=base), space, count, stand.limit)
        at = nearest(found, base)
        near = None if at is None else single(found.plans, found.step.shape, at)
        if near is None or any(near.zero < LEAST_ZERO[name] for name in given(near)):
            continue
        words = [*(f"without `{name}`" for name in left_out), *changed(plan, asked, near)]
        return f"--search finds the fastest; the nearest plan that runs: {' '.join(words)}"
    return f"no plan of this model, batch and memory runs on {plural(count, 'accelerator')}"


def changed(plan: PlanFields, asked: Plans, near: Plans) -> list[str]:
    """Return the options that make one plan of another: those above one, and whatever differs.

    Args:
        plan: the plan that is asked for, as it is written.
        asked: the same as plain numbers.
        near: the other.
    """
    names = {
        "--tp": "tensor", "--cp": "context", "--pp": "pipeline", "--chunks": "chunks", "--ep": "expert",
        "--micro-batch": "micro",
    }  # fmt: skip
    found = [
        f"{option} {int(getattr(near, name))}"
        for option, name in names.items()
        if getattr(near, name) > 1 or getattr(near, name) != getattr(asked, name)
    ]
    found.append(f"--zero {int(near.zero)}")
    if near.recompute or asked.recompute:
        found.append(f"--recompute {RECOMPUTE[int(near.recompute)]}")
    if near.tensor > 1 and not (near.sequence_parallel and plan.sequence_parallel):
        found.append("--sp" if near.sequence_parallel else "--no-sp")
    if near.expert_tensor != near.tensor or plan.expert_tensor is not None:
        found.append(f"--etp {int(near.expert_tensor)}")
    if near.gpus != asked.gpus:
        found.append(f"--gpus {int(near.gpus)}")
    if near.zero == 3 and plan.reduces_whole:
        found.append("--reducer nccl")
    if plan.data is not None:
        found.append(f"--dp {int(near.data)}")
    return found
