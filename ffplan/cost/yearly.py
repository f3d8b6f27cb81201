"""Kinds of yearly cost: label, derivation and inputs."""

from __future__ import annotations

from ffplan.base.record import record

_CAPITAL = "ffplan.cost.capital:yearly_capital"


@record
class _YearlyCost:
    label: str
    """For people."""
    inputs: tuple[str, ...]
    """Names of its inputs in the account, or a prefix ending in a dot."""
    how: str = ""
    """Derivation; empty if `place` gives it."""
    place: str = ""
    """Function with its equation."""
    capital: bool = False
    """It pays for the purchase, and is not a running cost."""
    of_hardware: str = ""
    """Input that it is a share of the hardware by, discount taken off; empty if the account has a formula for it."""


YEARLY = {
    "hardware": _YearlyCost(
        label="hardware: write-off and capital",
        inputs=("discount", "residual", "capital", "life", "price."),
        place=_CAPITAL,
        capital=True,
    ),
    "installation": _YearlyCost(
        label="freight, racks, installation",
        inputs=("freight", "installation", "cabling_labour", "rack", "rack_pdu", "liquid_cooling", "capital"),
        how="yearly capital of freight, installation, cabling and racks",
        capital=True,
    ),
    "building": _YearlyCost(
        label="building: write-off and capital",
        inputs=("building", "building_life", "capital"),
        place=_CAPITAL,
        capital=True,
    ),
    "support": _YearlyCost(
        label="support and maintenance",
        inputs=("support", "discount", "price."),
        how="share of the hardware after discount",
        of_hardware="support",
    ),
    "licences": _YearlyCost(label="software licences", inputs=("licence",), how="licence * accelerators"),
    "staff": _YearlyCost(
        label="staff", inputs=("staff", "salary"), how="staff for 1,000 accelerators * accelerators / 1,000 * salary"
    ),
    "electricity": _YearlyCost(
        label="electricity",
        inputs=("electricity", "power", "idle", "pue", "utilisation"),
        how="energy of a year * price",
    ),
    "colocation": _YearlyCost(
        label="colocation", inputs=("colocation", "rack_rent"), how="price * rated kW * 12 months"
    ),
    "rent": _YearlyCost(
        label="rent", inputs=("rent", "utilisation"), how="rent of an hour in use * hours in use of a year"
    ),
    "prepaid": _YearlyCost(
        label="rent paid upfront: write-off and capital",
        inputs=("rent", "capital"),
        place="ffplan.cost.rent:prepaid_year",
        capital=True,
    ),
    "extras": _YearlyCost(
        label="storage, egress and support of the provider",
        inputs=("extras",),
        how="provider's separate monthly charges * 12 months",
    ),
}
"""Kinds of cost of a year by their stable names."""
SHARES_OF_HARDWARE = {name: kind.of_hardware for name, kind in YEARLY.items() if kind.of_hardware}
"""Kinds that are shares of the hardware, with the input of each."""
