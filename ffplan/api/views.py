"""Views of results in Python: data frames, and HTML for notebooks, from the documents of the reports."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ffplan.base.extras import lacking
from ffplan.base.plain import flat, leaves, plain
from ffplan.results.result import VIEWS

if TYPE_CHECKING:
    from ffplan.report.document import Document
    from ffplan.results.result import Result


def document_of(result: Result) -> Document:
    """Return the document of a result.

    Raises:
        TypeError: for a kind of result without a document.
    """
    from ffplan.report import collective, compare, cost, design, fabric, goodput, operate, train
    from ffplan.results import collective as collectives
    from ffplan.results import comparison, reliability, training
    from ffplan.results import cost as costs
    from ffplan.results import design as designs
    from ffplan.results import fabric as fabrics
    from ffplan.results import storage as storages

    makers: dict[type, Any] = {
        designs.Assessment: design.design_document,
        comparison.Comparison: compare.compare_document,
        costs.CostStudy: cost.cost_document,
        reliability.GoodputReport: goodput.goodput_document,
        storages.StorageReport: operate.storage_document,
        collectives.CollectiveTable: collective.collective_document,
        training.TrainReport: train.train_document,
        fabrics.SizeReport: fabric.size_document,
        fabrics.RouteReport: fabric.route_document,
        fabrics.PlacementReport: fabric.placement_document,
        fabrics.FaultReport: fabric.fault_document,
        fabrics.CablingReport: fabric.cabling_document,
    }
    if type(result) not in makers:
        raise TypeError(f"a {type(result).__name__} is no table")
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


def frame(result: Result) -> Any:
    """Return the main table of a result as a data frame; without one, a row for every path.

    Raises:
        ImportError: without pandas.
    """
    pd = pandas()
    document = document_of(result)
    if document.rows is None:
        return pd.DataFrame(list(leaves(plain(document.value))), columns=["path", "value"])
    return pd.DataFrame([flat(plain(row)) for row in document.rows()])


def html(result: Result) -> str:
    """Return a result as HTML."""
    from ffplan.report.page.html import render_fragment

    return render_fragment(document_of(result))


def install() -> None:
    """Install these views on every result."""
    VIEWS["frame"], VIEWS["html"] = frame, html
