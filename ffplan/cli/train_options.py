"""The options of `ffplan train`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.cli.lists import MOST

MOST_ROWS = 200
"""Most rows of a table."""
TOP = 5
"""Plans that a search shows."""

ModelOption = Annotated[str, typer.Option("--model", "-m", metavar="ID", help="Model of the catalogue.")]
PlanOption = Annotated[
    str | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="File with a training plan; options take precedence over it.",
    ),
]
GpusOption = Annotated[
    str | None,
    typer.Option(
        "--gpus",
        "-g",
        metavar="NUMBERS",
        help="Accelerators, such as 64,128 or 64..512 (doubling); all that one job can span if omitted.",
    ),
]
TpOption = Annotated[int | None, typer.Option("--tp", min=1, max=MOST, help="Ways of tensor parallelism.")]
PpOption = Annotated[int | None, typer.Option("--pp", min=1, max=MOST, help="Pipeline stages.")]
DpOption = Annotated[
    int | None,
    typer.Option(
        "--dp",
        min=1,
        max=MOST,
        help="Data-parallel ranks; what the other axes leave if omitted.",
    ),
]
CpOption = Annotated[int | None, typer.Option("--cp", min=1, max=MOST, help="Ways of context parallelism.")]
EpOption = Annotated[int | None, typer.Option("--ep", min=1, max=MOST, help="Ways of expert parallelism.")]
EtpOption = Annotated[
    int | None,
    typer.Option(
        "--etp",
        min=1,
        max=MOST,
        help="Ways of tensor parallelism within experts; those of --tp if omitted.",
    ),
]
SpOption = Annotated[
    bool | None,
    typer.Option(
        "--sp/--no-sp",
        help="Sequence parallelism beside tensor parallelism; on if omitted.",
    ),
]
ChunksOption = Annotated[
    int | None,
    typer.Option(
        "--chunks",
        min=1,
        max=MOST,
        help="Chunks of a stage, for interleaved 1F1B.",
    ),
]
MicroBatchOption = Annotated[
    int | None,
    typer.Option(
        "--micro-batch",
        min=1,
        max=MOST,
        help="Sequences of a micro-batch.",
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
RecomputeOption = Annotated[str | None, typer.Option("--recompute", metavar="WHAT", help="none, selective or full.")]
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
        help="What runs beside the computing: gradients, parameters, tensor, pipeline, experts, with commas, or "
        "none; gradients and parameters if omitted.",
    ),
]
SearchOption = Annotated[bool, typer.Option("--search", help="Find the best plans; what is given stays fixed.")]
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
