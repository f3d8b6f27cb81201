"""Files of a catalogue with measured constants: the parts' own texts with other figures, read again before use."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.calibration.fit import FitError
from ffplan.calibration.kernel_times import _MeasuredAttention
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
from ffplan.inputs.document import Document
from ffplan.inputs.emit import scalar
from ffplan.inputs.validate import validate
from ffplan.results.measurement import MeasuredConstant

if TYPE_CHECKING:
    from ffplan.catalog.parts import Part
    from ffplan.catalog.store import Catalog

P = TypeVar("P", bound="Part")
NEEDED = ("matrix", "memory", "kernel")
"""Constants without which an accelerator has none."""
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
