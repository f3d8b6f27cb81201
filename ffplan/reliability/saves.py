"""Saves and loads of a job's checkpoints; floats and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number
from ffplan.base.record import record
from ffplan.reliability.storage import _checkpoint_terms, _transfer_seconds, service_rates

if TYPE_CHECKING:
    from ffplan.reliability.job_case import JobCase, Values
    from ffplan.reliability.storage import Way


@record
class _Saves:
    """Checkpoints of a job; every number broadcasts to the shape of the inputs."""

    bytes: Number
    stop_s: Number
    """Stop of the job at a checkpoint [s]."""
    persist_s: Number
    """Time until storage has it [s]."""
    binds: str
    load_s: Number
    behind_s: Number
    """Work not yet saved while a save is in flight [s]."""


def _moved(job: JobCase, v: Values, way: Way, size: Number) -> tuple[Number, str]:
    """Return the time to save or load a checkpoint [s], and its limit."""
    servers = job.read_gbyte_s if way == "read" else job.write_gbyte_s
    if not servers:
        return size * 0.0, "no storage"
    nodes = job.nodes if way == "read" else job.writers
    # only nodes that move data use their NICs
    nics = job.clients_gbyte_s * nodes / job.nodes
    return _transfer_seconds(size, _checkpoint_terms(servers, service_rates(v, way), nodes=nodes, nics_gbyte_s=nics))


def _saves(job: JobCase, v: Values) -> _Saves:
    size = job.parameters * (v["checkpoint_bytes"] if job.state_bytes is None else job.state_bytes)
    copy = size / (job.writers * job.copy_gbyte_s * 1e9) if job.copy_gbyte_s else size * 0.0
    persist, binds = _moved(job, v, "write", size)
    # a replicated state is written by one node and read by all
    load, _ = _moved(job, v, "read", size * (job.nodes / job.writers))
    synchronous = job.checkpoints == "synchronous"
    return _Saves(
        bytes=size,
        stop_s=copy + v["pause"] + (persist if synchronous else 0.0),
        persist_s=persist,
        binds=binds,
        load_s=load,
        # until the save is in storage, a failure goes back to the one before
        behind_s=persist * (0.0 if synchronous else 1.0),
    )
