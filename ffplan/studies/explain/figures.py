"""The figures of a design that two versions of it are compared by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.plain import number_at
from ffplan.base.record import record
from ffplan.results.difference import FigureChange

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ffplan.results.run import RunReport
    from ffplan.results.training import TrainReport


@record
class FigureKind:
    """A figure, and which way it gets better."""

    name: str
    label: str
    unit: str = ""
    kind: str = ""
    """cost, power, bandwidth or time: the threshold that it is held to."""
    better: int = 0
    """1 where more is better, -1 where less is, 0 where neither is meant."""
    path: tuple[str | int, ...] = ()
    """Where the plain data of an assessment has it; empty of a job."""


FIGURES = (
    FigureKind(name="nodes", label="compute nodes", path=("nodes", "compute")),
    FigureKind(name="accelerators", label="accelerators", path=("accelerators",)),
    FigureKind(name="switches", label="switches", path=("fabric", "switches", "total")),
    FigureKind(name="cables", label="cables", path=("fabric", "cables", "total")),
    *(
        FigureKind(
            name=f"network_{at + 1}_switches",
            label=f"switches of network {at + 1}",
            path=("networks", at, "fabric", "switches", "total"),
        )
        for at in range(3)
    ),
    FigureKind(name="storage_read", label="storage, read", unit="GB/s", better=1, path=("storage", "read_gbyte_s")),
    FigureKind(name="spare_ports", label="spare leaf ports", path=("fabric", "spare_ports")),
    FigureKind(name="oversubscription", label="oversubscription", better=-1, path=("fabric", "oversubscription")),
    FigureKind(
        name="bisection",
        label="bisection",
        unit="GB/s",
        kind="bandwidth",
        better=1,
        path=("fabric", "bisection_gbyte_s"),
    ),
    FigureKind(
        name="allreduce",
        label="allreduce, algbw",
        unit="GB/s",
        kind="bandwidth",
        better=1,
        path=("communication", 0, "algbw_gbyte_s"),
    ),
    FigureKind(name="it_power", label="IT power", unit="kW", kind="power", better=-1, path=("power", "it_kw")),
    FigureKind(
        name="facility_peak",
        label="facility power, peak",
        unit="kW",
        kind="power",
        better=-1,
        path=("site", "facility_peak_kw"),
    ),
    FigureKind(
        name="facility_training",
        label="facility power, training",
        unit="kW",
        kind="power",
        better=-1,
        path=("site", "facility_training_kw"),
    ),
    FigureKind(name="capex", label="purchase", kind="cost", better=-1, path=("site", "purchase")),
    FigureKind(
        name="cost_per_accelerator",
        label="purchase per accelerator",
        kind="cost",
        better=-1,
        path=("site", "per_accelerator"),
    ),
    FigureKind(name="step", label="step of the workload", unit="s", kind="time", better=-1),
    FigureKind(name="tokens_s", label="tokens a second", unit="1/s", kind="time", better=1),
    FigureKind(name="run_days", label="days of the run", unit="days", kind="time", better=-1),
    FigureKind(name="cost_per_million_tokens", label="a million tokens", kind="cost", better=-1),
)
"""Figures in the order of a report."""

Values = dict[str, tuple[float | None, str]]
"""Value and unit of each figure by name."""


def values_of(assessment: Mapping[str, Any], job: TrainReport | None = None, run: RunReport | None = None) -> Values:
    """Return the figures of a design.

    Args:
        assessment: its assessment as plain data, of a saved report or of today.
        job: its workload; None without one.
        run: the run of the workload over its tokens.
    """
    cost, site = assessment.get("cost"), assessment.get("site")
    currency = str(site.get("currency", "")) if isinstance(site, dict) else ""
    partial = isinstance(cost, dict) and bool(cost.get("missing"))
    power = assessment.get("power")
    unpowered = isinstance(power, dict) and bool(power.get("missing"))
    found: Values = {}
    for kind in FIGURES:
        if kind.path:
            unknown = partial if kind.kind == "cost" else kind.kind == "power" and unpowered
            value = None if unknown else number_at(assessment, kind.path)
            found[kind.name] = (value, currency if kind.kind == "cost" else kind.unit)
    row = job.rows[0] if job else None
    token = run.cost_per_million_tokens if run else None
    found["step"] = (row.step_s if row else None, "s")
    found["tokens_s"] = (row.tokens_s if row else None, "1/s")
    found["run_days"] = (run.days.likely if run else None, "days")
    found["cost_per_million_tokens"] = (token.likely if token and not partial else None, run.currency if run else "")
    return found


def _verdict(kind: FigureKind, change: float) -> str:
    return "" if not change or not kind.better else "better" if change * kind.better > 0 else "worse"


def figure_changes(before: Values, after: Values) -> tuple[FigureChange, ...]:
    """Return every figure that one of two designs has.

    Args:
        before: figures before.
        after: figures after.

    Amounts in two currencies are not compared: the figure has no change.
    """
    rows = []
    for kind in FIGURES:
        (one, unit), (two, other) = before[kind.name], after[kind.name]
        if one is None and two is None:
            continue
        same = one is not None and two is not None and unit == other
        change = two - one if same and one is not None and two is not None else 0.0
        rows.append(
            FigureChange(
                figure=kind.name,
                label=kind.label,
                unit=unit if same or two is None else other if one is None else f"{unit}, {other}",
                kind=kind.kind,
                before=one,
                after=two,
                relative=change / one if same and one else None,
                verdict=_verdict(kind, change),
            )
        )
    return tuple(rows)


def moved(rows: tuple[FigureChange, ...], least: float = 1e-9) -> tuple[FigureChange, ...]:
    """Return the figures that changed.

    Args:
        rows: figures.
        least: relative change that counts [1].
    """
    return tuple(row for row in rows if _has_moved(row, least))


def _has_moved(row: FigureChange, least: float) -> bool:
    if row.before is None or row.after is None or row.relative is None:
        return row.before != row.after
    return abs(row.relative) > least
