"""`ffplan verify`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import only_trees, wired_design
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption
from ffplan.cli.output import Progress, emit


class Program(StrEnum):
    """Programs that can check a fabric."""

    OPENSM = "opensm"
    SLURM = "slurm"


def verify(
    file: DesignArgument,
    program: Annotated[Program, typer.Option("--with", help="Program that checks the fabric.")],
    limit: Annotated[float, typer.Option("--limit", min=1, max=3600, help="Seconds that a program may take.")] = 120.0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Check the wired fabric with a real program: OpenSM on a simulated subnet, or slurmctld.

    Exit code 1 where it disagrees, 2 where the program is missing.
    """
    from ffplan.interop.programs import ended_in_order
    from ffplan.interop.verify import verify_opensm, verify_slurm
    from ffplan.report.fabric import verify_document

    wired = wired_design(file, catalog)
    with ended_in_order():
        if program is Program.OPENSM:
            only_trees(wired, "verify: OpenSM's fat-tree routing is verified on trees")
            progress = Progress("OpenSM")
            try:
                report = verify_opensm(wired.design, wired.fabric, wired.names, limit, progress.step)
            finally:
                progress.end()
        else:
            report = verify_slurm(wired.design, wired.fabric, wired.names, limit)
    emit(verify_document(report), form, output)
    if not report.passed:
        raise typer.Exit(EXIT_FINDINGS)
