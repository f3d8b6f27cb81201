"""What a cluster costs to buy, to own or to rent, what a training run on it costs, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import Number, maximum
from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.base.version import __version__
from ffplan.catalog.prices import TERM_YEARS
from ffplan.cost.account import HARDWARE_LIFE, Account, RunJob, RunOutcome, YearAccount, account_run, account_year
from ffplan.cost.draws import sample
from ffplan.cost.inputs import Input, rent_input
from ffplan.cost.power import HOURS_PER_YEAR
from ffplan.cost.rent import MONTHS, RentTerm, rented_hour
from ffplan.cost.run import MILLION, PETAFLOP_DAY, run_operations
from ffplan.cost.sensitivity import flips, likely, tornado
from ffplan.design.ownership import given
from ffplan.results import cost as out
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.result import ToolInfo
from ffplan.results.run import Band, RunReport
from ffplan.studies.basis.provenance import announced, design_info, files_read, recalled_figures
from ffplan.studies.cost.ledger import CostRequest, Ledger, _ledger_of, _speed_inputs, with_nic_prices
from ffplan.studies.cost.parts import (
    _cash_of,
    _Drawn,
    _rent_rows,
    _running_month,
    _year_rows,
    bom_report,
    cash_flow,
    flip_row,
    input_rows,
    network_share,
    no_rent,
    power_report,
    swing_row,
    waiting,
)
from ffplan.studies.cost.phases import _phase_reports, _priced_counts
from ffplan.studies.cost.words import _cost_assumptions, headline, outlives, run_words

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.cost.account import Values
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.train.default_job import TimedJob

_QUANTILES = (0.1, 0.5, 0.9)


def ledger_for(design: ResolvedDesign, catalog: Catalog, request: CostRequest) -> Ledger:
    """Return a design with its account, over the years asked for.

    Raises:
        InputError: for a design without accelerators, whose hours costs are counted by.
    """
    if not design.compute.accelerators_per_node:
        text = f"`{design.compute.server.id}` has no accelerators, by whose hours costs are counted"
        path = ("nodes", design.compute.position, "server")
        raise InputError(design.document.finding("reference-kind", path, text, "choose a server with accelerators"))
    ledger = _ledger_of(design, catalog)
    if design.spec.phases and ledger.owned.rent is None:  # a rent by --rent buys nothing in phases
        ledger = replace(ledger, account=replace(ledger.account, parts=_priced_counts(ledger)))
    years, source = request.years, "--years"
    if years is None and ledger.account.term.committed:
        years, source = ledger.account.term.years, "the term of the rent"
    if years is None:
        return ledger
    life = next(entry for entry in ledger.inputs if entry.name == "life")
    new = replace(
        life, likely=years, low=years, high=years, distribution="fixed", source=source, status="given", date=None
    )
    inputs = [new if entry.name == "life" else entry for entry in ledger.inputs]
    if ledger.owned.rent is not None:  # a contract ends, and the provider's hardware lives on
        inputs.append(replace(life, input=HARDWARE_LIFE, key=HARDWARE_LIFE, label="life of the rented hardware"))
    return replace(ledger, inputs=tuple(inputs))


def inputs_for(ledger: Ledger, timed: TimedJob | None, catalog: Catalog, *, drawn: bool = True) -> tuple[Input, ...]:
    """Return the inputs of the account, and the model's errors where a job is timed.

    Its effective training time is the job's goodput, unless the design states one; where only likely values are wanted,
    it needs no draws.
    """
    if timed is None:
        return ledger.inputs
    from ffplan.studies.operate.goodput_job import effective_input  # a cluster without a job needs none of its hazards

    report = timed.report
    speed = _speed_inputs(ledger, report.error_band, min(report.error_band, report.error_within), report.error_basis)
    inputs = (
        effective_input(ledger.design, catalog, timed, entry, drawn=drawn) if entry.name == "effective" else entry
        for entry in ledger.inputs
    )
    return (*inputs, *speed)


def evaluate(account: Account, job: RunJob | None, v: Values) -> tuple[YearAccount, RunOutcome | None]:
    """Return the year and the run of an account from one set of inputs, or arrays of them."""
    year = account_year(account, v)
    return year, account_run(account, job, year, v) if job else None


@record
class _Accounted:
    v: dict[str, Number]
    """Likely values by name."""
    year: YearAccount
    run: RunOutcome | None
    drawn_year: YearAccount
    """Over the draws; the likely year without any."""
    drawn_run: RunOutcome | None
    drawn: dict[str, Number] | None
    """Draws by name; None without any."""


def accounted(ledger: Ledger, inputs: tuple[Input, ...], timed: TimedJob | None, request: CostRequest) -> _Accounted:
    """Return the account of a design, likely and drawn; `timed`: the job; None for the cluster alone."""
    job, v = timed.job if timed else None, likely(inputs)
    year, run = evaluate(ledger.account, job, v)
    drawn_year, drawn_run, drawn = year, run, None
    if request.draws:
        drawn = sample(inputs, request.draws, request.seed)
        drawn_year, drawn_run = evaluate(ledger.account, job, drawn)
    return _Accounted(v=v, year=year, run=run, drawn_year=drawn_year, drawn_run=drawn_run, drawn=drawn)


def band(value: Any, drawn: Any) -> Band:
    """Return a figure with its quantiles; `drawn`: its draws, shape [draws]; a number without draws."""
    value_now = float(value)
    shape = getattr(drawn, "shape", ())
    if not shape:
        return Band(value_now, value_now, value_now, value_now)
    import numpy as np

    ordered = np.sort(drawn)
    places = (len(ordered) - 1) * np.array(_QUANTILES)
    low, middle, high = (float(quantile) for quantile in np.interp(places, np.arange(len(ordered)), ordered))
    return Band(value_now, low, middle, high)


def _flips(ledger: Ledger, rents: tuple[out.RentRow, ...]) -> tuple[str | None, tuple[out.FlipRow, ...]]:
    """Return at which value of each input owning costs as much as the cheapest offer."""
    row = out.benchmark(rents)
    if row is None:
        return None, ()
    term = RentTerm(TERM_YEARS.get(row.term), row.upfront)
    rent = rent_input(given(row.price), row.offer)
    wide = with_nic_prices(ledger)
    base = likely(wide.inputs)

    def difference(v: dict[str, Number]) -> Number:
        hour = account_year(wide.account, {**base, **v}).hour
        gap: Number = hour - rented_hour(v["rent"], v["utilisation"], term, {**base, **v}["capital"])
        return gap

    candidates = (*(entry for entry in wide.inputs if entry.name not in _NO_MONEY), rent)
    return row.offer, tuple(flip_row(flip) for flip in flips(difference, candidates, ledger.owned.currency))


_NO_MONEY = (
    "grid",
    "water",
    "embodied_accelerator",
    "embodied_server",
    "embodied_switch",
    "embodied_link",
    HARDWARE_LIFE,
    "speed",
    "speed_own",
    "effective",
    "effort",
    "lead_time",
    "commissioning",
)
"""Inputs that no cost of an hour rests on."""


def _uncertainty(
    ledger: Ledger,
    timed: TimedJob | None,
    inputs: tuple[Input, ...],
    rents: tuple[out.RentRow, ...],
    request: CostRequest,
) -> out.Uncertainty:
    job = timed.job if timed else None

    def figure(v: dict[str, Number]) -> Number:
        year, run = evaluate(ledger.account, job, v)
        return run.per_million if run else year.hour

    against, rows = _flips(ledger, rents)
    swings = [swing for swing in tornado(figure, inputs) if swing.width]
    return out.Uncertainty(
        draws=request.draws,
        seed=request.seed,
        of="run.cost_per_million_tokens" if job else "tco.per_accelerator_hour",
        tornado=tuple(swing_row(swing) for swing in swings),
        against=against,
        break_even=rows,
        inputs=input_rows(inputs),
    )


def run_report(ledger: Ledger, timed: TimedJob | None, account: _Accounted) -> RunReport | None:
    """Return a run with its bands; None without one."""
    run, drawn = account.run, account.drawn_run
    if timed is None or run is None or drawn is None:
        return None
    row, report, million = timed.report.rows[0], timed.report, timed.job.tokens / MILLION

    operations = float(run_operations(timed.job.tokens, row.tokens_s_gpu, row.tflops_gpu))

    def of(field: str, scale: float = 1.0) -> Band:
        return band(getattr(run, field) * scale, getattr(drawn, field) * scale)

    made = RunReport(
        words="",
        model=timed.model,
        plan=row.plan,
        memory_words=row.memory_words,
        sure=report.sure,
        outlives=outlives(ledger, float(run.days), float(account.v["life"])),
        gpus=timed.job.gpus,
        batch=row.plan.batch,
        tokens=timed.job.tokens,
        operations=operations,
        petaflop_days=operations / PETAFLOP_DAY,
        parts=row.parts,
        step_s=row.step_s,
        tokens_s=row.tokens_s,
        mfu=row.mfu,
        effective=float(account.v["effective"]),
        effort=float(account.v.get("effort", 1.0)),
        days=of("days"),
        accelerator_hours=of("hours"),
        currency=ledger.owned.currency,
        cost=of("cost") if ledger.costed else None,
        cost_per_million_tokens=of("per_million") if ledger.costed else None,
        cost_per_petaflop_day=of("petaflop_day") if ledger.costed else None,
        energy_mwh=of("energy_mwh"),
        missing_power=tuple(gap.part for gap in ledger.missing_power),
        energy_kwh_per_million_tokens=of("energy_mwh", 1e3 / million),
        carbon_t=of("carbon_t"),
        carbon_kg_per_million_tokens=of("carbon_t", 1e3 / million),
        carbon_energy_t=float(run.carbon_energy_t),
        water_m3=float(run.water_m3),
        ready_months=waiting(ledger, account.v).months if ledger.costed else 0.0,
        error_band=report.error_band,
        estimated_from=report.estimated_from,
    )
    return replace(made, words=run_words(made))


def tco_of(ledger: Ledger, account: _Accounted, bom: out.Bom | None) -> out.Tco:
    """Return what owning or renting a costed cluster takes, and the rents that owning is set against."""
    v, year, drawn = account.v, account.year, account.drawn_year
    rents = _rent_rows(ledger, v, year, _Drawn({**v, **account.drawn}, drawn.hour) if account.drawn else None)
    rented = ledger.owned.rent is not None
    life = float(v["life"])
    cash = _cash_of(ledger, v, year)
    flow = cash_flow(cash, float(_remaining(ledger, v, year)), float(v["capital"]))
    return out.Tco(
        currency=ledger.owned.currency,
        partial=ledger.left_out,
        facility="rented" if rented else ledger.owned.facility,
        years=life,
        capex=float(year.capex + year.building),
        purchase=band(year.capex + year.building, drawn.capex + drawn.building),
        year=float(year.year),
        yearly=_year_rows(year),
        network_share=network_share(bom),
        total=flow[-1].cumulative,
        production_months=cash.produced,
        per_accelerator_hour=band(year.hour, drawn.hour),
        per_accelerator_hour_paid=float(year.hour) * float(v["utilisation"]),
        utilisation=float(v["utilisation"]),
        waiting=waiting(ledger, v),
        rents=rents,
        no_rent=no_rent(ledger, rents),
        cash_flow=flow,
    )


def _remaining(ledger: Ledger, v: Values, year: YearAccount) -> Number:
    """Return the value at the end of the hardware's life: its residual value, and the rest of an own building."""
    if ledger.owned.rent is not None:
        return 0.0
    left: Number = (year.purchase["hardware"] + year.purchase["discount"]) * v["residual"]
    if ledger.owned.facility == "own":
        left = left + year.building * maximum(1 - v["life"] / v["building_life"], 0.0)
    return left


def whole_life(ledger: Ledger, v: Values, year: YearAccount) -> Number:
    """Return the cost of a cluster over its life, bought at once.

    Returns:
        [currency], shape of the inputs.

    Equation:
        purchase + running costs of its life - what is left at the end

    Source:
        Definition; the end of `tco.cash_flow`.
    """
    running = _running_month(year) * MONTHS * v["life"]
    if ledger.owned.rent is not None:
        rent = v["rent"] * ledger.account.accelerators * HOURS_PER_YEAR
        return ledger.account.term.upfront * rent * v["life"] + running
    # a building that is over first is built again
    building = year.building * (maximum(v["life"] / v["building_life"], 1.0) if ledger.owned.facility == "own" else 1.0)
    cost: Number = year.capex + building + running - _remaining(ledger, v, year)
    return cost


def study_run(design: ResolvedDesign, catalog: Catalog, request: CostRequest, timed: TimedJob) -> RunReport | None:
    """Return a training run on a cluster, without the rest of its cost study.

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership is wrong.
    """
    ledger = ledger_for(design, catalog, request)
    return run_report(ledger, timed, accounted(ledger, inputs_for(ledger, timed, catalog), timed, request))


@record
class _HourCost:
    """Cost of an accelerator-hour in use."""

    amount: float
    """The cost, the mean over unlike accelerators [currency/h]."""
    currency: str
    rented: bool
    partial: tuple[str, ...]
    """What the cost leaves out: the hour costs at least as much."""


def hour_and_peak(design: ResolvedDesign, catalog: Catalog) -> tuple[_HourCost | None, float | None]:
    """Return the cost of an accelerator-hour in use, and the facility's rated peak [kW].

    Returns:
        The hour as the mean over unlike accelerators, None without prices; of one kind it is the figure of
        `tco.per_accelerator_hour.likely`. The peak is `power.facility_peak_kw`, None where parts of it are missing.

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership is wrong.
    """
    ledger = ledger_for(design, catalog, CostRequest(draws=0))
    account = accounted(ledger, inputs_for(ledger, None, catalog, drawn=False), None, CostRequest(draws=0))
    power = power_report(ledger, account.v, account.year)
    peak = None if power.missing else power.facility_peak_kw
    if not ledger.costed:
        return None, peak
    kind = ledger.account.bearing / ledger.account.accelerators
    hour = _HourCost(
        amount=float(account.year.hour) * kind,
        currency=ledger.owned.currency,
        rented=ledger.owned.rent is not None,
        partial=ledger.left_out,
    )
    return hour, peak


def study_cost(
    design: ResolvedDesign, catalog: Catalog, request: CostRequest, timed: TimedJob | None = None
) -> out.CostStudy:
    """Return the cost of a cluster, and of a training run on it.

    Args:
        timed: the job; None for the cluster alone.

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership is wrong.
    """
    return study_ledger(ledger_for(design, catalog, request), catalog, request, timed)


def _owned_hour(
    design: ResolvedDesign, catalog: Catalog, request: CostRequest, rented: _Accounted
) -> out.OwnedHour | None:
    """Return a rented design bought instead, over the same draws; None where its cost is partial."""
    ledger = ledger_for(replace(design, rent=None), catalog, request)
    if not ledger.costed or ledger.left_out:
        return None
    owned = accounted(ledger, inputs_for(ledger, None, catalog, drawn=False), None, request)
    chance = None
    if request.draws:
        import numpy as np

        chance = float(np.mean(owned.drawn_year.hour < rented.drawn_year.hour))
    return out.OwnedHour(
        years=float(owned.v["life"]),
        per_accelerator_hour=band(owned.year.hour, owned.drawn_year.hour),
        owning_cheaper=chance,
    )


def study_ledger(ledger: Ledger, catalog: Catalog, request: CostRequest, timed: TimedJob | None) -> out.CostStudy:
    """Return the cost of a cluster whose account is made, as `study_cost` does."""
    inputs = inputs_for(ledger, timed, catalog)
    account = accounted(ledger, inputs, timed, request)
    v, year = account.v, account.year
    bom = bom_report(ledger)
    error = (timed.report.error_band, timed.report.error_basis) if timed else None
    tco = tco_of(ledger, account, bom) if ledger.costed else None
    if tco is not None and ledger.owned.rent is not None:
        tco = replace(tco, owned=_owned_hour(ledger.design, catalog, request, account))
    uncertainty = _uncertainty(ledger, timed, inputs, tco.rents, request) if tco else None
    study = out.CostStudy(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        design=design_info(ledger.design),
        catalog=files_read(catalog),
        currency=ledger.owned.currency,
        accelerators=ledger.design.accelerators,
        headline=(),
        bom=bom,
        tco=tco,
        power=power_report(ledger, v, year),
        run=run_report(ledger, timed, account),
        uncertainty=uncertainty,
        phases=_phase_reports(ledger, v, year) if ledger.owned.rent is None else (),
        assumptions=(*_cost_assumptions(ledger, error), *announced(catalog)),
        unverified=recalled_figures(catalog),
    )
    return replace(study, headline=headline(study))
