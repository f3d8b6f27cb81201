"""A comparison as rows, and as text, Markdown or CSV."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, kilowatts, number, percent, times
from ffplan.report.document import Body, Document, Matrix, Remarks
from ffplan.results.comparison import Ratios

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.results.comparison import Comparison
    from ffplan.results.design import Assessment, CostReport


Row = tuple[str, tuple[str, ...]]
"""A label and one cell for each design."""


def _valued(c: Comparison, label: str, show: Callable[[Assessment], str | None], ratio: str | None = None) -> Row:
    cells = []
    for name, design in zip(c.labels, c.designs, strict=True):
        text = show(design)
        value = getattr(c.ratios[name], ratio) if ratio else None
        if text is not None and value is not None and name != c.baseline:
            text = f"{text} ({times(value)})"
        cells.append(text if text is not None else "-")
    return label, tuple(cells)


def _ratio_row(c: Comparison, label: str, field: str, show: Callable[[float], str]) -> Row:
    """A row of a ratio itself, with its range where there is one."""
    cells = []
    for name in c.labels:
        ratios = c.ratios[name]
        value = getattr(ratios, field)
        text = "-" if value is None else show(value)
        low, high = getattr(ratios, f"{field}_low", value), getattr(ratios, f"{field}_high", value)
        if value is not None and None not in (low, high) and show(low) != show(high):
            text += f" ({show(low).removesuffix(' %')} to {show(high)})"
        cells.append(text)
    return label, tuple(cells)


def _priced(c: Comparison, label: str, value: Callable[[CostReport], float | None], ratio: str | None = None) -> Row:
    def show(a: Assessment) -> str | None:
        price = value(a.cost) if a.cost else None
        return None if price is None else amount(price)

    return _valued(c, label, show, ratio)


def _gemm(precision: str) -> Callable[[Assessment], str | None]:
    def show(a: Assessment) -> str | None:
        rate = a.hardware.gemm_tflops.get(precision)
        return None if rate is None else number(rate)

    return show


def _allreduce(a: Assessment) -> str | None:
    if not a.communication:
        return None
    first = a.communication[0]
    return f"{number(first.algbw_gbyte_s, 3)} {first.library}"


def _allreduce_bound(a: Assessment) -> str | None:
    return number(a.communication[0].bound.algbw_gbyte_s, 3) if a.communication else None


def _groups(c: Comparison) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    """Return the comparison as titled groups of rows."""
    node = (
        _valued(c, "CPU", lambda a: a.hardware.cpu),
        _valued(c, "memory", lambda a: a.hardware.memory),
        _valued(c, "accelerators", lambda a: a.hardware.accelerator),
        _valued(c, "NICs", lambda a: a.hardware.nics),
        _valued(c, "NVLink", lambda a: a.hardware.scale_up),
    )
    value = (
        _valued(c, "TF32 GEMM [TFLOP/s]", _gemm("tf32"), "gemm_tf32"),
        _valued(c, "FP16 GEMM [TFLOP/s]", _gemm("fp16"), "gemm_fp16"),
        _ratio_row(c, "relative performance", "relative_performance", percent),
        _ratio_row(c, "node relative price", "node_price", percent),
        _ratio_row(c, "GEMM cost-performance", "cost_performance", lambda v: f"{v:.2f}"),
        _valued(c, "node in training [W]", lambda a: number(a.power.per_node_w), "node_power"),
        _valued(c, "component sum [W]", lambda a: number(a.power.per_node_component_sum_w)),
    )
    cluster = (
        _valued(c, "accelerators", lambda a: number(a.accelerators), "accelerators"),
        _valued(c, "switches", lambda a: number(a.fabric.switches.total), "switches"),
        _valued(c, "links", lambda a: number(a.fabric.links.total), "links"),
        _valued(c, "bisection [GB/s]", lambda a: number(a.fabric.bisection_gbyte_s), "bisection"),
        _valued(c, "allreduce [GB/s]", _allreduce, "allreduce"),
        _valued(c, "its bound [GB/s]", _allreduce_bound, "allreduce_bound"),
        _valued(c, "IT power", lambda a: kilowatts(a.power.it_kw), "it_power"),
        _valued(c, "currency", lambda a: a.cost.currency if a.cost else None),
        _priced(c, "network price", lambda cost: cost.network, "cost_network"),
        _priced(c, "server price", lambda cost: cost.servers, "cost_servers"),
        _priced(c, "storage price", lambda cost: cost.storage),
        _priced(c, "total price", lambda cost: cost.total, "cost_total"),
        _priced(c, "per accelerator", lambda cost: cost.per_accelerator, "cost_per_accelerator"),
    )
    groups = (("Compute node", node), ("Value of a node", value), ("Cluster", cluster))
    return tuple((title, tuple(row for row in group if any(cell != "-" for cell in row[1]))) for title, group in groups)


def _remarks(c: Comparison) -> list[str]:
    out = [f"Ratios (x) are to {c.baseline}."]
    out += c.notes
    named = {d.cost.currency: d.cost.currency_note for d in c.designs if d.cost and d.cost.currency_note}
    out += [f"{currency}: {note}" for currency, note in sorted(named.items())]
    for name, design in zip(c.labels, c.designs, strict=True):
        if design.cost and design.cost.excluded:
            parts = ", ".join(category.replace("-", " ") for category in design.cost.excluded)
            out.append(f"{name}: not priced: {parts}.")
    return out


def _rows(c: Comparison) -> list[dict[str, object]]:
    """Return design, metric, value and ratio to the baseline, in raw numbers."""
    found: list[dict[str, object]] = []
    for name, design in zip(c.labels, c.designs, strict=True):
        cost = design.cost
        values: dict[str, object] = {
            "accelerators": design.accelerators,
            "switches": design.fabric.switches.total,
            "links": design.fabric.links.total,
            "bisection": design.fabric.bisection_gbyte_s,
            "allreduce": design.communication[0].algbw_gbyte_s if design.communication else None,
            "allreduce_bound": design.communication[0].bound.algbw_gbyte_s if design.communication else None,
            "gemm_tf32": design.hardware.gemm_tflops.get("tf32"),
            "gemm_fp16": design.hardware.gemm_tflops.get("fp16"),
            "node_price": cost and cost.node_price,
            "node_price_low": cost and cost.node_price_low,
            "node_price_high": cost and cost.node_price_high,
            "node_power": design.power.per_node_w,
            "it_power": design.power.it_kw,
            "cost_servers": cost and cost.servers,
            "cost_network": cost and cost.network,
            "cost_total": cost and cost.total,
            "cost_per_accelerator": cost and cost.per_accelerator,
        }
        ratios = c.ratios[name]
        found += [
            {"design": name, "metric": item.name, "value": values.get(item.name), "ratio": getattr(ratios, item.name)}
            for item in fields(Ratios)
        ]
    return found


def _body(c: Comparison) -> Body:
    names = tuple(c.labels)
    blocks = [Matrix(title, names, group) for title, group in _groups(c)]
    return Body(" against ".join(names), (*blocks, Remarks(tuple(_remarks(c)))))


def compare_document(comparison: Comparison) -> Document:
    """Return what `ffplan compare` prints.

    Args:
        comparison: designs side by side.
    """
    return Document(comparison, lambda: _body(comparison), lambda: _rows(comparison))
