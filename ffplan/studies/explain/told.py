"""A result told anew with numbers that know their place, so that each sentence names the figures behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.tracked import made_of, read_alike, track
from ffplan.results.comparison import Comparison
from ffplan.results.cost import CostStudy
from ffplan.results.training import TrainReport
from ffplan.studies.compare.training import size_basis
from ffplan.studies.compare.verdicts import advantages, verdicts
from ffplan.studies.compare.words import money_headline
from ffplan.studies.cost.words import headline, run_words
from ffplan.studies.train.rows import why_lost

if TYPE_CHECKING:
    from ffplan.results.comparison import MoneyComparison, TrainingComparison
    from ffplan.results.run import RunReport
    from ffplan.results.training import TrainRow


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
