"""limit-goodput."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.limits import hold_job
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the likely goodput of the workload against `limits.goodput`, and warn where its median alone breaks it."""
    found, limit = examined.recovery, examined.design.spec.limits.goodput
    median, words = None, ""
    if found is not None and limit is not None:
        from ffplan.studies.cost.cost import band
        from ffplan.studies.operate.goodput_job import DRAWS, drawn_outcome

        one = band(found.outcome.goodput, drawn_outcome(found, DRAWS, 0).goodput)
        median = one.p50
        words = f" (median {_tenths(median)}, P10 to P90 {_tenths(one.p10)} to {_tenths(one.p90)})"
    broken = tuple(
        hold_job(
            examined,
            "goodput",
            lambda each: float(each.recovery.outcome.goodput) if each.recovery else None,
            "of its time",
            what=f"the likely goodput of the workload{words}",
            remedy="lower the limit, or change what loses time; `ffplan goodput` names what would help",
            least=True,
        )
    )
    yield from broken
    if not broken and median is not None and limit is not None and median < limit:
        assert found is not None
        yield examined.design.document.finding(
            RULE.id,
            ("limits", "goodput"),
            f"the likely goodput of the workload, {_tenths(float(found.outcome.goodput))}, holds the limit of "
            f"{_tenths(limit)}; its median does not{words}",
            "leave room: uncertain inputs reach further down than up; `ffplan goodput` has them",
            severity=Severity.WARNING,
        )


def _tenths(value: float) -> str:
    return f"{100 * value:.1f} %"


RULE = Rule(
    id="limit-goodput",
    title="The workload keeps less of its time than `limits.goodput`",
    why="Failures, checkpoints and restarts cost tokens that are paid for. The likely value is judged, which `goodput` "
    "prints first and `cost` takes; where the median over the uncertain inputs alone lies below, it is a warning.",
    example="workload: {model: llama3-70b, batch: 1024}\nlimits: {goodput: 99.9 %}",
    good="workload: {model: llama3-70b, batch: 1024}\nlimits: {goodput: 90 %}",
    fix="Restart faster, plan spares, or change the limit.",
    check=check,
)
