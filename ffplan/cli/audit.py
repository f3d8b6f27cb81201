"""`ffplan fabric audit` and `verify`: the fabric as built, and in a real program, against the design."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.base.files import is_folder
from ffplan.base.formatting import plural
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _large_output, _only_trees, _read_output, _read_text, _wired_design
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption
from ffplan.cli.output import emit
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from ffplan.interop.asbuilt.model import AsBuilt
    from ffplan.interop.asbuilt.names import _NameRule
    from ffplan.interop.audit.sides import Designed
    from ffplan.results.as_built import DiffReport
    from ffplan.studies.fabric.cabling import WiredDesign

MOST_FILES = 10_000
"""Most files of single devices."""


def _read_files(paths: list[str], command: str, *, partial: bool = False) -> AsBuilt:
    from ffplan.interop.asbuilt.model import MOST_BYTES, MOST_STREAMED
    from ffplan.interop.asbuilt.read import read_as_built

    files: list[str] = []
    for path in paths:
        inside = sorted(Path(path).iterdir()) if is_folder(path) else None
        files += [path] if inside is None else [str(entry) for entry in inside if entry.is_file()]
        if not files or len(files) > MOST_FILES:
            raise UsageError(f"ffplan {command}: {path}: {plural(len(files), 'file')}; give 1 to {MOST_FILES:,}")
    if len(files) == 1:
        with _large_output(files[0], MOST_BYTES, MOST_STREAMED) as content:
            return read_as_built([(files[0], content)], partial=partial)
    return read_as_built([(file, _read_output(file, MOST_BYTES)) for file in files], partial=partial)


def _of_this_part(built: AsBuilt, others: set[str], file: str) -> None:
    """Refuse a file of another plane or zone than requested."""
    foreign = [device.name for device in built.devices if device.name in others]
    if len(foreign) > len(built.devices) / 2:
        fault = "is of another plane or zone: leave out --plane and --zone, or give the other"
        raise UsageError(f"ffplan fabric audit: {file}: `{foreign[0]}` {fault}")


def _compared(
    wired: WiredDesign, built: AsBuilt, planned: Designed, names: tuple[list[_NameRule], str], *, file: str, whole: bool
) -> DiffReport:
    """Compare the compute fabric, and every network beside it that the files have, each with its own part of them.

    Args:
        planned: the compute fabric, or a plane or zone of it.
        names: rows of a map of names, and its file.
        file: the first file of the fabric as built.
        whole: whether every network is asked for.
    """
    from ffplan.interop.audit.networks import absent_network, joint, left_out, own_parts, parts_of, without
    from ffplan.interop.audit.sides import designed
    from ffplan.interop.exported import subnet
    from ffplan.studies.fabric.cabling import wired_networks

    parts, (rules, _) = parts_of(built), names
    ours = own_parts(built, parts, planned, rules, switches=True)
    beside: list[tuple[Designed, frozenset[int]]] = []
    if whole and parts.large - ours:
        for network in wired_networks(wired):
            inside = subnet(network.fabric.network, None, None)
            plan = designed(network.fabric.network, network.names, inside)
            beside.append((plan, own_parts(built, parts, plan, rules, switches=True)))
    theirs = frozenset[int]().union(*(own for _, own in beside))
    ours |= own_parts(built, parts, planned, rules, switches=False) - theirs
    strange = parts.large - ours - theirs
    others = parts.devices(theirs - ours | (strange if ours else frozenset()))
    one = partial(_one_network, design=wired.design.spec.name, names=names, file=file)
    reports = []
    if ours or strange or not theirs:
        try:
            reports.append(one(without(built, others), planned))
        except UsageError:
            if not theirs:  # the files are of other networks of the design
                raise
    out = parts.devices(strange) if ours or not reports else []
    present = bool(reports) + sum(bool(own) for _, own in beside)
    if not reports and present > 1:
        reports.append(absent_network(planned, wired.design.spec.name, built.form))
    for plan, own in beside:
        if own:
            only = [number for number, root in enumerate(parts.root) if root not in own]
            reports.append(one(without(built, only), plan))
        elif present > 1:
            reports.append(absent_network(plan, wired.design.spec.name, built.form))
    if len(reports) == 1 and not out:
        return reports[0]
    why = "that the design does not have" if whole else "outside the plane or zone asked for"
    return joint(reports, without(built, out, left_out(built, out, len(strange), why)))


def _one_network(
    built: AsBuilt, planned: Designed, *, design: str, names: tuple[list[_NameRule], str], file: str
) -> DiffReport:
    """Compare one network with its part of the files."""
    from ffplan.interop.asbuilt.composite import split_adapters
    from ffplan.interop.asbuilt.names import named
    from ffplan.interop.audit.report import audit as audited
    from ffplan.interop.audit.report import placed
    from ffplan.interop.audit.sides import as_printed

    built = split_adapters(built, planned.kinds.count("host"))
    known = named(built.devices, planned.names, *names)
    built = as_printed(planned, built, known)
    where = placed(planned, built, known)
    if not where.known and (where.place >= 0).sum() < len(planned.names) / 2:
        raise UsageError(
            f"ffplan fabric audit: {file}: no device of this file is in the design, by name or by wiring, "
            f"such as `{built.devices[0].name[:60]}`; ffplan names devices as `{min(planned.names)}` does: "
            "give a map (--map)"
        )
    return audited(planned, built, where, design)


def audit(
    file: DesignArgument,
    as_built: Annotated[
        list[str],
        typer.Argument(
            metavar="AS_BUILT", help="Output of ibnetdiscover or ibdiagnet; files of LLDP or SONiC; a folder."
        ),
    ],
    plane: Annotated[int | None, typer.Option("--plane", min=1, help="Only this plane, counted from 1.")] = None,
    zone: Annotated[int | None, typer.Option("--zone", min=1, help="Only this zone, counted from 1.")] = None,
    names: Annotated[
        str | None,
        typer.Option("--map", metavar="FILE", help="CSV of names as built and in the design; ~ begins an expression."),
    ] = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Compare the fabric as built with the design: faults, remedies, and their cost.

    Devices are matched by name, else by their wiring. Exit code 1 if fabric and design differ.
    """
    from ffplan.interop.asbuilt.composite import join_cards
    from ffplan.interop.asbuilt.model import MOST_BYTES
    from ffplan.interop.asbuilt.names import read_map
    from ffplan.interop.audit.sides import designed
    from ffplan.interop.exported import subnet
    from ffplan.report.fabric import audit_document

    wired = _wired_design(file, catalog)
    network = wired.fabric.network
    inside = subnet(network, None if plane is None else plane - 1, None if zone is None else zone - 1)
    if not inside.any():
        raise UsageError("ffplan fabric audit: the fabric has no such plane or zone")
    rules = read_map(_read_text(names, MOST_BYTES), names) if names else []
    built, planned = _read_files(as_built, "fabric audit"), designed(network, wired.names, inside)
    if network.radix > max((device.ports for device in built.devices if device.kind == "switch"), default=0) > 0:
        built = join_cards(built)  # the design has switches that are larger than any one found: chassis of cards
    _of_this_part(built, set(wired.names.devices()) - set(planned.names), as_built[0])
    report = _compared(
        wired, built, planned, (rules, names or ""), file=as_built[0], whole=plane is None and zone is None
    )
    emit(audit_document(report), form, output)
    if report.causes:
        raise typer.Exit(EXIT_FINDINGS)


class Program(StrEnum):
    """Programs for checking a fabric."""

    OPENSM = "opensm"
    SLURM = "slurm"
    SIMGRID = "simgrid"


class Engine(StrEnum):
    """Routing engines of OpenSM."""

    FTREE = "ftree"
    UPDN = "updn"
    MINHOP = "minhop"
    DFSSSP = "dfsssp"
    NUE = "nue"
    ALL = "all"


def verify(
    file: DesignArgument,
    program: Annotated[Program, typer.Option("--with", help="Program that checks the fabric.")],
    nodes: Annotated[
        int | None,
        typer.Option("--nodes", min=2, max=256, help="Nodes of the job that SimGrid simulates; 32 if omitted."),
    ] = None,
    engine: Annotated[
        Engine | None, typer.Option("--engine", help="Routing engine of OpenSM; all compares them. ftree if omitted.")
    ] = None,
    limit: Annotated[float, typer.Option("--limit", min=1, max=3600, help="Seconds that a program may take.")] = 120.0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Check the wired fabric with a real program: OpenSM on a simulated subnet, slurmctld, or MPI under SimGrid.

    Exit code 1 if the program disagrees, 2 if it is missing.
    """
    from ffplan.fabric.family import routing_of
    from ffplan.interop.opensm import ENGINES
    from ffplan.interop.programs import ended_in_order
    from ffplan.interop.verify_opensm import verify_opensm
    from ffplan.interop.verify_simgrid import NODES, verify_simgrid
    from ffplan.interop.verify_slurm import verify_slurm
    from ffplan.report.fabric import verify_document

    if nodes is not None and program is not Program.SIMGRID:
        raise UsageError("ffplan fabric verify: --nodes has an effect with `--with simgrid` only")
    if engine is not None and program is not Program.OPENSM:
        raise UsageError("ffplan fabric verify: --engine has an effect with `--with opensm` only")
    wired = _wired_design(file, catalog)
    with ended_in_order():
        if program is Program.OPENSM:
            _only_trees(wired, "fabric verify: OpenSM's fat-tree routing is verified on trees")
            progress = Progress("OpenSM")
            try:
                chosen = ENGINES if engine is Engine.ALL else ((engine or Engine.FTREE).value,)
                report = verify_opensm(wired.design, wired.fabric, wired.names, (chosen, limit), progress.step)
            finally:
                progress.end()
        elif program is Program.SIMGRID:
            progress = Progress("SimGrid")
            try:
                report = verify_simgrid(wired.design, routing_of(wired.fabric), nodes or NODES, limit, progress.step)
            finally:
                progress.end()
        else:
            report = verify_slurm(wired.design, wired.fabric, wired.names, limit)
    emit(verify_document(report), form, output)
    if not report.passed:
        raise typer.Exit(EXIT_FINDINGS)
