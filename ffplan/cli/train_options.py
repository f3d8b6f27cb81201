"""The options of `ffplan train`, and training plans between files, options and rows of a report."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.loading import MOST
from ffplan.cli.options import _part_option
from ffplan.training.axes import AXES

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.launch.read import LaunchSize
    from ffplan.design.training import PlanFields
    from ffplan.inputs.document import Document
    from ffplan.results.run import PlanRow
    from ffplan.training.axes import Axis

MOST_ROWS = 200
"""Most rows of a table."""
TOP = 5
"""Plans shown by a search."""

ModelOption = Annotated[
    str | None,
    _part_option(
        "model",
        "A model's id, or its file: config.json of Hugging Face, arguments of Megatron-LM; without it, the job of "
        "the design's `workload`, with its plan or the fastest.",
        "--model",
        "-m",
    ),
]
PlanOption = Annotated[
    str | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="File with a training plan, arguments of Megatron-LM, NeMo, torchtitan or DeepSpeed, or the name of a "
        "shipped plan; options take precedence over it.",
    ),
]
GpusOption = Annotated[
    list[str] | None,
    typer.Option(
        "--gpus",
        "-g",
        metavar="NUMBERS",
        help="Accelerators, such as 64,128 or 64..512 (doubling); all that one job can span if omitted.",
    ),
]
SpOption = Annotated[
    bool | None,
    typer.Option(
        "--sp/--no-sp",
        help="Sequence parallelism, together with tensor parallelism; on if omitted.",
    ),
]
BatchOption = Annotated[
    int | None,
    typer.Option(
        "--batch",
        min=1,
        max=MOST,
        help="Sequences of a step over all ranks.",
    ),
]
SequenceOption = Annotated[
    int | None,
    typer.Option(
        "--sequence",
        min=1,
        max=MOST,
        help="Length of a sequence; the model's usual one if omitted.",
    ),
]
ZeroOption = Annotated[int | None, typer.Option("--zero", min=0, max=3, help="ZeRO stage; 3 is FSDP.")]
RecomputeOption = Annotated[
    str | None,
    typer.Option("--recompute", metavar="WHAT", help="none, selective, full, keep-qkv, keep-products or every-second."),
]
StackOption = Annotated[
    str | None, _part_option("stack", "Software stack; what published stacks have in common if omitted.", "--stack")
]
AttentionOption = Annotated[
    str | None,
    typer.Option(
        "--attention",
        metavar="KERNEL",
        help="fused, unfused, fa1, triton, fa2, fa3, cudnn or cudnn-9.19; fused if omitted.",
    ),
]
PrecisionOption = Annotated[str | None, typer.Option("--precision", metavar="NAME", help="bf16, fp16, fp8 or tf32.")]
ScheduleOption = Annotated[
    str | None,
    typer.Option(
        "--schedule",
        metavar="NAME",
        help="1f1b, zb-h1, zb-2p, zb-v, v-half, v-min or dualpipe.",
    ),
]
ReducerOption = Annotated[
    str | None,
    typer.Option(
        "--reducer",
        metavar="NAME",
        help="Library that reduces gradients: nccl, hfreduce or hfreduce-nvlink; the design's first if omitted.",
    ),
]
OverlapOption = Annotated[
    str | None,
    typer.Option(
        "--overlap",
        metavar="NAMES",
        help="Collectives overlapped with computing: gradients, parameters, tensor, pipeline, experts, with commas, or "
        "none; gradients and parameters if omitted.",
    ),
]
PresetOption = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Settings of a framework: megatron-core, nemo, deepspeed, fsdp or deepseek; options given override them.",
    ),
]
GradDtypeOption = Annotated[
    str | None,
    typer.Option(
        "--grad-dtype",
        metavar="NAME",
        help="Precision of gradients as kept: fp32 or bf16; the stack's recipes decide if omitted, else fp32.",
    ),
]
OptimizerDtypeOption = Annotated[
    str | None,
    typer.Option("--optimizer-dtype", metavar="NAME", help="Precision of Adam's moments: fp32 or bf16."),
]
MainParamsOption = Annotated[
    str | None,
    typer.Option(
        "--main-params",
        metavar="NAME",
        help="Precision of the optimizer's parameter copy: fp32, bf16, or none if it updates the parameters in "
        "place; fp32 if omitted.",
    ),
]
GradReduceDtypeOption = Annotated[
    str | None,
    typer.Option(
        "--grad-reduce-dtype",
        metavar="NAME",
        help="Precision of gradients as reduced: fp32 or bf16; as kept if omitted.",
    ),
]
SearchOption = Annotated[bool, typer.Option("--search", help="Find the best plans; options given stay fixed.")]
TopOption = Annotated[
    int | None, typer.Option("--top", min=1, max=MOST_ROWS, help=f"Plans that a search shows; {TOP} if omitted.")
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Device memory, such as 76GiB; the accelerator's less 2 GiB if omitted.",
    ),
]
SaveOption = Annotated[
    str | None,
    typer.Option(
        "--save",
        metavar="FILE",
        help="Write the first plan into this file, for --plan.",
    ),
]
ChartOption = Annotated[bool, typer.Option("--chart", help="Add a chart of tokens a second.")]


def _with_axes(command: Callable[..., None]) -> Callable[..., None]:
    plain = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(
            _option_name(axis),
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[int | None, typer.Option(axis.option, min=1, max=MOST, help=axis.help)],
        )
        for axis in AXES
    ]
    before: list[inspect.Parameter] = []
    after: list[inspect.Parameter] = []
    for parameter in plain.parameters.values():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            (after if parameter.kind is inspect.Parameter.KEYWORD_ONLY else before).append(parameter)
    command.__signature__ = plain.replace(parameters=[*before, *options, *after])  # type: ignore[attr-defined]
    return command


def _option_name(axis: Axis) -> str:
    return axis.option.removeprefix("--").replace("-", "_")


WIDTHS = {4: "fp32", 2: "bf16"}
"""Precision of a gradient by its bytes."""


def _overlap_names(text: str | None) -> tuple[str, ...] | None:
    """Split names separated by commas; `none` gives no names."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if "none" in names and len(names) > 1:
        raise UsageError("ffplan train: --overlap: `none` stands alone")
    return tuple(name for name in names if name not in ("", "none"))


def _told_plan(
    file: str | None, options: dict[str, Any], command: str, job: LaunchSize | None = None
) -> tuple[Document | None, PlanFields]:
    """Return the plan that options override, and its file; say what was assumed of another program's arguments."""
    from ffplan.design.plan_file import plan_document, plan_of

    document, remarks = plan_document(file, job)
    for remark in remarks:
        print(f"ffplan {command}: plan: {remark}", file=sys.stderr)
    return document, plan_of(document, options)


def _plan_text(base: PlanFields, plan: PlanRow) -> str:
    """Return a plan as file text: requested fields with the row's values, without data-parallel ranks."""
    from ffplan.design.training import LEAST_ZERO

    sizes = (axis.field for axis in AXES if axis.values is not None)
    names = (
        *sizes,
        "batch",
        "sequence",
        "sequence_parallel",
        "zero",
        "unit_layers",
        "recompute",
        "overlap",
        "reducer",
        "offload",
    )
    values = {name: getattr(base, name) for name in type(base).model_fields} | {n: getattr(plan, n) for n in names}
    del values["preset"]
    for name, size in (("grad_dtype", plan.gradient_bytes), ("grad_reduce_dtype", plan.reduced_bytes)):
        values[name] = WIDTHS[size]
    if plan.optimizer_bytes < base.optimizer_bytes:
        values["optimizer_dtype"] = "bf16"
    values = {name: value for name, value in values.items() if plan.zero >= LEAST_ZERO.get(name, 0)}
    values["sequence_parallel"] = plan.sequence_parallel or plan.tensor == 1
    if plan.sequence == 1:  # images
        kept = ("micro_batch", "precision", "grad_dtype", "grad_reduce_dtype", "overlap", "bucket_mib", "reducer")
        values = {name: values[name] for name in kept} | {"batch": base.batch}
    else:
        del values["bucket_mib"], values["gradient_bytes"]
    lines = ["kind: training-plan"]
    for name, value in values.items():
        if value is None or name == "kind":
            continue
        text = f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value).lower()
        lines.append(f"{name}: {text}")
    return "\n".join(lines) + "\n"
