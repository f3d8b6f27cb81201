"""The options of `ffplan serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.cli.options import _complete_design, _complete_part

_TOKENS = 10_000_000
_WAYS = 4096

OptionalDesign = Annotated[
    str | None,
    typer.Argument(
        metavar="[DESIGN]",
        help="A design file, or the name of a shipped design; or --accelerator and --gpus.",
        autocompletion=_complete_design,
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="ID",
        help="Model of the catalogue, or its file, such as config.json; the design's own if omitted.",
        autocompletion=_complete_part("model"),
    ),
]
AcceleratorOption = Annotated[
    str | None,
    typer.Option(
        "--accelerator",
        metavar="ID",
        help="Accelerator, in place of a design.",
        autocompletion=_complete_part("accelerator"),
    ),
]
GpusOption = Annotated[
    int | None,
    typer.Option("--gpus", "-g", min=1, max=_TOKENS, help="Accelerators to serve on; all of the design if omitted."),
]
PromptOption = Annotated[
    int, typer.Option("--isl", min=1, max=_TOKENS, help="Tokens of a prompt (input sequence length).")
]
OutputLengthOption = Annotated[
    int, typer.Option("--osl", min=1, max=_TOKENS, help="Tokens of an answer (output sequence length).")
]
ConcurrencyOption = Annotated[
    str | None,
    typer.Option(
        "--concurrency", "-c", metavar="NUMBERS", help="Requests under way on a copy, such as 64, 8,64 or 1..256."
    ),
]
RateOption = Annotated[
    str | None,
    typer.Option("--rate", metavar="RATES", help="Requests that arrive over all copies: 5/s, 300/min or 2,4,8."),
]
LengthsOption = Annotated[
    str | None,
    typer.Option("--lengths", metavar="FILE", help="CSV or JSON lines with the lengths of requests, to draw from."),
]
TraceOption = Annotated[
    str | None,
    typer.Option("--trace", metavar="FILE", help="CSV or JSON lines with lengths and times of arrival, to follow."),
]
PrecisionOption = Annotated[
    str | None,
    typer.Option(
        "--precision", metavar="NAME", help="Weights: bf16, fp8, fp4, mxfp4 or int4; as published if omitted."
    ),
]
CacheOption = Annotated[
    str | None, typer.Option("--kv", metavar="NAME", help="Keys and values: bf16 or fp8; the engine's if omitted.")
]
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Serving engine, such as vllm, vllm@0.12, sglang or trtllm.",
        autocompletion=_complete_part("engine"),
    ),
]
TensorOption = Annotated[
    int | None,
    typer.Option("--tp", min=1, max=_WAYS, help="Tensor parallelism; the fewest with room for 16 requests if omitted."),
]
PipelineOption = Annotated[int | None, typer.Option("--pp", min=1, max=_WAYS, help="Pipeline stages; 1 if omitted.")]
ExpertOption = Annotated[int | None, typer.Option("--ep", min=1, max=_WAYS, help="Expert parallelism; 1 if omitted.")]
DataOption = Annotated[
    int | None,
    typer.Option("--dp", min=1, max=_WAYS, help="Attention groups, which share experts with --ep tp x dp."),
]
ChunkOption = Annotated[
    int | None, typer.Option("--chunk", min=1, max=_TOKENS, help="Most tokens of a step; the engine's if omitted.")
]
SpeculateOption = Annotated[
    str | None,
    typer.Option(
        "--speculate",
        metavar="KIND:N:CHANCE",
        help="Speculative decoding: mtp, draft or ngram, tokens, and the chance that one is accepted: mtp:3:0.8.",
    ),
]
PrefixOption = Annotated[
    str, typer.Option("--prefix-hit", metavar="SHARE", help="Part of a prompt found in the prefix cache, such as 50%.")
]
FirstOption = Annotated[
    str | None, typer.Option("--ttft", metavar="TIME", help="Target of the time to the first token, such as 2s.")
]
EachOption = Annotated[
    str | None, typer.Option("--tpot", metavar="TIME", help="Target of the time of a further token, such as 50ms.")
]
AtOption = Annotated[
    str, typer.Option("--at", metavar="STATISTIC", help="Statistic of the targets: mean, p50, p90 or p99.")
]
SearchOption = Annotated[
    bool, typer.Option("--search", help="Search plans: TP, PP, EP, DP, precision, chunk and concurrency.")
]
PrefillOption = Annotated[
    str | None,
    typer.Option(
        "--prefill", metavar="PLAN", help="Copies that compute prompts only, such as 4xTP8, 2xDEP4; needs --decode."
    ),
]
DecodeOption = Annotated[
    str | None, typer.Option("--decode", metavar="PLAN", help="Copies that decode only, such as 1xDEP32.")
]
DisaggregateOption = Annotated[
    bool, typer.Option("--disaggregate", help="Seek pools for prefill and for decoding: plans, copies and ratio.")
]
