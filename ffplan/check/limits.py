"""Shared code of the limit rules: a finding at a limit that is broken or cannot be checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import ids_listed, listed, number, power

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.base.errors import Finding
    from ffplan.base.outcomes import MissingFigure
    from ffplan.check.examined import Examined
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.inputs.quantities import Money
    from ffplan.results.design import CostReport


def _show(value: float, unit: str) -> str:
    return power(value) if unit == "W" else f"{number(value, 5)} {unit}"


def hold(
    design: ResolvedDesign,
    field: str,
    actual: float | None,
    limit: float | None,
    unit: str,
    *,
    what: str,
    remedy: str,
    least: bool = False,
    missing: str = "",
    unknown: str = "",
) -> Iterator[Finding]:
    """Yield a finding where `actual` breaks `limit`, or where it is not known.

    Args:
        design: the design, for places.
        field: field under `limits`.
        actual: the value of the assessment, in `unit`; None where it has none.
        limit: the limit that the design declares, in `unit`; None where it declares none.
        unit: unit for the message.
        what: the quantity, with its reason, for the message.
        remedy: what would be right.
        least: the limit is a minimum.
        missing: what the value lacks, where it is a partial sum: the whole is at least as much.
        unknown: why the value is not known.
    """
    if limit is None:
        return
    rule, path = f"limit-{field.replace('_', '-')}", ("limits", field)
    if actual is None:
        why = unknown or f"{what} is not known"
        mend = "give the design what is missing, or drop the limit" if unknown else remedy
        yield design.document.finding(rule, path, f"the limit cannot be checked: {why}", mend)
        return
    shown = f"at least {_show(actual, unit)}" if missing else _show(actual, unit)
    slack = 1e-9 * max(abs(actual), abs(limit))
    broken = actual < limit - slack if least else actual > limit + slack
    if missing and not broken:
        message = f"the limit cannot be checked: {what} is {shown}, with {missing}"
        yield design.document.finding(rule, path, message, "add what is missing with `--catalog`")
    if broken:
        word, bound = ("below", "at least") if least else ("above", "at most")
        yield design.document.finding(
            rule,
            path,
            f"{what} is {shown}, {word} the limit of {bound} {_show(limit, unit)}",
            remedy,
        )


def unknown_job(examined: Examined, *, tokens: bool = False) -> str:
    """Return why the step, or the run, of the workload is not known; an empty text where it is.

    Args:
        examined: the design.
        tokens: the run over its tokens is wanted.
    """
    workload = examined.design.workload
    if workload is None:
        return "the design has no `workload`"
    if examined.timed is None:
        return "the workload has no step time"
    return "the workload has no `tokens`" if tokens and workload.tokens is None else ""


def hold_job(
    examined: Examined,
    field: str,
    value: Callable[[Examined], float | None],
    unit: str,
    *,
    what: str,
    remedy: str,
    least: bool = False,
    tokens: bool = False,
) -> Iterator[Finding]:
    """Yield a finding where a figure of the workload breaks its limit, or where it is not known.

    Args:
        examined: the design.
        field: field under `limits`.
        value: the figure, in `unit`; asked for only where the design declares the limit.
        unit: unit for the message.
        what: the quantity, for the message.
        remedy: what would be right.
        least: the limit is a minimum.
        tokens: the figure is of the run over the workload's tokens.
    """
    limit = getattr(examined.design.spec.limits, field)
    if limit is None:
        return
    yield from hold(
        examined.design,
        field,
        value(examined),
        limit,
        unit,
        what=what,
        remedy=remedy,
        least=least,
        unknown=unknown_job(examined, tokens=tokens),
    )


def unpriced(cost: CostReport | None) -> str:
    """Return what a cost lacks, for `hold`; an empty text where it lacks nothing."""
    parts = ids_listed(item.part for item in cost.missing) if cost else ""
    return f"no price of {parts}" if parts else ""


def purchase(examined: Examined, limit: Money | None) -> tuple[float | None, str]:
    """Return the purchase, the whole bill of materials, in the currency of a limit, or why it is not known.

    Nothing is added to the parts that a design without accelerators plans.

    Args:
        examined: the design.
        limit: the limit; None where there is none.
    """
    cost = examined.assessment.cost
    if limit is None or cost is None or not (cost.lines or cost.missing):
        return None, ""
    site, unknown = examined.site
    if unknown:
        return None, unknown
    if site is None or site.purchase is None:
        return cost.total, ""
    if site.currency == limit.currency:
        return site.purchase, ""
    return site.purchase / examined.design.spec.site.exchange[limit.currency].amount, ""


def hold_money(
    design: ResolvedDesign,
    field: str,
    actual: float | None,
    limit: Money | None,
    *,
    what: str,
    missing: str = "",
    unknown: str = "",
) -> Iterator[Finding]:
    """Yield a finding where an amount of money breaks its limit, or where it is not known in full.

    Args:
        design: the design, for places.
        field: field under `limits`.
        actual: the amount, in the limit's currency; None where nothing is priced.
        limit: the limit that the design declares; None where it declares none.
        what: the quantity, for the message.
        missing: what the amount lacks.
        unknown: why it is not known.
    """
    if limit is None:
        return
    remedy = "spend less, or raise the limit"
    if actual is None:
        remedy = "name a price book under `cost` that prices something in scope"
    yield from hold(
        design,
        field,
        actual,
        limit.amount,
        limit.currency,
        what=what,
        remedy=remedy,
        missing=missing,
        unknown=unknown,
    )


def hold_site_power(examined: Examined, field: str, figure: str, *, what: str) -> Iterator[Finding]:
    """Yield a finding where a power of the whole site breaks its limit, or where it is not known in full.

    Args:
        examined: the design.
        field: field under `limits`.
        figure: field of `SiteSummary` [kW].
        what: the quantity, for the message; `{pue}` in it is filled in.
    """
    limit = getattr(examined.design.spec.limits, field)
    if limit is None:
        return
    (site, unknown), power = examined.site, examined.assessment.power
    plain = {
        "facility_peak_kw": power.it_maximum_kw * power.pue,
        "facility_training_kw": power.facility_kw,
        "it_training_kw": power.it_kw,
    }
    kilowatts = getattr(site, figure) if site is not None else plain[figure]  # without accelerators nothing is added
    yield from hold_power(
        examined.design,
        field,
        None if unknown else kilowatts * 1e3,
        limit,
        site.missing if site is not None else power.missing,
        what=what.format(pue=f"at PUE {power.pue:g},"),
        remedy="use fewer nodes or nodes of less power, cool with less, or raise the limit",
        unknown=unknown,
    )


def hold_power(
    design: ResolvedDesign,
    field: str,
    watts: float | None,
    limit: float | None,
    missing: tuple[MissingFigure, ...],
    *,
    what: str,
    remedy: str,
    unknown: str = "",
) -> Iterator[Finding]:
    """Yield a finding where a power breaks its limit, or where it is not known in full.

    Args:
        design: the design, for places.
        field: field under `limits`.
        watts: the power [W]; None where it is not known.
        limit: the limit that the design declares [W]; None where it declares none.
        missing: powers that the sum lacks.
        what: the quantity, for the message.
        remedy: what would be right.
        unknown: why the power is not known.
    """
    parts = listed(f"`{item.path}` of `{item.part}`" for item in missing)
    lacks = f"no {parts}" if parts else ""
    yield from hold(design, field, watts, limit, "W", what=what, remedy=remedy, missing=lacks, unknown=unknown)
