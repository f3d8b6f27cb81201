"""Keywords that functions pass on to a training plan, a recommendation or a size, for editors and type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from ffplan.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ffplan.catalog.ownership import Effort
    from ffplan.catalog.stacks import Dispatcher, Routing
    from ffplan.design.schema import CorePolicy
    from ffplan.design.training import Axis, Overlap, Precision, Preset, Recompute, RecomputePart, Schedule, Width

T = TypeVar("T")

Aim = Literal["capex", "tco", "token", "power", "accelerators"]
"""The aim that a recommendation minimises."""


class PlanKeywords(TypedDict, total=False):
    """Fields of a training plan, each as `ffplan.design.training.PlanFields` explains it."""

    tensor: int
    pipeline: int
    chunks: int
    context: int
    context_exchange: Literal["ring", "heads"]
    expert: int
    expert_tensor: int | None
    data: int | None
    micro_batch: int
    batch: int | None
    sequence: int | None
    schedule: Schedule
    sequence_parallel: bool
    zero: int
    shard: int | None
    unit_layers: int
    precision: Precision
    recompute: Recompute
    gradient_bytes: Literal[2, 4]
    grad_dtype: Width | None
    grad_reduce_dtype: Width | None
    main_params: Literal["fp32", "bf16", "none"]
    optimizer_dtype: Width
    weights_copy: bool
    recompute_parts: Sequence[RecomputePart]
    attention: Literal["fused", "unfused", "fa1", "triton", "fa2", "fa3", "cudnn", "cudnn-9.19"]
    stack: str | None
    elementwise: Literal["fused", "eager"]
    dispatcher: Dispatcher | None
    dispatch_dtype: Literal["bf16", "fp8"]
    dispatch_sms: int | None
    mtp_layers: int
    routing: Routing
    imbalance: float
    causal_skip: bool
    overlap: Sequence[Overlap]
    scatter_gather: bool
    order: Sequence[Axis]
    offload: Literal["none", "optimizer", "parameters"]
    offload_to: Literal["memory", "drives"]
    offload_layers: int
    bucket_mib: float
    reducer: Literal["nccl", "rccl", "hfreduce", "hfreduce-nvlink"] | None
    preset: Preset | None


class LimitKeywords(TypedDict, total=False):
    """Limits and choices of a recommendation, each as `ffplan.studies.choose.recommend_target.Target` explains it.

    Amounts are in the currency of the price book, or texts such as `$40M`, `5MW`, `500 m2` and `90%`.
    """

    aim: Aim
    capex: float | str | None
    tco: float | str | None
    watts: float | str | None
    racks: float | None
    floor: float | str | None
    rack_area: float | str | None
    effort: Effort | None
    allowed: str | Iterable[str]
    switches: str | Iterable[str]
    excluded: str | Iterable[str]
    slack: float
    chance: float | str


class SizeKeywords(TypedDict, total=False):
    """Further fields of a request for sizes, each as `ffplan.studies.choose.size.SizeRequest` explains it."""

    breakout: int
    tiers: int | str | Iterable[int]
    planes: int | str | Iterable[int]
    rails: int
    core_policy: CorePolicy
    endpoint_link: str | None
    link: str | None


class ServeKeywords(TypedDict, total=False):
    """Accelerators, plan, loads and targets for serving."""

    accelerator: str | None
    """Catalogue id of an accelerator, in place of a design."""
    gpus: int | None
    """Accelerators to serve on; all of the design, or one."""
    prompt: int
    """Tokens of a prompt [1]; 1,024 if omitted."""
    output: int
    """Tokens of an answer [1]; 1,024 if omitted."""
    concurrency: float | str | Sequence[float]
    """Requests under way on a copy [1], one number or several, or text such as `8,64` or `1..256`."""
    rate: float | str | Sequence[float | str]
    """Requests a second over all copies [1/s], numbers or texts such as `300/min`, one or several."""
    precision: str | None
    """Of the weights; the checkpoint's if omitted, any with `search`."""
    kv: str | None
    """Precision of keys and values; the engine's if omitted."""
    engine: str
    """Serving engine, such as vllm, vllm@0.12, sglang or trtllm."""
    tensor: int | None
    """Tensor parallelism; the fewest with room for 16 requests if omitted."""
    pipeline: int | None
    """Stages [1]."""
    expert: int | None
    """Expert parallelism [1]."""
    data: int | None
    """Attention groups [1]."""
    chunk: int | None
    """Most tokens of a step [1]."""
    prefix_hit: float | str
    """Fraction of a prompt found in the prefix cache [1], or text such as `50%`."""
    speculate: tuple[Literal["mtp", "draft", "ngram"], int, float] | str | None
    """Kind, tokens of a draft, and the chance that one is accepted, or text such as `mtp:3:0.8`."""
    ttft: float | str | None
    """Target of the time to the first token [s], or text such as `200 ms`."""
    tpot: float | str | None
    """Target of the time of a further token [s], or text such as `50ms`."""
    at: Literal["mean", "p50", "p90", "p99"] | None
    """Statistic of the targets."""
    search: bool
    """Search the open settings of the plan."""
    prefill: str | None
    """Copies that compute prompts only, such as 4xTP8; with `decode`."""
    decode: str | None
    """Copies that decode only, such as 1xDEP32."""
    disaggregate: bool
    """Seek pools for prefill and for decoding."""
    seed: int
    """Seed of the run of requests."""


FIELDS = {"prompt": "isl", "output": "osl", "tensor": "tp", "pipeline": "pp", "expert": "ep", "data": "dp"}
"""Keywords of serving whose option, and field of a design's section `serving`, has another name."""


def refuse_unknown(function: Callable[..., Any], keywords: type, given: Mapping[str, Any]) -> None:
    """Refuse keywords that a function does not have.

    Args:
        function: the function.
        keywords: the keywords that it passes on.
        given: the keywords of the call.

    Raises:
        UsageError: naming the nearest keyword, also of an axis by its short name, such as `tp`.
    """
    passed_on = keywords.__annotations__
    unknown = next((name for name in given if name not in passed_on), None)
    if unknown is None:
        return
    from inspect import Parameter, signature

    from ffplan.base.errors import did_you_mean
    from ffplan.results.run import SHORT_NAMES

    named = [each.name for each in signature(function).parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    axis = next((field for field, short in SHORT_NAMES.items() if short == unknown and field in passed_on), None)
    remedy = f"did you mean `{axis}`?" if axis else did_you_mean(unknown, [*named, *passed_on], what="keyword")
    raise UsageError(f"{function.__name__}: no keyword `{unknown}`; {remedy}")


def _ran(command: str, run: Callable[[], T]) -> T:
    from ffplan.training.accelerator_rates import UncalibratedError
    from ffplan.training.constraints import RefusedError

    try:
        return run()
    except UncalibratedError as error:
        raise UsageError(f"{command}: {error}; {error.remedy}") from None
    except RefusedError as error:
        raise UsageError(f"{command}: {error}") from None
