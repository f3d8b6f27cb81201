"""Goodput and storage, as `ffplan operate` reports them, and fleets over quarters, as `ffplan fleet` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.api.arguments import FOLDERS, number, reads, whole
from ffplan.api.designs import Design, load
from ffplan.base.errors import UsageError
from ffplan.base.outcomes import DRAWS, IN_TIME
from ffplan.catalog.named import part_of
from ffplan.inputs.quantities import parse_share

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.fleet_plan import FleetPlan
    from ffplan.results.reliability import GoodputReport
    from ffplan.results.storage import StorageReport
    from ffplan.studies.operate.goodput_job import GoodputJob


def _profiled(loaded: Design, profile: str | None) -> ResolvedDesign:
    if profile is None:
        return loaded.resolved
    from ffplan.catalog.reliability import ReliabilityProfile
    from ffplan.design.resolved import profiled

    return profiled(loaded.resolved, part_of(loaded.catalog, ReliabilityProfile, profile, "profile").id)


def _job(loaded: Design, parts: Catalog, model: str | None, gpus: int | None, command: str) -> GoodputJob | None:
    from ffplan.catalog.models import Model
    from ffplan.studies.operate.goodput_job import goodput_job
    from ffplan.studies.train.default_job import answered

    if model is not None:
        model = part_of(parts, Model, model, f"{command}: model").id
    return answered(command, lambda: goodput_job(loaded.resolved, parts, model, gpus))


@reads()
def goodput(
    design: str | Path | Design,
    model: str | None = None,
    *,
    gpus: int | None = None,
    draws: int = 2_000,
    seed: int = 0,
    profile: str | None = None,
) -> GoodputReport:
    """Return the goodput of a job under failures, checkpoints and restarts.

    Args:
        design: any source that `load` accepts.
        model: catalogue id of a model; the design's workload if omitted.
        gpus: accelerators of the job [1]; as many as it can span if omitted.
        draws: draws of the uncertain inputs [1]; 0 for none.
        seed: seed of the draws.
        profile: reliability profile in place of the design's own.

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership or reliability is wrong.
        UsageError: without a job, or for one that is too large.
    """
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.goodput.goodput import study_goodput

    loaded = load(design)
    parts = loaded.catalog
    job = _job(loaded, parts, model, gpus, "goodput")
    if job is None:
        raise UsageError("goodput: no job: give a model, or the design a `workload`")
    return study_goodput(_profiled(loaded, profile), parts, job, CostRequest(draws=draws, seed=seed)).report


@reads()
def storage(
    design: str | Path | Design,
    model: str | None = None,
    *,
    gpus: int | None = None,
    images: float | None = None,
    profile: str | None = None,
) -> StorageReport:
    """Return the storage of a design, with a job's demand on it.

    Args:
        design: any source that `load` accepts.
        model: catalogue id of a transformer or of a convolutional network; the design's workload, or no job, if
            omitted.
        gpus: accelerators of the job [1]; as many as it can span if omitted.
        images: images a second that all jobs read, one file an image; a convolutional network's rate if
            omitted [1/s].
        profile: reliability profile in place of the design's own.

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership or reliability is wrong.
        UsageError: without storage, or for a job that is too large.
    """
    from ffplan.studies.operate.storage import NoStorageError, study_storage

    loaded = load(design)
    parts = loaded.catalog
    try:
        job = _job(loaded, parts, model, gpus, "storage")
        return study_storage(_profiled(loaded, profile), parts, job, images)
    except NoStorageError as error:
        raise UsageError(f"storage: {error}") from None


@reads(chance=number(0.5, 0.99, parse_share), draws=whole(), catalog=FOLDERS)
def fleet(
    file: str | Path,
    *,
    chance: float | str = IN_TIME,
    draws: int = DRAWS,
    seed: int = 0,
    catalog: str | Path | Iterable[str | Path] = (),
) -> FleetPlan:
    """Return a fleet over its quarters: what it does of the demand, cash, power, carbon, and dates of orders.

    Args:
        file: a fleet file, or the name of a shipped one.
        chance: chance wanted that demand is met and orders are in time [1], or text such as `90 %`.
        draws: draws of the uncertain inputs [1].
        seed: seed of the draws.
        catalog: one folder of your own parts or several.

    Raises:
        InputError: if the file or a design is wrong, or a cluster cannot do what it is used for.
        UsageError: if no shipped fleet has the name, or a number is out of range.
    """
    from ffplan.catalog.store import Catalog
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.fleet.plan import plan_fleet

    parts = Catalog(catalog)
    return plan_fleet(str(file), parts, CostRequest(draws=draws, seed=seed), chance=float(chance), tell=_quiet)


def _quiet(what: str) -> None:
    """Say nothing of what is studied."""
