"""Where the headline figures of a page come from: unit, equation, parts, sources and grades."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import UsageError
from ffplan.base.formatting import number
from ffplan.base.plain import number_at
from ffplan.cli.page_figures import evidence, shortened
from ffplan.inputs.changes import steps
from ffplan.report.chart import Origin
from ffplan.schema.described import described
from ffplan.studies.explain.derivation import derivation_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ffplan.report.chart import Source
    from ffplan.results.design import Assessment
    from ffplan.results.explanation import Derivation

COMPARED = {
    "Value of a node": {
        "TF32 GEMM [TFLOP/s]": "hardware.gemm_tflops.tf32",
        "FP16 GEMM [TFLOP/s]": "hardware.gemm_tflops.fp16",
        "BF16 GEMM [TFLOP/s]": "hardware.gemm_tflops.bf16",
        "node in training [W]": "power.per_node_w",
        "component sum [W]": "power.per_node_component_sum_w",
    },
    "Cluster": {
        "accelerators": "accelerators",
        "switches": "fabric.switches.total",
        "links": "fabric.links.total",
        "spare leaf ports": "fabric.spare_ports",
        "bisection [GB/s]": "fabric.bisection_gbyte_s",
        "allreduce [GB/s]": "communication[0].algbw_gbyte_s",
        "its bound [GB/s]": "communication[0].bound.algbw_gbyte_s",
        "storage [PB]": "storage.usable_bytes",
        "storage read [GB/s]": "storage.read_gbyte_s",
        "storage write [GB/s]": "storage.write_gbyte_s",
        "MTBF, job on all [h]": "reliability.mtbf_hours",
        "spare nodes": "reliability.spares",
        "IT power": "power.it_kw",
        "facility peak": "site.facility_peak_kw",
        "energy [MWh/year]": "site.energy_mwh_year",
        "purchase": "site.purchase",
        "network price": "cost.network",
        "server price": "cost.servers",
        "storage price": "cost.storage",
        "planned parts": "cost.total",
        "per accelerator": "cost.per_accelerator",
    },
}
"""Paths of an assessment by table and row of a comparison."""
ASSESSED = {
    "Nodes": {"nodes": "accelerators"},
    "Fabric": {
        "switches": "fabric.switches.total",
        "links": "fabric.links.total",
        "spare ports": "fabric.spare_ports",
        "oversubscription": "fabric.oversubscription",
        "bisection": "fabric.bisection_gbyte_s",
    },
    "Whole site, as in `ffplan cost`": {
        "purchase": "site.purchase",
        "facility": "site.facility_peak_kw",
        "energy": "site.energy_mwh_year",
        "racks": "site.racks",
    },
    "Power of what the design plans": {"IT in training": "power.it_kw", "compute node": "power.per_node_w"},
    "Cost of what the design plans": {"planned parts": "cost.total", "per accelerator": "cost.per_accelerator"},
    "Storage": {"servers": "storage.usable_bytes", "rates": "storage.read_gbyte_s"},
    "Failures": {"a job on all": "reliability.mtbf_hours", "spare nodes": "reliability.spares"},
}
"""The same of the report on one design; its libraries have rows of their own."""
FIGURES = {"fabric.": ("ports", "rate"), "power.": ("power",), "hardware.": ("gemm",)}
"""First names of the catalogue's figures behind paths, by how these begin."""


def _valued(step: Derivation) -> str:
    return "" if step.value is None else f"{number(step.value, 5)} {step.unit}".rstrip()


def _parts(steps_of: tuple[Derivation, ...], above: str = "") -> Iterator[str]:
    """Yield what a figure is made of, one line for each value, those below it after it."""
    for step in steps_of:
        label = f"{above}{step.label}"
        words = "; ".join(text for text in (step.formula and f"= {step.formula}", step.source) if text)
        yield f"{label}: {_valued(step)}{'; binds' if step.binds else ''}{f' ({words})' if words else ''}"
        yield from _parts(step.steps, f"{step.label}, ")


def _figures(path: str, sources: Iterable[Source]) -> Iterator[str]:
    """Yield the figures of the catalogue behind a path, with source, grade and status."""
    names = next((names for start, names in FIGURES.items() if path.startswith(start)), ())
    for item in sources:
        if item.path.split(".")[0] in names and (names != ("gemm",) or item.path.endswith(path.rpartition(".")[2])):
            yield evidence(item)


def _origin(
    found: Assessment, meanings: dict[str, str], place: tuple[str, str, int], path: str, sources: Iterable[Source]
) -> Origin | None:
    """Return where a figure comes from; None where the assessment has none."""
    try:
        value = number_at(found, steps(path))
    except UsageError:
        return None
    if value is None:
        return None
    root = derivation_of(found, path, value, meanings.get(path, ""))
    table, row, column = place
    return Origin(
        table=table,
        row=row,
        column=column,
        design="",
        path=path,
        value=_valued(root),
        meaning=meanings.get(path, ""),
        formula=root.formula,
        source=root.source,
        parts=shortened((*_parts(root.steps), *_figures(path, sources))),
    )


def origins(value: Any, assessments: tuple[Assessment, ...], sources: Sequence[Iterable[Source]]) -> tuple[Origin, ...]:
    """Return where the headline figures of a result come from; nothing where it holds no assessment.

    Args:
        value: the result.
        assessments: what it holds of designs, in the order of its columns.
        sources: figures of the parts of each design.
    """
    own = bool(assessments) and value is assessments[0]
    rows = ASSESSED if own else COMPARED
    found = []
    for column, (item, figures) in enumerate(zip(assessments, sources, strict=False)):
        meanings = {path: words for path, _, words in described(item, "assessment")}
        places = [(table, row, path) for table, paths in rows.items() for row, path in paths.items()]
        if own:
            libraries = [report.library for report in item.communication]
            places += [
                ("Allreduce of", name, f"communication[{at}].algbw_gbyte_s") for at, name in enumerate(libraries)
            ]
        made = [_origin(item, meanings, (table, row, column), path, figures) for table, row, path in places]
        name = "" if own else value.labels[column]
        found += [replace(origin, design=name) for origin in made if origin is not None]
    return tuple(found)


def more_origins(value: Any, sources: Sequence[Source]) -> tuple[Origin, ...]:
    """Return where the other figures of a result come from.

    Args:
        value: the result.
        sources: figures of the catalogue files behind it.
    """
    from ffplan.results.comparison import Comparison
    from ffplan.results.cost import CostStudy
    from ffplan.results.design import Assessment
    from ffplan.results.training import TrainReport

    if isinstance(value, Comparison):
        from ffplan.cli.page_compared import compared_notes

        return compared_notes(value, sources)
    if isinstance(value, Assessment):
        from ffplan.cli.page_design import design_notes

        return design_notes(value, sources)
    if isinstance(value, CostStudy):
        from ffplan.cli.page_cost import cost_notes

        return cost_notes(value, sources)
    if isinstance(value, TrainReport):
        from ffplan.cli.page_train import train_notes

        return train_notes(value, sources)
    return ()
