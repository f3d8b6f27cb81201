"""What an accelerator-hour costs, and what tokens cost by the time that accelerators spend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.catalog.evidence import date_of
from ffplan.catalog.prices import RentBook, TokenBook
from ffplan.results.serving import ServeCost, TokenPrice

if TYPE_CHECKING:
    from ffplan.catalog.prices import TokenOffer
    from ffplan.catalog.store import Catalog
    from ffplan.serving.load import Steady
    from ffplan.serving.requests import Requests
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
    partial: tuple[str, ...] = ()
    """What it leaves out: the hour costs at least as much."""


def _price_and_peak(setup: ServeSetup, catalog: Catalog) -> tuple[_HourPrice | None, float | None]:
    """Return the price of an accelerator-hour, and the rated peak of the facility [kW].

    Returns:
        An owned hour as `ffplan cost` has it, or the cheapest rent to sign; None if the design has no prices, and no
        offer of the accelerator is known. The peak is None without a design, and where
        parts of it are missing.
    """
    design = setup.fleet.design
    if design is None:
        return _rent(setup, catalog), None
    from ffplan.studies.cost.cost import hour_and_peak

    owned, peak = hour_and_peak(design, catalog)
    if owned is None:
        return _rent(setup, catalog), peak
    whose = "a rented hour in use" if owned.rented else "an owned hour in use"
    return _HourPrice(owned.amount, owned.currency, f"{whose}, as in `ffplan cost`", owned.partial), peak


def _rent(setup: ServeSetup, catalog: Catalog) -> _HourPrice | None:
    """Return the cheapest offers that somebody can sign, the mean over unlike pools; None without any."""
    fleets = [(setup.fleet, setup.decode_gpus)]
    if setup.apart is not None:
        fleets.append((setup.apart.prefill.fleet, setup.prefill_gpus))
    rents = [_offer_of(fleet, catalog) for fleet, _ in fleets]
    known = [rent for rent in rents if rent is not None]
    if len(known) < len(rents):
        return None
    hour = sum(rent.hour * gpus for rent, (_, gpus) in zip(known, fleets, strict=True)) / setup.gpus
    names = " and ".join(dict.fromkeys(rent.source for rent in known))
    return _HourPrice(hour, known[0].currency, f"rent {names}, by the paid hour")


def _offer_of(fleet: Fleet, catalog: Catalog) -> _HourPrice | None:
    from ffplan.design.ownership import offers_for
    from ffplan.design.ownership_schema import Rent
    from ffplan.studies.cost.parts import signable

    book = catalog.entry(Rent().book).part
    assert isinstance(book, RentBook)
    known = [
        _HourPrice(float(book.offers[name].price.value), book.currency, name)
        for name in offers_for(book, fleet.accelerator.id)
        if signable(book.offers[name], fleet.gpus)
    ]
    return min(known, key=lambda price: (price.hour, price.source)) if known else None


def token_price(catalog: Catalog, model: str, requests: Requests) -> TokenPrice | None:
    """Return the cheapest offer that sells tokens of a model, of all token books; None without any."""
    aside = catalog.fork()  # books without the offer are no files of the report
    books = {
        name: part for name in catalog.ids_of("token-book") if isinstance(part := aside.entry(name).part, TokenBook)
    }
    found = [
        (api_cost(offer, requests), name, offer_id)
        for name, book in books.items()
        for offer_id, offer in book.offers.items()
        if offer.model == model
    ]
    if not found:
        return None
    price, name, offer_id = min(found)
    catalog.entry(name)
    book, offer = books[name], books[name].offers[offer_id]
    return TokenPrice(
        offer=offer_id,
        provider=offer.provider,
        date=date_of(offer.output, book.sources),
        currency=book.currency,
        per_million_output_all=price,
    )


def api_cost(offer: TokenOffer, requests: Requests) -> float:
    """Return the price of requests over a million of their output tokens [currency per million].

    Equation:
        (computed x input + shared x cached) / output tokens + output

    Source:
        Definition: providers bill prompt tokens, those in their cache at a price of its own, and output tokens.
    """
    cached = offer.cached or offer.input
    prompts = float(requests.computed) * offer.input.value + float(requests.shared) * cached.value
    return prompts / float(requests.output) + offer.output.value


def token_cost(setup: ServeSetup, requests: Requests, steady: Steady, price: _HourPrice) -> ServeCost:
    """Return the cost of tokens of a load.

    Equation:
        a copy's hour, with its part of accelerators that no copy uses, over its tokens of an hour; prompts take the
        fraction of the time that they are computed, or their own accelerators, answers the rest

    Source:
        Time-driven cost: what both kinds of tokens use is the accelerator's time.
    """
    hour = price.hour * setup.bearing
    outputs = float(steady.rate) * float(requests.output) * 3600 / 1e6
    inputs = float(steady.rate) * float(requests.prompt) * 3600 / 1e6
    share = setup.prompt_share(requests, steady)
    return ServeCost(
        currency=price.currency,
        accelerator_hour=price.hour,
        per_million_output=hour * (1 - share) / outputs,
        per_million_input=hour * share / inputs,
        per_million_output_all=hour / outputs,
        partial=price.partial,
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
