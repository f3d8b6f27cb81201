"""A limit that a design may declare: its row, and how a figure is held against it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import listed, number, power
from ffplan.base.record import record
from ffplan.check.rule import Breach, Rule, rule_of_limit
from ffplan.inputs.quantities import Money

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ffplan.base.outcomes import MissingFigure
    from ffplan.check.examined import Examined

    Holder = Callable[["DesignLimit", Examined], Iterable[Breach]]


@record
class DesignLimit:
    """A limit, as a row of the table: the figure that it holds, and the rule that reports it."""

    field: str
    """Field under `limits`."""
    title: str
    """Condition that its rule finds."""
    why: str
    """Reason of the rule."""
    example: str
    """A design, or part of one, that breaks it."""
    good: str
    """The same, as it keeps the limit."""
    fix: str
    """Remedy on the page of the rule."""
    what: str
    """The figure, as the subject of a sentence."""
    remedy: str
    """Remedy in a finding."""
    figure: str | Holder
    """Path of the figure from `Examined`, or the function that finds the breaches."""
    unit: str = ""
    """Unit of figure and limit in a message; empty for money, whose limit has a currency."""
    least: bool = False
    """The limit is a minimum."""

    def rule(self) -> Rule:
        """Return its rule."""
        return Rule(
            id=rule_of_limit(self.field),
            title=self.title,
            why=self.why,
            example=self.example,
            good=self.good,
            fix=self.fix,
            find=self.breaches,
        )

    def breaches(self, examined: Examined) -> Iterable[Breach]:
        """Return the breaches of the limit; none where the design does not declare it."""
        if declared(self, examined) is None:
            return ()
        if callable(self.figure):
            return self.figure(self, examined)
        return _BY_ROOT[self.figure.partition(".")[0]](self, examined)


def compare(
    limit: DesignLimit,
    actual: float | None,
    bound: float | Money,
    *,
    what: str = "",
    remedy: str = "",
    missing: str = "",
    unknown: str = "",
) -> Iterator[Breach]:
    """Yield a breach if a figure breaks its limit, or if it is not known in full.

    Args:
        limit: the limit.
        actual: the figure, in the unit of the bound; None if it is unknown.
        bound: the bound that the design declares.
        what: the figure, where the row's words do not fit.
        remedy: what would be right, where the row's does not fit.
        missing: parts that a partial sum lacks: the full sum is at least as much.
        unknown: why the figure is unknown.
    """
    what, remedy, path = what or limit.what, remedy or limit.remedy, ("limits", limit.field)
    if actual is None:
        reason = unknown or f"{what} is not known"
        mend = "give the design what is missing, or drop the limit" if unknown else remedy
        yield Breach(path=path, message=f"the limit cannot be checked: {reason}", remedy=mend)
        return
    most, unit = (bound.amount, bound.currency) if isinstance(bound, Money) else (bound, limit.unit)
    shown = f"at least {_shown(actual, unit)}" if missing else _shown(actual, unit)
    slack = 1e-9 * max(abs(actual), abs(most))  # a sum that meets its limit but for its last digits keeps it
    broken = actual < most - slack if limit.least else actual > most + slack
    if broken:
        verb, sense = ("below", "at least") if limit.least else ("above", "at most")
        message = f"{what} is {shown}, {verb} the limit of {sense} {_shown(most, unit)}"
        yield Breach(path=path, message=message, remedy=remedy)
    elif missing:
        message = f"the limit cannot be checked: {what} is {shown}, with {missing}"
        yield Breach(path=path, message=message, remedy="add what is missing with `--catalog`")


def _shown(value: float, unit: str) -> str:
    return power(value) if unit == "W" else f"{number(value, 5)} {unit}"


def declared(limit: DesignLimit, examined: Examined) -> Any:
    """Return the bound of a limit that a design declares."""
    return getattr(examined.design.spec.limits, limit.field)


def _at(examined: Examined, path: str) -> float | None:
    """Return the value at a path from a design, such as `timed.rows.0.step_s`; None where a step has none."""
    value: Any = examined
    for step in path.split("."):
        if value is None:
            return None
        value = value[int(step)] if step.isdigit() else getattr(value, step)
    return None if value is None else float(value)


def unknown_job(examined: Examined, *, tokens: bool = False) -> str:
    """Return why the step of the workload, or its run over `tokens`, is unknown; empty if it is known."""
    workload = examined.design.workload
    if workload is None:
        return "the design has no `workload`"
    if examined.timed is None:
        return "the workload has no step time"
    return "the workload has no `tokens`" if tokens and workload.tokens is None else ""


def _plain(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    assert isinstance(limit.figure, str)
    yield from compare(limit, _at(examined, limit.figure), declared(limit, examined))


def _of_job(limit: DesignLimit, examined: Examined, *, tokens: bool = False) -> Iterator[Breach]:
    assert isinstance(limit.figure, str)
    value, unknown = _at(examined, limit.figure), unknown_job(examined, tokens=tokens)
    yield from compare(limit, value, declared(limit, examined), unknown=unknown)


def _of_site(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    """Hold a power of the whole site."""
    assert isinstance(limit.figure, str)
    (site, unknown), plan = examined.site, examined.assessment.power
    figure = limit.figure.partition(".")[2]
    # Nothing is added to what a design without accelerators plans.
    planned = {
        "facility_peak_kw": plan.it_maximum_kw * plan.pue,
        "facility_training_kw": plan.facility_kw,
        "it_training_kw": plan.it_kw,
    }
    kilowatts = planned[figure] if site is None else getattr(site, figure)
    yield from compare(
        limit,
        None if unknown else kilowatts * 1e3,
        declared(limit, examined),
        what=limit.what.format(pue=f"at PUE {plan.pue:g},"),
        missing=unrated(plan.missing if site is None else site.missing),
        unknown=unknown,
    )


def unrated(missing: Iterable[MissingFigure]) -> str:
    """Name the powers that a sum lacks; empty if it is complete."""
    parts = listed(f"`{figure.path}` of `{figure.part}`" for figure in missing)
    return f"no {parts}" if parts else ""


_BY_ROOT: dict[str, Holder] = {
    "assessment": _plain,
    "timed": _of_job,
    "run": partial(_of_job, tokens=True),
    "site": _of_site,
}
"""How a figure is held, by the first step of its path: each knows why its figures may be unknown."""
