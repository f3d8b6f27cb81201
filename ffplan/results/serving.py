"""JSON output of `serve`, field by field; `SCHEMA_VERSION` is shared with the assessment."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import CatalogFile, Result, UnverifiedFigure


@record
class Latency:
    """A latency over requests [s]."""

    mean: float
    """Mean by formula [s]."""
    p50: float
    """Median of a run of requests [s]."""
    p90: float
    """Ninetieth percentile [s]."""
    p99: float
    """Ninety-ninth percentile [s]."""


@record
class TokenBand:
    """The P10 to P90 of a time, by errors over published runs."""

    low: float
    """Tenth percentile [s]."""
    high: float
    """Ninetieth percentile [s]."""


@record
class TokenPart:
    """A part of a token's time; the parts sum to it."""

    name: str
    """Stable name."""
    label: str
    """For people."""
    seconds: float
    """Time [s]."""
    share: float
    """Fraction of the token's time [1]."""


@record
class CacheUse:
    """Keys and values of one copy."""

    bytes_per_token: float
    """Bytes of a token over all layers and heads [byte]."""
    capacity_tokens: float
    """Tokens for which an attention group has room [1]."""
    used: float
    """Fraction of the room in use [1]."""
    waiting: float
    """Requests that wait for room [1]."""


@record
class ServeCost:
    """Cost of tokens at a load, by the time that accelerators spend on them."""

    currency: str
    """Currency of every amount."""
    accelerator_hour: float
    """An accelerator-hour [currency]."""
    per_million_output: float
    """A million output tokens, without the time of prompts [currency]."""
    per_million_input: float
    """A million prompt tokens [currency]."""
    per_million_output_all: float
    """The whole cost over output tokens alone [currency per million]."""
    partial: tuple[str, ...]
    """What of the cluster the costs leave out: tokens cost at least as much."""


@record
class TokenPrice:
    """The same tokens, bought from a provider."""

    offer: str
    """The cheapest offer of the model, by id."""
    provider: str
    """Provider."""
    date: str | None
    """Date of the price; null if it is not known."""
    currency: str
    """Currency of the price."""
    per_million_output_all: float
    """Price of prompts and answers over output tokens alone [currency per million]."""


@record
class ServeRow:
    """Serving at one load."""

    concurrency: float
    """Requests under way on a copy, or on a unit of pools [1]."""
    rate_s: float
    """Requests a second over all copies [1/s]."""
    ttft_s: Latency
    """Time to the first token."""
    tpot_s: Latency
    """Time of each further token."""
    e2e_s: Latency
    """Time of a whole request."""
    output_tokens_s: float
    """Output tokens a second over all copies [1/s]."""
    output_tokens_s_gpu: float
    """Output tokens a second and accelerator [1/s]."""
    output_tokens_s_user: float
    """Tokens a second that a user sees: 1 over the mean time of a token [1/s]."""
    input_tokens_s: float
    """Prompt tokens a second over all copies [1/s]."""
    kv: CacheUse
    """Keys and values."""
    limited_by: str
    """Part that takes most of a token's time: weights, experts, cache, compute, layers, sequences, communication,
    fixed, prompts; or memory where requests wait for room or are evicted."""
    limited_by_label: str
    """Part that takes most of a token's time, for people."""
    parts: tuple[TokenPart, ...]
    """Parts of a token's time, the largest first."""
    prefill_busy: float | None
    """Utilisation of the prefill pool: prompts over its capacity [1]; null if prompts share the decoding copies."""
    meets: bool | None
    """True if the load meets the targets; null without any."""
    power_w: float | None
    """Power of the accelerators in use, and of the rest of their nodes if a design gives it [W]; null if unknown."""
    j_per_token: float | None
    """Energy of an output token [J]; null if unknown."""
    output_tokens_s_mw: float | None
    """Output tokens a second of all copies for each megawatt of the facility's rated peak [1/s], of which their
    accelerators and idle ones beside them bear their part, as of the cost; null without a design, and where its power
    is not wholly known."""
    cost: ServeCost | None
    """Cost; null without a price."""
    band: TokenBand
    """P10 to P90 of the mean time of a token."""


@record
class ServePlan:
    """How one copy of a model is spread over accelerators."""

    tensor: int
    """Tensor parallelism."""
    pipeline: int
    """Pipeline stages."""
    expert: int
    """Expert parallelism."""
    data: int
    """Attention groups."""
    gpus: int
    """Accelerators of a copy."""
    precision: str
    """Precision of the weights."""
    kv: str
    """Precision of keys and values."""
    chunk: int
    """Most tokens of a step."""


@record
class ServeMemory:
    """Memory of an accelerator [GiB]."""

    limit_gib: float
    """Share of the device that the engine takes."""
    weights_gib: float
    """Weights."""
    reserve_gib: float
    """Activations, graphs and communication."""
    cache_gib: float
    """Room for keys and values."""


@record
class ServePool:
    """Copies of a model that compute prompts only, or decode only."""

    copies: int
    """Copies in a unit."""
    plan: ServePlan
    """Plan of each."""
    accelerator: str
    """Catalogue id of its accelerators."""


@record
class ServeTransfer:
    """Keys and values on their way from prefill to decoding."""

    bytes: float
    """Bytes of a prompt that reach the copy that decodes [byte]."""
    seconds: float
    """Time that they still take once the prompt is computed [s]."""
    gbyte_s: float
    """Rate of an accelerator while all send [GB/s]."""
    fabric_share: float
    """That rate over the one that the accelerator's own links would carry [1]."""
    link: str
    """Link that binds: the accelerator's own, or the busiest one of the fabric."""


@record
class ServePools:
    """Separate accelerators for prefill and decoding."""

    prefill: ServePool
    """Copies that compute prompts."""
    decode: ServePool
    """Copies that decode."""
    transfer: ServeTransfer
    """Keys and values between them."""


@record
class ServeBeside:
    """A training job on the other nodes of the design, whose links also carry keys and values."""

    gpus: int
    """Its accelerators."""
    kept: float
    """Rate that a ring allreduce over them keeps while keys and values move [1]."""
    moved_share: float
    """Most that keys and values take of a link that both use [1]."""
    link: str | None
    """That link; null if they share none."""


@record
class Saturation:
    """The largest load that memory and engine run at a time."""

    rate_s: float
    """Requests a second over all copies [1/s]."""
    concurrency: float
    """Requests under way on a copy [1]."""
    cause: str
    """What ends it: memory, the engine's limit on sequences, or prompts, which take all the time."""


@record
class ServeTargets:
    """Latency targets, at a percentile."""

    ttft_s: float | None
    """Most time to the first token [s]."""
    tpot_s: float | None
    """Most time of a further token [s]."""
    at: str
    """mean, p50, p90 or p99."""


@record
class ServeChoice:
    """A plan found by a search, at its best load."""

    plan: ServePlan
    """The plan."""
    concurrency: float
    """Requests under way on a copy [1]."""
    output_tokens_s_gpu: float
    """Output tokens a second of all copies over the accelerators, those that no copy uses included [1/s]."""
    output_tokens_s_user: float
    """Tokens a second that a user sees [1/s]."""
    ttft_s: float
    """Mean time to the first token [s]."""
    tpot_s: float
    """Mean time of a further token [s]."""


@record
class ServeReport(Result):
    """Output of `ffplan serve`."""

    schema_version: str
    """Version of this format."""
    design: str | None
    """Name of the design; null without one."""
    accelerator: str
    """Catalogue id of the accelerator."""
    model: str
    """Catalogue id of the model."""
    engine: str
    """Catalogue id of the engine."""
    plan: ServePlan
    """Plan of one copy; with separate prefill, of a decoding copy."""
    pools: ServePools | None
    """Pools of a unit; null if prompts share the decoding copies."""
    beside: ServeBeside | None
    """A job on the rest of the design at `best`; null without pools or rest, or inside a scale-up network."""
    copies: int
    """Copies of the model, or units of pools."""
    idle: int
    """Accelerators that no copy uses."""
    prompt_tokens: float
    """Mean tokens of a prompt [1]."""
    output_tokens: float
    """Mean tokens of an answer [1]."""
    memory: ServeMemory
    """Memory of an accelerator."""
    rows: tuple[ServeRow, ...]
    """Loads, the lowest first."""
    best: int
    """Position of the row that the answer is about."""
    saturation: Saturation
    """The largest load."""
    targets: ServeTargets | None
    """Targets; null without any."""
    searched: int
    """Points of the search [1]; 0 without one."""
    choices: tuple[ServeChoice, ...]
    """Plans with more tokens a second of an accelerator than any that serves a user as fast; the fastest for a user
    first. Empty without a search."""
    calibrated_on: str | None
    """Accelerator of the runs behind the engine's constants; null if the constants of other accelerators are used."""
    runs: int
    """Measured rows behind the constants [1]."""
    price: str | None
    """Where the price of an accelerator-hour is from; null without one."""
    currency: str | None
    """Currency of costs; null without any."""
    api: TokenPrice | None
    """Tokens of this model by API; null without an offer."""
    assumptions: tuple[str, ...]
    """Omissions and assumptions of the model."""
    catalog: tuple[CatalogFile, ...]
    """Files read."""
    unverified: tuple[UnverifiedFigure, ...]
    """Recalled figures among those read."""


SCHEMAS = {"serve": (ServeReport, "Output of `ffplan serve --format json`")}
"""Files and outputs of this module, with their titles."""
