"""`ffplan model calibrate`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.catalog.named import part_of
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.options import CatalogOption, OutputOption, _complete_part, _part_option
from ffplan.cli.output import _overlay_target, _write_overlay, emit

AcceleratorArgument = Annotated[
    str,
    typer.Argument(
        metavar="ACCELERATOR",
        help="Catalogue id of the accelerator.",
        autocompletion=_complete_part("accelerator"),
    ),
]
CasesOption = Annotated[
    list[str],
    typer.Option(
        "--cases",
        metavar="FILE",
        help="Measured runs to fit on, or collectives; see `ffplan catalog schema training-cases`, `communication-"
        "cases`. May be repeated.",
    ),
]
OnlyOption = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="NAMES",
        help="Fit only these constants, such as matrix,memory, or ring of collectives; all that the runs determine "
        "if omitted.",
    ),
]
LaunchesOption = Annotated[bool, typer.Option("--launches", help="Also fit the launch times of the host.")]
StartOption = Annotated[
    str | None,
    _part_option(
        "accelerator",
        "Accelerator that gives the constants that are not fitted; the accelerator itself if omitted.",
        "--start",
    ),
]
UnitsOption = Annotated[
    int | None, typer.Option("--units", min=1, max=100_000, help="Multiprocessors, where the catalogue has none.")
]
FolderOption = Annotated[
    str | None,
    typer.Option(
        "--write",
        metavar="DIR",
        help="Write the accelerator with the fitted constants into this folder, for use with --catalog.",
    ),
]

ForceOption = Annotated[
    bool,
    typer.Option("--force", help="With --write, also write constants at an end of their range, or that miss the runs."),
]


def calibrate(
    accelerator: AcceleratorArgument,
    cases: CasesOption,
    only: OnlyOption = None,
    launches: LaunchesOption = False,
    start: StartOption = None,
    units: UnitsOption = None,
    folder: FolderOption = None,
    force: ForceOption = False,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Fit constants of an accelerator to your own runs or collectives: errors before and after, a catalogue file.

    Needs SciPy (`pip install scipy`).
    """
    from ffplan.calibration.calibrate import CalibrationRequest, calibrate
    from ffplan.calibration.collective_fit import RATES, of_collectives
    from ffplan.calibration.fit import BOUNDS, FitError
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.cli.loading import choices
    from ffplan.cli.progress import Progress
    from ffplan.report.calibrate import calibrate_document

    parts = Catalog(catalog or ())
    accelerator = part_of(parts, Accelerator, accelerator, "ffplan model calibrate").id
    if start is not None:
        start = part_of(parts, Accelerator, start, "ffplan model calibrate: --start").id
    if only and launches:
        raise UsageError("ffplan model calibrate: --launches has no effect with --only; name launch,launch_step there")
    try:
        links = of_collectives(tuple(cases))
    except FitError as error:
        raise UsageError(f"ffplan model calibrate: {error}") from None
    if links and (launches or start is not None or units is not None):
        raise UsageError(
            "ffplan model calibrate: --launches, --start and --units have no effect on files of collectives"
        )
    names = choices(only, RATES if links else tuple(BOUNDS), "--only") if only is not None else None
    target = _overlay_target(folder, accelerator, parts, "ffplan model calibrate") if folder is not None else None
    progress = Progress("replaying")
    query = CalibrationRequest(
        accelerator=accelerator, cases=tuple(cases), names=names, launches=launches, start=start, units=units
    )
    try:
        result = calibrate(parts, query, progress.count)
    except FitError as error:
        raise UsageError(f"ffplan model calibrate: {error}") from None
    finally:
        progress.end()
    emit(calibrate_document(result.report), form, output)
    if folder is not None and target is not None:
        doubts = () if force else result.doubts
        if doubts:
            typer.echo(
                f"ffplan model calibrate: nothing written: {'; '.join(doubts)}; --force writes it anyway", err=True
            )
            raise typer.Exit(EXIT_FINDINGS)
        written = _write_overlay(target, folder, result.overlay, "ffplan model calibrate")
        typer.echo(f"ffplan model calibrate: wrote {written}", err=True)
