"""`ffplan faults`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.common import CatalogOption, DesignArgument, FormatOption, OutputOption, ReportFormat
from ffplan.cli.wired import Progress, SeedOption, choice, emit, wired_design


def faults(
    file: DesignArgument,
    lose: Annotated[
        list[str] | None,
        typer.Option(
            "--lose", metavar="WHAT",
            help="leaf, spine, core, interzone or link, with `:N` for several; plane; or names of switches joined by "
            "commas. May be repeated; the usual losses if omitted.",
        ),
    ] = None,
    routing: Annotated[
        str,
        typer.Option("--routing", "-r", metavar="KIND", help="Of the allreduce: adaptive, or static with collisions."),
    ] = "adaptive",
    samples: Annotated[int, typer.Option("--samples", min=1, max=100_000, help="Draws for each loss.")] = 20,
    seed: SeedOption = 0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:  # fmt: skip
    """Lose switches and links: endpoints lost, bisection and allreduce rate left."""
    import numpy as np

    from ffplan.fabric.routing.degraded import what_is_left
    from ffplan.fabric.routing.failures import LossError, assess_loss, parse_loss, usual_losses
    from ffplan.fabric.routing.job_loads import all_nodes
    from ffplan.report.fabric import fault_blocks
    from ffplan.results.design import SCHEMA_VERSION
    from ffplan.results.fabric import FaultReport

    choice(routing, ("adaptive", "static"), "--routing")
    wired = wired_design(file, catalog)
    try:
        losses = [parse_loss(text, wired.fabric, wired.names) for text in lose or ()] or usual_losses(wired.fabric)
    except LossError as error:
        raise UsageError(f"ffplan faults: --lose: {error}") from None
    every = all_nodes(wired.design, wired.fabric)
    nothing = np.zeros(0, np.int64)
    healthy = what_is_left(wired.fabric, every, nothing, nothing, routing)
    progress = Progress("losses")
    try:
        rows = [
            assess_loss(
                wired.fabric, every, healthy, loss, routing, samples, seed,
                lambda done, title=loss.title: progress.step(done, samples, title),  # type: ignore[misc]
            )
            for loss in losses
        ]  # fmt: skip
    finally:
        progress.end()
    report = FaultReport(
        SCHEMA_VERSION,
        wired.design.spec.name,
        seed,
        routing,
        len(wired.fabric.network.endpoints),
        len(every),
        tuple(rows),
    )
    head = f"{report.design}: what losing something costs, {routing} routing, seed {seed}"
    emit(report, list(report.losses), head, lambda: fault_blocks(report), form, output)
