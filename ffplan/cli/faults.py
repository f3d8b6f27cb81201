"""`ffplan fabric faults`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _wired_trees, choice
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption, SeedOption
from ffplan.cli.output import emit
from ffplan.cli.progress import Progress

LoseOption = Annotated[
    list[str] | None,
    typer.Option(
        "--lose",
        metavar="WHAT",
        help="leaf, spine, core, interzone or link, with `:N` for several; plane; or names of switches joined by "
        "commas. May be repeated; the usual losses if omitted.",
    ),
]
RoutingOption = Annotated[
    str,
    typer.Option("--routing", "-r", metavar="KIND", help="Allreduce routing: adaptive, or static with collisions."),
]
SamplesOption = Annotated[int, typer.Option("--samples", min=1, max=100_000, help="Draws for each loss.")]


def faults(
    file: DesignArgument,
    lose: LoseOption = None,
    routing: RoutingOption = "adaptive",
    samples: SamplesOption = 20,
    seed: SeedOption = 0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Remove switches and links: endpoints lost, remaining bisection and allreduce rate."""
    from ffplan.fabric.routing.failures import LossError
    from ffplan.report.fabric import fault_document
    from ffplan.studies.fabric import faults as study

    choice(routing, ("adaptive", "static"), "--routing")
    wired = _wired_trees(file, catalog, "fabric faults: losses are modelled on trees")
    query = study.FaultRequest(tuple(lose or ()), routing, samples, seed)
    progress = Progress("losses")
    try:
        report = study.faults(wired, query, progress.step)
    except LossError as error:
        raise UsageError(f"ffplan fabric faults: --lose: {error}") from None
    finally:
        progress.end()
    emit(fault_document(report), form, output)
