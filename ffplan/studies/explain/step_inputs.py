"""The inputs of a step: figures of parts, and batch and sequence, with the plan kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.record import record
from ffplan.catalog.models import Model
from ffplan.catalog.store import Catalog
from ffplan.design.resolved import ResolvedDesign
from ffplan.design.training import PlanFields
from ffplan.inputs.document import Document
from ffplan.results.explanation import Influence
from ffplan.results.training import TrainReport
from ffplan.studies.explain.explain import TENTH, moves_it, of_part
from ffplan.studies.explain.input_places import figure_at, stated_at
from ffplan.studies.explain.step_reach import KeptPlan, reach
from ffplan.studies.train.usual_job import job_report
from ffplan.training.constraints import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.catalog.store import Entry

NOT_OF_STEPS = ("measurement", "rent-book", "model", "price-book", "ownership", "reliability")
"""Kinds of parts whose figures are no inputs of a step."""
LENGTHS = 128
"""Tokens that the lengths tried are multiples of, on every rank of a sequence [1]."""
USUAL = "not stated: about 4 million tokens a step"


@record
class Step:
    """A step that is timed again with inputs changed."""

    document: Document
    """The design file."""
    catalog: Catalog
    """Parts, none of them counted as read."""
    design: ResolvedDesign
    used: Catalog
    """Parts of the design, as read."""
    report: TrainReport
    """The step as it is."""
    plan: PlanFields
    """Its plan, which stays."""
    gpus: int
    """Accelerators of the job [1]."""
    batch_given: bool
    """Whether the command line gives the batch."""

    def again(self, design: ResolvedDesign, parts: Catalog, plan: PlanFields | None = None) -> TrainReport | None:
        """Return the step on a changed design; None where its plan cannot run.

        Args:
            plan: another plan.
        """
        model = parts.get(Model, self.report.model, self.document, ("workload", "model"))
        used = self.report.rows[0].plan.gpus  # a search may have left accelerators of the job idle
        try:
            return job_report(design, parts, model, plan or self.plan, used, searching=False, gains=False)
        except RefusedError:
            return None

    def entries(self) -> list[Entry]:
        """Return the parts whose figures are inputs of the step."""
        return [entry for entry in self.used.used if entry.part.kind not in NOT_OF_STEPS]

    def of_parts(self, field: str, step: Callable[[int, int], None]) -> Iterator[tuple[Influence, bool]]:
        """Yield what every figure of the parts does to a figure of the step.

        Args:
            field: the figure, a field of the plan's row.
            step: called after every part, with how many are done and in all.
        """
        row = self.report.rows[0]
        job = KeptPlan(
            document=self.document,
            catalog=self.catalog,
            model=self.report.model,
            plan=self.plan,
            gpus=row.plan.gpus,  # a search may have left accelerators of the job idle
        )
        found, entries = reach(job, self.design, self.used), self.entries()
        base = float(found.base.row[field] if found.base else getattr(row, field))

        def value(entry: Entry, path: tuple[str | int, ...]) -> float | None:
            changed = found.changed(entry, path)
            return None if changed is None else float(changed.row[field])

        for at, entry in enumerate(entries):
            step(at, len(entries) + 1)
            yield from of_part(value, entry, base)

    def of_job(self, field: str) -> Iterator[tuple[Influence, bool]]:
        """Yield what the batch and the length of a sequence do to a figure of the step, in whole micro-batches.

        Args:
            field: the figure, a field of the plan's row.
        """
        row, base = self.report.rows[0].plan, float(getattr(self.report.rows[0], field))
        model = self.used.entry(self.report.model)
        stated = stated_at(self.document, "workload", "batch") or stated_at(self.document, "workload", "plan", "batch")
        length = stated_at(self.document, "workload", "plan", "sequence")
        rounds = (
            row.data * row.micro_batch * row.pipeline
        )  # a batch fills the pipeline of every rank a whole number of times
        places = {
            "batch": (row.batch, rounds, "the command line" if self.batch_given else stated or USUAL),
            "sequence": (row.sequence, LENGTHS * row.context, length or figure_at(model, "transformer", "sequence")),
        }
        for name, (now, unit, place) in places.items():
            tried = [_whole(now, factor, unit) for factor in (1 - TENTH, 1 + TENTH)]
            changes = [self._changed(name, there, field, base) for there in tried]
            influence = Influence(
                input=name,
                value=f"{now:,}",
                at_less=f"{tried[0]:,}",
                at_more=f"{tried[1]:,}",
                place=place,
                source="the job",
                grade="",
                status="given",
                less=changes[0],
                more=changes[1],
            )
            yield influence, moves_it(changes)

    def _changed(self, name: str, there: int, field: str, base: float) -> float | None:
        """Return the relative change of a figure with one field of the plan at another value [1]."""
        update: dict[str, Any] = {name: there}
        plan = self.plan.model_copy(update=update)
        plan.model_fields_set.add(name)
        found = self.again(self.design, self.used.fresh(), plan) if there > 0 else None
        return None if found is None else float(getattr(found.rows[0], field)) / base - 1


def _whole(value: int, factor: float, unit: int) -> int:
    """Return the multiple of a unit nearest to a value times a factor, at least one unit away from the value."""
    found = round(value * factor / unit) * unit
    return found if found != value else value + (unit if factor > 1 else -unit)
