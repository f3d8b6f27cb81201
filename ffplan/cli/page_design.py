"""Where the figures on a page of `ffplan design` come from that are no headline: GEMM, scales, bounds, priced lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import dated, number
from ffplan.cli.page_figures import Figures, Spot
from ffplan.cli.page_prose import prose_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.report.chart import Origin, Source
    from ffplan.results.design import Assessment, CostReport

TIME = "ffplan.collectives.latency:transfer_time"
RATE = "ffplan.collectives.bounds:rate"


def design_notes(found: Assessment, sources: Iterable[Source]) -> tuple[Origin, ...]:
    """Return where the figures of an assessment come from that are no headline.

    Args:
        found: the assessment.
        sources: figures of the catalogue files behind it.
    """
    figures = Figures(found, "assessment", found.cost.currency if found.cost else None, sources)
    lines = _lines(found.cost, figures) if found.cost else ()
    return (*_nodes(found, figures), *_allreduce(found, figures), *lines, *prose_notes(found, figures))


def _nodes(found: Assessment, figures: Figures) -> Iterator[Origin]:
    rates = [f"hardware.gemm_tflops.{name}" for name in found.hardware.gemm_tflops]
    parts = [item for source in figures.sources for item in figures.parts(source.part, "gemm.")]
    for path in rates[:1]:
        of = [*figures.named(*rates[1:]), *dict.fromkeys(parts)]
        yield from figures.note(Spot("Nodes", "GEMM measured"), path, how="measured on the accelerator", parts=of)
    for label, field in (("all at peak", "peak_tflops"), ("all in GEMMs", "gemm_tflops")):
        of = figures.named(*(f"{field}.{name}" for name in getattr(found, field)))
        how = "rate of an accelerator * accelerators"
        for name in list(getattr(found, field))[:1]:
            yield from figures.note(Spot("Nodes", label), f"{field}.{name}", how=how, parts=of)
    for at, node in enumerate(found.power.nodes):
        of = [node.training_grade, *figures.parts(node.server, "power")]
        spot, path = Spot("Power", f"{node.role} node"), f"power.nodes[{at}].training_w"
        yield from figures.note(spot, path, place="ffplan.cost.power:training_power", parts=of)


def _allreduce(found: Assessment, figures: Figures) -> Iterator[Origin]:
    for column, report in enumerate(found.communication):
        path = f"communication[{column}]"
        terms = [f"{term.label}: {number(term.gbyte_s, 4)} GB/s, {term.derivation}" for term in report.bound.terms]
        spot = Spot("Allreduce of", "  bound", at=2 * column + 1)
        yield from figures.note(spot, f"{path}.bound.algbw_gbyte_s", place=RATE, parts=terms)
        for at, row in enumerate(report.scales):
            scale = f"{path}.scales[{at}]"
            names = ("time_s", "latency_s", "stream_s", "fill_s")
            of = [f"limited by {row.limited_by_label}", *figures.named(*(f"{scale}.{name}" for name in names))]
            spot = Spot("Allreduce of", f"{row.gpus:,}", column)
            yield from figures.note(spot, f"{scale}.algbw_gbyte_s", place=TIME, parts=["message over time", *of])


def _lines(cost: CostReport, figures: Figures) -> Iterator[Origin]:
    for at, line in enumerate(cost.lines):
        path = f"cost.lines[{at}]"
        price = f"price book {cost.price_book} a price {dated(line.date)}; {line.grade}, {line.status}"
        of = [*figures.named(*(f"{path}.{name}" for name in ("quantity", "unit_price", "low", "high"))), price]
        of += figures.parts(cost.price_book, f"items.{line.part}")
        spot = Spot("Cost", line.category.replace("-", " "), at=at + 1)
        yield from figures.note(spot, f"{path}.total", place="ffplan.cost.bom:line_total", parts=of)
