"""Measured training runs as data, replayed: the model's seconds, rates and memory beside what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.accuracy.replay import signed_error
from ffplan.accuracy.system import Bench, Path
from ffplan.accuracy.training_cases import MEASURES, PLAN, SHAPE, SIZES, TIMES, Table, TrainingFile
from ffplan.catalog.library import Library
from ffplan.catalog.models import Model
from ffplan.fabric.arrays import Floats
from ffplan.perf.feasible import COUNTED, REASONS, causes, codes
from ffplan.perf.footprint import footprint, peak_bytes
from ffplan.perf.host import Host
from ffplan.perf.passes import Run
from ffplan.perf.plans import Plans
from ffplan.perf.reckon import achieved, step_flops
from ffplan.perf.refusal import told
from ffplan.perf.speeds import UncalibratedError, speeds
from ffplan.perf.talk import System as Machine
from ffplan.perf.train import PARTS, step_parts, step_time
from ffplan.perf.workload import shape_of
from ffplan.perf.written import plans_of
from ffplan.record import record
from ffplan.tables import AccuracyRow

if TYPE_CHECKING:
    from ffplan.accuracy.cases import System
    from ffplan.catalog.models import Transformer
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.catalog.training import TrainingRates
    from ffplan.design.training import PlanFields
    from ffplan.inputs.document import Document

RULE = "training-cases"
GIB = 2.0**30


@record
class Replay:
    """A table made ready: what was measured, and what the model needs."""

    file: TrainingFile
    table: Table
    path: Path
    columns: Mapping[str, Floats]
    """Every column by name; not a number where a cell is null."""
    host: Host
    shape: Any
    plans: Plans
    system: Machine

    @property
    def accelerator(self) -> Accelerator:
        """The accelerator that it ran on."""
        assert self.host.accelerator is not None
        return self.host.accelerator

    def run(self, rates: TrainingRates | None = None) -> Run:
        """Return what is to be timed.

        Args:
            rates: what training reaches, in place of what the catalogue says.

        Raises:
            UncalibratedError: where nothing is known of training on it.
        """
        accelerator = self.accelerator
        if rates is not None:
            accelerator = accelerator.model_copy(update={"training": rates})
        return Run(self.shape, self.plans, speeds(accelerator, self.plans.precision), self.system)


def _transformer(bench: Bench, table: Table, path: Path) -> Transformer:
    """Return the model's dimensions.

    Raises:
        InputError: where there is none, or two, or it is no transformer.
    """
    if (table.model is None) == (table.shape is None):
        what = "neither `model` nor `shape` is given" if table.model is None else "both `model` and `shape` are given"
        raise bench.fault(path, what, "write one of the two", RULE)
    if table.shape is not None:
        return table.shape
    assert table.model is not None
    found = bench.catalog.get(Model, table.model, bench.document, (*path, "model")).transformer
    if found is None:
        raise bench.fault((*path, "model"), f"`{table.model}` is no transformer", "name a transformer", RULE)
    return found


def _cells(bench: Bench, table: Table, path: Path) -> dict[str, Floats]:
    """Return every column as an array.

    Raises:
        InputError: where columns are missing or doubled, or rows have another length.
    """
    needed = ["gpus"] + (["batch"] if table.plan.batch is None else [])
    missing = [name for name in needed if name not in table.columns]
    measured = [name for name in MEASURES if name in table.columns]
    what = "a column stands there twice" if len(set(table.columns)) < len(table.columns) else ""
    what = "no column was measured" if not measured else what
    what = f"the column `{missing[0]}` is missing" if missing else what
    if what:
        raise bench.fault(
            (*path, "columns"), what, f"write gpus, batch (or `batch` in `plan`) and one of {', '.join(MEASURES)}", RULE
        )
    for number, row in enumerate(table.rows):
        if len(row) != len(table.columns):
            raise bench.fault(
                (*path, "rows", number), f"{len(row)} value(s) for {len(table.columns)} columns",
                f"write {len(table.columns)} values", RULE,
            )  # fmt: skip
        for name, cell in zip(table.columns, row, strict=True):
            whole = cell is not None and cell == int(cell) and (cell >= 1 or name == "zero")
            if name not in MEASURES and not whole:
                raise bench.fault(
                    (*path, "rows", number, table.columns.index(name)), f"`{name}` is no whole number from 1 on",
                    "correct the cell", RULE,
                )  # fmt: skip
            if name == "mfu" and cell is not None and cell > 1:
                raise bench.fault(
                    (*path, "rows", number, table.columns.index(name)), f"`mfu` is {cell:g}, more than the peak",
                    f"write a share of the peak, such as {cell / 100:g} for {cell:g} %", RULE,
                )  # fmt: skip
            if name in MEASURES and cell is not None and cell <= 0:
                raise bench.fault(
                    (*path, "rows", number, table.columns.index(name)), f"`{name}` is not above 0",
                    "write what was measured, or null", RULE,
                )  # fmt: skip
    values = np.array([[np.nan if cell is None else cell for cell in row] for row in table.rows], dtype=float)
    return {name: values[:, at] for at, name in enumerate(table.columns)}


def _machine(bench: Bench, system: System, host: Host, plan: PlanFields) -> Machine:
    name = plan.reducer or "nccl"
    library = bench.catalog.get(Library, "nccl", bench.document, ())
    reducer = bench.catalog.get(Library, name.removesuffix("-nvlink"), bench.document, ())
    return Machine(host, library, reducer, bench.crossed(system, host), name == "hfreduce-nvlink")


def prepare(bench: Bench, file: TrainingFile, table: Table, path: Path) -> Replay:
    """Return a table made ready.

    Raises:
        InputError: where it does not hang together.
    """
    cells = _cells(bench, table, path)
    if table.system.gpus_per_node is not None:
        raise bench.fault(
            (*path, "system", "gpus_per_node"), "`gpus_per_node` has no effect on training runs, which fill nodes",
            "leave it out", RULE,
        )  # fmt: skip
    model = _transformer(bench, table, path)
    host = bench.host(table.system, (*path, "system"))
    if host.accelerator is None:
        raise bench.fault((*path, "system", "server"), f"`{host.id}` has no accelerators", "name another server", RULE)
    replaced = {name: cells[name] for name in SHAPE if name in cells}
    if table.plan.sequence is not None:
        replaced.setdefault("sequence", np.asarray(float(table.plan.sequence)))
    shape = shape_of(model, **replaced)
    plans = plans_of(table.plan, cells["gpus"], {name: cells[name] for name in PLAN if name in cells})
    _checked(bench, shape, plans, path, len(table.rows))
    return Replay(file, table, path, cells, host, shape, plans, _machine(bench, table.system, host, table.plan))


BELIEVED = ("widths", "rounds", "context", "schedule", "chunks")
"""Faults that runs which ran may have: frameworks pad and round."""


def _checked(bench: Bench, shape: Any, plans: Plans, path: Path, count: int) -> None:
    """Refuse a row that the model cannot reckon; what ran is believed otherwise.

    Raises:
        InputError: where there is one; says what would be right.
    """
    found = {name: at for name, at in causes(shape, plans, None).items() if name not in BELIEVED}
    several = np.asarray(plans.chunks) > 1
    over = (plans.pipeline * plans.chunks > shape.layers + COUNTED) | (several & (np.asarray(plans.pipeline) == 1))
    found["chunks"] = over
    code = np.broadcast_to(codes(found), (count,))
    if not code.any():
        return
    row = int((code > 0).argmax())
    wrong = told(_at(shape, row, count), _at(plans, row, count), REASONS[int(code[row])])
    raise bench.fault((*path, "rows", row), wrong.message, wrong.remedy, RULE)


def _at(record: Any, row: int, count: int) -> Any:
    """Return plans, or dimensions, of one row: arrays as plain numbers."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    return replace(record, **{name: float(np.broadcast_to(value, (count,))[row]) for name, value in arrays.items()})


def modelled(replay: Replay, name: str, seconds: Floats) -> Floats:
    """Return what the model says of a measure, from its seconds of a step."""
    plans, gpus = replay.plans, replay.columns["gpus"]
    if name == "seconds":
        return seconds
    if name == "tokens_s_gpu":
        return np.asarray(plans.batch * replay.shape.sequence / seconds / gpus)
    rate = achieved(step_flops(replay.shape, plans, replay.table.flops), seconds, gpus)
    peaks: dict[Any, Any] = dict(replay.accelerator.peak)
    peak = peaks[plans.precision].value * 1e12
    return np.asarray(rate / 1e12 if name == "tflops" else rate / peak)


def _words(replay: Replay, at: int) -> str:
    def value(field: Any) -> int:
        return int(np.broadcast_to(np.asarray(field), replay.columns["gpus"].shape)[at])

    p, shape = replay.plans, replay.shape
    names = {"tp": p.tensor, "cp": p.context, "ep": p.expert, "pp": p.pipeline, "v": p.chunks, "dp": p.data}
    ways = " ".join(f"{name}{value(field)}" for name, field in names.items() if value(field) > 1) or "one rank"
    found = f"{ways} mb{value(p.micro)} b{value(p.batch)}"
    if replay.table.model is None or "layers" in replay.columns:
        found += f", L{value(shape.layers)} h{value(shape.hidden)}"
    return found


def times(replay: Replay, rates: TrainingRates | None = None) -> tuple[Floats, dict[str, Floats]]:
    """Return the seconds of a step of every row, and its parts.

    Raises:
        UncalibratedError: where nothing is known of training on the accelerator.
    """
    shape = replay.columns["gpus"].shape
    parts = {name: np.broadcast_to(value, shape) for name, value in step_parts(replay.run(rates)).items()}
    return np.asarray(step_time(parts)), parts


def _size(replay: Replay, name: str) -> Floats:
    """Return memory of the fullest stage, or a part of the first one [byte]."""
    if name == "memory_gib":
        return np.asarray(peak_bytes(replay.shape, replay.plans))
    first = footprint(replay.shape, replay.plans, 0)
    if name == "activations_gib":
        return np.asarray(first.activations)
    return np.asarray(first.weights + first.gradients + first.optimizer)


def _kind(replay: Replay) -> str:
    if replay.table.arithmetic:
        return "arithmetic"
    return "fitted" if replay.table.fitted else "predicted"


def _error(name: str, model: float, measured: float) -> float:
    """Return the signed error; of rates that of the time, so that a model too slow is above 0 in every unit."""
    slower = name in TIMES and name != "seconds"
    return signed_error(measured, model, model) if slower else signed_error(model, measured, measured)


def rows_of(replay: Replay, names: tuple[str, ...]) -> list[AccuracyRow]:
    """Return the rows of a table for some of its measures.

    Raises:
        UncalibratedError: where nothing is known of training on the accelerator.
    """
    here = [name for name in names if name in replay.columns]
    rows, table, file = [], replay.table, replay.file
    found: dict[str, Floats] = {}
    longest = [""] * len(table.rows)
    if set(here) & set(TIMES):
        seconds, parts = times(replay)
        found = {name: modelled(replay, name, seconds) for name in here if name in TIMES}
        longest = [PARTS[at] for at in np.stack([parts[name] for name in PARTS]).argmax(axis=0)]
    found |= {name: _size(replay, name) / GIB for name in here if name in SIZES}
    for at in range(len(table.rows)):
        for name in here:
            measured = float(replay.columns[name][at])
            if np.isnan(measured):
                continue
            model = float(np.broadcast_to(found[name], (len(table.rows),))[at])
            rows.append(
                AccuracyRow(
                    file.id, table.id, _words(replay, at), int(replay.columns["gpus"][at]), None, name, measured, None,
                    model, _error(name, model, measured), longest[at] if name in TIMES else "",
                    file.source.status, _kind(replay), table.scored, table.note,
                )
            )  # fmt: skip
    return rows


def replay_training(
    file: TrainingFile, document: Document, catalog: Catalog, names: tuple[str, ...] = TIMES
) -> list[AccuracyRow]:
    """Return every row of a file of training runs.

    Args:
        file: the runs.
        document: the file they come from.
        catalog: the parts.
        names: the measures to replay: `TIMES` or `SIZES`.

    Raises:
        InputError: where a table does not hang together, or nothing was calibrated for its accelerator.
    """
    bench = Bench(catalog, document)
    rows: list[AccuracyRow] = []
    for position, table in enumerate(file.tables):
        path: Path = ("tables", position)
        if set(MEASURES) & set(table.columns) and not set(names) & set(table.columns):
            continue
        replay = prepare(bench, file, table, path)
        try:
            rows += rows_of(replay, names)
        except UncalibratedError as error:
            raise bench.fault(
                (*path, "system"), str(error), "name another accelerator, or fit one: `ffplan calibrate --help`", RULE
            ) from None
    return rows
