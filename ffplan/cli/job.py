"""The job that `goodput` and `storage` look at: the options', or the design's workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.options import complete_part
from ffplan.cli.output import Progress
from ffplan.cli.series import MOST

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.goodput_job import GoodputJob

JobModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="ID",
        help="Train this model; the design's `workload` if omitted.",
        autocompletion=complete_part("model"),
    ),
]
JobGpusOption = Annotated[
    int | None,
    typer.Option("--gpus", "-g", min=1, max=MOST, help="Accelerators of the job; the most it can span if omitted."),
]


def job_asked(
    command: str, design: ResolvedDesign, parts: Catalog, model: str | None, gpus: int | None
) -> GoodputJob | None:
    """Return the job with its fastest plan; None where there is none.

    Args:
        command: for messages.
        design: the design.
        parts: its catalogue.
        model: catalogue id of the model; None for the design's workload.
        gpus: accelerators [1].

    Raises:
        UsageError: where the model is none, or the job too large.
    """
    from ffplan.catalog.models import Model
    from ffplan.catalog.named import part_of
    from ffplan.design.workload_schema import Workload
    from ffplan.studies.goodput import goodput_job
    from ffplan.studies.job_layout import most_gpus

    work = design.workload
    if model is not None:
        work = Workload.model_construct(model=model, tokens=None, batch=None, gpus=gpus, plan=None, search=False)
    elif work is None:
        if gpus is not None:
            raise UsageError(f"ffplan {command}: --gpus has an effect with --model, or a `workload` in the design")
        return None
    part = part_of(parts, Model, work.model, f"ffplan {command}: --model")
    if part.transformer is None:
        raise UsageError(f"ffplan {command}: --model {part.id}: a checkpoint is sized for transformers")
    most = most_gpus(design)
    if not most:
        raise UsageError(f"ffplan {command}: `{design.spec.name}` has no accelerators")
    if gpus is not None and gpus > most:
        raise UsageError(f"ffplan {command}: --gpus {gpus:,}: one job can span {most:,} of this design")
    progress = Progress(f"searching plans of {part.id}")
    progress.step(0, 1)
    try:
        return goodput_job(design, parts, part, work.model_copy(update={"gpus": gpus or work.gpus}))
    finally:
        progress.end()
