"""A comparison as rows, and as text, Markdown or CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import LARGE, amount, input_value, kilowatts, listed, number, percent, short, times
from ffplan.base.tracked import read_alike
from ffplan.figures.address import COMPARED, figure_at_address, label_of, value_at_address
from ffplan.report.compare_rows import _comparison_rows
from ffplan.report.document import Document, Grid, Remarks, _Body, _Matrix
from ffplan.report.first.compare import _compare_screen
from ffplan.report.plans import _plan_words
from ffplan.results.design import purchase_words
from ffplan.results.run import band_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.results.comparison import Comparison, JobSize, MoneyComparison, OwnSize, TrainingComparison
    from ffplan.results.cost import Waiting
    from ffplan.results.design import Assessment
    from ffplan.results.run import Band


CLUSTER, ITS_BOUND, _STORED = "Cluster", "its bound [GB/s]", "storage [PB]"
Row = tuple[str, tuple[str, ...]]
"""A label and one cell for each design."""


_RATIOS = {address: name for name, address in COMPARED.items()}
"""Field of `Ratios` by the address of its figure."""
_BARE = (amount, kilowatts)
"""Functions that show a number with its unit, or an amount whose currency another row has."""


def _headed(address: str, show: Callable[[float], str]) -> str:
    """Return label and unit of a figure."""
    unit = figure_at_address(address).unit
    return f"{label_of(address)} [{unit}]" if unit and show not in _BARE else label_of(address)


def _over_baseline(c: Comparison, name: str, address: str) -> float | None:
    """Return a figure of one design over the baseline's; None if it has no ratio, or cannot be compared."""
    ratio = _RATIOS.get(address)
    return getattr(c.ratios[name], ratio) if ratio else None


def _worded(c: Comparison, label: str, show: Callable[[Assessment], str | None]) -> Row:
    """Return a row of texts."""
    return label, tuple(show(design) or "-" for design in c.designs)


def _valued(
    c: Comparison,
    address: str,
    show: Callable[[float], str] = number,
    mark: Callable[[Assessment], str] = lambda _: "",
) -> Row:
    """Return a row of numbers, each with its ratio to the baseline's."""
    cells = []
    for name, design in zip(c.labels, c.designs, strict=True):
        figure = value_at_address({"": design}, address)
        over = _over_baseline(c, name, address) if name != c.baseline else None
        text = "-" if figure is None else show(figure) + mark(design)
        cells.append(f"{text} ({times(over)})" if figure is not None and over is not None else text)
    return _headed(address, show), tuple(cells)


def _delta(value: float) -> str:
    """Return a difference with its sign, to three digits."""
    return f"{'+' if value > 0 else '-'}{amount(abs(value), 3) if abs(value) >= LARGE else short(abs(value))}"


def _counted(
    c: Comparison,
    address: str,
    show: Callable[[float], str] = number,
    mark: Callable[[Assessment], str] = lambda _: "",
    scale: float = 1.0,
) -> Row:
    """Return a row of numbers, each with its difference from the baseline's and its ratio to it.

    Without a ratio, or if the two cannot be compared, the cell shows the value alone.

    Args:
        scale: what the number is multiplied by.
    """

    def value(design: Assessment) -> Any:
        figure = value_at_address({"": design}, address)
        return figure if figure is None or scale == 1.0 else figure * scale

    base = value(c.designs[c.labels.index(c.baseline)])
    cells = []
    for name, design in zip(c.labels, c.designs, strict=True):
        figure = value(design)
        if figure is None:
            cells.append("-")
            continue
        text = show(figure) + mark(design)
        if name != c.baseline and base is not None:
            over = _over_baseline(c, name, address)
            if over is not None:
                text += f" ({_delta(figure - base)}, {times(over)})" if figure != base else " (1x)"
            elif address not in _RATIOS and figure != base:
                text += f" ({_delta(figure - base)})"
        cells.append(text)
    return _headed(address, show), tuple(cells)


def _ratio_row(c: Comparison, label: str, field: str, show: Callable[[float], str]) -> Row:
    """Return a row of a ratio, with its range if it has one."""
    cells = []
    for name in c.labels:
        ratios = c.ratios[name]
        value = getattr(ratios, field)
        text = "-" if value is None else show(value)
        low, high = getattr(ratios, f"{field}_low", value), getattr(ratios, f"{field}_high", value)
        if value is not None and None not in (low, high) and not read_alike(show(low), show(high)):
            text += f" ({show(low).removesuffix(' %')} to {show(high)})"
        cells.append(text)
    return label, tuple(cells)


_NETWORK = ("switches", "endpoint-links", "inter-switch-links")
_EVERYTHING = ("servers", "storage", *_NETWORK)


def _priced(c: Comparison, address: str, categories: tuple[str, ...] = _EVERYTHING) -> Row:
    """Return a row of a sum over some categories, marked where a part of them has no price."""

    def mark(a: Assessment) -> str:
        return ", partial" if a.cost and any(line.category in categories for line in a.cost.missing) else ""

    return (_counted if address in _RATIOS else _valued)(c, address, amount, mark)


def _library(a: Assessment) -> str:
    return f" {a.communication[0].library}"


def _partial_power(a: Assessment) -> str:
    return ", partial" if a.power.missing else ""


def _currency(a: Assessment) -> str:
    return f" {a.site.currency}" if a.site else ""


def _unplanned(a: Assessment) -> str:
    return ", not planned" if a.storage and not a.storage.planned else ""


def _three(value: float) -> str:
    return number(value, 3)


def _groups(c: Comparison) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    """Return the comparison as titled groups of rows."""
    node = (
        _worded(c, "CPU", lambda a: a.hardware.cpu),
        _worded(c, "memory", lambda a: a.hardware.memory),
        _worded(c, "accelerators", lambda a: a.hardware.accelerator),
        _worded(c, "NICs", lambda a: a.hardware.nics),
        _worded(c, "scale-up", lambda a: a.hardware.scale_up),
    )
    value = (
        *(_valued(c, f"hardware.gemm_tflops.{precision}") for precision in ("tf32", "fp16", "bf16")),
        _ratio_row(c, "GEMM performance", "relative_performance", percent),
        _ratio_row(c, "node relative price", "node_price", percent),
        _ratio_row(c, "GEMM cost-performance", "cost_performance", lambda v: f"{v:.2f}"),
        _valued(c, "power.per_node_w"),
        _valued(c, "power.per_node_component_sum_w"),
    )
    cluster = (
        _counted(c, "accelerators"),
        _counted(c, "fabric.switches.total"),
        _counted(c, "fabric.links.total"),
        _counted(c, "fabric.spare_ports"),
        _counted(c, "fabric.bisection_gbyte_s"),
        _counted(c, "communication[0].algbw_gbyte_s", _three, _library),
        _counted(c, "communication[0].bound.algbw_gbyte_s", _three),
        (_STORED, _counted(c, "storage.usable_bytes", _three, _unplanned, scale=1e-15)[1]),
        _counted(c, "storage.read_gbyte_s", _three),
        _counted(c, "storage.write_gbyte_s", _three),
        _counted(c, "reliability.mtbf_hours", _three),
        _counted(c, "reliability.spares"),
        _counted(c, "power.it_kw", kilowatts, _partial_power),
        _valued(c, "site.facility_peak_kw", kilowatts),
        _counted(c, "site.energy_mwh_year"),
        _valued(c, "site.purchase_p50", amount, _currency),
        _worded(c, "currency", lambda a: a.cost.currency if a.cost else None),
        _priced(c, "cost.network", _NETWORK),
        _priced(c, "cost.servers", ("servers",)),
        _priced(c, "cost.storage", ("storage",)),
        _priced(c, "cost.total"),
        _priced(c, "cost.per_accelerator"),
    )
    groups = (("Compute node", node), ("Value of a node", value), (CLUSTER, cluster))
    return tuple((title, tuple(row for row in group if any(cell != "-" for cell in row[1]))) for title, group in groups)


def _fleets(c: Comparison) -> list[str]:
    """Name in a sentence the fleets whose failures give the mean times between interruptions."""
    named = {name: d.reliability.profile for name, d in zip(c.labels, c.designs, strict=True) if d.reliability}
    if len(set(named.values())) < 2:
        return [f"MTBF: failures of `{profile}`." for profile in set(named.values())]
    profiles = listed(f"{name} `{profile}`" for name, profile in named.items())
    return [f"MTBF uses a different failure fleet for each design: {profiles}. `--profile` sets one for all."]


def _remarks(c: Comparison) -> list[str]:
    out = [f"Ratios (x) are to {c.baseline}."]
    if c.training is not None and any(side.capital_ratio for size in c.training.sizes for side in size.sides):
        out.append("Under tokens/s/GPU, the ratio is of the purchase per token/s; below 1x is cheaper.")
    out.append("The purchase is the median of the whole bill; planned parts follow each design's cost scope.")
    out += _fleets(c)
    out += [f"{c.workload[0].upper()}{c.workload[1:]}."] if c.workload else []
    out += c.notes
    named = {d.cost.currency: d.cost.currency_note for d in c.designs if d.cost and d.cost.currency_note}
    out += [f"{currency}: {note}" for currency, note in sorted(named.items())]
    for name, design in zip(c.labels, c.designs, strict=True):
        if design.cost and design.cost.excluded:
            parts = ", ".join(category.replace("-", " ") for category in design.cost.excluded)
            out.append(f"{name}: not priced: {parts}.")
    return out


def _body(c: Comparison) -> _Body:
    names = tuple(c.labels)
    sparks = {CLUSTER: _scaling(c)}
    blocks: list[_Matrix | Grid] = [
        _Matrix(title, names, group, sparks=sparks.get(title, ())) for title, group in _groups(c)
    ]
    title = " against ".join(names) + (": totals are not comparable" if c.incomparable else "")
    first = [Remarks(("Totals are not comparable.", *c.incomparable))] if c.incomparable else []
    if c.training is not None and _own_sizes_differ(c.training):
        first.append(Remarks((c.training.size_basis,)))
    if c.money is not None:
        first.append(Remarks(c.money.headline))
        blocks = [*_money(c, c.money), *blocks]
    else:
        first.append(Remarks(c.verdicts))
    if c.training is not None:
        blocks += [_job(c, c.training), _batches(c, c.training)]
    return _Body(title, (*first, *blocks, Remarks(tuple(_remarks(c)))))


def _scaling(c: Comparison) -> tuple[tuple[str, str, tuple[tuple[float, ...], ...]], ...]:
    """Return allreduce from few accelerators to all of each design; nothing where no design has several scales."""
    scales = [design.communication[0].scales if design.communication else () for design in c.designs]
    if all(len(rows) < 2 for rows in scales):
        return ()
    first = {rows[0].gpus for rows in scales if rows}
    label = f"allreduce, {first.pop()} to all" if len(first) == 1 else "allreduce by scale"
    return ((ITS_BOUND, label, tuple(tuple(row.algbw_gbyte_s for row in rows) for rows in scales)),)


def _cell(value: float | None, show: Callable[[float], str], ratio: float | None = None) -> str:
    """Return a value with its ratio to the baseline; either may be missing."""
    if value is None:
        return "-"
    return show(value) + (f" ({times(ratio)})" if ratio is not None and ratio != 1 else "")


def _banded(label: str, bands: list[Band | None]) -> Row:
    """Return a row of likely values with P10 and P90, in the digits that the range deserves."""
    return label, tuple("-" if band is None else band_words(band) for band in bands)


def _money(c: Comparison, money: MoneyComparison) -> list[_Matrix | Grid]:
    """Return the run in money: a column for each design, what drives the difference, and other sizes."""
    runs = [side.run for side in money.sides]
    unit = money.currency

    def of(field: str) -> list[Band | None]:
        return [getattr(run, field) if run else None for run in runs]

    rows: list[Row] = [
        ("purchase", tuple("-" if a.site is None else purchase_words(a.site) for a in c.designs)),
        _banded("accelerator-hour", [side.hour for side in money.sides]),
        ("goodput", tuple("-" if run is None else f"{100 * run.effective:.1f} %" for run in runs)),
        _banded("days of the run", of("days")),
        _banded("cost of the run", of("cost")),
        _banded("a million tokens", of("cost_per_million_tokens")),
        _banded("energy [MWh]", of("energy_mwh")),
        _banded("carbon [t CO2e]", of("carbon_t")),
        (
            "first job after",
            tuple(f"{run.ready_months:.0f} months" if run else "-" for run in runs),
        ),
        ("cost of that wait", tuple(_wait(side.waiting) for side in money.sides)),
    ]
    if c.training is not None and _own_sizes_differ(c.training):
        rows.insert(4, ("days on all its GPUs", _days_on_all(money, c.training)))
    blocks: list[_Matrix | Grid] = [_Matrix(f"Run, {unit}, likely (P10 to P90)", tuple(c.labels), tuple(rows))]
    for difference in money.differences:
        swings = tuple(
            (
                row.label,
                input_value(row.input, row.low, row.unit, unit),
                input_value(row.input, row.high, row.unit, unit),
                _two(row.at_low),
                _two(row.at_high),
            )
            for row in difference.tornado[:_SWINGS]
        )
        title = f"{difference.label} less {c.baseline}, {unit} for a million tokens: what drives it"
        blocks.append(Grid(title, swings, ("input", "P10", "P90", "at P10", "at P90"), name="drivers"))
    sizes = tuple(
        (
            f"{row.gpus:,}",
            f"{row.batch:,}",
            *("-" if s.cost_per_million_tokens is None else _two(s.cost_per_million_tokens) for s in row.sides),
        )
        for row in money.scales
    )
    blocks.append(Grid(f"A million tokens by size, {unit}", sizes, ("GPUs", "batch", *c.labels), name="sizes"))
    return blocks


def _wait(waiting: Waiting | None) -> str:
    """Return the cost of the months before the first job; a dash if it is unknown."""
    return "-" if waiting is None or waiting.value is None else amount(waiting.value)


_SWINGS = 6
"""Inputs of the tornado that text shows; JSON has all [1]."""


def _two(value: float) -> str:
    """Return an amount with two places; three digits below one."""
    return f"{value:,.2f}" if abs(value) >= 1 or not value else number(value, 3)


def _capital(c: Comparison, job: TrainingComparison, size: JobSize) -> tuple[str, ...]:
    """Return the capital that a token a second takes, with its currency where the designs have several."""
    cells = []
    for design, side in zip(c.designs, size.sides, strict=True):
        priced = side.capital_per_token_s is not None and job.currency is None
        currency = f" {design.cost.currency if design.cost else ''}" if priced else ""
        cells.append(_cell(side.capital_per_token_s, number, side.capital_ratio) + currency)
    return tuple(cells)


def _job(c: Comparison, job: TrainingComparison) -> _Matrix:
    """Return the job at the batch that was asked for, a column for each design."""
    size = next(row for row in job.sizes if row.batch == job.batch)
    rows: tuple[Row, ...] = (
        ("batch", (f"{job.batch:,} on {job.gpus:,} GPUs",) * len(c.labels)),
        ("plan", tuple(_plan_words(side.plan) if side.plan else side.refused or "-" for side in size.sides)),
        *_memory(size),
        ("GPUs in use", tuple(f"{side.plan.gpus:,}" if side.plan else "-" for side in size.sides)),
        ("step [s]", tuple(_cell(side.step_s, number) for side in size.sides)),
        ("tokens/s", tuple(_cell(side.tokens_s, number, side.speed_ratio) for side in size.sides)),
        ("tokens/s/GPU", tuple(_cell(side.tokens_s_gpu, number) for side in size.sides)),
        ("MFU", tuple(_cell(side.mfu, percent) for side in size.sides)),
        (f"{job.capital_basis.split()[-1]} a token/s", _capital(c, job, size)),  # a column is narrow
        *([("tokens/s on all its GPUs", tuple(map(_on_all, job.own_sizes)))] if _own_sizes_differ(job) else []),
    )
    return _Matrix("Training", tuple(c.labels), (("model", (job.model,) * len(c.labels)), *rows))


def _memory(size: JobSize) -> list[Row]:
    """Return which plans may run out of memory; no row where all fit."""
    if not any(side.memory_words for side in size.sides):
        return []
    verdicts = ("at the edge" if side.memory_words else "fits" if side.plan else "-" for side in size.sides)
    return [("memory", tuple(verdicts))]


def _own_sizes_differ(job: TrainingComparison) -> bool:
    """Return whether a design could give more accelerators to the job than are compared."""
    return any(own_size.gpus > job.gpus for own_size in job.own_sizes)


def _on_all(size: OwnSize) -> str:
    """Return the speed of the job on all accelerators of a design, with their number."""
    return f"{number(size.tokens_s)} ({size.gpus:,})" if size.tokens_s is not None else f"cannot run ({size.gpus:,})"


def _days_on_all(money: MoneyComparison, job: TrainingComparison) -> tuple[str, ...]:
    """Return the days of the run on all accelerators of each design, with their number."""
    cells = []
    for side, size in enumerate(job.own_sizes):
        row = next(row for row in money.scales if (row.gpus, row.batch) == (size.gpus, job.batch))
        days = row.sides[side].days
        cells.append(f"{'-' if days is None else short(days)} ({size.gpus:,})")
    return tuple(cells)


def _batches(c: Comparison, job: TrainingComparison) -> _Matrix:
    """Return tokens a second and accelerator by batch, with the ratio of capital."""
    rows = tuple(
        (
            f"batch {size.batch:,}",
            tuple(_cell(side.tokens_s_gpu, number, side.capital_ratio) for side in size.sides),
        )
        for size in job.sizes
    )
    return _Matrix("Tokens/s/GPU", tuple(c.labels), rows, name="batches")


def compare_document(comparison: Comparison) -> Document:
    """Return the report of `ffplan compare`."""
    return Document(comparison, _body, lambda: _comparison_rows(comparison), first=_compare_screen)
