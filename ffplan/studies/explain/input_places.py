"""Places of inputs: file and line for a figure, a design's value, or an input of the account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.files import data_folder
from ffplan.base.record import record
from ffplan.catalog.read import holds
from ffplan.catalog.store import Catalog
from ffplan.design.ownership_schema import Ownership
from ffplan.inputs.document import Document

if TYPE_CHECKING:
    from ffplan.catalog.read import Entry
    from ffplan.cost.inputs import Input
    from ffplan.design.resolved import ResolvedDesign

_ERRORS, _TABLE = "accuracy.md", "| stack left out |"
"""Page that lists the runs behind the model's errors, and the start of the table that they are in."""
_SITE = {"pue": "pue", "electricity": "electricity_price"}
"""Inputs that `site` of a design states, by the name in the account."""


@record
class _Places:
    document: Document
    catalog: Catalog

    def stated(self, *path: str | int) -> str:
        return _stated_at(self.document, *path)

    def price(self, book: str, part: str) -> str:
        return _figure_at(self.catalog.entry(book), "items", part)


def _stated_at(document: Document, *path: str | int) -> str:
    """Return file and line of a value of a file; empty if the file does not state it."""
    return f"{document.file}:{document.place(path)[0]}" if holds(document.data, path) else ""


def _figure_at(entry: Entry, *path: str | int) -> str:
    """Return file and line of a figure of a part; for a price book, also in the book that it extends."""
    here = _stated_at(entry.document, *path)
    if here:
        return here
    return _figure_at(entry.base, *path) if entry.base is not None else entry.document.file


def _grade_of(entry: Entry, *path: str | int) -> str:
    """Return the grade of a part's figure, or its source's; empty without such a figure."""
    part: Any = entry.part
    for step in path:
        part = part.get(step) if isinstance(part, dict) else getattr(part, str(step), None)
    source = entry.part.sources.get(getattr(part, "source", None) or "")
    return str(getattr(part, "grade", None) or (source.grade if source else ""))


@record
class _InputPlace:
    place: str
    """File and line; the page on accuracy for errors of the model, the file of failures for a job's goodput."""
    grade: str = ""
    """Grade of the figure; empty if the design states it, or the model does."""


def _input_place(entry: Entry, *path: str | int) -> _InputPlace:
    return _InputPlace(_figure_at(entry, *path), _grade_of(entry, *path))


def _errors_at() -> str:
    """Return page and line of the errors of software that no constant was fitted to."""
    lines = (data_folder("docs") / _ERRORS).read_text(encoding="utf-8").splitlines()
    return f"docs/{_ERRORS}:{next(number for number, line in enumerate(lines, 1) if line.startswith(_TABLE))}"


def _account_at(entry: Input, design: ResolvedDesign, catalog: Catalog) -> _InputPlace:
    document, name = design.document, entry.name
    if name.startswith("speed"):
        return _InputPlace(_errors_at())
    if name.startswith("price."):
        return _input_place(catalog.entry(entry.source.partition(": ")[0]), "items", name.removeprefix("price."))
    if name == "rent":
        rent = design.rent
        place = _stated_at(document, "rent", "price")
        if place or rent is None:
            return _InputPlace(place)
        return _input_place(catalog.entry(rent.book), "offers", str(rent.offer), "price")
    place = _stated_at(document, "ownership", name) or _stated_at(document, "site", _SITE.get(name, name))
    if place:
        return _InputPlace(place)
    if name == "effective" and entry.status == "D":
        return _InputPlace(_stated_at(catalog.entry(entry.source.split("`")[-2]).document, "hazards"))
    profile = catalog.entry((design.ownership or Ownership.model_construct()).profile)
    cooling = design.spec.site.cooling
    if name == "effort":
        return _input_place(profile, name, (design.ownership or Ownership.model_construct()).effort)
    return _input_place(profile, *((name,) if name != "pue" or cooling is None else ("pue_by_cooling", cooling)))
