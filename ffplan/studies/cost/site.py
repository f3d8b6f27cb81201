"""Purchase, power and racks of the whole site, for whoever prints, limits or compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.cost.account import account_year, buys, whole_purchase
from ffplan.cost.bill import BUILDING, PHASED, PLANNED, STOOD_IN
from ffplan.cost.draws import sample
from ffplan.cost.sensitivity import likely
from ffplan.results.design import SiteSummary
from ffplan.studies.cost.cost import band, ledger_for
from ffplan.studies.cost.ledger import CostRequest
from ffplan.studies.cost.parts import bom_report, power_report

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.run import Band
    from ffplan.studies.cost.ledger import Ledger


def purchase_band(ledger: Ledger, request: CostRequest) -> Band:
    """Return the purchase with its quantiles [currency], as `study_cost` has it."""
    taken, account = [entry for entry in ledger.inputs if buys(entry.name)], ledger.account
    drawn = sample(taken, request.draws, request.seed)
    return band(whole_purchase(account, likely(taken)), whole_purchase(account, drawn))


def known_site(
    design: ResolvedDesign, catalog: Catalog, request: CostRequest | None = None
) -> tuple[SiteSummary | None, str]:
    """Return the whole site, or why it is not known: such as prices in a unit that no rate turns into money.

    Args:
        request: draws and seed behind the range of the purchase; without draws it is left out, and NumPy unloaded.
    """
    try:
        return _site_summary(design, catalog, request or CostRequest()), ""
    except InputError as error:
        return None, error.findings[0].message


def _site_summary(design: ResolvedDesign, catalog: Catalog, request: CostRequest) -> SiteSummary | None:
    """Return purchase, power and racks of the whole site as `study_cost` counts them: at likely inputs, the purchase
    with its range over the draws.

    None of a design without accelerators.
    """
    if not design.accelerators:
        return None
    ledger = ledger_for(design, catalog, request)
    v = likely(ledger.inputs)
    year = account_year(ledger.account, v)
    bom, power = bom_report(ledger), power_report(ledger, v, year)
    of = {
        scope: sum(line.total for line in bom.lines if line.scope == scope) if bom is not None else None
        for scope in (PLANNED, PHASED, STOOD_IN, BUILDING)
    }
    purchase = purchase_band(ledger, request) if bom is not None and request.draws else None
    return SiteSummary(
        currency=ledger.owned.currency,
        purchase=bom.total if bom is not None else None,
        purchase_p50=purchase.p50 if purchase is not None else None,
        purchase_p10=purchase.p10 if purchase is not None else None,
        purchase_p90=purchase.p90 if purchase is not None else None,
        per_accelerator=(purchase.p50 if purchase is not None else bom.total) / design.accelerators
        if bom is not None
        else None,
        planned=of[PLANNED],
        phases=of[PHASED],
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
