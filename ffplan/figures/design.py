"""Figures of an assessment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import dated, number
from ffplan.base.outcomes import CostLine, NodePower
from ffplan.figures.figure import Figure
from ffplan.results.collective import CollectiveBound, CollectiveReport, CollectiveRow
from ffplan.results.design import Assessment, CostReport, Hardware, PowerReport, SiteSummary
from ffplan.results.fabric_counts import Cables, FabricReport, Links, RouterLinks, RouterSwitches, Switches
from ffplan.results.reliability import ReliabilityReport
from ffplan.results.storage import ReliabilitySummary, StorageSummary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.figures.figure import Table


def _terms(bound: CollectiveBound) -> Iterator[str]:
    for term in bound.terms:
        yield f"{term.label}: {number(term.gbyte_s, 4)} GB/s, {term.derivation}"


def _line(line: CostLine) -> Figure:
    return Figure(
        place="ffplan.cost.bom:line_total",
        of=("quantity", "unit_price", "low", "high"),
        part="cost.price_book",
        evidence=(f"items.{line.part}",),
        said=lambda row: [f"a price {dated(row.date)}; {row.grade}, {row.status}"],
    )


def _bisection(fabric: FabricReport) -> Figure:
    dragonfly = fabric.family == "dragonfly"
    place = "dragonfly:dragonfly_bisection" if dragonfly else "formulas:tree_bisection"
    return Figure(place=f"ffplan.fabric.sizing.{place}", evidence=_PORTS)


_PORTS = ("ports", "rate")
_POWER = "ffplan.cost.power"

_SWITCHES = Figure(label="switches")
_LINKS = Figure(label="links")
_PRICE = Figure(unit="currency", better=-1)


def _price(label: str, threshold: str = "") -> Figure:
    return Figure(label=label, unit="currency", better=-1, threshold=threshold)


def _site_power(label: str, threshold: str = "") -> Figure:
    return Figure(label=label, unit="kW", better=-1, threshold=threshold)


DESIGN: Table = {
    Assessment: {
        "nodes": Figure(label="{key} nodes"),
        "accelerators": Figure(label="accelerators"),
        "peak_tflops": Figure(how="rate of an accelerator * accelerators", of=("peak_tflops.*",)),
        "gemm_tflops": Figure(how="rate of an accelerator * accelerators", of=("gemm_tflops.*",)),
    },
    Hardware: {
        "gemm_tflops": Figure(
            label="{key} GEMM",
            unit="TFLOP/s",
            better=1,
            how="measured on the accelerator",
            of=("gemm_tflops.*",),
            evidence=("gemm.",),
        ),
    },
    Switches: {"total": _SWITCHES},
    RouterSwitches: {"total": _SWITCHES},
    Links: {"total": _LINKS},
    RouterLinks: {"total": _LINKS},
    Cables: {"total": Figure(label="cables")},
    FabricReport: {
        "bisection_gbyte_s": Figure(label="bisection", unit="GB/s", better=1, threshold="bandwidth", by=_bisection),
        "oversubscription": Figure(
            label="oversubscription",
            better=-1,
            place="ffplan.fabric.sizing.formulas:bandwidth_oversubscription",
            evidence=_PORTS,
        ),
        "spare_ports": Figure(label="spare leaf ports", evidence=_PORTS),
    },
    PowerReport: {
        "it_kw": Figure(label="planned IT power", unit="kW", better=-1, threshold="power", evidence=("power",)),
        "facility_kw": Figure(place=f"{_POWER}:facility_power", evidence=("power",)),
        "energy_mwh_per_year": Figure(place=f"{_POWER}:annual_energy"),
        "per_node_w": Figure(label="node in training", unit="W", better=-1, evidence=("power",)),
        "per_node_component_sum_w": Figure(label="component sum", unit="W", better=-1),
    },
    SiteSummary: {
        "purchase": _price("purchase at likely prices", "cost"),
        "purchase_p50": _price("purchase", "cost"),
        **dict.fromkeys(("purchase_p10", "purchase_p90"), _PRICE),
        "per_accelerator": _price("purchase per accelerator", "cost"),
        "it_training_kw": _site_power("IT power of the site"),
        "facility_training_kw": _site_power("facility power in training", "power"),
        "facility_peak_kw": _site_power("facility peak", "power"),
        "racks": Figure(label="racks", better=-1),
        "energy_mwh_year": Figure(label="energy", unit="MWh/year", better=-1),
    },
    CostReport: {
        "node_price": _price("node price"),
        **dict.fromkeys(("node_price_low", "node_price_high"), _PRICE),
        "network": _price("network price"),
        "servers": _price("server price"),
        "storage": _price("storage price"),
        "total": _price("planned parts"),
        "per_accelerator": _price("per accelerator"),
    },
    StorageSummary: {
        "read_gbyte_s": Figure(label="storage read", unit="GB/s", better=1),
        "write_gbyte_s": Figure(label="storage write", unit="GB/s", better=1),
    },
    ReliabilitySummary: {
        "mtbf_hours": Figure(label="full-job MTBF", unit="h", better=1),
        "spares": Figure(label="spare nodes"),
    },
    ReliabilityReport: {
        "goodput": Figure(label="goodput", better=1),
    },
    CollectiveReport: {
        "algbw_gbyte_s": Figure(label="allreduce", unit="GB/s", better=1, threshold="bandwidth"),
    },
    NodePower: {
        "training_w": Figure(
            place=f"{_POWER}:training_power",
            part="server",
            evidence=("power",),
            said=lambda node: [node.training_grade],
        ),
    },
    CollectiveBound: {
        "algbw_gbyte_s": Figure(
            label="its bound", unit="GB/s", better=1, place="ffplan.collectives.volumes:rate", said=_terms
        ),
    },
    CollectiveRow: {
        "algbw_gbyte_s": Figure(
            place="ffplan.collectives.latency:transfer_time",
            of=("time_s", "latency_s", "stream_s", "fill_s"),
            said=lambda row: ["message over time", f"limited by {row.limited_by_label}"],
        ),
    },
    CostLine: {"total": _line, "unit_price": _line, "quantity": _line},
}
