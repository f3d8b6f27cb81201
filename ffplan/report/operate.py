"""The reports of `ffplan operate storage`, `ffplan operate jobs` and `ffplan fabric accept`: a cluster in operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size, listed, number, percent, plural, span, stored
from ffplan.report.document import Block, Document, Grid, Lines, Remarks, _Body, _listing, provenance, recalled
from ffplan.report.first.operate import _acceptance_screen, _storage_screen, _utilization_screen, _waited

if TYPE_CHECKING:
    from ffplan.results.acceptance import AcceptanceReport, CheckRow, JudgedRow
    from ffplan.results.storage import BurstReport, ImageReport, StorageReport, StorageTerm, WearRow
    from ffplan.results.utilization import MeanInterval, UtilizationReport


PIB, GIB = 2.0**50, 2.0**30


def _rate(value: float) -> str:
    return f"{number(value, 3)} GB/s"


def _terms(terms: tuple[StorageTerm, ...]) -> str:
    return "; next ".join(f"{_rate(term.gbyte_s)} by {term.label}" for term in terms[:2])


def _node(terms: tuple[StorageTerm, ...]) -> str:
    least = terms[0]
    return f"{_rate(least.gbyte_s)} ({number(least.gbyte_s * 1e9 / GIB, 3)} GiB/s) by {least.label}"


def _kinds(r: StorageReport) -> str:
    return ", ".join(f"{group.servers:,} x {group.name}" for group in r.groups)


def _each_kind(r: StorageReport) -> list[Block]:
    """Return the rates of unlike servers; empty if all are alike."""
    if len(r.groups) < 2:
        return []
    wear = {row.server: row for row in r.burst.wear} if r.burst is not None else {}
    rows = tuple(
        (
            f"{group.servers:,} x {group.name}",
            number(group.read_gbyte_s, 3),
            number(group.write_gbyte_s, 3),
            number(group.copies),
            f"{number(group.usable_bytes / 1e15, 3)} PB",
            _life(wear.get(group.name)),
        )
        for group in r.groups
    )
    return [
        Grid(
            "Unlike servers",
            rows,
            ("servers", "read GB/s", "write GB/s", "copies", "usable", "drives last"),
            name="kinds",
        )
    ]


def _life(wear: WearRow | None) -> str:
    return "" if wear is None or wear.drive_life_years is None else f"{number(wear.drive_life_years, 3)} years"


def _servers(r: StorageReport) -> Lines:
    storage = r.storage
    where = "the compute fabric" if r.shared else "a separate network"
    copies = listed(number(count) for count in sorted({group.copies for group in r.groups}))
    lines = [
        ("servers", f"{_kinds(r)}; {r.drives:,} drives, {r.nics:,} NICs on {where}"),
        ("file system", ", ".join(r.file_system)),
        (
            "capacity",
            f"{number(storage.raw_bytes / 1e15, 4)} PB raw; {number(storage.usable_bytes / 1e15, 4)} PB "
            f"({number(storage.usable_bytes / PIB, 4)} PiB) with {copies} copies",
        ),
        ("NICs carry", f"{_rate(r.line_gbyte_s)} each way; the service reaches {percent(r.efficiency)} of it"),
        ("read", _terms(r.read)),
        ("write", _terms(r.write)),
    ]
    if r.zones > 1:
        lines.append(("within a zone", f"{_rate(r.zone_read_gbyte_s)} read by a job in one of {r.zones} zones"))
    lines += [
        ("a node reads", _node(r.node_read)),
        ("a node writes", _node(r.node_write)),
        (
            "all of them",
            f"{_rate(r.clients_gbyte_s)} read, {_rate(r.clients_write_gbyte_s)} written; {r.clients_busy:,} keep every "
            "server busy",
        ),
        (
            "per accelerator",
            f"{number(storage.read_per_accelerator, 3)} GB/s read, {number(storage.write_per_accelerator, 3)} written, "
            f"{number(r.bytes_per_accelerator / 1e12, 3)} TB",
        ),
    ]
    return Lines("Storage", tuple(lines))


def _beside(b: BurstReport) -> list[tuple[str, str]]:
    """Return a save beside allreduce, if they share NICs."""
    if b.beside_allreduce_s is None or b.allreduce_left is None:
        return []
    return [("beside allreduce", f"saved in {span(b.beside_allreduce_s)}; allreduce keeps {percent(b.allreduce_left)}")]


def _kept(b: BurstReport) -> str:
    text = f"{number(b.kept, 3)} checkpoints"
    if b.kept_wanted is None or b.kept_bytes is None or b.kept_share is None:
        return text
    share = f"{100 * b.kept_share:.2g} %"
    return f"{text}; {number(b.kept_wanted)} kept take {stored(b.kept_bytes)}, {share} of it"


def _image_job(images: ImageReport) -> list[tuple[str, str]]:
    job = images.job
    if job is None:
        return []
    low, high = (job.gbyte_s * end / images.image_bytes for end in (images.image_bytes_low, images.image_bytes_high))
    ends = f"{number(images.image_bytes_low / 1e3, 3)} to {number(images.image_bytes_high / 1e3, 3)} kB"
    return [
        ("a step", f"{job.batch:,} images in {span(job.step_s)}, {number(job.step_bytes / 1e9, 3)} GB"),
        (
            "the job reads",
            f"{_rate(job.gbyte_s)}, {number(low, 3)} to {number(high, 3)} for {ends}; {_rate(job.node_gbyte_s)} a node",
        ),
        (
            "it can read",
            f"{_rate(job.reach_gbyte_s)} by {job.binds}: {100 * job.reach_share:.2g} % of it is used",
        ),
    ]


def _files(r: StorageReport) -> list[Block]:
    images, metadata = r.images, r.metadata
    lines = []
    if images is not None:
        rate = f"{images.most_s:,.0f} a second of {number(images.image_bytes / 1e3, 3)} kB"
        lines.append(("images", f"{rate}, {images.most_accelerator_s:,.0f} an accelerator"))
        if images.asked_s is not None and images.gbyte_s is not None and images.share is not None:
            text = f"{images.asked_s:,.0f} a second read {_rate(images.gbyte_s)}, {100 * images.share:.2g} % of storage"
            lines.append(("asked" if images.job is None else "taken", text))
        lines += _image_job(images)
    planned = "none planned" if metadata.planned is None else f"{metadata.planned:,} management nodes planned"
    if metadata.opens_s:
        planned += f"; {metadata.opens_s:,.0f} files a second to open"
    if metadata.needed is not None and metadata.each_s is not None:
        planned += f": {metadata.needed:,} of {number(metadata.each_s)} a second"
    elif metadata.opens_s:
        planned += "; what one opens is not published"
    if metadata.open_s is not None and metadata.files is not None:
        planned += (
            f"; {plural(metadata.files, 'file')} of a checkpoint open in {span(metadata.open_s)}, before its transfer"
        )
    elif metadata.files is not None and metadata.files > 1:
        planned += f"; a checkpoint's {metadata.files:,} are opened at once"
    lines.append(("metadata servers", planned))
    return [Lines("Files", tuple(lines))]


def _burst(r: StorageReport) -> list[Block]:
    b = r.burst
    if b is None:
        return []
    whose = f" of {b.wear[0].server}" if len(b.wear) > 1 else ""
    life = "" if b.drive_life_years is None else f"; drives{whose} last {number(b.drive_life_years, 3)} years of it"
    nth = f", one in {number(b.storage_every)} to storage" if b.storage_every > 1 else ""
    lines = [
        ("checkpoint", f"{stored(b.bytes)} of {b.model} on {b.gpus:,} accelerators"),
        ("saved in", f"{span(b.save_s)}, bound by {b.binds}; read in {span(b.load_s)}"),
        (
            "a node writes" if b.writers > 1 else "one node writes",
            f"{_rate(b.node_gbyte_s)}: {100 * b.nic_share:.2g} % of its NICs, "
            f"{100 * b.mean_nic_share:.2g} % over all time",
        ),
        *_beside(b),
        ("every", f"{span(b.interval_s)}{nth}: {stored(b.written_per_day)} a day with copies{life}"),
        ("room for", _kept(b)),
    ]
    if r.reads is not None:
        lines += [
            (
                "text read",
                f"{number(r.reads.gbyte_s * 1e3, 3)} MB/s, {100 * r.reads.share:.2g} % of what storage reads",
            ),
            (
                "KV cache",
                f"a context is {number(r.reads.context_bytes / 1e9, 3)} GB; a node reads "
                f"{number(r.reads.contexts_s_node, 3)} a second",
            ),
        ]
    return [Lines("What a job asks of it", tuple(lines), name="job")]


def _storage_body(r: StorageReport) -> _Body:
    tiers = tuple(
        (
            row.tier,
            number(row.read_gbyte_s, 3),
            number(row.write_gbyte_s, 3),
            "yes" if row.met else "no",
            row.use,
        )
        for row in r.tiers
    )
    senders = tuple((f"{row.senders}", number(row.limited_gbyte_s, 3), number(row.free_gbyte_s, 3)) for row in r.incast)
    blocks: list[Block] = [Remarks(r.headline), _servers(r), *_each_kind(r), *_burst(r), *_files(r)]
    if tiers:
        header = ("tier", "read GB/s", "write GB/s", "met", "for")
        blocks.append(Grid("NVIDIA's guidance for as many accelerators", tiers, header, name="guidance"))
    blocks.append(
        Grid(
            "One client reads from many servers, GB/s",
            senders,
            ("servers", "granted", "first in first out"),
            name="incast",
        )
    )
    blocks.append(_listing("Assumptions", r.assumptions))
    blocks += recalled(r.unverified)
    return _Body(
        title=f"Storage of {r.design.name}",
        blocks=blocks,
        footer=provenance(r.tool, r.design),
    )


def storage_document(report: StorageReport) -> Document:
    """Return the report as a document."""
    return Document(value=report, made=_storage_body, first=_storage_screen)


def _part(interval: MeanInterval) -> str:
    if interval.low is None or interval.high is None:
        return f"{100 * interval.mean:.2f}"
    half = max(interval.high - interval.mean, interval.mean - interval.low)  # one end may be cut at 0 or 100 %
    return f"{100 * interval.mean:.2f} ± {100 * half:.2f}"


def _utilization_body(r: UtilizationReport) -> _Body:
    lines = (
        ("jobs", f"{r.jobs}, {100 * r.offered:.0f} % of what the cluster can do"),
        (
            "simulated",
            f"{number(r.days)} days, {plural(r.runs, 'time')}, {number(r.warm_days)} of each not counted",
        ),
    )
    rows = tuple(
        (
            f"{row.policy}{f', {row.zones} zones' if row.zones > 1 else ''}",
            _part(row.utilisation),
            _part(row.occupied),
            _part(row.fragmentation),
            _waited(row.wait_s),
            number(row.preemptions_per_day, 3),
        )
        for row in r.utilization
    )
    header = ("policy", "at work %", "held %", "idle %", "mean wait", "leave/day")
    note = "Idle: accelerators that are free while a job waits."
    first = r.utilization[0]
    waits = tuple(
        (f"{row.gpus:,}", f"{row.jobs:,}", span(row.mean_s), span(row.median_s), span(row.p90_s)) for row in first.waits
    )
    blocks: list[Block] = [Remarks(r.headline), Lines("Jobs", lines), Grid("Use", rows, header), Remarks((note,))]
    if waits:
        blocks.append(Grid(f"Waits by size, {first.policy}", waits, ("accelerators", "jobs", "mean", "median", "P90")))
    blocks.append(_listing("Assumptions", r.assumptions))
    return _Body(
        title=f"Use of {r.design.name}",
        blocks=blocks,
        footer=provenance(r.tool, r.design),
    )


def utilization_document(report: UtilizationReport) -> Document:
    """Return the report as a document."""
    return Document(value=report, made=_utilization_body, first=_utilization_screen)


_MOST_VALUES = 40
"""Measured values that text shows; JSON has all."""


def _place(gpus: int, size: float) -> str:
    if not gpus:
        return ""
    return f"{data_size(size)} on {gpus:,}"


def _sheet(rows: tuple[CheckRow, ...]) -> Grid:
    cells = tuple(
        (
            row.label,
            _place(row.gpus, row.size_bytes),
            number(row.expected, 3),
            number(row.least, 3),
            row.unit,
            row.how,
        )
        for row in rows
    )
    return Grid("Sheet", cells, ("what", "at", "expected", "at least", "unit", "measured by"))


def _judged(rows: tuple[JudgedRow, ...]) -> Grid:
    cells = tuple(
        (
            row.verdict,
            row.measured.check,
            f"{row.measured.host} {row.measured.part}".strip(),
            _place(row.measured.gpus, row.measured.size_bytes),
            number(row.measured.value, 3),
            "" if row.least is None else number(row.least, 3),
            row.why,
        )
        for row in rows[:_MOST_VALUES]
    )
    more = f", the first {_MOST_VALUES}" if len(rows) > _MOST_VALUES else ""
    return Grid(f"Measured{more}", cells, ("verdict", "what", "where", "at", "value", "at least", "why"))


def _acceptance_body(r: AcceptanceReport) -> _Body:
    blocks: list[Block] = [Remarks(r.headline)]
    if r.judged:
        blocks.append(_judged(r.judged))
        if r.slow:
            cells = tuple(
                (
                    f"{row.check} {_place(row.gpus, row.size_bytes)}".strip(),
                    f"{row.host} {row.part}".strip(),
                    number(row.value, 3),
                    number(row.median, 3),
                    percent(row.value / row.median),
                    "" if row.step is None else f"+{100 * row.step:.1f} %",
                )
                for row in r.slow[:_MOST_VALUES]
            )
            header = ("what", "where", "value", "median", "of it", "step")
            blocks.append(Grid("Slower than the fleet", cells, header, name="slow"))
        if r.unread:
            parts = tuple((part.host, f"{part.file}:{part.line}", part.why) for part in r.unread)
            blocks.append(Grid("Not read", parts, ("where", "log", "why"), name="unread"))
        if r.missing:
            blocks.append(Lines("Nothing measured", (("", "; ".join(r.missing)),), name="missing"))
    else:
        blocks.append(_sheet(r.sheet))
    blocks.append(_listing("Assumptions", r.assumptions))
    return _Body(
        title=f"Acceptance of {r.design.name}",
        blocks=blocks,
        footer=provenance(r.tool, r.design),
    )


def _acceptance_rows(r: AcceptanceReport) -> list[dict[str, object]]:
    if not r.judged:
        names = ("check", "label", "of", "unit", "gpus", "size_bytes", "expected", "least")
        blank = {"host": "", "part": "", "measured": ""}
        return [{**{name: getattr(row, name) for name in names}, **blank} for row in r.sheet]
    return [
        {
            "check": row.measured.check,
            "host": row.measured.host,
            "part": row.measured.part,
            "gpus": row.measured.gpus,
            "size_bytes": row.measured.size_bytes,
            "measured": row.measured.value,
            "expected": row.expected,
            "least": row.least,
            "verdict": row.verdict,
            "why": row.why,
        }
        for row in r.judged
    ]


def acceptance_document(report: AcceptanceReport) -> Document:
    """Return the report as a document; its table is the sheet to fill in, or what was measured."""
    return Document(
        value=report, made=_acceptance_body, rows=lambda: _acceptance_rows(report), first=_acceptance_screen
    )
