"""How far a figure of the catalogue reaches into a step: not at all, past the machine, or into its collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.catalog.models import Model
from ffplan.catalog.noted import Place, noted
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.design.training import PlanFields
from ffplan.inputs.document import Document
from ffplan.studies.explain.step_pace import Pace, paced
from ffplan.studies.train.cluster import cluster_of
from ffplan.studies.train.train_setup import TrainRequest
from ffplan.training.constraints import RefusedError
from ffplan.training.group_collectives import Cluster, same_times, with_known_times, with_library

if TYPE_CHECKING:
    from ffplan.catalog.store import Entry
    from ffplan.design.resolved import ResolvedDesign


@record
class KeptPlan:
    """A plan of a transformer that is timed again on one design, with figures of its parts changed."""

    document: Document
    """The design file."""
    catalog: Catalog
    """Parts, none of them counted as read."""
    model: str
    """Catalogue id."""
    plan: PlanFields
    """The plan, which stays, with its batch."""
    gpus: int
    """Accelerators that it uses [1]."""

    def pace(
        self, design: ResolvedDesign, parts: Catalog, system: Cluster | None, known: Pace | None = None
    ) -> Pace | None:
        """Return the pace of the plan; None where it cannot run.

        Args:
            system: its machine, where it has been made.
            known: its pace on another machine.
        """
        model = parts.get(Model, self.model, self.document, ("workload", "model"))
        fixed = frozenset(self.plan.model_fields_set)
        asked = TrainRequest(model=model, plan=self.plan, gpus=(self.gpus,), fixed=fixed, system=system)
        try:
            return paced(design, parts, asked, known)
        except RefusedError:
            return None


@record
class Reach:
    """What a step reads of the catalogue.

    A run that reads the same values gives the same result: a figure that it never reads moves nothing, and one that the
    machine never reads leaves the machine as it is.
    """

    job: KeptPlan
    system: Cluster
    """The machine as it is, with the times of its collectives."""
    base: Pace | None
    """The pace as it is; None where the plan cannot run."""
    beside: frozenset[Place]
    """Figures of the catalogue that are read otherwise than for the times of collectives."""
    of_system: frozenset[Place]
    """Those that the machine reads."""

    def changed(self, entry: Entry, path: tuple[str | int, ...]) -> Pace | None:
        """Return the pace with one figure of the catalogue changed; None where the design cannot stand.

        Args:
            entry: its part, changed.
            path: its place in the part.
        """
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


def reach(job: KeptPlan, design: ResolvedDesign, used: Catalog) -> Reach:
    """Return how far the figures of the parts that a step uses reach into it.

    Args:
        used: the parts of the design, as read.
    """
    system = cluster_of(design, used, job.plan.reducer)
    base = job.pace(design, used, system)
    beside, of_system = set[Place](), set[Place]()
    for seen in (beside, of_system):
        parts = job.catalog.with_entries([noted(entry, seen) for entry in used.used])
        own = resolve(job.document, parts)  # a machine is made of what this reads, too
        machine = cluster_of(own, parts, job.plan.reducer)
        if seen is beside:
            job.pace(own, parts, with_known_times(machine, system))
        else:
            job.pace(design, used, machine)
    return Reach(job=job, system=system, base=base, beside=frozenset(beside), of_system=frozenset(of_system))
