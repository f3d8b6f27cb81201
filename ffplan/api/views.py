"""Views of results in Python: data frames, and HTML for notebooks, from the documents of the reports."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import lacking
from ffplan.base.plain import flat, leaves, numbers, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ffplan.report.document import Document
    from ffplan.results.result import Result


def document_of(result: Result) -> Document:
    """Return the document of a result.

    Raises:
        TypeError: for a kind of result without a document.
    """
    from ffplan.report import (
        choose,
        collective,
        compare,
        cost,
        design,
        fabric,
        fleet_plan,
        goodput,
        operate,
        serve,
        train,
    )
    from ffplan.results import collective as collectives
    from ffplan.results import comparison, recommendation, reliability, sweep, training
    from ffplan.results import cost as costs
    from ffplan.results import design as designs
    from ffplan.results import fabric as fabrics
    from ffplan.results import fleet_plan as fleets
    from ffplan.results import serving as servings
    from ffplan.results import storage as storages

    makers: dict[type, Any] = {
        designs.Assessment: design.design_document,
        comparison.Comparison: compare.compare_document,
        costs.CostStudy: cost.cost_document,
        reliability.GoodputReport: goodput.goodput_document,
        storages.StorageReport: operate.storage_document,
        recommendation.RecommendReport: choose.recommendation_document,
        sweep.SweepReport: choose.sweep_document,
        collectives.CollectiveTable: collective.collective_document,
        fleets.FleetPlan: fleet_plan.fleet_plan_document,
        servings.ServeReport: serve.serve_document,
        training.TrainReport: train.train_document,
        fabrics.SizeReport: fabric.size_document,
        fabrics.RouteReport: fabric.route_document,
        fabrics.PlacementReport: fabric.placement_document,
        fabrics.FaultReport: fabric.fault_document,
        fabrics.CablingReport: fabric.cabling_document,
    }
    if type(result) not in makers:
        raise TypeError(f"a {type(result).__name__} is not a table")
    document: Document = makers[type(result)](result)
    return document


def pandas() -> Any:
    """Return pandas.

    Raises:
        ImportError: without it; the message says how to get it.
    """
    try:
        return import_module("pandas")
    except ImportError:
        raise ImportError(lacking("to_frame", "pandas", "pandas")) from None


def table(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return columns as a data frame with one plain type each, so that pandas, Arrow and polars agree.

    Numbers with gaps are floats with NaN; a column of several types is text.

    Raises:
        ImportError: without pandas.
    """
    pd = pandas()
    series = {name: pd.Series(*_typed(list(values))) for name, values in columns.items()}
    return pd.DataFrame(series)


def _typed(values: list[Any]) -> tuple[list[Any], None, str]:
    kinds = {type(value) for value in values if value is not None}
    gaps = None in values
    if kinds == {bool}:
        return values, None, "boolean" if gaps else "bool"
    if kinds == {int} and not gaps:
        return values, None, "int64"
    if kinds <= {int, float}:
        return [float("nan") if value is None else float(value) for value in values], None, "float64"
    return [None if value is None else str(value) for value in values], None, "string"


def _text(value: Any) -> str | None:
    """Return a non-numeric value as text; None for an empty list or mapping."""
    if value is None or value in ({}, []):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def frame(result: Result) -> Any:
    """Return the main table of a result as a data frame; without one, a row for every path.

    A row for a path holds a number in `value`, anything else in `text`.

    Raises:
        ImportError: without pandas.
    """
    document = document_of(result)
    if document.rows is None:
        paths = list(leaves(plain(document.value)))
        numeric = numbers(plain(document.value))
        return table(
            {
                "path": [path for path, _ in paths],
                "value": [None if path not in numeric else float(numeric[path]) for path, _ in paths],
                "text": [None if path in numeric else _text(value) for path, value in paths],
            }
        )
    rows = [flat(plain(row)) for row in document.rows()]
    names = dict.fromkeys(name for row in rows for name in row)
    return table({name: [row.get(name) for row in rows] for name in names})


def html(result: Result) -> str:
    """Return a result as HTML."""
    from ffplan.report.page.html import render_fragment

    return render_fragment(document_of(result))
