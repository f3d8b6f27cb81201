"""Checkpoints and images of a job as storage sees them: time of a save, share of the NICs, files to open."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import number, percent
from ffplan.catalog.ownership import plain_amount
from ffplan.reliability.hazards import DAY_S, YEAR_DAYS
from ffplan.reliability.storage import transfer_terms
from ffplan.results import storage as out
from ffplan.studies.operate.goodput_basis import _ordered, _service_of, _written_shares
from ffplan.studies.operate.goodput_job import is_replicated, job_on, model_parameters, recovery

if TYPE_CHECKING:
    from ffplan.catalog.ownership import PlainEstimate
    from ffplan.studies.operate.goodput_basis import GoodputBasis
    from ffplan.studies.operate.goodput_job import GoodputJob
    from ffplan.studies.operate.storage_basis import _StorageBasis

_LANE = 0.5
"""Share of a NIC for each of two busy, equally weighted virtual lanes [1]."""


def _checkpoint_burst(basis: GoodputBasis, storage: _StorageBasis, timed_job: GoodputJob) -> out.BurstReport:
    """Return the checkpoints of a job as storage sees them.

    A convolutional network is trained by data parallelism alone: its ranks have the same state, and one writes it.
    """
    job = job_on(basis, timed_job.gpus, model_parameters(timed_job.model), replicated=is_replicated(timed_job.model))
    outcome, writers = recovery(basis, job).outcome, int(job.writers)
    size, seconds, interval = float(outcome.checkpoint_bytes), float(outcome.persist_s), float(outcome.interval_s)
    files = 1 if job.replicated else int(job.gpus)  # one node a whole that all read, or each accelerator its own part
    per_writer = size / writers / seconds / 1e9
    share = per_writer / storage.client_gbyte_s
    lane = min(share, _LANE)  # with equal weights storage takes no more than half of a NIC that allreduce wants
    # of checkpoints in the memory of other nodes, every n-th goes to storage
    every = float(outcome.memory.every) if outcome.memory else 1.0
    cycle = every * (interval + float(outcome.save_s))
    wear, kept = _wear(basis, storage, size * DAY_S / cycle), kept_checkpoints(basis)
    return out.BurstReport(
        model=timed_job.model.id,
        gpus=timed_job.gpus,
        bytes=size,
        save_s=seconds,
        load_s=float(outcome.load_s),
        binds=outcome.persist_binds,
        interval_s=interval,
        storage_every=every,
        node_gbyte_s=per_writer,
        nic_share=share,
        mean_nic_share=share * min(1.0, seconds / cycle),
        beside_allreduce_s=seconds * share / lane if storage.on_fabric else None,
        allreduce_left=1 - lane if storage.on_fabric else None,
        written_per_day=sum(row.written_per_day for row in wear),
        drive_life_years=wear[0].drive_life_years,
        wear=wear,
        kept=storage.usable_bytes / size,
        kept_wanted=kept,
        kept_bytes=None if kept is None else kept * size,
        kept_share=None if kept is None else kept * size / storage.usable_bytes,
        writers=writers,
        files=files,
        opens_s=files / seconds,
    )


def _wear(basis: GoodputBasis, storage: _StorageBasis, daily: float) -> tuple[out.WearRow, ...]:
    """Return the writes of each kind of servers and the life of its drives, the shortest first.

    Args:
        daily: data written a day, without copies [byte/day].
    """
    shares, rows = _written_shares(basis), []
    for kind in storage.alike:
        written = daily * shares[kind.name] * kind.copies
        endurance = kind.server.drives.endurance
        life = endurance.value * kind.drives / written / YEAR_DAYS if endurance else None
        name = kind.name or kind.server.id
        rows.append(out.WearRow(server=name, copies=kind.copies, written_per_day=written, drive_life_years=life))
    return tuple(sorted(rows, key=lambda row: inf if row.drive_life_years is None else row.drive_life_years))


def kept_checkpoints(basis: GoodputBasis) -> float | None:
    """Return the checkpoints that storage keeps at a time [1]; None if unknown."""
    hazards = basis.hazards
    count = hazards.section.checkpoints_kept or hazards.profile.checkpoints_kept
    return None if count is None else float(count.value)


def _source(basis: GoodputBasis, figure: PlainEstimate) -> str:
    source = basis.hazards.profile.sources.get(figure.source)
    if source is None:
        return "the design"
    return f"`{basis.hazards.profile.id}` ({source.title}: {figure.note})" if figure.note else source.title


def _reach(basis: GoodputBasis, gpus: int, parameters: float) -> tuple[float, str]:
    """Return the rate at which a job can read [GB/s], and what binds it: storage in its zones, or its own NICs."""
    job = job_on(basis, gpus, parameters)
    terms = transfer_terms(
        job.read_gbyte_s, _service_of(basis, "read"), nodes=job.nodes, nics_gbyte_s=job.clients_gbyte_s
    )
    least = _ordered(terms)[0]
    return least.gbyte_s, least.label


def _job(basis: GoodputBasis, job: GoodputJob | None, size: float) -> out.ImageJob | None:
    """Return the reads of a convolutional network; None for other jobs, or if it could not be timed."""
    if job is None or job.report is None or job.model.transformer is not None:
        return None
    row = job.report.rows[0]
    reach, binds = _reach(basis, job.gpus, model_parameters(job.model))
    demand = row.tokens_s * size / 1e9  # `tokens_s` counts images here
    nodes = -(-job.gpus // basis.design.compute.accelerators_per_node)
    return out.ImageJob(
        model=job.model.id,
        gpus=job.gpus,
        micro_batch=row.plan.micro_batch,
        batch=row.plan.batch,
        step_s=row.step_s,
        step_bytes=row.plan.batch * size,
        images_s=row.tokens_s,
        gbyte_s=demand,
        node_gbyte_s=demand / nodes,
        reach_gbyte_s=reach,
        binds=binds,
        reach_share=demand / reach,
        fed=min(1.0, reach / demand),
    )


def _image_report(
    basis: GoodputBasis, read: float, timed_job: GoodputJob | None, images: float | None
) -> out.ImageReport | None:
    """Return the image reads that storage can feed; None if their size is unknown."""
    figure = basis.hazards.section.image_bytes or basis.hazards.profile.image_bytes
    if figure is None or not figure.value:
        return None
    size = float(figure.value)
    low, high = (plain_amount(end) for end in figure.range)
    job = _job(basis, timed_job, size)
    rate = images if images is not None else job.images_s if job is not None else None
    demand = None if rate is None else rate * size / 1e9
    return out.ImageReport(
        image_bytes=size,
        image_bytes_low=low,
        image_bytes_high=high,
        source=_source(basis, figure),
        most_s=read * 1e9 / size,
        most_accelerator_s=read * 1e9 / size / max(basis.design.accelerators, 1),
        asked_s=rate,
        gbyte_s=demand,
        share=None if demand is None else demand / read,
        job=job,
    )


def _metadata_report(
    basis: GoodputBasis, images: out.ImageReport | None, burst: out.BurstReport | None
) -> out.MetadataReport:
    planned = sum(group.group.count for group in basis.design.groups if group.group.role == "management")
    asked = images.asked_s if images is not None else None
    opens = (asked or 0.0) + (burst.opens_s if burst else 0.0)
    figure = basis.hazards.section.metadata_opens
    per_server = float(figure.value) if figure is not None and figure.value else None
    return out.MetadataReport(
        planned=planned or None,
        opens_s=opens,
        each_s=per_server,
        needed=None if per_server is None else max(1, int(np.ceil(opens / per_server))),
        files=burst.files if burst else None,
        open_s=burst.files / (planned * per_server) if burst and planned and per_server else None,
    )


def _image_words(images: out.ImageReport | None) -> tuple[str, ...]:
    job = images.job if images is not None else None
    if images is None or job is None:
        return ()
    first = (
        f"{job.model} on {job.gpus:,} accelerators takes {job.images_s:,.0f} images a second, "
        f"{number(job.gbyte_s, 3)} GB/s: {100 * job.reach_share:.2g} % of what the job can read."
    )
    if job.fed < 1:
        return first, f"Its steps wait for their images: {percent(job.fed)} of the rate is left, bound by {job.binds}."
    most = images.image_bytes / job.reach_share
    if most < images.image_bytes_high:
        return first, f"Images above {number(most / 1e3, 3)} kB would make its steps wait, bound by {job.binds}."
    return (first,)


def _file_assumptions(basis: GoodputBasis, images: out.ImageReport | None) -> list[str]:
    sentences = []
    if basis.hazards.section.metadata_opens is None:
        sentences.append(
            "How many files a second a metadata server opens is not published: `reliability.metadata_opens` states it. "
            "Every image and each accelerator's part of a checkpoint is taken to be a file; packed data opens fewer."
        )
    if images is not None and (images.job is not None or images.asked_s is not None):
        size = number(images.image_bytes / 1e3, 3)
        sentences.append(f"An image of {size} kB is of {images.source}. `reliability.image_bytes` sets it.")
    if images is not None and images.job is not None:
        sentences += [
            f"Images a second come from `ffplan train` at {images.job.micro_batch:,} images a rank, the largest "
            "power of two that fits: about the accelerators' maximum. No cache in host memory saves "
            "reads, and decoding on the host is not in it.",
            "All ranks of a convolutional network have the same weights and momentum, 8 bytes a parameter: one node "
            "writes them, and every node reads them.",
        ]
    return sentences
