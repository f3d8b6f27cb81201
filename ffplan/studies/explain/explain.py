"""Influences on a figure: every input that moves it, with file and line, and how strongly."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError
from ffplan.base.files import data_folder
from ffplan.base.formatting import number
from ffplan.base.record import record
from ffplan.catalog.read import holds
from ffplan.catalog.store import Catalog
from ffplan.design.ownership_schema import Ownership
from ffplan.design.resolve import resolve
from ffplan.design.resolved import ResolvedDesign
from ffplan.figures.figure import Figure, equation
from ffplan.inputs.document import Document, parse_document
from ffplan.inputs.quantities import Money
from ffplan.results.explanation import Derivation, Influence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.catalog.parts import Part
    from ffplan.catalog.read import Entry
    from ffplan.cost.inputs import Input


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


TENTH = 0.1
_LEAST = 1e-7
"""Relative change from which an input counts as moving a value [1]."""


@record
class Subject:
    """What is explained."""

    document: Document
    catalog: Catalog
    """Parts, not counted as read."""
    evaluate: Callable[[ResolvedDesign, Catalog], float | None]
    """Returns the value of a design with its catalogue; None if it has none."""


def derived(
    label: str,
    value: float | None,
    unit: str,
    place: str,
    steps: tuple[Derivation, ...] = (),
    *,
    binds: bool = False,
) -> Derivation:
    """Return a value whose equation a function states; `binds`: it alone decides the value above."""
    stated, source = equation(place)
    return Derivation(
        label=label, value=value, unit=unit, formula=stated, source=source, place=place, binds=binds, steps=steps
    )


def _declared(
    label: str, value: float | None, unit: str, figure: Figure, steps: tuple[Derivation, ...], how: str = ""
) -> Derivation:
    if figure.place:
        return derived(label, value, unit, figure.place, steps)
    derivation = given(label, value, unit, how=how or figure.how)
    return replace(derivation, steps=steps)


def given(
    label: str, value: float | None, unit: str, *, how: str = "", source: str = "", place: str = "", binds: bool = False
) -> Derivation:
    """Return a value without an equation; `binds`: it alone decides the value above."""
    return Derivation(label=label, value=value, unit=unit, formula=how, source=source, place=place, binds=binds)


def _grown(value: Any, factor: float) -> Any:
    """Return a number, an amount of money or a range times a factor; None of anything else."""
    if isinstance(value, Money):
        return Money(value.amount * factor, value.currency)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return type(value)(round(value * factor)) if isinstance(value, int) else value * factor


def _scaled(part: Any, path: tuple[str | int, ...], factor: float) -> Any:
    """Return a part with one figure times a factor, its range with it; None if the figure is not numeric."""
    if not path:
        grown = {name: _grown(getattr(part, name), factor) for name in ("value", "low", "high")}
        if grown["value"] is None:
            return None
        return part.model_copy(update={name: value for name, value in grown.items() if value is not None})
    step, rest = path[0], path[1:]
    inner: Any = part[step] if isinstance(part, dict | tuple | list) else getattr(part, str(step))  # type: ignore[index]
    larger = _scaled(inner, rest, factor)
    if larger is None:
        return None
    if isinstance(part, dict):
        return {**part, step: larger}
    if isinstance(part, tuple | list):
        return (*part[: int(step)], larger, *part[int(step) + 1 :])
    return part.model_copy(update={str(step): larger})


def _value(subject: Subject, document: Document, catalog: Catalog) -> float | None:
    try:
        return subject.evaluate(resolve(document, catalog), catalog)
    except InputError:
        return None


def _relative(value: float | None, base: float) -> float | None:
    return None if value is None else value / base - 1


def _shown(value: Any) -> str:
    return f"{number(value.amount, 6)} {value.currency}" if isinstance(value, Money) else number(value, 6)


def _tried(figure: Any, factor: float) -> str:
    """Return a figure that is tried; of nothing its range, which is all that a tenth changes of it."""
    value = _shown(_grown(figure.value, factor))
    ends = [getattr(figure, end, None) for end in ("low", "high")]
    if getattr(figure.value, "amount", figure.value) or not any(ends) or None in ends:
        return value
    low, high = (_shown(_grown(end, factor)) for end in ends)
    return f"{value} ({low} to {high})"


def _moves_it(changes: list[float | None]) -> bool:
    """True if one of two changes moves the value; a refused design says nothing of it."""
    return any(change is not None and abs(change) > _LEAST for change in changes)


def _influence_of(
    tried: list[str],
    changes: list[float | None],
    *,
    name: str,
    value: str,
    place: str,
    source: str,
    grade: str = "",
    status: str = "given",
) -> tuple[Influence, bool]:
    influence = Influence(
        input=name,
        value=value,
        at_less=tried[0],
        at_more=tried[1],
        place=place,
        source=source,
        grade=grade,
        status=status,
        less=changes[0],
        more=changes[1],
    )
    return influence, _moves_it(changes)


def _of_part(
    value: Callable[[Entry, tuple[str | int, ...]], float | None], entry: Entry, base: float
) -> Iterator[tuple[Influence, bool]]:
    part: Part = entry.part
    for path, figure in part.figures():
        changes: list[float | None] = []
        tried: list[str] = []
        for factor in (1 - TENTH, 1 + TENTH):
            changed = _scaled(part, path, factor)
            if changed is None:
                break
            tried.append(_tried(figure, factor))
            changes.append(_relative(value(replace(entry, part=changed), path), base))
        if len(changes) < 2:
            continue
        source = part.sources[figure.source]
        yield _influence_of(
            tried,
            changes,
            name=f"{part.id}: {'.'.join(map(str, path))}",
            value=_tried(figure, 1.0),
            place=_figure_at(entry, *path),
            source=source.title,
            grade=str(figure.grade or source.grade),
            status=str(figure.status or source.status),
        )


def _numbers(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], float]]:
    """Yield every number of plain data with its path; limits are none of a design's inputs."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if path or name not in ("limits", "phases"):
                yield from _numbers(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _numbers(inner, (*path, index))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def _with(data: Any, path: tuple[str | int, ...], value: float) -> Any:
    if not path:
        return value
    if isinstance(data, dict):
        return {**data, path[0]: _with(data[path[0]], path[1:], value)}
    index = int(path[0])
    return [*data[:index], _with(data[index], path[1:], value), *data[index + 1 :]]


def _of_design(subject: Subject, base: float, without: tuple[str, ...] = ()) -> Iterator[tuple[Influence, bool]]:
    document = subject.document
    for path, value in _numbers(document.data):
        if not value or path[0] in without:  # a tenth of nothing is nothing
            continue
        changes: list[float | None] = []
        tried: list[str] = []
        for factor in (1 - TENTH, 1 + TENTH):
            grown = _grown(value, factor)
            if grown == value:  # a tenth of a small whole number
                grown = value + (1 if factor > 1 else -1)
            tried.append(_shown(grown))
            text = json.dumps(_with(document.data, path, grown), ensure_ascii=False)
            changed = parse_document(text.encode(), document.file)
            changes.append(_relative(_value(subject, changed, subject.catalog.fresh()), base))
        name, place = ".".join(map(str, path)), _stated_at(document, *path)
        yield _influence_of(tried, changes, name=name, value=_shown(value), place=place, source="the design")


def influences(
    subject: Subject, base: float, entries: list[Entry], step: Callable[[int, int], None]
) -> tuple[tuple[Influence, ...], int]:
    """Return the inputs that move a value, the strongest first, and how many do not.

    Args:
        entries: parts whose figures are tried.
    """

    def changed(entry: Entry, _: tuple[str | int, ...]) -> float | None:
        return _value(subject, subject.document, subject.catalog.with_entry(entry))

    tried = []
    for index, entry in enumerate(entries):
        step(index, len(entries) + 1)
        tried += list(_of_part(changed, entry, base))
    step(len(entries), len(entries) + 1)
    tried += list(_of_design(subject, base))
    return _sorted_out(tried)


def _sorted_out(tried: list[tuple[Influence, bool]]) -> tuple[tuple[Influence, ...], int]:
    """Return the inputs that move a value, the strongest first, and how many do not."""
    moving = [influence for influence, moves in tried if moves]
    return tuple(sorted(moving, key=_strength)), len(tried) - len(moving)


def _strength(influence: Influence) -> tuple[float, str]:
    return -max(abs(change) for change in (influence.less or 0.0, influence.more or 0.0)), influence.input
