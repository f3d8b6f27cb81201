"""Finding designs from Python: sweeps and recommendations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ffplan.api.designs import Design, load, plain_value
from ffplan.api.keywords import LimitKeywords, refuse_unknown
from ffplan.api.views import html, table
from ffplan.base.array_math import Floats
from ffplan.base.errors import UsageError
from ffplan.base.plain import plain
from ffplan.base.record import record
from ffplan.results.result import Result
from ffplan.results.sweep import SweepReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.results.recommendation import RecommendReport
    from ffplan.studies.choose.sweep_axes import Points


LEAST_SAMPLE = 2
"""Points of a hypercube, at least [1]."""


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


def _points(
    vary: Mapping[str, str | Iterable[Any]], pareto: Mapping[str, str], *, zipped: bool, sample: int | None, seed: int
) -> Points:
    from ffplan.studies.choose.sweep_axes import Points, axis

    def written(values: str | Iterable[Any]) -> str:
        if isinstance(values, str):
            return values
        return ",".join("null" if value is None else str(value) for value in plain_value(values))

    wrong = [f"{name}: {way}" for name, way in pareto.items() if way not in ("min", "max")]
    if wrong:
        raise UsageError(f"sweep: pareto: {', '.join(wrong)}; write min or max")
    if sample is not None and sample < LEAST_SAMPLE:
        raise UsageError(f"sweep: sample: {sample} points; give at least {LEAST_SAMPLE}")
    return Points(
        tuple(axis(f"{path}={written(values)}") for path, values in vary.items()),
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
        return str(source), "<text>"
    path, file = find_design_or_fleet(str(source))
    return read_bytes(path, file).decode("utf-8-sig", "replace"), file


def sweep(
    design: str | Path | Design,
    vary: Mapping[str, str | Iterable[Any]],
    *,
    metrics: Iterable[str] = (),
    pareto: Mapping[str, str] | None = None,
    zipped: bool = False,
    sample: int | None = None,
    seed: int = 0,
) -> Swept:
    """Vary a design or a fleet along any paths, as `ffplan sweep` does, in this process and in memory.

    Args:
        design: a file of a design or a fleet, the name of a shipped one, or a loaded design.
        vary: values by path; a list, or text as `--vary` takes it, such as `64..1024:64`.
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


def _several(names: Any) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _with_ids(parts: Catalog, limits: LimitKeywords) -> dict[str, Any]:
    from ffplan.catalog.named import part_of
    from ffplan.catalog.parts import Accelerator, Switch
    from ffplan.inputs.part_ids import id_of

    who = "recommend"
    allowed, switches = (_several(limits.get(name, ())) for name in ("allowed", "switches"))
    excluded = tuple(id_of(name, parts.ids()) for name in _several(limits.get("excluded", ())))
    for name in excluded:
        if not parts.kind_of(name):
            raise UsageError(f"{who}: excluded: the catalogue has no `{name}`")
    return {
        **limits,
        "allowed": tuple(part_of(parts, Accelerator, name, f"{who}: allowed").id for name in allowed),
        "switches": tuple(part_of(parts, Switch, name, f"{who}: switches").id for name in switches),
        "excluded": excluded,
    }


def recommend(
    model: str,
    *,
    tokens: float,
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
        tokens: tokens to train on [1].
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
    from ffplan.studies.choose.recommend_target import AIMS, Target
    from ffplan.studies.choose.recommendation import kept, recommendation

    refuse_unknown(recommend, LimitKeywords, limits)
    folders = (catalogs,) if isinstance(catalogs, str | Path) else tuple(catalogs)
    parts = Catalog([str(folder) for folder in folders])
    book, who = part_of(parts, PriceBook, prices, "recommend: prices"), "recommend"
    part = part_of(parts, Model, model, f"{who}: model")
    if part.transformer is None:
        raise UsageError(f"{who}: model: `{model}` is not a transformer, and its work is not counted in tokens")
    if not (tokens > 0 and days > 0 and best >= 1 and pue >= 1):
        raise UsageError(f"{who}: tokens and days are above 0, pue and best at least 1")
    if not 0 < limits.get("chance", 0.5) < 1:
        raise UsageError(f"{who}: chance: {limits['chance']}; write a chance to be in time between 0 and 1")
    if limits.get("aim", "capex") not in AIMS:
        raise UsageError(f"{who}: aim: {limits['aim']}; write one of {', '.join(AIMS)}")
    named = _with_ids(parts, limits)
    stages, last = stages_of(days, later, f"{who}: later")
    target = Target(model=part.id, tokens=tokens, days=last, book=book.id, pue=pue, stages=stages, **named)
    answer = search(target, parts, lambda _: None)
    chosen = kept(answer, target, best)
    return recommendation(answer, target, parts, book.currency, chosen, [None] * len(chosen))
