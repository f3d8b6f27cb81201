"""What failures leave of a job, and what storage does, as `ffplan goodput` and `ffplan storage` have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.api import views
from ffplan.api.designs import Design, load
from ffplan.base.errors import UsageError
from ffplan.catalog.named import part_of

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.reliability import GoodputReport
    from ffplan.results.storage import StorageReport
    from ffplan.studies.operate.goodput_job import GoodputJob

views.install()


def _profiled(given: Design, profile: str | None) -> ResolvedDesign:
    """Return a design with another reliability profile; as it is where none is given.

    Raises:
        UsageError: where there is no such profile.
    """
    if profile is None:
        return given.resolved
    from ffplan.catalog.reliability import ReliabilityProfile
    from ffplan.design.reliability_schema import profiled

    part_of(given.catalog, ReliabilityProfile, profile, "profile")
    return profiled(given.resolved, profile)


def _job(given: Design, parts: Catalog, model: str | None, gpus: int | None, command: str) -> GoodputJob | None:
    """Return the job: of a model, or the design's workload; None where there is neither.

    Raises:
        UsageError: where there is no such model, or the job is too large.
    """
    from ffplan.catalog.models import Model
    from ffplan.studies.operate.goodput_job import JobError, goodput_job

    if model is not None:
        part_of(parts, Model, model, f"{command}: model")
    try:
        return goodput_job(given.resolved, parts, model, gpus)
    except JobError as error:
        raise UsageError(f"{command}: {error.field} {error}") from None


def goodput(
    design: str | Path | Design,
    model: str | None = None,
    *,
    gpus: int | None = None,
    draws: int = 2_000,
    seed: int = 0,
    profile: str | None = None,
) -> GoodputReport:
    """Return what failures, checkpoints and restarts leave of a job.

    Args:
        design: what `load` takes.
        model: catalogue id of a model; the design's workload if omitted.
        gpus: accelerators of the job [1]; the most that it can span if omitted.
        draws: draws of the uncertain inputs [1]; 0 for none.
        seed: seed of the draws.
        profile: reliability profile in place of the design's own.

    Raises:
        InputError: where the fabric cannot hold the design, or its ownership or reliability is wrong.
        UsageError: where there is no job, or it is too large.
    """
    from ffplan.studies.cost.request import CostRequest
    from ffplan.studies.goodput.goodput import study_goodput

    given = load(design)
    parts = given.catalog
    asked = _job(given, parts, model, gpus, "goodput")
    if asked is None:
        raise UsageError("goodput: no job: give a model, or the design a `workload`")
    return study_goodput(_profiled(given, profile), parts, asked, CostRequest(draws=draws, seed=seed)).report


def storage(
    design: str | Path | Design,
    model: str | None = None,
    *,
    gpus: int | None = None,
    images: float | None = None,
    profile: str | None = None,
) -> StorageReport:
    """Return the storage of a design, with what a job asks of it.

    Args:
        design: what `load` takes.
        model: catalogue id of a transformer or of a convolutional network; the design's workload, or no job, if
            omitted.
        gpus: accelerators of the job [1]; the most that it can span if omitted.
        images: images a second that all jobs read, each a file of its own; those of a convolutional network if
            omitted [1/s].
        profile: reliability profile in place of the design's own.

    Raises:
        InputError: where the fabric cannot hold the design, or its ownership or reliability is wrong.
        UsageError: where it has no storage, or the job is too large.
    """
    from ffplan.studies.operate.storage import NoStorageError, study_storage

    given = load(design)
    parts = given.catalog
    try:
        asked = _job(given, parts, model, gpus, "storage")
        return study_storage(_profiled(given, profile), parts, asked, images)
    except NoStorageError as error:
        raise UsageError(f"storage: {error}") from None
