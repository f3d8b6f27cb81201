"""The job that goodput, storage and acceptance look at, with its fastest plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.operate.goodput_job import GoodputJob
from ffplan.studies.train.usual_job import image_job
from ffplan.studies.train.workload import workload_gpus, workload_report

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign


class JobError(Exception):
    """A job that cannot be asked for."""

    def __init__(self, message: str, field: str = "") -> None:
        """Name what is wrong.

        Args:
            message: what is wrong, for people.
            field: what of the job, `model` or `gpus`; empty of neither.
        """
        super().__init__(message)
        self.field = field


def goodput_job(design: ResolvedDesign, catalog: Catalog, model: str | None, gpus: int | None) -> GoodputJob | None:
    """Return a job with its fastest plan, or without where it cannot be timed; None where there is none.

    Args:
        model: catalogue id of a model; None for the design's workload.
        gpus: accelerators [1]; the workload's, or the most that a job can span, if None.

    Raises:
        InputError: where the workload's plan contradicts itself, or it is too large.
        JobError: where the model is none, the design has no accelerators, or the job is too large.
        KeyError: where there is no such model.
    """
    from ffplan.catalog.models import Model
    from ffplan.design.workload_schema import Workload
    from ffplan.training.accelerator_rates import UncalibratedError
    from ffplan.training.constraints import RefusedError

    work = design.workload
    if model is not None:
        work = Workload.model_construct(model=model, tokens=None, batch=None, gpus=gpus, plan=None, search=False)
    if work is None:
        return None
    part = catalog.entry(work.model).part
    if not isinstance(part, Model):
        raise JobError(f"{work.model}: it is no model", "model")
    most = most_gpus(design)
    if not most:
        raise JobError(f"`{design.spec.name}` has no accelerators")
    if gpus is not None and not 0 < gpus <= most:
        raise JobError(f"{gpus:,}: one job can span {most:,} of this design", "gpus")
    work = work.model_copy(update={"gpus": gpus or work.gpus})
    count = workload_gpus(design, work)
    try:
        if part.transformer is None:
            return GoodputJob(part, count, image_job(design, catalog, part, count), None)
        return GoodputJob(part, count, workload_report(design, catalog, work, gains=False), None)
    except (RefusedError, UncalibratedError) as error:
        return GoodputJob(part, count, None, str(error))
