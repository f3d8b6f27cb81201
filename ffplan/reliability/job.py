"""Goodput of one job from its hazards, checkpoints and restarts; floats and arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Number
from ffplan.base.elementary import exp, log2
from ffplan.base.record import record
from ffplan.reliability.checkpoint import _two_level_goodput, _TwoLevels, goodput, losses, optimum
from ffplan.reliability.hazards import YEAR_S, event_rates, interruptions
from ffplan.reliability.saves import _Saves, _saves
from ffplan.reliability.spares import _best_way, _domain_shortages, _kept_rate, _Shortage, _shortage, nodes_in_repair

if TYPE_CHECKING:
    from ffplan.reliability.job_case import JobCase, Values


@record
class _MemoryCopies:
    """Checkpoints in the memory of other nodes; every number broadcasts to the shape of the inputs."""

    restart_s: Number
    """Restart from a copy in memory, until the first new step [s]."""
    behind_s: Number
    """Time until another node has a copy [s]."""
    storage_behind_s: Number
    """Time until storage has a copy, without further stop of the job [s]."""
    storage_restart_s: Number
    """Restart from storage, until the first new step [s]."""
    every: Number = 1.0
    """Checkpoints in memory for one in storage [1]."""


@record
class JobOutcome:
    """Outcome of a job; every number broadcasts to the shape of the inputs."""

    mtbf_s: Number
    by_hazard: dict[str, Number]
    """Interruptions a second, by hazard [1/s]."""
    checkpoint_bytes: Number
    save_s: Number
    """Stop of the job at a checkpoint [s]."""
    persist_s: Number
    """Time until storage has the checkpoint [s]."""
    persist_binds: str
    load_s: Number
    restart_s: Number
    """From an interruption to the first new step, mean [s]."""
    standby_free: Number
    """Share of interruptions that find a spare free and restart onto it; 0 unless that is asked for [1]."""
    standby_saves_s: Number
    """What such a restart is shorter than a requeue; 0 unless restarts are onto standby nodes [s]."""
    behind_s: Number
    """Work not yet saved while a save is in flight [s]."""
    interval_s: Number
    ettr: Number
    """Effective training time over time, of a job with all its nodes [1]."""
    parts: dict[str, Number]
    """Losses by kind, to first order [1]."""
    in_repair: Number
    """Nodes in repair at any time [1]."""
    domains_in_repair: Number
    """Scale-up domains in repair at any time [1]."""
    short: _Shortage
    kept: Number
    """Share of the rate kept despite missing nodes [1]."""
    slowed: Number
    """Share of the rate lost to broken paths that do not stop the job [1]."""
    stragglers: Number
    """Share of the rate lost to slow workers, beyond their effect on step times [1]."""
    goodput: Number
    """ETTR times the rates kept despite missing nodes, lost paths and stragglers [1]."""
    memory: _MemoryCopies | None = None
    """Copies in the memory of other nodes; None if checkpoints are only in storage."""


def requeue_seconds(points: tuple[tuple[float, float], ...], gpus: Any) -> Number:
    """Return the time to restart a job, by its size [s].

    Args:
        points: accelerators [1] and time [s], rising.
        gpus: accelerators of the job [1].

    Equation:
        linear in log2(accelerators) between points, beyond them at the slope of the nearest two; at least a tenth of
        the first time

    Source:
        ByteRobust, arXiv 2509.16293, Table 7: 454, 545, 635 and 768 s of 2,048 to 16,384.
    """
    sizes = log2([size for size, _ in points])
    times = np.array([time for _, time in points])
    log_gpus = log2(np.maximum(np.asarray(gpus, dtype=float), 1.0))
    seconds = np.interp(log_gpus, sizes, times)
    if len(points) > 1:
        slopes = np.diff(times) / np.diff(sizes)
        seconds = np.where(log_gpus > sizes[-1], times[-1] + slopes[-1] * (log_gpus - sizes[-1]), seconds)
        seconds = np.where(log_gpus < sizes[0], times[0] + slopes[0] * (log_gpus - sizes[0]), seconds)
    # a steep slope would otherwise reach 0 for small jobs
    seconds = np.maximum(seconds, times[0] / 10)
    return seconds if seconds.ndim else float(seconds)


def hazard_rates(job: JobCase, v: Values) -> dict[str, Number]:
    """Return the events a year of one unit, for every hazard [1/year]."""
    rates = {name: v[f"rate.{name}"] for name in job.units}
    return event_rates(rates, fleet=v["fleet"], relative=v["relative"], spreads=job.spreads, of_nodes=job.of_nodes)


def _restart_seconds(restart: str, v: Values, load: Number) -> Number:
    """Return the time from an interruption to the first new step [s].

    Args:
        restart: how: requeue, reschedule, or standby where a spare node is free.
        v: inputs by name.
        load: time to read a checkpoint [s].

    Equation:
        (1 - h) detect + h hang + requeue * factor + load

    Source:
        ByteRobust, arXiv 2509.16293, section 2 and Table 7.
    """
    seen = (1 - v["hangs"]) * v["detect"] + v["hangs"] * v["hang"]
    factor = 1.0 if restart == "requeue" else v[restart]
    return seen + v["requeue"] * factor + load


def _copies(job: JobCase, size: Number, persist: Number, load: Number, restart: Number) -> _MemoryCopies:
    to_peer = size / (job.writers_gbyte_s * 1e9) if job.clients_gbyte_s else size * 0.0
    return _MemoryCopies(
        restart_s=restart - load + to_peer, behind_s=to_peer, storage_behind_s=persist, storage_restart_s=restart
    )


def _two_levels(
    copies: _MemoryCopies, save: Number, mtbf: Number, fraction: Number, interval: float | None
) -> _TwoLevels:
    # least interval, and restart with the work behind the copy
    near = copies.behind_s, copies.restart_s + copies.behind_s
    return _two_level_goodput(
        (save, *near), (copies.storage_behind_s, copies.storage_restart_s), mtbf, fraction, interval
    )


def _interruptions(job: JobCase, v: Values, rates: dict[str, Number]) -> dict[str, Number]:
    stops = {name: v[f"stops.{name}"] * (0.0 if name in job.survives else 1.0) for name in job.units}
    return {name: interruptions({name: job.units[name]}, rates, stops) for name in job.units}


@record
class _Repairs:
    """Nodes and scale-up domains in repair, and the ways for the spares to replace them."""

    nodes: Number
    """Nodes in repair at any time [1]."""
    domains: Number
    """Scale-up domains in repair at any time [1]."""
    ways: list[_Shortage]
    """Shortages by the whole domains among the spares that replace failed domains."""


def _repairs(job: JobCase, v: Values, rates: dict[str, Number]) -> _Repairs:
    removed = sum(
        job.units[name] * rates[name] * v[f"removes.{name}"] for name in job.units if name not in job.survives
    )
    repair = nodes_in_repair(removed / YEAR_S, v["repair"])
    domains: Number = 0.0
    for name in job.drains:
        domains = domains + nodes_in_repair(job.units[name] * rates[name] / YEAR_S, v[f"drain.{name}"])
    # a node whose repair is as quick as the swap is waited for
    swap = np.minimum(v["tray_swap"] / v["repair"], 1.0) if job.carries else 0.0
    if job.drains:
        ways = _domain_shortages(repair, domains, job.spares, job.domain_nodes, swap=swap, waits=job.waits)
    else:
        ways = [_shortage(repair, job.spares, swap=swap, waits=job.waits)]
    return _Repairs(repair, domains, ways)


def _found_free(job: JobCase, by_hazard: dict[str, Number], short: _Shortage) -> Number:
    """Return the share of interruptions that find a spare free: a node, or a whole domain for a failed domain [1]."""
    drained = sum(by_hazard[name] for name in job.drains) / sum(by_hazard.values())
    return (1 - drained) * short.free + drained * short.free_domains


def _slowed_rate(job: JobCase, v: Values, rates: dict[str, Number]) -> Number:
    """Return the share of the rate lost to broken paths that do not stop the job [1].

    Args:
        v: inputs by name, with `path.` of every hazard the job survives [s].
        rates: events a year of one unit, by hazard [1/year].

    Equation:
        (1 - r) (1 - exp(-m)), m = sum of n_i * rate_i * repair_i over the hazards that the job survives

    Source:
        M/G/inf queue: paths in repair are Poisson with mean m. Every rank waits for the slowest NIC, so that one lost
        path takes as much as several.
    """
    lost = sum(job.units[name] * rates[name] * v[f"path.{name}"] for name in job.survives)
    return (1 - job.path_lost) * (1 - exp(-lost / YEAR_S))


@record
class _Progress:
    """Progress of a job with all its nodes; every number broadcasts to the shape of the inputs."""

    restart_s: Number
    ettr: Number
    parts: dict[str, Number]
    interval_s: Number
    behind_s: Number
    memory: _MemoryCopies | None

    def mixed(self, other: _Progress, share: Number) -> _Progress:
        """Return the progress where `share` of the interruptions restart as in another.

        Equation:
            a + share * (b - a) of the times, their losses and ETTR

        Source:
            The time to the next failure does not depend on what the last one found, so that each restart keeps its own
            part: exp(-R / M) in ETTR. The interval rests on no restart.
        """

        def mean(one: Number, two: Number) -> Number:
            return one + share * (two - one)

        memory = self.memory
        if memory is not None and other.memory is not None:
            memory = replace(
                memory,
                restart_s=mean(memory.restart_s, other.memory.restart_s),
                storage_restart_s=mean(memory.storage_restart_s, other.memory.storage_restart_s),
            )
        return replace(
            self,
            restart_s=mean(self.restart_s, other.restart_s),
            ettr=mean(self.ettr, other.ettr),
            parts={name: mean(part, other.parts[name]) for name, part in self.parts.items()},
            memory=memory,
        )


def _progress(job: JobCase, v: Values, saves: _Saves, mtbf: Number, restart: Number) -> _Progress:
    """Return the progress of a job whose interruptions all take one restart [s]."""
    if job.checkpoints == "in-memory":
        memory = _copies(job, saves.bytes, saves.persist_s, saves.load_s, restart)
        levels = _two_levels(memory, saves.stop_s, mtbf, 1 - v["together"], job.interval)
        memory = replace(memory, every=levels.every)
        return _Progress(
            restart_s=restart,
            ettr=levels.goodput,
            parts=levels.parts,
            interval_s=levels.interval,
            behind_s=memory.behind_s,
            memory=memory,
        )
    behind = saves.behind_s
    # a save cannot begin before the last one ends
    interval = np.maximum(optimum(saves.stop_s, mtbf) if job.interval is None else job.interval, behind)
    return _Progress(
        restart_s=restart,
        ettr=goodput(interval, saves.stop_s, mtbf, restart + behind),
        parts=losses(interval, saves.stop_s, mtbf, restart + behind),
        interval_s=interval,
        behind_s=behind,
        memory=None,
    )


def job_outcome(job: JobCase, v: Values) -> JobOutcome:
    """Return a job's goodput and losses from failures, checkpoints and restarts.

    Args:
        v: inputs by name: rates, parts and times.

    Returns:
        Numbers that broadcast to the shape of the inputs: times [s], sizes [byte], parts of the time [1].

    Equation:
        goodput = ETTR(tau, d, M, R + what a save in flight leaves behind) * rate kept beside missing nodes * (1 -
        lost paths) * (1 - stragglers); a save stops for pause + copy, a synchronous one for storage too, and cannot
        begin before the last ends. Restarts onto standby nodes: f ETTR(R of standby) + (1 - f) ETTR(R of a requeue), f
        the share of failures that find a spare free

    Source:
        Daly 2006, equation 20, with ByteRobust's and 3FS's times.
    """
    rates = hazard_rates(job, v)
    by_hazard = _interruptions(job, v, rates)
    # rates add, times between failures do not
    mtbf = 1 / sum(by_hazard.values())
    saves, repairs = _saves(job, v), _repairs(job, v, rates)
    standby = job.restart == "standby"
    usual = _restart_seconds("requeue" if standby else job.restart, v, saves.load_s)
    quick = _restart_seconds(job.restart, v, saves.load_s)
    slowest = _progress(job, v, saves, mtbf, usual)
    fastest = _progress(job, v, saves, mtbf, quick) if standby else slowest

    def outcome(short: _Shortage) -> tuple[Number, _Progress, Number]:
        free = _found_free(job, by_hazard, short) if standby else 0.0
        kept = _kept_rate(short, job.nodes, job.replica_nodes, shrinks=job.shrinks, domain_nodes=job.domain_nodes)
        return free, slowest.mixed(fastest, free) if standby else slowest, kept

    tried = [(progress.ettr * kept) for _, progress, kept in map(outcome, repairs.ways)]
    short = _best_way(repairs.ways, tried)
    free, progress, kept = outcome(short)
    slowed = _slowed_rate(job, v, rates)
    return JobOutcome(
        mtbf_s=mtbf,
        by_hazard=by_hazard,
        checkpoint_bytes=saves.bytes,
        save_s=saves.stop_s,
        persist_s=saves.persist_s,
        persist_binds=saves.binds,
        load_s=saves.load_s,
        restart_s=progress.restart_s,
        standby_free=free,
        standby_saves_s=usual - quick,
        behind_s=progress.behind_s,
        interval_s=progress.interval_s,
        ettr=progress.ettr,
        parts=progress.parts,
        in_repair=repairs.nodes,
        domains_in_repair=repairs.domains,
        short=short,
        kept=kept,
        slowed=slowed,
        stragglers=v["stragglers"],
        goodput=progress.ettr * kept * (1 - slowed) * (1 - v["stragglers"]),
        memory=progress.memory,
    )
