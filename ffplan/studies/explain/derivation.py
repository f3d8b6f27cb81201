"""Figures of an assessment with their equations, and the values that they are made of."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.formatting import dated
from ffplan.figures.origins import figure_at, unit_of
from ffplan.studies.explain.explain import _declared, derived, given

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.results.collective import CollectiveReport
    from ffplan.results.cost import CostStudy
    from ffplan.results.design import Assessment, CostReport
    from ffplan.results.explanation import Derivation
    from ffplan.results.run import RunReport
    from ffplan.results.training import TrainReport
    from ffplan.studies.explain.explain import _Places

_SIZING = "ffplan.fabric.sizing.formulas"
ROLES = {
    "leaf": f"{_SIZING}:leaf_switches",
    "spine": f"{_SIZING}:two_tier_spines",
    "core": f"{_SIZING}:core_equal_stripe",
}
POLICIES = {
    "minimal": f"{_SIZING}:core_minimal",
    "per-rail-whole-pods": f"{_SIZING}:core_per_rail_whole_pods",
    "equal-stripe": f"{_SIZING}:core_equal_stripe",
}


def _lines(cost: CostReport, categories: tuple[str, ...] | None, places: _Places | None) -> tuple[Derivation, ...]:
    lines = [line for line in cost.lines if categories is None or line.category in categories]
    most = max((line.total for line in lines), default=0.0)
    return tuple(
        derived(
            f"{line.quantity:,} x {line.part}",
            line.total,
            cost.currency,
            "ffplan.cost.bom:line_total",
            (
                given("quantity", float(line.quantity), "", how=f"counted from the design: {line.category}"),
                given(
                    "unit price",
                    line.unit_price,
                    cost.currency,
                    source=f"price book {cost.price_book}, a price {dated(line.date)}; {line.grade}, "
                    f"status {line.status}",
                    place=places.price(cost.price_book, line.part) if places and cost.price_book else "",
                ),
            ),
            binds=line.total == most,
        )
        for line in lines
    )


_NETWORK = ("switches", "endpoint-links", "inter-switch-links")
_COSTS = {
    "total": None,
    "network": _NETWORK,
    "servers": ("servers",),
    "storage": ("storage",),
    "per_accelerator": None,
}


def _cost_parts(assessment: Assessment, field: str, places: _Places | None) -> tuple[tuple[Derivation, ...], str]:
    if assessment.cost is None or field not in _COSTS:
        return (), ""
    how = "sum of the lines"
    return _lines(
        assessment.cost, _COSTS[field], places
    ), f"{how} over accelerators" if field == "per_accelerator" else how


def _collective_parts(report: CollectiveReport, places: _Places | None) -> tuple[Derivation, ...]:
    row = next((row for row in report.scales if row.gpus == report.ranks), None)
    parts = []
    if row is not None:
        pieces = [
            ("latency", row.latency_s, "what does not grow with the message"),
            ("stream", row.stream_s, f"message over the rate of {row.limited_by_label}"),
            ("pipeline fill", row.fill_s, "filling of the pipeline inside nodes and along hops"),
        ]
        longest = max(seconds for _, seconds, _ in pieces)
        steps = tuple(given(name, s, "s", how=how, binds=s == longest) for name, s, how in pieces)
        parts.append(derived("time", report.time_s, "s", "ffplan.collectives.latency:transfer_time", steps))
    size = "`communication.message_size` of the design"
    parts.append(given("message", report.message_bytes, "byte", source=size, place=_at(places, *_MESSAGE)))
    least = min(term.gbyte_s for term in report.bound.terms)
    terms = tuple(
        given(term.label, term.gbyte_s, "GB/s", how=term.derivation, binds=term.gbyte_s == least)
        for term in sorted(report.bound.terms, key=lambda term: term.gbyte_s)
    )
    parts.append(derived("bound", report.bound.algbw_gbyte_s, "GB/s", "ffplan.collectives.volumes:rate", terms))
    if report.ledger_operations is not None:
        label, place = "host-memory operations of the busiest node", "ffplan.collectives.hfreduce:ledger_total"
        steps = tuple(
            given(line.step, float(line.operations), "per byte", how=f"{line.kind}s") for line in report.ledger
        )
        parts.append(derived(label, report.ledger_operations, "per byte", place, steps))
    return tuple(parts)


_MESSAGE = ("communication", "message_size")


def _at(places: _Places | None, *path: str) -> str:
    return places.stated(*path) if places else ""


def _switch_parts(assessment: Assessment, places: _Places | None) -> tuple[Derivation, ...]:
    fabric, parts = assessment.fabric, []
    counts, zone_place = fabric.switches, _at(places, "fabric", "inter_zone")
    for role in ("leaf", "spine", "core", "interzone", "router"):
        count = getattr(counts, role, 0)
        if not count:
            continue
        place = POLICIES.get(fabric.core_policy or "", ROLES["core"]) if role == "core" else ROLES.get(role, "")
        if role == "leaf" and fabric.family in ("rail-optimised", "top-of-rack"):
            place = f"{_SIZING}:rail_leaves"
        if role == "spine" and fabric.tiers == 3:
            place = f"{_SIZING}:pod_spines"
        if role == "router":
            place = "ffplan.fabric.sizing.low_diameter:dragonfly_groups"
        if place:
            parts.append(derived(f"{role} switches", float(count), "", place))
        else:
            parts.append(
                given(
                    f"{role} switches", float(count), "", source="`fabric.inter_zone` of the design", place=zone_place
                )
            )
    return tuple(parts)


def _power_parts(assessment: Assessment, places: _Places | None) -> tuple[Derivation, ...]:
    power = assessment.power
    nodes = [
        derived(
            f"{node.count:,} {node.role} nodes, {node.server}",
            node.training_w * node.count / 1e3,
            "kW",
            "ffplan.cost.power:training_power",
            (given("one node", node.training_w, "W", how=node.training_grade),),
        )
        for node in power.nodes
    ]
    return (
        *nodes,
        derived("switches and links", power.network_kw, "kW", "ffplan.cost.power:component_sum"),
        given("PUE", power.pue, "", source="`site.pue` of the design", place=_at(places, "site", "pue")),
    )


def _training_parts(report: TrainReport) -> tuple[Derivation, ...]:
    row = report.rows[0]
    parts = [given(part.label, part.seconds, "s", binds=index == 0) for index, part in enumerate(row.parts)]
    gains = [given(f"10 % more: {gain.label}", 100 * gain.faster, "% faster") for gain in row.gains[:5]]
    return (*parts, *gains)


def _run_parts(
    run: RunReport, study: CostStudy, field: str, *, factors: tuple[Derivation, ...], tokens_at: str
) -> tuple[Derivation, ...]:
    """Return what a figure of a run is made of: time, money, energy or carbon, and nothing of the others."""
    tokens = given("tokens", run.tokens, "", place=tokens_at)
    rate = given("tokens a second", run.tokens_s, "1/s", how=f"step {run.step_s:.4g} s, MFU {100 * run.mfu:.1f} %")
    pace = (tokens, rate, *factors)
    if field == "days":
        return pace
    gpus = given("accelerators of the job", run.gpus, "")
    whole = (gpus, derived("days", run.days.likely, "days", "ffplan.cost.run:run_seconds", pace))
    hours = derived("accelerator-hours", run.accelerator_hours.likely, "h", "ffplan.cost.run:accelerator_hours", whole)
    energy = _energy_parts(run, study, hours)
    if field.startswith("energy"):
        return energy
    if field.startswith("carbon"):
        return _carbon_parts(run, energy)
    return (hours, *_hour_parts(study), tokens)


def _energy_parts(run: RunReport, study: CostStudy, hours: Derivation) -> tuple[Derivation, ...]:
    """Return hours, watts and PUE of a run's energy."""
    watts = run.energy_mwh.likely * 1e6 / (run.accelerator_hours.likely * study.power.pue)
    how = "IT power in training of the cluster / accelerators that jobs run on"
    it = given("IT power in training", study.power.it_training_kw, "kW")
    power = replace(given("IT power of an accelerator with its part of the cluster", watts, "W", how=how), steps=(it,))
    return hours, power, given("PUE", study.power.pue, "")


def _carbon_parts(run: RunReport, energy: tuple[Derivation, ...]) -> tuple[Derivation, ...]:
    """Return the carbon of a run's energy, and of its part of the hardware."""
    used = derived("energy", run.energy_mwh.likely, "MWh", "ffplan.cost.run:run_energy", energy)
    grid = given("carbon intensity of the grid", 1e3 * run.carbon_energy_t / run.energy_mwh.likely, "g CO2e/kWh")
    of_energy = derived("of energy", run.carbon_energy_t, "t CO2e", "ffplan.cost.run:run_carbon", (used, grid))
    how = "embodied carbon of the hardware * accelerator-hours of the run / hours in use over its life"
    return of_energy, given("of the hardware", run.carbon_t.likely - run.carbon_energy_t, "t CO2e", how=how)


def _hour_parts(study: CostStudy) -> tuple[Derivation, ...]:
    """Return the price of an accelerator-hour in use; nothing without prices."""
    if study.tco is None:
        return ()
    most = max((row.amount for row in study.tco.yearly), default=0.0)
    rows = tuple(
        given(row.label, row.amount, f"{study.currency}/year", binds=row.amount == most) for row in study.tco.yearly
    )
    hour, place = study.tco.per_accelerator_hour.likely, "ffplan.cost.account:account_year"
    return (derived("an accelerator-hour in use", hour, f"{study.currency}/h", place, rows),)


_BY_PATH: dict[str, Callable[[Assessment, _Places | None], tuple[Derivation, ...]]] = {
    "fabric.switches.total": _switch_parts,
    "power.it_kw": lambda found, places: _power_parts(found, places)[:-1],
    "power.facility_kw": _power_parts,
}


def derivation_of(
    assessment: Assessment, path: str, value: float, meaning: str, places: _Places | None = None
) -> Derivation:
    """Return the derivation of a figure of an assessment.

    Args:
        meaning: its description, which names its unit.
        places: files of the design and its parts, for the lines of what it is made of; none if omitted.
    """
    unit = unit_of(meaning).replace("electricity_currency", assessment.power.electricity_currency or "")
    inner: tuple[Derivation, ...] = ()
    how = ""
    head, _, field = path.partition(".")
    if head == "cost":
        inner, how = _cost_parts(assessment, field, places)
        unit = assessment.cost.currency if assessment.cost else unit
    elif match := re.fullmatch(r"communication\[([0-9]{1,9})\]\.(algbw_gbyte_s|busbw_gbyte_s|time_s)", path):
        inner = _collective_parts(assessment.communication[int(match[1])], places)
        how = "message over time" if match[2] == "algbw_gbyte_s" else ""
    else:
        make = _BY_PATH.get(path)
        inner = make(assessment, places) if make else ()
        how = "sum of the parts" if inner else ""
    return _declared(path, value, unit, figure_at(assessment, path), inner, how)
