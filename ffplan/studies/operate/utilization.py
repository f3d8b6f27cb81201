"""How jobs share a cluster: utilisation, waits, fragmentation, and what zones cost; simulated."""

from __future__ import annotations

from dataclasses import replace
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.elementary import log2
from ffplan.base.errors import UsageError
from ffplan.base.formatting import number, percent, span
from ffplan.base.processes import heard
from ffplan.base.record import record
from ffplan.base.version import __version__
from ffplan.catalog.reliability import JobMix
from ffplan.reliability.hazards import DAY_S
from ffplan.reliability.job_mix import JobDraw, drawn_jobs, job_count, with_running
from ffplan.reliability.scheduler import ClusterRules, JobTable, Shared, share_cluster
from ffplan.reliability.simulate import mean_interval, student
from ffplan.results import utilization as out
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.result import ToolInfo
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.basis.provenance import design_info, files_read

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign

_ENOUGH = 6
"""Runs from which the interval of a mean takes less than three standard errors [1]."""
_WARM = 0.2
"""Part of the days at the start that no figure counts [1]."""
_JOB_S = 8e-6
"""Time to simulate a job, measured on one core [s]."""
_MOST_JOBS = 20_000_000
"""Jobs of a run that memory holds in less than a gigabyte [1]."""
_LOOK_S = 4e-6
"""Time of a look at the queue, which time-sharing takes once a quantum, measured on one core [s]."""


@record
class UtilizationRequest:
    """What to simulate."""

    mix: JobMix | None
    """Distribution of jobs; None for a given list."""
    table: JobTable | None
    name: str
    """The mix, or the file of the jobs."""
    policies: tuple[str, ...]
    load: float
    """Work that arrives over what the cluster can do [1]."""
    days: float
    """Days that are counted."""
    drain: bool
    """Whether jobs that wait at the end run too, so that every wait counts."""
    runs: int
    seed: int
    quantum_s: float
    save_s: float
    load_s: float


def _zone_nodes(design: ResolvedDesign, *, zoned: bool) -> tuple[int, ...]:
    """Return the nodes of each zone that gangs keep to; the first zones take the remainder."""
    count = design.compute.group.count
    zones = design.spec.fabric.zones if zoned and not design.side_by_side else 1
    return tuple(count // zones + (index < count % zones) for index in range(zones))


def _cluster_rules(design: ResolvedDesign, request: UtilizationRequest, policy: str, *, zoned: bool) -> ClusterRules:
    """Let gangs keep to the design's zones if zoned; otherwise all nodes are one pool."""
    zones = _zone_nodes(design, zoned=zoned)
    return ClusterRules(
        zones=zones,
        gpus_per_node=design.compute.accelerators_per_node,
        spanning=1 if len(zones) > 1 and design.spec.fabric.inter_zone is not None else 0,
        policy=policy,
        quantum_s=request.quantum_s,
        save_s=request.save_s,
        load_s=request.load_s,
    )


def _job_table(design: ResolvedDesign, request: UtilizationRequest, seed: int) -> JobTable:
    if request.table is not None:
        return request.table
    jobs = _draw(design, request)
    arriving = drawn_jobs(jobs, work_gpu_s=_work(design, request), seconds=request.days * DAY_S, seed=seed)
    return with_running(arriving, jobs, gpus=min(request.load, 1.0) * design.job_accelerators, seed=seed)


def _draw(design: ResolvedDesign, request: UtilizationRequest) -> JobDraw:
    mix = request.mix
    assert mix is not None
    return JobDraw(
        run=(float(mix.run_mean.value), float(mix.run_median.value), float(mix.run_max.value)),
        gpus=(float(mix.gpus_mean.value), float(mix.gpus_median.value), float(mix.gpus_max.value)),
        most_gpus=most_gpus(design),
    )


def _work(design: ResolvedDesign, request: UtilizationRequest) -> float:
    """Return the average work that arrives in a run, in accelerators times time [s]."""
    return request.load * design.job_accelerators * request.days * DAY_S


def _jobs_of_a_run(design: ResolvedDesign, request: UtilizationRequest) -> int:
    if request.table is not None:
        return len(request.table.gpus)
    count = job_count(_draw(design, request), _work(design, request))
    if count > _MOST_JOBS:
        days = floor(10 * request.days * _MOST_JOBS / count) / 10
        message = f"--days {request.days:g} is {count:,} jobs a run of `{request.name}` on this design"
        raise UsageError(
            f"ffplan operate jobs: {message}, above {_MOST_JOBS:,}; `--days {days:g}` and more `--runs` do"
        )
    return count


def expected_seconds(design: ResolvedDesign, request: UtilizationRequest) -> float:
    """Return how long the simulation will take [s]; raise `UsageError` if a mix has more jobs than memory can hold."""
    zonings = 2 if design.spec.fabric.zones > 1 and not design.side_by_side else 1
    crowded = request.table is None or request.table.gpus.sum() > design.job_accelerators
    looks = request.days * DAY_S / request.quantum_s if crowded and "time-sharing" in request.policies else 0.0
    return (_JOB_S * _jobs_of_a_run(design, request) * len(request.policies) + _LOOK_S * looks) * request.runs * zonings


def _interval(values: list[float], least: float = 0.0, most: float = 1.0) -> out.MeanInterval:
    """Return a mean with its interval, as far as the values can lie."""
    mean, _, half = mean_interval(values)
    if len(values) < 2:
        return out.MeanInterval(mean, None, None)
    return out.MeanInterval(mean, max(least, mean - half), min(most, mean + half))


def _mean_wait(runs: list[Shared]) -> out.MeanInterval | None:
    """Return the mean wait over the runs with a counted job that started; None without any."""
    waits = [float(run.wait_s.mean()) for run in runs if len(run.wait_s)]
    return _interval(waits, most=float("inf")) if waits else None


def _zone_cost(zoned: list[Shared], pool: list[Shared]) -> out.MeanInterval | None:
    """Return the utilisation that zones cost; both have the same jobs, so runs are compared in pairs."""
    if not pool:
        return None
    return _interval(
        [in_pool.utilisation - in_zones.utilisation for in_zones, in_pool in zip(zoned, pool, strict=False)], least=-1.0
    )


def _waits(runs: list[Shared]) -> tuple[out.WaitRow, ...]:
    waits = np.concatenate([run.wait_s for run in runs])
    gpus = np.concatenate([run.wait_gpus for run in runs])
    if not len(waits):
        return ()
    classes = 2 ** np.ceil(log2(np.maximum(gpus, 1))).astype(int)
    rows = []
    for size in np.unique(classes):
        waits_of_size = waits[classes == size]
        rows.append(
            out.WaitRow(
                gpus=int(size),
                jobs=len(waits_of_size),
                mean_s=float(waits_of_size.mean()),
                median_s=float(np.median(waits_of_size)),
                p90_s=float(np.quantile(waits_of_size, 0.9)),
            )
        )
    return tuple(rows)


def _policy(policy: str, zones: int, runs: list[Shared], pool: list[Shared], days: float) -> out.PolicyRow:
    return out.PolicyRow(
        policy=policy,
        zones=zones,
        utilisation=_interval([run.utilisation for run in runs]),
        occupied=_interval([run.occupied for run in runs]),
        fragmentation=_interval([run.fragmentation for run in runs]),
        wait_s=_mean_wait(runs),
        zone_cost=_zone_cost(runs, pool) if zones > 1 else None,
        preemptions_per_day=sum(run.preemptions for run in runs) / len(runs) / days,
        waiting=sum(run.unfinished for run in runs) / len(runs),
        waits=_waits(runs),
    )


def study_utilization(
    design: ResolvedDesign, catalog: Catalog, request: UtilizationRequest, step: Callable[[int, int], None]
) -> out.UtilizationReport:
    """Return how jobs use a design.

    Args:
        step: called before every run with its number and their sum; Ctrl-C in a run ends the simulation with the runs
            before it.

    Raises:
        KeyboardInterrupt: in the first round of runs.
    """
    zones = design.spec.fabric.zones if not design.side_by_side else 1
    settings = [(policy, zoned) for policy in request.policies for zoned in ((True, False) if zones > 1 else (True,))]
    outcomes: dict[tuple[str, bool], list[Shared]] = {setting: [] for setting in settings}
    seconds, stopped, done = request.days * DAY_S, False, 0
    warm = _WARM if request.table is None else 0.0  # a trace counts from its first job on
    first = _job_table(design, request, request.seed)
    try:
        for number in range(request.runs):
            table = first if not number else _job_table(design, request, request.seed + number)
            for policy, zoned in settings:
                step(done, request.runs * len(settings))
                rules = _cluster_rules(design, request, policy, zoned=zoned)
                outcomes[policy, zoned].append(
                    share_cluster(rules, table, seconds, seconds * warm, drain=request.drain)
                )
                done += 1
    except KeyboardInterrupt:
        heard()
        if not all(outcomes.values()):
            raise
        stopped = True
    rows = tuple(
        _policy(policy, zones if zoned else 1, runs, outcomes.get((policy, False), []), request.days)
        for (policy, zoned), runs in outcomes.items()
    )
    offered = request.load
    if request.table is not None:
        within = first.arrival_s < seconds
        offered = float((first.run_s * first.gpus)[within].sum()) / (design.job_accelerators * seconds)
    report = out.UtilizationReport(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        design=design_info(design),
        catalog=files_read(catalog),
        headline=(),
        jobs=request.name,
        offered=offered,
        days=request.days,
        warm_days=request.days * warm,
        runs=len(next(iter(outcomes.values()))),
        seed=request.seed,
        save_s=request.save_s,
        load_s=request.load_s,
        quantum_s=request.quantum_s,
        utilization=rows,
        stopped=stopped,
        assumptions=(*_assumptions(design, request, zones), *_few_runs(len(next(iter(outcomes.values()))), request)),
    )
    return replace(report, headline=_headline(report))


def _few_runs(runs: int, request: UtilizationRequest) -> tuple[str, ...]:
    if request.table is not None or runs >= _ENOUGH:
        return ()
    narrow = (
        f"`--runs {_ENOUGH}` takes {number(student(_ENOUGH), 3)}, and about {number(_ENOUGH / runs, 2)} times as long."
    )
    if runs < 2:
        return (f"A single run has no interval; {narrow}",)
    return (f"Intervals (±, 95 %) are of {runs} runs: {number(student(runs), 3)} standard errors; {narrow}",)


def _headline(report: out.UtilizationReport) -> tuple[str, ...]:
    first = report.utilization[0]
    waits = (
        "no wait is known, since no job that is counted started"
        if first.wait_s is None
        else f"a job waits {span(first.wait_s.mean)} on average"
    )
    lines = [
        f"With {report.jobs} at {percent(report.offered)} of what the cluster can do in {span(report.days * DAY_S)}, "
        f"{first.policy} keeps "
        f"{100 * first.utilisation.mean:.1f} % of its accelerators at work; {waits}."
    ]
    demand = first.occupied.mean + first.fragmentation.mean
    if demand > 0:
        held = 100 * first.occupied.mean / demand
        lines.append(f"Jobs hold {held:.1f} % of the accelerators that are not idle for want of jobs.")
    if first.zone_cost is not None:
        cost = first.zone_cost
        ends = "" if cost.low is None or cost.high is None else f" ({100 * cost.low:.2f} to {100 * cost.high:.2f})"
        lines.append(f"Keeping to {first.zones} zones costs {100 * cost.mean:.2f}{ends} points of utilisation.")
    best = max((row for row in report.utilization if row.zones == first.zones), key=lambda row: row.utilisation.mean)
    if best is not first:
        lines.append(f"{best.policy} would keep {100 * best.utilisation.mean:.1f} %.")
    if first.waiting > 0:
        one = round(first.waiting) == 1
        what = "1 job still waits" if one else f"{number(first.waiting, 2)} jobs still wait"
        lines.append(
            f"{what} at the end; {'its wait is' if one else 'their waits are'} not counted, and --days adds time."
        )
    return tuple(lines)


def _assumptions(design: ResolvedDesign, request: UtilizationRequest, zones: int) -> tuple[str, ...]:
    per_node = design.compute.accelerators_per_node
    sentences = [
        f"A job of {per_node} accelerators or fewer shares a node; a larger one takes whole nodes, all at once.",
        "No node fails; `ffplan operate goodput` has what failures take.",
    ]
    if request.mix is not None:
        sentences.append(
            f"Sizes and run times are lognormal with mean and median of `{request.name}`; sizes are powers of two, "
            "arrivals random. The cluster is full of running jobs at first, as far as the load fills it."
        )
        if request.load >= 1:
            sentences.append(
                f"At such a load the queue grows from day to day: waits depend on the {request.days:g} days."
            )
    if zones > 1:
        joined = design.spec.fabric.inter_zone is not None
        sentences.append("A job keeps to one zone if it fits" + ("; one at a time may span zones." if joined else "."))
    if "time-sharing" in request.policies:
        sentences.append(
            f"Time-sharing: after {span(request.quantum_s)} a job may have to leave; it saves in "
            f"{span(request.save_s)} and loads in {span(request.load_s)}."
        )
    return tuple(sentences)
