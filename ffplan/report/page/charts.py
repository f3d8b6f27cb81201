"""Which charts a result has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import amount
from ffplan.inputs.workloads import PoolPlan
from ffplan.report.document import MeasuredCurve, _Chart, _Point
from ffplan.report.page.sweep_charts import _scale_chart, _sweep_charts
from ffplan.results.comparison import Comparison
from ffplan.results.cost import CostStudy, benchmark
from ffplan.results.design import Assessment
from ffplan.results.fleet_plan import FleetPlan
from ffplan.results.serve_comparison import ServeComparison
from ffplan.results.sweep import SweepReport
from ffplan.results.training import TrainReport

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.results.collective import CollectiveReport
    from ffplan.results.cost import CashRow, RentRow, SwingRow, Tco
    from ffplan.results.run import Band, StepPart

MOST_TERMS = 8
"""Terms of a bound that a chart shows, the tightest first."""
FAR = 5.0
"""Multiple of the least term beyond which a term is not shown [1]."""
MOST_SWINGS = 10
_MONTHS_SHOWN = 24
"""Points of a line of cash, about [1]."""
_PAIR = 2
MOST_PARTS = 6
"""Parts of a step that a chart shows alone, the largest [1]."""
SMALL = 0.004
"""Part of a whole below which a line of a bill goes with the rest [1]."""

Named = tuple[tuple[str, Assessment], ...]
Curves = tuple[MeasuredCurve, ...]


def _cost(named: Named) -> _Chart | None:
    points = [
        _Point(name, total, series=kind)
        for name, assessment in named
        if (cost := assessment.cost) is not None
        for kind in dict.fromkeys(line.category for line in cost.lines)
        if (total := sum(line.total for line in cost.lines if line.category == kind))
    ]
    currencies = {assessment.cost.currency for _, assessment in named if assessment.cost}
    if not points or len(currencies) > 1:
        return None
    return _Chart(
        title="Total price",
        kind="stack",
        unit=currencies.pop(),
        points=tuple(points),
        note="The priced scope of each design; the tables list what it leaves out.",
    )


def _power(named: Named) -> _Chart:
    points = []
    for name, assessment in named:
        power = assessment.power
        points += [_Point(name, n.training_w * n.count / 1e3, series=f"{n.role} nodes") for n in power.nodes]
        points.append(_Point(name, power.network_kw, series="network"))
        points.append(_Point(name, power.facility_kw - power.it_kw, series="cooling and losses"))
    return _Chart(
        title="Facility power in training",
        kind="stack",
        unit="kW",
        points=tuple(points),
        note="IT power in training, and what PUE adds.",
        lead=True,
    )


def _bound(name: str, report: CollectiveReport) -> _Chart:
    terms = sorted(report.bound.terms, key=lambda term: term.gbyte_s)[:MOST_TERMS]
    terms = [term for term in terms if term.gbyte_s <= FAR * terms[0].gbyte_s]
    points = [_Point("timed", report.algbw_gbyte_s, series="time")]
    points += [
        _Point(term.label, term.gbyte_s, series="bound", low=term.low_gbyte_s, high=term.high_gbyte_s) for term in terms
    ]
    return _Chart(
        title=f"{name}: what bounds {report.library}",
        kind="bars",
        unit="GB/s",
        points=tuple(points),
        note=f"What each resource alone allows; the least binds: {report.bound.limited_by_label}. Lines: known ranges.",
    )


def _bands(title: str, unit: str, rows: Sequence[tuple[str, Band | None]], note: str) -> _Chart | None:
    points = [_Point(name, band.likely, low=band.p10, high=band.p90) for name, band in rows if band is not None]
    return _Chart(title=title, kind="bars", unit=unit, points=tuple(points), note=note, lead=True) if points else None


def _swings(title: str, unit: str, base: float, rows: Sequence[SwingRow]) -> _Chart | None:
    points = [
        _Point(row.label, base, low=row.at_low, high=row.at_high)
        for row in rows[:MOST_SWINGS]
        if row.at_low != row.at_high
    ]
    note = "Each input alone at its P10 and its P90; the line is the likely value."
    return _Chart(title=title, kind="tornado", unit=unit, points=tuple(points), note=note) if points else None


def _parts(rows: Sequence[tuple[str, Sequence[StepPart]]]) -> _Chart | None:
    sums: dict[str, float] = {}
    for _, parts in rows:
        for part in parts:
            sums[part.label] = sums.get(part.label, 0.0) + part.seconds
    if not sums:
        return None
    largest = sorted(sums, key=lambda label: -sums[label])[: MOST_PARTS + (len(sums) == MOST_PARTS + 1)]
    points = [
        _Point(name, part.seconds, series=part.label) for name, parts in rows for part in parts if part.label in largest
    ]
    for name, parts in rows:
        if rest := sum(part.seconds for part in parts if part.label not in largest):
            points.append(_Point(name, rest, series="other"))
    note = "Parts sum to the step; hidden communication is not counted."
    return _Chart(title="Where a step goes", kind="stack", unit="s", points=tuple(points), note=note, lead=True)


def _compare_charts(comparison: Comparison, measured: Curves = ()) -> list[_Chart | None]:
    named = tuple(zip(comparison.labels, comparison.designs, strict=True))
    charts: list[_Chart | None] = []
    money = comparison.money
    if money is not None:
        runs = [(side.label, side.run) for side in money.sides]
        charts.append(
            _bands(
                "A million tokens",
                money.currency,
                [(name, run.cost_per_million_tokens if run else None) for name, run in runs],
                "Bars are likely values, lines P10 to P90.",
            )
        )
        charts.append(_bands("Days of the run", "days", [(name, run.days if run else None) for name, run in runs], ""))
        charts.append(_compared_cash(comparison))
        for difference in money.differences:
            title = f"What drives the difference: {difference.label} less {difference.against}"
            charts.append(
                _swings(title, f"{money.currency} a million tokens", difference.difference.likely, difference.tornado)
            )
    if comparison.training is not None:
        size = next(job_size for job_size in comparison.training.sizes if job_size.batch == comparison.training.batch)
        charts.append(_parts([(name, side.parts) for name, side in zip(comparison.labels, size.sides, strict=True)]))
    charts += [_cost(named), _power(named), _scale_chart(named, measured)]
    charts += [_bound(name, assessment.communication[0]) for name, assessment in named if assessment.communication]
    return charts


def _design_charts(assessment: Assessment, measured: Curves = ()) -> list[_Chart | None]:
    named = ((assessment.design.name, assessment),)
    bounds = [replace(_bound(assessment.design.name, report), lead=True) for report in assessment.communication]
    return [_scale_chart(named, measured), *bounds, _cost(named), _power(named)]


def _train_charts(report: TrainReport) -> list[_Chart | None]:
    rows = report.rows[:8]
    places = [f"#{number} on " if report.searched else "" for number in range(1, len(rows) + 1)]
    names = [f"{place}{row.plan.gpus:,} GPUs" for place, row in zip(places, rows, strict=True)]
    first = rows[0]
    gains = _Chart(
        title="Speed-up from 10 % more of a resource",
        kind="bars",
        unit="%",
        points=tuple(_Point(gain.label, 100 * gain.faster) for gain in first.gains),
        note="The longest binds.",
    )
    memory = [
        _Point(f"stage {stage.stage + 1}", value, series=label)
        for stage in first.stages
        for label, value in (
            ("weights", stage.weights_gib),
            ("gradients", stage.gradients_gib),
            ("optimizer", stage.optimizer_gib),
            ("activations", stage.activations_gib),
            ("logits", stage.logits_gib),
            ("working", stage.working_gib),
        )
    ]
    note = f"Limit {first.limit_gib:.1f} GiB."
    held = _Chart(title="Memory of a rank", kind="stack", unit="GiB", points=tuple(memory), note=note)
    return [_parts([(name, row.parts) for name, row in zip(names, rows, strict=True)]), gains, held]


def _cost_charts(study: CostStudy) -> list[_Chart | None]:
    charts: list[_Chart | None] = []
    if study.run is not None and study.uncertainty is not None:
        band = study.run.cost_per_million_tokens
        if band is not None:
            rows = [(study.design.name, band)]
            charts.append(_bands("A million tokens", study.currency, rows, "The line is P10 to P90."))
        charts.append(_parts([(study.design.name, study.run.parts)]))
    if study.uncertainty is not None and study.tco is not None:
        token = study.run.cost_per_million_tokens if study.run else None
        base = (token or study.tco.per_accelerator_hour).likely
        what = "a million tokens" if token else "an accelerator-hour"
        charts.append(_swings(f"What decides {what}", study.currency, base, study.uncertainty.tornado))
    return [_cash(study), *charts, _bill(study), _year(study), _site_power(study)]


def _bill(study: CostStudy) -> _Chart | None:
    if study.bom is None or not study.bom.total:
        return None
    sums: dict[str, float] = {}
    for line in study.bom.lines:
        sums[line.kind] = sums.get(line.kind, 0.0) + line.total
    small = sum(value for value in sums.values() if abs(value) < SMALL * study.bom.total)
    kept = {kind: value for kind, value in sums.items() if abs(value) >= SMALL * study.bom.total}
    points, total = [], 0.0
    for kind, value in {**kept, **({"smaller lines": small} if small else {})}.items():
        points.append(_Point(kind, value, series="line", low=total, high=total + value))
        total += value
    points.append(_Point("total", total, series="total", low=0.0, high=total))
    note = "Each bar begins where the one before ended."
    return _Chart(title="Bill of materials", kind="waterfall", unit=study.currency, points=tuple(points), note=note)


def _year(study: CostStudy) -> _Chart | None:
    if study.tco is None:
        return None
    points = tuple(_Point(study.design.name, row.amount, series=row.label) for row in study.tco.yearly)
    return _Chart(title="A year", kind="stack", unit=f"{study.currency} a year", points=points)


def _cash(study: CostStudy) -> _Chart | None:
    if study.tco is None:
        return None
    tco = study.tco
    rent = benchmark(tco.rents)
    points = _cash_points("rented" if tco.facility == "rented" else "owned", tco.cash_flow, 1, waits=rent is not None)
    if rent is not None:
        points += _rented(tco.cash_flow, rent, f"rented: {rent.offer}", 1)
    return _Chart(
        title="Cash so far, owned against rented" if rent else "Cash so far",
        kind="lines",
        unit=study.currency,
        points=tuple(points),
        x_title="months since the order",
        note=_even(rent, tco),
        lead=True,
    )


def _cash_points(series: str, flow: Sequence[CashRow], share: int, *, waits: bool) -> list[_Point]:
    """Return the cash of owning by month; `waits` adds what they cost, `share` divides by accelerators."""
    return [
        _Point(
            f"month {row.month}",
            (row.cumulative + (row.waited or 0.0 if waits else 0.0)) / share,
            x=float(row.month),
            series=series,
        )
        for row in _shown(flow)
    ]


def _rented(flow: Sequence[CashRow], rent: RentRow, series: str, share: int) -> list[_Point]:
    return [
        _Point(f"month {row.month}", rent.month / share * row.rented_months, x=float(row.month), series=series)
        for row in _shown(flow)
    ]


def _shown(flow: Sequence[CashRow]) -> tuple[CashRow, ...]:
    step = max(1, len(flow) // _MONTHS_SHOWN)
    return (*flow[:-1:step], flow[-1])


def _compared_cash(c: Comparison) -> _Chart | None:
    """Return the cash of owning each design, beside the rent of each where two have one; by GPU if sizes differ."""
    sides = [side for side in c.money.sides if side.cash_flow] if c.money is not None else []
    if c.money is None or len(sides) < len(c.labels):
        return None
    counts = {label: design.accelerators for label, design in zip(c.labels, c.designs, strict=True)}
    apart = len(set(counts.values())) > 1
    rents = [side.rent for side in sides if side.rent is not None]
    against = len(rents) == len(sides) == _PAIR
    points: list[_Point] = []
    for side in sides:
        share = counts[side.label] if apart else 1
        points += _cash_points(side.label, side.cash_flow, share, waits=against)
        if against and side.rent is not None:
            points += _rented(side.cash_flow, side.rent, f"{side.label} rented: {side.rent.offer}", share)
    even = [
        f"{side.label} is even with its rent {side.rent.break_even_months_from_order:.0f} months after the order."
        for side in sides
        if against and side.rent is not None and side.rent.break_even_months_from_order is not None
    ]
    waits = against and any(side.cash_flow[-1].waited for side in sides)
    note = " ".join((*even, *(["Owned includes what the wait costs."] if waits else [])))
    return _Chart(
        title="Cash so far, owned against rented" if against else "Cash so far",
        kind="lines",
        unit=f"{c.money.currency} a GPU" if apart else c.money.currency,
        points=tuple(points),
        x_title="months since the order",
        note=note,
        lead=True,
    )


def _even(rent: RentRow | None, tco: Tco) -> str:
    if rent is None:
        return ""
    wait = tco.cash_flow[-1].waited
    bridge = f" Owned includes {amount(wait, 3)} {tco.currency} for the wait." if wait else ""
    if rent.break_even_months_from_order is None:
        return f"Owning never breaks even: {rent.why}.{bridge}" if rent.why else bridge.strip()
    return f"Even {rent.break_even_months_from_order:.0f} months after the order.{bridge}"


def _site_power(study: CostStudy) -> _Chart:
    points = [
        _Point(part.name, value, series=state)
        for part in study.power.parts
        for state, value in (("idle", part.idle_kw), ("training", part.training_kw), ("rated", part.rated_kw))
    ]
    return _Chart(title="Power by kind", kind="bars", unit="kW", points=tuple(points))


def _pareto(report: ServeComparison) -> _Chart:
    """Return the plans of each design that no other of its plans beats."""
    points = [
        _Point(
            str(PoolPlan.of(choice.plan)), choice.output_tokens_s_gpu, x=choice.output_tokens_s_user, series=side.label
        )
        for side in report.sides
        for choice in sorted(side.choices, key=lambda choice: choice.output_tokens_s_user)
    ]
    return _Chart(
        title="Throughput against speed to a user",
        kind="lines",
        unit="tokens a second and accelerator",
        points=tuple(points),
        x_title="tokens a second to a user",
        note="Plans that no other of the same design beats, on average.",
        lead=True,
    )


def _demand(plan: FleetPlan, name: str) -> _Chart:
    points = [
        _Point(quarter.quarter, value, x=float(place), series=series)
        for place, quarter in enumerate(plan.quarters, 1)
        for series, value in (
            ("needed", quarter.demand[name].needed.p50),
            ("capacity", quarter.demand[name].capacity.p50),
            ("capacity, P10", quarter.demand[name].capacity.p10),
            ("needed, P90", quarter.demand[name].needed.p90),
        )
    ]
    return _Chart(
        title=f"{name}: demand and capacity",
        kind="lines",
        unit=plan.units[name],
        points=tuple(points),
        x_title=f"quarters from {plan.start}",
        lead=True,
    )


CHARTS: dict[type, Callable[[Any, Curves], list[_Chart | None]]] = {
    Comparison: _compare_charts,
    Assessment: _design_charts,
    TrainReport: lambda found, _: _train_charts(found),
    CostStudy: lambda found, _: _cost_charts(found),
    FleetPlan: lambda found, _: [_demand(found, name) for name in found.models],
    ServeComparison: lambda found, _: [_pareto(found)],
    SweepReport: lambda found, _: _sweep_charts(found),
}
"""Charts by the kind of result; other results have none."""


def _charts_of(value: Any, measured: Curves = ()) -> list[_Chart]:
    make = CHARTS.get(type(value))
    return [chart for chart in (make(value, measured) if make else []) if chart is not None and chart.points]
