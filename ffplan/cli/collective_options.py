"""The options of `ffplan collective`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.cli.series import MOST

SizesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        "-s",
        metavar="SIZES",
        help="Messages, such as 186MiB, or 1MiB,1GiB, or 4MiB..4GiB (doubling); the design's if omitted.",
    ),
]
GpusOption = Annotated[
    list[str] | None,
    typer.Option(
        "--gpus", "-g", metavar="NUMBERS", help="Ranks, such as 16,32 or 16..1024 (doubling); all if omitted."
    ),
]
OperationOption = Annotated[
    str,
    typer.Option(
        "--op",
        "--operation",
        help="allreduce, reduce-scatter, all-gather, broadcast, reduce, all-to-all, gather, scatter, sendrecv, "
        "dispatch or combine.",
    ),
]
LibraryOption = Annotated[
    str | None,
    typer.Option(
        "--library",
        "-l",
        metavar="NAMES",
        help="nccl, hfreduce, hfreduce-nvlink or deepep, or several with commas; the design's first if omitted.",
    ),
]
AlgorithmOption = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        "-a",
        metavar="NAME",
        help="Force one: ring, tree, nvls, nvls-tree, sharp, hierarchical; pat for all-gather and reduce-scatter; "
        "direct or rail for all-to-all; node-limited or straight for tokens.",
    ),
]
ProtocolOption = Annotated[
    str | None, typer.Option("--protocol", metavar="NAME", help="Force one: ll, ll128 or simple.")
]
SharpOption = Annotated[bool, typer.Option("--sharp/--no-sharp", help="Let the network's switches reduce.")]
NicRateOption = Annotated[
    str | None,
    typer.Option("--nic-rate", metavar="RATE", help="Rate limit of each NIC, such as 200Gb/s, for what-if questions."),
]
ZonesOption = Annotated[
    int | None, typer.Option("--zones", min=1, help="Zones that the job spans; as few as hold it if omitted.")
]
TokensOption = Annotated[
    int | None, typer.Option("--tokens", min=1, max=MOST, help="dispatch, combine: tokens of a GPU; 4,096 if omitted.")
]
HiddenOption = Annotated[
    int | None, typer.Option("--hidden", min=1, max=MOST, help="dispatch, combine: width of a token; 7,168 if omitted.")
]
TopKOption = Annotated[
    int | None, typer.Option("--top-k", min=1, max=64, help="dispatch, combine: experts of a token; 8 if omitted.")
]
ExpertsOption = Annotated[
    int | None, typer.Option("--experts", min=1, max=MOST, help="dispatch, combine: experts in total; 256 if omitted.")
]
MaxNodesOption = Annotated[
    int | None,
    typer.Option("--max-nodes", min=1, max=MOST, help="dispatch, combine: most nodes of a token; 4 if omitted."),
]
SmsOption = Annotated[
    int | None,
    typer.Option(
        "--sms",
        min=1,
        max=1024,
        help="dispatch, combine: multiprocessors (SMs) that copy tokens; without limit if omitted.",
    ),
]
ChartOption = Annotated[bool, typer.Option("--chart", help="Add a chart of bus bandwidth to the table.")]
