"""`ffplan calibrate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.base.files import is_file, is_folder, write_whole
from ffplan.catalog.named import part_of
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.options import CatalogOption, OutputOption, complete_part
from ffplan.cli.output import emit

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.calibration.calibrate import Calibration
    from ffplan.catalog.store import Catalog


AcceleratorArgument = Annotated[
    str,
    typer.Argument(
        metavar="ACCELERATOR",
        help="Catalogue id of the accelerator.",
        autocompletion=complete_part("accelerator"),
    ),
]
CasesOption = Annotated[
    list[str],
    typer.Option(
        "--cases",
        metavar="FILE",
        help="Measured runs to fit on; see `ffplan schema training-cases`. May be repeated.",
    ),
]
OnlyOption = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="NAMES",
        help="Fit only these constants, such as matrix,memory; all that the runs determine if omitted.",
    ),
]
LaunchesOption = Annotated[bool, typer.Option("--launches", help="Also fit the launch times of the host.")]
StartOption = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="ID",
        help="Accelerator that gives the constants that are not fitted; the accelerator itself if omitted.",
        autocompletion=complete_part("accelerator"),
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


def _target(folder: str, accelerator: str, parts: Catalog) -> Path:
    """Return the file to write: a new one, or the accelerator's own in a folder of the catalogue.

    Raises:
        UsageError: where another file would be lost.
    """
    import os
    from pathlib import Path

    path, place = Path(folder) / f"{accelerator}.yaml", parts.locate(accelerator)
    above = (path.parent.absolute(), *path.parent.absolute().parents)
    there = next(item for item in above if is_file(item) or is_folder(item))
    if not is_folder(there) or not os.access(there, os.W_OK):
        raise UsageError(f"ffplan calibrate: --write {folder}: cannot be written: {there} is no folder to write into")
    if is_file(path) and (place is None or path.resolve() != place[0].resolve()):
        words = f"{path} is there already and would be lost; read it with --catalog {folder}, or write elsewhere"
        raise UsageError(f"ffplan calibrate: --write {folder}: {words}")
    return path


def _write(path: Path, folder: str, made: Calibration) -> str:
    """Write the accelerator's file; return its path.

    Raises:
        UsageError: where it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, made.overlay)
    except OSError as error:
        raise UsageError(f"ffplan calibrate: --write {folder}: cannot be written: {error.strerror}") from None
    return str(path)


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
    """Fit the training constants of an accelerator to your own runs: errors before and after, a catalogue file.

    Needs SciPy: install `ffplan[fit]`.
    """
    from ffplan.calibration.calibrate import CalibrationRequest, calibrate
    from ffplan.calibration.fit import BOUNDS, FitError
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.cli.loading import choice
    from ffplan.cli.output import Progress
    from ffplan.report.calibrate import calibrate_document

    parts = Catalog(catalog or ())
    part_of(parts, Accelerator, accelerator, "ffplan calibrate")
    if start is not None:
        part_of(parts, Accelerator, start, "ffplan calibrate: --start")
    if only and launches:
        raise UsageError("ffplan calibrate: --launches has no effect with --only; name launch,launch_step there")
    names = (
        tuple(choice(name.strip(), tuple(BOUNDS), "--only") for name in only.split(",")) if only is not None else None
    )
    target = _target(folder, accelerator, parts) if folder is not None else None
    progress = Progress("replaying")
    query = CalibrationRequest(
        accelerator=accelerator, cases=tuple(cases), names=names, launches=launches, start=start, units=units
    )
    try:
        made = calibrate(parts, query, progress.count)
    except FitError as error:
        raise UsageError(f"ffplan calibrate: {error}") from None
    finally:
        progress.end()
    emit(calibrate_document(made.report), form, output)
    if folder is not None and target is not None:
        doubts = () if force else made.doubts
        if doubts:
            typer.echo(f"ffplan calibrate: nothing written: {'; '.join(doubts)}; --force writes it anyway", err=True)
            raise typer.Exit(EXIT_FINDINGS)
        typer.echo(f"ffplan calibrate: wrote {_write(target, folder, made)}", err=True)
