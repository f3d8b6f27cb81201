"""Storage as text, Markdown and CSV: capacity and rates first, then what asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import number, percent, plural, span, stored
from ffplan.report.document import Block, Body, Document, Grid, Lines, Remarks, recalled

if TYPE_CHECKING:
    from ffplan.results.storage import BurstReport, ImageReport, StorageReport, StorageTerm

PIB, GIB = 2.0**50, 2.0**30


def _rate(value: float) -> str:
    return f"{number(value, 3)} GB/s"


def _terms(terms: tuple[StorageTerm, ...]) -> str:
    return "; next ".join(f"{_rate(term.gbyte_s)} by {term.label}" for term in terms[:2])


def _node(terms: tuple[StorageTerm, ...]) -> str:
    """Return what one node moves, and what binds it."""
    least = terms[0]
    return f"{_rate(least.gbyte_s)} ({number(least.gbyte_s * 1e9 / GIB, 3)} GiB/s) by {least.label}"


def _servers(r: StorageReport) -> Lines:
    found = r.storage
    where = "the compute fabric" if r.shared else "a network of its own"
    lines = [
        ("servers", f"{found.servers:,} x {', '.join(r.server)}; {r.drives:,} drives, {r.nics:,} NICs on {where}"),
        ("file system", ", ".join(r.file_system)),
        (
            "capacity",
            f"{number(found.raw_bytes / 1e15, 4)} PB raw; {number(found.usable_bytes / 1e15, 4)} PB "
            f"({number(found.usable_bytes / PIB, 4)} PiB) with {number(r.copies)} copies",
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
            f"{number(found.read_per_accelerator, 3)} GB/s read, {number(found.write_per_accelerator, 3)} written, "
            f"{number(r.bytes_per_accelerator / 1e12, 3)} TB",
        ),
    ]
    return Lines("Storage", tuple(lines))


def _beside(b: BurstReport) -> list[tuple[str, str]]:
    """Return a save beside allreduce, where they share NICs."""
    if b.beside_allreduce_s is None or b.allreduce_left is None:
        return []
    return [("beside allreduce", f"saved in {span(b.beside_allreduce_s)}; allreduce keeps {percent(b.allreduce_left)}")]


def _kept(b: BurstReport) -> str:
    text = f"{number(b.kept, 3)} checkpoints"
    if b.kept_wanted is None or b.kept_bytes is None or b.kept_share is None:
        return text
    share = f"{100 * b.kept_share:.2g} %"
    return f"{text}; {number(b.kept_wanted)} kept take {stored(b.kept_bytes)}, {share} of it"


def _image_job(found: ImageReport) -> list[tuple[str, str]]:
    """Return what a convolutional network reads."""
    job = found.job
    if job is None:
        return []
    low, high = (job.gbyte_s * end / found.image_bytes for end in (found.image_bytes_low, found.image_bytes_high))
    ends = f"{number(found.image_bytes_low / 1e3, 3)} to {number(found.image_bytes_high / 1e3, 3)} kB"
    return [
        ("a step", f"{job.batch:,} images in {span(job.step_s)}, {number(job.step_bytes / 1e9, 3)} GB"),
        (
            "the job reads",
            f"{_rate(job.gbyte_s)}, {number(low, 3)} to {number(high, 3)} for {ends}; {_rate(job.node_gbyte_s)} a node",
        ),
        (
            "it can read",
            f"{_rate(job.reach_gbyte_s)} by {job.binds}: {100 * job.reach_share:.2g} % of it is taken",
        ),
    ]


def _files(r: StorageReport) -> list[Block]:
    """Return images and metadata servers."""
    found, own = r.images, r.metadata
    lines = []
    if found is not None:
        each = f"{found.most_s:,.0f} a second of {number(found.image_bytes / 1e3, 3)} kB"
        lines.append(("images", f"{each}, {found.most_accelerator_s:,.0f} an accelerator"))
        if found.asked_s is not None and found.gbyte_s is not None and found.share is not None:
            text = f"{found.asked_s:,.0f} a second read {_rate(found.gbyte_s)}, {100 * found.share:.2g} % of storage"
            lines.append(("asked" if found.job is None else "taken", text))
        lines += _image_job(found)
    planned = "none planned" if own.planned is None else f"{own.planned:,} management nodes planned"
    if own.opens_s:
        planned += f"; {own.opens_s:,.0f} files a second to open"
    if own.needed is not None and own.each_s is not None:
        planned += f": {own.needed:,} of {number(own.each_s)} a second"
    elif own.opens_s:
        planned += "; what one opens is not published"
    if own.open_s is not None and own.files is not None:
        planned += f"; {plural(own.files, 'file')} of a checkpoint open in {span(own.open_s)}, before its transfer"
    elif own.files is not None and own.files > 1:
        planned += f"; a checkpoint's {own.files:,} are opened at once"
    lines.append(("metadata servers", planned))
    return [Lines("Files", tuple(lines))]


def _burst(r: StorageReport) -> list[Block]:
    b = r.burst
    if b is None:
        return []
    life = "" if b.drive_life_years is None else f"; drives last {number(b.drive_life_years, 3)} years of it"
    lines = [
        ("checkpoint", f"{stored(b.bytes)} of {b.model} on {b.gpus:,} accelerators"),
        ("saved in", f"{span(b.save_s)}, bound by {b.binds}; read in {span(b.load_s)}"),
        (
            "a node writes" if b.writers > 1 else "one node writes",
            f"{_rate(b.node_gbyte_s)}: {100 * b.nic_share:.2g} % of its NICs, "
            f"{100 * b.mean_nic_share:.2g} % over all time",
        ),
        *_beside(b),
        ("every", f"{span(b.interval_s)}: {stored(b.written_per_day)} a day with copies{life}"),
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
    return [Lines("What a job asks of it", tuple(lines))]


def _body(r: StorageReport) -> Body:
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
    blocks: list[Block] = [Remarks(r.headline), _servers(r), *_burst(r), *_files(r)]
    if tiers:
        header = ("tier", "read GB/s", "write GB/s", "met", "for")
        blocks.append(Grid("NVIDIA's guidance for as many accelerators", tiers, header))
    blocks.append(
        Grid("One client reads from many servers, GB/s", senders, ("servers", "granted", "first in first out"))
    )
    blocks.append(Lines("Assumptions", tuple(("", text) for text in r.assumptions)))
    blocks += recalled(r.unverified)
    return Body(
        title=f"Storage of {r.design.name}",
        blocks=blocks,
        footer=f"ffplan {r.tool.version}, design SHA-256 {r.design.sha256}",
    )


def storage_document(report: StorageReport) -> Document:
    """Return the report as a document."""
    return Document(value=report, made=_body)
