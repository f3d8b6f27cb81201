"""`ffplan model calibrate`: constants of an accelerator, and of a serving engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.base.next_commands import following
from ffplan.catalog.named import part_of
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.options import CatalogOption, OutputOption, _complete_part, _part_option
from ffplan.cli.output import _overlay_target, _refuse_doubts, _write_overlay, emit
from ffplan.cli.serve_options import CacheOption, DataOption, ExpertOption, PipelineOption

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
        _refuse_doubts("ffplan model calibrate", () if force else result.doubts)
        written = _write_overlay(target, folder, result.overlay, "ffplan model calibrate")
        typer.echo(f"ffplan model calibrate: wrote {written}", err=True)


_WHO = "ffplan model calibrate serving"
_MOST_BYTES = 1 << 28
"""Largest file; a result with the times of every token has hundreds of megabytes [byte]."""

FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Results of vllm bench serve, SGLang bench_serving, AIPerf, genai-perf, InferenceX or MLPerf LoadGen.",
    ),
]
EngineOption = Annotated[
    str | None,
    _part_option(
        "engine",
        "Release whose constants the fit starts from, such as vllm-2026; the files' own if omitted.",
        "--engine",
        metavar="NAME",
    ),
]
AcceleratorOption = Annotated[
    str | None, _part_option("accelerator", "Accelerator of the runs; the files' own if omitted.", "--accelerator")
]
ModelOption = Annotated[
    str | None, _part_option("model", "Model of the catalogue, where files do not name it.", "--model", "-m")
]
PrecisionOption = Annotated[
    str | None,
    typer.Option("--precision", metavar="NAME", help="Weights, where files do not say: bf16, fp8, fp4, mxfp4 or int4."),
]
TensorOption = Annotated[
    int | None, typer.Option("--tp", min=1, max=4096, help="Tensor parallelism, where files do not say.")
]
PromptOption = Annotated[
    int | None, typer.Option("--isl", min=1, max=10_000_000, help="Tokens of a prompt, where files do not say.")
]
AnswerOption = Annotated[
    int | None, typer.Option("--osl", min=1, max=10_000_000, help="Tokens of an answer, where files do not say.")
]
ShortestOption = Annotated[
    float | None,
    typer.Option(
        "--shortest",
        min=0.01,
        max=1.0,
        help="Least length over the largest, where lengths were drawn and files do not say; 1 if omitted.",
    ),
]
EngineFolderOption = Annotated[
    str | None,
    typer.Option(
        "--write",
        metavar="DIR",
        help="Write the engine with the fitted constants into this folder, for use with --catalog.",
    ),
]
DateOption = Annotated[
    str | None,
    typer.Option("--date", metavar="DAY", help="Day of the runs, where files do not say; today if omitted."),
]


def _named(value: str | None, known: tuple[str, ...], option: str) -> str | None:
    from ffplan.cli.loading import choice

    return None if value is None else choice(value, known, option)


def _each_once(files: list[str]) -> list[str]:
    """Return files; refuse one that is named twice, whose runs would count twice."""
    seen: set[Path] = set()
    for file in files:
        if Path(file).resolve() in seen:
            raise UsageError(f"{_WHO}: {file}: named twice, and its runs would count twice")
        seen.add(Path(file).resolve())
    return files


def calibrate_serving(
    files: FilesArgument,
    engine: EngineOption = None,
    accelerator: AcceleratorOption = None,
    model: ModelOption = None,
    precision: PrecisionOption = None,
    kv: CacheOption = None,
    tp: TensorOption = None,
    pp: PipelineOption = None,
    ep: ExpertOption = None,
    dp: DataOption = None,
    isl: PromptOption = None,
    osl: AnswerOption = None,
    shortest: ShortestOption = None,
    date: DateOption = None,
    folder: EngineFolderOption = None,
    force: ForceOption = False,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Fit constants of a serving engine to your own benchmark runs: errors before and after, a catalogue file."""
    from ffplan.calibration.fit import FitError
    from ffplan.calibration.serving_calibrate import calibrate_serving
    from ffplan.calibration.serving_runs import ServingRequest
    from ffplan.catalog.models import Model
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.cli.loading import _day_of, _read_output
    from ffplan.cli.progress import Progress
    from ffplan.interop.served.read import read_results
    from ffplan.report.calibrate import serving_document
    from ffplan.serving.plan import CACHE_WIDTHS, WIDTHS
    from ffplan.studies.serve.links import ServeError

    parts = Catalog(catalog or ())
    request = ServingRequest(
        engine=engine,
        accelerator=part_of(parts, Accelerator, accelerator, f"{_WHO}: --accelerator").id if accelerator else None,
        model=part_of(parts, Model, model, f"{_WHO}: --model").id if model else None,
        precision=_named(precision, tuple(WIDTHS), "--precision"),
        kv=_named(kv, tuple(CACHE_WIDTHS), "--kv"),
        tensor=tp,
        pipeline=pp,
        data=dp,
        expert=ep,
        prompt=isl,
        output=osl,
        shortest=shortest,
    )
    runs = [run for file in _each_once(files) for run in read_results(_read_output(file, _MOST_BYTES), file)]
    progress = Progress("fitting")
    try:
        result = calibrate_serving(parts, runs, request, _day_of(date, _WHO), progress.count)
        target = _overlay_target(folder, result.report.engine, parts, _WHO) if folder is not None else None
    except (FitError, ServeError) as error:
        raise UsageError(f"{_WHO}: {error}") from None
    finally:
        progress.end()
    emit(serving_document(result.report), form, output)
    if folder is not None and target is not None:
        told = result.report.constants
        _refuse_doubts(_WHO, result.doubts if told and not force else (), "" if told else "the runs tell no constant")
        typer.echo(f"{_WHO}: wrote {_write_overlay(target, folder, result.overlay, _WHO)}", err=True)
        step = f"ffplan serve ... --catalog {folder} --engine {result.report.engine}"
        typer.echo(f"{_WHO}: use it: {following(step)}", err=True)
