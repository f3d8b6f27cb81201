"""What moves a step and a run: the inputs that reach it, each tried."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError, UsageError
from ffplan.base.formatting import number
from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.catalog.models import Model
from ffplan.catalog.read import Place, noted
from ffplan.catalog.store import Catalog
from ffplan.cost.inputs import Input
from ffplan.cost.sensitivity import likely
from ffplan.design.ownership_schema import Ownership
from ffplan.design.resolve import resolve
from ffplan.design.resolved import ResolvedDesign
from ffplan.design.training import PlanFields
from ffplan.figures.origins import figure_of
from ffplan.figures.run import INPUTS_OF_RUN
from ffplan.inputs.document import Document
from ffplan.results.explanation import Derivation, Influence
from ffplan.results.training import TrainReport
from ffplan.studies.cost.cost import evaluate, inputs_for, ledger_for, study_cost
from ffplan.studies.cost.ledger import CostRequest, Ledger
from ffplan.studies.explain.derivation import _run_parts
from ffplan.studies.explain.explain import (
    TENTH,
    Subject,
    _account_at,
    _declared,
    _figure_at,
    _influence_of,
    _moves_it,
    _of_design,
    _of_part,
    _sorted_out,
    _stated_at,
    given,
)
from ffplan.studies.train.cluster import cluster_of
from ffplan.studies.train.default_job import TimedJob, job_report, timed_job
from ffplan.studies.train.rows import one_plan, pace, stacked
from ffplan.studies.train.setup import TrainRequest, TrainSetup, check_available, host_room, settled, train_setup
from ffplan.studies.train.train import fault_of
from ffplan.training.constraints import RefusedError
from ffplan.training.group_collectives import Cluster, same_times, with_known_times, with_library
from ffplan.training.parallel_plan import parallel_plans
from ffplan.training.step import step_parts, step_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.catalog.read import Entry
    from ffplan.results.run import RunReport
    from ffplan.studies.explain.explain import _InputPlace
    from ffplan.training.train_run import TrainRun


@record
class _Pace:
    setup: TrainSetup
    row: dict[str, Any]
    """Figures of the plan's row that follow from the time of its step, by name."""


def _alike(first: TrainSetup, two: TrainSetup) -> tuple[bool, bool]:
    """Return whether the same plan has the same memory on two machines, and whether it has the same time."""
    a, b = first.run, two.run
    shape = first.shape == two.shape and a.plans == b.plans
    room = (first.limit, first.host_limit) == (two.limit, two.host_limit) and a.margins == b.margins
    return shape and room, shape and a.system is b.system and a.speeds == b.speeds


def _row(run: TrainRun) -> dict[str, Any]:
    parts = step_parts(replace(run, plans=stacked([run.plans])))
    return pace(one_plan(run), float(step_time(parts)[0]))  # type: ignore[index]


def _paced(design: ResolvedDesign, catalog: Catalog, request: TrainRequest, known: _Pace | None = None) -> _Pace | None:
    """Return the pace of a transformer's plan; None if it does not fit, or cannot be laid out."""
    request, transformer, (count,) = settled(design, catalog, request), request.model.transformer, request.gpus
    assert transformer is not None
    setup = train_setup(design, catalog, request, transformer)
    check_available(design, count)
    plans = parallel_plans(request.plan, float(count))
    run = replace(setup.run, plans=plans)
    setup = replace(setup, run=run, host_limit=host_room(design, request.plan, count))
    room, time = _alike(known.setup, setup) if known else (False, False)
    if not room and fault_of(setup, plans) is not None:
        return None
    return _Pace(setup, known.row if known and time else _row(run))


_NOT_OF_STEPS = ("measurement", "rent-book", "token-book", "model", "price-book", "ownership", "reliability")
"""Kinds of parts whose figures are no inputs of a step."""
_LENGTHS = 128
"""Tokens that the lengths tried are multiples of, on every rank of a sequence [1]."""
_USUAL = "not stated: about 4 million tokens a step"


@record
class Step:
    """A step that is timed again with inputs changed."""

    document: Document
    catalog: Catalog
    """Parts, not counted as read."""
    design: ResolvedDesign
    used: Catalog
    """Parts of the design, as read."""
    report: TrainReport
    plan: PlanFields
    gpus: int
    batch_given: bool

    def again(self, design: ResolvedDesign, parts: Catalog, plan: PlanFields | None = None) -> TrainReport | None:
        """Return the step on a changed design; None if its plan cannot run."""
        try:
            return job_report(
                design, parts, self._model(parts), plan or self.plan, self._used_gpus, searching=False, gains=False
            )
        except RefusedError:
            return None

    def _model(self, parts: Catalog) -> Model:
        return parts.get(Model, self.report.model, self.document, ("workload", "model"))

    @property
    def _used_gpus(self) -> int:
        return self.report.rows[0].plan.gpus  # a search may have left accelerators of the job idle

    def pace(
        self, design: ResolvedDesign, parts: Catalog, system: Cluster | None, known: _Pace | None = None
    ) -> _Pace | None:
        """Return the pace of the plan on a changed design; None if it cannot run."""
        fixed = frozenset(self.plan.model_fields_set)
        request = TrainRequest(
            model=self._model(parts), plan=self.plan, gpus=(self._used_gpus,), fixed=fixed, system=system
        )
        try:
            return _paced(design, parts, request, known)
        except RefusedError:
            return None

    def of_parts(self, field: str, step: Callable[[int, int], None]) -> Iterator[tuple[Influence, bool]]:
        """Yield the influence of every figure of the parts on a figure of the step.

        Args:
            field: the figure, a field of the plan's row.
        """
        row = self.report.rows[0]
        reached = _reach(self)
        entries = [entry for entry in self.used.used if entry.part.kind not in _NOT_OF_STEPS]
        base = float(reached.base.row[field] if reached.base else getattr(row, field))

        def value(entry: Entry, path: tuple[str | int, ...]) -> float | None:
            changed = reached.changed(entry, path)
            return None if changed is None else float(changed.row[field])

        for index, entry in enumerate(entries):
            step(index, len(entries) + 1)
            yield from _of_part(value, entry, base)

    def of_job(self, field: str) -> Iterator[tuple[Influence, bool]]:
        """Yield the influence of batch and sequence length on a figure of the step, in whole micro-batches.

        Args:
            field: the figure, a field of the plan's row.
        """
        row, base = self.report.rows[0].plan, float(getattr(self.report.rows[0], field))
        model = self.used.entry(self.report.model)
        plan = ("workload", "plan")
        stated = _stated_at(self.document, "workload", "batch") or _stated_at(self.document, *plan, "batch")
        length = _stated_at(self.document, *plan, "sequence")
        # a batch fills the pipeline of every rank a whole number of times
        rounds = row.data * row.micro_batch * row.pipeline
        places = {
            "batch": (row.batch, rounds, "the command line" if self.batch_given else stated or _USUAL),
            "sequence": (row.sequence, _LENGTHS * row.context, length or _figure_at(model, "transformer", "sequence")),
        }
        for name, (now, unit, place) in places.items():
            tried = [_whole(now, factor, unit) for factor in (1 - TENTH, 1 + TENTH)]
            changes = [self._changed(name, there, field, base) for there in tried]
            ends = [f"{there:,}" for there in tried]
            yield _influence_of(ends, changes, name=name, value=f"{now:,}", place=place, source="the job")

    def _changed(self, name: str, there: int, field: str, base: float) -> float | None:
        """Return the relative change of a figure with one field of the plan at another value [1]."""
        update: dict[str, Any] = {name: there}
        plan = self.plan.model_copy(update=update)
        plan.model_fields_set.add(name)
        report = self.again(self.design, self.used.fresh(), plan) if there > 0 else None
        return None if report is None else float(getattr(report.rows[0], field)) / base - 1


@record
class Reach:
    """What a step reads of the catalogue.

    A run that reads the same values gives the same result: a figure that it never reads moves nothing, and one that the
    machine never reads leaves the machine as it is.
    """

    job: Step
    system: Cluster
    """The machine as it is, with the times of its collectives."""
    base: _Pace | None
    """The pace as it is; None if the plan cannot run."""
    beside: frozenset[Place]
    """Figures of the catalogue that are read otherwise than for the times of collectives."""
    of_system: frozenset[Place]
    """Those that the machine reads."""

    def changed(self, entry: Entry, path: tuple[str | int, ...]) -> _Pace | None:
        """Return the pace with one figure of the catalogue changed; None if the design is refused."""
        place = (entry.part.id, path)
        if place not in self.beside and place not in self.of_system:
            return self.base
        part, inner = entry.part, place not in self.beside  # inner: only times of collectives rest on it
        if inner and isinstance(part, Library) and same_times(self.system, with_library(self.system, part)):
            return self.base
        try:
            parts = self.job.catalog.with_entry(entry)
            design = resolve(self.job.document, parts)
            if place not in self.of_system:
                return self.job.pace(design, parts, self.system, self.base)
            system = cluster_of(design, parts, self.job.plan.reducer)
            if inner and not isinstance(part, Library) and same_times(self.system, system):
                return self.base
            return self.job.pace(design, parts, system, self.base)
        except (InputError, RefusedError):
            return None


def _reach(job: Step) -> Reach:
    """Return how far the figures of the parts that a step uses reach into it."""
    design, used = job.design, job.used
    system = cluster_of(design, used, job.plan.reducer)
    base = job.pace(design, used, system)
    beside, of_system = set[Place](), set[Place]()
    for seen in (beside, of_system):
        parts = job.catalog.with_entries([noted(entry, seen) for entry in used.used])
        resolved = resolve(job.document, parts)  # a machine is made of what this reads, too
        machine = cluster_of(resolved, parts, job.plan.reducer)
        if seen is beside:
            job.pace(resolved, parts, with_known_times(machine, system))
        else:
            job.pace(design, used, machine)
    return Reach(job=job, system=system, base=base, beside=frozenset(beside), of_system=frozenset(of_system))


def _whole(value: int, factor: float, unit: int) -> int:
    """Return the multiple of a unit nearest to a value times a factor, at least one unit away from the value."""
    multiple = round(value * factor / unit) * unit
    return multiple if multiple != value else value + (unit if factor > 1 else -unit)


NOTE = "Inputs of the account and of the step, which `ffplan explain` of `train.step_s` splits further."
_OF_ACCOUNT = ("site", "ownership", "rent", "cost", "workload")
"""Sections of a design whose numbers are inputs of the account, or of the job."""


def _explain_run(
    step: Step, field: str, tell: Callable[[int, int], None]
) -> tuple[RunReport, Derivation, tuple[tuple[Influence, ...], int]]:
    """Return a run, the derivation of its figure, inputs that move it, the strongest first, and how many do not.

    `tell` is told how many parts are done, and of how many.
    """
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
        return run, factors[field], ((), 0)
    given_at = _stated_at(design.document, "workload", "tokens") or "the command line"
    parts = _run_parts(run, study, field, factors=tuple(factors.values()), tokens_at=given_at)
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
    return run, root, _sorted_out([*((item, _moves_it([item.less, item.more])) for item in tried), *of_file])


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
    likely: float

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
