"""The model that a design says it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError
from ffplan.catalog.models import Model
from ffplan.serving.load import Requests
from ffplan.studies.serve.answer import ServeQuestion, answer
from ffplan.studies.serve.links import ServeError, fleet_of
from ffplan.studies.serve.loads import Load
from ffplan.studies.serve.serve import ServeTask
from ffplan.studies.serve.setup import PlanRequest, engine_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from ffplan.catalog.engines import Engine
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.serving_schema import Serving
    from ffplan.results.serving import ServeReport


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
