"""Figures of a training run in money, taken apart: their parts, and the effect of a tenth of each input."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import UsageError
from ffplan.base.formatting import number
from ffplan.base.record import record
from ffplan.cost.inputs import Input
from ffplan.cost.sensitivity import likely
from ffplan.design.ownership_schema import Ownership
from ffplan.figures.origins import figure_of
from ffplan.figures.run import INPUTS_OF_RUN
from ffplan.results.explanation import Derivation, Influence
from ffplan.results.run import RunReport
from ffplan.studies.cost.cost import evaluate, inputs_for, ledger_for, study_cost
from ffplan.studies.cost.ledger import Ledger
from ffplan.studies.cost.request import CostRequest
from ffplan.studies.explain.derivation import _run_parts
from ffplan.studies.explain.explain import TENTH, Subject, _declared, _moves_it, _of_design, _sorted_out, given
from ffplan.studies.explain.input_places import _account_at, _stated_at
from ffplan.studies.train.default_job import TimedJob, timed_job

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.explain.input_places import _InputPlace
    from ffplan.studies.explain.step_inputs import Step

NOTE = "Inputs of the account and of the step, which `ffplan explain` of `train.step_s` splits further."
_OF_ACCOUNT = ("site", "ownership", "rent", "cost", "workload")
"""Sections of a design whose numbers are inputs of the account, or of the job."""


@record
class _RunExplained:
    run: RunReport
    root: Derivation
    influences: tuple[Influence, ...]
    """Inputs that move it, the strongest first."""
    idle: int
    """Inputs that do not [1]."""


def _explain_run(step: Step, field: str, tell: Callable[[int, int], None]) -> _RunExplained:
    """Return a figure with its parts; `tell` is told how many parts are done, and of how many."""
    design, catalog = step.design, step.used
    tokens = design.workload.tokens if design.workload else None
    if tokens is None:
        raise UsageError(f"ffplan explain: run.{field} needs tokens: add `tokens` to `workload`, or name --tokens")
    timed = timed_job(step.report, step.gpus, tokens)
    request = CostRequest(draws=0)
    study = study_cost(design, catalog, request, timed)
    run = study.run
    band = getattr(run, field) if run else None
    if run is None or band is None:
        raise UsageError(f"ffplan explain: run.{field}: the design has no prices")
    ledger = ledger_for(design, catalog, request)
    inputs = inputs_for(ledger, timed, catalog, drawn=False)
    places = {item.name: _account_at(item, design, catalog) for item in inputs}
    factors = {
        item.name: _factor(item, places[item.name].place, design) for item in inputs if item.name in INPUTS_OF_RUN
    }
    if field in INPUTS_OF_RUN:
        if field not in factors:
            raise UsageError(f"ffplan explain: run.{field} is 1: no input of the account")
        return _RunExplained(run=run, root=factors[field], influences=(), idle=0)
    given_at = _stated_at(design.document, "workload", "tokens") or "the command line"
    parts = _run_parts(run, study, factors=tuple(factors.values()), tokens_at=given_at)
    figure = figure_of(run, field)
    root = _declared(figure.label, band.likely, figure.unit.replace("currency", run.currency), figure, parts)
    account = _Account(ledger=ledger, timed=timed, inputs=inputs, field=field, likely=float(band.likely))
    tried = [_influence(item, places[item.name], study.currency, account.changed) for item in inputs]
    for entry, _ in (*step.of_parts("tokens_s", tell), *step.of_job("tokens_s")):
        tried.append(replace(entry, less=account.faster(entry.less), more=account.faster(entry.more)))

    def whole(changed: ResolvedDesign, others: Catalog) -> float | None:
        again = step.again(changed, others)
        if again is None:
            return None
        job, changed_ledger = timed_job(again, step.gpus, tokens), ledger_for(changed, others, request)
        account = _Account(
            ledger=changed_ledger,
            timed=job,
            inputs=inputs_for(changed_ledger, job, others, drawn=False),
            field=field,
            likely=1.0,
        )
        return account.value({})

    subject = Subject(document=step.document, catalog=step.catalog, evaluate=whole)
    of_file = _of_design(subject, account.likely, _OF_ACCOUNT)
    influences, idle = _sorted_out([*((item, _moves_it([item.less, item.more])) for item in tried), *of_file])
    return _RunExplained(run=run, root=root, influences=influences, idle=idle)


def _factor(entry: Input, place: str, design: ResolvedDesign) -> Derivation:
    """Return an input of a run with its source and range; of the effort, its class too."""
    owned = design.ownership or Ownership.model_construct()
    label = f"{entry.label} ({owned.effort})" if entry.name == "effort" else entry.label
    source = f"{entry.source}, status {entry.status}"
    ends = () if entry.low == entry.high else (given("low end", entry.low, ""), given("high end", entry.high, ""))
    return replace(given(label, entry.likely, "", source=source, place=place), steps=ends)


@record
class _Account:
    ledger: Ledger
    timed: TimedJob
    inputs: tuple[Input, ...]
    field: str
    """The figure."""
    likely: float
    """Its value."""

    def value(self, values: dict[str, Any]) -> float:
        _, outcome = evaluate(self.ledger.account, self.timed.job, {**likely(self.inputs), **values})
        return float(getattr(outcome, {"cost_per_million_tokens": "per_million"}.get(self.field, self.field)))

    def changed(self, values: dict[str, Any]) -> float:
        return self.value(values) / self.likely - 1

    def faster(self, change: float | None) -> float | None:
        speed = likely(self.inputs).get("speed", 1.0)
        return None if change is None else self.changed({"speed": speed * (1 + change)})


def _influence(entry: Input, place: _InputPlace, currency: str, change: Callable[[dict[str, Any]], float]) -> Influence:
    """Return the effect of a tenth of an input."""
    unit = entry.unit.replace("currency", currency)
    unit = "" if unit == "1" else unit.removeprefix("1 ")
    ends = [entry.likely * factor for factor in (1 - TENTH, 1 + TENTH)]
    less, more = (change({entry.name: end}) if entry.least <= end <= entry.most else None for end in ends)
    return Influence(
        input=entry.label,
        value=f"{number(entry.likely, 6)} {unit}".rstrip(),
        at_less=number(ends[0], 6),
        at_more=number(ends[1], 6),
        place=place.place,
        source=entry.source,
        grade=place.grade,
        status=entry.status,
        less=less,
        more=more,
    )
