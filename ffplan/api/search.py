"""Finding designs from Python: sweeps and recommendations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from ffplan.api.arguments import plain_value, reads, utf8
from ffplan.api.designs import Design, load
from ffplan.api.keywords import LimitKeywords
from ffplan.api.views import html, table
from ffplan.base.array_math import Floats
from ffplan.base.errors import UsageError
from ffplan.base.plain import plain
from ffplan.base.record import record
from ffplan.results.result import Result
from ffplan.results.sweep import SweepReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.prices import PriceBook
    from ffplan.catalog.store import Catalog
    from ffplan.results.recommendation import RecommendReport
    from ffplan.studies.choose.sweep_axes import Points


@record
class Swept(Result):
    """A sweep with all of its points."""

    report: SweepReport
    """What `ffplan sweep` prints."""
    axes: dict[str, list[str]]
    """Value of each axis at each point, as written."""
    columns: dict[str, Floats]
    """Metrics at each point, NaN if missing, shape (points,)."""
    reason: list[str]
    """Reason why a point cannot be built; empty if it can."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Return lists by path, a value for each point, as `--points` writes them; paths of axes begin with `axis.`."""
        axes = {f"axis.{path}": [_number_or_text(value) for value in values] for path, values in self.axes.items()}
        columns = {path: plain(column.tolist()) for path, column in self.columns.items()}
        return {**axes, **columns, "reason": self.reason}

    def to_frame(self) -> Any:
        """Return a pandas data frame, a row for each point.

        Raises:
            ImportError: without pandas.
        """
        return table(self.to_dict())

    def _repr_html_(self) -> str:
        return html(self.report)


def _number_or_text(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def _written(path: str, values: Any) -> str:
    """Return values of an axis as `--vary` takes them: text as it is, one value or several."""
    given = plain_value(values)
    if not isinstance(given, str):
        items = given if isinstance(given, Iterable) and not isinstance(given, bytes | Mapping) else (given,)
        given = ",".join("null" if item is None else str(plain_value(item)) for item in items)
    utf8(f"{path}={given}", "sweep: vary")
    return given


def _points(
    vary: Mapping[str, Any], pareto: Mapping[str, str], *, zipped: bool, sample: int | None, seed: int
) -> Points:
    from ffplan.studies.choose.sweep_axes import Points, axis

    wrong = [f"{name}: {way}" for name, way in pareto.items() if way not in ("min", "max")]
    if wrong:
        raise UsageError(f"sweep: pareto: {', '.join(wrong)}; write min or max")
    return Points(
        tuple(axis(f"{path}={_written(path, values)}") for path, values in vary.items()),
        zipped=zipped,
        sample=sample,
        seed=seed,
    )


def _content(source: str | Path | Design) -> tuple[str, str]:
    """Return the content of a file of a design or a fleet, and its name in messages."""
    from ffplan.inputs.design_files import find_design_or_fleet
    from ffplan.inputs.document import read_bytes

    if not isinstance(source, str | Path):
        document = load(source).document
        return json.dumps(document.data), document.file
    if "\n" in str(source):
        return utf8(str(source), "sweep: design").decode(), "<text>"
    path, file = find_design_or_fleet(str(source))
    return read_bytes(path, file).decode("utf-8-sig", "replace"), file


@reads()
def sweep(
    design: str | Path | Design,
    vary: Mapping[str, Any],
    *,
    metrics: str | Iterable[str] = (),
    pareto: Mapping[str, str] | None = None,
    zipped: bool = False,
    sample: int | None = None,
    seed: int = 0,
) -> Swept:
    """Vary a design or a fleet along any paths, as `ffplan sweep` does, in this process and in memory.

    Args:
        design: a file of a design or a fleet, the name of a shipped one, or a loaded design.
        vary: values by path: one, a list, or text as `--vary` takes it, such as `64..1024:64`.
        metrics: numbers of the results, by JSON path; the defaults if empty.
        pareto: min or max of each metric of a front.
        zipped: pair the values of axes of one length.
        sample: points of a Latin hypercube, in place of all [1].
        seed: seed of the hypercube.

    Raises:
        InputError: if the design or the fleet is wrong.
        UsageError: for an unknown path or metric, or too many points.
    """
    import numpy as np

    from ffplan.studies.choose.sweep_rows import grid_axes, kept
    from ffplan.studies.choose.sweep_run import Total, sweep_report
    from ffplan.studies.fleet.query import sweep_query

    points = _points(vary, pareto or {}, zipped=zipped, sample=sample, seed=seed)
    (text, file), ways = _content(design), dict(pareto or {})
    names, catalogs = tuple(dict.fromkeys([*metrics, *ways])), design.catalogs if isinstance(design, Design) else ()
    study = sweep_query(text, file, overlays=catalogs, points=points, metrics=names).sweep()
    info = replace(study.info, sha256=design.document.sha256) if isinstance(design, Design) else study.info
    total = Total(ways, grid_axes(points, study.names, ways))
    columns: dict[str, list[Floats]] = {metric: [] for metric in study.names}
    reason: list[str] = []
    for number in range(study.chunks):
        chunk = study.chunk(number)
        total.take(kept(study, chunk, study.names, None, ways))
        for metric, column in columns.items():
            column.append(chunk.columns.get(metric, np.full(len(chunk.reason), np.nan)))
        reason += chunk.reason
    axes = zip(points.axes, points.indices(0, points.count), strict=True)
    return Swept(
        report=sweep_report(study, info, total, stopped=False),
        axes={axis.path: [axis.text(int(place)) for place in places] for axis, places in axes},
        columns={metric: np.concatenate(column) for metric, column in columns.items()},
        reason=reason,
    )


def _with_ids(parts: Catalog, limits: LimitKeywords) -> dict[str, Any]:
    from ffplan.catalog.named import part_of
    from ffplan.catalog.parts import Accelerator, Switch
    from ffplan.inputs.part_ids import id_of

    who = "recommend"
    allowed, switches = (cast("tuple[str, ...]", limits.get(name, ())) for name in ("allowed", "switches"))
    excluded = tuple(id_of(name, parts.ids()) for name in cast("tuple[str, ...]", limits.get("excluded", ())))
    for name in excluded:
        if not parts.kind_of(name):
            raise UsageError(f"{who}: excluded: the catalogue has no `{name}`")
    return {
        **limits,
        "allowed": tuple(part_of(parts, Accelerator, name, f"{who}: allowed").id for name in allowed),
        "switches": tuple(part_of(parts, Switch, name, f"{who}: switches").id for name in switches),
        "excluded": excluded,
    }


def _in_currency(book: PriceBook, limits: LimitKeywords) -> dict[str, float | None]:
    """Return limits of money in the currency of a price book, which amounts with another contradict."""
    from ffplan.inputs.quantities import Money

    amounts: dict[str, float | None] = {}
    for name in ("capex", "tco"):
        limit: Any = limits.get(name)
        if isinstance(limit, Money) and limit.currency != book.currency:
            fault = f"{name} is in {limit.currency}, the price book `{book.id}` in {book.currency}"
            raise UsageError(f"recommend: {fault}; no rate of exchange is known: give it in {book.currency}")
        amounts[name] = limit.amount if isinstance(limit, Money) else limit
    return amounts


@reads(keywords=LimitKeywords)
def recommend(
    model: str,
    *,
    tokens: float | str,
    days: float,
    prices: str = "usd-2026",
    pue: float = 1.25,
    best: int = 5,
    later: Sequence[tuple[float, float]] = (),
    catalogs: str | Path | Iterable[str | Path] = (),
    **limits: Unpack[LimitKeywords],
) -> RecommendReport:
    """Find the best purchase that trains a model in a given time, as `ffplan recommend` does.

    Args:
        model: catalogue id of a transformer.
        tokens: tokens to train on [1], or text such as `2T`.
        days: days that the run may take, interruptions included [day].
        prices: catalogue id of the price book.
        pue: facility over IT power [1].
        best: designs to report [1].
        later: further purchases: months from the first order, and the days that the run may take from then on [month,
            day].
        catalogs: one folder of your own parts or several, searched first.
        **limits: other fields of `ffplan.studies.choose.recommend_target.Target`: `aim`, `capex`, `tco`, `watts`,
            `racks`, `floor`, `rack_area`, `allowed`, `switches`, `excluded`, `slack`, `chance`, `effort`.

    Raises:
        UsageError: for a model, part or price book that the catalogue lacks, or an unknown limit.
    """
    from ffplan.catalog.models import Model
    from ffplan.catalog.named import part_of
    from ffplan.catalog.prices import PriceBook
    from ffplan.catalog.store import Catalog
    from ffplan.studies.choose.recommend import recommend as search
    from ffplan.studies.choose.recommend import stages_of
    from ffplan.studies.choose.recommend_target import Target
    from ffplan.studies.choose.recommendation import kept, recommendation

    parts = Catalog(catalogs)
    book, who = part_of(parts, PriceBook, prices, "recommend: prices"), "recommend"
    part = part_of(parts, Model, model, f"{who}: model")
    if part.transformer is None:
        raise UsageError(f"{who}: model: `{model}` is not a transformer, and its work is not counted in tokens")
    named = _with_ids(parts, limits) | _in_currency(book, limits)
    stages, last = stages_of(days, later, f"{who}: later")
    target = Target(model=part.id, tokens=float(tokens), days=last, book=book.id, pue=pue, stages=stages, **named)
    answer = search(target, parts, lambda _: None)
    chosen = kept(answer, target, best)
    return recommendation(answer, target, parts, book.currency, chosen, [None] * len(chosen))
