"""Measured rates of attention kernels on one generation of accelerators."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.catalog.evidence import ComputeFigure
from ffplan.catalog.parts import Part
from ffplan.inputs.model import Count, Frozen, Many

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
