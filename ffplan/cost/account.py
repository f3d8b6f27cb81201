"""The account of a cluster: purchase and yearly cost from any draw of its inputs.

One function of named inputs, floats or arrays, behind the report, the draws, the tornado and every break-even.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number
from ffplan.base.record import record
from ffplan.cost.bom import line_total
from ffplan.cost.capital import yearly_capital
from ffplan.cost.power import HOURS_PER_YEAR
from ffplan.cost.rent import MONTHS, RentTerm, prepaid_year
from ffplan.cost.run import (
    DAY,
    MILLION,
    _embodied_carbon,
    _site_water,
    accelerator_hours,
    run_carbon,
    run_cost,
    run_energy,
    run_seconds,
)
from ffplan.cost.site import PDUS_PER_RACK
from ffplan.cost.yearly import SHARES_OF_HARDWARE

if TYPE_CHECKING:
    from collections.abc import Mapping

    Values = Mapping[str, Number]

HARDWARE_LIFE = "hardware_life"
"""Input of the life of rented hardware, over which its embodied carbon is spread; that of `life` is the contract's."""


@record
class Account:
    """Fixed base of the account: counts and powers, which no input changes."""

    parts: tuple[tuple[str, float], ...]
    """Priced parts with their numbers, spares included; none of a rented fleet. Pieces of phases with other prices are
    weighted by their price over the book's."""
    accelerators: int
    bearing: int
    """Accelerators that jobs run on [1]: they bear what all of the site costs, draws and embodies, those of other kinds
    included, so that hardware that stands idle makes no job cheaper."""
    servers: int
    switches: int
    links: int
    racks: int
    training_w: float
    """IT power in training [W]."""
    idle_nodes_w: float
    """Rated maximum of the servers whose idle power is unknown [W]."""
    idle_known_w: float
    """IT power without load of everything else [W]."""
    rated_w: float
    """IT power at the rated maximum [W]."""
    liquid_w: float
    """Rated power removed by liquid [W]."""
    facility: str
    rented: bool
    term: RentTerm
    """Terms of the rent; unused for a bought cluster."""
    extras_month: float
    """Extras billed by a provider [currency per month]."""
    within: tuple[tuple[str, float, float], ...] = ()
    """Parts contained in other parts' prices: id, number and contained price [currency]; their price changes are added
    to those prices."""


@record
class RunJob:
    """A training job on the cluster."""

    gpus: int
    """Accelerators it holds."""
    tokens: float
    tokens_s: float
    """Tokens a second at the model's step time [1/s]."""
    tflops_gpu: float
    """Model TFLOP/s of an accelerator."""


@record
class YearAccount:
    """Result of an account; every number has the shape of its inputs."""

    purchase: dict[str, Number]
    """Purchase by kind [currency]; the discount is negative; empty for a rented fleet."""
    capex: Number
    """Sum of the purchase [currency]."""
    building: Number
    """Price of an own building [currency]."""
    yearly: dict[str, Number]
    """Cost of a year by kind [currency per year]."""
    year: Number
    """Their sum [currency per year]."""
    hour: Number
    """Cost of an accelerator-hour in use, of those that jobs run on [currency]."""
    energy_mwh: Number
    """Energy of a year at the meter [MWh]."""
    carbon_t: Number
    """Carbon of that energy [t CO2e]."""
    water_m3: Number
    """Water of a year [m3]."""
    embodied_t: Number
    """Embodied carbon of the hardware [t CO2e]."""


@record
class RunOutcome:
    """Result of a job; every number has the shape of its inputs."""

    days: Number
    hours: Number
    """Accelerator-hours [h]."""
    cost: Number
    """[currency]"""
    per_million: Number
    """Cost of a million tokens [currency]."""
    energy_mwh: Number
    carbon_t: Number
    """Energy and hardware [t CO2e]."""
    carbon_energy_t: Number
    """Of the energy alone [t CO2e]."""
    water_m3: Number
    petaflop_day: Number
    """Cost of a petaFLOP/s of model arithmetic kept up for a day [currency]."""


def purchase(account: Account, v: Values) -> dict[str, Number]:
    """Return the purchase by kind [currency].

    Args:
        v: inputs by name.

    Equation:
        hardware = sum of quantity * price + sum over parts within others of quantity * (price - price that the others
        hold); freight, installation = share * hardware after discount; cabling = labour * cables; racks * (rack + 2
        PDUs); liquid cooling = price * W

    Source:
        Definition.
    """
    listed: Number = 0.0
    for part, quantity in account.parts:
        listed = listed + line_total(quantity, v[f"price.{part}"])
    # contained parts are paid with the part around them: only a change of their price adds
    for part, quantity, price in account.within:
        listed = listed + line_total(quantity, v[f"price.{part}"] - price)
    # negative, so that the kinds of purchase add up
    discount = -v.get("discount", 0.0) * listed
    hardware = listed + discount
    return {
        "hardware": listed,
        "discount": discount,
        "freight": v.get("freight", 0.0) * hardware,
        "installation": v.get("installation", 0.0) * hardware,
        "cabling_labour": v.get("cabling_labour", 0.0) * account.links,
        "racks": account.racks * (v.get("rack", 0.0) + PDUS_PER_RACK * v.get("rack_pdu", 0.0)),
        "liquid_cooling": v.get("liquid_cooling", 0.0) * account.liquid_w,
    }


def mean_power(account: Account, v: Values) -> tuple[Number, Number]:
    """Return IT power in training, and without load [W].

    Args:
        v: inputs by name.

    Equation:
        training = power * expected; idle = known idle power + idle share * rated maximum of the other servers

    Source:
        Definition.
    """
    idle = account.idle_known_w + v["idle"] * account.idle_nodes_w
    return v["power"] * account.training_w, idle


def _rented_year(account: Account, v: Values, used_hours: Number) -> dict[str, Number]:
    """Return the cost of a year of a rented fleet by kind [currency per year]."""
    term = account.term
    # without commitment only hours in use are paid
    whole = v["rent"] * (account.accelerators * HOURS_PER_YEAR if term.committed else used_hours)
    prepaid = prepaid_year(whole, term, v["capital"])
    return {"rent": (1 - term.upfront) * whole, "prepaid": prepaid, "extras": account.extras_month * MONTHS}


def _owned_year(account: Account, v: Values, bought: dict[str, Number]) -> dict[str, Number]:
    """Return the cost of a year of owned hardware and its staff by kind [currency per year]."""
    hardware = bought["hardware"] + bought["discount"]
    adders = sum(bought.values()) - hardware
    life, rate = v["life"], v["capital"]
    return {
        "hardware": yearly_capital(hardware, v["residual"], rate, life),
        # freight, labour and racks have no residual value
        "installation": yearly_capital(adders, 0.0, rate, life),
        **{name: v.get(share, 0.0) * hardware for name, share in SHARES_OF_HARDWARE.items()},
        "licences": v.get("licence", 0.0) * account.accelerators,
        "staff": v.get("staff", 0.0) * account.accelerators / 1000 * v.get("salary", 0.0),
    }


def _housing_year(account: Account, v: Values, building: Number) -> dict[str, Number]:
    """Return the yearly cost of a building, or of space in one [currency per year]."""
    if account.facility == "own":
        return {"building": yearly_capital(building, 0.0, v["capital"], v["building_life"])}
    if account.facility == "colocation":
        return {"colocation": v["colocation"] * account.rated_w / 1e3 * MONTHS}
    # times PUE, as An et al., arXiv 2408.14158, section VIII-C, count the rent of racks
    if account.facility == "racks":
        return {"colocation": v["rack_rent"] * account.racks * v["pue"] * MONTHS}
    return {}


def _building(account: Account, v: Values) -> Number:
    """Return the price of an own building [currency]; 0 without one."""
    return v["building"] * account.rated_w if account.facility == "own" else 0.0


def whole_purchase(account: Account, v: Values) -> Number:
    """Return the purchase with an own building [currency]."""
    return sum(purchase(account, v).values()) + _building(account, v)


def buys(name: str) -> bool:
    """Return whether a purchase takes an input."""
    return name.startswith("price.") or name in _BUYS


_BUYS = {"discount", "freight", "installation", "cabling_labour", "rack", "rack_pdu", "liquid_cooling", "building"}


def account_year(account: Account, v: Values) -> YearAccount:
    """Return the purchase and the yearly cost of a cluster.

    Args:
        v: inputs by name.

    Returns:
        Amounts [currency, MWh, t, m3] in the shape of the inputs.

    Equation:
        year = capital + building + support + licences + staff + energy + colocation (rent of racks times PUE, as An et
        al., arXiv 2408.14158, section VIII-C, have it, or price * rated kW); hour = year / (accelerators that
        jobs run on * 8,760 h * utilisation); energy at u * training + (1 - u) * idle power, times PUE

    Source:
        Definition of total cost of ownership.
    """
    use = v["utilisation"]
    training, idle = mean_power(account, v)
    watts = use * training + (1 - use) * idle
    energy = run_energy(HOURS_PER_YEAR, watts, v["pue"])
    bought = {} if account.rented else purchase(account, v)
    capex: Number = sum(bought.values())
    used_hours = account.accelerators * HOURS_PER_YEAR * use
    job_hours = account.bearing * HOURS_PER_YEAR * use
    building: Number = 0.0 if account.rented else _building(account, v)
    if account.rented:
        yearly = _rented_year(account, v, used_hours)
    else:
        yearly = _owned_year(account, v, bought) | {"electricity": energy * 1e3 * v["electricity"]}
        yearly |= _housing_year(account, v, building)
    year = sum(yearly.values())
    return YearAccount(
        purchase=bought,
        capex=capex,
        building=building,
        yearly=yearly,
        year=year,
        hour=year / job_hours,
        energy_mwh=energy,
        carbon_t=run_carbon(energy, v["grid"]),
        # water is stated over IT energy, hence without PUE
        water_m3=_site_water(energy / v["pue"], v.get("water", 0.0)),
        embodied_t=_embodied_kg(account, v) / 1e3,
    )


def _embodied_kg(account: Account, v: Values) -> Number:
    """Return the embodied carbon of the hardware [kg CO2e].

    Args:
        v: inputs by name.

    Equation:
        sum of count * kg over accelerators, servers, switches and cables

    Source:
        Definition; cradle to gate.
    """
    return (
        v.get("embodied_accelerator", 0.0) * account.accelerators
        + v.get("embodied_server", 0.0) * account.servers
        + v.get("embodied_switch", 0.0) * account.switches
        + v.get("embodied_link", 0.0) * account.links
    )


def account_run(account: Account, job: RunJob, year: YearAccount, v: Values) -> RunOutcome:
    """Return a job's cost, energy and carbon: its share of the year by accelerator-hours.

    Args:
        v: inputs by name; `speed` and `speed_own` are the model's errors.

    Returns:
        Amounts in the shape of the inputs.
    """
    speed = v.get("speed", 1.0) * v.get("speed_own", 1.0)
    effort = v.get("effort", 1.0)
    seconds = run_seconds(job.tokens, job.tokens_s * speed, v["effective"], effort)
    hours = accelerator_hours(job.gpus, seconds)
    # a run never idles
    training, _ = mean_power(account, v)
    watts = training / account.bearing
    energy = run_energy(hours, watts, v["pue"])
    carbon = run_carbon(energy, v["grid"])
    # hours in use: idle hours are borne by the jobs that run
    life_hours = v.get(HARDWARE_LIFE, v["life"]) * HOURS_PER_YEAR * v["utilisation"]
    embodied = _embodied_carbon(_embodied_kg(account, v) / account.bearing, hours, life_hours)
    cost = run_cost(hours, year.hour)
    # petaFLOP/s of progress: what restarts repeat does not count
    useful = job.tflops_gpu * speed * v["effective"] / effort / 1e3
    return RunOutcome(
        days=seconds / DAY,
        hours=hours,
        cost=cost,
        per_million=cost / job.tokens * MILLION,
        energy_mwh=energy,
        carbon_t=carbon + embodied,
        carbon_energy_t=carbon,
        water_m3=_site_water(energy / v["pue"], v.get("water", 0.0)),
        petaflop_day=year.hour * 24 / useful,
    )
