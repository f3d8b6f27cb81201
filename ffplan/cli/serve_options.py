"""The options of `ffplan serve`, and what `compare --serve` and `recommend --serve` read from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.base.record import record
from ffplan.cli.loading import _parsed
from ffplan.cli.options import _complete_design, _part_option

if TYPE_CHECKING:
    from ffplan.catalog.engines import Engine
    from ffplan.catalog.store import Catalog
    from ffplan.results.serving import ServeTargets

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
    _part_option(
        "model",
        "Model of the catalogue, or its file, such as config.json; the design's own if omitted.",
        "--model",
        "-m",
    ),
]
AcceleratorOption = Annotated[
    str | None,
    _part_option(
        "accelerator",
        "Accelerator in place of a design, or the one of a design with unlike nodes to serve on.",
        "--accelerator",
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
    _part_option("engine", "Serving engine, such as vllm, vllm@0.12, sglang or trtllm.", "--engine", metavar="NAME"),
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
    str | None,
    typer.Option("--at", metavar="STATISTIC", help="Statistic of the targets: mean, p50, p90 or p99; p99 if omitted."),
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


SERVING = ("isl", "osl", "ttft", "tpot", "at", "engine", "precision", "kv", "disaggregate")
"""Options that say it."""


@record
class _ServedModel:
    lengths: tuple[int, int]
    """Tokens of a prompt and of an answer."""
    targets: tuple[str | None, str | None, str | None]
    """Most time to the first token and of each further one, and their statistic."""
    plan: tuple[str, str | None, str | None]
    """Engine, and precision of weights and of keys and values."""
    apart: bool = False
    """Pools for prefill and for decoding are tried too."""

    def engine_and_targets(self, parts: Catalog, who: str) -> tuple[Engine, ServeTargets | None]:
        from ffplan.studies.serve.answer import refuse_precisions
        from ffplan.studies.serve.links import ServeError
        from ffplan.studies.serve.loads import targets_of
        from ffplan.studies.serve.setup import PlanRequest, engine_of

        (ttft, tpot, at), (software, precision, kv) = self.targets, self.plan
        try:
            refuse_precisions(PlanRequest(precision=precision, kv=kv))
            engine = engine_of(parts, software)
            limits = _seconds_of(ttft, "--ttft", who), _seconds_of(tpot, "--tpot", who)
            return engine, targets_of(*limits, at, self.lengths[1])
        except ServeError as error:
            raise UsageError(f"{who}: {error}") from None


def _seconds_of(text: str | None, option: str, who: str = "ffplan serve") -> float | None:
    from ffplan.inputs.dimensions import DURATION
    from ffplan.inputs.quantities import parse_quantity

    return _parsed(lambda: parse_quantity(text, DURATION), option, who.removeprefix("ffplan ")) if text else None
