"""The figures of a cost study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.outcomes import BomLine
from ffplan.cost.account import HARDWARE_LIFE
from ffplan.cost.yearly import YEARLY
from ffplan.figures.figure import Figure
from ffplan.results.cost import (
    Bom,
    CashRow,
    FlipRow,
    PhaseReport,
    PowerPart,
    RentRow,
    SitePower,
    SwingRow,
    Tco,
    Waiting,
    YearRow,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.figures.figure import Table

HOUR = ("utilisation", "life", "capital", "residual", "support", "colocation", "electricity", "pue", "rent", "price.")
"""Inputs of the price of an accelerator-hour."""
DRAWN = ("power", "idle", "pue", "utilisation")
"""Inputs of power over a year."""
EMBODIED = ("embodied_accelerator", "embodied_server", "embodied_switch", "embodied_link")
CARBON = ("grid", *EMBODIED, "life", HARDWARE_LIFE, "utilisation")
_CASH = ("capital", "residual", "life", "lead_time", "commissioning")
_POWER = "ffplan.cost.power"


def _year(row: YearRow) -> Figure:
    kind = YEARLY[row.name]
    return Figure(place=kind.place, how=kind.how, inputs=kind.inputs)


def _priced(line: BomLine) -> Iterator[str]:
    dated = f", {line.date}" if line.date else ""
    yield f"{line.part or line.description}: {line.source}{dated}; {line.status}"


def _offered(row: RentRow) -> Iterator[str]:
    yield f"{row.offer} of {row.provider}: {row.term}, {row.date or 'no date'}, status {row.status}"


def _offer(place: str = "", how: str = "", *of: str) -> Callable[[RentRow], Figure]:
    def figure(row: RentRow) -> Figure:
        inputs = ("utilisation", "electricity", "life") if of else ()
        evidence = (f"offers.{row.offer}.price",)
        return Figure(place=place, how=how, of=of, inputs=inputs, evidence=evidence, said=_offered)

    return figure


def _against(name: str) -> Callable[[RentRow], Figure]:
    return _offer(f"ffplan.cost.rent:{name}", "", "price", "tco.capex", "owned_hour")


def _of_input(how: str = "", place: str = "") -> Callable[[SwingRow | FlipRow], Figure]:
    return lambda row: Figure(how=how, place=place, inputs=(row.input,))


_STANDS = Figure(how="of what stands after the phase")
_MOVED = "the figure with this input at that value, all others likely"

COST: Table = {
    YearRow: {"amount": _year, "share": Figure(how="over the sum", of=("tco.year",))},
    Tco: {
        "year": Figure(how="sum of the rows"),
        "capex": Figure(
            label="purchase at likely prices",
            unit="currency",
            better=-1,
            how="sum of the bill of materials, the building included",
        ),
        "purchase": Figure(how="sum of the bill of materials, the building included", inputs=("price.",)),
        "per_accelerator_hour": Figure(
            label="accelerator-hour",
            unit="currency/h",
            better=-1,
            place="ffplan.cost.account:account_year",
            of=("year", "utilisation", "per_accelerator_hour_paid"),
            inputs=HOUR,
        ),
        "per_accelerator_hour_paid": Figure(place="ffplan.cost.account:account_year", of=("year",), inputs=HOUR),
        "total": Figure(
            label="cost over the life",
            unit="currency",
            better=-1,
            place="ffplan.studies.cost.cost:whole_life",
            of=("capex", "years"),
            inputs=("life", "residual"),
        ),
        "network_share": Figure(how="switches, links and side networks over the bill of materials", of=("bom.total",)),
    },
    RentRow: {
        "price": _offer(how="price of the rent book, in this currency"),
        "hour": _against("rented_hour"),
        "month": _offer(how="rent of an accelerator-hour * accelerators * hours paid in a month"),
        "break_even_months": _against("break_even_months"),
        "break_even_months_from_order": _against("break_even_months"),
        "break_even_utilisation": _against("break_even_utilisation"),
    },
    Waiting: {
        "months": Figure(
            label="first job after",
            unit="month",
            better=-1,
            how="lead time + commissioning",
            inputs=("lead_time", "commissioning"),
        ),
        "value": Figure(
            label="cost of that wait",
            unit="currency",
            better=-1,
            how="the design's `delay`, or the rent by the hour",
            inputs=("lead_time", "commissioning"),
        ),
    },
    CashRow: {
        "capex": Figure(how="purchases at their delivery", inputs=_CASH),
        "opex": Figure(how="costs of a year without capital / 12, for what stands", inputs=_CASH),
        "cumulative": Figure(
            how="sum of purchases and running costs so far, less the residual value at the end", inputs=_CASH
        ),
        "discounted": Figure(how="sum of each month / (1 + cost of capital)^(months / 12)", inputs=_CASH),
        "waited": Figure(how="the design's `delay`, or the rent by the hour of what is ordered and not ready"),
        "rented_months": Figure(how="months from each order on, by its part of the accelerators"),
    },
    BomLine: {
        "quantity": lambda line: Figure(how=line.description),
        "unit_price": Figure(said=_priced),
        "total": Figure(place="ffplan.cost.bom:line_total", of=("low", "high"), said=_priced),
        "share": Figure(how="over the sum of the lines"),
    },
    Bom: {
        "total": Figure(
            how="sum of the lines; its ends take every line at the end of its range", of=("total_low", "total_high")
        ),
        "per_accelerator": Figure(how="sum over accelerators", of=("total", "accelerators")),
        "hardware": Figure(how="sum of servers, storage, switches and links that the design plans"),
        "recalled_share": Figure(how="sum of the lines of status R over the sum"),
    },
    PhaseReport: {
        "order_month": Figure(how="given by the design"),
        "ready_month": Figure(how="order, lead time and commissioning"),
        "capex": Figure(how="quantity * price of what the phase adds, with its part of adders"),
        **dict.fromkeys(("accelerators", "switches", "spare_ports", "racks", "it_rated_kw"), _STANDS),
    },
    PowerPart: {
        "training_kw": Figure(place=f"{_POWER}:training_power", evidence=("power",), inputs=("power", "idle")),
        "idle_kw": Figure(place=f"{_POWER}:component_sum", evidence=("power",), inputs=("power", "idle")),
        "rated_kw": Figure(place=f"{_POWER}:component_sum", evidence=("power",), inputs=("power", "idle")),
    },
    SitePower: {
        **dict.fromkeys(("it_idle_kw", "it_training_kw", "it_rated_kw"), Figure(how="sum of the rows")),
        "facility_kw": Figure(
            place=f"{_POWER}:facility_power", of=("facility_peak_kw", "it_training_kw"), inputs=("pue",)
        ),
        "facility_peak_kw": Figure(place=f"{_POWER}:facility_power", of=("it_rated_kw",), inputs=("pue",)),
        "racks": Figure(
            how="nodes by what a rack carries in watts and in units; current = rated W / V",
            of=("rack_limit_kw", "fullest_rack_kw", "rack_amperes_54v", "rack_amperes_800v"),
        ),
        "energy_mwh_year": Figure(
            how="8,760 h * (utilisation * power in training + (1 - utilisation) * power without load) * PUE",
            of=("carbon_t_year", "water_m3_year", "embodied_t"),
            inputs=("grid", "water", *DRAWN, *EMBODIED),
        ),
        "liquid_kw": Figure(how="rated IT power times the share", of=("liquid_share", "coolant_l_min")),
    },
    SwingRow: {
        "low": _of_input("10th percentile of the input"),
        "high": _of_input("90th percentile of the input"),
        "at_low": _of_input(_MOVED),
        "at_high": _of_input(_MOVED),
    },
    FlipRow: {
        "likely": _of_input("likely value"),
        "break_even": _of_input(place="ffplan.cost.sensitivity:flips"),
    },
}
