"""What a person asks of a served model, answered: one plan, or the best of a search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.errors import did_you_mean
from ffplan.base.record import record
from ffplan.catalog.engines import Engine
from ffplan.catalog.models import Model
from ffplan.inputs.workloads import PoolPlan
from ffplan.serving.plan import CACHE_WIDTHS, WIDTHS
from ffplan.studies.serve.apart import _apart_setup, _best_pools
from ffplan.studies.serve.links import ServeError
from ffplan.studies.serve.search import search
from ffplan.studies.serve.serve import ServeTask, serve
from ffplan.studies.serve.setup import PlanRequest, serve_setup

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.results.serving import ServeReport
    from ffplan.serving.load import Requests
    from ffplan.studies.serve.links import Fleet

DRAFTS = {"mtp": 0.05, "draft": 0.1, "ngram": 0.0}
"""Time of a drafted token as a fraction of a step: one layer of many, a model a tenth of the size, none (estimates)."""
_MOST_DRAFTED = 64
"""Most tokens of a draft [1]."""
_WAYS = {"tensor": "tp", "pipeline": "pp", "expert": "ep", "data": "dp"}
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
    pools: tuple[PoolPlan, PoolPlan] | None = None
    """Plans of pools that compute prompts and that decode."""
    disaggregate: bool = False
    """True to seek such pools."""


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
    if asked.pools is not None or asked.disaggregate:
        return _answer_apart(fleet, catalog, asked)
    if asked.search:
        space = search(
            catalog, model, engine, fleet, request=request, requests=task.load.requests, targets=task.targets
        )
        best = max(space.choices, key=lambda found: found.output_tokens_s_gpu).plan
        request = replace(request, **{name: getattr(best, name) for name in _CHOSEN})
        task = replace(task, choices=space.choices, searched=space.points)
    requests = _chunked(asked, request)
    setup = serve_setup(catalog, model, engine, fleet, request=request, requests=requests)
    return serve(setup, catalog, replace(task, load=replace(task.load, requests=requests)))


def _chunked(asked: ServeQuestion, request: PlanRequest) -> Requests:
    """Return the requests with the tokens of a step."""
    return replace(asked.task.load.requests, chunk=request.chunk or asked.engine.chunk.value)


def _answer_apart(fleet: Fleet, catalog: Catalog, asked: ServeQuestion) -> ServeReport:
    """Return the report of pools, as asked for or sought.

    Raises:
        ServeError: if a plan is given for both, or pools are impossible.
    """
    request, task = asked.request, asked.task
    given = [f"--{option}" for name, option in _WAYS.items() if getattr(request, name) is not None]
    if given or asked.search:
        option = (given or ["--search"])[0]
        raise ServeError(f"{option}: pools have plans of their own; write them as --prefill 4xTP8 --decode 1xDEP32")
    requests, pools = _chunked(asked, request), asked.pools
    if pools is None:
        found = _best_pools(catalog, asked.model, asked.engine, fleet, request, requests=requests, targets=task.targets)
        pools, task = (found.prefill, found.decode), replace(task, searched=found.plans)
        request, requests = found.request, _chunked(asked, found.request)
    setup = _apart_setup(catalog, asked.model, asked.engine, fleet, request, requests=requests, pools=pools)
    return serve(setup, catalog, replace(task, load=replace(task.load, requests=requests)))
