"""The first screens of `goodput`, `storage`, `utilization` and `acceptance`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, data_size, listed, number, percent, plural, span, stored
from ffplan.inputs.design_files import as_argument
from ffplan.report.document import _FirstScreen, _recalled_count

if TYPE_CHECKING:
    from ffplan.results.acceptance import AcceptanceReport
    from ffplan.results.reliability import GoodputReport, LeverRow, ReliabilityReport
    from ffplan.results.run import Band
    from ffplan.results.storage import StorageReport
    from ffplan.results.utilization import MeanInterval, UtilizationReport

_HOUR = 3_600.0
_ROWS = 8
"""Rows of a table that fit the screen [1]."""
_LEVERS = 2


def _share(band: Band) -> str:
    ends = "" if band.p10 == band.p90 else f" ({100 * band.p10:.1f} to {100 * band.p90:.1f})"
    return f"{100 * band.likely:.1f} %{ends}"


def _restart_words(job: ReliabilityReport) -> str:
    """Return how a job restarts; onto standby nodes, how often one is free."""
    if job.standby_free is None:
        return job.restart
    if not job.spares:
        return "requeue: no node stands by"
    return f"{job.restart}: {percent(job.standby_free)} of failures find a spare"


def _goodput_screen(report: GoodputReport) -> _FirstScreen:
    job, saved = report.reliability, report.reliability.checkpoint
    lost = (
        ("restarts", job.lost.restarts),
        ("stragglers", job.lost.stragglers),
        ("lost work", job.lost.lost_work),
        ("checkpoint stops", job.lost.checkpoints),
        ("missing nodes", job.lost.missing_nodes),
        ("lost paths", job.lost.lost_paths),
    )
    losses = [f"{name} {100 * part:.1f} %" for name, part in sorted(lost, key=lambda row: -row[1]) if part >= 0.0005]
    lost_words = f"; {listed(losses)} are lost" if losses else ""
    causes = listed(row.label for row in job.hazards[:_LEVERS] if row.share > 0)
    rows = [
        ("training time", _share(job.ettr), "effective, with all its nodes"),
        ("a failure", f"every {span(job.mtbf_hours.likely * _HOUR)}", f"mostly {causes}"),
        ("restart", span(job.restart_s.likely), _restart_words(job)),
        ("checkpoint", f"every {span(job.interval_s)}", f"{stored(saved.bytes)}, stops the job {span(saved.stop_s)}"),
        ("spare nodes", f"{job.spares:,}", f"{job.spares_for_99:,} keep all nodes 99 % of the time"),
    ]
    if job.tokens_s is not None and job.tokens_s_kept is not None:
        rows.append((f"{job.unit}/s", f"{job.tokens_s_kept:,.0f} kept", f"of {job.tokens_s:,.0f}"))
    return _FirstScreen(
        head=f"{report.design.name} · {job.model} on {plural(job.gpus, 'accelerator')} · failures of `{job.profile}`",
        verdict=(f"The job keeps {_share(job.goodput)} of its time{lost_words}.",),
        figures=tuple(rows),
        advice=(
            ("Helps", "; ".join(_lever(row, job.currency) for row in job.levers[:_LEVERS] if row.tokens > 0)),
            ("Next", "the same command with `--section sizes`: the job at other sizes"),
        ),
        unverified=_recalled_count(report.unverified),
    )


def _lever(row: LeverRow, currency: str | None) -> str:
    worth = row.net_year if row.net_year is not None else row.worth_year
    money = ""
    if worth is not None:
        of = "net" if row.net_year is not None else "gross"
        money = f", {amount(round(worth, -3), 3)} {currency} a year {of}"
    return f"{row.label} ({100 * row.tokens:+.1f} %{money})"


def _storage_screen(report: StorageReport) -> _FirstScreen:
    s = report.storage
    met = [tier.tier for tier in report.tiers if tier.met]
    capacity = f"{number(s.usable_bytes / 1e15, 3)} PB of {number(s.raw_bytes / 1e15, 3)} raw"
    node = f"{number(report.client_write_gbyte_s, 3)} written"
    each = f"{number(s.read_per_accelerator, 2)} GB/s read", f"{number(s.write_per_accelerator, 2)} written"
    rows = [
        ("usable", capacity, f"{stored(report.bytes_per_accelerator)} an accelerator"),
        ("read", f"{number(s.read_gbyte_s, 4)} GB/s", f"by {s.read_binds}"),
        ("write", f"{number(s.write_gbyte_s, 4)} GB/s", f"by {s.write_binds}"),
        ("a node", f"{number(report.client_gbyte_s, 3)} GB/s read", node),
        ("an accelerator", *each),
    ]
    burst, reads = report.burst, report.reads
    if burst is not None:
        rows.append(("a checkpoint", span(burst.save_s), f"{stored(burst.bytes)} of {burst.model}"))
    if reads is not None:
        rows.append(("the job reads", f"{number(reads.gbyte_s, 3)} GB/s", f"{100 * reads.share:.2g} % of the rate"))
    images = report.images.job if report.images is not None else None
    if images is not None:
        rows.append(("images", f"{number(images.images_s, 3)} a second", f"{percent(images.fed)} of them fed"))
    planned = "" if s.planned else " The design plans none: its ownership profile sizes it."
    tier = (
        f"It meets NVIDIA's guidance `{met[-1]}` for as many accelerators."
        if met
        else ("It misses NVIDIA's guidance for as many accelerators.")
    )
    return _FirstScreen(
        head=f"{report.design.name} · {plural(s.servers, 'storage server')}, {report.drives:,} drives · "
        f"{listed(report.file_system)}",
        verdict=(f"{tier}{planned}",),
        figures=tuple(rows),
        advice=(
            (
                "Next",
                f"ffplan operate storage {as_argument(report.design.file)} --model ID" if report.burst is None else "",
            ),
        ),
        unverified=_recalled_count(report.unverified),
    )


def _interval(value: MeanInterval) -> str:
    ends = "" if value.low is None or value.high is None else f" ± {50 * (value.high - value.low):.1f}"
    return f"{100 * value.mean:.1f}{ends}"


def _waited(wait: MeanInterval | None) -> str:
    """Return a mean wait in words; a wait that no job had is unknown, and not 0."""
    return "unknown" if wait is None else span(wait.mean)


def _utilization_screen(report: UtilizationReport) -> _FirstScreen:
    rows = tuple(
        (
            row.policy if row.zones == 1 else f"{row.policy}, {row.zones} zones",
            _interval(row.utilisation),
            _interval(row.fragmentation),
            _waited(row.wait_s),
            number(row.preemptions_per_day, 3),
        )
        for row in report.utilization
    )
    offered = f"{report.jobs} at {percent(report.offered)} of capacity"
    return _FirstScreen(
        head=f"{report.design.name} · {offered} · {report.runs} x {number(report.days)} days",
        verdict=report.headline[:_LEVERS],
        figures=rows,
        header=("policy", "at work %", "idle %", "mean wait", "must leave/day"),
    )


def _acceptance_screen(report: AcceptanceReport) -> _FirstScreen:
    rows: tuple[tuple[str, ...], ...]
    if report.judged:
        failed = [row for row in report.judged if row.verdict != "pass"][:_ROWS]
        rows = tuple(
            (
                f"{row.measured.host} {row.measured.part}".strip(),
                row.measured.check,
                number(row.measured.value, 4),
                "-" if row.least is None else number(row.least, 4),
                row.verdict,
            )
            for row in failed
        )
        header: tuple[str, ...] = ("where", "check", "measured", "at least", "verdict")
    else:
        first: dict[str, tuple[str, ...]] = {}
        for check in report.sheet:
            at = f", {data_size(check.size_bytes)} on {check.gpus:,}" if check.gpus else ""
            least = f"{number(check.least, 4)} {check.unit}".rstrip()
            first[check.label] = (f"{check.label}{at}", least, check.how)  # the largest job of a collective
        rows, header = tuple(first.values())[: 2 * _ROWS], ("check", "at least", "measured by")
    return _FirstScreen(
        head=f"{report.design.name} · acceptance at {percent(1 - report.tolerance)} of the expected rates",
        verdict=report.headline,
        figures=rows,
        header=header if rows else (),
        advice=(
            (
                "Next",
                f"ffplan fabric accept {as_argument(report.design.file)} --measured LOGS" if not report.judged else "",
            ),
        ),
    )
