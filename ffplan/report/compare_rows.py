"""A comparison as rows of raw numbers: design, metric, value, ratio to the baseline and unit."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from ffplan.results.comparison import Ratios

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.results.comparison import Comparison, MoneyComparison, MoneySide
    from ffplan.results.design import Assessment
    from ffplan.results.run import Band

Row = dict[str, object]
_UNITS = {
    "bisection": "GB/s",
    "allreduce": "GB/s",
    "allreduce_bound": "GB/s",
    "gemm_tf32": "TFLOP/s",
    "gemm_fp16": "TFLOP/s",
    "node_power": "W",
    "it_power": "kW",
}
"""Units of metrics; prices have the currency of their design, and the others are numbers or ratios."""
_PRICES = (
    *("node_price", "node_price_low", "node_price_high"),
    *("cost_servers", "cost_network", "cost_total", "cost_per_accelerator"),
)


def _values(design: Assessment) -> dict[str, object]:
    cost = design.cost
    return {
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


def _banded(name: str, band: Band | None, unit: str) -> Iterator[tuple[str, float | None, str]]:
    for end, of in (("", "likely"), ("_p10", "p10"), ("_p90", "p90")):
        yield f"{name}{end}", getattr(band, of) if band else None, unit


def _side(side: MoneySide, currency: str) -> Iterator[tuple[str, float | None, str]]:
    """Yield name, value and unit of each figure of a run in money on one design."""
    run = side.run
    yield "to_buy", side.capex, currency
    yield from _banded("accelerator_hour", side.hour, f"{currency}/h")
    yield "first_job_after", side.waiting.months if side.waiting else None, "month"
    yield "cost_of_wait", side.waiting.value if side.waiting else None, currency
    yield "effective", run.effective if run else None, "1"
    yield from _banded("run_days", run.days if run else None, "d")
    yield from _banded("run_cost", run.cost if run else None, currency)
    yield from _banded("cost_per_million_tokens", run.cost_per_million_tokens if run else None, currency)
    yield from _banded("run_energy", run.energy_mwh if run else None, "MWh")
    yield from _banded("run_carbon", run.carbon_t if run else None, "t CO2e")


def _money(money: MoneyComparison) -> Iterator[Row]:
    ratios = dict.fromkeys((difference.against for difference in money.differences), 1.0)
    ratios |= {difference.label: difference.ratio.likely for difference in money.differences}
    shares = {difference.label: difference.cheaper_share for difference in money.differences}
    for side in money.sides:
        for name, value, unit in _side(side, money.currency):
            ratio = ratios.get(side.label) if name == "cost_per_million_tokens" else None
            yield _row(side.label, name, value, ratio, unit)
        if side.label in shares:
            yield _row(side.label, "cheaper_share", shares[side.label], None, "1")


def _row(design: str, metric: str, value: object, ratio: object, unit: str) -> Row:
    return {"design": design, "metric": metric, "value": value, "ratio": ratio, "unit": unit}


def comparison_rows(c: Comparison) -> list[Row]:
    """Return design, metric, value, ratio to the baseline and unit, in raw numbers; a run in money comes last."""
    rows: list[Row] = []
    for name, design in zip(c.labels, c.designs, strict=True):
        values, ratios = _values(design), c.ratios[name]
        currency = design.cost.currency if design.cost else ""
        for field in fields(Ratios):
            unit = currency if field.name in _PRICES else _UNITS.get(field.name, "1")
            rows.append(_row(name, field.name, values.get(field.name), getattr(ratios, field.name), unit))
    return rows + (list(_money(c.money)) if c.money is not None else [])
