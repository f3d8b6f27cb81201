"""Serving engines: their settings, features, and constants on one kind of accelerator."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.catalog.evidence import CountFigure, DataFigure, DurationFigure, EfficiencyFigure, FractionFigure, Month
from ffplan.catalog.parts import Part
from ffplan.inputs.model import Frozen, Identifier, Many, Text

CachePrecision = Literal["bf16", "fp8"]
"""Precision of keys and values."""
ServedPrecision = Literal["bf16", "fp8", "fp4", "mxfp4", "int4"]
"""Precision of the weights of linear layers; `fp4` is NVFP4."""
Feature = Literal["chunked-prefill", "prefix-cache", "mtp", "draft", "ngram", "data-attention", "pipeline"]
"""Features of an engine: chunked prompts during decoding, a cache of prefixes, speculation by the model's own layer,
a small model or past text, attention groups that share experts, stages."""
ANY = "any"
"""Key of the constants for accelerators without measured runs."""


class EngineRates(Frozen):
    """Constants of an engine on one kind of accelerator."""

    weights: EfficiencyFigure
    """Fraction of the memory bandwidth that reading weights reaches."""
    experts: EfficiencyFigure
    """The same of experts, whose matrices are small."""
    cache: EfficiencyFigure
    """The same of keys and values."""
    matrix: EfficiencyFigure
    """Fraction of the dense 16-bit peak that GEMMs of prompts reach."""
    matrix_fp8: EfficiencyFigure
    """Fraction of the dense 8-bit peak."""
    matrix_fp4: EfficiencyFigure
    """Fraction of the dense 4-bit peak."""
    grouped: EfficiencyFigure
    """Fraction of that rate that GEMMs of experts reach, with tokens sorted to them unevenly."""
    attention: EfficiencyFigure
    """Fraction of the dense 16-bit peak that attention of prompts reaches."""
    layer: DurationFigure
    """Time of a layer beyond memory and arithmetic [s]."""
    expert_layer: DurationFigure
    """Time more of a layer with experts [s]."""
    latent_layer: DurationFigure
    """Time more of a layer with latent attention, whose kernels are more [s]."""
    quantised_layer: DurationFigure
    """Time more of a layer that quantises activations before its GEMMs [s]."""
    sequence: DurationFigure
    """Time of a sequence in a step: scheduling, sampling, text [s]."""
    expert_sequence: DurationFigure
    """Time more of a sequence of a model with experts [s]."""
    call: DurationFigure
    """Latency of a collective within a step [s]."""
    exchange: DurationFigure
    """Latency of a dispatch or a combine of tokens to experts within a step [s]."""
    step: DurationFigure
    """Time of a step whatever is in it [s]."""
    first: DurationFigure
    """Time of a request outside steps: HTTP, tokens, transport of the first answer [s]."""
    prompt_layer: DurationFigure
    """Least time of a layer, or of its experts, in a step with a prompt: the host launches every kernel [s]."""
    runs: Annotated[int, Field(ge=0)] = 0
    """Measured rows behind the constants; 0 for constants of a related accelerator."""


class PowerShares(Frozen):
    """Power of an accelerator as fractions of its thermal design power; their sum counts up to 1."""

    idle: FractionFigure
    """While no request is under way."""
    base: FractionFigure
    """While it serves, whatever it does."""
    memory: FractionFigure
    """More while it reads weights, keys and values."""
    compute: FractionFigure
    """More while GEMMs run."""


class Engine(Part):
    """A serving engine at one range of versions."""

    kind_words: ClassVar[str] = "serving engine"

    kind: Literal["engine"]
    software: Identifier
    """Name of the software, such as vllm."""
    versions: Many[Text] = ()
    """First and last version of the measurements; empty if they name none."""
    date: Month
    """Date of the measurements: year, or year and month."""
    cache: dict[ServedPrecision, CachePrecision] = Field(default_factory=dict)
    """Precision of keys and values by precision of the weights, unless the plan states it; bf16 if omitted."""
    features: Many[Feature] = ()
    """Its features."""
    memory: FractionFigure
    """Fraction of device memory that it takes."""
    reserve: DataFigure
    """Memory of activations, graphs and communication, within that fraction [byte]."""
    block: CountFigure
    """Tokens of a block of keys and values."""
    chunk: CountFigure
    """Most tokens of a step."""
    sequences: CountFigure
    """Most sequences that it runs at a time."""
    power: PowerShares
    """Power of an accelerator by activity."""
    band: FractionFigure
    """P10 to P90 of time over model, as a fraction up and down, for accelerators with measured runs."""
    band_kin: FractionFigure
    """The same for others."""
    admission: Literal["whole", "prompt"]
    """Room that a request needs to start: for its prompt and its whole answer, or for its prompt alone; then the
    youngest request is evicted, and computed again, when memory is full."""
    mixed: bool = True
    """True if sequences decode in steps that carry prompts; else prompts have steps of their own, which go first."""
    rates: dict[Identifier, EngineRates]
    """Constants by catalogue id of the accelerator; `any` for the others."""

    @model_validator(mode="after")
    def _has_any(self) -> Engine:
        if ANY not in self.rates:
            context = {
                "rule": "engine",
                "message": f"`rates` has no `{ANY}`",
                "remedy": "write the constants for accelerators without measured runs",
                "field": "rates",
            }
            raise PydanticCustomError("rule", "{message}", context)
        return self
