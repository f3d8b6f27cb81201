"""Checkpoints of a job as storage sees them: how long a save takes, what it takes of the NICs, and what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.catalog.parts import StorageServer
from ffplan.reliability.hazards import DAY_S, YEAR_DAYS
from ffplan.results import storage as out
from ffplan.studies.operate.goodput_job import is_replicated, job_on, model_parameters, recovery

if TYPE_CHECKING:
    from ffplan.reliability.job import JobCase
    from ffplan.studies.operate.goodput_basis import GoodputBasis
    from ffplan.studies.operate.goodput_job import GoodputJob
    from ffplan.studies.operate.storage_basis import StorageBasis

LANE = 0.5
"""Part of a NIC that each of two virtual lanes of equal weight has while both want it [1]."""


@record
class _Save:
    """A checkpoint on its way."""

    size: float
    """[byte]"""
    writers: int
    """Nodes that write it."""
    files: int
    seconds: float
    """Time to save it [s]."""
    stop: float
    """What it stops the job for [s]."""
    load: float
    """Time until every node has read it [s]."""
    interval: float
    """Work between two [s]."""
    binds: str


def _save(basis: GoodputBasis, job: JobCase) -> _Save:
    """Return a checkpoint: every accelerator writes and reads its own part, or one node a whole that all read."""
    one = recovery(basis, job).outcome
    return _Save(
        size=float(one.checkpoint_bytes),
        writers=int(job.writers),
        files=1 if job.replicated else int(job.gpus),
        seconds=float(one.persist_s),
        stop=float(one.save_s),
        load=float(one.load_s),
        interval=float(one.interval_s),
        binds=one.persist_binds,
    )


def checkpoint_burst(basis: GoodputBasis, storage: StorageBasis, asked: GoodputJob) -> out.BurstReport:
    """Return the checkpoints of a job as storage sees them.

    A convolutional network is trained by data parallelism alone: its ranks have the same state, and one writes it.

    Args:
        basis: the design with its hazards.
    """
    job = job_on(basis, asked.gpus, model_parameters(asked.model), replicated=is_replicated(asked.model))
    save = _save(basis, job)
    each = save.size / save.writers / save.seconds / 1e9
    share = each / storage.client_gbyte_s
    lane = min(share, LANE)  # with equal weights storage takes no more than half of a NIC that allreduce wants
    cycle = save.interval + save.stop
    daily = save.size * storage.copies * DAY_S / cycle
    server = storage.groups[0].server
    assert isinstance(server, StorageServer)
    endurance, kept = server.drives.endurance, kept_checkpoints(basis)
    life = endurance.value * storage.drives / daily / YEAR_DAYS if endurance else None
    return out.BurstReport(
        model=asked.model.id,
        gpus=asked.gpus,
        bytes=save.size,
        save_s=save.seconds,
        load_s=save.load,
        binds=save.binds,
        interval_s=save.interval,
        node_gbyte_s=each,
        nic_share=share,
        mean_nic_share=share * min(1.0, save.seconds / cycle),
        beside_allreduce_s=save.seconds * share / lane if storage.on_fabric else None,
        allreduce_left=1 - lane if storage.on_fabric else None,
        written_per_day=daily,
        drive_life_years=life,
        kept=storage.usable_bytes / save.size,
        kept_wanted=kept,
        kept_bytes=None if kept is None else kept * save.size,
        kept_share=None if kept is None else kept * save.size / storage.usable_bytes,
        writers=save.writers,
        files=save.files,
        opens_s=save.files / save.seconds,
    )


def kept_checkpoints(basis: GoodputBasis) -> float | None:
    """Return the checkpoints that storage keeps at a time [1]; None where nothing says it.

    Args:
        basis: the design with its hazards.
    """
    hazards = basis.hazards
    found = hazards.section.checkpoints_kept or hazards.profile.checkpoints_kept
    return None if found is None else float(found.value)
