"""The storage of a design: what it holds, reads and writes, and what checkpoints and data ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import GIB, data_size, ids_listed, listed, number, percent, plural, span, stored
from ffplan.base.version import __version__
from ffplan.catalog.rates import DEFAULT_FILE_SYSTEM
from ffplan.reliability.storage import blocked_rate, incast
from ffplan.results import storage as out
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.result import ToolInfo
from ffplan.studies.basis.provenance import announced, design_info, files_read, recalled_figures
from ffplan.studies.operate.goodput_basis import (
    _kind_terms,
    _nodes_terms,
    _servers_terms,
    _service_of,
    _written_shares,
    goodput_basis,
    storage_summary,
)
from ffplan.studies.operate.storage_jobs import (
    _checkpoint_burst,
    _file_assumptions,
    _image_report,
    _image_words,
    _metadata_report,
)
from ffplan.training.memory import kv_bytes

if TYPE_CHECKING:
    from ffplan.catalog.reliability import GrantedRequests
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.storage import StorageSummary
    from ffplan.studies.operate.goodput_basis import GoodputBasis
    from ffplan.studies.operate.goodput_job import GoodputJob
    from ffplan.studies.operate.storage_basis import _StorageBasis

_PIB = 2.0**50
_SENDERS = (1, 2, 4, 8, 16, 32, 64)
"""Servers that one client reads from, in the table of incast [1]."""


class NoStorageError(Exception):
    """Neither the design nor its profile has storage."""


def fallback_notes(storage: _StorageBasis) -> list[str]:
    """State the fallbacks for storage that a design does not describe."""
    sentences = []
    if not storage.planned:
        server = storage.service.server.id
        sentences.append(
            f"The design plans no storage: {plural(storage.servers, 'server')} `{server}` are assumed, as the "
            "ownership profile sizes it."
        )
    if storage.client_assumed:
        sentences.append("The compute server's file has no NIC for storage: one as the storage servers have is taken.")
    return sentences


def _tiers(basis: GoodputBasis, summary: StorageSummary) -> tuple[out.TierRow, ...]:
    rows = []
    for tier in basis.hazards.profile.storage_tiers.values():
        part = basis.design.accelerators / tier.accelerators.value
        read, write = tier.read.value * part, tier.write.value * part
        met = summary.read_gbyte_s >= read and summary.write_gbyte_s >= write
        rows.append(out.TierRow(tier=tier.label, use=tier.use, read_gbyte_s=read, write_gbyte_s=write, met=met))
    return tuple(rows)


def _incast_rows(requests: GrantedRequests, client: float, sender: float, most: float) -> tuple[out.IncastRow, ...]:
    counts = np.array(_SENDERS)
    limited = incast(
        counts,
        client=client,
        sender=sender,
        window=int(requests.window.value),
        transfer_s=float(requests.transfer.value) / (client * 1e9),
        grant_s=float(requests.gap.value),
    )
    return tuple(
        out.IncastRow(
            senders=int(count),
            limited_gbyte_s=min(float(rate), most),
            free_gbyte_s=min(min(float(count) * sender, client) * blocked_rate(int(count)), most),
        )
        for count, rate in zip(counts, np.asarray(limited), strict=True)
    )


def _reads(basis: GoodputBasis, job: GoodputJob, read: float, node: float) -> out.ReadReport | None:
    if job.report is None or job.model.transformer is None:
        return None
    rate = job.report.rows[0].tokens_s
    demand = rate * float(basis.hazards.profile.token_bytes.value) / 1e9
    shape = job.model.transformer
    context = float(kv_bytes(shape, shape.sequence))
    return out.ReadReport(
        tokens_s=rate,
        gbyte_s=demand,
        share=demand / read,
        context_bytes=context,
        contexts_s_node=node * 1e9 / context,
    )


def study_storage(
    design: ResolvedDesign, catalog: Catalog, job: GoodputJob | None, images: float | None = None
) -> out.StorageReport:
    """Return the storage of a design, with what a job asks of it.

    Args:
        images: images a second that jobs read, one file each; None for none [1/s].

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership or reliability is wrong.
        NoStorageError: if neither the design nor its profile has storage.
    """
    basis = goodput_basis(design, catalog)
    storage = basis.storage
    summary = storage_summary(basis)
    if storage is None or summary is None:
        raise NoStorageError(f"`{design.spec.name}` plans no storage, and its ownership profile sizes none")
    efficiency = _mean_efficiency(basis, storage)
    nodes, zones = design.compute.group.count, design.spec.fabric.zones
    node_read, node_write = _nodes_terms(basis, "read", 1), _nodes_terms(basis, "write", 1)
    all_read, client = _nodes_terms(basis, "read", nodes)[0], node_read[0].gbyte_s
    burst = _checkpoint_burst(basis, storage, job) if job is not None else None
    pictures = _image_report(basis, summary.read_gbyte_s, job, images)
    part = 1.0 if zones == 1 or design.side_by_side or not storage.on_fabric else 1.0 / zones
    zone = _servers_terms(basis, "read", part)[0].gbyte_s
    sender = min(kind.nic_gbyte_s for kind in storage.alike)
    return out.StorageReport(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        design=design_info(design),
        catalog=files_read(catalog),
        headline=(*_headline(summary, burst, nodes, all_read), *_image_words(pictures)),
        storage=summary,
        server=tuple(dict.fromkeys(kind.server.id for kind in storage.alike)),
        groups=_groups(basis, storage),
        file_system=tuple(system.id for system in storage.systems),
        drives=storage.drives,
        nics=storage.nics,
        copies=sum(_written_shares(basis)[kind.name] * kind.copies for kind in storage.alike),
        efficiency=efficiency,
        shared=storage.on_fabric,
        line_gbyte_s=storage.line_gbyte_s,
        read=tuple(_servers_terms(basis, "read")),
        write=tuple(_servers_terms(basis, "write")),
        zones=zones,
        zone_read_gbyte_s=zone,
        client_gbyte_s=client,
        client_write_gbyte_s=node_write[0].gbyte_s,
        node_read=tuple(node_read),
        node_write=tuple(node_write),
        clients_gbyte_s=all_read.gbyte_s,
        clients_write_gbyte_s=_nodes_terms(basis, "write", nodes)[0].gbyte_s,
        clients_busy=int(np.ceil(summary.read_gbyte_s / client)),
        bytes_per_accelerator=storage.usable_bytes / max(design.accelerators, 1),
        tiers=_tiers(basis, summary),
        incast=_incast_rows(basis.hazards.profile.requests, storage.client_gbyte_s, sender, client),
        burst=burst,
        reads=_reads(basis, job, summary.read_gbyte_s, client) if job is not None else None,
        images=pictures,
        metadata=(metadata := _metadata_report(basis, pictures, burst)),
        metadata_servers=metadata.planned,
        assumptions=(*_assumptions(basis, storage, efficiency, pictures, job), *announced(catalog)),
        unverified=recalled_figures(catalog),
    )


def _mean_efficiency(basis: GoodputBasis, storage: _StorageBasis) -> float:
    """Return the service's rate over the rate of all servers' NICs [1]."""
    service = _service_of(basis, "read")
    reached = (
        float(service.efficiencies.get(kind.name, service.efficiency)) * kind.servers * kind.nic_gbyte_s
        for kind in storage.alike
    )
    return sum(reached) / storage.line_gbyte_s


def _groups(basis: GoodputBasis, storage: _StorageBasis) -> tuple[out.StorageServers, ...]:
    reads, writes = _kind_terms(basis, "read"), _kind_terms(basis, "write")
    return tuple(
        out.StorageServers(
            name=kind.name or kind.server.id,
            server=kind.server.id,
            file_system=kind.file_system.id,
            servers=kind.servers,
            drives=kind.drives,
            nics=kind.servers * kind.nics,
            copies=kind.copies,
            raw_bytes=kind.raw_bytes,
            usable_bytes=kind.usable_bytes,
            read_gbyte_s=reads[kind.name].gbyte_s,
            read_binds=reads[kind.name].label,
            write_gbyte_s=writes[kind.name].gbyte_s,
            write_binds=writes[kind.name].label,
        )
        for kind in storage.alike
    )


def _headline(
    summary: StorageSummary, burst: out.BurstReport | None, nodes: int, together: out.StorageTerm
) -> tuple[str, ...]:
    raw, usable = summary.raw_bytes / 1e15, summary.usable_bytes / 1e15
    first = "" if summary.planned else "The design plans no storage. As its ownership profile sizes it, "
    lines = [
        f"{first}{plural(summary.servers, 'server')} hold {number(usable, 3)} PB "
        f"({number(summary.usable_bytes / _PIB, 3)} PiB) of {number(raw, 3)} PB raw.",
        f"Together they read {number(summary.read_gbyte_s, 3)} GB/s, bound by {summary.read_binds}, and write "
        f"{number(summary.write_gbyte_s, 3)} GB/s, bound by {summary.write_binds}: "
        f"{number(summary.read_per_accelerator, 2)} and {number(summary.write_per_accelerator, 2)} GB/s "
        "an accelerator.",
    ]
    if together.gbyte_s < summary.read_gbyte_s:
        lines.append(
            f"The {nodes:,} compute nodes together read no more than {number(together.gbyte_s, 3)} GB/s, bound by "
            f"{together.label}."
        )
    if burst is not None:
        whose = "each node's" if burst.writers > 1 else "one node's"
        lines.append(
            f"A checkpoint of {burst.model}, {stored(burst.bytes)}, is saved in "
            f"{span(burst.save_s)}, bound by {burst.binds}, and takes {100 * burst.nic_share:.2g} % of {whose} NICs "
            "meanwhile."
        )
        if burst.kept_share is not None and burst.kept_share > 1 and burst.kept_wanted is not None:
            lines.append(
                f"The {number(burst.kept_wanted)} checkpoints to keep take {number(burst.kept_share, 3)} times what it "
                "holds."
            )
    return tuple(lines)


def _rates_of(storage: _StorageBasis) -> list[str]:
    """Say where the rates of file system and drives are from, and how unlike servers share the data."""
    service, several = storage.service, len(storage.alike) > 1
    if service.file_system.id == DEFAULT_FILE_SYSTEM:
        sentences = [
            f"`{service.server.id}` names no file system: its rates span published systems, as one range. "
            "`service.file_system` of the server names another."
        ]
    else:
        whole = "Clients, the whole" if len(storage.systems) == 1 else "Clients"
        sentences = [f"{whole} and checkpoints have the rates of the file system `{service.file_system.id}`."]
    if len(storage.systems) > 1:
        sentences.append("Of several file systems the one is taken whose client writes least; each whole has its own.")
    for what, lacking in (
        ("rate", [kind for kind in storage.alike if not (kind.server.drives.read and kind.server.drives.write)]),
        ("endurance", [kind for kind in storage.alike if several and not kind.server.drives.endurance]),
    ):
        of = f" of {ids_listed(kind.name for kind in lacking)}" if several else ""
        ends = "NICs alone bound it" if what == "rate" else "their life is not in the shortest"
        if lacking:
            sentences.append(f"The {what} of the drives{of} is unknown: {ends}.")
    if several:
        sentences.append(
            "Unlike servers carry what each kind can, by its own NICs, drives and copies: data is spread over them in "
            "proportion to the rates at which they write, and the capacity is that of all."
        )
    return sentences


def _assumptions(
    basis: GoodputBasis,
    storage: _StorageBasis,
    efficiency: float,
    images: out.ImageReport | None,
    job: GoodputJob | None,
) -> tuple[str, ...]:
    requests = basis.hazards.profile.requests
    window, gap = number(float(requests.window.value)), number(float(requests.gap.value) * 1e6)
    transfer = data_size(float(requests.transfer.value))
    copies = listed(number(count) for count in sorted({kind.copies for kind in storage.alike}))
    sentences = [
        f"The service reaches {percent(efficiency)} of what NICs carry; a write costs {copies} drive writes and "
        "as many crossings of the servers' NICs.",
        f"Incast: a client grants {window} transfers of {transfer} at a time, {gap} us apart; "
        "without grants, servers send first in, first out, to clients at random.",
        "Storage and allreduce have virtual lanes of equal weight if they share the fabric.",
    ]
    sentences += _file_assumptions(basis, images)
    sentences += fallback_notes(storage)
    sentences += _rates_of(storage)
    if basis.design.spec.fabric.zones > 1 and storage.on_fabric:
        where = "one NIC in every zone" if storage.in_every_zone else "all its NICs in one zone"
        sentences.append(f"A storage server has {where}: a job within one zone reaches that zone's NICs.")
    sentences.append(f"GiB is {GIB:.0f} bytes; GB/s are 10^9 byte/s.")
    if job is not None and job.untimed is not None:
        sentences.append(f"What `{job.model.id}` reads is left out, since it could not be timed: {job.untimed}.")
    return tuple(sentences)
