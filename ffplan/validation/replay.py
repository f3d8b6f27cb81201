"""Files of measured cases: replayed into one report, and allreduces among them to compare with a curve by scale."""

from __future__ import annotations

from dataclasses import replace
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError, UsageError
from ffplan.base.files import data_folder
from ffplan.catalog.parts import Accelerator, Server
from ffplan.collectives.volumes import bus_factor
from ffplan.fabric.family import plan_fabric
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.results.collective import MeasuredPoint
from ffplan.studies.basis.job_layout import node_of
from ffplan.studies.collective.allreduce import allreduce_query, rows_of
from ffplan.studies.trust.measurement import accuracy_report
from ffplan.validation.cases import SIZES, TIMES, TWICE, CaseFile, Collective, System, TrainingFile
from ffplan.validation.communication_replay import replay
from ffplan.validation.serving_cases import ServingFile
from ffplan.validation.serving_replay import _replay_serving
from ffplan.validation.training_replay import assumed_stacks
from ffplan.validation.training_rows import _replay_training

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.inputs.document import Document
    from ffplan.results.accuracy import AccuracyReport
    from ffplan.results.collective import CollectiveReport, CollectiveRow
    from ffplan.validation.training_replay import TrainingReplay

FOLDERS = {"memory": "training"}
"""Subjects whose cases are among the cases of another."""
MEASURED = {"training": TIMES, "memory": SIZES}
"""Columns of files of training runs that are replayed, by subject."""


def case_files(subject: str, cases: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Return path and name of every file of cases: the user's files, or the shipped ones."""
    if cases:
        return [(name, name) for name in cases]
    kind = FOLDERS.get(subject, subject)
    folder = data_folder("catalogs") / "measurements" / kind
    return [(str(path), f"catalogs/measurements/{kind}/{path.name}") for path in sorted(folder.glob("*.yaml"))]


def _expect_cases(document: Document, subject: str) -> None:
    """Refuse a file that is something else, before its every field is called wrong."""
    data = document.data
    kind = data.get("kind") if isinstance(data, dict) else None
    expected = f"{FOLDERS.get(subject, subject)}-cases"
    if kind != expected:
        what = f"this file is of kind `{kind}`" if kind else "this is not a file of measured cases"
        remedy = f"write `kind: {expected}`; `ffplan catalog schema {expected}` describes the format"
        raise InputError(document.finding(expected, ("kind",), what, remedy))


def replay_files(subject: str, files: Sequence[tuple[str, str]], catalog: Catalog) -> AccuracyReport:
    """Return the report over files of cases.

    Raises:
        InputError: if a file is wrong.
        UsageError: if two files have one id, or the files hold no measured value of the subject.
    """
    rows, titles = [], {}
    tables: list[TrainingReplay] = []
    for path, name in files:
        document = read_document(Path(path), name)
        _expect_cases(document, subject)
        cases: CaseFile | TrainingFile | ServingFile
        if subject == "serving":
            cases = validate(ServingFile, document)
            scored = _replay_serving(cases, document, catalog)
        elif subject in MEASURED:
            cases = validate(TrainingFile, document)
            scored = _replay_training(cases, document, catalog, MEASURED[subject], tables)
        else:
            cases = validate(CaseFile, document)
            scored = replay(cases, document, catalog)
        if cases.id in titles:
            raise UsageError(f"ffplan model accuracy: {TWICE.format(cases.id, name)}")
        titles[cases.id] = cases.name
        rows += scored
    if not rows:
        raise UsageError(f"ffplan model accuracy {subject}: these files have no measurement of it")
    return replace(accuracy_report(subject, titles, rows), assumptions=assumed_stacks(tables))


TOLERANCE = 0.02
"""Most that a measured message differs from the curve's [1]; figures of papers are read to about that."""


def _as_server(system: System) -> bool:
    """True if a case ran on its server as the catalogue has it, all its GPUs and NICs in use."""
    plain = System(server=system.server, accelerator=system.accelerator, zones=system.zones)
    return system == plain


def _nics(catalog: Catalog, server: str) -> str:
    part = catalog.entry(server).part
    slots = [slot.part for slot in part.nics if slot.network != "storage"] if isinstance(part, Server) else []
    return " + ".join(f"{slots.count(name)} x {catalog.entry(name).part.name}" for name in dict.fromkeys(slots))


def _ids(catalog: Catalog, system: System) -> tuple[str | None, str]:
    """Return a case's accelerator and its maker's library between accelerators; empty if unknown."""
    server = catalog.entry(system.server).part
    name = system.accelerator or (server.accelerator if isinstance(server, Server) else None)
    part = catalog.entry(name).part if name else None
    return name, part.library if isinstance(part, Accelerator) else ""


def _nearest(report: CollectiveReport, gpus: int) -> CollectiveRow:
    return min(report.scales, key=lambda row: abs(log(row.gpus / gpus)))


def _fits(case: Collective, gpus: int, report: CollectiveReport, domain: int) -> bool:
    """True if a forced choice equals the curve's there, over as many zones, and within its ends.

    Ranks fill whole domains, as on the curve.
    """
    if not report.scales[0].gpus <= gpus <= report.scales[-1].gpus or gpus % domain:
        return False
    row = _nearest(report, gpus)
    choice = case.algorithm in (None, row.algorithm) and case.protocol in (None, row.protocol)
    return choice and case.system.zones == row.zones


def _bandwidth(case: Collective, value: float, gpus: int, size: float) -> float:
    """Return a measured value as algorithm bandwidth [GB/s]."""
    if case.metric == "time_us":
        return size / value / 1e3
    return value / float(bus_factor("allreduce", gpus)) if case.metric == "busbw_gbyte_s" else value


def _values(case: Collective, report: CollectiveReport, domain: int) -> Iterator[tuple[int, float, tuple[float, ...]]]:
    for gpus, row in zip(case.gpus, case.values, strict=True):
        for size, value in zip(case.sizes, row, strict=True):
            near = abs(size / report.message_bytes - 1) <= TOLERANCE
            if value is None or not near or not _fits(case, gpus, report, domain):
                continue
            ends = value if isinstance(value, tuple) else (value,)
            yield gpus, size, tuple(sorted(_bandwidth(case, end, gpus, size) for end in ends))


def measured_points(
    design: ResolvedDesign, report: CollectiveReport, catalog: Catalog, files: list[CaseFile]
) -> tuple[MeasuredPoint, ...]:
    """Return the measured allreduces to show with the curve of a design, by number of GPUs.

    They have its accelerator, its library, its message within `TOLERANCE`, and a number of GPUs between its ends; all
    GPUs of every node take part, and the network's switches do not reduce.

    Args:
        report: its allreduce with one library, with the times by scale.
    """
    group, points = design.compute, []
    if group.accelerator is None or not report.scales:
        return ()
    whole = not group.left_out and all(
        rate >= group.nics[slot].rate.value
        for slot, rate in zip(group.fabric_nics, group.nic_rates(design.port_gbyte_s, design.stripes), strict=True)
    )
    for file in files:
        for case in file.collectives:
            if case.operation != "allreduce" or not case.scored or case.in_network or not _as_server(case.system):
                continue
            accelerator, default = _ids(catalog, case.system)
            library = default if case.library in ("auto", "nccl") else case.library
            if (accelerator, library) != (group.accelerator.id, report.library):
                continue
            same = whole and case.system.server == group.server.id
            points += [
                MeasuredPoint(
                    gpus=gpus,
                    size_bytes=size,
                    gbyte_s=sum(ends) / len(ends),
                    low_gbyte_s=ends[0] if len(ends) > 1 else None,
                    high_gbyte_s=ends[-1] if len(ends) > 1 else None,
                    server=case.system.server,
                    nics=_nics(catalog, case.system.server),
                    same_server=same,
                    case=f"{file.id}, {case.id}",
                    source=file.source.title,
                    date=file.source.known_at,
                    status=file.source.status,
                    fitted=case.fitted,
                    note=case.note or "",
                )
                for gpus, size, ends in _values(case, report, node_of(design).domain_gpus)
            ]
    return tuple(sorted(points, key=lambda point: (point.gpus, point.case)))


def measured_files() -> list[CaseFile]:
    """Return every shipped file of measured communication."""
    return [validate(CaseFile, read_document(Path(path), name)) for path, name in case_files("communication")]


def rows_at(design: ResolvedDesign, report: CollectiveReport, gpus: tuple[int, ...]) -> list[CollectiveRow]:
    """Return the times of a design's allreduce over other numbers of GPUs, without numbers that cannot run.

    Args:
        gpus: numbers of GPUs, whole scale-up domains.
    """
    communication = design.spec.communication
    assert communication is not None
    for name, library in zip(communication.libraries, design.libraries, strict=True):
        query = allreduce_query(design, library, name)
        if query.name == report.library and gpus:
            return rows_of(query, design, plan_fabric(design), node_of(design), gpus, report.message_bytes)
    return []
