"""Software stacks that train: what their kernels and their host reach on accelerators of one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.catalog.evidence import CountFigure, DurationFigure, EfficiencyFigure, FractionFigure
from ffplan.catalog.kernels import AttentionKernel
from ffplan.catalog.parts import Part
from ffplan.catalog.runtimes import USUAL
from ffplan.inputs.model import Frozen, Identifier, Many, Text

if TYPE_CHECKING:
    from collections.abc import Iterable

Dispatcher = Literal["alltoall", "allgather", "deepep", "hybrid"]
"""How tokens reach experts: every copy for itself, all tokens to every rank, or once for each node, by DeepEP or
HybridEP."""
Accumulation = Literal["fused", "added", "cast"]
"""How gradients of weights are added up: by the GEMM that makes them, by a kernel of its own, or after a cast."""
Routing = Literal["random", "in-turn"]
"""Experts of a token: any of them, or neighbours that take turns."""


class StackRates(Frozen):
    """Constants of a stack on one kind of accelerator."""

    memory: EfficiencyFigure | None = None
    """Fraction of the memory bandwidth that all but GEMMs and attention reach; the accelerator's if omitted."""
    launch: DurationFigure | None = None
    """Time in which the host launches one layer, forward and backward [s]; omitted where it never delays a step."""
    launch_parallel: DurationFigure | None = None
    """Extra time to launch a layer with tensor parallelism [s]."""
    launch_step: DurationFigure | None = None
    """Time in which the host launches everything outside the layers, for each micro-batch [s]."""


class StackSettings(Frozen):
    """Fields of a plan that all recipes of a stack write alike."""

    gradient_bytes: Literal[2, 4] | None = None
    """Bytes of a gradient as kept and added up, and as reduced unless `grad_reduce_dtype` is given."""
    grad_reduce_dtype: Literal["fp32", "bf16"] | None = None
    """Precision in which gradients are reduced; that in which they are kept if omitted."""
    source: Text | None = None
    """Key under `sources` of what says so; given where a setting is."""
    note: Text | None = None
    """Runs that are otherwise, and other conditions."""

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of a plan that are given, with their values."""
        return self.model_dump(exclude_none=True, exclude={"source", "note"})


class SoftwareStack(Part):
    """A framework of one time with its kernels."""

    kind_words: ClassVar[str] = "software stack"

    kind: Literal["stack"]
    recipe: Text
    """Key under `sources` of what says how its runs were made."""
    date: Annotated[str, Field(pattern=r"^\d{4}(-\d{2})?$")]
    """Year, or year and month, of what was measured."""
    repositories: Many[Text] = ()
    """Words in the title of a source by which its runs are recognised, where they name no stack."""
    attention: dict[Identifier, AttentionKernel] = Field(default_factory=dict)
    """Kernel of fused attention, by the table of kernels of a generation; the table's usual one if omitted."""
    dispatcher: Dispatcher = "alltoall"
    """How tokens reach experts."""
    accumulation: Accumulation = "fused"
    """How gradients of weights are added up over micro-batches: `fused` in the GEMM that makes them, as Megatron-Core
    does; `added` by a kernel, as by PyTorch alone; `cast` after one that writes them at the width of the sum, as by
    DeepSpeed's BF16_Optimizer."""
    benchmark_routing: Routing = "random"
    """Routing of its published benchmarks, which put a gate of their own in the router's place. Runs that are known by
    the title of their source have it; plans that name the stack write their own."""
    settings: StackSettings = StackSettings.model_construct()
    """Fields of a plan that its recipes fix; a plan that names the stack has them unless it writes its own."""
    runtime: Identifier = USUAL
    """Catalogue id of the runtime, which has the margins of device memory."""
    counted_over: FractionFigure | None = None
    """Part by which the memory counted of its published runs, which did fit, exceeds its room, at most. A plan that
    names the stack is at the edge up to there, and refused beyond; none if omitted."""
    sharding_nics: CountFigure | None = None
    """NICs of a node that the collectives of ZeRO 3 use; all if omitted."""
    sharding_calls: CountFigure | None = None
    """Calls by which ZeRO 3 gathers, or scatters, the tensors of one layer; a call for each unit if omitted."""
    constants: dict[Identifier, StackRates] = Field(default_factory=dict)
    """Constants by the set of an accelerator's training constants."""

    @model_validator(mode="after")
    def _sourced(self) -> SoftwareStack:
        if self.settings.fields and self.settings.source is None:
            raise _unsourced("`settings` has no source", self.sources, "settings")
        for field, key in (("recipe", self.recipe), ("settings", self.settings.source)):
            if key is not None and key not in self.sources:
                raise _unsourced(f"the source `{key}` is not under `sources`", self.sources, field)
        return self


def _unsourced(message: str, known: Iterable[str], field: str) -> PydanticCustomError:
    """Return the fault of a field whose source is missing."""
    remedy = f"write one of {', '.join(known)}"
    context = {"rule": "stack", "message": message, "remedy": remedy, "field": field}
    return PydanticCustomError("rule", "{message}", context)
