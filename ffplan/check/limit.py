"""A limit that a design may declare: its row, and how a figure is held against it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import ids_listed, listed, number, power
from ffplan.base.outcomes import gap_words
from ffplan.base.record import record
from ffplan.check.rule import Breach, Rule, _rule_of_limit
from ffplan.design.schema import LIMITED, limit_path
from ffplan.inputs.quantities import Money, exchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ffplan.base.outcomes import MissingFigure
    from ffplan.check.rule import Examined
    from ffplan.figures.figure import Figure
    from ffplan.results.design import CostReport

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
    holder: Holder | None = None
    """Function that finds the breaches if the figure at the limit's address does not decide."""
    printed_unit: str = ""
    """Unit of figure and limit in a message, unless it is the figure's unit."""

    @property
    def figure(self) -> Figure:
        """The table's entry for the figure that it bounds."""
        from ffplan.figures.address import figure_at_address  # few designs declare limits

        return figure_at_address(LIMITED.get(self.field, self.field))

    @property
    def least(self) -> bool:
        """Whether it is a minimum: more of the figure is better."""
        return self.figure.better > 0

    @property
    def unit(self) -> str:
        """Unit of figure and limit in a message; powers are held in watts, and a limit of money has its currency."""
        unit = self.figure.unit
        return self.printed_unit or {"kW": "W", "currency": ""}.get(unit, unit)

    def rule(self) -> Rule:
        """Return its rule."""
        return Rule(
            id=_rule_of_limit(self.field),
            title=self.title,
            why=self.why,
            example=self.example,
            good=self.good,
            fix=self.fix,
            find=self.breaches,
        )

    def breaches(self, examined: Examined) -> Iterable[Breach]:
        """Return the breaches of the limit; none if the design does not declare it."""
        if _declared(self, examined) is None:
            return ()
        hold = self.holder or _BY_ROOT.get(LIMITED[self.field].partition(".")[0], _plain)
        path = limit_path(self.field, examined.design.document.data)
        return (replace(breach, path=path) for breach in hold(self, examined))


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
        what: the figure, if the row's words do not fit.
        remedy: the remedy, if the row's does not fit.
        missing: parts that a partial sum lacks: the full sum is at least as much.
        unknown: why the figure is unknown.
    """
    what, remedy, path = what or limit.what, remedy or limit.remedy, ("limits", limit.field)
    if actual is None:
        reason = unknown or f"{what} is not known"
        mend = "complete the design, or drop the limit" if unknown else remedy
        yield Breach(path=path, message=f"the limit cannot be checked: {reason}", remedy=mend, unchecked=True)
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
        yield Breach(path=path, message=message, remedy="add the missing parts with `--catalog`", unchecked=True)


def _shown(value: float, unit: str) -> str:
    return power(value) if unit == "W" else f"{number(value, 5)} {unit}"


def _declared(limit: DesignLimit, examined: Examined) -> Any:
    return getattr(examined.design.spec.limits, limit.field)


def _unknown_job(examined: Examined, *, tokens: bool = False) -> str:
    workload = examined.design.workload
    if workload is None:
        return "the design has no `workload`"
    if examined.timed is None:
        return "the workload has no step time"
    return "the workload has no `tokens`" if tokens and workload.tokens is None else ""


def _number(limit: DesignLimit, results: dict[str, Any]) -> float | None:
    from ffplan.figures.address import number_at_address  # few designs declare limits

    return number_at_address(results, LIMITED[limit.field])


def _plain(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    yield from compare(limit, _number(limit, {"": examined.assessment}), _declared(limit, examined))


def _of_step(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    row = examined.timed.rows[0] if examined.timed else None
    yield from compare(
        limit, _number(limit, {"train": row}), _declared(limit, examined), unknown=_unknown_job(examined)
    )


def _of_run(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    unknown = _unknown_job(examined, tokens=True)
    yield from compare(limit, _number(limit, {"run": examined.run}), _declared(limit, examined), unknown=unknown)


def _of_load(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    row, unknown = examined.served
    bound = _declared(limit, examined)
    figure = _number(limit, {"serve": row})
    if row is not None and isinstance(bound, Money):
        priced = row.cost.currency if row.cost else None
        unknown = f"tokens are priced in {priced}" if priced else "the design has no prices"
        rates = examined.design.spec.site.exchange
        figure = exchanged(Money(figure, priced), bound.currency, rates) if priced and figure is not None else None
    yield from compare(
        limit,
        figure,
        bound,
        missing=_unpriced_tokens(examined) if isinstance(bound, Money) else "",
        unknown="" if figure is not None else unknown,
    )


def _of_site(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    (site, unknown), plan = examined.site, examined.assessment.power
    figure = LIMITED[limit.field].partition(".")[2]
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
        _declared(limit, examined),
        what=limit.what.format(pue=f"at PUE {plan.pue:g},"),
        missing=_unrated(plan.missing if site is None else site.missing),
        unknown=unknown,
    )


def _unpriced(cost: CostReport | None) -> str:
    parts = ids_listed(line.part for line in cost.missing) if cost else ""
    return f"no price of {parts}" if parts else ""


def _unpriced_tokens(examined: Examined) -> str:
    """Return what a cost of tokens lacks; a rent has every part in it."""
    return _unpriced(examined.assessment.cost) if examined.design.rent is None else ""


def _unrated(missing: Iterable[MissingFigure]) -> str:
    parts = listed(gap_words(missing))
    return f"no {parts}" if parts else ""


_BY_ROOT: dict[str, Holder] = {"train": _of_step, "run": _of_run, "site": _of_site, "serve": _of_load}
"""How a figure is held, by the first step of its address: each knows why its figures may be unknown."""
