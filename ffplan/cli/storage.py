"""`ffplan operate storage`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.job import JobGpusOption, JobModelOption, _requested_job
from ffplan.cli.loading import _resolved_design
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption, ProfileOption
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras


def storage(
    file: DesignArgument,
    model: JobModelOption = None,
    gpus: JobGpusOption = None,
    images: Annotated[
        float | None,
        typer.Option(
            "--images",
            metavar="RATE",
            min=1,
            max=1e12,
            help="Images a second read by all jobs, one file each; the rate of a convolutional --model if omitted.",
        ),
    ] = None,
    profile: ProfileOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Size the storage of a design: capacity, rates and what binds them, checkpoints, data, and guidance."""
    from ffplan.report.operate import storage_document
    from ffplan.studies.operate.storage import NoStorageError, study_storage

    design, parts = _resolved_design(file, catalog, profile)
    job = _requested_job("operate storage", design, parts, model, gpus)
    try:
        report = study_storage(design, parts, job, images)
    except NoStorageError as error:
        raise UsageError(f"ffplan operate storage: {error}; add a group with `role: storage`") from None
    emit(_with_extras(storage_document(report), form, [file], catalog, "storage"), form, output)
