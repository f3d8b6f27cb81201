"""Figures of an assessment without a derivation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import dated, number
from ffplan.base.outcomes import CostLine, NodePower
from ffplan.figures.figure import Figure
from ffplan.results.collective import CollectiveBound, CollectiveRow
from ffplan.results.design import Assessment, Hardware, PowerReport
from ffplan.results.fabric_counts import FabricReport

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

DESIGN: Table = {
    Assessment: {
        "peak_tflops": Figure(how="rate of an accelerator * accelerators", of=("peak_tflops.*",)),
        "gemm_tflops": Figure(how="rate of an accelerator * accelerators", of=("gemm_tflops.*",)),
    },
    Hardware: {
        "gemm_tflops": Figure(how="measured on the accelerator", of=("gemm_tflops.*",), evidence=("gemm.",)),
    },
    FabricReport: {
        "bisection_gbyte_s": _bisection,
        "oversubscription": Figure(place="ffplan.fabric.sizing.formulas:bandwidth_oversubscription", evidence=_PORTS),
        "spare_ports": Figure(evidence=_PORTS),
    },
    PowerReport: {
        "it_kw": Figure(evidence=("power",)),
        "facility_kw": Figure(place=f"{_POWER}:facility_power", evidence=("power",)),
        "energy_mwh_per_year": Figure(place=f"{_POWER}:annual_energy"),
        "per_node_w": Figure(evidence=("power",)),
    },
    NodePower: {
        "training_w": Figure(
            place=f"{_POWER}:training_power",
            part="server",
            evidence=("power",),
            said=lambda node: [node.training_grade],
        ),
    },
    CollectiveBound: {"algbw_gbyte_s": Figure(place="ffplan.collectives.bounds:rate", said=_terms)},
    CollectiveRow: {
        "algbw_gbyte_s": Figure(
            place="ffplan.collectives.latency:transfer_time",
            of=("time_s", "latency_s", "stream_s", "fill_s"),
            said=lambda row: ["message over time", f"limited by {row.limited_by_label}"],
        ),
    },
    CostLine: {"total": _line, "unit_price": _line, "quantity": _line},
}
