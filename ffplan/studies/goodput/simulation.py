"""Simulated years of a job, set against the formulas, with what each loss leaves of the fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.processes import heard
from ffplan.base.record import record
from ffplan.cost.sensitivity import likely
from ffplan.reliability.hazards import DAY_S, YEAR_S
from ffplan.reliability.job import hazard_rates, job_outcome
from ffplan.reliability.simulate import SimulatedJob, SimulatedMemory, mean_interval, simulate_run
from ffplan.results.reliability import SimulatedEvent, SimulationReport

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.cost.inputs import Input
    from ffplan.reliability.job_case import JobCase
    from ffplan.reliability.simulate import Interruption
    from ffplan.studies.fabric.cabling import WiredDesign
    from ffplan.studies.operate.reliability import Hazards

_EVENT_S = 1.5e-4
"""Time to simulate an interruption, measured on one core [s]."""
_ERRORS = 3.0
"""Standard errors that a simulation may lie from the formulas [1]."""
_FEW = 5
"""Runs below which no verdict is given [1]."""
_LOSSES = {"leaf-switch": ("leaf",), "upper-switch": ("spine", "core"), "upper-link": ("link",)}
"""Parts of the fabric that a hazard takes, by their kinds in `ffplan fabric faults`."""


@record
class FabricLosses:
    """What the loss of one part leaves of the fabric's allreduce."""

    rate_left: dict[str, float]
    """By kind: leaf, spine, core, link; none where the fabric joins no two nodes [1]."""
    names: dict[str, tuple[str, ...]]


@record
class SimulationRequest:
    """How long and how often."""

    days: float
    runs: int
    seed: int


def expected_seconds(job: JobCase, inputs: tuple[Input, ...], request: SimulationRequest) -> float:
    """Return how long a simulation will take [s]."""
    v = likely(inputs)
    outcome, rates = job_outcome(job, v), hazard_rates(job, v)
    lost = sum(float(job.units[name] * rates[name]) for name in job.survives) / YEAR_S
    return _EVENT_S * request.runs * request.days * DAY_S * (1 / float(outcome.mtbf_s) + lost)


def _simulated_job(job: JobCase, inputs: tuple[Input, ...]) -> SimulatedJob:
    v = likely(inputs)
    outcome = job_outcome(job, v)
    rates = hazard_rates(job, v)
    stopping = {name: float(rate) for name, rate in outcome.by_hazard.items() if float(rate) > 0}
    whole = {name: job.units[name] * float(rates[name]) / YEAR_S for name in job.units}
    passing = [name for name in job.units if name not in stopping and name not in job.survives]
    # what the mean restart is shorter by than one that finds no spare free
    saved = float(outcome.standby_free) * float(outcome.standby_saves_s)
    return SimulatedJob(
        rates=stopping,
        removes={name: min(1.0, float(v[f"removes.{name}"]) / float(v[f"stops.{name}"])) for name in stopping},
        removals=sum(whole[name] * float(v[f"removes.{name}"]) for name in passing),
        harmless={name: whole[name] for name in _LOSSES if name in passing and whole[name]},
        paths={name: (whole[name], float(v[f"path.{name}"])) for name in sorted(job.survives) if whole[name]},
        path_lost=job.path_lost,
        interval_s=float(outcome.interval_s),
        save_s=float(outcome.save_s),
        behind_s=float(outcome.memory.storage_behind_s if outcome.memory else outcome.behind_s),
        restart_s=float(outcome.restart_s) + saved,
        repair_s=float(v["repair"]),
        nodes=int(job.nodes),
        spares=job.spares,
        replica_nodes=job.replica_nodes,
        shrinks=job.shrinks,
        pace=1 - float(outcome.stragglers),
        drains={name: float(v[f"drain.{name}"]) for name in job.drains if name in stopping},
        domain_nodes=job.domain_nodes,
        spare_domains=int(outcome.short.spare_domains),
        swap_s=min(float(v["tray_swap"]), float(v["repair"])) if job.carries else 0.0,
        standby_saves_s=float(outcome.standby_saves_s),
        waits=job.waits,
        memory=None
        if outcome.memory is None
        else SimulatedMemory(
            together=float(v["together"]),
            behind_s=float(outcome.memory.behind_s),
            restart_s=float(outcome.memory.restart_s) + saved,
            every=round(float(outcome.memory.every)),
        ),
    )


def _part(event: Interruption, job: JobCase, hazards: Hazards, losses: FabricLosses | None) -> tuple[str, float | None]:
    kinds = _LOSSES.get(event.hazard, ())
    if losses is not None:
        pool = [(kind, name) for kind in kinds for name in losses.names.get(kind, ())]
        if pool:
            kind, name = pool[int(event.pick * len(pool))]
            # `faults` leaves the nodes of a lost leaf out; a job that survives keeps them, on their other ports
            kept = kind == "leaf" and event.hazard in job.survives
            return name, None if kept else losses.rate_left.get(kind)
        if event.hazard == "upper-link":
            number = int(event.pick * max(job.units[event.hazard], 1)) + 1
            return f"link {number:,}", losses.rate_left.get("link")
    unit = next(rate.hazard.unit for rate in hazards.rates if rate.name == event.hazard)
    if unit == "job":
        return "the job", None
    return f"{unit} {int(event.pick * max(job.units[event.hazard], 1)) + 1:,}", None


def _timeline(
    events: list[Interruption], job: JobCase, hazards: Hazards, losses: FabricLosses | None
) -> tuple[SimulatedEvent, ...]:
    labels = {rate.name: rate.hazard.label for rate in hazards.rates}
    timeline = []
    for event in events:
        part, left = _part(event, job, hazards, losses)
        timeline.append(
            SimulatedEvent(
                at_hours=event.at_s / 3600,
                hazard=labels[event.hazard],
                part=part,
                lost_work_s=event.lost_s,
                down_s=event.down_s,
                nodes_missing=event.missing,
                rate_left=left,
            )
        )
    return tuple(timeline)


def simulate(
    job: JobCase,
    inputs: tuple[Input, ...],
    hazards: Hazards,
    request: SimulationRequest,
    *,
    losses: FabricLosses | None,
    step: Callable[[int, int], None],
) -> SimulationReport:
    """Return simulated runs of a job.

    Args:
        losses: what single losses leave of the fabric; None if that is not known.
        step: called before every run with its number and their sum; Ctrl-C in a run ends the simulation with the runs
            before it.

    Raises:
        ImportError: without SimPy.
        KeyboardInterrupt: in the first run.
    """
    simulated = _simulated_job(job, inputs)
    seconds = request.days * DAY_S
    runs, stopped = [], False
    for number in range(request.runs):
        step(number, request.runs)
        try:
            runs.append(simulate_run(simulated, seconds, request.seed + number))
        except KeyboardInterrupt:
            heard()
            if not runs:
                raise
            stopped = True
            break
    mean, error, half = mean_interval([run.goodput for run in runs])
    expected = float(job_outcome(job, likely(inputs)).goodput)
    single = len(runs) < 2
    return SimulationReport(
        days=request.days,
        runs=len(runs),
        seed=request.seed,
        goodput=mean,
        goodput_low=None if single else max(0.0, mean - half),
        goodput_high=None if single else min(1.0, mean + half),
        expected=expected,
        agrees=None if len(runs) < _FEW else abs(mean - expected) <= _ERRORS * error,
        interruptions=sum(run.interruptions for run in runs) / len(runs),
        interruptions_expected=seconds * sum(simulated.rates.values()),
        stopped=stopped,
        timeline=_timeline(runs[0].events, job, hazards, losses),
    )


_KINDS = ("leaf", "spine", "core")
_SAMPLES = 3
"""Draws of each loss [1]."""


def fabric_losses(wired: WiredDesign, step: Callable[[int, int, str], None]) -> FabricLosses:
    """Return the rest of a fabric after single losses.

    Args:
        step: called with the number of each draw, the draws, and the loss.
    """
    from ffplan.fabric.routing.degraded import ROLE_NUMBERS
    from ffplan.studies.fabric.route import FaultRequest, faults

    roles = wired.fabric.network.switches.role
    pools = {kind: np.flatnonzero(roles == ROLE_NUMBERS[kind]) for kind in _KINDS}
    names = {kind: tuple(wired.names.switch(int(index)) for index in pool) for kind, pool in pools.items() if len(pool)}
    kinds = [*names, *(["link"] if bool((wired.fabric.network.links.tier > 0).any()) else [])]
    report = faults(wired, FaultRequest(tuple(kinds), "adaptive", _SAMPLES, 0), step)
    left = {kind: loss.allreduce_share for kind, loss in zip(kinds, report.losses, strict=True)}
    return FabricLosses({kind: share for kind, share in left.items() if share is not None}, names)
