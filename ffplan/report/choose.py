"""The reports of `ffplan init`, `ffplan recommend` and `ffplan sweep`: designs to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, at_least, kilowatts, listed, number, percent, plural
from ffplan.base.next_commands import following
from ffplan.report.document import Block, Document, Grid, Lines, Remarks, _Body, _listing, _Matrix, provenance
from ffplan.report.first.choose import _recommend_screen, _sweep_screen
from ffplan.report.phrases import _broken_limits, _limit_name, _short_name, left_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.results.recommendation import (
        InitReport,
        LimitPrice,
        NearWishes,
        RecommendedDesign,
        RecommendReport,
        UnmetWishes,
    )
    from ffplan.results.sweep import SweepAxis, SweepReport


def _cell(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else number(value, digits)


def _wishes(unmet: UnmetWishes) -> str:
    wishes = [f"{unmet.accelerators:,} accelerators"] if unmet.accelerators is not None else []
    if unmet.budget is not None:
        wishes.append(f"{amount(unmet.budget)} {unmet.designs[0].currency if unmet.designs else ''}".rstrip())
    if unmet.power_kw is not None:
        wishes.append(f"{kilowatts(unmet.power_kw)} ({unmet.power_of})")
    return ", ".join(wishes)


def _taken(unmet: UnmetWishes) -> Grid:
    designs = unmet.designs

    def powers(label: str, name: str) -> tuple[str, ...]:
        gaps = name not in ("compute_kw", "storage_kw")
        return (label, *(at_least(f"{getattr(design, name):,.0f}", gaps and design.unrated) for design in designs))

    rows = (
        (f"to buy [{designs[0].currency}]", *(amount(design.cost) for design in designs)),
        powers(f"{designs[0].nodes:,} nodes of {number(designs[0].node_kw)} kW, rated", "compute_kw"),
        powers("storage, rated", "storage_kw"),
        powers("networks, rated", "network_kw"),
        powers("IT at its peak: the sum", "it_rated_kw"),
        powers(f"facility at its peak: x {unmet.pue:g}", "facility_peak_kw"),
        powers("IT in training", "it_training_kw"),
        powers(f"facility power in training: x {unmet.pue:g}", "facility_kw"),
    )
    title = f"What {designs[0].accelerators:,} accelerators take [kW]"
    return Grid(title, rows, ("", *(design.idea for design in designs)))


def _unmet(unmet: UnmetWishes) -> Iterator[Block]:
    yield Remarks((f"No design meets the wishes: {_wishes(unmet)}.",))
    if unmet.designs:
        yield _taken(unmet)
        yield Lines("Wishes not met", tuple((design.idea, design.unmet or "meets them") for design in unmet.designs))
    if unmet.near:
        yield Lines("Wishes that can be met", tuple((near.options, _kept(near)) for near in unmet.near))


def _kept(near: NearWishes) -> str:
    return f"{plural(near.designs, 'design')}" + (f", keeps {near.keeps}" if near.keeps else "")


def init_document(report: InitReport) -> Document:
    """Return the report of `ffplan init`."""

    def body(_: object) -> _Body:
        designs = report.designs
        rows = (
            ("accelerators", tuple(f"{design.accelerators:,}" for design in designs)),
            ("switches", tuple(f"{design.switches:,}" for design in designs)),
            ("to buy", tuple(f"{amount(design.cost)} {design.currency}" for design in designs)),
            ("per accelerator", tuple(amount(design.cost_per_accelerator) for design in designs)),
            ("facility, peak", tuple(at_least(kilowatts(one.facility_peak_kw), one.unrated) for one in designs)),
            ("allreduce [GB/s]", tuple(_cell(design.allreduce_gbyte_s) for design in designs)),
            ("tokens/s", tuple(_cell(design.tokens_s, 6) for design in designs)),
        )
        shown = tuple(row for row in rows if any(cell != "-" for cell in row[1]))
        blocks: list[Block] = list(_unmet(report.unmet)) if report.unmet is not None else []
        if not designs:
            return _Body("ffplan init", blocks)
        blocks.append(_Matrix("Designs to start from", tuple(design.name for design in designs), shown))
        blocks.append(Lines("Ideas", tuple((design.name, design.idea) for design in designs)))
        notes = [f"Left out: {text}." for text in report.left_out]
        notes += [
            f"{design.name}: its power is partial: no {listed(design.unrated)}." for design in designs if design.unrated
        ]
        notes += [f"{design.name}: {design.refused}" for design in designs if design.refused]
        notes += [f"{design.name}: {design.fewer}." for design in designs if design.fewer]
        files = [design.file for design in designs if design.file]
        if len(files) > 1:
            notes.append(following(f"Next: ffplan compare {' '.join(files)}"))
        if notes:
            blocks.append(Remarks(tuple(notes)))
        return _Body("ffplan init", blocks)

    return Document(report, body, lambda: report.designs)


_AIMS = {
    "capex": "the smallest purchase",
    "tco": "the least cost over the life",
    "token": "the cheapest token",
    "power": "the least power",
    "accelerators": "the fewest accelerators",
}


_MOSTLY = 0.25
"""Part of a price that is recalled from which the first lines say so [1]."""


_EDGE = ", at the edge of memory"
"""Said of a plan that may run out of it."""
_HEADER = ("design", "GPUs", "days", "to buy", "over life", "M tokens", "peak")


_SURE = ("design", "best in", "days, P10 to P90", "in time", "to buy", "recalled")


def _rows(designs: tuple[RecommendedDesign, ...], r: RecommendReport) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            _short_name(design, r),
            f"{design.accelerators:,}",
            number(design.days, 3),
            amount(design.capex),
            amount(design.tco),
            number(design.cost_per_million_tokens, 3),
            at_least(kilowatts(design.facility_peak_kw), design.missing_power),
        )
        for design in designs
    )


def _chances(r: RecommendReport) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            _short_name(design, r),
            percent(design.best_share or 0.0),
            f"{number(design.days_p10, 3)} to {number(design.days_p90, 3)}",
            percent(design.in_time_share or 0.0),
            f"{amount(design.capex_low)} to {amount(design.capex_high)}",
            percent(design.recalled_share),
        )
        for design in r.designs
    )


def _limit_words(price: LimitPrice, r: RecommendReport) -> str:
    figures = {
        "W": kilowatts(price.looser / 1e3),
        "currency": f"{amount(price.looser)} {r.currency}",
        "m2": f"{number(price.looser, 3)} m2",
    }
    looser = figures.get(price.unit, number(price.looser, 3))
    if price.limit == "days" and r.sustained_pflops is not None:
        looser = f"{number(r.sustained_pflops * price.most / price.looser, 3)} PFLOP/s"
    if price.name is None:
        return f"with {looser} nothing meets the target either"
    if price.saving is None:
        return f"with {looser} {price.name} meets the target"
    return f"with {looser} {price.name} saves {percent(price.saving)}" if price.saving else f"{looser} saves nothing"


def _target(r: RecommendReport) -> str:
    if r.sustained_pflops is not None:
        return f"keep up {number(r.sustained_pflops, 3)} PFLOP/s on {r.model}"
    return f"train {r.model} on {number(r.tokens / 1e12)} T tokens"


def _headline(r: RecommendReport) -> str:
    if not r.designs:
        opens = [_limit_name(limit.limit, r) for limit in r.limits if limit.name is not None]
        days = "" if r.sustained_pflops is not None else f" in {number(r.days)} days"
        text = f"No design can {_target(r)}{days} within the limits."
        if r.near:
            text += f" The nearest, {_short_name(r.near[0], r)}, breaks {_broken_limits(r.near[0], r)}."
        return f"{text} The {listed(opens)} looser by a tenth would do." if len(opens) == 1 else text
    best = r.designs[0]
    days = "" if r.chance is None else f" within {number(r.days)} days with a chance of {percent(r.chance)}"
    text = (
        f"{best.accelerators:,} {best.accelerator} {_target(r)}{days}: {_AIMS[r.aim]}, {amount(best.capex)} "
        f"{r.currency} to buy and {amount(best.tco)} over the life."
    )
    wins = sum(design.best_share or 0.0 for design in r.designs if design.accelerator == best.accelerator)
    if len({alternative.accelerator for alternative in r.designs}) > 1:
        text += f" Of the accelerators below, {best.accelerator} is the best in {percent(wins)} of the draws."
    if best.memory_words is not None:
        text += " Its plan is at the edge of memory."
    if best.estimated_from is not None:
        text += f" Its speed is estimated from {best.estimated_from}: no training run on it is among the measurements."
    if best.recalled_share >= _MOSTLY:
        text += f" {percent(best.recalled_share)} of its price is recalled: ask for a quote."
    dearest = r.limits[0] if r.limits else None
    if dearest is not None and dearest.saving:
        limit = _limit_name(dearest.limit, r)
        text += f" The costliest limit is {limit}: loosening it by a tenth saves {percent(dearest.saving)}."
    if best.purchases:
        text += _first_purchase(best, r.currency)
    return text


def _first_purchase(best: RecommendedDesign, currency: str) -> str:
    first = best.purchases[0]
    if first.nodes == best.nodes:
        return " The first purchase covers everything: no later one adds a node."
    more = first.capex / first.alone - 1
    difference = f"{percent(abs(more))} {'more' if more > 0 else 'less'} than a cluster of that size alone"
    return (
        f" Bought in phases: first {first.accelerators:,} for {amount(first.capex)} {currency}, which train it in "
        f"{number(first.days, 3)} days and cost {difference}."
    )


def _purchases(r: RecommendReport) -> list[Block]:
    rows = tuple(
        (
            _short_name(design, r) if place == 0 else "",
            number(now.order_month),
            number(now.ready_month, 3) if now.ready_month is not None else "-",
            f"{now.accelerators:,}",
            f"{number(now.days, 3)} of {number(now.days_wanted)}",
            amount(now.capex),
            amount(now.alone),
        )
        for design in r.designs
        for place, now in enumerate(design.purchases)
    )
    header = ("design", "ordered", "ready", "GPUs", "days", "to buy", "alone")
    return [Grid("Bought in phases [month]", rows, header, style="plain", name="phases")] if rows else []


def _space(design: RecommendedDesign) -> str:
    floor = f" on {number(design.floor_m2, 3)} m2" if design.floor_m2 is not None else ""
    return f"{plural(design.racks, 'rack')}{floor}"


def _designs(r: RecommendReport) -> list[Block]:
    if not r.designs:
        return _on_paper(r)
    how = tuple(
        (
            _short_name(design, r),
            f"{design.switches:,} {design.switch}; {_space(design)}; {design.plan}"
            f"{_EDGE if design.memory_words else ''}; MFU {percent(design.mfu)}; {design.idea}",
        )
        for design in r.designs
    )
    blocks: list[Block] = [
        Grid("Designs that meet it", _rows(r.designs, r), _HEADER, style="plain"),
        *_purchases(r),
        Grid("How sure", _chances(r), _SURE, style="plain", name="sure"),
        Lines("How", how),
    ]
    alternatives = tuple(
        (_short_name(alternative, r), alternative.differs) for alternative in r.designs[1:] if alternative.differs
    )
    if alternatives:
        blocks.append(Lines("In place of the best one's", alternatives, name="differences"))
    return blocks + _on_paper(r)


def _on_paper(r: RecommendReport) -> list[Block]:
    title = "On paper alone: no measured training run, or prices mostly recalled"
    return [Grid(title, _rows(r.unmeasured, r), _HEADER, style="plain", name="paper")] if r.unmeasured else []


def _recommend_blocks(r: RecommendReport) -> list[Block]:
    blocks: list[Block] = [Remarks((_headline(r),)), *_designs(r)]
    if r.limits:
        limits = tuple((_limit_name(limit.limit, r), _limit_words(limit, r)) for limit in r.limits)
        blocks.append(Lines("Each limit looser by a tenth", limits, name="limits"))
    if r.near:
        near = tuple(
            (
                row[0],
                _broken_limits(design, r),
                *row[1:],
            )
            for row, design in zip(_rows(r.near, r), r.near, strict=True)
        )
        blocks.append(Grid("Near", near, ("design", "breaks", *_HEADER[1:]), style="plain"))
    if r.left_out:
        blocks.append(_listing("Left out", left_out(r)))
    files = [design.file for design in r.designs if design.file]
    if files:
        step = following(f"ffplan compare {' '.join(files[:3])}")
        blocks.append(Remarks((f"Written: {', '.join(files)}. Next: {step}",)))
    blocks.append(_listing("Assumptions", r.assumptions))
    return blocks


def recommendation_document(report: RecommendReport) -> Document:
    """Return the report as a document."""
    return Document(
        value=report,
        made=lambda told: _Body(
            title=f"Recommendation for {report.model}",
            blocks=_recommend_blocks(told),
            footer=f"ffplan {report.tool.version}, prices {report.price_book}",
        ),
        rows=lambda: report.designs,
        first=_recommend_screen,
    )


_MOST_FRONT = 20
"""Points of a front that a text lists; the rest is in JSON."""


def _at(values: dict[str, str]) -> str:
    return ", ".join(f"{path} {value}" for path, value in values.items())


def _values(axis: SweepAxis) -> str:
    ends = axis.first if axis.count == 1 else f"{axis.first} to {axis.last}"
    return f"{plural(axis.count, 'value')}, {ends}"


def _sweep_blocks(r: SweepReport) -> list[Block]:
    axes = tuple((axis.path, _values(axis)) for axis in r.axes)
    how = {"all": "every combination", "zip": "values paired", "sample": "a Latin hypercube"}[r.spanned]
    blocks: list[Block] = [
        Remarks((f"{plural(r.points, 'point')} ({how}); {r.built:,} can be built.",)),
        Lines("Axes", axes),
    ]
    if r.metrics:
        extremes = tuple((m.path, number(m.least), number(m.mean), number(m.most)) for m in r.metrics)
        blocks.append(Grid("Metrics", extremes, ("metric", "least", "mean", "most")))
        places = tuple((m.path, f"least at {_at(m.least_at)}; most at {_at(m.most_at)}") for m in r.metrics)
        blocks.append(Lines("Where", places))
    if r.unpriced:
        parts = listed(f"`{part}` ({plural(points, 'point')})" for part, points in r.unpriced.items())
        blocks.append(Remarks((f"No cost where a part has no price in the design's book: {parts}.",)))
    if r.refused:
        refused = tuple((f"{refusal.points:,}", refusal.reason, _at(refusal.example)) for refusal in r.refused)
        blocks.append(Grid("Cannot be built", refused, ("points", "why", "such as"), style="plain", name="refused"))
    if r.front:
        names = list(r.directions)
        header = (*(axis.path for axis in r.axes), *(f"{name} ({r.directions[name]})" for name in names), "note")
        rows = tuple(
            (*point.values.values(), *(number(point.metrics[name]) for name in names), "knee" if point.knee else "")
            for point in r.front[:_MOST_FRONT]
        )
        blocks.append(Grid(f"Front, {plural(len(r.front), 'point')} that no other beats", rows, header, style="plain"))
        if len(r.front) > _MOST_FRONT:
            blocks.append(Remarks((f"{len(r.front) - _MOST_FRONT:,} more are in JSON.",)))
    return blocks


def sweep_document(report: SweepReport) -> Document:
    """Return the report as a document."""
    return Document(
        value=report,
        made=lambda _: _Body(
            title=f"Sweep of {report.design.name}",
            blocks=_sweep_blocks(report),
            footer=provenance(report.tool, report.design),
        ),
        first=_sweep_screen,
    )
