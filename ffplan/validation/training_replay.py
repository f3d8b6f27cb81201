"""Measured training runs prepared for replay: cells, plans, machines, and refused values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.formatting import ids_listed
from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.catalog.models import Model, Transformer
from ffplan.node.host import Host
from ffplan.studies.train.diagnosis import explain
from ffplan.studies.train.nearest_accelerator import with_nearest_constants
from ffplan.studies.train.software import Software, software_of, stack_of_source
from ffplan.training.accelerator_rates import UncalibratedError
from ffplan.training.axes import NUMBERS, ParallelPlans
from ffplan.training.constraints import COUNTED, REASONS, reason_codes, violations
from ffplan.training.data_parallel import DRIVES_REMEDY, NO_DRIVES
from ffplan.training.exchange import dispatcher_fault, sms_fault
from ffplan.training.group_collectives import Cluster
from ffplan.training.mfu import achieved, step_flops
from ffplan.training.model_flops import shape_of
from ffplan.training.parallel_plan import parallel_plans
from ffplan.training.train_run import TrainRun
from ffplan.validation.cases import MEASURES, PLAN, SHAPE, TIMES, Table, TrainingFile
from ffplan.validation.measured_system import CaseParts, Path

if TYPE_CHECKING:
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.rates import TrainingRates
    from ffplan.catalog.stacks import StackRates
    from ffplan.design.training import PlanFields
    from ffplan.validation.cases import System

RULE = "training-cases"


@record
class TrainingReplay:
    """A prepared table: measured values, and the inputs of the model."""

    file: TrainingFile
    table: Table
    path: Path
    columns: Mapping[str, Floats]
    """Every column by name; NaN if a cell is null."""
    host: Host
    shape: Transformer
    plans: ParallelPlans
    system: Cluster
    software: Software
    relative: str | None = None
    """Calibrated accelerator that lends its efficiencies; None if none is needed or allowed."""

    @property
    def accelerator(self) -> Accelerator:
        """The accelerator that it ran on."""
        assert self.host.accelerator is not None
        return self.host.accelerator

    def run(self, rates: TrainingRates | None = None, stack: StackRates | None = None) -> TrainRun:
        """Return the runs to time.

        Args:
            rates: training rates, in place of the rates of the catalogue.
            stack: constants of the stack on this accelerator, in place of the catalogue's.

        Raises:
            UncalibratedError: for an accelerator without training constants.
        """
        accelerator = self.accelerator
        if rates is not None:
            accelerator = accelerator.model_copy(update={"training": rates})
        software = self.software
        if stack is not None and software.stack is not None and accelerator.training is not None:
            constants = {**software.stack.constants, accelerator.training.set: stack}
            changed = software.stack.model_copy(update={"constants": constants})
            software = replace(software, stack=changed)
        return TrainRun(self.shape, self.plans, software.rates(accelerator, self.table.plan), self.system)


def _transformer(bench: CaseParts, table: Table, path: Path) -> Transformer:
    """Return the model's dimensions."""
    if (table.model is None) == (table.shape is None):
        what = "neither `model` nor `shape` is given" if table.model is None else "both `model` and `shape` are given"
        raise bench.fault(path, what, "write one of the two", RULE)
    if table.shape is not None:
        return table.shape
    assert table.model is not None
    transformer = bench.catalog.get(Model, table.model, bench.document, (*path, "model")).transformer
    if transformer is None:
        raise bench.fault((*path, "model"), f"`{table.model}` is not a transformer", "name a transformer", RULE)
    return transformer


def _cell_fault(name: str, cell: float | None) -> tuple[str, str] | None:
    """Return the fault of a cell of a column, and a remedy."""
    if name not in MEASURES:
        whole = cell is not None and cell == int(cell) and (cell >= 1 or name == "zero")
        return None if whole else (f"`{name}` is not a whole number from 1 on", "correct the cell")
    if cell is None:
        return None
    if cell <= 0:
        return f"`{name}` is not above 0", "write the measured value, or null"
    if name == "mfu" and cell > 1:
        return (
            f"`mfu` is {cell:g}, more than the peak",
            f"write a share of the peak, such as {cell / 100:g} for {cell:g} %",
        )
    return None


def check_columns(bench: CaseParts, table: Table, path: Path) -> None:
    """Refuse columns that are listed twice, or lack one that every run needs."""
    needed = ["gpus"] + (["batch"] if table.plan.batch is None else [])
    measured = any(name in table.columns for name in MEASURES)
    twice = sorted({name for name in table.columns if table.columns.count(name) > 1})
    whats = [f"the column `{name}` is missing" for name in needed if name not in table.columns]
    whats += [] if measured else ["no column was measured"]
    whats += [f"the column `{name}` is listed twice" for name in twice]
    if whats:
        raise bench.fault(
            (*path, "columns"),
            "; ".join(whats),
            f"write gpus, batch (or `batch` in `plan`) and one of {', '.join(MEASURES)}, each once",
            RULE,
        )


def _cells(bench: CaseParts, table: Table, path: Path) -> dict[str, Floats]:
    """Return every column as an array."""
    check_columns(bench, table, path)
    for number, row in enumerate(table.rows):
        if len(row) != len(table.columns):
            raise bench.fault(
                (*path, "rows", number),
                f"{len(row)} value(s) for {len(table.columns)} columns",
                f"write {len(table.columns)} values",
                RULE,
            )
        for column, (name, cell) in enumerate(zip(table.columns, row, strict=True)):
            wrong = _cell_fault(name, cell)
            if wrong is not None:
                raise bench.fault((*path, "rows", number, column), *wrong, RULE)
    values = np.array([[np.nan if cell is None else cell for cell in row] for row in table.rows], dtype=float)
    return {name: values[:, column] for column, name in enumerate(table.columns)}


def _machine(bench: CaseParts, system: System, host: Host, plan: PlanFields) -> Cluster:
    name = plan.reducer or "nccl"
    library = bench.catalog.get(Library, "nccl", bench.document, ())
    reducer = bench.catalog.get(Library, name.removesuffix("-nvlink"), bench.document, ())
    return Cluster(
        host=host,
        library=library,
        reducer=reducer,
        dispatcher=bench.catalog.get(Library, "deepep", bench.document, ()),
        crossed=bench.crossed(system, host),
        nvlink=name == "hfreduce-nvlink",
    )


def prepare_replay(
    bench: CaseParts, file: TrainingFile, table: Table, path: Path, *, estimate: bool = False
) -> TrainingReplay:
    """Return a table made ready.

    Raises:
        InputError: for a table that contradicts itself.
    """
    cells = _cells(bench, table, path)
    if table.system.gpus_per_node is not None:
        raise bench.fault(
            (*path, "system", "gpus_per_node"),
            "`gpus_per_node` has no effect on training runs, which fill nodes",
            "leave it out",
            RULE,
        )
    model = _transformer(bench, table, path)
    host = bench.host(table.system, (*path, "system"))
    if host.accelerator is None:
        raise bench.fault((*path, "system", "server"), f"`{host.id}` has no accelerators", "name another server", RULE)
    relative = None
    if estimate:
        part, relative = with_nearest_constants(host.accelerator, bench.catalog)
        host = replace(host, accelerator=part)
    assert host.accelerator is not None
    replaced = {name: cells[name] for name in SHAPE if name in cells}
    if table.plan.sequence is not None:
        replaced.setdefault("sequence", np.asarray(float(table.plan.sequence)))
    shape = shape_of(model, **replaced)
    named = table.plan.stack or stack_of_source(bench.catalog, file.source.title)
    where, usual = (*path, "plan", "stack"), relative is None
    software = software_of(bench.catalog, host.accelerator, named, bench.document, where, usual=usual)
    plan = software.as_benchmarked(table.plan, experts=shape.experts is not None)
    table = table.model_copy(update={"plan": plan})
    plans = parallel_plans(table.plan, cells["gpus"], {name: cells[name] for name in PLAN if name in cells})
    _checked(bench, shape, plans, path, len(table.rows))
    if plans.on_drives and (host.drives is None or host.drives.gbyte_s is None):
        raise bench.fault((*path, "plan", "offload_to"), NO_DRIVES.format(host.id), DRIVES_REMEDY, RULE)
    _check_kernel(bench, software, host.accelerator, table.plan, path)
    replay = TrainingReplay(
        file=file,
        table=table,
        path=path,
        columns=cells,
        host=host,
        shape=shape,
        plans=plans,
        system=software.machine(_machine(bench, table.system, host, table.plan)),
        software=software,
        relative=relative,
    )
    _check_times(bench, replay)
    _check_dispatcher(bench, replay)
    return replay


def modelled_measure(replay: TrainingReplay, name: str, seconds: Floats) -> Floats:
    """Return the modelled value of a measure, from its seconds of a step."""
    plans, gpus = replay.plans, replay.columns["gpus"]
    if name == "seconds":
        return seconds
    if name == "tokens_s_gpu":
        return np.asarray(plans.batch * replay.shape.sequence / seconds / gpus)
    rate = achieved(step_flops(replay.shape, plans, replay.table.flops), seconds, gpus)
    peaks: dict[Any, Any] = dict(replay.accelerator.peak)
    peak = peaks[plans.precision].value * 1e12
    return np.asarray(rate / 1e12 if name == "tflops" else rate / peak)


CONTRADICTION = 0.1
"""Share by which the times of a row may differ, each from another column [1]: operations are counted in many ways."""


def _check_times(bench: CaseParts, replay: TrainingReplay) -> None:
    """Refuse a row whose measured columns say different times of a step."""
    names = [name for name in TIMES if name in replay.columns]
    if len(names) < 2:
        return
    one = np.ones(len(replay.table.rows))
    said = {
        name: replay.columns[name] if name == "seconds" else modelled_measure(replay, name, one) / replay.columns[name]
        for name in names
    }
    for row in range(len(one)):
        times = {name: float(column[row]) for name, column in said.items() if not np.isnan(column[row])}
        if not times or max(times.values()) <= (1 + CONTRADICTION) * min(times.values()):
            continue
        low, high = min(times, key=times.__getitem__), max(times, key=times.__getitem__)
        raise bench.fault(
            (*replay.path, "rows", row),
            f"`{high}` says {times[high]:.4g} s a step and `{low}` {times[low]:.4g} s: they differ by "
            f"{times[high] / times[low] - 1:.0%}, more than {CONTRADICTION:.0%}",
            "correct one, say with `flops` which operations count, or write null",
            RULE,
        )


def assumed_stacks(replays: Sequence[TrainingReplay]) -> tuple[str, ...]:
    """Return the software that runs without a stack are replayed with, and their files, a sentence each."""
    files: dict[str, list[str]] = {}
    for replay in replays:
        if not replay.software.named and replay.software.stack is not None:
            files.setdefault(replay.software.stack.id, []).append(replay.file.id)
    return tuple(
        f"Runs of {ids_listed(dict.fromkeys(names))} name no `stack` in their plan; they are replayed under `{stack}`, "
        f"as most published runs on the accelerator: `train --stack {stack}` predicts the same."
        for stack, names in files.items()
    )


def _check_dispatcher(bench: CaseParts, replay: TrainingReplay) -> None:
    """Refuse a dispatcher that the node cannot run, or multiprocessors without effect."""
    try:
        run, plan = replay.run(), (*replay.path, "plan")
    except UncalibratedError:  # said where the runs are timed
        return
    if fault := dispatcher_fault(run):
        raise bench.fault((*plan, "dispatcher"), fault, "write alltoall", RULE)
    if fault := sms_fault(run):
        raise bench.fault((*plan, "dispatch_sms"), fault, "leave it out", RULE)


def _check_kernel(bench: CaseParts, software: Software, part: Accelerator, plan: PlanFields, path: Path) -> None:
    """Refuse an attention kernel that was not measured on the accelerator."""
    if not plan.attention_kernel or part.training is None:
        return
    try:
        software.rates(part, plan)
    except UncalibratedError as error:
        raise bench.fault((*path, "plan", "attention"), str(error), error.remedy, RULE) from None


BELIEVED = ("widths", "rounds", "context", "schedule", "chunks")
"""Faults that runs which ran may have: frameworks pad and round."""


def _checked(bench: CaseParts, shape: Transformer, plans: ParallelPlans, path: Path, count: int) -> None:
    """Refuse a row that the model cannot compute; all other rows are believed."""
    faults = {name: broken for name, broken in violations(shape, plans, None).items() if name not in BELIEVED}
    alone = (np.asarray(plans.chunks) > 1) & (np.asarray(plans.pipeline) == 1)
    faults["chunks"] = alone | (plans.pipeline * plans.chunks > shape.layers + plans.mtp_layers + COUNTED)
    faults["batch"] = plans.micro_batches < 1  # the last of them may be smaller
    copied = (shape.heads % plans.tensor == 0) & (plans.tensor % shape.key_value_heads == 0) & (not plans.by_heads)
    faults["heads"] = faults["heads"] & ~np.asarray(copied)  # ranks may hold copies of keys and values
    code = np.broadcast_to(reason_codes(faults), (count,))
    if not code.any():
        return
    row = int((code > 0).argmax())
    one_shape = shape.model_copy(update=_at(vars(shape), row, count))
    one_plan = replace(plans, **_at({name: getattr(plans, name) for name in NUMBERS}, row, count))
    wrong = explain(one_shape, one_plan, REASONS[int(code[row])])
    raise bench.fault((*path, "rows", row), wrong.message, wrong.remedy, RULE)


def _at(values: dict[str, Any], row: int, count: int) -> dict[str, Any]:
    """Return the arrays among values as the plain numbers of one row."""
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    return {name: float(np.broadcast_to(value, (count,))[row]) for name, value in arrays.items()}
