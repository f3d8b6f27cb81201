"""Where the figures of a comparison come from that stand in no assessment: ratios, the job, and the run in money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.cli.page_figures import Figures, Spot, said
from ffplan.cli.page_prose import prose_notes
from ffplan.cli.page_run import FIGURES, HOUR, run_notes, swing_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.report.chart import Origin, Source
    from ffplan.results.comparison import Comparison, MoneyComparison, TrainingComparison

VALUE = "ffplan.cost.value"
RUN_ROWS = {
    "days": "days of the run",
    "cost": "cost of the run",
    "cost_per_million_tokens": "a million tokens",
    "energy_mwh": "energy [MWh]",
    "carbon_t": "carbon [t CO2e]",
}
"""Labels of the report's rows."""
JOB_ROWS = {
    "plan.gpus": ("GPUs in use", "accelerators of the plan, idle ones apart"),
    "step_s": ("step [s]", "sum of the parts of `ffplan train`"),
    "tokens_s": ("tokens/s", "tokens of a batch / step"),
    "tokens_s_gpu": ("tokens/s/GPU", "tokens of a batch / (step * accelerators of the job)"),
    "mfu": ("MFU", ""),
    "capital_per_token_s": (
        "{short} a token/s",
        "{basis} * accelerators of the job / those of the cluster / tokens a second",
    ),
}


def compared_notes(found: Comparison, sources: Iterable[Source]) -> tuple[Origin, ...]:
    """Return where the figures of a comparison come from that stand in no assessment.

    Args:
        found: the comparison.
        sources: figures of the catalogue files behind it.
    """
    currency = found.money.currency if found.money else None
    if found.training is not None and currency is None:
        currency = found.training.currency
    priced = {item.cost.currency for item in found.designs if item.cost}
    if currency is None and len(priced) == 1:
        (currency,) = priced
    figures = Figures(found, "comparison", currency, sources, found.labels)
    notes = list(_values(found, figures))
    notes += _job(found.training, figures) if found.training else []
    notes += _own_sizes(found.training, found.money, figures) if found.training else []
    notes += _money(found.money, figures) if found.money else []
    return (*notes, *prose_notes(found, figures))


def _values(found: Comparison, figures: Figures) -> Iterator[Origin]:
    table = "Value of a node"
    for column, name in enumerate(found.labels):
        path = f"ratios.{name}"
        gemm = figures.named(f"{path}.gemm_tf32", f"{path}.gemm_fp16")
        spot = Spot(table, "GEMM performance", column, side=column)
        place = f"{VALUE}:relative_performance"
        yield from figures.note(spot, f"{path}.relative_performance", place=place, parts=gemm)
        ends = figures.named(f"{path}.node_price_low", f"{path}.node_price_high")
        how = "price of a compute node over the baseline's"
        yield from figures.note(
            Spot(table, "node relative price", column, side=column), f"{path}.node_price", how=how, parts=ends
        )
        of = figures.named(f"{path}.relative_performance", f"{path}.node_price")
        spot = Spot(table, "GEMM cost-performance", column, side=column)
        yield from figures.note(spot, f"{path}.cost_performance", place=f"{VALUE}:cost_performance", parts=of)


def _job(job: TrainingComparison, figures: Figures) -> Iterator[Origin]:
    for at, size in enumerate(job.sizes):
        for column, side in enumerate(size.sides):
            path = f"training.sizes[{at}].sides[{column}]"
            parts = [f"{part.label}: {part.seconds:.4g} s" for part in side.parts]
            band = figures.named(f"{path}.error_band")
            for field, (label, how) in JOB_ROWS.items() if size.batch == job.batch else ():
                place = "ffplan.training.mfu:achieved" if field == "mfu" else ""
                of = [*band, *parts] if field == "step_s" else figures.named(f"{path}.step_s")
                of += figures.named(f"{path}.speed_ratio") if field == "tokens_s" else []
                of += figures.named(f"{path}.capital_ratio") if field.startswith("capital") else []
                basis = job.capital_basis
                spot = Spot("Training", label.format(short=basis.split()[-1]), column, side=column)
                yield from figures.note(spot, f"{path}.{field}", how=how.format(basis=basis), place=place, parts=of)
            spot, how = Spot("Tokens/s/GPU", f"batch {size.batch:,}", column, side=column), JOB_ROWS["tokens_s_gpu"][1]
            of = figures.named(f"{path}.step_s", f"{path}.capital_ratio")
            yield from figures.note(spot, f"{path}.tokens_s_gpu", how=how, parts=of)


def _own_sizes(job: TrainingComparison, money: MoneyComparison | None, figures: Figures) -> Iterator[Origin]:
    """Yield the origin of the job on all accelerators of each design."""
    how = "tokens of a batch / step, on the most accelerators that one job can span"
    for column, own in enumerate(job.own_sizes):
        path = f"training.own_sizes[{column}]"
        spot = Spot("Training", "tokens/s on all its GPUs", column, side=column)
        yield from figures.note(spot, f"{path}.tokens_s", how=how, parts=figures.named(f"{path}.gpus"))
        for at, row in enumerate(money.scales if money is not None else ()):
            if (row.gpus, row.batch) == (own.gpus, job.batch):
                spot = Spot("Run, ", "days on all its GPUs", column, side=column)
                of = figures.named(f"{path}.gpus")
                how_long = "tokens of the run / tokens a second / goodput, on the most accelerators of the design"
                yield from figures.note(spot, f"money.scales[{at}].sides[{column}].days", how=how_long, parts=of)


def _money(money: MoneyComparison, figures: Figures) -> Iterator[Origin]:
    table = "Run, "
    for column, side in enumerate(money.sides):
        path, hour = f"money.sides[{column}]", f"money.sides[{column}].hour.likely"
        for item in FIGURES:
            if item.field in RUN_ROWS:
                spot = Spot(table, RUN_ROWS[item.field], column, side=column)
                yield from run_notes(figures, item, spot, f"{path}.run", side.inputs, hour=hour, draws=money.draws)
        how = "sum of the bill of materials, the building included; `ffplan cost` lists its lines"
        parts = figures.inputs(side.inputs, "price.")
        yield from figures.note(Spot(table, "purchase", column, side=column), f"{path}.capex", how=how, parts=parts)
        place, parts = "ffplan.cost.account:account_year", figures.inputs(side.inputs, *HOUR)
        spot = Spot(table, "accelerator-hour", column, side=column)
        yield from figures.note(spot, f"{path}.hour.p50", place=place, parts=parts)
        parts = figures.inputs(side.inputs, "effective")
        how = "effective training time: the job's goodput, unless the design states one"
        yield from figures.note(
            Spot(table, "goodput", column, side=column), f"{path}.run.effective", how=how, parts=parts
        )
        spot, how = Spot(table, "first job after", column, side=column), "lead time + commissioning"
        parts = figures.inputs(side.inputs, "lead_time", "commissioning")
        yield from figures.note(spot, f"{path}.run.ready_months", how=how, parts=parts)
        spot, how = (
            Spot(table, "cost of that wait", column, side=column),
            "the design's `delay`, or the rent by the hour",
        )
        yield from figures.note(spot, f"{path}.waiting.value", how=how, parts=parts)
    yield from _differences(money, figures)
    how = "cost of the run / tokens * 1,000,000, with the fastest plan at that size"
    for at, row in enumerate(money.scales):
        spot = Spot("A million tokens by size", f"{row.gpus:,}", at=at)
        yield from figures.note(spot, f"money.scales[{at}].batch", how="a batch that is compared")
        for column in range(len(row.sides)):
            path = f"money.scales[{at}].sides[{column}]"
            spot = Spot("A million tokens by size", f"{row.gpus:,}", column + 1, side=column, at=at)
            of = figures.named(f"{path}.days")
            yield from figures.note(spot, f"{path}.cost_per_million_tokens", how=how, parts=of)


def _differences(money: MoneyComparison, figures: Figures) -> Iterator[Origin]:
    stated = {row.label: [said(row, money.currency)] for side in money.sides for row in side.inputs}
    for at, item in enumerate(money.differences):
        swings = [(swing.label, stated.get(swing.label, [])) for swing in item.tornado]
        path = f"money.differences[{at}].tornado"
        yield from swing_notes(figures, f"{item.label} less ", path, swings, of="the difference")
