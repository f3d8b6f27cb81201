"""What a person asks of a served model, or a design states of one, answered: one plan, or the best of a search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError, did_you_mean
from ffplan.base.plain import numbers, plain
from ffplan.base.record import record
from ffplan.catalog.engines import Engine
from ffplan.catalog.models import Model
from ffplan.inputs.workloads import PoolPlan
from ffplan.serving.plan import CACHE_WIDTHS, WIDTHS
from ffplan.serving.requests import Requests
from ffplan.studies.serve.apart import _apart_setup, _best_pools
from ffplan.studies.serve.best_plan import _best_plan
from ffplan.studies.serve.links import ServeError, fleet_of
from ffplan.studies.serve.loads import Load
from ffplan.studies.serve.search import search
from ffplan.studies.serve.serve import ServeTask, _served_row, serve
from ffplan.studies.serve.setup import PlanRequest, engine_of, serve_setup

if TYPE_CHECKING:
    from collections.abc import Collection

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.serving_schema import Serving
    from ffplan.results.serving import ServeChoice, ServePlan, ServeReport, ServeRow
    from ffplan.studies.serve.links import Fleet
    from ffplan.studies.serve.setup import ServeSetup

DRAFTS = {"mtp": 0.05, "draft": 0.1, "ngram": 0.0}
"""Time of a drafted token as a fraction of a step: one layer of many, a model a tenth of the size, none (estimates)."""
_MOST_DRAFTED = 64
"""Most tokens of a draft [1]."""
_WAYS = {"tensor": "tp", "pipeline": "pp", "expert": "ep", "data": "dp"}
_MEANS = ("ttft_s", "tpot_s", "e2e_s")
"""Latencies whose address alone means the mean."""
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
    """Return the fields that speculation adds to requests.

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
    """Return the report of a plan, or of the searched plan with most tokens a second within the targets.

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
        task = replace(task, choices=space.choices, searched=space.points)

        def chosen(plan: ServePlan) -> ServeQuestion:
            return replace(asked, request=replace(request, **{n: getattr(plan, n) for n in _CHOSEN}), task=task)

        def set_up(choice: ServeChoice) -> tuple[ServeSetup, ServeTask]:
            setup, _, its = _set_up(fleet, catalog, chosen(choice.plan))
            return setup, its

        best = _best_plan(space.bests, set_up) if task.targets is not None else space.bests[0]
        asked = chosen(best.plan)
    return serve(*_set_up(fleet, catalog, asked))


def _set_up(fleet: Fleet, catalog: Catalog, asked: ServeQuestion) -> tuple[ServeSetup, Catalog, ServeTask]:
    """Return what `serve` takes for a plan, or for given pools."""
    request, requests = asked.request, _chunked(asked, asked.request)
    task = replace(asked.task, load=replace(asked.task.load, requests=requests))
    if asked.pools is not None:
        setup = _apart_setup(catalog, asked.model, asked.engine, fleet, request, requests=requests, pools=asked.pools)
    else:
        setup = serve_setup(catalog, asked.model, asked.engine, fleet, request=request, requests=requests)
    return setup, catalog, task


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
        raise ServeError(f"{option}: pools have separate plans; write them as --prefill 4xTP8 --decode 1xDEP32")
    requests, pools = _chunked(asked, request), asked.pools
    if pools is None:
        best = _best_pools(catalog, asked.model, asked.engine, fleet, request, requests=requests, targets=task.targets)
        pools, task = (best.prefill, best.decode), replace(task, searched=best.plans)
        request = best.request
    return serve(*_set_up(fleet, catalog, replace(asked, request=request, task=task, pools=pools)))


_OTHER_LOAD = frozenset({"rate", "concurrency", "trace", "ttft", "tpot"})
"""Options that ask for another load than a section's."""
_OTHER_LENGTHS = frozenset({"trace", "lengths"})
"""Options that give other lengths."""


def stated_fields(section: Serving, given: Collection[str]) -> dict[str, Any]:
    """Return the fields of a section `serving` that options leave as they are.

    Args:
        section: the section.
        given: options that are given, by the names of the section's fields.
    """
    replaced = set(given)
    if _OTHER_LOAD & replaced:
        replaced |= {"rate", "concurrency"}
    if _OTHER_LENGTHS & replaced:
        replaced |= {"isl", "osl"}
    return {name: getattr(section, name) for name in type(section).model_fields if name not in replaced}


def stated_parts(design: ResolvedDesign, catalog: Catalog) -> tuple[Model, Engine]:
    """Return model and engine of a design's `serving` section.

    Args:
        design: a design with the section.
        catalog: where its parts are.

    Raises:
        InputError: if one is unknown.
    """
    stated = design.serving
    assert stated is not None
    model = catalog.get(Model, stated.model, design.document, ("serving", "model"))
    try:
        return model, engine_of(catalog, stated.engine)
    except ServeError as error:
        what, _, remedy = str(error).removeprefix("--engine: ").partition("; ")
        raise InputError(design.document.finding("design-serving", ("serving", "engine"), what, remedy)) from None


def stated_report(design: ResolvedDesign, catalog: Catalog) -> ServeReport:
    """Return the load of a design's `serving` section, served on all of its accelerators.

    Args:
        design: a design with the section.
        catalog: where its parts are.

    Raises:
        InputError: if the model or the engine is unknown.
        ServeError: if the plan or the load is impossible.
    """
    return answer(fleet_of(design), catalog, _stated_question(design, catalog))


def path_in_row(address: str) -> str:
    """Return the path in a row of an address such as `serve.tpot_s`, which means its mean."""
    field = address.removeprefix("serve.")
    return f"{field}.mean" if field in _MEANS else field


def stated_figures(design: ResolvedDesign, catalog: Catalog) -> dict[str, float]:
    """Return the numbers of the load of a design's `serving` section by address, its saturation among them.

    Args:
        design: a design with the section.
        catalog: where its parts are.

    Returns:
        Figures by address, such as `serve.tpot_s.p99`; without costs where these leave a part out.

    Raises:
        InputError: if the model or the engine is unknown.
        ServeError: if the plan or the load is impossible.
    """
    report = stated_report(design, catalog)
    row = report.rows[report.best]
    figures = numbers(plain(row))
    figures |= {field: figures[path_in_row(field)] for field in _MEANS}
    figures |= {f"saturation.{path}": value for path, value in numbers(plain(report.saturation)).items()}
    partial = row.cost is not None and row.cost.partial
    return {f"serve.{path}": value for path, value in figures.items() if not (partial and path.startswith("cost."))}


def row_again(design: ResolvedDesign, catalog: Catalog, report: ServeReport, *, percentiles: bool) -> ServeRow:
    """Return the best row of a stated report once more, its plan and its load kept, with other parts.

    Args:
        design: a design with the section.
        catalog: where its parts are.
        report: report of the section, with the parts as they are.
        percentiles: run the requests; every quantile is the mean otherwise.

    Raises:
        InputError: if the model or the engine is unknown.
        ServeError: if the plan or the load has become impossible.
    """
    asked, row = _stated_question(design, catalog), report.rows[report.best]
    if asked.pools is None:
        plan = {name: getattr(report.plan, name) for name in (*_CHOSEN, "kv")}
        asked = replace(asked, request=replace(asked.request, **plan))
    setup, _, task = _set_up(fleet_of(design), catalog, asked)
    rate = task.rates[0] if task.rates else 0.0
    concurrency = 0.0 if rate else task.concurrency[0] if task.concurrency else row.concurrency
    return _served_row(setup, catalog, task, concurrency=concurrency, rate=rate, percentiles=percentiles)


def _stated_question(design: ResolvedDesign, catalog: Catalog) -> ServeQuestion:
    stated = design.serving
    assert stated is not None
    model, engine = stated_parts(design, catalog)
    request = PlanRequest(
        precision=stated.precision,
        kv=stated.kv,
        tensor=stated.tp,
        pipeline=stated.pp,
        expert=stated.ep,
        data=stated.dp,
        chunk=stated.chunk,
    )
    task = ServeTask(
        load=Load(requests=Requests(prompt=stated.isl, output=stated.osl)),
        concurrency=(stated.concurrency,) if stated.concurrency else (),
        rates=(stated.rate,) if stated.rate else (),
    )
    pools = None if stated.prefill is None or stated.decode is None else (stated.prefill, stated.decode)
    return ServeQuestion(model=model, engine=engine, request=request, task=task, pools=pools)
