"""What `ffplan recommend` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, kilowatts, listed, number, percent, plural
from ffplan.report.document import Block, Body, Document, Grid, Lines, Remarks

if TYPE_CHECKING:
    from ffplan.results.recommendation import LimitPrice, RecommendedDesign, RecommendReport

AIMS = {
    "capex": "the smallest purchase",
    "tco": "the least cost over the life",
    "token": "the cheapest token",
    "power": "the least power",
    "accelerators": "the fewest accelerators",
}
MOSTLY = 0.25
"""Part of a price that is recalled from which the first lines say so [1]."""
EDGE = ", at the edge of memory"
"""Said of a plan that may run out of it."""
HEADER = ("design", "GPUs", "days", "to buy", "over life", "M tokens", "peak")


SURE = ("design", "best in", "days, P10 to P90", "in time", "to buy", "recalled")


def _short(item: RecommendedDesign, r: RecommendReport) -> str:
    """Return the name of a design without the model's, which all share."""
    return item.name.removeprefix(f"{r.model}-")


def _rows(designs: tuple[RecommendedDesign, ...], r: RecommendReport) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            _short(item, r),
            f"{item.accelerators:,}",
            number(item.days, 3),
            amount(item.capex),
            amount(item.tco),
            number(item.cost_per_million_tokens, 3),
            kilowatts(item.facility_peak_kw),
        )
        for item in designs
    )


def _chances(r: RecommendReport) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            _short(item, r),
            percent(item.best_share or 0.0),
            f"{number(item.days_p10, 3)} to {number(item.days_p90, 3)}",
            percent(item.in_time_share or 0.0),
            f"{amount(item.capex_low)} to {amount(item.capex_high)}",
            percent(item.recalled_share),
        )
        for item in r.designs
    )


def _limit_name(name: str, r: RecommendReport) -> str:
    """Return the name of a limit: a sustained rate stands as days of a run, which nobody asked for."""
    return "rate" if name == "days" and r.sustained_pflops is not None else name


def _breaks(item: RecommendedDesign, r: RecommendReport) -> str:
    """Return the limits that a design breaks, each with its figure over the limit."""
    return listed([f"{_limit_name(name, r)} x {number(ratio, 3)}" for name, ratio in item.breaks.items()])


def _limit_words(item: LimitPrice, r: RecommendReport) -> str:
    """Return what a limit costs, in words."""
    figures = {
        "W": kilowatts(item.looser / 1e3),
        "currency": f"{amount(item.looser)} {r.currency}",
        "m2": f"{number(item.looser, 3)} m2",
    }
    looser = figures.get(item.unit, number(item.looser, 3))
    if item.limit == "days" and r.sustained_pflops is not None:
        looser = f"{number(r.sustained_pflops * item.most / item.looser, 3)} PFLOP/s"
    if item.name is None:
        return f"with {looser} nothing meets the target either"
    if item.saving is None:
        return f"with {looser} {item.name} meets the target"
    return f"with {looser} {item.name} saves {percent(item.saving)}" if item.saving else f"{looser} saves nothing"


def _target(r: RecommendReport) -> str:
    if r.sustained_pflops is not None:
        return f"keep up {number(r.sustained_pflops, 3)} PFLOP/s on {r.model}"
    return f"train {r.model} on {number(r.tokens / 1e12)} T tokens"


def _headline(r: RecommendReport) -> str:
    if not r.designs:
        opens = [_limit_name(item.limit, r) for item in r.limits if item.name is not None]
        days = "" if r.sustained_pflops is not None else f" in {number(r.days)} days"
        text = f"No design can {_target(r)}{days} within the limits."
        if r.near:
            text += f" The nearest, {_short(r.near[0], r)}, breaks {_breaks(r.near[0], r)}."
        return f"{text} The {listed(opens)} looser by a tenth would do." if len(opens) == 1 else text
    best = r.designs[0]
    days = "" if r.sustained_pflops is not None else f" in {number(best.days, 3)} of {number(r.days)} days"
    text = (
        f"{best.accelerators:,} {best.accelerator} {_target(r)}{days}: {AIMS[r.aim]}, {amount(best.capex)} "
        f"{r.currency} to buy and {amount(best.tco)} over the life."
    )
    wins = sum(item.best_share or 0.0 for item in r.designs if item.accelerator == best.accelerator)
    if len({item.accelerator for item in r.designs}) > 1:
        text += f" Of the accelerators below, {best.accelerator} is the best in {percent(wins)} of the draws."
    if best.estimated_from is not None:
        text += f" Its speed is estimated from {best.estimated_from}: no training run on it is among the measurements."
    if best.recalled_share >= MOSTLY:
        text += f" {percent(best.recalled_share)} of its price is recalled: ask for a quote."
    dearest = r.limits[0] if r.limits else None
    if dearest is not None and dearest.saving:
        text += (
            f" The dearest limit is {_limit_name(dearest.limit, r)}: a tenth looser saves {percent(dearest.saving)}."
        )
    if best.purchases:
        text += _first_purchase(best, r.currency)
    if best.memory_words is not None:
        text += " Its plan is at the edge of memory."
    factor = best.days_p90 / best.days
    if best.days_p90 > r.days and r.sustained_pflops is None:
        text += f" For nine chances in ten of being in time, size it for `--days {number(r.days / factor, 3)}`."
    return text


def _first_purchase(best: RecommendedDesign, currency: str) -> str:
    """Return what the first purchase of a cluster that grows comes to, against one that is not to grow."""
    first = best.purchases[0]
    if first.nodes == best.nodes:
        return " The first purchase holds all of it: no later one adds a node."
    more = first.capex / first.alone - 1
    words = f"{percent(abs(more))} {'more' if more > 0 else 'less'} than a cluster of that size alone"
    return (
        f" Bought in phases: first {first.accelerators:,} for {amount(first.capex)} {currency}, which train it in "
        f"{number(first.days, 3)} days and cost {words}."
    )


def _purchases(r: RecommendReport) -> list[Block]:
    """Return what is bought when, design by design."""
    rows = tuple(
        (
            _short(item, r) if at == 0 else "",
            number(now.order_month),
            number(now.ready_month, 3) if now.ready_month is not None else "-",
            f"{now.accelerators:,}",
            f"{number(now.days, 3)} of {number(now.days_wanted)}",
            amount(now.capex),
            amount(now.alone),
        )
        for item in r.designs
        for at, now in enumerate(item.purchases)
    )
    header = ("design", "ordered", "ready", "GPUs", "days", "to buy", "alone")
    return [Grid("Bought in phases [month]", rows, header, style="plain")] if rows else []


def _space(item: RecommendedDesign) -> str:
    """Return the racks of a design, and their floor where it is known."""
    floor = f" on {number(item.floor_m2, 3)} m2" if item.floor_m2 is not None else ""
    return f"{plural(item.racks, 'rack')}{floor}"


def _designs(r: RecommendReport) -> list[Block]:
    if not r.designs:
        return []
    how = tuple(
        (
            _short(item, r),
            f"{item.switches:,} {item.switch}; {_space(item)}; {item.plan}{EDGE if item.memory_words else ''}; "
            f"MFU {percent(item.mfu)}; {item.idea}",
        )
        for item in r.designs
    )
    blocks: list[Block] = [
        Grid("Designs that meet it", _rows(r.designs, r), HEADER, style="plain"),
        *_purchases(r),
        Grid("How sure", _chances(r), SURE, style="plain"),
        Lines("How", how),
    ]
    other = tuple((_short(item, r), item.differs) for item in r.designs[1:] if item.differs)
    return [*blocks, Lines("In place of the best one's", other)] if other else blocks


def _blocks(r: RecommendReport) -> list[Block]:
    blocks: list[Block] = [Remarks((_headline(r),)), *_designs(r)]
    if r.limits:
        words = tuple((_limit_name(item.limit, r), _limit_words(item, r)) for item in r.limits)
        blocks.append(Lines("Each limit looser by a tenth", words))
    if r.near:
        near = tuple(
            (
                row[0],
                _breaks(item, r),
                *row[1:],
            )
            for row, item in zip(_rows(r.near, r), r.near, strict=True)
        )
        blocks.append(Grid("Near", near, ("design", "breaks", *HEADER[1:]), style="plain"))
    if r.left_out:
        reasons: dict[str, list[str]] = {}
        for one in r.left_out:
            reasons.setdefault(one.reason, []).append(one.accelerator)
        left = tuple(f"{listed(names)}: {reason}" for reason, names in reasons.items())
        blocks.append(Lines("Left out", tuple(("", text) for text in left)))
    files = [item.file for item in r.designs if item.file]
    if files:
        blocks.append(Remarks((f"Written: {', '.join(files)}. Next: ffplan compare {' '.join(files[:3])}",)))
    blocks.append(Lines("Assumptions", tuple(("", text) for text in r.assumptions)))
    return blocks


def recommendation_document(report: RecommendReport) -> Document:
    """Return the report as a document."""
    return Document(
        value=report,
        made=lambda told: Body(
            title=f"Recommendation for {report.model}",
            blocks=_blocks(told),
            footer=f"ffplan {report.tool.version}, prices {report.price_book}",
        ),
        rows=lambda: report.designs,
    )
