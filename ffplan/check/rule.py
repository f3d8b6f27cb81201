"""The record of a rule, the register of the rules on assessed designs, and a design as they see it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import date

    from ffplan.base.errors import Finding
    from ffplan.catalog.store import Catalog
    from ffplan.cost.power import PowerPlan
    from ffplan.design.ownership import ResolvedOwnership
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan
    from ffplan.results.design import Assessment, SiteSummary
    from ffplan.results.run import RunReport
    from ffplan.results.serving import ServeRow
    from ffplan.results.storage import StorageSummary
    from ffplan.results.training import TrainReport
    from ffplan.studies.design.design import DesignStudy
    from ffplan.studies.operate.goodput_job import JobRecovery
    from ffplan.training.accelerator_rates import UncalibratedError
    from ffplan.training.constraints import RefusedError

    Finder = Callable[["Examined"], Iterable["Breach"]]


class Examined:
    """A study of a design, with its workload and its ownership."""

    def __init__(
        self, study: DesignStudy, catalog: Catalog, today: date | None = None, held: ResolvedDesign | None = None
    ) -> None:
        """Take a study; without `today` no rule looks at age, and the limits of `held` never change figures."""
        self.study, self.catalog, self.today, self.held = study, catalog, today, held

    @property
    def design(self) -> ResolvedDesign:
        """The design, with the limits that it is held to."""
        return self.held or self.study.design

    @property
    def assessment(self) -> Assessment:
        """Its assessment."""
        return self.study.assessment

    @property
    def fabric(self) -> FabricPlan:
        """Its fabric."""
        return self.study.fabric

    @property
    def power(self) -> PowerPlan:
        """Its power."""
        return self.study.power

    @cached_property
    def job(self) -> TrainReport | RefusedError | UncalibratedError | None:
        """The workload with its step time, or the reason why it has none; None without a workload.

        Raises:
            InputError: if the workload is wrong.
        """
        if self.study.design.workload is None:
            return None
        from ffplan.studies.train.default_job import workload_report
        from ffplan.training.accelerator_rates import UncalibratedError
        from ffplan.training.constraints import RefusedError

        try:
            return workload_report(self.study.design, self.catalog.fork(), self.study.design.workload)
        except (RefusedError, UncalibratedError) as error:
            return error

    @cached_property
    def timed(self) -> TrainReport | None:
        """The workload with its step time; None if it cannot be timed."""
        if self.job is None:
            return None
        from ffplan.results.training import TrainReport

        return self.job if isinstance(self.job, TrainReport) else None

    @cached_property
    def run(self) -> RunReport | None:
        """The run of the workload over its tokens; None without tokens or step time.

        Raises:
            InputError: if the ownership is wrong.
        """
        workload = self.study.design.workload
        if workload is None or self.timed is None or workload.tokens is None:
            return None
        from ffplan.studies.cost.cost import study_run
        from ffplan.studies.cost.ledger import CostRequest
        from ffplan.studies.train.default_job import timed_job, workload_gpus

        timed = timed_job(self.timed, workload_gpus(self.study.design, workload), workload.tokens)
        return study_run(self.study.design, self.catalog.fork(), CostRequest(draws=0, seed=0, years=None), timed)

    @cached_property
    def served(self) -> tuple[ServeRow | None, str]:
        """The load under `serving`, or why there is none.

        Raises:
            InputError: if the section is wrong.
        """
        if self.study.design.serving is None:
            return None, "the design has no `serving`"
        from ffplan.studies.serve.answer import stated_report
        from ffplan.studies.serve.links import ServeError

        try:
            report = stated_report(self.study.design, self.catalog.fork())
        except ServeError as error:
            return None, f"the load under `serving` cannot be served: {error}"
        return report.rows[report.best], ""

    @cached_property
    def recovery(self) -> JobRecovery | None:
        """The goodput of the workload, after failures and checkpoints; None if it cannot be timed.

        Raises:
            InputError: if the reliability of the design is wrong.
        """
        workload = self.study.design.workload
        if workload is None or self.timed is None:
            return None
        from ffplan.studies.operate.goodput_job import timed_recovery
        from ffplan.studies.train.default_job import workload_gpus

        gpus = workload_gpus(self.study.design, workload)
        return timed_recovery(self.study.design, self.catalog.fork(), self.timed, gpus)

    @cached_property
    def site(self) -> tuple[SiteSummary | None, str]:
        """Purchase, power and racks of the whole site, or why they are unknown; neither without accelerators."""
        if self.assessment.site is not None:
            return self.assessment.site, ""
        from ffplan.studies.cost.ledger import CostRequest
        from ffplan.studies.cost.site import known_site

        limits = self.design.spec.limits
        priced = limits.capex is not None or limits.cost_per_accelerator is not None
        return known_site(self.study.design, self.catalog.fork(), None if priced else CostRequest(draws=0))

    @cached_property
    def storage(self) -> StorageSummary | None:
        """The planned storage; None if the design plans none or has no accelerators."""
        design, assessed = self.study.design, self.assessment.storage
        if assessed is not None or not design.accelerators:
            return assessed if assessed is not None and assessed.planned else None
        if not any(group.group.role == "storage" for group in design.groups):
            return None
        from ffplan.studies.operate.goodput_basis import goodput_basis, storage_summary

        return storage_summary(goodput_basis(design, self.catalog.fork(), self.fabric, beside=False))

    @cached_property
    def ownership(self) -> ResolvedOwnership:
        """The inputs of owning or renting the design.

        Raises:
            InputError: if it is wrong.
        """
        from ffplan.design.ownership import resolve_ownership

        return resolve_ownership(self.study.design, self.catalog.fork())

    @cached_property
    def switch_loss(self) -> int:
        """The accelerators that the worst loss of one switch cuts off [1]."""
        from ffplan.studies.fabric.switch_loss import worst_switch_loss

        return worst_switch_loss(self.study.design, self.fabric)


@record
class Breach:
    """A breach of a rule, which becomes a finding of that rule."""

    path: tuple[str | int, ...]
    """Field of the design at fault; empty for the whole file."""
    message: str
    """The fault."""
    remedy: str
    """The way to correct it."""
    key: bool = False
    """Point at the field's name rather than at its value."""
    severity: Severity | None = None
    """Severity, unless it is the rule's."""
    unchecked: bool = False
    """Whether it is a limit whose figure is not known in full."""


@record
class Rule:
    """One rule, as docs/rules.md shows it."""

    id: str
    """Stable id."""
    title: str
    """The condition that it finds."""
    why: str
    """The reason."""
    example: str
    """A design, or part of one, that breaks it."""
    good: str
    """The same, as it keeps the rule."""
    fix: str
    """The remedy."""
    severity: Severity = Severity.ERROR
    """Weight of its findings."""
    find: Finder | None = None
    """Finds its breaches; None for rules that are enforced elsewhere, such as while a file is read."""

    def check(self, examined: Examined) -> Iterator[Finding]:
        """Yield a finding for every breach in a design."""
        for breach in self.find(examined) if self.find else ():
            yield examined.design.document.finding(
                self.id,
                breach.path,
                breach.message,
                breach.remedy,
                severity=breach.severity or self.severity,
                key=breach.key,
                unchecked=breach.unchecked,
            )


def _rule_of_limit(field: str) -> str:
    return f"limit-{field.replace('_', '-')}"


REGISTER: list[Rule] = []
"""Rules on assessed designs whose modules are loaded; `ffplan.check.rules` loads them all."""


def rule(
    name: str, *, title: str, why: str, example: str, good: str, fix: str, severity: Severity = Severity.ERROR
) -> Callable[[Finder], Finder]:
    """Register a rule on assessed designs, with the decorated function as its finder.

    Args:
        name: its id; the other arguments are the fields of `Rule`.
    """

    def register(find: Finder) -> Finder:
        REGISTER.append(
            Rule(id=name, title=title, why=why, example=example, good=good, fix=fix, severity=severity, find=find)
        )
        return find

    return register
