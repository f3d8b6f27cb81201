"""Serving a model, as `ffplan serve` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from ffplan.api.designs import Design, load
from ffplan.api.keywords import ServeKeywords, refuse_unknown
from ffplan.base.errors import UsageError
from ffplan.catalog.named import part_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ffplan.catalog.engines import Engine
    from ffplan.catalog.store import Catalog
    from ffplan.results.serving import ServeReport
    from ffplan.serving.load import Requests
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
    from ffplan.catalog.models import Model
    from ffplan.studies.serve.answer import ServeQuestion, answer
    from ffplan.studies.serve.loads import Load
    from ffplan.studies.serve.serve import ServeTask, targets_of
    from ffplan.studies.serve.setup import ServeError, engine_of

    refuse_unknown(serve, ServeKeywords, options)
    loads = _numbers(options.get("concurrency", ()), "concurrency")
    rates = _numbers(options.get("rate", ()), "rate")
    if loads and rates:
        raise UsageError(f"{_WHO}: give concurrency or rate, not both")
    owner = load(design) if design is not None else None
    try:
        fleet, catalog = _fleet(owner, options.get("accelerator"), options.get("gpus"))
        engine = engine_of(catalog, options.get("engine", "vllm"))
        task = ServeTask(
            load=Load(requests=_requests(engine, options), seed=options.get("seed", 0)),
            concurrency=loads,
            rates=rates,
            targets=targets_of(options.get("ttft"), options.get("tpot"), options.get("at", "p99")),
        )
        question = ServeQuestion(
            model=part_of(catalog, Model, model, f"{_WHO}: model"),
            engine=engine,
            request=_plan(options),
            task=task,
            search=options.get("search", False),
        )
        return answer(fleet, catalog, question)
    except ServeError as error:
        raise UsageError(f"{_WHO}: {error}") from None


def _plan(options: ServeKeywords) -> PlanRequest:
    """Return what is given of a plan."""
    from ffplan.studies.serve.setup import PlanRequest

    return PlanRequest(
        precision=options.get("precision"),
        kv=options.get("kv"),
        tensor=options.get("tensor"),
        pipeline=options.get("pipeline"),
        expert=options.get("expert"),
        data=options.get("data"),
        chunk=options.get("chunk"),
    )


def _requests(engine: Engine, options: ServeKeywords) -> Requests:
    """Return the mean requests.

    Raises:
        ServeError: if the engine has no such speculation.
        UsageError: if a length or a fraction is none.
    """
    from ffplan.serving.load import Requests
    from ffplan.studies.serve.answer import speculation

    prompt, output, hit = options.get("prompt", 1024), options.get("output", 1024), options.get("prefix_hit", 0.0)
    if not (prompt >= 1 and output >= 1 and 0 <= hit < 1):
        raise UsageError(f"{_WHO}: prompt and output are at least 1, prefix_hit is at least 0 and below 1")
    drafted = options.get("speculate")
    return Requests(prompt=prompt, output=output, hit=hit, **(speculation(engine, *drafted) if drafted else {}))


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
        ServeError: if the design has fewer.
        UsageError: without a design or an accelerator, or with both.
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
    return fleet_of(design.resolved, gpus), design.catalog
