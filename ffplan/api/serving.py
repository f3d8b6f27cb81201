"""Serving a model, as `ffplan serve` has it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from ffplan.api.designs import Design, load
from ffplan.api.keywords import ServeKeywords, refuse_unknown
from ffplan.base.errors import UsageError
from ffplan.catalog.named import part_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ffplan.catalog.store import Catalog
    from ffplan.results.serving import ServeReport, ServeTargets
    from ffplan.studies.serve.serve import ServeTask
    from ffplan.studies.serve.setup import Fleet, PlanRequest

_WHO = "serve"


def serve(design: str | Path | Design | None = None, model: str = "", **options: Unpack[ServeKeywords]) -> ServeReport:
    """Return latency, throughput, power and cost of a served model at loads up to saturation.

    Args:
        design: a design; None with `accelerator`.
        model: catalogue id of the model.
        options: accelerators, plan, loads and targets, as `ffplan.api.keywords.ServeKeywords` explains them.

    Raises:
        InputError: if the design is wrong.
        UsageError: if a name is unknown, or the plan or load is impossible.
    """
    from ffplan.studies.serve.setup import PlanRequest, ServeError

    refuse_unknown(serve, ServeKeywords, options)
    loads = _numbers(options.get("concurrency", ()), "concurrency")
    rates = _numbers(options.get("rate", ()), "rate")
    if loads and rates:
        raise UsageError(f"{_WHO}: give concurrency or rate, not both")
    owner = load(design) if design is not None else None
    fleet, catalog = _fleet(owner, options.get("accelerator"), options.get("gpus"))
    task = _task(
        options.get("prompt", 1024),
        options.get("output", 1024),
        options.get("prefix_hit", 0.0),
        options.get("speculate"),
    )
    task = replace(
        task,
        load=replace(task.load, seed=options.get("seed", 0)),
        concurrency=loads,
        rates=rates,
        targets=_targets(options.get("ttft"), options.get("tpot"), options.get("at", "p99")),
    )
    searching = options.get("search", False)
    plan = PlanRequest(
        precision=options.get("precision") or ("any" if searching else ""),
        kv=options.get("kv"),
        tensor=options.get("tensor"),
        pipeline=options.get("pipeline", 1),
        expert=options.get("expert"),
        data=options.get("data", 1),
        chunk=options.get("chunk"),
    )
    try:
        return _answer(fleet, catalog, (model, options.get("engine", "vllm")), plan, task, search=searching)
    except ServeError as error:
        raise UsageError(f"{_WHO}: {error}") from None


def _task(prompt: float, output: float, prefix_hit: float, speculate: tuple[str, int, float] | None) -> ServeTask:
    """Return requests without loads.

    Raises:
        UsageError: if a length or a fraction is none.
    """
    from ffplan.serving.load import Requests
    from ffplan.studies.serve.answer import DRAFTS
    from ffplan.studies.serve.loads import Load
    from ffplan.studies.serve.serve import ServeTask

    if not (prompt >= 1 and output >= 1 and 0 <= prefix_hit < 1):
        raise UsageError(f"{_WHO}: prompt and output are at least 1, prefix_hit is at least 0 and below 1")
    kind, drafted, accepted = speculate or ("ngram", 0, 0.0)
    if kind not in DRAFTS or not (0 <= drafted <= 64 and 0 <= accepted < 1):
        raise UsageError(f"{_WHO}: speculate: give a kind ({', '.join(DRAFTS)}), tokens up to 64 and a chance below 1")
    requests = Requests(
        prompt=prompt, output=output, hit=prefix_hit, drafted=drafted, accepted=accepted, draft=DRAFTS[kind]
    )
    return ServeTask(load=Load(requests=requests))


def _answer(
    fleet: Fleet,
    catalog: Catalog,
    names: tuple[str, str],
    plan: PlanRequest,
    task: ServeTask,
    *,
    search: bool,
) -> ServeReport:
    from ffplan.catalog.models import Model
    from ffplan.studies.serve.answer import ServeQuestion, answer
    from ffplan.studies.serve.setup import default_precision, engine_of

    model = part_of(catalog, Model, names[0], f"{_WHO}: model")
    plan = replace(plan, precision=plan.precision or default_precision(model))
    engine = engine_of(catalog, names[1])
    return answer(fleet, catalog, ServeQuestion(model=model, engine=engine, request=plan, task=task, search=search))


def _targets(ttft: float | None, tpot: float | None, at: str) -> ServeTargets | None:
    from ffplan.results.serving import ServeTargets

    return None if ttft is None and tpot is None else ServeTargets(ttft_s=ttft, tpot_s=tpot, at=at)


def _numbers(value: float | Sequence[float], what: str) -> tuple[float, ...]:
    """Return one number or several.

    Raises:
        UsageError: if one is not above 0.
    """
    numbers = (float(value),) if isinstance(value, int | float) else tuple(float(number) for number in value)
    if not all(0 < number < float("inf") for number in numbers):
        raise UsageError(f"{_WHO}: {what}: give numbers above 0")
    return numbers


def _fleet(design: Design | None, accelerator: str | None, gpus: int | None) -> tuple[Fleet, Catalog]:
    """Return the accelerators to serve on.

    Raises:
        UsageError: without a design or an accelerator, with both, or with more accelerators than there are.
    """
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.studies.serve.setup import Fleet, fleet_of

    if (design is None) == (accelerator is None):
        raise UsageError(f"{_WHO}: give a design, or an accelerator")
    if design is None:
        catalog = Catalog()
        part = part_of(catalog, Accelerator, str(accelerator), f"{_WHO}: accelerator")
        return Fleet(accelerator=part, gpus=gpus or 1), catalog
    fleet = fleet_of(design.resolved)
    if gpus is not None and not 1 <= gpus <= fleet.gpus:
        raise UsageError(f"{_WHO}: gpus: give 1 to {fleet.gpus:,}")
    return replace(fleet, gpus=gpus or fleet.gpus), design.catalog
