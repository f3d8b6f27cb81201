"""`ffplan fabric verify`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _only_trees, _wired_design
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption
from ffplan.cli.output import emit
from ffplan.cli.progress import Progress


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
