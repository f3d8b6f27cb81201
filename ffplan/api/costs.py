"""Cost of a cluster and a training run, as in `ffplan cost`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.api.designs import Design, load
from ffplan.api.keywords import _ran, _refuse_outside
from ffplan.base.errors import UsageError
from ffplan.catalog.named import part_of

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.catalog.ownership import Effort
    from ffplan.catalog.store import Catalog
    from ffplan.design.training import PlanFields
    from ffplan.results.cost import CostStudy
    from ffplan.studies.train.default_job import TimedJob


def costs(
    design: str | Path | Design,
    model: str | None = None,
    tokens: float | None = None,
    *,
    batch: int | None = None,
    gpus: int | None = None,
    plan: str | Path | None = None,
    search: bool = False,
    years: float | None = None,
    effort: Effort | None = None,
    draws: int = 10_000,
    seed: int = 0,
) -> CostStudy:
    """Return the costs of a cluster to buy, own or rent, and of a training run on it.

    Args:
        design: any source that `load` accepts.
        model: catalogue id of a transformer; the design's `workload` if omitted, if that has tokens.
        tokens: tokens to train on [1], needed with a model; without one, in place of the `workload`'s.
        batch: sequences of a step [1]; about 4 million tokens if omitted.
        gpus: accelerators of the job [1]; as many as it can span if omitted.
        plan: file with a training plan; the fastest is searched if omitted.
        search: search the fastest plan with `plan` too.
        years: life of the hardware in place of the ownership profile's [year].
        effort: how well the run is tuned, in place of the design's own.
        draws: draws of the uncertain inputs [1]; 0 for none.
        seed: seed of the draws.

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership is wrong.
        UsageError: for options that exclude each other, or a job that cannot run.
    """
    from ffplan.design.plan_file import read_plan
    from ffplan.design.resolved import with_effort
    from ffplan.studies.basis.job_layout import most_gpus
    from ffplan.studies.cost.cost import study_cost
    from ffplan.studies.cost.ledger import CostRequest

    _refuse_outside("costs", locals())
    if model is not None and tokens is None:
        raise UsageError("costs: a model needs tokens")
    if model is None and (batch or gpus or plan or search):
        raise UsageError("costs: batch, gpus, plan and search have an effect with a model only")
    loaded = load(design)
    parts = loaded.catalog
    timed = None
    if model is None:
        timed = _own_job(loaded, parts, tokens)
    elif tokens is not None:
        fields = {"batch": batch} if batch is not None else {}
        settings = read_plan(None if plan is None else str(plan), fields, gpus, most_gpus(loaded.resolved))
        timed = _timed(loaded, parts, model, float(tokens), (gpus, settings), searching=search or plan is None)
    if timed is None and effort is not None:
        raise UsageError("costs: effort has an effect on a run; give model and tokens")
    return study_cost(
        with_effort(loaded.resolved, effort), parts, CostRequest(draws=draws, seed=seed, years=years), timed
    )


def _own_job(loaded: Design, parts: Catalog, tokens: float | None) -> TimedJob | None:
    from ffplan.studies.train.default_job import answered, own_workload, timed_workload, with_tokens

    if tokens is None and (loaded.resolved.workload is None or loaded.resolved.workload.tokens is None):
        return None
    answered("costs", lambda: own_workload([loaded.resolved]))
    design = with_tokens(loaded.resolved, tokens)
    return _ran("costs", lambda: timed_workload(design, parts, design.stated_workload))


def _timed(
    loaded: Design,
    parts: Catalog,
    model: str,
    tokens: float,
    job: tuple[int | None, PlanFields],
    *,
    searching: bool,
) -> TimedJob:
    from ffplan.catalog.models import Model
    from ffplan.studies.train.default_job import timed_on

    part = part_of(parts, Model, model, "model")
    if part.transformer is None:
        raise UsageError(f"costs: {part.id} is not a transformer")
    gpus, plan = job
    return _ran("costs", lambda: timed_on(loaded.resolved, parts, part, plan, gpus, tokens, searching=searching))
