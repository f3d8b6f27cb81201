"""What an accelerator-hour costs, and what tokens cost by the time that accelerators spend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.catalog.prices import RentBook
from ffplan.results.serving import ServeCost

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.serving.load import Requests, Steady
    from ffplan.studies.serve.links import Fleet
    from ffplan.studies.serve.setup import ServeSetup


@record
class _HourPrice:
    """Price of an accelerator-hour in use."""

    hour: float
    """Price [currency/h]."""
    currency: str
    source: str
    """Where it is from, for people."""


def _price_and_peak(setup: ServeSetup, catalog: Catalog) -> tuple[_HourPrice | None, float | None]:
    """Return the price of an accelerator-hour, and the rated peak of the facility [kW].

    Returns:
        An owned hour as `ffplan cost` has it, or the cheapest rent to sign; None if the design has no prices, and no
        offer of the accelerator is known. The peak is None without a design.
    """
    design = setup.fleet.design
    if design is None:
        return _rent(setup.fleet, catalog), None
    from ffplan.studies.cost.cost import hour_and_peak

    owned, peak = hour_and_peak(design, catalog)
    price = None if owned is None else _HourPrice(*owned, "an owned hour in use, as in `ffplan cost`")
    return price or _rent(setup.fleet, catalog), peak


def _rent(fleet: Fleet, catalog: Catalog) -> _HourPrice | None:
    """Return the cheapest offer that somebody can sign for a fleet; None without any."""
    from ffplan.design.ownership import offers_for
    from ffplan.design.ownership_schema import Rent
    from ffplan.studies.cost.parts import signable

    book = catalog.entry(Rent().book).part
    assert isinstance(book, RentBook)
    known = [
        (float(book.offers[name].price.value), name)
        for name in offers_for(book, fleet.accelerator.id)
        if signable(book.offers[name], fleet.gpus)
    ]
    if not known:
        return None
    price, name = min(known)
    return _HourPrice(price, book.currency, f"rent {name}, by the paid hour")


def token_cost(setup: ServeSetup, requests: Requests, steady: Steady, price: _HourPrice) -> ServeCost:
    """Return the cost of tokens of a load.

    Equation:
        a copy's hour over its tokens of an hour; prompts take the fraction of the time that they are computed, or
        their own accelerators, answers the rest

    Source:
        Time-driven cost: what both kinds of tokens use is the accelerator's time.
    """
    hour = price.hour * setup.gpus
    outputs = float(steady.rate) * float(requests.output) * 3600 / 1e6
    inputs = float(steady.rate) * float(requests.prompt) * 3600 / 1e6
    share = setup.prompt_share(requests, steady)
    return ServeCost(
        currency=price.currency,
        accelerator_hour=price.hour,
        per_million_output=hour * (1 - share) / outputs,
        per_million_input=hour * share / inputs,
        per_million_output_all=hour / outputs,
    )


def tokens_per_megawatt(tokens_s: float, peak_kw: float) -> float:
    """Return output tokens a second for each megawatt of a facility's rated peak [1/s].

    Args:
        tokens_s: output tokens a second [1/s].
        peak_kw: the peak [kW].

    Equation:
        tokens a second / peak

    Source:
        Definition.
    """
    return tokens_s / peak_kw * 1e3


def _node_rest_power(setup: ServeSetup) -> float:
    """Return an accelerator's part of the rest of its node [W]; 0 without a design."""
    from ffplan.cost.power import component_sum

    design = setup.fleet.design
    if design is None or setup.fleet.accelerator.power is None:
        return 0.0
    group = design.compute
    count = float(group.accelerators_per_node)
    return (component_sum(group) - count * float(setup.fleet.accelerator.power.value)) / count
