"""Serving a model, as `ffplan serve` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, cast

from ffplan.api.arguments import reads
from ffplan.api.designs import Design, load
from ffplan.api.keywords import FIELDS, ServeKeywords
from ffplan.base.errors import UsageError
from ffplan.catalog.named import part_of

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.catalog.engines import Engine
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.workloads import PoolPlan
    from ffplan.results.serving import ServeReport
    from ffplan.serving.requests import Requests
    from ffplan.studies.serve.links import Fleet
    from ffplan.studies.serve.setup import PlanRequest

_WHO = "serve"


@reads(keywords=ServeKeywords)
def serve(design: str | Path | Design | None = None, model: str = "", **options: Unpack[ServeKeywords]) -> ServeReport:
    """Return latency, throughput, power and cost of a served model at loads up to saturation.

    Args:
        design: a design; None with `accelerator`, which otherwise chooses the nodes of a design with unlike ones.
        model: catalogue id of the model; the design's own if empty.
        options: accelerators, plan, loads and targets, as `ffplan.api.keywords.ServeKeywords` explains them.

    Raises:
        InputError: if the design is wrong.
        UsageError: if a name is unknown, or the plan or load is impossible.
    """
    from ffplan.catalog.models import Model
    from ffplan.studies.serve.answer import ServeQuestion, answer
    from ffplan.studies.serve.links import ServeError
    from ffplan.studies.serve.loads import Load, targets_of
    from ffplan.studies.serve.serve import ServeTask
    from ffplan.studies.serve.setup import engine_of

    owner = load(design) if design is not None else None
    model, options = _stated(owner, model, options)
    loads, rates = _several(options.get("concurrency", ())), _several(options.get("rate", ()))
    if loads and rates:
        raise UsageError(f"{_WHO}: give concurrency or rate, not both")
    try:
        fleet, catalog = _fleet(owner, options.get("accelerator"), options.get("gpus"))
        engine = engine_of(catalog, options.get("engine", "vllm"))
        requests = _requests(engine, options)
        task = ServeTask(
            load=Load(requests=requests, seed=options.get("seed", 0)),
            concurrency=loads,
            rates=rates,
            targets=targets_of(*_limits(options), options.get("at"), requests.output),
        )
        question = ServeQuestion(
            model=part_of(catalog, Model, model, f"{_WHO}: model"),
            engine=engine,
            request=_plan(options),
            task=task,
            search=options.get("search", False),
            pools=_pools(options.get("prefill"), options.get("decode")),
            disaggregate=options.get("disaggregate", False),
        )
        return answer(fleet, catalog, question)
    except ServeError as error:
        raise UsageError(f"{_WHO}: {error}") from None


_KEYWORDS = {field: name for name, field in FIELDS.items()}


def _stated(owner: Design | None, model: str, options: ServeKeywords) -> tuple[str, ServeKeywords]:
    from ffplan.studies.serve.answer import stated_fields

    section = owner.resolved.serving if owner is not None else None
    if section is None:
        if not model:
            raise UsageError(f"{_WHO}: name a model, or add `serving` to the design")
        return model, options
    fields = stated_fields(section, {FIELDS.get(name, name) for name in options} | {"model"})
    stated = {_KEYWORDS.get(field, field): value for field, value in fields.items() if value is not None}
    return model or section.model, cast("ServeKeywords", stated | options)


def _pools(prefill: str | None, decode: str | None) -> tuple[PoolPlan, PoolPlan] | None:
    from ffplan.inputs.workloads import pool_of

    if prefill is None and decode is None:
        return None
    if prefill is None or decode is None:
        raise UsageError(f"{_WHO}: pools are two; give prefill and decode")
    return pool_of(prefill, f"{_WHO}: prefill"), pool_of(decode, f"{_WHO}: decode")


def _plan(options: ServeKeywords) -> PlanRequest:
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
    from ffplan.serving.requests import Requests
    from ffplan.studies.serve.answer import speculation

    hit = cast("float", options.get("prefix_hit", 0.0))
    drafted = cast("tuple[str, int, float] | None", options.get("speculate"))
    drafts = speculation(engine, *drafted) if drafted else {}
    return Requests(prompt=options.get("prompt", 1024), output=options.get("output", 1024), hit=hit, **drafts)


def _limits(options: ServeKeywords) -> tuple[float | None, float | None]:
    return cast("float | None", options.get("ttft")), cast("float | None", options.get("tpot"))


def _several(loads: Any) -> tuple[float, ...]:
    """Return the loads of the arguments, or the one of a design."""
    return loads if isinstance(loads, tuple) else (float(loads),)


def _fleet(design: Design | None, accelerator: str | None, gpus: int | None) -> tuple[Fleet, Catalog]:
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.studies.serve.links import Fleet, fleet_of

    if design is None:
        if accelerator is None:
            raise UsageError(f"{_WHO}: give a design, or an accelerator")
        catalog = Catalog()
        part = part_of(catalog, Accelerator, accelerator, f"{_WHO}: accelerator")
        return Fleet(accelerator=part, gpus=gpus or 1), catalog
    return fleet_of(design.resolved, gpus, accelerator), design.catalog
