"""The price of a NIC as an input of its own, where the price of a server holds its NICs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.cost.inputs import Input, price_inputs

if TYPE_CHECKING:
    from ffplan.studies.cost.ledger import Ledger


def _held(ledger: Ledger) -> dict[str, float]:
    """Return how many NICs of each kind the prices of the servers hold, spares included."""
    bought = dict(ledger.account.parts)
    extra = [ledger.owned.storage] if ledger.owned.storage else []
    groups = {group.server.id: group for group in (*ledger.design.groups, *extra)}
    found: dict[str, float] = {}
    for name, group in groups.items():
        for nic in (*group.nics, *group.left_out):
            found[nic.id] = found.get(nic.id, 0.0) + bought.get(name, 0.0)
    return {name: count for name, count in found.items() if count}


def _inputs(ledger: Ledger, names: tuple[str, ...]) -> dict[str, Input]:
    """Return prices of NICs by id, from the design's book, else from that of the ownership profile."""
    found: dict[str, Input] = {}
    for book in (ledger.owned.side_prices, ledger.design.prices):
        rate = ledger.owned.rate_of(book.currency) if book else None
        if book is not None and rate is not None:
            found |= {item.name.removeprefix("price."): item for item in price_inputs(book, rate, names)}
    return found


def with_nic_prices(ledger: Ledger) -> Ledger:
    """Return a design's account in which a change of a NIC's price changes the prices of the servers that hold it.

    It serves break-evens alone: draws leave a NIC within a server at its price, since the range of the server's price
    is that of its NICs as well.

    Args:
        ledger: the design with its account.

    Equation:
        price of a server = its price + sum over its NICs of (price of the NIC - price of the NIC today)

    Source:
        Definition.
    """
    held = _held(ledger)
    prices = _inputs(ledger, tuple(held))
    within = tuple((name, held[name], price.likely) for name, price in prices.items())
    known = {item.name for item in ledger.inputs}
    new = tuple(item for item in prices.values() if item.name not in known)
    return replace(ledger, account=replace(ledger.account, within=within), inputs=(*ledger.inputs, *new))
