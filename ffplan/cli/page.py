"""Additions of a page to its result: design files, drawings, evidence, measurements, and what every figure means."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.files import is_regular
from ffplan.base.formatting import data_size, number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from enum import StrEnum

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.interop.canvas import RackKind
    from ffplan.report.document import Document, Drawing, Extras, MeasuredCurve
    from ffplan.results.collective import CollectiveReport
    from ffplan.results.design import Assessment
    from ffplan.results.explanation import Derivation, Evidence

MOST_ENDPOINTS = 300_000
"""Largest fabric drawn on a page [endpoints]."""
MOST_MEANINGS = 4_000


def _with_extras(
    document: Document, form: StrEnum, files: Sequence[str], catalogs: Sequence[str] | None, schema: str
) -> Document:
    if form.value != "html":
        return document
    return replace(document, extras=lambda: _extras(document.value, files, tuple(catalogs or ()), schema))


def _extras(value: Any, files: Sequence[str], catalogs: tuple[str, ...], schema: str) -> Extras:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolve import resolve
    from ffplan.figures.origins import Origins
    from ffplan.inputs.design_files import find_design
    from ffplan.inputs.document import read_bytes, read_document
    from ffplan.report.document import Extras, Meaning
    from ffplan.schema.json_paths import described
    from ffplan.studies.explain.path import told

    base = Catalog(catalogs)
    texts, drawings = [], []
    sources: dict[tuple[str, str], Evidence] = {}
    curves: list[MeasuredCurve] = []
    for position, name in enumerate(files):
        path, file = find_design(name)
        if not is_regular(path):
            texts.append((file, "# read from a pipe, and not kept"))
            continue
        texts.append((file, read_bytes(path, file).decode("utf-8-sig", "replace")))
        catalog = base.fresh()
        design = resolve(read_document(path, file), catalog)
        drawings += _drawings(design)
        sources |= _sources(catalog)
        curves += _measured_curves(position, design, _assessments(value)[position:], base)
    sources |= _sources(_read(value, base.fresh()))
    known = tuple(sources[key] for key in sorted(sources))
    rows, copy = list(described(value, schema)), told(value)
    return Extras(
        verdict=_verdict(copy),
        files=tuple(texts),
        drawings=tuple(drawings),
        sources=known,
        meanings=tuple(Meaning(path, number(leaf, 6), text) for path, leaf, text in rows[:MOST_MEANINGS]),
        measured=tuple(curves),
        told=copy,
        origin=Origins(value, rows, known, lambda path, leaf, text: _derivation(value, path, leaf, text)).of,
    )


def _derivation(value: Any, path: str, leaf: float, meaning: str) -> Derivation | None:
    from ffplan.studies.explain.derivation import derivation_of

    assessments = _assessments(value)
    match = re.fullmatch(r"designs\[([0-9]+)\]\.(.*)", path)
    if match is not None and assessments:
        return derivation_of(assessments[int(match[1])], match[2], leaf, meaning)
    return derivation_of(value, path, leaf, meaning) if assessments and value is assessments[0] else None


def _verdict(value: Any) -> tuple[str, ...]:
    from ffplan.report.design import design_words
    from ffplan.results.design import Assessment

    return design_words(value) if isinstance(value, Assessment) else ()


def _assessments(value: Any) -> tuple[Assessment, ...]:
    from ffplan.results.comparison import Comparison
    from ffplan.results.design import Assessment

    if isinstance(value, Comparison):
        return tuple(value.designs)
    return (value,) if isinstance(value, Assessment) else ()


def _read(value: Any, catalog: Catalog) -> Catalog:
    for file in (*getattr(value, "catalog", ()), *getattr(getattr(value, "training", None), "catalog", ())):
        catalog.entry(file.id)
    return catalog


def _drawings(design: Any) -> list[Drawing]:
    from ffplan.fabric.family import plan_fabric
    from ffplan.interop.canvas import rack_drawing
    from ffplan.interop.drawing import caption, drawing
    from ffplan.report.document import Drawing
    from ffplan.studies.fabric.cabling import wire_design

    drawings = []
    plan = plan_fabric(design)
    if plan.endpoints <= MOST_ENDPOINTS:
        fabric = wire_design(design).fabric
        picture = drawing(design, fabric, headed=False)
        drawings.append(Drawing(f"{design.spec.name}: fabric", picture, caption(design, fabric)))
    racks = rack_drawing(design.spec.name, _racks(design, plan), headed=False)
    if racks is not None:
        drawings.append(Drawing(f"{design.spec.name}: racks", racks))
    return drawings


def _racks(design: Any, plan: Any) -> tuple[RackKind, ...]:
    from ffplan.cost.power import plan_power
    from ffplan.fabric.wiring.racks import nodes_per_rack
    from ffplan.interop.canvas import RackKind

    floor, limit = design.spec.floor, design.spec.limits.power_per_rack
    if floor is None:
        return ()
    kinds = []
    for group, power in zip(design.groups, plan_power(design, plan).nodes, strict=True):
        if design.states_height(group):
            nodes = nodes_per_rack(design, group, floor)
            kinds.append(
                RackKind(
                    server=group.server.id,
                    racks=-(-group.group.count // nodes),
                    nodes=nodes,
                    units=group.height,
                    height=floor.rack_units,
                    watts=power.maximum_w * nodes,
                    limit=floor.power_per_rack or limit,
                )
            )
    return tuple(kinds)


def _shown(value: Any) -> str:
    from ffplan.inputs.quantities import Money

    if isinstance(value, Money):
        return f"{number(value.amount, 6)} {value.currency}"
    return number(value, 6) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _sources(catalog: Catalog) -> dict[tuple[str, str], Evidence]:
    from ffplan.results.explanation import Evidence

    evidence: dict[tuple[str, str], Evidence] = {}
    used = {entry.part.id for entry in catalog.used}
    for entry in catalog.used:
        part = entry.part
        for path, figure in part.figures():
            if part.kind == "price-book" and str(path[-1]) not in used:
                continue
            source = part.sources[figure.source]
            place = ".".join(map(str, path))
            evidence[part.id, place] = Evidence(
                part=part.id,
                path=place,
                value=_shown(figure.value),
                grade=str(figure.grade or source.grade),
                status=str(figure.status or source.status),
                source=source.title,
                date=str(source.date),
            )
    return evidence


def _measured_curves(
    position: int, design: ResolvedDesign, assessments: tuple[Assessment, ...], base: Catalog
) -> list[MeasuredCurve]:
    """Return the measurements for each curve of a design; empty without curves."""
    from ffplan.report.document import MeasuredCurve
    from ffplan.validation.replay import measured_files, measured_points, rows_at

    reports = assessments[0].communication if assessments else ()
    if not reports or design.compute.accelerator is None:
        return []
    files, catalog, curves = measured_files(), base.fresh(), []
    for report in reports:
        points = measured_points(design, report, catalog, files)
        others = tuple(sorted({point.gpus for point in points} - {row.gpus for row in report.scales}))
        curves.append(
            MeasuredCurve(
                design=position,
                library=report.library,
                requirements=_requirements(design.compute.accelerator.id, report),
                points=points,
                expected=tuple((row.gpus, row.algbw_gbyte_s) for row in rows_at(design, report, others)),
            )
        )
    return curves


def _requirements(accelerator: str, report: CollectiveReport) -> str:
    from ffplan.validation.replay import TOLERANCE

    size = f"{data_size(report.message_bytes)} (within {100 * TOLERANCE:.0f} %)"
    return f"{accelerator}, {report.library} and {size} on {report.scales[0].gpus} to {report.ranks:,} GPUs"
