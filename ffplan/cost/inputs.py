"""The uncertain inputs of an account: names, ranges, and keys shared between designs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import SHARES
from ffplan.base.outcomes import InputRow
from ffplan.base.record import record
from ffplan.design.ownership import LEAST, booked

if TYPE_CHECKING:
    from ffplan.catalog.prices import PriceBook
    from ffplan.design.ownership import Assumed, ResolvedOwnership


INFINITE = float("inf")


@record
class Input(InputRow):
    """An input with its range, as formulas draw it."""

    key: str
    """Key of its draw; inputs with one key share it."""
    least: float = 0.0
    """Smallest possible value."""
    most: float = INFINITE
    """Largest possible value."""

    @property
    def name(self) -> str:
        """Name in formulas."""
        return self.input

    @property
    def fixed(self) -> bool:
        """Whether its range has no width."""
        return self.distribution == "fixed"


LABELS: dict[str, tuple[str, str]] = {
    "discount": ("volume discount", "1"),
    "freight": ("freight", "1"),
    "installation": ("installation", "1"),
    "cabling_labour": ("labour of a cable", "currency"),
    "rack": ("price of a rack", "currency"),
    "rack_pdu": ("price of a rack PDU", "currency"),
    "liquid_cooling": ("liquid cooling", "currency per W"),
    "support": ("support a year", "1"),
    "licence": ("software licence", "currency per accelerator-year"),
    "staff": ("staff for 1,000 accelerators", "1"),
    "salary": ("cost of a member of staff", "currency per year"),
    "life": ("depreciation life", "year"),
    "residual": ("residual value", "1"),
    "capital": ("cost of capital", "1 per year"),
    "utilisation": ("utilisation", "1"),
    "effective": ("effective training time", "1"),
    "effort": ("time of a run over its plan's", "1"),
    "electricity": ("electricity price", "currency per kWh"),
    "pue": ("PUE", "1"),
    "colocation": ("colocation", "currency per kW-month"),
    "rack_rent": ("rent of a rack", "currency per month"),
    "building": ("building", "currency per W"),
    "building_life": ("life of the building", "year"),
    "idle": ("idle power of servers", "1"),
    "power": ("power over the model's figure", "1"),
    "lead_time": ("lead time", "year"),
    "commissioning": ("commissioning", "year"),
    "grid": ("carbon intensity of the grid", "g per kWh"),
    "water": ("water", "l per kWh"),
    "embodied_accelerator": ("embodied carbon of an accelerator", "kg"),
    "embodied_server": ("embodied carbon of a server", "kg"),
    "embodied_switch": ("embodied carbon of a switch", "kg"),
    "embodied_link": ("embodied carbon of a cable", "kg"),
}
"""Label and unit of profile inputs that the account evaluates; other inputs size the purchase."""
SIZING = (
    "spare_nodes",
    "spare_switches",
    "spare_links",
    "rack_power",
    "switches_per_rack",
    "rack_area",
    "accelerators_per_storage_server",
)
"""Profile inputs that size the purchase; as decisions they keep their likely value."""
NEEDED = (
    "life",
    "residual",
    "capital",
    "utilisation",
    "effective",
    "electricity",
    "pue",
    "idle",
    "power",
    "grid",
    "rack_power",
    "switches_per_rack",
)
"""Inputs required for an account."""
FACILITY = {"colocation": ("colocation",), "racks": ("rack_rent",), "own": ("building", "building_life"), "power": ()}
"""Inputs of each kind of facility."""
P5_TO_P95 = 3.2897
"""Standard deviations from P5 to P95 of a normal distribution."""
P10_TO_P90 = 2.5631
"""The same from P10 to P90."""


BOUNDS: dict[str, tuple[float, float]] = {
    **{name: (least, INFINITE) for name, least in LEAST.items()},
    **dict.fromkeys(SHARES, (0.0, 1.0)),
    **{name: (LEAST[name], 1.0) for name in ("utilisation", "effective")},
    "pue": (1.0, INFINITE),
}
"""Smallest and largest value of an input, if not 0 and infinity; they cut a distribution's tails."""


def _input(name: str, label: str, unit: str, figure: Assumed, *, key: str | None = None) -> Input:
    least, most = BOUNDS.get(name, (0.0, INFINITE))
    return Input(
        input=name,
        key=key or name,
        label=label,
        unit=unit,
        likely=figure.likely,
        low=figure.low,
        high=figure.high,
        distribution=figure.distribution,
        source=figure.source,
        status=figure.status,
        date=figure.date,
        least=least,
        most=most,
    )


def profile_inputs(owned: ResolvedOwnership) -> list[Input]:
    """Return the ownership inputs of an account, without inputs for other facilities."""
    others = {name for kind, names in FACILITY.items() if kind != owned.facility for name in names}
    return [
        _input(name, *LABELS[name], figure)
        for name, figure in owned.inputs.items()
        if name in LABELS and name not in others
    ]


def price_inputs(book: PriceBook, rate: float, parts: tuple[str, ...]) -> list[Input]:
    """Return the prices of parts as inputs.

    Args:
        rate: value of a unit of its currency [currency].
        parts: catalogue ids; unpriced parts are skipped.
    """
    return [
        _input(f"price.{part}", f"price of {part}", "currency", booked(book, book.items[part], rate))
        for part in parts
        if part in book.items
    ]


def stated_input(name: str, figure: Assumed) -> Input:
    """Return a figure that a file states as an input, which draws by its own name."""
    return _input(name, name, "1", figure)


def rent_input(price: Assumed, offer: str) -> Input:
    """Return the rent of a fleet as an input.

    Args:
        price: rent of an accelerator-hour [currency].
    """
    return _input("rent", f"rent of {offer}", "currency per hour", price, key=f"rent.{offer}")


def error_input(name: str, key: str, label: str, band: float, source: str) -> Input:
    """Return an error of the model as an input: a factor around 1.

    Args:
        name: name in formulas.
        key: key of its draw.
        label: name for people.
        band: holds 80 % of errors, as from P10 to P90 [1].
        source: runs behind the error.

    Equation:
        lognormal with sigma = band / 1.2816

    Source:
        80 % of a normal distribution lie within 1.2816 of its standard deviations.
    """
    from math import exp

    # from half of P10 to P90 to a standard deviation, and on to half of P5 to P95
    half = band / P10_TO_P90 * P5_TO_P95
    return Input(
        input=name,
        key=key,
        label=label,
        unit="1",
        likely=1.0,
        low=exp(-half),
        high=exp(half),
        distribution="lognormal" if band else "fixed",
        source=source,
        date=None,
        status="D",
    )
