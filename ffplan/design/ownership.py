"""Ownership or rent of a design with every name resolved: the profile, overridden by the design."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ffplan.base.errors import Finding, InputError, did_you_mean
from ffplan.base.record import record
from ffplan.catalog.evidence import date_of
from ffplan.catalog.ownership import Estimate, OwnershipFields, OwnershipProfile, SideNetwork
from ffplan.catalog.parts import Link, Part, Switch
from ffplan.catalog.prices import PriceBook, RentBook, Term
from ffplan.design.ownership_schema import Ownership, Rent
from ffplan.design.ownership_sizing import _default_storage
from ffplan.design.resolved import ResolvedGroup
from ffplan.inputs.quantities import Money

if TYPE_CHECKING:
    from ffplan.catalog.evidence import PriceFigure
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign

P = TypeVar("P", bound=Part)


@record
class Assumed:
    """A numeric input of the account."""

    likely: float
    low: float
    high: float
    distribution: str
    """Shape between low and high; `fixed` if they are equal."""
    source: str
    """Origin, in words."""
    status: str
    """Status of the figure; `given` if the design states it."""
    date: str | None = None
    """Date of the source."""


@record
class SideFabric:
    """A side network with its parts."""

    name: str
    """storage-network, in-band or out-of-band."""
    sizing: SideNetwork
    switch: Switch
    link: Link


@record
class _RentTerms:
    price: Assumed
    """An accelerator-hour [currency]."""
    term: Term
    offer: str | None
    """Offer of the book; None if the design states a price."""
    provider: str
    extras_month: float
    """Extras billed by the provider [currency per month]."""
    upfront: float = 0.0
    """Share of the term's rent paid upfront [1]."""


LEAST = {
    "utilisation": 0.01,
    "effective": 0.01,
    "life": 0.25,
    "building_life": 0.25,
    "switches_per_rack": 1.0,
    "rack_power": 1.0,
}
"""Smallest value of inputs used as divisors, in their units."""


@record
class ResolvedOwnership:
    """Resolved inputs of owning or renting a design."""

    currency: str
    profile: OwnershipProfile
    inputs: dict[str, Assumed]
    """Inputs by field of the profile, without fields that both files omit."""
    side_prices: PriceBook | None
    """Prices of storage and side networks missing in the design's book."""
    facility: str
    liquid: float | None
    """Share of the servers' heat removed by liquid, if stated by the design [1]."""
    storage: ResolvedGroup | None
    """Storage servers for a design that plans none."""
    networks: tuple[SideFabric, ...]
    exchange: dict[str, float]
    """Value of a unit of another currency [currency]."""
    rent_book: RentBook | None
    """Offers to compare ownership with; None if not requested."""
    rent: _RentTerms | None
    delay_month: float | None
    """Stated value of a month without the cluster [currency]."""

    @property
    def rents(self) -> RentBook:
        """The requested offers to compare ownership with."""
        assert self.rent_book is not None
        return self.rent_book

    def rate_of(self, currency: str) -> float | None:
        """Return the value of one unit of a currency [currency]; None if unknown."""
        return 1.0 if currency == self.currency else self.exchange.get(currency)


def _number(value: Any, rates: dict[str, float]) -> float:
    """Return a value without its currency, converted at a known rate."""
    return value.amount * rates[value.currency] if isinstance(value, Money) else float(value)


def _currencies(estimate: Estimate) -> set[str]:
    return {value.currency for value in (estimate.value, estimate.low, estimate.high) if isinstance(value, Money)}


def assumed(estimate: Estimate, rates: dict[str, float], sources: dict[str, Any] | None) -> Assumed:
    """Return an estimate as a numeric input.

    Args:
        rates: value of a unit of each currency [currency].
        sources: sources of the profile; None for a figure of the design.
    """
    low, high = (_number(value, rates) for value in estimate.range)
    likely = _number(estimate.value, rates)
    shape = "fixed" if low == high else estimate.distribution or "triangular"
    if sources is None:
        return given(likely, low, high, shape)
    source = sources[estimate.source]
    return Assumed(
        likely=likely,
        low=low,
        high=high,
        distribution=shape,
        source=source.title,
        status=estimate.status or source.status,
        date=source.date,
    )


def given(likely: float, low: float | None = None, high: float | None = None, shape: str = "fixed") -> Assumed:
    """Return an input stated by the design or the command line."""
    return Assumed(
        likely=likely,
        low=likely if low is None else low,
        high=likely if high is None else high,
        distribution=shape,
        source="the design",
        status="given",
    )


class _Resolver:
    """Collects every fault before the ownership is refused."""

    def __init__(self, design: ResolvedDesign, catalog: Catalog) -> None:
        self.design, self.catalog = design, catalog
        self.document, self.spec = design.document, design.spec
        self.owned: Ownership = design.ownership if design.ownership is not None else Ownership.model_construct()
        self.faults: list[Finding] = []

    def part(self, model: type[P], name: str, path: tuple[str | int, ...]) -> P:
        return self.catalog.get(model, name, self.document, path)

    def inner(self, model: type[P], name: str, owner: str, path: tuple[str | int, ...]) -> P:
        return self.catalog.get(model, name, self.catalog.entry(owner).document, path)

    def fault(self, path: tuple[str | int, ...], message: str, remedy: str, rule: str = "currency-mixed") -> None:
        self.faults.append(self.document.finding(rule, path, message, remedy))

    def rates(self, currency: str) -> dict[str, float]:
        """Return the value of a unit of every currency with a stated rate."""
        rates = {currency: 1.0}
        for name, value in self.spec.site.exchange.items():
            path = ("site", "exchange", name)
            if name == currency:
                self.fault(path, f"the report is in {currency} already", "remove this rate")
            elif value.currency != currency:
                fault = f"a rate into {value.currency}; the report is in {currency}"
                self.fault(path, fault, f"write it in {currency}")
            elif value.amount <= 0:
                self.fault(path, "a currency without value", "write what one unit of it is worth", "number-range")
            else:
                rates[name] = value.amount
        return rates

    def known(self, estimate: Estimate, rates: dict[str, float], path: tuple[str | int, ...]) -> bool:
        """Refuse an estimate in a currency without a rate."""
        foreign = sorted(_currencies(estimate) - set(rates))
        for name in foreign:
            self.fault(path, *_no_rate(name, next(iter(rates))))
        return not foreign

    def inputs(self, profile: OwnershipProfile, rates: dict[str, float]) -> dict[str, Assumed]:
        """Return every input: the design's figure, else the profile's."""
        inputs = {}
        for name in OwnershipFields.model_fields:
            stated, default = getattr(self.owned, name), getattr(profile, name)
            estimate = stated if stated is not None else default
            field = name if stated is not None else "profile"
            if estimate is None or not self.known(estimate, rates, ("ownership", field)):
                continue
            inputs[name] = assumed(estimate, rates, None if stated is not None else profile.sources)
            if name in LEAST and inputs[name].low < LEAST[name]:
                fault = f"`{name}` may be {inputs[name].low:g}; at least {LEAST[name]:g} is wanted"
                self.fault(("ownership", field), fault, f"write at least {LEAST[name]:g}", "number-range")
        return inputs

    def effort(self, inputs: dict[str, Assumed], rates: dict[str, float], profile: OwnershipProfile) -> None:
        """Add the effort: time of a run over its fastest plan's, unless the profile has none."""
        known = profile.effort.get(self.owned.effort)
        if known is not None:
            inputs["effort"] = assumed(known, rates, profile.sources)
        elif "effort" in self.owned.model_fields_set:
            remedy = did_you_mean(self.owned.effort, profile.effort, what=f"effort of `{profile.id}`")
            self.fault(("ownership", "effort"), f"`{profile.id}` has no such effort", remedy, "reference-unknown")

    def site(self, inputs: dict[str, Assumed], rates: dict[str, float], profile: OwnershipProfile) -> None:
        """Apply the site's PUE and electricity price; the profile gives the PUE's relative range."""
        site, ownership = self.spec.site, self.owned
        assert site.pue is not None
        if ownership.pue is None and site.cooling is not None:
            inputs["pue"] = assumed(profile.pue_by_cooling[site.cooling], rates, profile.sources)
        elif ownership.pue is None and "pue" in inputs:
            inputs["pue"] = _rescaled(inputs["pue"], site.pue)
        elif ownership.pue is not None and float(ownership.pue.value) != site.pue:
            self.fault(
                ("ownership", "pue"),
                f"PUE {float(ownership.pue.value):g}, where `site.pue` is {site.pue:g}",
                f"keep one likely value: write `likely: {site.pue:g}` with a range, or leave it out",
                "number-range",
            )
        price = site.electricity_price
        if price is None:
            return
        if price.currency not in rates:
            self.fault(("site", "electricity_price"), *_no_rate(price.currency, next(iter(rates))))
        elif ownership.electricity is None:
            value = price.amount * rates[price.currency]
            inputs["electricity"] = given(value)
        else:
            self.fault(
                ("ownership", "electricity"),
                "`site.electricity_price` gives the price of energy already",
                "keep one of the two; `ownership.electricity` takes a range",
                "number-range",
            )

    def networks(self, profile: OwnershipProfile) -> tuple[SideFabric, ...]:
        fabrics = []
        for field in ("storage_network", "in_band", "out_of_band"):
            sizing = getattr(profile, field)
            if sizing is None:
                continue
            switch = self.inner(Switch, sizing.switch, profile.id, (field, "switch"))
            link = self.inner(Link, sizing.link, profile.id, (field, "link"))
            fabrics.append(SideFabric(field.replace("_", "-"), sizing, switch, link))
        return tuple(fabrics)

    def rent(self, rates: dict[str, float]) -> _RentTerms | None:
        rent: Rent | None = self.design.rent
        if rent is None:
            return None
        extras = _number(rent.extras, rates) if rent.extras and rent.extras.currency in rates else 0.0
        if rent.extras and rent.extras.currency not in rates:
            self.fault(("rent", "extras"), *_no_rate(rent.extras.currency, next(iter(rates))))
        if rent.price is not None:
            if not self.known(rent.price, rates, ("rent", "price")):
                return None
            lowest: Any = rent.price.range[0]
            if lowest.amount <= 0:
                self.fault(("rent", "price"), "a rent of nothing", "write a price above 0", "number-range")
            assert rent.term is not None
            return _RentTerms(
                price=assumed(rent.price, rates, None),
                term=rent.term,
                offer=None,
                provider="",
                extras_month=extras,
                upfront=rent.upfront or 0.0,
            )
        book = self.part(RentBook, rent.book, ("rent", "book"))
        offer = book.offers.get(rent.offer or "")
        if offer is None:
            remedy = did_you_mean(rent.offer or "", book.offers, what="offer")
            self.fault(("rent", "offer"), f"no offer `{rent.offer}` in `{book.id}`", remedy, "reference-unknown")
            return None
        accelerator = self.design.compute.accelerator
        if accelerator is not None and offer.accelerator != accelerator.id:
            self.fault(
                ("rent", "offer"),
                f"`{rent.offer}` rents `{offer.accelerator}`; the compute nodes have `{accelerator.id}`",
                did_you_mean(rent.offer or "", offers_for(book, accelerator.id), what=f"offer of `{accelerator.id}`"),
                "reference-kind",
            )
        if book.currency not in rates:
            self.fault(("rent", "book"), *_no_rate(book.currency, next(iter(rates))))
            return None
        return _RentTerms(
            price=booked(book, offer.price, rates[book.currency]),
            term=offer.term,
            offer=rent.offer,
            provider=offer.provider,
            extras_month=extras,
            upfront=offer.upfront if rent.upfront is None else rent.upfront,
        )


def offers_for(book: RentBook, accelerator: str) -> list[str]:
    """Return the offers of an accelerator."""
    return [name for name, offer in book.offers.items() if offer.accelerator == accelerator]


def _no_rate(currency: str, target: str) -> tuple[str, str]:
    return (
        f"an amount in {currency}, with no rate into {target}",
        f"state the rate: `site: {{exchange: {{{currency}: 1.00 {target}}}}}` with what one unit is worth",
    )


def booked(book: PriceBook | RentBook, figure: PriceFigure, rate: float) -> Assumed:
    """Return a book price as an input.

    Args:
        rate: value of a unit of its currency [currency].
    """
    source = book.sources[figure.source]
    low, high = figure.range
    return Assumed(
        likely=figure.value * rate,
        low=low * rate,
        high=high * rate,
        distribution="fixed" if low == high else "triangular",
        source=f"{book.id}: {source.title}",
        status=figure.status or source.status,
        date=date_of(figure, book.sources),
    )


def _rescaled(pue: Assumed, value: float) -> Assumed:
    """Return the site's own PUE with the relative range of the profile's overhead."""
    # only the overhead above 1 scales: 1 is the IT power itself
    scale = (value - 1) / (pue.likely - 1) if pue.likely > 1 else 1.0
    low, high = 1 + (pue.low - 1) * scale, 1 + (pue.high - 1) * scale
    shape = pue.distribution if low < high else "fixed"
    rescaled = replace(pue, likely=value, low=low, high=high, distribution=shape)
    return replace(rescaled, source="the design", status="given") if shape == "fixed" else rescaled


def _report_currency(design: ResolvedDesign) -> str | None:
    """Return the report currency: the site's, else its electricity price's, else the target of exchange rates."""
    site = design.spec.site
    if site.currency:
        return site.currency
    if site.electricity_price:
        return site.electricity_price.currency
    exchange = design.spec.site.exchange
    return next(iter(exchange.values())).currency if exchange else None


def _storage(
    design: ResolvedDesign, catalog: Catalog, profile: OwnershipProfile, inputs: dict[str, Assumed]
) -> ResolvedGroup | None:
    """Return the storage servers added to a design that plans none."""
    if design.rent or (design.spec.cost is not None and "storage" in design.spec.cost.exclude):
        return None
    per_server = inputs.get("accelerators_per_storage_server")
    return _default_storage(design, catalog, profile, per_server.likely if per_server else None)


def resolve_ownership(design: ResolvedDesign, catalog: Catalog, *, offers: bool = True) -> ResolvedOwnership:
    """Resolve the inputs of owning or renting a design.

    Raises:
        InputError: with a located finding for every unknown name, and every amount without a rate.
    """
    resolver = _Resolver(design, catalog)
    spec = resolver.owned
    profile = resolver.part(OwnershipProfile, spec.profile, ("ownership", "profile"))
    rents = resolver.part(RentBook, spec.rents, ("ownership", "rents")) if offers else None
    currency = _report_currency(design) or profile.currency
    rates = resolver.rates(currency)
    inputs = resolver.inputs(profile, rates)
    resolver.effort(inputs, rates, profile)
    resolver.site(inputs, rates, profile)
    if design.prices is not None and design.prices.currency not in rates:
        resolver.fault(("cost", "price_book"), *_no_rate(design.prices.currency, currency))
    if spec.delay is not None and spec.delay.currency not in rates:
        resolver.fault(("ownership", "delay"), *_no_rate(spec.delay.currency, currency))
    rent = resolver.rent(rates)
    side = resolver.inner(PriceBook, profile.price_book, profile.id, ("price_book",)) if profile.price_book else None
    if side is not None and side.currency not in rates:
        resolver.fault(("ownership", "profile"), *_no_rate(side.currency, currency))
    if resolver.faults:
        raise InputError(*resolver.faults)
    return ResolvedOwnership(
        currency=currency,
        profile=profile,
        inputs=inputs,
        side_prices=side,
        facility=spec.facility,
        liquid=float(spec.liquid.value) if spec.liquid else None,
        storage=_storage(design, catalog, profile, inputs),
        networks=resolver.networks(profile),
        exchange={name: rate for name, rate in rates.items() if name != currency},
        rent_book=rents,
        rent=rent,
        delay_month=_number(spec.delay, rates) if spec.delay else None,
    )
