"""Parts of the cost study: bill, power, rents, cash flow, as results."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number
from ffplan.base.formatting import listed
from ffplan.base.outcomes import InputRow
from ffplan.base.record import record
from ffplan.catalog.prices import TERM_YEARS
from ffplan.cost.account import mean_power
from ffplan.cost.bill import bill
from ffplan.cost.cash import Cash, month_of
from ffplan.cost.power import HOURS_PER_YEAR, facility_power
from ffplan.cost.rent import MONTHS, NEVER, RentTerm, break_even_utilisation, rented_hour
from ffplan.cost.run import run_energy
from ffplan.cost.site import rack_area, rack_limit
from ffplan.cost.yearly import YEARLY
from ffplan.design.ownership import booked, offers_for
from ffplan.results import cost as out
from ffplan.studies.cost.phases import _first_part, purchases

if TYPE_CHECKING:
    from ffplan.catalog.prices import Offer
    from ffplan.cost.account import Values, YearAccount
    from ffplan.cost.inputs import Input
    from ffplan.cost.sensitivity import Flip, Swing
    from ffplan.design.ownership import Assumed
    from ffplan.studies.cost.ledger import Ledger

_NETWORKS = ("switches", "endpoint-links", "inter-switch-links", "storage-network", "in-band", "out-of-band")
_COOLANT_L_MIN_PER_KW = 14.3
"""Water at a rise of 1 K that carries 1 kW, c_p 4.19 kJ/kg/K [l/min]."""
_COOLANT_RISE_K = 10.0
_BUSBAR_V, _HIGH_V = 54.0, 800.0
"""Direct voltages that a rack's current is given at [V]."""


def bom_report(ledger: Ledger) -> out.Bom | None:
    """Return the bill of materials; None for a rented fleet or without prices."""
    book = ledger.design.prices
    if book is None or ledger.owned.rent is not None:
        return None
    inputs: dict[str, Input] = {entry.name: entry for entry in ledger.inputs}
    currency = ledger.owned.currency
    bom = bill(ledger.account, ledger.planned, ledger.around, ledger.prices, inputs, ledger.names, currency=currency)
    rate = ledger.owned.rate_of(book.currency)
    scope = ledger.design.spec.cost
    side = ledger.owned.side_prices.items if ledger.owned.side_prices else {}
    count = ledger.account.accelerators
    return out.Bom(
        currency=currency,
        price_book=book.id,
        price_date=book.date,
        exchange_rate=None if book.currency == currency else rate,
        lines=bom.lines,
        hardware=bom.hardware,
        total=bom.total,
        total_low=bom.low,
        total_high=bom.high,
        per_accelerator=bom.total / count if count and bom.lines else None,
        recalled_share=sum(line.total for line in bom.lines if line.status == out.RECALLED) / bom.total
        if bom.total
        else None,
        missing=ledger.missing,
        priced_elsewhere=tuple(dict.fromkeys(gap.part for gap in ledger.missing if gap.part in side)),
        excluded=tuple(scope.exclude) if scope else (),
    )


def _nodes_part(ledger: Ledger, name: str, roles: tuple[str, ...], idle_share: float, power: float) -> out.PowerPart:
    nodes = [node for node in ledger.nodes if node.role in roles]
    steady = "storage" in roles
    training = sum(node.count * node.training_w for node in nodes) * power
    idle = sum(node.count * (node.idle_w if node.idle_w is not None else idle_share * node.maximum_w) for node in nodes)
    return out.PowerPart(
        name=name,
        idle_kw=(sum(node.count * node.training_w for node in nodes) if steady else idle) / 1e3,
        training_kw=training / 1e3,
        rated_kw=sum(node.count * node.maximum_w for node in nodes) / 1e3,
    )


def _power_parts(ledger: Ledger, v: Values) -> tuple[out.PowerPart, ...]:
    share, power = float(v["idle"]), float(v["power"])
    parts = [_nodes_part(ledger, "compute", ("compute", "management"), share, power)]
    if any(node.role == "storage" for node in ledger.nodes):
        parts.append(_nodes_part(ledger, "storage", ("storage",), share, power))
    fabric = ledger.power.switches_w + ledger.power.links_w
    networks = [("fabric", fabric, ledger.power.network_maximum_w)]
    networks += [(plan.name, plan.watts, plan.maximum_w) for plan in ledger.site.networks]
    parts += [out.PowerPart(name, watts / 1e3, power * watts / 1e3, most / 1e3) for name, watts, most in networks]
    return tuple(parts)


def power_report(ledger: Ledger, v: Values, year: YearAccount) -> out.SitePower:
    """Return power, cooling, water and carbon of the cluster."""
    account, pue = ledger.account, float(v["pue"])
    parts = _power_parts(ledger, v)
    idle, training, rated = (
        sum(getattr(part, field) for part in parts) for field in ("idle_kw", "training_kw", "rated_kw")
    )
    liquid = account.liquid_w / 1e3
    rack, area = ledger.site.rack_w, rack_area(ledger.design, ledger.owned)
    return out.SitePower(
        parts=parts,
        it_idle_kw=idle,
        it_training_kw=training,
        it_rated_kw=rated,
        facility_kw=float(facility_power(training, pue)),
        facility_peak_kw=float(facility_power(rated, pue)),
        pue=pue,
        racks=ledger.site.racks,
        racks_of=ledger.site.racks_of,
        fullest_rack_kw=rack / 1e3,
        rack_limit_kw=rack_limit(ledger.design, ledger.owned) / 1e3,
        rack_amperes_54v=rack / _BUSBAR_V,
        rack_amperes_800v=rack / _HIGH_V,
        rack_area_m2=area,
        floor_m2=ledger.site.racks * area if area is not None else None,
        liquid_share=liquid / rated if rated else 0.0,
        liquid_kw=liquid,
        coolant_l_min=liquid * _COOLANT_L_MIN_PER_KW / _COOLANT_RISE_K,
        energy_mwh_year=float(year.energy_mwh),
        peak_energy_mwh_year=float(facility_power(training, pue)) * HOURS_PER_YEAR / 1e3,
        carbon_t_year=float(year.carbon_t),
        embodied_t=float(year.embodied_t),
        water_m3_year=float(year.water_m3),
        missing=ledger.missing_power,
    )


def _year_rows(year: YearAccount) -> tuple[out.YearRow, ...]:
    total = float(year.year)
    rows = [
        out.YearRow(name, YEARLY[name].label, float(amount), float(amount) / total if total else 0.0)
        for name, amount in year.yearly.items()
        if float(amount)
    ]
    return tuple(sorted(rows, key=lambda row: (-row.amount, row.name)))


def _running_month(year: YearAccount) -> Number:
    """Return the running cost of a month, capital apart [currency per month]."""
    return sum(amount for name, amount in year.yearly.items() if not YEARLY[name].capital) / MONTHS


def _energy_of_use(ledger: Ledger, v: Values) -> Number:
    """Return the cost that full use adds to an idle year [currency per year]."""
    training, idle = mean_power(ledger.account, v)
    return run_energy(HOURS_PER_YEAR, training - idle, v["pue"]) * 1e3 * v["electricity"]


def _offers_of(ledger: Ledger) -> list[tuple[str, Assumed]]:
    book, accelerator = ledger.owned.rents, ledger.design.compute.accelerator
    rate = ledger.owned.rate_of(book.currency)
    if accelerator is None or rate is None or _beyond_offers(ledger):
        return []
    return [(name, booked(book, book.offers[name].price, rate)) for name in offers_for(book, accelerator.id)]


def _beyond_offers(ledger: Ledger) -> str:
    """Return why offers of the rent book cannot be set beside the cluster; empty if they can."""
    book = ledger.owned.rents
    kinds = sorted({g.accelerator.id for g in ledger.design.groups if g.group.role == "compute" and g.accelerator})
    if len(kinds) > 1:
        named = listed(f"`{kind}`" for kind in kinds)
        return f"the cluster has accelerators of {len(kinds)} kinds, {named}, and an offer rents one"
    if ledger.owned.rate_of(book.currency) is None:
        return f"no rate turns {book.currency}, in which `{book.id}` is, into {ledger.owned.currency}"
    return ""


def no_rent(ledger: Ledger, rows: tuple[out.RentRow, ...]) -> str | None:
    """Return why owning is set against no rent of a term; None where it is, and of a rented fleet."""
    if ledger.owned.rent is not None or out.benchmark(rows) is not None:
        return None
    if ledger.left_out:
        return f"its cost leaves out {listed(ledger.left_out)}"
    if why := _beyond_offers(ledger):
        return why
    if not rows and ledger.design.compute.accelerator is not None:
        return f"`{ledger.owned.rents.id}` has no offer of `{ledger.design.compute.accelerator.id}`"
    terms = [row for row in rows if row.term in TERM_YEARS and not row.index]
    return f"none of 1 or 3 years can be signed {'at this size' if terms else 'for its accelerators'}"


def _rent_row(
    ledger: Ledger, name: str, found: Assumed, v: Values, year: YearAccount, drawn: _Drawn | None
) -> out.RentRow:
    offer, use, price = ledger.owned.rents.offers[name], v["utilisation"], found.likely
    term = RentTerm(TERM_YEARS.get(offer.term), offer.upfront)
    hour = float(rented_hour(price, use, term, v["capital"]))
    count = ledger.account.accelerators
    rent = price * count * HOURS_PER_YEAR * (1.0 if term.committed else use) / MONTHS
    cash = _cash_of(ledger, v, year)
    at_once = cash.at_once()
    months, life = at_once.even(float(rent)), at_once.end
    from_order = None if cash.wait is None else cash.even(float(rent))
    why = _never(months, from_order, life, cash.end)
    utilisation: float | None = None
    no_use = "every hour of the rent is paid: utilisation acts on both alike" if term.committed else None
    if not term.committed:
        used = _energy_of_use(ledger, v)
        utilisation = float(break_even_utilisation(year.year - used * use, used, price, count))
        if utilisation > 1:
            utilisation, no_use = None, "rent by the hour is cheaper at any utilisation"
    return out.RentRow(
        offer=name,
        provider=offer.provider,
        term=offer.term,
        price=price,
        hour=hour,
        month=float(rent),
        owned_hour=float(year.hour),
        owning_cheaper=_cheaper(price, term, drawn),
        upfront=offer.upfront,
        index=offer.index,
        signable=signable(offer, count),
        break_even_months=months if months <= life else None,
        break_even_months_from_order=None if why else from_order,
        break_even_utilisation=utilisation,
        why=why,
        utilisation_why=no_use,
        date=found.date,
        status=found.status,
    )


def _cheaper(price: float, term: RentTerm, drawn: _Drawn | None) -> float | None:
    if drawn is None:
        return None
    import numpy as np

    return float(np.mean(drawn.hour < rented_hour(price, drawn.v["utilisation"], term, drawn.v["capital"])))


def _never(months: float, from_order: float | None, life: float, end: float) -> str | None:
    """Return why owning never breaks even within the life of the hardware; None if it does.

    Months and `life` run from the first job on, those of `from_order` and `end` from the order, with what bridges the
    wait; None if the wait has no price.
    """
    if months == NEVER:
        return "running costs as much as the rent"
    if months > life:
        return f"it would take {months:.0f} months, and the hardware is written off after {life:.0f}"
    if from_order is not None and from_order > end:
        return (
            f"with what bridges the wait it would take {from_order:.0f} months from the order, and the hardware is "
            f"written off after {end:.0f}"
        )
    return None


def signable(offer: Offer, accelerators: int) -> bool:
    """Return whether somebody can sign an offer for a term, at this size."""
    large = offer.most is None or offer.most >= accelerators
    return large and not offer.index and offer.term in TERM_YEARS


@record
class _Drawn:
    v: dict[str, Number]
    """Inputs, as arrays if drawn."""
    hour: Number
    """Owned accelerator-hour in use [currency]."""


def _rent_rows(ledger: Ledger, v: Values, year: YearAccount, drawn: _Drawn | None) -> tuple[out.RentRow, ...]:
    if ledger.owned.rent is not None or ledger.left_out:
        return ()
    rows = [_rent_row(ledger, name, rent, v, year, drawn) for name, rent in _offers_of(ledger)]
    return tuple(sorted(rows, key=lambda row: (row.hour, row.offer)))


def hourly_rent(ledger: Ledger) -> tuple[Assumed, str] | None:
    """Return the cheapest rent of the accelerator by the hour [currency per hour], and its offer; None without any."""
    offers = ledger.owned.rents.offers
    hourly = [
        (entry, name)
        for name, entry in _offers_of(ledger)
        if offers[name].term not in (*TERM_YEARS, "spot") and not offers[name].index
    ]
    return min(hourly, key=lambda offer: (offer[0].likely, offer[1]), default=None)


def _cash_of(ledger: Ledger, v: Values, year: YearAccount) -> Cash:
    """Return the cash of a cluster by date."""
    parts = purchases(ledger, v, year, waiting(ledger, v))
    return Cash(purchases=parts, running=float(_running_month(year)), life=float(v["life"]) * MONTHS)


def waiting(ledger: Ledger, v: Values) -> out.Waiting:
    """Return the months from the order to the first job, and what they cost."""
    lead, commissioning = map(float, ledger.to_production(v))
    if ledger.owned.rent is not None and not lead + commissioning:
        return _waiting(0.0, 0.0, 0.0, "a rented fleet is taken as ready")
    first = ledger.design.spec.phases[0] if ledger.design.spec.phases else None
    if first is not None and first.lead_time is not None:
        lead, commissioning = first.lead_time * MONTHS, 0.0
    months = lead + commissioning
    if ledger.owned.delay_month is not None:
        return _waiting(lead, commissioning, ledger.owned.delay_month * months, "the design's `delay`")
    hourly = hourly_rent(ledger)
    if hourly is None:
        why = _beyond_offers(ledger) or "no rent by the hour is known for the accelerator"
        return _waiting(lead, commissioning, None, why)
    entry, name = hourly
    count = _first_part(ledger) * ledger.account.accelerators
    hours = count * HOURS_PER_YEAR / MONTHS * float(v["utilisation"])
    return _waiting(lead, commissioning, months * hours * entry.likely, f"rent that bridges them: {name}")


def _waiting(lead: float, commissioning: float, value: float | None, basis: str) -> out.Waiting:
    return out.Waiting(
        lead_months=lead,
        commissioning_months=commissioning,
        months=lead + commissioning,
        value=value,
        basis=basis,
    )


def cash_flow(cash: Cash, residual: float, rate: float) -> tuple[out.CashRow, ...]:
    """Return the cash flow month by month: purchases at delivery, running costs from the first job on.

    Args:
        residual: proceeds of the sale at its end [currency].
        rate: cost of capital a year [1].
    """
    end, last = cash.end, month_of([cash.end])
    rows, total, discounted, bought, ran = [], 0.0, 0.0, 0.0, 0.0
    for month in range(last + 1):
        capex, opex = cash.bought(month) - bought, cash.ran(min(month, end)) - ran
        bought, ran = bought + capex, ran + opex
        sold = residual if month == last else 0.0
        total += capex + opex - sold
        discounted += (capex + opex - sold) * (1 + rate) ** (-month / MONTHS)
        rows.append(
            out.CashRow(
                month=month,
                capex=capex,
                opex=opex,
                residual=sold,
                cumulative=total,
                discounted=discounted,
                waited=None if cash.wait is None else cash.waited(month),
                rented_months=cash.rented(month),
            )
        )
    return tuple(rows)


def network_share(bom: out.Bom | None) -> float | None:
    """Return the share of switches, links and side networks in the bill [1]."""
    if bom is None or not bom.total:
        return None
    return sum(line.total for line in bom.lines if line.kind in _NETWORKS) / bom.total


def swing_row(swing: Swing) -> out.SwingRow:
    """Return a swing in the words of the contract."""
    entry = swing.input
    return out.SwingRow(
        input=entry.name,
        label=entry.label,
        unit=entry.unit,
        low=swing.low_value,
        high=swing.high_value,
        at_low=swing.at_low,
        at_high=swing.at_high,
    )


def flip_row(flip: Flip) -> out.FlipRow:
    """Return a break-even in the words of the contract."""
    entry = flip.input
    return out.FlipRow(
        input=entry.name,
        label=entry.label,
        unit=entry.unit,
        likely=entry.likely,
        break_even=flip.value,
        why=flip.why,
    )


def input_rows(inputs: tuple[Input, ...]) -> tuple[InputRow, ...]:
    """Return inputs without the details of their draws."""
    names = [field.name for field in fields(InputRow)]
    return tuple(InputRow(**{name: getattr(entry, name) for name in names}) for entry in inputs)
