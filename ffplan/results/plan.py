"""A parallel plan in reports."""

from __future__ import annotations

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
    """True where ZeRO 3 keeps a sharded copy of the weights at 16 bits beside the optimizer's own."""
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
    """memory or drives: the place where they wait."""
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
    """What the step takes longer than the fastest plan's, over that [1]."""
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
