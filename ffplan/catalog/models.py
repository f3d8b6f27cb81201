"""Workloads: transformers by their dimensions, convolutional networks by their layers."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.catalog.evidence import Figure
from ffplan.catalog.parts import Part
from ffplan.inputs.model import Count, Frozen, Many, Text


class ParameterFigure(Figure):
    """A published number of parameters [1] with evidence."""

    value: Annotated[float, Field(ge=1e3, le=1e15)]
    low: Annotated[float, Field(ge=1e3, le=1e15)] | None = None
    high: Annotated[float, Field(ge=1e3, le=1e15)] | None = None


class Latent(Frozen):
    """Multi-head latent attention: keys and values through a narrow latent vector."""

    query_rank: Count | None = None
    """Rank of the compressed queries; if omitted, queries are not compressed."""
    key_value_rank: Count
    """Rank of the compressed keys and values."""
    rope_dim: Count
    """Width of a head's positional part."""
    nope_dim: Count
    """Width of the rest of a query's or key's head."""
    value_dim: Count
    """Width of a value's head."""


class Experts(Frozen):
    """A mixture of experts in place of the feed-forward network."""

    routed: Count
    """Experts that tokens are routed to."""
    top_k: Annotated[int, Field(ge=1, le=64)]
    """Routed experts of one token."""
    groups: Count | None = None
    """Groups of equal numbers of experts, such as one per node; one group if omitted."""
    top_groups: Count | None = None
    """Groups that a token may go to; all if omitted."""
    shared: Annotated[int, Field(ge=0, le=64)] = 0
    """Experts that every token goes to."""
    ffn: Count
    """Inner width of an expert."""
    shared_ffn: Count | None = None
    """Inner width of all shared experts together; `shared` times `ffn` if omitted."""
    dense_layers: Annotated[int, Field(ge=0)] = 0
    """First layers with a plain feed-forward network, of the model's width `ffn`, instead of experts."""
    every: Annotated[int, Field(ge=1, le=64)] = 1
    """One in `every` of the remaining layers has experts; the others have the plain network."""


class Window(Frozen):
    """Layers whose attention reaches back a fixed number of tokens."""

    layers: Count
    """Layers with a sliding window; the others attend to all tokens."""
    tokens: Count
    """Tokens that they attend to."""


class Transformer(Frozen):
    """The dimensions of a decoder-only transformer."""

    layers: Count
    """Layers."""
    hidden: Count
    """Width of the model."""
    heads: Count
    """Attention heads."""
    kv_heads: Count | None = None
    """Heads of keys and values (grouped-query attention); equal to `heads` if omitted."""
    head_dim: Count | None = None
    """Width of a head; `hidden` over `heads` if omitted."""
    ffn: Count
    """Inner width of the feed-forward network."""
    gated: bool = False
    """True for SwiGLU and other gated networks, with three matrices instead of two."""
    biases: bool = False
    """True if linear layers and norms have biases."""
    vocabulary: Count
    """Entries of the vocabulary."""
    sequence: Count
    """Default sequence length in training."""
    positions: Annotated[int, Field(ge=0)] = 0
    """Number of learned position embeddings; 0 for rotary or ALiBi."""
    tied: bool = False
    """True if input and output share one embedding."""
    latent: Latent | None = None
    """Multi-head latent attention in place of plain heads."""
    experts: Experts | None = None
    """Mixture of experts."""
    window: Window | None = None
    """Layers with a sliding window, beyond which fused kernels compute nothing."""
    checkpoint: Literal["bf16", "fp8", "mxfp4"] = "bf16"
    """Precision of the published weights, at which they are served unless a plan gives another."""
    attention_fp4: Literal["fp4", "fp8", "bf16"] = "fp4"
    """Precision of the matrices around attention in 4-bit checkpoints, which may quantise experts alone."""

    @property
    def key_value_heads(self) -> int:
        """Heads of keys and values; as many as heads if the model does not group them."""
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def head_width(self) -> int:
        """Width of a head, without latent attention."""
        return self.hidden // self.heads if self.head_dim is None else self.head_dim

    @model_validator(mode="after")
    def _divides(self) -> Transformer:
        wrong = None
        if self.head_dim is None and self.latent is None and self.hidden % self.heads:
            wrong = ("heads", "`heads` does not divide `hidden`", "write `head_dim`, or heads that divide it")
        elif self.kv_heads is not None and self.heads % self.kv_heads:
            wrong = ("kv_heads", "`kv_heads` does not divide `heads`", "write kv_heads that divide heads")
        elif self.experts is not None and self.experts.top_k > self.experts.routed:
            wrong = ("experts", "a token goes to more experts than there are", "write a smaller `top_k`")
        elif self.experts is not None and (self.experts.top_groups or 1) > (self.experts.groups or 1):
            wrong = ("experts", "a token goes to more groups of experts than there are", "write more `groups`")
        elif self.window is not None and self.window.layers > self.layers:
            wrong = ("window", "more layers with a window than layers", "write fewer `layers` of the window")
        elif self.experts is not None and self.experts.dense_layers > self.layers:
            wrong = ("experts", "more dense layers than layers", "write fewer `dense_layers`")
        if wrong:
            field, message, remedy = wrong
            raise PydanticCustomError(
                "rule", "{message}", {"rule": "number-range", "message": message, "remedy": remedy, "field": field}
            )
        return self


class Convolution(Frozen):
    """Convolutions of one kind, or fully connected layers, of a network."""

    name: Text
    """Name of the layers."""
    inputs: Count
    """Channels in."""
    outputs: Count
    """Channels out."""
    kernel: Count = 1
    """Width of the square kernel; 1 for fully connected layers."""
    size: Count = 1
    """Width of the square output; 1 for fully connected layers."""
    count: Count = 1
    """Number of such layers."""
    bias: bool = False
    """True with a bias for each output channel."""
    norm: bool = False
    """True with a batch norm after it."""
    relu: bool = True
    """True with a rectifier after it."""
    add: bool = False
    """True if its output is added to another, as at the end of a residual block."""
    pool: Count = 1
    """Width of the square pooling after the last layer; 1 for none."""


class Model(Part):
    """A model to train."""

    kind_words: ClassVar[str] = "model"

    kind: Literal["model"]
    parameters: ParameterFigure | None = None
    """Published number of parameters, if known; the dimensions give it as well."""
    active: ParameterFigure | None = None
    """Published number of active parameters per token, for mixtures of experts."""
    transformer: Transformer | None = None
    """Dimensions of a transformer."""
    convolutions: Many[Convolution] = ()
    """Layers of a convolutional network."""

    @model_validator(mode="after")
    def _one_kind(self) -> Model:
        if (self.transformer is None) == (not self.convolutions):
            raise PydanticCustomError(
                "rule",
                "{message}",
                {
                    "rule": "schema-choice",
                    "message": "a model has either `transformer` or `convolutions`",
                    "remedy": "write one of the two",
                },
            )
        return self
