"""`ffplan train`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.common import (
    CatalogOption,
    DesignArgument,
    FormatOption,
    OutputOption,
    ReportFormat,
    refuse_target,
    write,
)
from ffplan.cli.lists import series
from ffplan.cli.train_options import (
    MOST_ROWS,
    TOP,
    BatchOption,
    ChartOption,
    ChunksOption,
    CpOption,
    DpOption,
    EpOption,
    EtpOption,
    GpusOption,
    MemoryOption,
    MicroBatchOption,
    ModelOption,
    OverlapOption,
    PlanOption,
    PpOption,
    PrecisionOption,
    RecomputeOption,
    ReducerOption,
    SaveOption,
    ScheduleOption,
    SearchOption,
    SequenceOption,
    SpOption,
    TopOption,
    TpOption,
    ZeroOption,
)
from ffplan.cli.wired import emit, parsed, part_of, resolved_design

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.training import PlanFields
    from ffplan.results.training import PlanRow, TrainReport, TrainRow
    from ffplan.studies.train_setup import Asked


def _plan(file: str | None, given: dict[str, Any]) -> PlanFields:
    """Return the plan of a file, or the default one, with what the command line gives in its place.

    Raises:
        UsageError: where the two do not go together.
    """
    from pathlib import Path

    from pydantic_core import ValidationError

    from ffplan.design.training import PlanFields, PlanFile
    from ffplan.inputs.document import read_document
    from ffplan.inputs.validate import validate

    base = PlanFields()
    if file is not None:
        base = validate(PlanFile, read_document(Path(file), file))
    fields = {name: getattr(base, name) for name in base.model_fields_set if name != "kind"}
    try:
        return PlanFields.model_validate({**fields, **given})
    except ValidationError as error:
        raise UsageError(f"ffplan train: {_words(error)}") from None


def _names(text: str | None) -> tuple[str, ...] | None:
    """Return names given with commas between; none of them for `none`.

    Raises:
        UsageError: where `none` is one of several.
    """
    if text is None:
        return None
    given = [name.strip() for name in text.split(",")]
    if "none" in given and len(given) > 1:
        raise UsageError("ffplan train: --overlap: `none` stands alone")
    return tuple(name for name in given if name not in ("", "none"))


def plan_text(base: PlanFields, plan: PlanRow) -> str:
    """Return a plan as a file: what was asked for, with what the row has of it, but ranks of data parallelism."""
    from ffplan.design.training import LEAST_ZERO

    names = (
        "tensor", "pipeline", "chunks", "context", "expert", "expert_tensor", "micro_batch", "batch", "sequence",
        "sequence_parallel", "zero", "recompute", "reducer",
    )  # fmt: skip
    values = {name: getattr(base, name) for name in type(base).model_fields} | {n: getattr(plan, n) for n in names}
    values = {name: value for name, value in values.items() if plan.zero >= LEAST_ZERO.get(name, 0)}
    values["sequence_parallel"] = plan.sequence_parallel or plan.tensor == 1
    if plan.sequence == 1:  # images
        kept = ("micro_batch", "precision", "gradient_bytes", "overlap", "bucket_mib", "reducer")
        values = {name: values[name] for name in kept} | {"batch": base.batch}
    else:
        del values["bucket_mib"]
    lines = ["kind: training-plan"]
    for name, value in values.items():
        if value is None or name == "kind":
            continue
        text = f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value).lower()
        lines.append(f"{name}: {text}")
    return "\n".join(lines) + "\n"


def _words(error: Any) -> str:
    first = error.errors()[0]
    context = first.get("ctx") or {}
    if "message" in context:
        return f"{context['message']}; {context['remedy']}"
    name = "--" + "-".join(str(part) for part in first["loc"][:1]).replace("_", "-")
    return f"{name}: {first['input']!r}: {first['msg'][:1].lower()}{first['msg'][1:]}"


def _report(file: str, catalog: list[str] | None, asked: Any, top: int | None) -> TrainReport:
    """Return the report.

    Raises:
        UsageError: where the plan is none.
    """
    from ffplan.studies.diagnosis import RefusedError
    from ffplan.studies.plan_search import search
    from ffplan.studies.train import train
    from ffplan.training.accelerator_rates import UncalibratedError

    design, parts = resolved_design(file, catalog)
    wanted: Asked = asked(design, parts)
    try:
        return train(design, parts, wanted) if top is None else search(design, parts, wanted, top)
    except UncalibratedError as error:
        raise UsageError(f"ffplan train: {error}; {error.remedy}") from None
    except RefusedError as error:
        if not error.infeasible:
            raise UsageError(f"ffplan train: {error}") from None
        typer.echo(f"ffplan train: {error}", err=True)
        raise typer.Exit(EXIT_FINDINGS) from None


def _numbers(gpus: str | None, *, search: bool) -> tuple[int, ...] | None:
    """Return the numbers of accelerators asked for.

    Raises:
        UsageError: where they are none, or too many.
    """
    if gpus is None:
        return None
    numbers = tuple(int(number) for number in series(gpus, "ffplan train: --gpus", sizes=False))
    if search and len(numbers) > 1:
        raise UsageError("ffplan train: --search takes one number of accelerators")
    if len(numbers) > MOST_ROWS:
        raise UsageError(f"ffplan train: --gpus: more than {MOST_ROWS} numbers")
    return numbers


def _say(report: TrainReport, form: ReportFormat, output: str | None, *, chart: bool) -> None:
    from ffplan.report.train import train_blocks, train_head, train_rows_flat

    rows: list[Any] = train_rows_flat(report) if form is ReportFormat.CSV else []
    emit(report, rows, train_head(report), lambda: train_blocks(report, chart=chart), form, output)


def _save(wanted: PlanFields, row: TrainRow, save: str) -> None:
    """Write the plan of a row into a file, and say on how many accelerators it runs where some are left idle."""
    write(plan_text(wanted, row.plan), save, option="--save")
    if row.idle:
        typer.echo(f"ffplan train: {save} leaves {row.idle:,} idle: run it with --gpus {row.plan.gpus}", err=True)


def train(
    file: DesignArgument,
    model: ModelOption,
    plan: PlanOption = None,
    gpus: GpusOption = None,
    tp: TpOption = None,
    pp: PpOption = None,
    dp: DpOption = None,
    cp: CpOption = None,
    ep: EpOption = None,
    etp: EtpOption = None,
    sp: SpOption = None,
    chunks: ChunksOption = None,
    micro_batch: MicroBatchOption = None,
    batch: BatchOption = None,
    sequence: SequenceOption = None,
    zero: ZeroOption = None,
    recompute: RecomputeOption = None,
    precision: PrecisionOption = None,
    schedule: ScheduleOption = None,
    reducer: ReducerOption = None,
    overlap: OverlapOption = None,
    search: SearchOption = False,
    top: TopOption = None,
    memory: MemoryOption = None,
    save: SaveOption = None,
    chart: ChartOption = False,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:  # fmt: skip
    """Train a model on a design: seconds a step, where they go, memory, what binds; or search the best plan.

    Exit code 1 where a plan does not fit the machine, or runs on some of the numbers of accelerators only.
    """
    from ffplan.catalog.models import Model
    from ffplan.inputs.quantities import DATA, parse_quantity
    from ffplan.studies.cluster import most_gpus
    from ffplan.studies.train_setup import Asked

    options = {
        "tensor": tp, "pipeline": pp, "data": dp, "context": cp, "expert": ep, "chunks": chunks,
        "micro_batch": micro_batch, "batch": batch, "sequence": sequence, "zero": zero, "recompute": recompute,
        "precision": precision, "schedule": schedule, "reducer": reducer, "expert_tensor": etp, "sequence_parallel": sp,
        "overlap": _names(overlap),
    }  # fmt: skip
    if save is not None:
        refuse_target(save, "--save")
    if top is not None and not search:
        raise UsageError("ffplan train: --top has no effect without --search")
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    wanted = _plan(plan, given)
    limit = parsed(lambda: parse_quantity(memory, DATA), "--memory") if memory else None
    numbers = _numbers(gpus, search=search)

    def asked(design: Any, parts: Catalog) -> Asked:
        part = part_of(parts, Model, model, "ffplan train: --model")
        return Asked(part, wanted, numbers or (most_gpus(design),), limit, frozenset(wanted.model_fields_set))

    report = _report(file, catalog, asked, (top or TOP) if search else None)
    _say(report, form, output, chart=chart)
    if save is not None:
        _save(wanted, report.rows[0], save)
    if report.skipped:
        raise typer.Exit(EXIT_FINDINGS)
