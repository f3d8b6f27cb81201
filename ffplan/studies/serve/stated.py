"""The model that a design says it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.catalog.models import Model
from ffplan.serving.load import Requests
from ffplan.studies.serve.answer import ServeQuestion, answer
from ffplan.studies.serve.links import ServeError, fleet_of
from ffplan.studies.serve.loads import Load
from ffplan.studies.serve.serve import ServeTask
from ffplan.studies.serve.setup import PlanRequest, engine_of

if TYPE_CHECKING:
    from ffplan.catalog.engines import Engine
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.serving import ServeReport


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
    asked = ServeQuestion(model=model, engine=engine, request=request, task=task, pools=pools)
    return answer(fleet_of(design), catalog, asked)
