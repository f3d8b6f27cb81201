"""Goodput in sentences: the answer, and the assumptions behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, percent, plural, span, stored
from ffplan.studies.basis.job_layout import node_of
from ffplan.studies.operate.storage import fallback_notes
from ffplan.studies.train.assumptions import copy_gaps

if TYPE_CHECKING:
    from ffplan.reliability.job import JobOutcome
    from ffplan.reliability.job_case import JobCase
    from ffplan.results.reliability import ReliabilityReport
    from ffplan.results.run import Band
    from ffplan.studies.operate.goodput_basis import GoodputBasis
    from ffplan.studies.operate.goodput_job import GoodputJob

HOUR = 3_600.0
_FEW = 3


def _share(band: Band) -> str:
    ends = "" if band.p10 == band.p90 else f" ({100 * band.p10:.1f} to {100 * band.p90:.1f} %)"
    return f"{100 * band.likely:.1f} %{ends}"


def _goodput_headline(report: ReliabilityReport) -> tuple[str, ...]:
    mtbf = report.mtbf_hours.likely
    often = f"every {span(mtbf * HOUR)}"
    most = listed(f"{row.label} ({percent(row.share)})" for row in report.hazards[:_FEW] if row.share > 0)
    saved = report.checkpoint
    lines = [
        f"{report.model} on {plural(report.gpus, 'accelerator')} keeps {_share(report.goodput)} of its time.",
        f"A failure stops it {often}: {most}.",
    ]
    rows = {row.rule: row for row in report.intervals}
    usual, best = rows["usual"], rows["best"]
    text = f"The best interval of checkpoints is {span(best.interval_s)}"
    text += f"; every {span(usual.interval_s)} keeps {100 * usual.goodput:.1f} %"
    if "given" in rows:
        row_given = rows["given"]
        text += f"; {span(row_given.interval_s)}, as asked, keeps {100 * row_given.goodput:.1f} %"
    lines.append(f"{text}.")
    if saved.save_s:
        lines.append(
            f"A checkpoint is {stored(saved.bytes)}; storage has it after {span(saved.save_s)} "
            f"(bound by {saved.binds}), and the job stops for {span(saved.stop_s)}."
        )
    better = [row for row in report.levers if row.tokens > 0]
    if better:
        row = better[0]
        worth = f", worth {row.worth_year:,.0f} {report.currency} a year" if row.worth_year is not None else ""
        if row.net_year is not None and row.price_year:
            worth += f" ({row.net_year:,.0f} less its price)"
        lines.append(f"What would help most: {row.label}, {100 * row.tokens:+.1f} % {report.unit}{worth}.")
    if report.short_chance > 0.01 and report.domain is not None and report.spares_for_99 <= report.spares:
        lines.append(
            f"It lacks a node {percent(report.short_chance)} of the time, until a spare is in its place or a rack is "
            f"back; {plural(report.domain.spares + 1, 'whole spare domain')} would do without."
        )
    elif report.short_chance > 0.01:
        lines.append(
            f"It lacks a node {percent(report.short_chance)} of the time; {plural(report.spares_for_99, 'spare')} "
            f"would make that 1 %, and there {'is' if report.spares == 1 else 'are'} {report.spares:,}."
        )
    return tuple(lines)


def _domains(basis: GoodputBasis, job: JobCase) -> list[str]:
    if job.domain_nodes < 2:
        return []
    parts, counted = basis.hazards.profile.domain_parts, basis.hazards.drains
    sentences = []
    silent = [part.label for name, part in parts.items() if name not in counted]
    if silent or not parts:
        sentences.append(
            f"What stops a whole scale-up domain at once ({listed(silent) or 'switch tray, backplane'}) has no "
            "published rate and is not counted: expect less, or state it in `reliability.domain_failures`."
        )
    accelerator = basis.design.compute.accelerator
    if counted and accelerator is not None and accelerator.id in basis.hazards.profile.relative:
        sentences.append(
            f"The rates of `{accelerator.id}` over the profile's come from all its interruptions, including "
            "racks: a stated rate of racks is counted twice in part."
        )
    if counted:
        sentences.append(
            "A domain in repair is replaced only by a whole spare one; single spare nodes cannot replace it."
        )
    return sentences


def _stragglers(basis: GoodputBasis, gpus: int) -> str:
    profile = basis.hazards.profile
    if basis.hazards.section.stragglers is not None:
        return "Stragglers: as the design states, in addition to those in its step time."
    if profile.stragglers is None:
        return "Stragglers are not counted: the reliability profile has none."
    least = profile.stragglers_from.value if profile.stragglers_from else 0
    if gpus < least:
        return f"Stragglers are not counted: their source has no jobs below {least:,} accelerators."
    return (
        "Stragglers: step times are calibrated on published runs and have their uneven stages and sequences; what "
        "those lack, a worker that fails without stopping, is taken off. `reliability.stragglers` sets it."
    )


def _paths(basis: GoodputBasis, timed_job: GoodputJob, job: JobCase) -> list[str]:
    path_repair, ports = basis.hazards.section.path_repair, basis.design.stripes
    times = {rate.hazard.label: rate.hazard.path_repair for rate in basis.hazards.rates if rate.name in job.survives}
    timed = "its step with NICs that lack a port" if timed_job.report else "untimed, the port's part of a NIC, the most"
    sentences = [
        f"A NIC that loses a link or its leaf switch has {plural(ports - 1, 'port')} left: the job goes on at "
        f"{percent(job.path_lost)} of its rate until the path is back, for every rank waits for the slowest ({timed}).",
    ]
    sentences.append("By size, jobs are taken to keep as much of their rate beside a lost path as this one does.")
    if path_repair is not None:
        return [*sentences, f"A lost path is back after {span(float(path_repair.value))}, as the design states."]
    known = [f"{label} {span(float(time.value))}" for label, time in times.items() if time is not None]
    silent = [label for label, time in times.items() if time is None]
    if known:
        sources, there = basis.hazards.profile.sources, [time for time in times.values() if time is not None]
        guessed = all((time.status or sources[time.source].status) == "R" for time in there)
        basis_words = "recalled; no source publishes it" if guessed else "as the reliability profile has it"
        sentences.append(
            f"Until a lost path is back: {listed(known)}, {basis_words}. `reliability.path_repair` sets it."
        )
    if silent:
        sentences.append(f"The profile has no `path_repair` of {listed(silent)}: what its loss slows is not counted.")
    return sentences


def _restarts(job: JobCase, outcome: JobOutcome) -> str:
    restarts = job.restart
    if restarts == "standby":
        found = percent(float(outcome.standby_free))
        restarts = f"standby where a failure finds a spare free ({found} of them), else requeue of the whole job"
        if not job.spares:
            restarts = "requeue of the whole job, since no spare stands by as asked"
    return f"Restarts: {restarts}; checkpoints: {job.checkpoints}."


def _goodput_assumptions(
    basis: GoodputBasis, timed_job: GoodputJob, job: JobCase, outcome: JobOutcome
) -> tuple[str, ...]:
    section, storage = basis.hazards.section, basis.storage
    sentences = [
        f"Failures follow `{basis.hazards.profile.id}`: independent, at constant rates, past a fleet's first months.",
        "Goodput is effective training time over time (ETTR), times the rate that missing nodes, lost paths and "
        "stragglers leave. "
        "Queueing, MFU and loss spikes are not in it.",
        _stragglers(basis, timed_job.gpus),
        _restarts(job, outcome),
    ]
    if job.checkpoints != section.checkpoints:
        sentences.append(
            f"The job is on one node, and no other has memory for its copies: checkpoints {section.checkpoints}, as "
            "the design asks, are not possible."
        )
    if job.replicated:
        sentences.append(
            "All ranks of a convolutional network have the same weights and momentum, 8 bytes a parameter: one node "
            "writes a checkpoint, and every node reads the whole."
        )
    if section.short_of_nodes == "shrink":
        nodes = plural(round(job.replica_nodes), "node")
        sentences.append(f"A job that lacks a node goes on without that replica ({nodes}) until repair.")
    else:
        sentences.append("A job that lacks a node waits for repair.")
    if section.spare_nodes is None:
        sentences.append(
            f"Spares: {basis.bought_spares:,} as the ownership profile buys them, and nodes that the job leaves free."
        )
    else:
        sentences.append(f"Spares: {section.spare_nodes:,} as stated; its bill of materials buys as many.")
    sentences.append(
        f"Worth is what the {'images' if job.replicated else 'tokens'} gained cost now, in a year of the job's "
        "accelerators; net is less the price of the "
        "parts a year, without their power, racks and labour. ByteRobust keeps 2 to 4 machines standing by."
    )
    if any(row in job.units and job.units[row] for row in ("bridge", "link")):
        sentences.append(
            "What a bridge, a second NIC or a second port does to the step itself is not in these changes: `ffplan "
            "compare` of the two designs has it. A second port is priced as the endpoint links and leaf switches again."
        )
    sentences += _domains(basis, job)
    if timed_job.report is None:
        sentences.append(f"The job is not timed ({timed_job.untimed}); a replica is taken to be one node.")
    if storage is None:
        sentences.append("No storage is known: saving and loading are taken to cost nothing.")
    else:
        sentences += fallback_notes(storage)
    if job.copy_gbyte_s is None:
        sentences.append(
            "The PCIe link of the accelerators is unknown: copies into host memory are taken to cost nothing."
        )
    else:
        sentences += copy_gaps(node_of(basis.design))
    if any(row in job.survives for row in job.units):
        sentences += _paths(basis, timed_job, job)
    if float(outcome.mtbf_s) < float(outcome.restart_s):
        sentences.append("Failures come faster than restarts: no such job makes much progress.")
    return tuple(sentences)
