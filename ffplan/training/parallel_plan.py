"""Parallel plans as arrays: every field a number or an array, all of shapes that broadcast to one."""

from __future__ import annotations

from typing import Any

from ffplan.base.record import record

RECOMPUTE = ("none", "selective", "full")
"""What of the activations is computed again; a plan holds the position."""
AXES = ("tensor", "context", "data", "pipeline")
"""Axes of ranks, in the order that fills a node by default."""
NUMBERS = (
    "gpus", "batch", "micro", "tensor", "pipeline", "data", "chunks", "context", "expert", "expert_tensor",
    "recompute", "sequence_parallel", "zero", "shard", "unit_layers", "gradient_bytes",
)  # fmt: skip
"""Fields of a plan that are numbers."""


@record
class Plans:
    """Plans, one a position of the shape that all arrays broadcast to."""

    gpus: Any
    """Accelerators in use."""
    batch: Any
    """Sequences of a step."""
    micro: Any
    """Sequences of a micro-batch."""
    tensor: Any
    """Ways of tensor parallelism."""
    pipeline: Any
    """Pipeline stages."""
    data: Any
    """Data-parallel ranks."""
    chunks: Any = 1
    """Chunks of a stage, for interleaving."""
    context: Any = 1
    """Ways of context parallelism."""
    expert: Any = 1
    """Ways of expert parallelism."""
    expert_tensor: Any = 1
    """Ways of tensor parallelism within experts."""
    recompute: Any = 0
    """Position in `RECOMPUTE`."""
    sequence_parallel: Any = 0
    """1 where tensor parallelism also splits what lies between its matrices."""
    zero: Any = 0
    """ZeRO stage; 3 is FSDP."""
    shard: Any = 0
    """Ranks that ZeRO shards over (HSDP); 0 for all data-parallel ones."""
    unit_layers: Any = 1
    """Layers that ZeRO 3 gathers together, its unit."""
    gradient_bytes: Any = 2.0
    """Bytes of a gradient as it is kept and reduced [byte]."""
    precision: str = "bf16"
    """fp16, bf16, tf32 or fp8."""
    schedule: str = "1f1b"
    """Schedule of the pipeline; interleaved follows from `chunks`."""
    fused_attention: bool = True
    """False where the scores of attention go through memory."""
    eager: bool = False
    """True where every element-wise operation is a kernel of its own."""
    causal_skip: bool = True
    """True where fused attention leaves out the half that a causal mask hides."""
    overlap: frozenset[str] = frozenset()
    """What runs beside the computing: gradients, parameters, tensor, pipeline, experts."""
    scatter_gather: bool = True
    """True where tensor-parallel ranks send a share each to the next stage."""
    order: tuple[str, ...] = AXES
    """Axes, innermost first."""
    offload: str = "none"
    """none, optimizer or parameters: what host memory holds."""

    @property
    def micro_batches(self) -> Any:
        """Micro-batches of a data-parallel rank."""
        return self.batch / (self.data * self.micro)

    @property
    def sharing(self) -> Any:
        """Ranks over which ZeRO shares what is no expert."""
        import numpy as np

        return np.where(np.asarray(self.shard) > 0, self.shard, self.reducing)

    @property
    def between(self) -> Any:
        """Ways in which what lies between the matrices is split: those of sequence parallelism, or none."""
        return 1.0 + self.sequence_parallel * (self.tensor - 1.0)

    def tokens(self, sequence: Any) -> Any:
        """Return the tokens of a micro-batch on a rank, of sequences of so many."""
        return self.micro * sequence / self.context

    @property
    def width(self) -> float:
        """Bytes of a number in activations."""
        return 4.0 if self.precision == "tf32" else 2.0

    @property
    def reducing(self) -> Any:
        """Ranks over which the gradients of everything but experts are reduced."""
        return self.data * self.context

    @property
    def expert_data(self) -> Any:
        """Ranks that hold the same experts."""
        return self.data * self.context * self.tensor / (self.expert * self.expert_tensor)


def layers_of(layers: Any, plans: Plans) -> tuple[Any, Any]:
    """Return the layers of the fullest stage, and of the last one.

    Args:
        layers: layers of the model L [1].
        plans: the plans: p stages of v chunks.

    Returns:
        Layers [1] of the fullest stage and of the last stage.

    Equation:
        v ceil(L / (p v)); the last stage has one less where they do not divide, since it holds the output layer too

    Source:
        Megatron-LM counts embedding and output as layers where a pipeline is uneven; BLOOM's 70 layers on 12 stages.
    """
    import numpy as np

    each = np.ceil(layers / (plans.pipeline * plans.chunks))
    full = each * plans.chunks
    return full, full - (full * plans.pipeline > layers)


def units_of(layers: Any, plans: Plans) -> tuple[Any, Any]:
    """Return the units of a chunk of a stage under ZeRO 3, and the layers of each.

    Args:
        layers: layers of the stage L [1].
        plans: the plans: v chunks, units of n layers.

    Returns:
        Units, and layers of each [1].

    Equation:
        ceil(L / (v n)); L / (v units)

    Source:
        Chunks of a stage run at different times; where layers do not divide, units count as even.
    """
    import numpy as np

    each = layers / plans.chunks
    units = np.ceil(each / plans.unit_layers)
    return units, each / units


def placed(size: Any, inside: Any, domain: Any, *, aligned: bool = False) -> tuple[Any, Any]:
    """Return how a group of ranks lies on nodes.

    Args:
        size: ranks of the group n [1].
        inside: ranks between neighbours of the group, those of the axes further inside [1].
        domain: accelerators of a node, or of the nodes that one scale-up switch joins [1].
        aligned: jobs leave idle what does not divide a domain, as on racks of 72, so that no group straddles two.

    Returns:
        Ranks on each node, and nodes [1].

    Equation:
        nodes = ceil(n / clip(floor(domain / inside), 1, n)), n / nodes on each; one node more where groups do not
        divide the domain, so that some straddle two

    Source:
        Ranks are numbered axis by axis, the innermost first, as Megatron-LM does.
    """
    import numpy as np

    fits = np.minimum(np.maximum(np.floor_divide(domain, inside), 1), size)
    nodes = np.ceil(size / fits)
    if not aligned:
        span = np.minimum(size * inside, domain)
        straddles = (size > 1) & (inside < domain) & (domain % np.maximum(span, 1) != 0)
        nodes = np.minimum(nodes + straddles, size)
    return size / nodes, nodes


def strides(plans: Plans) -> dict[str, Any]:
    """Return the ranks between neighbours on every axis [1]."""
    found: dict[str, Any] = {}
    inside: Any = 1
    for axis in plans.order:
        found[axis] = inside
        inside = inside * getattr(plans, axis)
    return found
