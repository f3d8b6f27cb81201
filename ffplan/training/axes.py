"""The axes of parallel plans: one table of rows, and plans as arrays.

A row of `AXES` drives the option of the command line, the values that a search tries or keeps fixed, the plans refused
with reasons, the remedies, and the columns of measured runs. A new axis is a row here with its number in
`ParallelPlans`, its field in plan files (`design.training`) and in reports (`results.training`), and the formula of its
cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from math import prod
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, Truth
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.catalog.models import Transformer

RECOMPUTE = ("none", "selective", "full", "keep-qkv", "keep-products", "every-second")
"""Activation recomputation; a plan holds the position."""
NODE = 16
"""Most accelerators of a node; larger domains are several nodes on one scale-up switch."""
LONG = 16_384
"""Tokens of a sequence from which a search tries context parallelism."""
MOST_EXPERT_SIZE = 1_024
"""Largest EP size that a search tries."""
POWERS = (2, 4, 8, 16, 32, 64, 128)
"""Pipeline stages that a search tries whatever the number of layers."""
MICRO = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Micro-batches that a search tries."""
FOLDED = ("zb-v", "v-half", "v-min")
"""Schedules with two folded chunks a stage: a micro-batch passes each stage twice each way."""


@record
class Reason:
    """A rule that some plans break."""

    name: str
    """Stable name."""
    label: str
    """The rule for people."""
    broken: Callable[..., Truth]
    """True if plans break it, given model and plans."""
    explain: Callable[..., tuple[str, str]]
    """Message and remedy, given model and one plan of plain numbers."""


@record
class Axis:
    """One row: an axis along which plans differ."""

    field: str
    """Field in plan files and reports, and column of measured runs."""
    option: str
    """Option of the command line."""
    help: str
    """Help of the option."""
    array: str
    """Field of `ParallelPlans`."""
    _: KW_ONLY
    ranks: bool = False
    """True if the axis multiplies the accelerators of a plan."""
    values: Callable[..., tuple[int, ...]] | None = None
    """Values that a search tries, by model, accelerators available, and accelerators behind a scale-up switch; 0 is the
    field's default. None if the other axes determine them."""
    named: bool = True
    """True if the nearest plan that runs always names it above 1."""
    reason: Reason | None = None
    """Rule of the axis."""


def divisors(number: int, most: int) -> tuple[int, ...]:
    """Return the divisors of a number up to `most` [1]."""
    return tuple(value for value in range(1, min(number, most) + 1) if number % value == 0)


def _inside(size: int, gpus: int, domain: int) -> bool:
    """Return whether groups of a size divide a node, or a job's part of it, so that no group leaves its node.

    Of scale-up domains over several nodes also powers of two count: the rest of 72 stays idle.
    """
    return min(gpus, domain) % size == 0 or domain % size == 0 or (domain > NODE and size & (size - 1) == 0)


def _tensor(shape: Transformer, gpus: int, domain: int) -> tuple[int, ...]:
    sizes = divisors(int(shape.heads), min(gpus, domain))
    return tuple(size for size in sizes if _inside(size, gpus, domain))


def _context(shape: Transformer, *_: int) -> tuple[int, ...]:
    return (1, 2, 4, 8, 16, 32) if int(shape.sequence) >= LONG else (1,)


def _pipeline(shape: Transformer, gpus: int, _: int) -> tuple[int, ...]:
    """Return divisors of the layers, embedding and output layer counted or not, and powers of two."""
    layers = int(shape.layers)
    stages = {stage for more in range(3) for stage in divisors(layers + more, gpus)}
    stages |= {size for size in POWERS if size <= gpus}
    return tuple(stage for stage in sorted(stages) if stage <= layers)


def _experts(shape: Transformer) -> int:
    return shape.experts.routed if shape.experts else 1


def _cuts_no_sequence(shape: Transformer, plans: ParallelPlans) -> Truth:
    import numpy as np

    # 2 pieces a rank, one from each end: under a causal mask the early half has less to do
    return (np.asarray(plans.context) > 1) & (shape.sequence % (2 * plans.context) != 0)


def _uncut(shape: Transformer, plans: ParallelPlans) -> tuple[str, str]:
    message = f"context parallelism {int(plans.context)} does not cut {int(shape.sequence):,} tokens"
    return f"{message} into two equal pieces a rank", "take a power of two"


AXES = (
    Axis("tensor", "--tp", "TP size.", "tensor", ranks=True, values=_tensor),
    Axis(
        "context",
        "--cp",
        "CP size.",
        "context",
        ranks=True,
        values=_context,
        reason=Reason(
            "context",
            "context parallelism does not cut the sequence into 2 equal pieces a rank",
            _cuts_no_sequence,
            _uncut,
        ),
    ),
    Axis("pipeline", "--pp", "PP size: pipeline stages.", "pipeline", ranks=True, values=_pipeline),
    Axis("data", "--dp", "DP size; if omitted, the ranks that the other axes leave.", "data", ranks=True),
    Axis(
        "expert",
        "--ep",
        "EP size.",
        "expert",
        values=lambda shape, gpus, _: divisors(_experts(shape), min(gpus, MOST_EXPERT_SIZE)),
    ),
    Axis(
        "expert_tensor",
        "--etp",
        "TP size within experts; equal to --tp if omitted.",
        "expert_tensor",
        values=lambda shape, *_: (0, 1) if _experts(shape) > 1 else (0,),
        named=False,
    ),
    Axis("micro_batch", "--micro-batch", "Sequences of a micro-batch.", "micro", values=lambda *_: MICRO),
    Axis(
        "chunks",
        "--chunks",
        "Chunks of a stage, for interleaved 1F1B.",
        "chunks",
        values=lambda shape, *_: divisors(int(shape.layers), int(shape.layers)),
    ),
)
"""Every axis, in the nesting order of a search."""
STRUCTURE = tuple(axis.array for axis in AXES if axis.values is not None)
"""Axes of the structure of plans, which a search tries."""
OPTIONS = {"recompute": (0, 1, 2, 3, 4, 5), "sequence_parallel": (0, 1), "zero": (0, 1, 2, 3), "gradient_bytes": (4, 2)}
"""Options that a search tries with every structure, and their values."""
UNITS = (1, 2, 4, 8)
"""Layers of a unit of ZeRO 3 that a search tries."""
COLLECTIVES = ("experts", "gradients", "parameters", "pipeline", "tensor")
"""Collectives that can be hidden by computing."""
RANK_ORDER = ("tensor", "context", "data", "pipeline")
"""Axes of ranks, in the order that fills a node by default."""


@record
class ParallelPlans:
    """Plans, one a position of the shape that all arrays broadcast to."""

    gpus: Number
    """Accelerators in use."""
    batch: Number
    """Sequences of a step."""
    micro: Number
    """Sequences of a micro-batch."""
    tensor: Number
    """TP size."""
    pipeline: Number
    """Pipeline stages."""
    data: Number
    """DP size."""
    chunks: Number = 1
    """Chunks of a stage, for interleaving."""
    context: Number = 1
    """CP size."""
    expert: Number = 1
    """EP size."""
    by_heads: bool = False
    """True if context parallelism exchanges heads by all-to-all, and passes no keys and values around."""
    expert_tensor: Number = 1
    """TP size within experts."""
    recompute: Number = 0
    """Position in `RECOMPUTE`."""
    sequence_parallel: Number = 0
    """1 if tensor parallelism also splits the activations between the GEMMs."""
    zero: Number = 0
    """ZeRO stage; 3 is FSDP."""
    shard: Number = 0
    """Ranks that ZeRO shards over (HSDP); 0 for all data-parallel ranks."""
    unit_layers: Number = 1
    """Layers that ZeRO 3 gathers together, its unit."""
    gradient_bytes: Number = 2.0
    """Bytes of a gradient as kept [byte]."""
    reduced_bytes: Number = 0.0
    """Bytes of a gradient in its reduction; 0 for the bytes in memory [byte]."""
    optimizer_bytes: Number = 12.0
    """Bytes of the optimizer's states of a parameter: its own copy and two moments [byte]."""
    casts: bool = False
    """True if ZeRO 3 casts the optimizer's copy of the weights as it gathers them, and keeps no other copy."""
    again: frozenset[str] = frozenset()
    """Parts of every layer that are recomputed: norms, latent, activation, and operators of `recompute.OPERATORS`."""
    precision: str = "bf16"
    """fp16, bf16, tf32 or fp8."""
    schedule: str = "1f1b"
    """Schedule of the pipeline; interleaved follows from `chunks`."""
    fused_attention: bool = True
    """False if the scores of attention go through memory."""
    dispatcher: str = ""
    """alltoall, allgather, deepep or hybrid: how tokens reach experts; empty for the stack's dispatcher."""
    dispatch_bytes: float = 2.0
    """Bytes of a number on its way to experts; numbers on the way back have 16 bits [byte]."""
    dispatch_sms: float = 0.0
    """Multiprocessors of the dispatcher; 0 for copies without a limit and the default cost of hiding [1]."""
    mtp_layers: float = 0.0
    """Layers that predict further tokens, on the last stage [1]."""
    in_turn: bool = False
    """Experts of a token are neighbours."""
    imbalance: float = 1.0
    """Tokens of the fullest rank's experts over the mean [1]."""
    eager: bool = False
    """True if kernels are unfused: every operation is a separate kernel."""
    causal_skip: bool = True
    """True if fused attention skips the masked half of a causal mask."""
    overlap: frozenset[str] = frozenset()
    """Collectives overlapped with computing: gradients, parameters, tensor, pipeline, experts."""
    scatter_gather: bool = True
    """True if tensor-parallel ranks send a shard each to the next stage."""
    order: tuple[str, ...] = RANK_ORDER
    """Axes of ranks, innermost first."""
    offload: str = "none"
    """none, optimizer or parameters: contents of host memory."""
    on_drives: bool = False
    """True if the drives of the node hold them instead of host memory."""
    offload_layers: Number = 0.0
    """Layers of each stage whose activations wait in host memory [1]."""

    @property
    def ranks(self) -> Number:
        """Product of the sizes of all rank axes [1]."""
        ranks: Number = prod(getattr(self, axis.array) for axis in AXES if axis.ranks)
        return ranks

    @property
    def micro_batches(self) -> Number:
        """Micro-batches of a data-parallel rank."""
        return self.batch / (self.data * self.micro)

    @property
    def sharing(self) -> Number:
        """Ranks over which ZeRO shards all parameters but experts."""
        import numpy as np

        return np.where(np.asarray(self.shard) > 0, self.shard, self.reducing)

    @property
    def sharing_experts(self) -> Number:
        """Ranks over which ZeRO shards experts: all that hold the same ones, or as many of them as it shards over."""
        import numpy as np

        return np.where(np.asarray(self.shard) > 0, np.minimum(self.shard, self.expert_data), self.expert_data)

    @property
    def between(self) -> Number:
        """Ranks over which activations between the GEMMs are split: the ranks of sequence parallelism, or one."""
        # no `where`: 0 gives 1, and 1 gives the TP size, of numbers and arrays alike
        return 1.0 + self.sequence_parallel * (self.tensor - 1.0)

    def tokens(self, sequence: Number) -> Number:
        """Return the tokens of a micro-batch on a rank, of sequences of that length."""
        return self.micro * sequence / self.context

    def gathered(self, sequence: Number) -> Number:
        """Return the tokens that all ranks that share a layer's experts hold: e t_e ranks, T / t each [1]."""
        return self.tokens(sequence) / self.tensor * self.expert * self.expert_tensor

    @property
    def width(self) -> float:
        """Bytes of a number in activations."""
        return 4.0 if self.precision == "tf32" else 2.0

    @property
    def operand_width(self) -> float:
        """Bytes of a number that a GEMM reads."""
        return 1.0 if self.precision == "fp8" else self.width

    @property
    def wire_bytes(self) -> Number:
        """Bytes of a gradient in its reduction [byte]."""
        import numpy as np

        return np.where(np.asarray(self.reduced_bytes) > 0, self.reduced_bytes, self.gradient_bytes)

    @property
    def reducing(self) -> Number:
        """Ranks over which the gradients of everything but experts are reduced."""
        return self.data * self.context

    @property
    def expert_data(self) -> Number:
        """Ranks that hold the same experts."""
        return self.data * self.context * self.tensor / (self.expert * self.expert_tensor)


NUMBERS = (
    "gpus",
    "batch",
    *(axis.array for axis in AXES),
    *OPTIONS,
    "shard",
    "unit_layers",
    "reduced_bytes",
    "optimizer_bytes",
    "offload_layers",
)
"""Fields of a plan that are numbers."""
