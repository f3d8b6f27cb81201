"""What `ffplan recommend` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, kilowatts, number, percent
from ffplan.report.document import Block, Body, Document, Grid, Lines, Remarks

if TYPE_CHECKING:
    from ffplan.results.recommendation import RecommendedDesign, RecommendReport


def _rows(designs: tuple[RecommendedDesign, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            item.name + (" *" if item.could_be_best else ""),
            f"{item.accelerators:,}",
            f"{item.switches:,} {item.switch}",
            f"{number(item.days, 3)} ({number(item.days_p10, 3)} to {number(item.days_p90, 3)})",
            amount(item.capex),
            f"{amount(item.capex_low)} to {amount(item.capex_high)}",
            kilowatts(item.facility_peak_kw),
        )
        for item in designs
    )


HEADER = ("design", "GPUs", "switches", "days", "to buy", "range", "peak")


def _headline(r: RecommendReport) -> str:
    tokens = f"{number(r.tokens / 1e12)} T tokens"
    if not r.designs:
        return f"No design trains {r.model} on {tokens} in {number(r.days)} days within the limits."
    best = r.designs[0]
    text = (
        f"{best.accelerators:,} {best.accelerator} train {r.model} on {tokens} in {number(best.days, 3)} of "
        f"{number(r.days)} days and cost {amount(best.capex)} {r.currency} to buy."
    )
    if r.patient_capex is not None and r.patient_days is not None and r.patient_capex < best.capex:
        saved = 1 - r.patient_capex / best.capex
        text += f" A tenth more time saves {percent(saved)}: {amount(r.patient_capex)} {r.currency}."
    factor = best.days_p90 / best.days
    if best.days_p90 > r.days:
        text += f" For nine chances in ten, size it for `--days {number(r.days / factor, 3)}`."
    return text


def _blocks(r: RecommendReport) -> list[Block]:
    blocks: list[Block] = [Remarks((_headline(r),))]
    if r.designs:
        blocks.append(Grid("Designs that meet it", _rows(r.designs), HEADER, style="plain"))
        if any(item.could_be_best for item in r.designs):
            blocks.append(Remarks(("* could be the best at the low end of its prices: ask for quotes.",)))
        plans = tuple((item.name, f"{item.plan}; MFU {percent(item.mfu)}; {item.idea}") for item in r.designs)
        blocks.append(Lines("How", plans))
    if r.near:
        near = tuple((*row[:1], item.breaks, *row[1:]) for row, item in zip(_rows(r.near), r.near, strict=True))
        blocks.append(Grid("Near", near, ("design", "breaks", *HEADER[1:]), style="plain"))
    if r.left_out:
        blocks.append(Lines("Left out", tuple((item.accelerator, item.reason) for item in r.left_out)))
    files = [item.file for item in r.designs if item.file]
    if files:
        blocks.append(Remarks((f"Written: {', '.join(files)}. Next: ffplan compare {' '.join(files[:3])}",)))
    blocks.append(Lines("Assumptions", tuple(("", text) for text in r.assumptions)))
    return blocks


def recommendation_document(report: RecommendReport) -> Document:
    """Return the report as a document."""
    return Document(
        value=report,
        made=lambda: Body(
            title=f"Recommendation for {report.model}",
            blocks=_blocks(report),
            footer=f"ffplan {report.tool.version}, prices {report.price_book}",
        ),
        rows=lambda: report.designs,
    )
