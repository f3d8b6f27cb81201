"""The pace of a step under one plan, without the rest of its report, for many machines that differ by a figure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.record import record, same
from ffplan.studies.train.train import fault_of
from ffplan.studies.train.train_rows import one_plan, pace, stacked
from ffplan.studies.train.train_setup import TrainRequest, TrainSetup, check_available, host_room, settled, train_setup
from ffplan.training.parallel_plan import parallel_plans
from ffplan.training.step import step_parts, step_time

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.training.train_run import TrainRun


@record
class Pace:
    """A plan on a machine with its pace."""

    stand: TrainSetup
    """Workload, plan and machine."""
    row: dict[str, Any]
    """Figures of the plan's row that follow from the time of its step, by name."""


def _alike(one: TrainSetup, two: TrainSetup) -> tuple[bool, bool]:
    """Return whether the same plan has the same memory on two machines, and whether it has the same time."""
    a, b = one.run, two.run
    shape = same(one.shape, two.shape) and same(a.plans, b.plans)
    room = (one.limit, one.host_limit) == (two.limit, two.host_limit) and same(a.margins, b.margins)
    return shape and room, shape and a.system is b.system and same(a.speeds, b.speeds)


def _row(run: TrainRun) -> dict[str, Any]:
    parts = step_parts(replace(run, plans=stacked([run.plans])))
    return pace(one_plan(run), float(step_time(parts)[0]))  # type: ignore[index]


def paced(design: ResolvedDesign, catalog: Catalog, asked: TrainRequest, known: Pace | None = None) -> Pace | None:
    """Return the pace of a plan of a transformer; None where it has no room, or cannot be laid out.

    Args:
        asked: model, plan with its batch, and one number of accelerators.
        known: its pace on another machine; what is alike is not found again.

    Raises:
        RefusedError: where the machine cannot run the plan.
        UncalibratedError: where the accelerators have no training constants.
    """
    asked, transformer, (count,) = settled(design, catalog, asked), asked.model.transformer, asked.gpus
    assert transformer is not None
    stand = train_setup(design, catalog, asked, transformer)
    check_available(design, count)
    made = parallel_plans(asked.plan, float(count))
    run = replace(stand.run, plans=made)
    stand = replace(stand, run=run, host_limit=host_room(design, asked.plan, count))
    room, time = _alike(known.stand, stand) if known else (False, False)
    if not room and fault_of(stand, made) is not None:
        return None
    return Pace(stand, known.row if known and time else _row(run))
