"""`ffplan model measure`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.catalog.named import part_of
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.options import CatalogOption, OutputOption, _part_option
from ffplan.cli.output import _overlay_target, _refuse_doubts, _refuse_target, _write_overlay, emit, write
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.calibration.measured_fit import MeasuredResult
    from ffplan.measuring.kernels import KernelPlan
    from ffplan.measuring.torch_device import TorchDevice

app = typer.Typer(
    help="Time kernels on a GPU at hand, and fit the constants of the model to them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
INTERRUPTED = 130
"""Exit code of a run ended by Ctrl-C."""


class _SizesChoice(StrEnum):
    USUAL = "usual"
    TINY = "tiny"


class _DeviceChoice(StrEnum):
    CUDA = "cuda"
    CPU = "cpu"


SizesOption = Annotated[
    _SizesChoice | None,
    typer.Option("--sizes", help="usual: minutes on a GPU; tiny: seconds, shows that it runs. Tiny on a CPU."),
]
GroupsOption = Annotated[
    str | None,
    typer.Option("--groups", metavar="NAMES", help="Kernels to time: gemm, attention, memory, pcie; all if omitted."),
]


def _plan(sizes: _SizesChoice | None, groups: str | None, *, cpu: bool = False) -> KernelPlan:
    from ffplan.cli.loading import choices
    from ffplan.measuring.kernels import GROUPS, PLANS

    default = _SizesChoice.TINY if cpu else _SizesChoice.USUAL
    plan = PLANS[(sizes or default).value]()
    if groups is None:
        return plan
    return plan.only(choices(groups, GROUPS, "--groups"))


@app.command("plan")
def show_plan(
    sizes: SizesOption = None,
    groups: GroupsOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
) -> None:
    """List the kernels that `ffplan model measure run` times, and how long it takes; needs no GPU."""
    from ffplan.report.calibrate import plan_document
    from ffplan.studies.trust.measurement import measure_plan

    emit(plan_document(measure_plan(_plan(sizes, groups))), form, output)


@app.command("run")
def run(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Recording to write (JSON), whole or not at all.")
    ],
    device: Annotated[
        _DeviceChoice, typer.Option("--device", help="cuda: the first visible GPU; cpu: a trial that is never fitted.")
    ] = _DeviceChoice.CUDA,
    sizes: SizesOption = None,
    groups: GroupsOption = None,
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TEXT", help="What was measured where, for the source of figures."),
    ] = None,
    date: Annotated[
        str | None, typer.Option("--date", metavar="DATE", help="Date of the recording; today if omitted.")
    ] = None,
) -> None:
    """Time kernels on this machine's GPU: GEMMs, attention, memory, copies; write a recording.

    Needs PyTorch (`pip install torch`). Ctrl-C ends it early and keeps what is finished.
    """
    from ffplan.measuring.recording import recording_text
    from ffplan.measuring.run import RecordingHead, run_plan

    _refuse_target(output, "--output")
    plan, head = _plan(sizes, groups, cpu=device is _DeviceChoice.CPU), RecordingHead(_title(title), _date(date))
    progress = Progress("measuring")
    try:
        recording = run_plan(plan, _device(device), head, progress.step if progress.shown else _line)
    finally:
        progress.end()
    write(recording_text(recording), output)
    summary = f"wrote {output}: {recording.rows} of {sum(map(len, plan.kernels.values()))} kernels"
    for kernel in recording.skipped:
        typer.echo(f"ffplan model measure: {kernel.what}: not timed: {kernel.why}", err=True)
    if not recording.complete:
        typer.echo(f"ffplan model measure: interrupted; {summary}", err=True)
        raise typer.Exit(INTERRUPTED)
    typer.echo(f"ffplan model measure: {summary}", err=True)


def _title(title: str | None) -> str:
    if title is not None and not 0 < len(title) <= 500:
        raise UsageError("ffplan model measure run: --title: write 1 to 500 letters")
    return title or "ffplan model measure run"


def _date(date: str | None) -> str:
    from datetime import date as day

    if date is None:
        return day.today().isoformat()
    try:
        return day.fromisoformat(date).isoformat()
    except ValueError:
        raise UsageError(f"ffplan model measure run: --date: no day `{date}`; write one such as 2026-08-31") from None


def _device(device: _DeviceChoice) -> TorchDevice:
    from ffplan.measuring.torch_device import NoDeviceError, TorchDevice

    if device is _DeviceChoice.CPU:
        typer.echo(
            "ffplan model measure: on a CPU: this shows that the program runs; its times are never fitted", err=True
        )
    try:
        return TorchDevice(gpu=device is _DeviceChoice.CUDA)
    except NoDeviceError as error:
        raise UsageError(f"ffplan model measure run: {error}") from None


def _line(done: int, total: int, text: str) -> None:
    """Print the progress as a line if standard error is no terminal."""
    typer.echo(f"ffplan model measure: {done} of {total}: {text}", err=True)


RecordingArgument = Annotated[str, typer.Argument(metavar="RECORDING", help="Recording of `ffplan model measure run`.")]
AcceleratorOption = Annotated[
    str, _part_option("accelerator", "Catalogue id of the accelerator that was measured.", "--accelerator")
]
StackOption = Annotated[
    str | None, _part_option("stack", "Software stack that takes the rate of element-wise kernels.", "--stack")
]
OnlyOption = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="NAMES",
        help="Write only these: matrix, matrix_fp8, matrix_tf32, stream, kernel, memory, attention, pcie.",
    ),
]
FolderOption = Annotated[
    str | None,
    typer.Option("--write", metavar="DIR", help="Write catalogue files into this folder, for use with --catalog."),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="With --write, also write constants that there is reason to doubt.")
]


@app.command("fit")
def fit(
    file: RecordingArgument,
    accelerator: AcceleratorOption,
    stack: StackOption = None,
    only: OnlyOption = None,
    folder: FolderOption = None,
    force: ForceOption = False,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Fit constants to a recording: beside the catalogue's, with errors by size; catalogue files.

    Needs SciPy (`pip install scipy`).
    """
    from ffplan.calibration.fit import FitError
    from ffplan.calibration.measured_fit import MeasuredRequest, fit_recording
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.stacks import SoftwareStack
    from ffplan.catalog.store import Catalog
    from ffplan.measuring.recording import read_recording
    from ffplan.report.calibrate import measured_document

    parts = Catalog(catalog or ())
    accelerator = part_of(parts, Accelerator, accelerator, "ffplan model measure fit: --accelerator").id
    if stack is not None:
        stack = part_of(parts, SoftwareStack, stack, "ffplan model measure fit: --stack").id
    request = MeasuredRequest(accelerator=accelerator, only=_names(only, stack), stack=stack)
    recording, document = read_recording(file)
    try:
        result = fit_recording(parts, recording, document, request)
    except FitError as error:
        raise UsageError(f"ffplan model measure fit: {error}") from None
    targets = {}
    if folder is not None:
        targets = {name: _overlay_target(folder, name, parts, "ffplan model measure fit") for name in result.files}
    emit(measured_document(result.report), form, output)
    if folder is not None:
        _write(result, folder, targets, force=force)


def _write(result: MeasuredResult, folder: str, targets: dict[str, Path], *, force: bool) -> None:
    """Write the files of a catalogue, unless the fit is doubtful."""
    untold = "" if result.files else "the recording tells none of it"
    _refuse_doubts("ffplan model measure", () if force else result.report.doubts, untold)
    for name, text in result.files.items():
        written = _write_overlay(targets[name], folder, text, "ffplan model measure fit")
        typer.echo(f"ffplan model measure: wrote {written}", err=True)


def _names(only: str | None, stack: str | None) -> tuple[str, ...] | None:
    """Return the constants to write; None if none is chosen."""
    from ffplan.calibration.measured_fit import DETERMINED
    from ffplan.cli.loading import choices

    if only is None:
        return None
    names = choices(only, DETERMINED, "--only")
    if stack is not None and "memory" not in names:
        raise UsageError("ffplan model measure fit: --stack has no effect with --only that leaves out memory")
    return names
