"""The first screens of `train`, `recommend`, `sweep` and `diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, chance, first_few, listed, number, percent, plural, ranged
from ffplan.base.tracked import split_marks
from ffplan.inputs.design_files import as_argument
from ffplan.report.document import _FirstScreen
from ffplan.report.phrases import (
    _broken_limits,
    _limit_name,
    _next_of_written,
    _plan_words,
    _short_name,
    _value_words,
    left_out,
    moves,
    relative,
)
from ffplan.results.recommendation import MOST_RECALLED
from ffplan.results.result import model_as_given
from ffplan.results.run import band_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.results.difference import DesignDifference, FigureChange
    from ffplan.results.recommendation import RecommendedDesign, RecommendReport
    from ffplan.results.sweep import SweepPoint, SweepReport
    from ffplan.results.training import TrainReport, TrainRow

_ROWS = 8
"""Rows of a table that fit the screen [1]."""
_PARTS = 5
_METRICS = 3
_COLUMNS, _GAP = 80, 2
"""Columns of the screen, and those before each column of a table [1]."""


# Training


def _train_screen(report: TrainReport) -> _FirstScreen:
    first = report.rows[0]
    unit = report.unit
    searched = f"The fastest of {report.feasible:,} plans that can run" if report.searched else "A step"
    return _FirstScreen(
        head=f"{report.design} · {report.model} · batch {first.plan.batch:,}",
        verdict=(
            f"{searched} takes {band_words(report.step, 's')} on {first.plan.gpus:,} GPUs: "
            f"{first.tokens_s:,.0f} {unit}/s, MFU {100 * first.mfu:.1f} % of {first.plan.precision.upper()}.",
            *([report.run.words] if report.run else []),
        ),
        figures=tuple(_plan_row(row) for row in report.rows[:_ROWS]),
        header=("GPUs", "plan", "s/step", f"{unit}/s/GPU", "MFU %", f"GiB of {number(first.limit_gib, 3)}"),
        advice=(
            ("Binds", _binding(first)),
            ("Step", _step(first)),
            ("Memory", _memory(report, first)),
            ("Cannot run", "; ".join(f"{row.gpus:,} GPUs: {row.why}" for row in report.skipped[:1])),
            ("Next", _cost_of(report) if report.unit == "tokens" else ""),
        ),
        unverified=(
            f"speed estimated from {report.estimated_from}, not from measured runs." if report.estimated_from else ""
        ),
        tiles=(
            ("step", band_words(report.step, "s"), f"on {first.plan.gpus:,} GPUs"),
            (f"{unit} a second", f"{first.tokens_s:,.0f}", f"{first.tokens_s_gpu:,.0f} a GPU"),
            ("MFU", f"{100 * first.mfu:.1f} %", f"of {first.plan.precision.upper()}"),
            ("memory", f"{first.memory_gib:.1f} GiB", f"of {number(first.limit_gib, 3)}"),
        ),
    )


def _cost_of(report: TrainReport) -> str:
    if not report.searched:
        return "the same with --tokens T, for days and money" if report.run is None else ""
    model, plan = model_as_given(report.catalog, report.model), report.rows[0].plan
    job = f"--gpus {plan.gpus + report.rows[0].idle} --batch {plan.batch}"
    return f"ffplan cost {as_argument(report.design_file)} --model {model} {job} --tokens T"


def _plan_row(row: TrainRow) -> tuple[str, ...]:
    return (
        f"{row.plan.gpus:,}",
        _plan_words(row.plan),
        number(row.step_s, 4),
        f"{row.tokens_s_gpu:,.0f}",
        f"{100 * row.mfu:.1f}",
        f"{row.memory_gib:.1f}" + (" edge" if row.memory_words else ""),
    )


def _binding(row: TrainRow) -> str:
    if not row.gains:
        return row.binding_label
    return f"{row.binding_label}; 10 % more of it is {100 * row.gains[0].faster:.1f} % faster"


def _step(row: TrainRow) -> str:
    parts = [part for part in row.parts if part.seconds > 0][:_PARTS]
    return ", ".join(f"{part.label} {percent(part.seconds / row.step_s)}" for part in parts)


def _memory(report: TrainReport, row: TrainRow) -> str:
    if row.memory_words is None:
        return ""
    if report.sure is None:
        return "may run out"
    return f"may run out; {_plan_words(report.sure.plan)} fits beyond doubt, {100 * report.sure.slower:.1f} % longer"


# Recommendation


def _recommend_screen(report: RecommendReport) -> _FirstScreen:
    target = f"{report.model} on {number(report.tokens / 1e12, 3)} T tokens in {number(report.days, 3)} days"
    if report.sustained_pflops is not None:
        target = f"{number(report.sustained_pflops, 3)} PFLOP/s on {report.model}"
    shown = report.designs or report.near
    dearest = report.limits[0] if report.limits else None
    looser = ""
    if dearest is not None and dearest.saving:
        looser = f"{_limit_name(dearest.limit, report)} a tenth looser saves {percent(dearest.saving)}"
    return _FirstScreen(
        head=f"{target} · {report.effort} run · prices {report.price_book}",
        verdict=(_bought(report),),
        figures=tuple(_design_row(place, design, report) for place, design in enumerate(shown[:_ROWS], 1)),
        header=("", "design", "GPUs", "to buy", "days", "sure", "M tokens"),
        advice=(
            ("On paper", "; ".join(_paper(design, report) for design in report.unmeasured)),
            ("Limits", looser),
            ("Why not", "; ".join(left_out(report, first_few))),
            ("Next", _next_of_written(report.designs)),
        ),
        unverified=_estimated(report.designs),
        tiles=_best_tiles(report),
    )


def _best_tiles(report: RecommendReport) -> tuple[tuple[str, str, str], ...]:
    """Return what decides on the recommended design; none where nothing meets the target."""
    if not report.designs:
        return ()
    best = report.designs[0]
    sure = f"{chance(best.in_time_share)} sure" if best.in_time_share is not None else ""
    return (
        ("to buy", f"{amount(best.capex, 3)} {report.currency}", f"{best.accelerators:,} {best.accelerator}"),
        ("run", ranged(best.days, best.days_p10, best.days_p90, "days"), sure),
        ("a million tokens", f"{number(best.cost_per_million_tokens, 2)} {report.currency}", f"{report.effort} run"),
    )


def _bought(report: RecommendReport) -> str:
    if not report.designs:
        measured = " measured" if report.unmeasured else ""
        return f"No{measured} design meets the target within the limits.{_nearest(report)}"
    best = report.designs[0]
    days = ranged(best.days, best.days_p10, best.days_p90, "days")
    sure = f", {chance(best.in_time_share)} sure to be in time" if best.in_time_share is not None else ""
    reached = f"done in {days}{sure}"
    if report.sustained_pflops is not None:
        reached = f"keeps up {number(best.sustained_pflops, 3)} PFLOP/s"
    edge = " Its plan is at the edge of memory." if best.memory_words else ""
    return (
        f"Buy {best.accelerators:,} {best.accelerator} in {plural(best.nodes, 'node')}: "
        f"{amount(best.capex, 3)} {report.currency}, {reached}.{edge}"
    )


def _nearest(report: RecommendReport) -> str:
    """Return which limits the nearest design breaks, each with its figure over the limit."""
    if not report.near:
        return ""
    nearest = report.near[0]
    return f" The nearest, {_short_name(nearest, report)}, breaks {_broken_limits(nearest, report)}."


def _paper(design: RecommendedDesign, report: RecommendReport) -> str:
    lacks = ["no training run"] if design.estimated_from else []
    if design.recalled_share > MOST_RECALLED:
        lacks.append(f"{percent(design.recalled_share)} of its price recalled")
    if design.missing_power:
        lacks.append("power not wholly known")
    price = f"{amount(design.capex, 3)} {report.currency}"
    return f"{design.accelerators:,} {design.accelerator} at {price} ({', '.join(lacks)})"


def _design_row(place: int, design: RecommendedDesign, report: RecommendReport) -> tuple[str, ...]:
    return (
        f"{place}",
        _short_name(design, report),
        f"{design.accelerators:,}",
        amount(design.capex, 3),
        ranged(design.days, design.days_p10, design.days_p90),
        "-" if design.in_time_share is None else percent(design.in_time_share),
        number(design.cost_per_million_tokens, 2),
    )


def _estimated(designs: Sequence[RecommendedDesign]) -> str:
    guessed = sorted({design.accelerator for design in designs if design.estimated_from})
    said = [f"speed of {listed(guessed)} (no training run)"] if guessed else []
    shares = {design.accelerator: design.recalled_share for design in designs}
    said += [f"{percent(share)} of the price of {name}" for name, share in shares.items() if share > MOST_RECALLED]
    return f"{'; '.join(said)}." if said else ""


# Sweep


def _sweep_screen(report: SweepReport) -> _FirstScreen:
    points = report.front or report.sample
    moving = [metric.path for metric in report.metrics if metric.least != metric.most]
    names = list(report.directions) or moving[-_METRICS:]
    axes = [axis.path for axis in report.axes]
    shown = points[:_ROWS]
    heads = axes if _fits(report, shown, axes, names) else _ends(axes)
    while len(names) > 1 and not _fits(report, shown, heads, names):
        names.pop(-1 if report.directions else 0)
    unseen = [path for path in moving if path not in names]
    still = [f"{m.path} {number(m.least)}" for m in report.metrics if m.least == m.most][:_METRICS]
    kind = "on the front" if report.front else "points"
    return _FirstScreen(
        head=f"{report.design.name} · {plural(report.points, 'point')} of {listed(axes)}",
        verdict=(
            f"{report.built:,} of {plural(report.points, 'point')} can be built."
            + ("" if moving or not report.built else " None of the metrics moves."),
        ),
        figures=tuple(_point(point, names) for point in shown),
        header=_header(report, heads, names),
        advice=(
            ("Shown", f"{len(shown)} of {len(points):,} {kind}" if len(points) > len(shown) else ""),
            ("Best at" if report.directions else "Least at", _extremes(report, names)),
            ("Moves too", first_few(unseen)),
            ("Same", f"at every point: {', '.join(still)}" if still else ""),
            ("Refused", "; ".join(f"{row.points:,}: {row.reason}" for row in report.refused[:2])),
            ("Unpriced", listed(report.unpriced)),
        ),
    )


def _header(report: SweepReport, heads: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    return (*heads, *(f"{name} {report.directions.get(name, '')}".rstrip() for name in names), "")


def _ends(paths: Sequence[str]) -> list[str]:
    """Return the shortest endings that tell paths apart."""
    parts = [path.split(".") for path in paths]
    for count in range(1, max(map(len, parts))):
        ends = [".".join(part[-count:]) for part in parts]
        if len(set(ends)) == len(ends):
            return ends
    return list(paths)


def _fits(report: SweepReport, shown: Sequence[SweepPoint], heads: Sequence[str], names: Sequence[str]) -> bool:
    rows = [_header(report, heads, names), *(_point(point, names) for point in shown)]
    widths = [max(len(split_marks(cell)[0]) for cell in cells) for cells in zip(*rows, strict=True)]
    return sum(_GAP + width for width in widths if width) <= _COLUMNS


def _point(point: SweepPoint, names: Sequence[str]) -> tuple[str, ...]:
    metrics = (number(point.metrics[name]) if name in point.metrics else "-" for name in names)
    return (*point.values.values(), *metrics, "knee" if point.knee else "")


def _extremes(report: SweepReport, names: Sequence[str]) -> str:
    """Return where metrics are least, or most where the front wants them so."""
    at: dict[str, list[str]] = {}
    for row in report.metrics:
        if row.path in names:
            end = row.most_at if report.directions.get(row.path) == "max" else row.least_at
            at.setdefault(", ".join(f"{path} {value}" for path, value in end.items()), []).append(row.path)
    return "; ".join(f"{point}: {listed(paths)}" for point, paths in at.items())


# Difference

_FIRST = {"cost": 0, "time": 1}
"""Place in the table of the kinds of figures that come before all others."""


def _difference_screen(report: DesignDifference) -> _FirstScreen:
    """Return which figures move, and what moves them: figures with a verdict first, of them costs, then times."""
    moved = sorted(filter(moves, report.figures), key=lambda row: (not row.verdict, _FIRST.get(row.kind, len(_FIRST))))
    judged = {verdict: _judged(moved, verdict) for verdict in ("worse", "better")}
    sides = [f"{verdict}: {names}" for verdict, names in judged.items() if names]
    changes = plural(len(report.changes), "change") if report.changes else "No change"
    said = "; ".join(sides) or "no figure gets better or worse"
    causes = [effect for effect in report.effects if effect.figures]
    paths = listed(change.path for effect in causes for change in effect.changes)
    silent = sum(len(effect.changes) for effect in report.effects if not effect.figures)
    return _FirstScreen(
        head=" to ".join(dict.fromkeys((report.before.name, report.after.name))),
        verdict=(f"{changes}; {said}.", *report.notes[:1]),
        figures=tuple(_moved(row) for row in moved[:_ROWS]),
        header=("", "before", "after", "", "") if moved else (),
        advice=(
            ("Shown", f"{_ROWS} of {len(moved)} figures that moved" if len(moved) > _ROWS else ""),
            ("Moved by", paths),
            ("No effect", plural(silent, "other change") if silent else ""),
        ),
    )


def _judged(moved: Sequence[FigureChange], verdict: str) -> str:
    """Name the figures of the table with a verdict, and count those below it."""
    shown, below = ([row.label for row in rows if row.verdict == verdict] for rows in (moved[:_ROWS], moved[_ROWS:]))
    return listed([*shown, *([f"{len(below)} more" if shown else f"{len(below)} below"] if below else [])])


def _moved(row: FigureChange) -> tuple[str, ...]:
    label = f"{row.label} [{row.unit}]" if row.unit else row.label
    return (label, _value_words(row, row.before), _value_words(row, row.after), relative(row), row.verdict)
