"""A parallel plan, and a training run in days, money, energy and carbon."""

from __future__ import annotations

from ffplan.base.formatting import ranged
from ffplan.base.record import record


@record
class PlanRow:
    """A parallel plan."""

    gpus: int
    """Accelerators in use."""
    tensor: int
    """TP size."""
    context: int
    """CP size."""
    expert: int
    """EP size."""
    expert_tensor: int
    """TP size within experts."""
    pipeline: int
    """Pipeline stages."""
    chunks: int
    """Chunks of each stage."""
    data: int
    """Data-parallel ranks."""
    micro_batch: int
    """Sequences, or images, of a micro-batch."""
    batch: int
    """Sequences, or images, of a step."""
    micro_batches: int
    """Micro-batches of a data-parallel rank."""
    sequence: int
    """Length of a sequence; 1 of images."""
    sequence_parallel: bool
    """Sequence parallelism: true where TP ranks also split the activations between the GEMMs."""
    zero: int
    """ZeRO stage."""
    shard: int
    """Ranks that ZeRO shards over."""
    unit_layers: int
    """Layers that ZeRO 3 gathers together."""
    recompute: str
    """Activation recomputation: none, selective or full."""
    precision: str
    """Precision of GEMMs."""
    schedule: str
    """Schedule of the pipeline: interleaved, or as a plan names it."""
    overlap: tuple[str, ...]
    """Collectives overlapped with computing."""
    order: tuple[str, ...]
    """Axes of ranks, innermost first."""
    gradient_bytes: int
    """Bytes of a gradient as kept."""
    reduced_bytes: int
    """Bytes of a gradient as reduced."""
    optimizer_bytes: int
    """Bytes of the optimizer's states of a parameter."""
    weights_copy: bool
    """True if ZeRO 3 keeps a sharded copy of the weights at 16 bits in addition to the optimizer's."""
    mtp_layers: int
    """Layers that predict further tokens, on the last stage."""
    routing: str
    """Experts of a token: random, or in-turn, neighbours that take turns."""
    recompute_parts: tuple[str, ...]
    """Parts of every layer that are recomputed: norms, latent, activation."""
    attention: str
    """fused or unfused."""
    elementwise: str
    """fused or eager."""
    offload: str
    """States that host memory holds, or the node's drives."""
    offload_to: str
    """memory or drives: the place that holds them."""
    offload_layers: int
    """Layers of each stage whose activations wait in host memory."""
    reducer: str
    """Library that reduces gradients."""


SHORT_NAMES = {"tensor": "tp", "context": "cp", "pipeline": "pp", "chunks": "v", "expert": "ep", "data": "dp"}
"""Sizes of a plan as labels name them, by field."""


@record
class SurePlan:
    """The fastest plan of a search that fits whatever the runtime reserves and takes for a moment."""

    plan: PlanRow
    """The plan."""
    step_s: float
    """Time of a step [s]."""
    slower: float
    """Extra time of the step over the fastest plan's, as a share [1]."""
    memory_gib: float
    """Memory that tensors take on the fullest stage [GiB]."""


@record
class StepPart:
    """A part of a step; the parts sum to it."""

    name: str
    """Stable name."""
    label: str
    """For people."""
    seconds: float
    """Time [s]."""
    share: float
    """Fraction of the step [1]."""


@record
class Band:
    """A figure with its likely value and its quantiles over the draws."""

    likely: float
    """With every input at its likely value."""
    p10: float
    """Tenth percentile of the draws."""
    p50: float
    """Median of the draws."""
    p90: float
    """Ninetieth percentile of the draws."""


def band_words(band: Band, unit: str = "", *, ends: bool = True) -> str:
    """Return a figure as every sentence and table shows it: the likely value with P10 to P90, the `ends`."""
    return ranged(band.likely, band.p10, band.p90, unit, ends=ends)


def median_words(band: Band, unit: str = "") -> str:
    """Return a purchase as every sentence and table shows it: the median with P10 to P90.

    Prices often have one known bound, so that the sum of likely prices may lie outside the range of the sum.
    """
    return ranged(band.p50, band.p10, band.p90, unit)


@record
class RunReport:
    """A training run on the cluster."""

    words: str
    """The run in a sentence."""
    model: str
    """Catalogue id of the model."""
    plan: PlanRow
    """Parallel plan."""
    memory_words: str | None
    """Why its memory is at the edge; null if it fits."""
    sure: SurePlan | None
    """The fastest plan that fits beyond doubt, if a search found one at the edge of memory; else null."""
    outlives: str | None
    """How much longer it takes than its hardware, or a rent of a term, is paid for; null if it ends before."""
    gpus: int
    """Accelerators that the job holds."""
    batch: int
    """Sequences of a step."""
    tokens: float
    """Tokens to train on."""
    operations: float
    """Floating-point operations of the model over these tokens, attention counted in full, recomputation not [FLOP]."""
    petaflop_days: float
    """Operations of the model over these tokens, in days of a petaFLOP/s kept up."""
    parts: tuple[StepPart, ...]
    """Parts of a step, in seconds; they sum to it."""
    step_s: float
    """Time of a step [s]."""
    tokens_s: float
    """Tokens of a second, at that time [1/s]."""
    mfu: float
    """Model FLOP/s over the dense peak [1]."""
    effective: float
    """Progress over time: the job's goodput, unless the design states its effective training time [1]."""
    effort: float
    """Likely time of the run over its plan's, without failures [1]."""
    days: Band
    """Days of the run."""
    accelerator_hours: Band
    """Accelerator-hours."""
    currency: str
    """Currency of every amount."""
    cost: Band | None
    """Cost of the run [currency]; null if the design names neither prices nor a rent."""
    cost_per_million_tokens: Band | None
    """Cost of a million tokens [currency]; null as the cost is."""
    cost_per_petaflop_day: Band | None
    """A petaFLOP/s of model arithmetic, kept up for a day [currency]; null as the cost is."""
    energy_mwh: Band
    """Energy at the meter [MWh]."""
    missing_power: tuple[str, ...]
    """Parts without a power, which the energy leaves out."""
    energy_kwh_per_million_tokens: Band
    """Energy of a million tokens [kWh]."""
    carbon_t: Band
    """Carbon of energy and hardware [t CO2e]."""
    carbon_kg_per_million_tokens: Band
    """Carbon of energy and hardware for a million tokens [kg CO2e]."""
    carbon_energy_t: float
    """Of it the energy's, likely [t CO2e]."""
    water_m3: float
    """Water that the site evaporates, likely [m3]."""
    ready_months: float
    """From the order to the first job [month]; 0 of a rented fleet, unless the design states its own."""
    error_band: float
    """Errors of the speed from P10 to P90, which the draws include [1]."""
    estimated_from: str | None
    """The calibrated accelerator whose efficiencies are taken; null if the accelerator has its own."""
