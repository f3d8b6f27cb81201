"""`ffplan train`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ffplan.cli.common import CatalogOption, DesignArgument, FormatOption, OutputOption, ReportFormat
from ffplan.cli.lists import MOST, series
from ffplan.cli.wired import emit, parsed, part_of, resolved_design
from ffplan.errors import EXIT_FINDINGS, UsageError

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.training import PlanFields
    from ffplan.perf.training import Asked
    from ffplan.trainings import TrainReport

MOST_ROWS = 200
"""Most rows of a table."""

RecomputeOption = Annotated[str | None, typer.Option("--recompute", metavar="WHAT", help="none, selective or full.")]
PrecisionOption = Annotated[str | None, typer.Option("--precision", metavar="NAME", help="bf16, fp16, fp8 or tf32.")]
ScheduleOption = Annotated[
    str | None,
    typer.Option("--schedule", metavar="NAME", help="1f1b, zb-h1, zb-2p, zb-v, v-half, v-min or dualpipe."),
]
ReducerOption = Annotated[
    str | None,
    typer.Option(
        "--reducer", metavar="NAME",
        help="Library that reduces gradients: nccl, hfreduce or hfreduce-nvlink; the design's first if omitted.",
    ),
]  # fmt: skip


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
    fields = {name: getattr(base, name) for name in PlanFields.model_fields}
    try:
        return PlanFields.model_validate({**fields, **given})
    except ValidationError as error:
        raise UsageError(f"ffplan train: {_words(error)}") from None


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
    from ffplan.perf.speeds import UncalibratedError
    from ffplan.perf.training import RefusedError, search, train

    design, parts = resolved_design(file, catalog)
    wanted: Asked = asked(design, parts)
    try:
        return train(design, parts, wanted) if top is None else search(design, parts, wanted, top)
    except UncalibratedError as error:
        raise UsageError(f"ffplan train: {error}; fit it on runs of your own: `ffplan calibrate --help`") from None
    except RefusedError as error:
        if not error.infeasible:
            raise UsageError(f"ffplan train: {error}") from None
        typer.echo(f"ffplan train: {error}", err=True)
        raise typer.Exit(EXIT_FINDINGS) from None


def train(
    file: DesignArgument,
    model: Annotated[str, typer.Option("--model", "-m", metavar="ID", help="Model of the catalogue.")],
    plan: Annotated[str | None, typer.Option("--plan", metavar="FILE", help="File with a training plan; options take "
        "precedence over it.")] = None,
    gpus: Annotated[str | None, typer.Option("--gpus", "-g", metavar="NUMBERS", help="Accelerators, such as 64,128 or "
        "64..512 (doubling); all that one job can span if omitted.")] = None,
    tp: Annotated[int | None, typer.Option("--tp", min=1, max=MOST, help="Ways of tensor parallelism.")] = None,
    pp: Annotated[int | None, typer.Option("--pp", min=1, max=MOST, help="Pipeline stages.")] = None,
    dp: Annotated[int | None, typer.Option("--dp", min=1, max=MOST, help=
        "Data-parallel ranks; what the other axes leave if omitted.")] = None,
    cp: Annotated[int | None, typer.Option("--cp", min=1, max=MOST, help="Ways of context parallelism.")] = None,
    ep: Annotated[int | None, typer.Option("--ep", min=1, max=MOST, help="Ways of expert parallelism.")] = None,
    chunks: Annotated[int | None, typer.Option("--chunks", min=1, max=MOST, help=
        "Chunks of a stage, for interleaved 1F1B.")] = None,
    micro_batch: Annotated[int | None, typer.Option("--micro-batch", min=1, max=MOST, help=
        "Sequences of a micro-batch.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", min=1, max=MOST, help=
        "Sequences of a step over all ranks.")] = None,
    sequence: Annotated[int | None, typer.Option("--sequence", min=1, max=MOST, help=
        "Length of a sequence; the model's usual one if omitted.")] = None,
    zero: Annotated[int | None, typer.Option("--zero", min=0, max=3, help="ZeRO stage; 3 is FSDP.")] = None,
    recompute: RecomputeOption = None,
    precision: PrecisionOption = None,
    schedule: ScheduleOption = None,
    reducer: ReducerOption = None,
    search: Annotated[bool, typer.Option("--search", help="Find the best plans; what is given stays fixed.")] = False,
    top: Annotated[int, typer.Option("--top", min=1, max=MOST_ROWS, help="Plans that a search shows.")] = 5,
    memory: Annotated[str | None, typer.Option("--memory", metavar="SIZE", help="Device memory, such as 76GiB; the "
        "accelerator's less 2 GiB if omitted.")] = None,
    chart: Annotated[bool, typer.Option("--chart", help="Add a chart of tokens a second.")] = False,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:  # fmt: skip
    """Train a model on a design: seconds a step, where they go, memory, what binds; or search the best plan.

    Exit code 1 where a plan does not fit the machine.
    """
    from ffplan.catalog.models import Model
    from ffplan.inputs.quantities import DATA, parse_quantity
    from ffplan.perf.machine import most_gpus
    from ffplan.perf.training import Asked
    from ffplan.report.train import train_blocks, train_head

    options = {
        "tensor": tp, "pipeline": pp, "data": dp, "context": cp, "expert": ep, "chunks": chunks,
        "micro_batch": micro_batch, "batch": batch, "sequence": sequence, "zero": zero, "recompute": recompute,
        "precision": precision, "schedule": schedule, "reducer": reducer,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    wanted = _plan(plan, given)
    limit = parsed(lambda: parse_quantity(memory, DATA), "--memory") if memory else None
    numbers = tuple(int(n) for n in series(gpus, "ffplan train: --gpus", sizes=False)) if gpus else None
    if search and numbers is not None and len(numbers) > 1:
        raise UsageError("ffplan train: --search takes one number of accelerators")
    if len(numbers or ()) > MOST_ROWS:
        raise UsageError(f"ffplan train: --gpus: more than {MOST_ROWS} numbers")

    def asked(design: Any, parts: Catalog) -> Asked:
        part = part_of(parts, Model, model, "ffplan train: --model")
        fixed = frozenset(given) | (wanted.model_fields_set if plan else frozenset())
        return Asked(part, wanted, numbers or (most_gpus(design),), limit, fixed)

    report = _report(file, catalog, asked, top if search else None)
    emit(report, list(report.rows), train_head(report), lambda: train_blocks(report, chart=chart), form, output)
