"""The schema of a training plan and of a job, with the settings of training frameworks.

A plan names a preset and overrides single fields of it.

Gradient widths equal the catalogue's stacks, which cite sources.

Sources:
    [1] NVIDIA/dgxc-benchmarking v25.02 to v25.05, NeMo recipes: `grad_reduce_in_fp32 = False`, distributed optimizer,
        overlap of gradients, parameters, tensor parallelism and point-to-point.
    [2] bigscience-workshop/bigscience, tr11-176B-ml: DeepSpeed's BF16_Optimizer adds gradients up at 32 bits and
        reduces them at 16.
    [3] pytorch/torchtitan, 9dec370: FSDP2 with parameters at 16 bits, `mixed_precision_reduce` float32; sharded
        parameters at 32 bits are the optimizer's own copy.
    [4] DeepSeek-V3 report, arXiv 2412.19437, sections 3.2 and 3.3: DualPipe hides dispatch and combine; moments at 16
        bits, main parameters and gradients at 32; norms, MLA up-projections and SwiGLU are recomputed.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.catalog.stacks import Dispatcher, Routing
from ffplan.inputs.model import Count, Frozen, Many
from ffplan.inputs.part_ids import ModelId, StackId
from ffplan.inputs.workloads import Tokens

Preset = Literal["megatron-core", "nemo", "deepspeed", "fsdp", "deepseek"]

MEGATRON: dict[str, Any] = {
    "zero": 1,
    "grad_dtype": "fp32",
    "grad_reduce_dtype": "fp32",
    "main_params": "fp32",
    "optimizer_dtype": "fp32",
    "overlap": ("gradients", "parameters", "tensor", "pipeline"),
}
"""Fields of Megatron-LM with --bf16 and 32-bit gradient accumulation: 18 bytes of states a parameter before ZeRO."""
PRESETS: dict[str, dict[str, Any]] = {
    "megatron-core": MEGATRON,
    "nemo": {**MEGATRON, "grad_dtype": "bf16", "grad_reduce_dtype": "bf16"},
    "deepspeed": {
        "zero": 1,
        "weights_copy": True,
        "grad_dtype": "fp32",
        "grad_reduce_dtype": "bf16",
        "main_params": "fp32",
        "optimizer_dtype": "fp32",
        "overlap": ("gradients", "parameters"),
    },
    "fsdp": {
        "zero": 3,
        "grad_dtype": "fp32",
        "grad_reduce_dtype": "fp32",
        "main_params": "fp32",
        "optimizer_dtype": "fp32",
        "overlap": ("gradients", "parameters"),
    },
    "deepseek": {
        "zero": 1,
        "precision": "fp8",
        "schedule": "dualpipe",
        "grad_dtype": "fp32",
        "grad_reduce_dtype": "fp32",
        "main_params": "fp32",
        "optimizer_dtype": "bf16",
        "recompute_parts": ("norms", "latent", "activation"),
        "overlap": ("gradients", "parameters", "pipeline", "experts"),
        "stack": "deepseek-2024",
        "dispatcher": "deepep",
        "dispatch_dtype": "fp8",
    },
}
"""Fields of a plan by preset: `nemo` [1], `deepspeed` [2], `fsdp` [3], `deepseek` [4]."""


Precision = Literal["bf16", "fp16", "fp8", "tf32"]
Recompute = Literal["none", "selective", "full", "keep-qkv", "keep-products", "every-second"]
Width = Literal["fp32", "bf16"]
RecomputePart = Literal["norms", "latent", "activation", "qkv", "attention", "out", "up", "down"]
BYTES = {"fp32": 4, "bf16": 2, "none": 0}
"""Bytes of a number by precision."""
Schedule = Literal["1f1b", "zb-h1", "zb-2p", "zb-v", "v-half", "v-min", "dualpipe"]
Overlap = Literal["gradients", "parameters", "tensor", "pipeline", "experts"]
Axis = Literal["tensor", "context", "data", "pipeline"]
Zero = Annotated[int, Field(ge=0, le=3)]
LEAST_ZERO = {"shard": 1, "unit_layers": 3}
"""Lowest ZeRO stage at which each field has an effect; below it the field is refused."""


class PlanFields(Frozen):
    """Parallelism of a model over accelerators, and overlap of its collectives."""

    tensor: Count = 1
    """TP size."""
    pipeline: Count = 1
    """Pipeline stages."""
    chunks: Count = 1
    """Chunks of each stage, for interleaved 1F1B."""
    context: Count = 1
    """CP size: ranks that split a sequence."""
    context_exchange: Literal["ring", "heads"] = "ring"
    """Exchange of context parallelism: `ring` passes keys and values around; `heads` gives every rank some heads of the
    whole sequence by all-to-all, as DeepSpeed-Ulysses."""
    expert: Count = 1
    """EP size, over ranks of data and context parallelism."""
    expert_tensor: Count | None = None
    """TP size within experts; equal to `tensor` if omitted."""
    data: Count | None = None
    """Data-parallel ranks; if omitted, the ranks left by the other axes."""
    micro_batch: Count = 1
    """Sequences, or images, of a micro-batch."""
    batch: Count | None = None
    """Sequences, or images, of a step over all ranks; if omitted, one micro-batch a rank for convolutional networks."""
    sequence: Count | None = None
    """Length of a sequence; the model's default if omitted."""
    schedule: Schedule = "1f1b"
    """Schedule of the pipeline."""
    sequence_parallel: bool = True
    """Sequence parallelism: TP ranks also split, along the sequence, the activations between the GEMMs."""
    zero: Zero = 1
    """ZeRO stage: 0 none, 1 shards optimizer states, 2 also gradients, 3 also parameters (FSDP)."""
    shard: Count | None = None
    """Ranks that ZeRO shards over (HSDP); all data-parallel ranks if omitted."""
    unit_layers: Count = 1
    """Layers that ZeRO 3 gathers and scatters together, an FSDP unit; the embedding is a separate unit."""
    precision: Precision = "bf16"
    """Precision of GEMMs; activations have 16 bits, 32 with tf32."""
    recompute: Recompute = "none"
    """Activation recomputation: none; selective, the core of attention; full, the whole layer; keep-qkv, all but
    queries, keys, values and the last GEMM, as MaxText's save_qkv_proj; keep-products, all but GEMMs, as Paxml's
    SAVE_DOT_ONLY; every-second, every second GEMM and all element-wise kernels, as torchtitan's `op`."""
    gradient_bytes: Literal[2, 4] = 4
    """Bytes of a gradient in memory and in its reduction, unless `grad_dtype` or `grad_reduce_dtype` is given."""
    grad_dtype: Width | None = None
    """Precision of gradients as kept and accumulated; from `gradient_bytes` if omitted."""
    grad_reduce_dtype: Width | None = None
    """Precision of gradients in their reduction; as kept if omitted."""
    main_params: Literal["fp32", "bf16", "none"] = "fp32"
    """Precision of the optimizer's parameter copy; `none` if it updates the parameters in place."""
    optimizer_dtype: Width = "fp32"
    """Precision of Adam's two moments."""
    weights_copy: bool = False
    """ZeRO 3 keeps a sharded 16-bit copy of the weights besides the optimizer's, as in DeepSpeed; otherwise weights
    are cast when gathered, as in FSDP and MaxText. `offload` always implies the copy."""
    recompute_parts: Many[RecomputePart] = ()
    """Parts of every layer recomputed in the backward pass: outputs of norms; queries, keys and values
    from the latents of latent attention; results of the activation function; or operators: the GEMM of queries, keys
    and values, the core of attention, its output GEMM, and the GEMMs into and out of the feed-forward network."""
    attention: Literal["fused", "unfused", "fa1", "triton", "fa2", "fa3", "cudnn", "cudnn-9.19"] = "fused"
    """Attention kernel: `unfused` passes the scores through memory, all others keep them on the chip: FlashAttention 1
    to 3, Triton's port of 1, cuDNN as first measured and 9.19; `fused` is the stack's kernel."""
    stack: StackId | None = None
    """Catalogue id of the software stack; if omitted, the values common to published stacks, and for measured runs the
    stack named by their source, or the one of most published runs on the accelerator."""
    elementwise: Literal["fused", "eager"] = "fused"
    """Kernels of norms, positions, activations and the loss: `fused` has few, `eager` one for every operation, as
    in PyTorch without a compiler."""
    dispatcher: Dispatcher | None = None
    """Exchange of tokens with experts: `alltoall` sends every copy separately; `allgather` copies all tokens to every
    rank that shares the experts, and sums results by a reduce-scatter; `deepep` and `hybrid` (HybridEP) send a
    token once to each node, or scale-up domain, and forward it there; the stack's if omitted."""
    dispatch_dtype: Literal["bf16", "fp8"] = "bf16"
    """Precision of tokens, and of gradients, on their way to experts; on their way back they have 16 bits."""
    dispatch_sms: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Multiprocessors (SMs) of DeepEP or HybridEP. In DeepEP each copies at most the rate of an NCCL channel, unlimited
    if omitted; a hidden exchange takes them from computing, 20 if omitted."""
    mtp_layers: Annotated[int, Field(ge=0, le=16)] = 0
    """Layers that predict further tokens (multi-token prediction), on the last stage: each projects two widths to one,
    and runs the output layer once more. MFU ignores them."""
    routing: Routing = "random"
    """Experts of a token: `random`, any; `in-turn`, neighbours in turn, as with the gates of benchmarks: they lie on
    one or two nodes, which saves traffic if a token goes to each node once."""
    imbalance: Annotated[float, Field(ge=1, le=64)] = 1.0
    """Tokens of the fullest rank's experts over the mean; 1 for forced balance, as in benchmarks."""
    causal_skip: bool = True
    """Fused attention skips the blocks that a causal mask removes."""
    overlap: Many[Overlap] = ("gradients", "parameters")
    """Collectives overlapped with computing."""
    scatter_gather: bool = True
    """Each tensor-parallel rank sends one shard to the next stage, which gathers them."""
    order: Many[Axis] = ("tensor", "context", "data", "pipeline")
    """Axes of ranks, innermost first: the first fill a node."""
    offload: Literal["none", "optimizer", "parameters"] = "none"
    """States offloaded to host memory or the node's drives."""
    offload_to: Literal["memory", "drives"] = "memory"
    """Place of offloaded states: host memory, or the node's data drives, as in ZeRO-Infinity."""
    offload_layers: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Layers of each stage with activations offloaded to host memory until the backward pass."""
    bucket_mib: Annotated[float, Field(ge=0.001, le=1e6)] = 25.0
    """Size of a gradient bucket before its reduction, for convolutional networks [MiB]."""
    reducer: Literal["nccl", "rccl", "hfreduce", "hfreduce-nvlink"] | None = None
    """Library that reduces gradients; the design's first if omitted, nccl in files of measured runs."""
    preset: Preset | None = None
    """Framework whose settings fill omitted fields."""

    @property
    def attention_kernel(self) -> str:
        """Kernel of fused attention named by the plan; empty for the stack's, or unfused attention."""
        return "" if self.attention in ("fused", "unfused") else self.attention

    @property
    def kept_bytes(self) -> int:
        """Bytes of a gradient as kept [byte]."""
        return BYTES[self.grad_dtype] if self.grad_dtype else self.gradient_bytes

    @property
    def reduced_bytes(self) -> int:
        """Bytes of a gradient as reduced [byte]."""
        return BYTES[self.grad_reduce_dtype] if self.grad_reduce_dtype else self.kept_bytes

    @property
    def optimizer_bytes(self) -> int:
        """Optimizer bytes per parameter: its copy, unless parameters have 32 bits, and moments."""
        copy = 0 if self.precision == "tf32" else BYTES[self.main_params]
        return copy + 2 * BYTES[self.optimizer_dtype]

    @property
    def casts(self) -> bool:
        """Whether ZeRO 3 keeps only the optimizer's copy of the weights, and casts gathered ones."""
        return not self.weights_copy and self.main_params != "none" and self.precision != "tf32"

    @property
    def reduces_whole(self) -> bool:
        """Whether the requested library has allreduce but no reduce-scatter, as HFReduce."""
        return self.reducer not in (None, "nccl", "rccl")

    @model_validator(mode="after")
    def _consistent(self) -> PlanFields:
        wrong = None
        if sorted(self.order) != ["context", "data", "pipeline", "tensor"]:
            fault = "`order` names each of tensor, context, data and pipeline once"
            wrong = ("order", fault, "write all four, innermost first")
        elif self.chunks > 1 and self.schedule != "1f1b":
            fault = f"`chunks` belong to 1f1b, not to {self.schedule}"
            wrong = ("chunks", fault, "leave out `chunks`, or write schedule: 1f1b")
        elif self.shard is not None and self.zero < LEAST_ZERO["shard"]:
            wrong = ("shard", "`shard` has no effect with `zero: 0`", "leave it out, or write zero: 3")
        elif self.unit_layers > 1 and self.zero < LEAST_ZERO["unit_layers"]:
            fault = f"`unit_layers` has no effect with `zero: {self.zero}`"
            wrong = ("unit_layers", fault, "leave it out, or write zero: 3 beside it")
        elif self.weights_copy and self.zero < 3 and self.preset is None:
            fault = f"`weights_copy` has no effect with `zero: {self.zero}`"
            wrong = ("weights_copy", fault, "leave it out, or write zero: 3 beside it")
        elif self.offload_to == "drives" and (self.offload == "none" or self.offload_layers):
            fault = "`offload_to: drives` holds optimizer states and parameters, and no activations"
            wrong = ("offload_to", fault, "write offload: optimizer or parameters, and leave out `offload_layers`")
        if wrong:
            field, message, remedy = wrong
            raise PydanticCustomError(
                "rule", "{message}", {"rule": "training-plan", "message": message, "remedy": remedy, "field": field}
            )
        return self


class Workload(Frozen):
    """The job that the cluster is bought for."""

    model: ModelId
    """Catalogue id of the model, a transformer."""
    tokens: Tokens | None = None
    """Tokens to train on, required for days, cost and energy of the run [1]."""
    batch: Count | None = None
    """Sequences of a step; about 4 million tokens if omitted [1]."""
    gpus: Count | None = None
    """Accelerators of the job; as many as it can span if omitted [1]."""
    plan: PlanFields | None = Field(default=None)
    """Parallel plan; the fastest is searched if omitted."""
    search: bool = False
    """Search the fastest plan even with `plan`, whose fields are kept."""


class PlanFile(PlanFields):
    """A file with a training plan."""

    kind: Literal["training-plan"]
    """Kind of file."""


SCHEMAS = {
    "training-plan": (PlanFile, "A training plan"),
}
"""Files and outputs of this module, with their titles."""
