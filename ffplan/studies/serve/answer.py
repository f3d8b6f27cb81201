"""What a person asks of a served model, answered: one plan, or the best of a search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.catalog.engines import Engine
from ffplan.catalog.models import Model
from ffplan.inputs.suggest import did_you_mean
from ffplan.serving.plan import CACHE_WIDTHS, WIDTHS
from ffplan.studies.serve.search import search
from ffplan.studies.serve.serve import ServeTask, serve
from ffplan.studies.serve.setup import PlanRequest, ServeError, serve_setup

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.results.serving import ServeReport
    from ffplan.studies.serve.setup import Fleet

DRAFTS = {"mtp": 0.05, "draft": 0.1, "ngram": 0.0}
"""Time of a drafted token as a fraction of a step: one layer of many, a model a tenth of the size, none (estimates)."""
_MOST_DRAFTED = 64
"""Most tokens of a draft [1]."""
_CHOSEN = ("precision", "tensor", "pipeline", "expert", "data", "chunk")


@record
class ServeQuestion:
    """A model on an engine, a plan, and loads."""

    model: Model
    engine: Engine
    request: PlanRequest
    task: ServeTask
    search: bool = False
    """True to search what the request leaves open."""


def speculation(engine: Engine, kind: str, drafted: int, accepted: float) -> dict[str, float]:
    """Return what speculation adds to requests.

    Args:
        engine: the engine, which must have it.
        kind: mtp, draft or ngram.
        drafted: tokens of a draft [1].
        accepted: chance that one is accepted [1].

    Raises:
        ServeError: if the engine has none of that kind, or a number is out of range.
    """
    if kind not in DRAFTS:
        raise ServeError(f"--speculate: no `{kind}`; {did_you_mean(kind, DRAFTS, what='kind')}")
    if not (1 <= drafted <= _MOST_DRAFTED and 0 <= accepted < 1):
        raise ServeError(f"--speculate: tokens are 1 to {_MOST_DRAFTED}, with a chance below 1, such as mtp:3:0.8")
    if kind not in engine.features:
        raise ServeError(f"--speculate: {engine.name} has no {kind}; it has {', '.join(engine.features)}")
    return {"drafted": drafted, "accepted": accepted, "draft": DRAFTS[kind]}


def refuse_precisions(request: PlanRequest) -> None:
    """Refuse precisions that nobody knows.

    Args:
        request: a plan as asked for.

    Raises:
        ServeError: with the option and the nearest name.
    """
    for option, value, known in (("--precision", request.precision, WIDTHS), ("--kv", request.kv, CACHE_WIDTHS)):
        if value is not None and value not in known:
            raise ServeError(f"{option}: no `{value}`; {did_you_mean(value, known, what='precision')}")


def answer(fleet: Fleet, catalog: Catalog, asked: ServeQuestion) -> ServeReport:
    """Return the report of a plan, or of the plan of a search with most tokens a second within the targets.

    Raises:
        ServeError: if a precision is unknown, or the plan or the load is impossible.
    """
    model, engine, request, task = asked.model, asked.engine, asked.request, asked.task
    refuse_precisions(request)
    if asked.search:
        space = search(
            catalog, model, engine, fleet, request=request, requests=task.load.requests, targets=task.targets
        )
        best = max(space.choices, key=lambda found: found.output_tokens_s_gpu).plan
        request = replace(request, **{name: getattr(best, name) for name in _CHOSEN})
        task = replace(task, choices=space.choices, searched=space.points)
    requests = replace(task.load.requests, chunk=request.chunk or engine.chunk.value)
    setup = serve_setup(catalog, model, engine, fleet, request=request, requests=requests)
    return serve(setup, catalog, replace(task, load=replace(task.load, requests=requests)))
