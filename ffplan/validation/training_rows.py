"""Measured training runs as data, replayed: the model's seconds, rates and memory next to the measured ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import GIB
from ffplan.results.accuracy import AccuracyRow
from ffplan.results.run import SHORT_NAMES
from ffplan.training.accelerator_rates import UncalibratedError
from ffplan.training.axes import AXES
from ffplan.training.memory import stage_bytes
from ffplan.training.memory_margins import peak_bytes
from ffplan.training.part_kinds import PARTS
from ffplan.training.step import step_parts, step_time
from ffplan.validation.cases import MEASURES, SIZES, TIMES, TrainingFile
from ffplan.validation.communication_replay import _signed_error
from ffplan.validation.measured_system import CaseParts, Path
from ffplan.validation.training_replay import (
    RULE,
    TrainingReplay,
    check_columns,
    modelled_measure,
    prepare_replay,
)

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Number
    from ffplan.catalog.rates import TrainingRates
    from ffplan.catalog.stacks import StackRates
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document


LABEL_ORDER = ("tensor", "context", "expert", "pipeline", "chunks", "data")
"""Sizes that labels of measured rows begin with."""
MARKS = {"zero": "zero", "shard": "shard", "sequence": "s"}
"""Marks of columns that not every label has."""


def _words(replay: TrainingReplay, row: int) -> str:
    def value(field: Number) -> int:
        return int(np.broadcast_to(np.asarray(field), replay.columns["gpus"].shape)[row])

    p, shape = replay.plans, replay.shape
    order = dict.fromkeys((*LABEL_ORDER, *SHORT_NAMES))
    arrays = {axis.field: axis.array for axis in AXES}
    sizes = {SHORT_NAMES[field]: value(getattr(p, arrays[field])) for field in order}
    ways = " ".join(f"{name}{size}" for name, size in sizes.items() if size > 1) or "one rank"
    label = f"{ways} mb{value(p.micro)} b{value(p.batch)}"
    more = {"zero": p.zero, "shard": p.shard, "sequence": shape.sequence}
    label += "".join(f" {MARKS[name]}{value(field)}" for name, field in more.items() if name in replay.columns)
    if replay.table.model is None or "layers" in replay.columns:
        label += f", L{value(shape.layers)} h{value(shape.hidden)}"
    return label


def replayed_times(
    replay: TrainingReplay, rates: TrainingRates | None = None, stack: StackRates | None = None
) -> tuple[Floats, dict[str, Floats]]:
    """Return the seconds of a step of every row, and its parts.

    Args:
        rates: constants in place of the catalogue's.
        stack: constants of the stack in place of the catalogue's.

    Raises:
        UncalibratedError: if the accelerator has no training constants.
    """
    shape = replay.columns["gpus"].shape
    parts = {name: np.broadcast_to(value, shape) for name, value in step_parts(replay.run(rates, stack)).items()}
    return np.asarray(step_time(parts)), parts


def _size(replay: TrainingReplay, name: str) -> Floats:
    """Return memory of the fullest stage, or a part of the first one [byte]."""
    if name == "memory_gib":
        return np.asarray(peak_bytes(replay.shape, replay.plans))
    first = stage_bytes(replay.shape, replay.plans, 0)
    if name == "activations_gib":
        return np.asarray(first.activations)
    return np.asarray(first.weights + first.gradients + first.optimizer)


def _kind(replay: TrainingReplay, *, timed: bool = True) -> str:
    if replay.table.arithmetic:
        return "arithmetic"
    if timed and replay.relative is not None:
        return "estimated"
    if replay.table.assumed is not None:
        return "assumed"
    return "fitted" if replay.table.fitted else "predicted"


def _error(name: str, model: float, measured: float) -> float:
    """Return the signed error; of rates, the error of the time, so that a model too slow is above 0 in every unit."""
    slower = name in TIMES and name != "seconds"
    return _signed_error(measured, model, model) if slower else _signed_error(model, measured, measured)


def _replay_rows(replay: TrainingReplay, names: tuple[str, ...]) -> list[AccuracyRow]:
    """Return the rows of a table for some of its measures."""
    here = [name for name in names if name in replay.columns]
    rows, table, file = [], replay.table, replay.file
    assumed = f"assumed: {table.assumed}" if table.assumed else ""
    near = f"efficiencies of {replay.relative}, the nearest calibrated relative; {assumed}" if replay.relative else ""
    told = "; ".join(filter(None, (table.note, near.removesuffix("; ")))) or None
    modelled: dict[str, Floats] = {}
    longest = [""] * len(table.rows)
    if set(here) & set(TIMES):
        seconds, parts = replayed_times(replay)
        modelled = {name: modelled_measure(replay, name, seconds) for name in here if name in TIMES}
        longest = [tuple(PARTS)[position] for position in np.stack([parts[name] for name in PARTS]).argmax(axis=0)]
    modelled |= {name: _size(replay, name) / GIB for name in here if name in SIZES}
    for position in range(len(table.rows)):
        for name in here:
            measured = float(replay.columns[name][position])
            if np.isnan(measured):
                continue
            model = float(np.broadcast_to(modelled[name], (len(table.rows),))[position])
            rows.append(
                AccuracyRow(
                    source=file.id,
                    case=table.id,
                    what=_words(replay, position),
                    gpus=int(replay.columns["gpus"][position]),
                    size_bytes=None,
                    unit=name,
                    measured=measured,
                    measured_high=None,
                    model=model,
                    error=_error(name, model, measured),
                    chosen=longest[position] if name in TIMES else "",
                    status=file.source.status,
                    kind=_kind(replay, timed=name in TIMES),
                    scored=table.scored,
                    note=told if name in TIMES else table.note,
                )
            )
    return rows


def _replay_training(
    file: TrainingFile,
    document: Document,
    catalog: Catalog,
    names: tuple[str, ...] = TIMES,
    seen: list[TrainingReplay] | None = None,
) -> list[AccuracyRow]:
    """Return every row of a file of training runs.

    Args:
        names: columns to replay.
        seen: takes the tables that were replayed.
    """
    bench = CaseParts(catalog, document)
    rows: list[AccuracyRow] = []
    for position, table in enumerate(file.tables):
        path: Path = ("tables", position)
        check_columns(bench, table, path)
        if set(MEASURES) & set(table.columns) and not set(names) & set(table.columns):
            continue
        replay = prepare_replay(bench, file, table, path, estimate=True)
        if seen is not None:
            seen.append(replay)
        try:
            rows += _replay_rows(replay, names)
        except UncalibratedError as error:
            raise bench.fault(
                (*path, "system"), str(error), f"name another accelerator; {error.remedy}", RULE
            ) from None
    return rows
