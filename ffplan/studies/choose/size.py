"""Every family of networks that holds a number of endpoints, with one switch and one price book."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, get_args

from ffplan.base.record import record
from ffplan.catalog.parts import Switch
from ffplan.catalog.prices import PriceBook
from ffplan.design.schema import CorePolicy
from ffplan.design.tier_faults import no_split
from ffplan.fabric.sizing.families import Request, candidates
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import SizeOption, SizeReport

if TYPE_CHECKING:
    from ffplan.fabric.sizing.families import Candidate


class SizeError(ValueError):
    """The switch does not fit the request; the message is for people."""


@record
class SizeRequest:
    """A request for families of fabrics."""

    endpoints: int
    switch: Switch
    breakout: int = 1
    """Ports that each port of the switch is split into."""
    tiers: tuple[int, ...] = (1, 2, 3)
    planes: tuple[int, ...] = (2, 4, 8)
    rails: int = 8
    """NICs of a node."""
    oversubscription: float = 1.0
    """Most downlinks per uplink of a leaf."""
    core_policy: str = "equal-stripe"
    prices: PriceBook | None = None
    endpoint_link: str | None = None
    """Catalogue id of the link from a NIC; free where not named."""
    link: str | None = None
    """Catalogue id of the link between switches; free where not named."""


_Prices = tuple[float, float, float]
"""Prices of a switch, an endpoint link and a link between switches."""


def _prices(query: SizeRequest, book: PriceBook) -> tuple[_Prices | None, tuple[str, ...]]:
    """Return the prices, and the parts without one; None if nothing has a price.

    Links that are not named are free; a part without a price adds nothing to the sum, which is partial then.
    """
    parts = (query.switch.id, query.endpoint_link, query.link)
    named = [part for part in parts if part is not None]
    missing = tuple(dict.fromkeys(part for part in named if part not in book.items))
    if len(missing) == len(set(named)):
        return None, missing
    switch, endpoint, between = (
        float(book.items[part].value) if part is not None and part in book.items else 0.0 for part in parts
    )
    return (switch, endpoint, between), missing


def _option(candidate: Candidate, query: SizeRequest, radix: int, prices: _Prices | None) -> SizeOption:
    cost, endpoints = None, query.endpoints
    if prices:
        # the links of one port share its cable
        shared = candidate.links_per_cable * query.breakout
        cables = ceil(candidate.endpoint_links / shared), ceil(candidate.inter_switch_links / shared)
        cost = candidate.switches * prices[0] + cables[0] * prices[1] + cables[1] * prices[2]
    return SizeOption(
        family=candidate.family,
        endpoints=candidate.endpoints,
        capacity=candidate.capacity,
        switches=candidate.switches,
        by_role={"leaf": candidate.leaf, "spine": candidate.spine, "core": candidate.core, "router": candidate.router},
        inter_switch_links=candidate.inter_switch_links,
        spare_ports=candidate.endpoints - endpoints,
        next_endpoints=candidate.next_endpoints,
        next_switches=candidate.next_switches,
        ports_per_endpoint=candidate.switches * radix / endpoints,
        diameter=candidate.diameter,
        cost=cost,
        cost_per_endpoint=None if cost is None else cost / endpoints,
        note=candidate.note,
    )


def _check(query: SizeRequest) -> None:
    bounds = {
        "endpoints": ((query.endpoints,), 2, 100_000_000),
        "breakout": ((query.breakout,), 1, 8),
        "rails": ((query.rails,), 1, 512),
        "tiers": (query.tiers, 1, 3),
        "planes": (query.planes, 2, 64),
    }
    for name, (values, low, high) in bounds.items():
        if not all(isinstance(value, int) and low <= value <= high for value in values):
            raise SizeError(f"{name}: whole numbers from {low:,} to {high:,}")
    if query.oversubscription < 1:
        raise SizeError("oversubscription: 1 or more downlinks per uplink")
    if query.core_policy not in get_args(CorePolicy):
        raise SizeError(f"core_policy: one of {', '.join(get_args(CorePolicy))}")


def size(query: SizeRequest) -> SizeReport:
    """Return the families that hold some endpoints, fewest switches first, and the others.

    Raises:
        SizeError: if a port cannot be split so far.
    """
    _check(query)
    part, breakout, book = query.switch, query.breakout, query.prices
    if why := no_split(part, breakout):
        raise SizeError(f"--breakout {breakout}: {why}")
    splits = part.splits.value if part.splits else None
    radix = int(part.ports.value) * breakout
    costs, missing = _prices(query, book) if book else (None, ())
    plans, small = candidates(
        Request(
            endpoints=query.endpoints,
            radix=radix,
            rails=query.rails,
            ratio=query.oversubscription,
            core_policy=query.core_policy,
            tiers=tuple(sorted(set(query.tiers))),
            planes=tuple(sorted(set(query.planes))),
            most_split=None if splits is None else splits // breakout,
        )
    )
    return SizeReport(
        schema_version=SCHEMA_VERSION,
        endpoints=query.endpoints,
        switch=part.id,
        radix=radix,
        port_gbyte_s=float(part.rate.value) / breakout,
        currency=book.currency if book else None,
        missing=missing,
        options=tuple(_option(plan, query, radix, costs) for plan in plans),
        too_small=tuple(small),
    )
