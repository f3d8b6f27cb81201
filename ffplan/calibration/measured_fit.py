"""From a recording of kernels: constants with the catalogue's, errors by size, and files of a catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.calibration.fit import NEEDED, FitError
from ffplan.calibration.kernel_fit import SMALL_KERNELS, _starting_values, _timed_groups
from ffplan.calibration.kernel_times import _MeasuredAttention
from ffplan.calibration.measured_errors import (
    FRACTIONS,
    _attention_errors,
    _copy_errors,
    _doubts_of,
    _fits_of,
    _group_errors,
    _kernel_errors,
    _refuse_recording,
    _remarks_of,
)
from ffplan.calibration.overlay import (
    MEASURED,
    _figure_line,
    _figure_text,
    _MeasuredSource,
    _stack_lines,
    _with_lines,
    _with_sources,
)
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.stacks import SoftwareStack
from ffplan.inputs.composer import compose
from ffplan.inputs.document import Document, scalar
from ffplan.inputs.validate import validate
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.measurement import KernelError, MeasuredConstant, MeasuredFit

if TYPE_CHECKING:
    from ffplan.calibration.measured_errors import _RecordingFits
    from ffplan.catalog.parts import Part
    from ffplan.catalog.store import Catalog
    from ffplan.measuring.recording import Recording

P = TypeVar("P", bound="Part")
CLOSE = 1e-3
"""Relative distance within which a figure was read back as written [1]."""


@record
class _MeasuredFigures:
    constants: dict[str, MeasuredConstant]
    """Constants by name."""
    attention: _MeasuredAttention | None
    """Tables of attention; None to write none."""
    source: _MeasuredSource
    """Source of all of them."""
    units: float
    """Multiprocessors, if the catalogue has none [1]."""
    stack: str | None
    """Stack that takes `memory`; the accelerator if omitted."""


def _line(constant: MeasuredConstant) -> str:
    low, value, high = (_text(constant, number) for number in (constant.low, constant.after, constant.high))
    name = "bandwidth" if constant.name == "pcie" else constant.name
    return _figure_line(name, (value, low, high), constant.note, derived=constant.name != "pcie")


def _text(constant: MeasuredConstant, value: float) -> str:
    return f"{value:.4g} GB/s" if constant.unit == "GB/s" else _figure_text(constant.name, value)


def _own(catalog: Catalog, name: str) -> tuple[str, str]:
    """Return the text of a part's file, and its name for people."""
    place = catalog.locate(name)
    assert place is not None
    return place[0].read_text(encoding="utf-8"), place[1]


def _reread(model: type[P], text: str, name: str, lines: list[str]) -> P:
    """Return a part as its new text has it."""
    try:
        return validate(model, Document(name, "0" * 64, compose(text, name)))
    except InputError:
        raise _by_hand(name, lines) from None


def _by_hand(name: str, lines: list[str]) -> FitError:
    return FitError(f"{name} is written in a way that cannot be edited; add these lines by hand:\n" + "\n".join(lines))


def _measured_files(catalog: Catalog, part: Accelerator, figures: _MeasuredFigures) -> dict[str, str]:
    """Return the files of a catalogue by their names."""
    files = {}
    constants = {
        name: constant for name, constant in figures.constants.items() if not (name == "memory" and figures.stack)
    }
    table = figures.attention.part if figures.attention is not None else None
    moved = table is not None and part.training is not None and part.training.kernels != table.id
    if constants or moved:
        files[part.id] = _accelerator(catalog, part, constants, figures)
    if table is not None:
        assert figures.attention is not None
        files[table.id] = figures.attention.text
    if figures.stack is not None and "memory" in figures.constants:
        files[figures.stack] = _stack(catalog, part, figures.stack, figures)
    return files


def _accelerator(
    catalog: Catalog, part: Accelerator, constants: dict[str, MeasuredConstant], figures: _MeasuredFigures
) -> str:
    text, name = _own(catalog, part.id)
    lines = {key: _line(constant) for key, constant in constants.items() if key != "pcie"}
    if part.training is None and lines:
        lacking = [key for key in NEEDED if key not in lines]
        if lacking:
            raise FitError(
                f"`{part.id}` has no constants of training yet, and the recording lacks {', '.join(lacking)}"
            )
        first = {"set": f"  set: {scalar(f'{part.id}-own')}"}
        lines = {**first, **lines, "units": f"  units: {{value: {figures.units:.0f}, source: {MEASURED}}}"}
    table = figures.attention.part if figures.attention is not None else None
    if table is not None and (part.training.kernels != table.id if part.training is not None else lines):
        lines["kernels"] = f"  kernels: {scalar(table.id)}"
    edited = _with_lines(text, "training", lines) if lines else text
    link = {"bandwidth": _line(constants["pcie"])} if "pcie" in constants else {}
    edited = _with_lines(edited, "pcie", link) if link else edited
    edited = _with_sources(edited, [figures.source.line], [MEASURED])
    added = [figures.source.line, *lines.values(), *link.values()]
    read = _reread(Accelerator, edited, name, added)
    for key, constant in constants.items():
        figure = read.pcie.bandwidth if key == "pcie" and read.pcie else getattr(read.training, key, None)
        if figure is None or abs(figure.value / constant.after - 1) > CLOSE or figure.source != MEASURED:
            raise _by_hand(name, added)
    return edited


def _stack(catalog: Catalog, part: Accelerator, stack: str, figures: _MeasuredFigures) -> str:
    text, name = _own(catalog, stack)
    set_name = part.training.set if part.training is not None else f"{part.id}-own"
    line = _line(figures.constants["memory"])
    edited = _with_sources(_stack_lines(text, set_name, line), [figures.source.line], [MEASURED])
    read = _reread(SoftwareStack, edited, name, [figures.source.line, line])
    rates = read.constants.get(set_name)
    if rates is None or rates.memory is None or rates.memory.source != MEASURED:
        raise _by_hand(name, [figures.source.line, "constants:", f"  {set_name}:", f"  {line}"])
    return edited


DETERMINED = ("matrix", "matrix_fp8", "matrix_tf32", "stream", "kernel", "memory", "attention", "pcie")
"""Groups of constants that a recording determines."""
IN_STEPS = ("matrix", "matrix_fp8", "matrix_tf32", "memory")
"""Constants that the catalogue has of whole training steps, which reach less than a kernel alone."""
ALONE = "a kernel alone; the catalogue's is what training steps reach, with clocks and waiting: --only writes it"
"""Reason why such a constant is written on request only."""


@record
class MeasuredRequest:
    """A request to fit a recording."""

    accelerator: str
    """Id of the accelerator that was measured."""
    only: tuple[str, ...] | None
    """Constants to write; if omitted, all that the catalogue does not have from training steps."""
    stack: str | None
    """Id of the software stack that `memory` is written for."""


@record
class MeasuredResult:
    """The result of a fit."""

    report: MeasuredFit
    """Constants and errors."""
    files: dict[str, str]
    """Files of a catalogue by the id of their part."""


def fit_recording(
    catalog: Catalog, recording: Recording, document: Document, request: MeasuredRequest
) -> MeasuredResult:
    """Fit constants to a recording.

    Raises:
        InputError: if the recording is of another device, or of none that counts.
        FitError: if SciPy is missing, or the constants cannot be written into a file.
    """
    part = catalog.entry(request.accelerator).part
    assert isinstance(part, Accelerator)
    _refuse_recording(catalog, recording, document, part)
    source = _MeasuredSource(
        f"ffplan model measure: {recording.title}; {recording.device.name}, {plural(recording.rows, 'kernel')}",
        recording.date,
        recording.origin != "synthetic",
    )
    fits = _fits_of(catalog, recording, part, source)
    constants = _constants(fits, request)
    written = {constant.name: constant for constant in constants if constant.written}
    attention = fits.attention if request.only is None or "attention" in request.only else None
    figures = _MeasuredFigures(
        constants=written, attention=attention, source=source, units=fits.units, stack=request.stack
    )
    files = _measured_files(catalog, part, figures)
    kernels = _errors(fits)
    report = MeasuredFit(
        schema_version=SCHEMA_VERSION,
        accelerator=part.id,
        recording=recording.title,
        date=recording.date,
        origin=recording.origin,
        load=recording.load,
        device=recording.device.name,
        constants=constants,
        groups=_group_errors(kernels),
        kernels=tuple(kernels),
        remarks=_remarks_of(fits),
        doubts=_doubts_of(fits, tuple(written), kernels),
    )
    return MeasuredResult(report, files)


def _constants(fits: _RecordingFits, request: MeasuredRequest) -> tuple[MeasuredConstant, ...]:
    fit, rates = fits.kernels, fits.part.training
    constants = []
    for name in ("matrix", "matrix_fp8", "matrix_tf32", "stream", "memory", "gemm", "small"):
        if name not in fit.errors:
            continue
        figure = getattr(rates, name, None)
        low, high = fit.ends(name)
        constants.append(
            MeasuredConstant(
                name=name,
                unit="1" if name in FRACTIONS else "s",
                before=None if figure is None else float(figure.value),
                after=fit.values[name],
                low=low,
                high=high,
                rows=fit.rows[name],
                written=_written(name, fits, request),
                note=ALONE if name in IN_STEPS and not _written(name, fits, request) else None,
            )
        )
    return (*constants, *_kernel(fits, request), *_link(fits, request))


def _written(name: str, fits: _RecordingFits, request: MeasuredRequest) -> bool:
    if name not in DETERMINED:
        return False
    if request.only is not None:
        return name in request.only
    alone = name in IN_STEPS and fits.part.training is not None
    return not alone or (name == "memory" and request.stack is not None)


def _kernel(fits: _RecordingFits, request: MeasuredRequest) -> list[MeasuredConstant]:
    """Return the time of a GEMM with the small kernels around it, if both parts were measured."""
    fit, rates = fits.kernels, fits.part.training
    if fit.kernel is None:
        return []
    ends = [fit.ends(name) for name in ("gemm", "small")]
    low, high = (ends[0][place] + SMALL_KERNELS * ends[1][place] for place in range(2))
    return [
        MeasuredConstant(
            name="kernel",
            unit="s",
            before=None if rates is None else float(rates.kernel.value),
            after=fit.kernel,
            low=low,
            high=high,
            rows=fit.rows["gemm"] + fit.rows["small"],
            written=_written("kernel", fits, request),
            note=f"a GEMM's own {fit.values['gemm'] * 1e6:.3g} us, and {SMALL_KERNELS} small kernels of "
            f"{fit.values['small'] * 1e6:.3g} us",
        )
    ]


def _link(fits: _RecordingFits, request: MeasuredRequest) -> list[MeasuredConstant]:
    ways = {way: fits.links[way] for way in ("to-device", "from-device") if way in fits.links}
    if not ways:
        return []
    rates, link = {way: fitted.rate / 1e9 for way, fitted in ways.items()}, fits.part.pcie
    return [
        MeasuredConstant(
            name="pcie",
            unit="GB/s",
            before=None if link is None else float(link.bandwidth.value),
            after=min(rates.values()),
            low=min(rates.values()),
            high=max(rates.values()),
            rows=sum(fitted.rows for fitted in ways.values()),
            written=link is not None and _written("pcie", fits, request),
            note="; ".join(f"{way} {rate:.4g} GB/s" for way, rate in rates.items()),
        )
    ]


def _errors(fits: _RecordingFits) -> list[KernelError]:
    fit, part = fits.kernels, fits.part
    catalogue = None
    if part.training is not None:
        fitted = {name: fit.values[name] for name in ("gemm", "small")}
        catalogue = _starting_values(part) | fitted
    errors = []
    for group, timed in _timed_groups(fits.recording, part).items():
        rows = _kernel_errors(group, timed, fit.values, catalogue)
        errors += sorted(rows, key=lambda error: error.group != group)
    half = next((part.peak[name].value for name in ("bf16", "fp16") if name in part.peak), 0.0) * 1e12
    errors += _attention_errors(fits.recording, fits.any_rates, fits.table, half)
    plain = None if part.pcie is None else float(part.pcie.bandwidth.value) * 1e9
    return errors + _copy_errors(fits.recording, fits.links, plain)
