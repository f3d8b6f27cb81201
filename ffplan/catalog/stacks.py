"""Software for training: stacks with their rates, the memory of runtimes, measured rates of attention kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.catalog.evidence import (
    ComputeFigure,
    CountFigure,
    DataFigure,
    DurationFigure,
    EfficiencyFigure,
    FractionFigure,
    Month,
)
from ffplan.catalog.parts import Part
from ffplan.inputs.model import Count, Frozen, Identifier, Many, Text

if TYPE_CHECKING:
    from collections.abc import Iterable


DEFAULT_RUNTIME = "pytorch"
"""Default runtime of plans and stacks."""


class Runtime(Part):
    """A runtime with its margins of device memory."""

    kind_words: ClassVar[str] = "runtime"

    kind: Literal["runtime"]
    device: DataFigure
    """Device memory of driver, libraries and fragments, unavailable to tensors."""
    reserved: FractionFigure | None = None
    """Memory reserved by the allocator beyond tensors, as a fraction of theirs; unknown if omitted."""
    temporary: CountFigure | None = None
    """Temporary bytes per parameter while Adam updates its shard; unknown if omitted."""


AttentionKernel = Literal["fa1", "triton", "fa2", "fa3", "cudnn", "cudnn-9.19"]
"""FlashAttention 1, its port to Triton, FlashAttention 2 and 3, cuDNN as first measured on a generation, and
cuDNN 9.19 where newer."""
Pass = Literal["forward", "backward", "both"]
Rate = Annotated[float, Field(gt=0, le=1e6)]


class AttentionTable(Frozen):
    """Rates of one kernel by the length of the sequence."""

    kernel: AttentionKernel
    """Kernel."""
    head_dim: Count
    """Width of a head."""
    causal: bool
    """True if the kernel skips blocks removed by a causal mask, whose operations are not counted."""
    measured: Pass
    """Timed pass; a rate of `both` applies to forward and backward alike."""
    lengths: Annotated[Many[Count], Field(min_length=1)]
    """Lengths of the sequence, rising."""
    tflops: Annotated[Many[Rate], Field(min_length=1)]
    """Rates at these lengths, as printed [TFLOP/s]: 4 s^2 h d b operations forward, 10 backward, half of them if
    causal."""
    longest: ComputeFigure
    """Rate at the longest sequence, with the evidence of all rates [TFLOP/s]."""

    @model_validator(mode="after")
    def _paired(self) -> AttentionTable:
        wrong = None
        if len(self.lengths) != len(self.tflops):
            wrong = f"{len(self.tflops)} rates for {len(self.lengths)} lengths"
        elif list(self.lengths) != sorted(set(self.lengths)):
            wrong = "the lengths do not rise"
        elif self.longest.value != self.tflops[-1]:
            wrong = f"`longest` is {self.longest.value:g}, the last of the rates {self.tflops[-1]:g}"
        if wrong:
            raise PydanticCustomError(
                "rule",
                "{message}",
                {
                    "rule": "attention-rates",
                    "message": wrong,
                    "remedy": "write a rate for each length, shortest first",
                    "field": "tflops",
                },
            )
        return self


class AttentionRates(Part):
    """Rates of attention kernels on one generation of accelerators, measured outside training runs."""

    kind_words: ClassVar[str] = "table of attention kernels"

    kind: Literal["attention-rates"]
    peak: ComputeFigure
    """Dense 16-bit peak of the measured accelerator; others of its generation reach the same fraction of theirs."""
    usual: AttentionKernel
    """Default kernel of current frameworks."""
    tables: Annotated[Many[AttentionTable], Field(min_length=1)]
    """The tables."""


Dispatcher = Literal["alltoall", "allgather", "deepep", "hybrid"]
"""Exchange of tokens with experts: each copy separately, all tokens to every rank, or once per node, by DeepEP or
HybridEP."""
Accumulation = Literal["fused", "added", "cast"]
"""Accumulation of weight gradients: by the GEMM that computes them, by a separate kernel, or after a cast."""
Routing = Literal["random", "in-turn"]
"""Experts of a token: random, or neighbours in turn."""


class StackRates(Frozen):
    """Constants of a stack on one kind of accelerator."""

    memory: EfficiencyFigure | None = None
    """Fraction of the memory bandwidth reached outside GEMMs and attention; the accelerator's if omitted."""
    launch: DurationFigure | None = None
    """Host time to launch one layer, forward and backward [s]; omitted if it never delays a step."""
    launch_parallel: DurationFigure | None = None
    """Extra time to launch a layer with tensor parallelism [s]."""
    launch_step: DurationFigure | None = None
    """Host time to launch all work outside the layers, per micro-batch [s]."""


class StackSettings(Frozen):
    """Plan fields with the same value in all recipes of a stack."""

    gradient_bytes: Literal[2, 4] | None = None
    """Bytes of a gradient as kept and added up, and as reduced unless `grad_reduce_dtype` is given."""
    grad_reduce_dtype: Literal["fp32", "bf16"] | None = None
    """Precision of gradients in their reduction; as kept if omitted."""
    source: Text | None = None
    """Key under `sources` of the evidence; required with any setting."""
    note: Text | None = None
    """Runs with other settings, and other conditions."""

    @property
    def fields(self) -> dict[str, Any]:
        """Given plan fields with their values."""
        return self.model_dump(exclude_none=True, exclude={"source", "note"})


class SoftwareStack(Part):
    """A framework at one date, with its kernels."""

    kind_words: ClassVar[str] = "software stack"

    kind: Literal["stack"]
    recipe: Text
    """Key under `sources` of its recipe."""
    date: Month
    """Date of the measurements: year, or year and month."""
    repositories: Many[Text] = ()
    """Words in a source's title that identify its runs if they name no stack."""
    attention: dict[Identifier, AttentionKernel] = Field(default_factory=dict)
    """Kernel of fused attention, by kernel table of a generation; the table's `usual` kernel if omitted."""
    dispatcher: Dispatcher = "alltoall"
    """Exchange of tokens with experts."""
    accumulation: Accumulation = "fused"
    """Accumulation of weight gradients over micro-batches: `fused` in the GEMM that computes them, as in Megatron-Core;
    `added` by a separate kernel, as in plain PyTorch; `cast` after a kernel writes them at the width of the sum, as
    in DeepSpeed's BF16_Optimizer."""
    keeps_gathered: bool = False
    """Whether inputs that tensor-parallel ranks gathered are kept for gradients of weights, as plain PyTorch keeps what
    an operation read; Megatron-Core and Transformer Engine keep a rank's part and gather anew."""
    benchmark_routing: Routing = "random"
    """Routing of its published benchmarks, whose gate replaces the router. It applies to runs identified by their
    source's title; plans that name the stack state their own."""
    settings: StackSettings = StackSettings.model_construct()
    """Plan fields fixed by its recipes; a plan that names the stack uses them unless it states its own."""
    runtime: Identifier = DEFAULT_RUNTIME
    """Catalogue id of the runtime with the margins of device memory."""
    counted_over: FractionFigure | None = None
    """Largest excess of counted memory over the room in published runs that did fit. Plans that name the stack
    are at the edge up to this share, and refused beyond; 0 if omitted."""
    sharding_nics: CountFigure | None = None
    """NICs of a node used by ZeRO 3 collectives; all if omitted."""
    sharding_calls: CountFigure | None = None
    """ZeRO 3 calls to gather, or scatter, the tensors of one layer; one call per unit if omitted."""
    constants: dict[Identifier, StackRates] = Field(default_factory=dict)
    """Constants, by `set` of an accelerator's training constants."""

    @model_validator(mode="after")
    def _sourced(self) -> SoftwareStack:
        if self.settings.fields and self.settings.source is None:
            raise _unsourced("`settings` has no source", self.sources, "settings")
        for field, key in (("recipe", self.recipe), ("settings", self.settings.source)):
            if key is not None and key not in self.sources:
                raise _unsourced(f"the source `{key}` is not under `sources`", self.sources, field)
        return self


def _unsourced(message: str, known: Iterable[str], field: str) -> PydanticCustomError:
    remedy = f"write one of {', '.join(known)}"
    context = {"rule": "stack", "message": message, "remedy": remedy, "field": field}
    return PydanticCustomError("rule", "{message}", context)
