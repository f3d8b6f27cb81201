"""`ffplan fleet`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS
from ffplan.base.outcomes import IN_TIME
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.options import CatalogOption, OutputOption, SeedOption
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras
from ffplan.cli.progress import Progress


def fleet(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A fleet file, or the name of a shipped one.")],
    chance: Annotated[
        float,
        typer.Option("--chance", min=0.5, max=0.99, help="Chance wanted that demand is met and orders are in time."),
    ] = IN_TIME,
    draws: Annotated[
        int | None,
        typer.Option("--draws", min=1, max=10_000_000, help="Draws of the uncertain inputs; 10,000 if omitted."),
    ] = None,
    seed: SeedOption = 0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Plan clusters, sites and orders over quarters of demand: chance to be short, cash, power, carbon, late orders.

    Exit code 1 if demand is met, or a site's power held, with less than the chance, or that power is not known in full.
    """
    from ffplan.base.outcomes import DRAWS
    from ffplan.catalog.store import Catalog
    from ffplan.report.fleet_plan import fleet_plan_document
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.fleet.plan import plan_fleet

    progress = Progress("planning")
    request = CostRequest(draws=DRAWS if draws is None else draws, seed=seed)
    plan = plan_fleet(file, Catalog(catalog or ()), request, chance=chance, tell=progress.now)
    progress.end()
    document = _with_extras(fleet_plan_document(plan), form, [], catalog, "fleet-plan")
    emit(document, form, output)
    if plan.totals.met < chance or any(site.over > 1 - chance or site.unchecked for site in plan.sites):
        raise typer.Exit(EXIT_FINDINGS)
