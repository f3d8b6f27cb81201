"""Designs side by side, as `ffplan compare` has them, and the cost of one, as `ffplan cost` has it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.api.arguments import reads
from ffplan.api.designs import Design, load
from ffplan.api.keywords import _ran
from ffplan.api.studies import assess
from ffplan.base.errors import UsageError
from ffplan.base.formatting import listed
from ffplan.base.outcomes import DRAWS
from ffplan.catalog.named import part_of

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.catalog.ownership import Effort
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import PlanFields
    from ffplan.results.comparison import Comparison, ComparisonOptions
    from ffplan.results.cost import CostStudy
    from ffplan.results.design import Assessment
    from ffplan.studies.compare.training import ComparedJob
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.train.default_job import TimedJob


def _assessed(loaded: Design, money: CostRequest) -> Assessment:
    from ffplan.check.run import examine
    from ffplan.studies.cost.ledger import CostRequest

    if money == CostRequest():
        return assess(loaded)
    return examine(loaded.resolved, loaded.catalog, money=money)


@reads()
def compare(
    *designs: str | Path | Design,
    baseline: str | None = None,
    model: str | None = None,
    tokens: float | str | None = None,
    batch: int | None = None,
    gpus: int | None = None,
    plan: str | Path | None = None,
    search: bool = False,
    years: float | str | None = None,
    effort: Effort | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Comparison:
    """Return designs side by side, with ratios to one of them; with a job, that of their `workload` without a model.

    Args:
        designs: two or more, each any source that `load` accepts.
        baseline: name or file of the design that ratios refer to; the first if omitted.
        model: model to train on every design, each with its fastest plan.
        tokens: tokens to train on [1], or text such as `2T`, for days and money.
        batch: sequences of a step [1]; needed with a model that has no tokens.
        gpus: accelerators of the job [1]; as many as all designs can span if omitted.
        plan: file with a training plan that every design runs.
        search: search the fastest plan of every design, as without a plan; its fields stay.
        years: life of the hardware in place of the ownership profiles' [year], or text such as `4 years`.
        effort: how well the run is tuned, in place of the designs' own.
        draws: draws of the uncertain inputs [1]; 0 for none.
        seed: seed of the draws.

    Raises:
        UsageError: for fewer than two designs, an unknown baseline or model, or a job that is wrong.
        InputError: as `assess` does.
    """
    from ffplan.design.resolved import with_effort
    from ffplan.results.comparison import ComparisonOptions
    from ffplan.studies.compare.compare import labelled
    from ffplan.studies.cost.ledger import CostRequest

    if len(designs) < 2:
        raise UsageError("compare: name at least two designs")
    loaded = [load(design) for design in designs]
    total, life = (None if each is None else float(each) for each in (tokens, years))
    money = CostRequest(draws=draws, seed=seed, years=life)
    assessments = tuple(_assessed(design, replace(money, years=None)) for design in loaded)
    infos = [assessment.design for assessment in assessments]
    labels, base = labelled(infos, [str(design) for design in designs], baseline)
    options = ComparisonOptions(
        model=model,
        batch=batch,
        gpus=gpus,
        plan=None if plan is None else str(plan),
        search=search,
        tokens=total,
        years=life,
        effort=effort,
        draws=draws,
        seed=seed,
    )
    resolved = [(with_effort(entry.resolved, effort), entry.catalog) for entry in loaded]
    return _comparison(resolved, assessments, (labels, base), options, money)


def _comparison(
    resolved: list[tuple[ResolvedDesign, Catalog]],
    assessments: tuple[Assessment, ...],
    labelled: tuple[tuple[str, ...], int],
    options: ComparisonOptions,
    money: CostRequest,
) -> Comparison:
    from ffplan.design.plan_file import read_plan
    from ffplan.studies.compare import compare as study
    from ffplan.studies.compare.training import compare_job
    from ffplan.studies.train.default_job import answered

    labels, base = labelled
    job, said = answered("compare", lambda: _compared_job(resolved, labels, options))
    if (job is None or job.tokens is None) and (options.years is not None or options.effort):
        raise UsageError("compare: years and effort have an effect with tokens only")
    if job is None:
        return study.compare(assessments, labels, base, options, workload=said)

    def plan_on(count: int) -> PlanFields:
        return read_plan(options.plan, job.fields, job.gpus, count)

    training, costs = answered(
        "compare", lambda: compare_job(resolved, assessments, labelled, job, plan_on, money=money)
    )
    return study.compare(assessments, labels, base, options, training=training, money=costs, workload=said)


def _compared_job(
    resolved: list[tuple[ResolvedDesign, Catalog]], labels: tuple[str, ...], options: ComparisonOptions
) -> tuple[ComparedJob | None, str]:
    from ffplan.catalog.models import Model
    from ffplan.studies.compare.training import ComparedJob, own_job

    if options.model is None:
        needing = {name: getattr(options, name) for name in ("batch", "gpus", "plan", "search")}
        if any(needing.values()):
            raise UsageError(f"compare: {listed(needing)} have an effect with a model only")
        return own_job([design for design, _ in resolved], labels, options.tokens)
    if options.batch is None and options.tokens is None:
        raise UsageError("compare: a model needs a batch or tokens")
    job = ComparedJob(
        model=part_of(resolved[0][1], Model, options.model, "model").id,
        fields={} if options.batch is None else {"batch": options.batch},
        gpus=options.gpus,
        searching=options.search or options.plan is None,
        tokens=options.tokens,
    )
    return job, ""


@reads()
def costs(
    design: str | Path | Design,
    model: str | None = None,
    tokens: float | str | None = None,
    *,
    batch: int | None = None,
    gpus: int | None = None,
    plan: str | Path | None = None,
    search: bool = False,
    years: float | str | None = None,
    effort: Effort | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> CostStudy:
    """Return the costs of a cluster to buy, own or rent, and of a training run on it.

    Args:
        design: any source that `load` accepts.
        model: catalogue id of a transformer; the design's `workload` if omitted, if that has tokens.
        tokens: tokens to train on [1], or text such as `2T`, needed with a model; without one, in place of the
            `workload`'s.
        batch: sequences of a step [1]; about 4 million tokens if omitted.
        gpus: accelerators of the job [1]; as many as it can span if omitted.
        plan: file with a training plan; the fastest is searched if omitted.
        search: search the fastest plan with `plan` too.
        years: life of the hardware in place of the ownership profile's [year], or text such as
            `4 years`.
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

    if model is not None and tokens is None:
        raise UsageError("costs: a model needs tokens")
    if model is None and (batch or gpus or plan or search):
        raise UsageError("costs: batch, gpus, plan and search have an effect with a model only")
    loaded = load(design)
    parts = loaded.catalog
    timed, total = None, None if tokens is None else float(tokens)
    if model is None:
        timed = _own_job(loaded, parts, total)
    elif total is not None:
        fields = {"batch": batch} if batch is not None else {}
        settings = read_plan(None if plan is None else str(plan), fields, gpus, most_gpus(loaded.resolved))
        timed = _timed(loaded, parts, model, total, (gpus, settings), searching=search or plan is None)
    if timed is None and effort is not None:
        raise UsageError("costs: effort has an effect on a run; give model and tokens")
    return study_cost(
        with_effort(loaded.resolved, effort),
        parts,
        CostRequest(draws=draws, seed=seed, years=None if years is None else float(years)),
        timed,
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
