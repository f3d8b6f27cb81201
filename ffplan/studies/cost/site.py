"""Purchase, power and racks of the whole site, for whoever prints, limits or compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.cost.bill import BUILDING, PLANNED, STOOD_IN
from ffplan.results.design import SiteSummary
from ffplan.studies.cost.cost import accounted, band, ledger_for
from ffplan.studies.cost.parts import bom_report, power_report
from ffplan.studies.cost.request import DRAWS, CostRequest

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign


def known_site(design: ResolvedDesign, catalog: Catalog, draws: int = DRAWS) -> tuple[SiteSummary | None, str]:
    """Return the whole site, or why it is not known: such as prices in a unit that no rate turns into money.

    Args:
        catalog: where its profile, prices and side networks are looked up.
        draws: draws behind the range of the purchase; 0 leaves it out, and NumPy unloaded.
    """
    try:
        return _site_summary(design, catalog, CostRequest(draws)), ""
    except InputError as error:
        return None, error.findings[0].message


def _site_summary(design: ResolvedDesign, catalog: Catalog, request: CostRequest) -> SiteSummary | None:
    """Return purchase, power and racks of the whole site as `study_cost` counts them: at likely inputs, the purchase
    with its range over the draws.

    None of a design without accelerators.

    Args:
        catalog: where its profile, prices and side networks are looked up.

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership is wrong.
    """
    if not design.accelerators:
        return None
    ledger = ledger_for(design, catalog, request)
    account = accounted(ledger, ledger.inputs, None, request)
    v, year, drawn = account.v, account.year, account.drawn_year
    bom, power = bom_report(ledger), power_report(ledger, v, year)
    of = {
        scope: sum(line.total for line in bom.lines if line.scope == scope) if bom is not None else None
        for scope in (PLANNED, STOOD_IN, BUILDING)
    }
    ranged = bom is not None and request.draws
    purchase = band(year.capex + year.building, drawn.capex + drawn.building) if ranged else None
    return SiteSummary(
        currency=ledger.owned.currency,
        purchase=bom.total if bom is not None else None,
        purchase_p10=purchase.p10 if purchase is not None else None,
        purchase_p90=purchase.p90 if purchase is not None else None,
        per_accelerator=bom.per_accelerator if bom is not None else None,
        planned=of[PLANNED],
        stood_in=of[STOOD_IN],
        building=of[BUILDING],
        left_out=ledger.left_out,
        it_training_kw=power.it_training_kw,
        it_peak_kw=power.it_rated_kw,
        facility_training_kw=power.facility_kw,
        facility_peak_kw=power.facility_peak_kw,
        pue=power.pue,
        energy_mwh_year=power.energy_mwh_year,
        utilisation=float(v["utilisation"]),
        racks=power.racks,
        missing=power.missing,
    )
