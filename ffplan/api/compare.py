"""Designs side by side, as in `ffplan compare`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.api.designs import Design, load
from ffplan.api.keywords import _refuse_outside
from ffplan.api.studies import assess
from ffplan.base.errors import UsageError
from ffplan.base.formatting import listed
from ffplan.catalog.named import part_of

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.catalog.ownership import Effort
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import PlanFields
    from ffplan.results.comparison import Comparison
    from ffplan.results.design import Assessment
    from ffplan.studies.compare.job import ComparedJob
    from ffplan.studies.cost.ledger import CostRequest


def _assessed(loaded: Design, money: CostRequest) -> Assessment:
    from ffplan.check.run import examine
    from ffplan.studies.cost.ledger import CostRequest

    if money == CostRequest():
        return assess(loaded)
    return examine(loaded.resolved, loaded.catalog, money=money)


def compare(
    *designs: str | Path | Design,
    baseline: str | None = None,
    model: str | None = None,
    tokens: float | None = None,
    batch: int | None = None,
    gpus: int | None = None,
    plan: str | Path | None = None,
    search: bool = False,
    years: float | None = None,
    effort: Effort | None = None,
    draws: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Return designs side by side, with ratios to one of them; with a job, that of their `workload` without a model.

    Args:
        designs: two or more, each any source that `load` accepts.
        baseline: name or file of the design that ratios refer to; the first if omitted.
        model: model to train on every design, each with its fastest plan.
        tokens: tokens to train on [1], for days and money.
        batch: sequences of a step [1]; needed with a model that has no tokens.
        gpus: accelerators of the job [1]; as many as all designs can span if omitted.
        plan: file with a training plan that every design runs.
        search: search the fastest plan of every design, as without a plan; its fields stay.
        years: life of the hardware in place of the ownership profiles' [year].
        effort: how well the run is tuned, in place of the designs' own.
        draws: draws of the uncertain inputs [1]; 0 for none.
        seed: seed of the draws.

    Raises:
        UsageError: for fewer than two designs, an unknown baseline or model, or a job that is wrong.
        InputError: as `assess` does.
    """
    from ffplan.design.plan_file import read_plan
    from ffplan.design.resolved import with_effort
    from ffplan.studies.compare import compare as study
    from ffplan.studies.compare.job import compare_job
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.train.default_job import answered

    _refuse_outside("compare", locals())
    if len(designs) < 2:
        raise UsageError("compare: name at least two designs")
    loaded = [load(design) for design in designs]
    money = CostRequest(draws=draws, seed=seed, years=years)
    assessments = tuple(_assessed(design, replace(money, years=None)) for design in loaded)
    infos = [assessment.design for assessment in assessments]
    labels, base = study.labelled(infos, [str(design) for design in designs], baseline)
    resolved = [(with_effort(entry.resolved, effort), entry.catalog) for entry in loaded]
    file = None if plan is None else str(plan)
    options = {"batch": batch, "gpus": gpus, "plan": file, "search": search}
    job, said = answered("compare", lambda: _compared_job(resolved, labels, model, tokens, options))
    if (job is None or job.tokens is None) and (years is not None or effort):
        raise UsageError("compare: years and effort have an effect with tokens only")
    if job is None:
        return study.compare(assessments, labels, base, workload=said)

    def plan_on(count: int) -> PlanFields:
        return read_plan(file, job.fields, job.gpus, count)

    training, costs = answered(
        "compare", lambda: compare_job(resolved, assessments, (labels, base), job, plan_on, money=money)
    )
    return study.compare(assessments, labels, base, training=training, money=costs, workload=said)


def _compared_job(
    resolved: list[tuple[ResolvedDesign, Catalog]],
    labels: tuple[str, ...],
    model: str | None,
    tokens: float | None,
    options: dict[str, Any],
) -> tuple[ComparedJob | None, str]:
    from ffplan.catalog.models import Model
    from ffplan.studies.compare.job import ComparedJob, own_job

    if model is None:
        if any(options.values()):
            raise UsageError(f"compare: {listed(options)} have an effect with a model only")
        return own_job([design for design, _ in resolved], labels, tokens)
    if options["batch"] is None and tokens is None:
        raise UsageError("compare: a model needs a batch or tokens")
    job = ComparedJob(
        model=part_of(resolved[0][1], Model, model, "model").id,
        fields={} if options["batch"] is None else {"batch": options["batch"]},
        gpus=options["gpus"],
        searching=options["search"] or options["plan"] is None,
        tokens=tokens,
    )
    return job, ""
