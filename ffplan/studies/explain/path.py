"""Explain one figure of a design, found by its path, or a sentence by the figures in it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import UsageError, did_you_mean
from ffplan.base.plain import number_at, numbers, plain, steps, value_at
from ffplan.base.record import record
from ffplan.base.tracked import made_of, read_alike, track
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.design.training import PlanFields, Workload
from ffplan.figures.address import address_of, addresses, place_of
from ffplan.figures.origins import figure_of, unit_of
from ffplan.figures.run import INPUTS_OF_RUN
from ffplan.inputs.document import Document
from ffplan.results.comparison import Comparison
from ffplan.results.cost import CostStudy
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.explanation import Derivation, Explanation
from ffplan.results.run import RunReport
from ffplan.results.training import TrainReport, TrainRow
from ffplan.studies.compare.training import size_basis
from ffplan.studies.compare.verdicts import advantages, verdicts
from ffplan.studies.compare.words import money_headline
from ffplan.studies.cost.words import headline, run_words
from ffplan.studies.design.design import LEFT_OUT, study_design
from ffplan.studies.explain.derivation import _training_parts, derivation_of
from ffplan.studies.explain.explain import TENTH, Subject, _declared, _of_design, _Places, _sorted_out, influences
from ffplan.studies.explain.serving import LOAD_KEPT, SERVED_FIGURES, _of_serving
from ffplan.studies.explain.step_inputs import NOTE, Step, _explain_run
from ffplan.studies.serve.answer import path_in_row
from ffplan.studies.train.default_job import with_tokens, workload_gpus, workload_report
from ffplan.studies.train.rows import why_lost
from ffplan.training.accelerator_rates import UncalibratedError
from ffplan.training.constraints import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.read import Entry
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.comparison import MoneyComparison, TrainingComparison

    _Meanings = Callable[[Any, str], str]


_NOT_MOVED = ("measurement", "rent-book", "token-book", "model")
"""Kinds of parts whose figures are no inputs of a design."""
_ELSEWHERE = {"goodput": "operate goodput", "bom": "cost", "tco": "cost"}
"""Commands that print the inputs of their figures beside them, by the first step of the figures."""
_KEPT = f"Inputs are changed by {100 * TENTH:.0f} % with the plan kept; another plan may then be faster."


@cache
def _of_jobs() -> tuple[str, ...]:
    placed = ((address, place_of(address)) for address in addresses())
    return tuple(
        address
        for address, place in placed
        if place
        and (place.owner is TrainRow or (place.owner is RunReport and (place.ranged or place.field in INPUTS_OF_RUN)))
    )


@record
class Question:
    """What is asked."""

    document: Document
    catalog: Catalog
    path: str
    workload: Workload | None
    """A workload in place of the design's own."""
    tokens: float | None = None
    """Tokens in place of the workload's [1]."""


def _explanation(
    question: Question,
    design: ResolvedDesign,
    meaning: str,
    root: Derivation,
    result: tuple[Any, int],
    notes: tuple[str, ...] = (),
) -> Explanation:
    return Explanation(
        schema_version=SCHEMA_VERSION,
        design=design.spec.name,
        path=question.path,
        meaning=meaning,
        root=root,
        influences=result[0],
        idle=result[1],
        notes=notes,
    )


def _entries(catalog: Catalog) -> list[Entry]:
    used = catalog.used
    below = {id(entry.base) for entry in used if entry.base is not None}  # their prices are in the book above
    return [entry for entry in used if entry.part.kind not in _NOT_MOVED and id(entry) not in below]


def explain(
    question: Question,
    meanings: _Meanings,
    keep: Callable[[TrainReport, PlanFields], PlanFields],
    step: Callable[[int, int], None],
) -> Explanation:
    """Return the derivation of one figure of a design.

    Args:
        meanings: describes a path in an assessment, or a field in another record.
        keep: returns the plan of a report, completed by the plan as written, to be timed again as it is.
        step: called with how much of the work is done, and in all.

    Raises:
        UsageError: if the design has no such figure.
        InputError: if the design cannot be assessed.
    """
    address = address_of(question.path)
    if address.startswith("serve."):
        return _of_load(question, address, meanings, step)
    if address not in _of_jobs():
        return _of_assessment(question, meanings, step)
    field = address.partition(".")[2]
    of = _of_run if address.startswith("run.") else _of_training
    return of(question, field, meanings, _step(question, keep), step)


def _alias(path: str, data: Any) -> str:
    """Return the whole path of `communication.LIBRARY` and of `communication.LIBRARY.field`."""
    match = re.fullmatch(r"communication\.([a-z-]+)(?:\.(.+))?", path)
    if match is None:
        return path
    libraries = [report.library for report in data.communication]
    if match[1] not in libraries:
        raise UsageError(f"ffplan explain: {path}: {did_you_mean(match[1], libraries, what='library')}")
    return f"communication[{libraries.index(match[1])}].{match[2] or 'algbw_gbyte_s'}"


def known_figures(document: Document, catalog: Catalog) -> list[str]:
    """Return the paths of the figures of a design that can be explained.

    Raises:
        InputError: if the design cannot be assessed.
    """
    design = resolve(document, catalog)
    served = SERVED_FIGURES if design.serving is not None else ()
    return [*_figures(study_design(design, catalog, all_scales=True).assessment), *served]


def _figures(assessment: Any) -> list[str]:
    return [*(path for path in numbers(plain(assessment)) if not path.startswith("findings")), *_of_jobs()]


def _hint(path: str, assessment: Any) -> str:
    study = path.partition(".")[0]
    if study in _ELSEWHERE:
        return f"`ffplan {_ELSEWHERE[study]}` prints the figures of `{study}` with what moves them"
    leaf, known = path.rpartition(".")[2], _figures(assessment)
    elsewhere = [figure for figure in known if figure.rpartition(".")[2] == leaf]
    return did_you_mean(leaf if elsewhere else path, elsewhere or known, what="figure")


def _of_assessment(question: Question, meanings: _Meanings, step: Callable[[int, int], None]) -> Explanation:
    catalog = question.catalog.fresh()
    design = resolve(question.document, catalog)
    assessment = study_design(design, catalog, all_scales=True).assessment
    path = _alias(address_of(question.path), assessment)
    try:
        value = number_at(assessment, steps(path))
    except UsageError:  # it is no path at all
        value = None
    if value is None:
        raise UsageError(
            f"ffplan explain: `{question.path}` is no figure of this design; {_hint(question.path, assessment)}"
        )
    meaning = meanings(assessment, path)
    root = derivation_of(assessment, path, value, meaning, _Places(design.document, catalog))
    every = "scales[" in path
    part = re.split(r"[.\[]", path)[0]
    without = LEFT_OUT - {"reliability" if part == "storage" else part}

    def evaluate(changed: ResolvedDesign, parts: Catalog) -> float | None:
        return number_at(study_design(changed, parts, all_scales=every, without=without).assessment, steps(path))

    subject = Subject(document=question.document, catalog=question.catalog, evaluate=evaluate)
    moved = influences(subject, value, _entries(catalog), step) if value else ((), 0)
    return _explanation(question, design, meaning, root, moved)


def _of_load(question: Question, address: str, meanings: _Meanings, step: Callable[[int, int], None]) -> Explanation:
    catalog = question.catalog.fresh()
    design = resolve(question.document, catalog)
    if design.serving is None:
        raise UsageError(f"ffplan explain: {question.path} needs a load: add `serving` to the design")
    subject = Subject(document=question.document, catalog=question.catalog, evaluate=lambda *_: None)
    served = _of_serving(subject, design, catalog, address, _entries, step)
    path, _, field = path_in_row(address).rpartition(".")
    holder = value_at(served.row, steps(path)) if path else served.row
    meaning, currency = meanings(holder, field), getattr(holder, "currency", None)
    if currency is None:
        return _explanation(question, design, meaning, served.root, served.moved, (LOAD_KEPT,))
    meaning = meaning.replace("[currency", f"[{currency}")
    root = replace(served.root, unit=unit_of(meaning))
    return _explanation(question, design, meaning, root, served.moved, (LOAD_KEPT,))


def _step(question: Question, keep: Callable[[TrainReport, PlanFields], PlanFields]) -> Step:
    catalog = question.catalog.fresh()
    design = resolve(question.document, catalog)
    if question.workload is not None:
        design = replace(design, workload=question.workload)
    design = with_tokens(design, question.tokens)
    if design.workload is None:
        remedy = "add `workload` to the design, or name --model and its options"
        raise UsageError(f"ffplan explain: {question.path} needs a job: {remedy}")
    try:
        report = workload_report(design, catalog, design.workload)
    except (RefusedError, UncalibratedError) as error:
        raise UsageError(f"ffplan explain: {error}") from None
    return Step(
        document=question.document,
        catalog=question.catalog,
        design=design,
        used=catalog,
        report=report,
        plan=keep(report, design.workload.plan or PlanFields()),
        gpus=workload_gpus(design, design.workload),
        batch_given=question.workload is not None and question.workload.batch is not None,
    )


def _of_training(
    question: Question, field: str, meanings: _Meanings, timed: Step, step: Callable[[int, int], None]
) -> Explanation:
    row, inner = timed.report.rows[0], _training_parts(timed.report)
    value, figure = float(getattr(row, field)), figure_of(row, field)
    root = _declared(figure.label, value, figure.unit, figure, inner)

    def evaluate(changed: ResolvedDesign, parts: Catalog) -> float | None:
        again = timed.again(changed, parts)
        return None if again is None else float(getattr(again.rows[0], field))

    subject = Subject(document=question.document, catalog=question.catalog, evaluate=evaluate)
    tried = [*timed.of_parts(field, step), *_of_design(subject, value, ("workload",)), *timed.of_job(field)]
    return _explanation(question, timed.design, meanings(row, field), root, _sorted_out(tried), (_KEPT,))


def _of_run(
    question: Question, field: str, meanings: _Meanings, timed: Step, step: Callable[[int, int], None]
) -> Explanation:
    run, root, moved = _explain_run(timed, field, step)
    notes = () if field in INPUTS_OF_RUN else (NOTE, _KEPT)
    return _explanation(question, timed.design, meanings(run, field), root, moved, notes)


def told(value: Any) -> Any:
    """Return a tracked copy of a result whose sentences name the figures that they are made of.

    A sentence is made once more, by the function that made it, of the tracked copy.
    """
    copy = track(value)
    if isinstance(copy, CostStudy):
        study = replace(copy, run=_run(copy.run))
        return replace(study, headline=_all_again(headline(study), study.headline))
    if isinstance(copy, TrainReport):
        return replace(copy, run=_run(copy.run), rows=tuple(_row(copy.rows[0], row) for row in copy.rows))
    if isinstance(copy, Comparison):
        return _comparison(copy)
    return copy


def _again(marked: str, plain: str) -> str:
    """Return a sentence made anew; the result's own if it reads otherwise."""
    return marked if read_alike(marked, plain) else plain


def _all_again(marked: tuple[str, ...], plain: tuple[str, ...]) -> tuple[str, ...]:
    """Return sentences made anew; the result's own if there are more or fewer."""
    return tuple(map(_again, marked, plain)) if len(marked) == len(plain) else plain


def _run(run: RunReport | None) -> RunReport | None:
    if run is None:
        return None
    return replace(run, words=_again(run_words(run), run.words))


def _row(best: TrainRow, row: TrainRow) -> TrainRow:
    memory = (row.memory_gib, row.limit_gib, row.reserved_low_gib, row.reserved_high_gib, row.transient_gib)
    text = None if row.memory_words is None else made_of(row.memory_words, *memory)
    lost = None if row.lost is None else _again(why_lost(best, row), row.lost)
    return replace(row, memory_words=text, lost=lost)


def _comparison(comparison: Comparison) -> Comparison:
    baseline = comparison.labels.index(comparison.baseline)
    if comparison.training is None:
        said = advantages(comparison.designs, comparison.labels, baseline, comparison.ratios)
        return replace(comparison, verdicts=_all_again(said, comparison.verdicts))
    said = verdicts(comparison.training, comparison.labels, baseline)
    return replace(
        comparison,
        verdicts=_all_again(said, comparison.verdicts),
        training=_training(comparison.training, comparison.labels),
        money=_money(comparison.money, comparison.training, comparison) if comparison.money else None,
    )


def _training(job: TrainingComparison, labels: tuple[str, ...]) -> TrainingComparison:
    most = [own_size.gpus for own_size in job.own_sizes]
    return replace(job, size_basis=_again(size_basis(most, labels, job.gpus), job.size_basis))


def _money(money: MoneyComparison, job: TrainingComparison, comparison: Comparison) -> MoneyComparison:
    sides = tuple(replace(side, run=_run(side.run)) for side in money.sides)
    size = next(job_size for job_size in job.sizes if job_size.batch == job.batch)
    steps = {label: side for label, side in zip(comparison.labels, size.sides, strict=True) if side.plan}
    told_money = money_headline(replace(money, sides=sides), comparison.labels, comparison.baseline, steps)
    return replace(told_money, headline=_all_again(told_money.headline, money.headline))
