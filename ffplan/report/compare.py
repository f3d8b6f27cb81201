"""A comparison as rows, and as text, Markdown or CSV."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import LARGE, amount, kilowatts, listed, number, percent, short, times
from ffplan.base.tracked import read_alike
from ffplan.figures.address import (
    COMPARED,
    PRICED,
    figure_at_address,
    label_of,
    place_of,
    unit_at_address,
    value_at_address,
)
from ffplan.report.compare_training import Row, _batches, _job, _money, _own_sizes_differ
from ffplan.report.document import Document, Grid, Remarks, _Body, _Matrix
from ffplan.report.first.compare import _compare_screen
from ffplan.results.comparison import Ratios

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.results.comparison import Comparison, MoneyComparison, MoneySide
    from ffplan.results.design import Assessment

CLUSTER, ITS_BOUND, _STORED = "Cluster", "its bound [GB/s]", "storage [PB]"
_RATIOS = {address: name for name, address in COMPARED.items()}
"""Field of `Ratios` by the address of its figure."""
_BARE = (amount, kilowatts)
"""Functions that show a number with its unit, or an amount whose currency another row has."""


def _headed(address: str, show: Callable[[float], str]) -> str:
    unit = figure_at_address(address).unit
    return f"{label_of(address)} [{unit}]" if unit and show not in _BARE else label_of(address)


def _over_baseline(c: Comparison, name: str, address: str) -> float | None:
    """Return a figure of one design over the baseline's; None if it has no ratio, or cannot be compared."""
    ratio = _RATIOS.get(address)
    return getattr(c.ratios[name], ratio) if ratio else None


def _worded(c: Comparison, label: str, show: Callable[[Assessment], str | None]) -> Row:
    return label, tuple(show(design) or "-" for design in c.designs)


def _valued(
    c: Comparison,
    address: str,
    show: Callable[[float], str] = number,
    mark: Callable[[Assessment], str] = lambda _: "",
) -> Row:
    cells = []
    for name, design in zip(c.labels, c.designs, strict=True):
        figure = value_at_address({"": design}, address)
        over = _over_baseline(c, name, address) if name != c.baseline else None
        text = "-" if figure is None else show(figure) + mark(design)
        cells.append(f"{text} ({times(over)})" if figure is not None and over is not None else text)
    return _headed(address, show), tuple(cells)


def _delta(value: float) -> str:
    return f"{'+' if value > 0 else '-'}{amount(abs(value), 3) if abs(value) >= LARGE else short(abs(value))}"


def _counted(
    c: Comparison,
    address: str,
    show: Callable[[float], str] = number,
    mark: Callable[[Assessment], str] = lambda _: "",
    scale: float = 1.0,
) -> Row:
    """A number, its difference from the baseline's and its ratio; the value alone if they cannot be compared."""

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
    """Return a row of a sum over some categories, marked if a part of them has no price."""

    def mark(a: Assessment) -> str:
        return ", partial" if a.cost and any(line.category in categories for line in a.cost.missing) else ""

    return (_counted if address in _RATIOS else _valued)(c, address, amount, mark)


def _library(a: Assessment) -> str:
    return f" {a.communication[0].library}"


def _partial_power(a: Assessment) -> str:
    return ", partial" if a.power.missing else ""


def _partial_site(a: Assessment) -> str:
    return ", partial" if a.site is not None and a.site.missing else ""


def _currency(a: Assessment) -> str:
    return f" {a.site.currency}" if a.site else ""


def _unplanned(a: Assessment) -> str:
    return ", not planned" if a.storage and not a.storage.planned else ""


def _three(value: float) -> str:
    return number(value, 3)


def _groups(c: Comparison) -> tuple[tuple[str, tuple[Row, ...]], ...]:
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
        _valued(c, "site.facility_peak_kw", kilowatts, _partial_site),
        _counted(c, "site.energy_mwh_year", mark=_partial_site),
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
    if c.workload:
        out.append(f"No job: {c.workload}." if c.training is None else f"{c.workload[0].upper()}{c.workload[1:]}.")
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
    """Return allreduce from few accelerators to all of each design; empty if no design has several scales."""
    scales = [design.communication[0].scales if design.communication else () for design in c.designs]
    if all(len(rows) < 2 for rows in scales):
        return ()
    first = {rows[0].gpus for rows in scales if rows}
    label = f"allreduce, {first.pop()} to all" if len(first) == 1 else "allreduce by scale"
    return ((ITS_BOUND, label, tuple(tuple(row.algbw_gbyte_s for row in rows) for rows in scales)),)


_RawRow = dict[str, object]
_ENDS = {"": "", "_p10": ".p10", "_p90": ".p90"}
"""End of an address by the end of a row's name, of a figure with quantiles."""


def _side(side: MoneySide, currency: str) -> Iterator[tuple[str, Any, str]]:
    owned = {
        "currency": currency,
        "capex": side.capex,
        "per_accelerator_hour": side.hour,
        "waiting": side.waiting,
    }
    results = {"tco": owned, "run": side.run or {"currency": currency}}
    for name, address in PRICED.items():
        place, unit = place_of(address), unit_at_address(results, address) or "1"
        for end, part in _ENDS.items() if place is not None and place.ranged else [("", "")]:
            yield f"{name}{end}", value_at_address(results, f"{address}{part}"), unit


def _money_figures(money: MoneyComparison) -> Iterator[_RawRow]:
    ratios = dict.fromkeys((difference.against for difference in money.differences), 1.0)
    ratios |= {difference.label: difference.ratio.likely for difference in money.differences}
    shares = {difference.label: difference.cheaper_share for difference in money.differences}
    for side in money.sides:
        for name, value, unit in _side(side, money.currency):
            ratio = ratios.get(side.label) if name == "cost_per_million_tokens" else None
            yield _raw_row(side.label, name, value, ratio, unit)
        if side.label in shares:
            yield _raw_row(side.label, "cheaper_share", shares[side.label], None, "1")


def _raw_row(design: str, metric: str, value: object, ratio: object, unit: str) -> _RawRow:
    return {"design": design, "metric": metric, "value": value, "ratio": ratio, "unit": unit}


def _comparison_rows(c: Comparison) -> list[_RawRow]:
    rows: list[_RawRow] = []
    for name, design in zip(c.labels, c.designs, strict=True):
        for ratio in fields(Ratios):
            results, address = {"": design}, COMPARED.get(ratio.name, "")
            value, unit = value_at_address(results, address), unit_at_address(results, address)
            currency = figure_at_address(address).unit == "currency"
            unit = unit if unit or currency else "1"
            rows.append(_raw_row(name, ratio.name, value, getattr(c.ratios[name], ratio.name), unit))
    return rows + (list(_money_figures(c.money)) if c.money is not None else [])


def compare_document(comparison: Comparison) -> Document:
    """Return the report of `ffplan compare`."""
    return Document(comparison, _body, lambda: _comparison_rows(comparison), first=_compare_screen)
