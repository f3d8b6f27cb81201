"""The job of `goodput`, `storage` and `acceptance`: from options, or the design's workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.models import _model_part
from ffplan.cli.options import _complete_part
from ffplan.cli.progress import Progress
from ffplan.cli.series import MOST

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.operate.goodput_job import GoodputJob

JobModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="ID",
        help="Train this model; the design's `workload` if omitted.",
        autocompletion=_complete_part("model"),
    ),
]
JobGpusOption = Annotated[
    int | None,
    typer.Option("--gpus", "-g", min=1, max=MOST, help="Accelerators of the job; the most it can span if omitted."),
]


def _requested_job(
    command: str, design: ResolvedDesign, parts: Catalog, model: str | None, gpus: int | None
) -> GoodputJob | None:
    """Return the job with its fastest plan; None without a job.

    Args:
        command: for messages.
        model: catalogue id of the model; None for the design's workload.
        gpus: accelerators [1].

    Raises:
        UsageError: if the model is unknown, or the job too large.
    """
    from ffplan.studies.operate.goodput_job import JobError, goodput_job

    work = design.workload
    if model is None and work is None:
        if gpus is not None:
            raise UsageError(f"ffplan {command}: --gpus has an effect with --model, or a `workload` in the design")
        return None
    name = design.stated_workload.model if model is None else model
    name = _model_part(parts, name, command).id
    progress = Progress(f"searching plans of {name}")
    progress.step(0, 1)
    try:
        return goodput_job(design, parts, None if model is None else name, gpus)
    except JobError as error:
        option = f"--{error.field} " if error.field else ""
        raise UsageError(f"ffplan {command}: {option}{error}") from None
    finally:
        progress.end()
