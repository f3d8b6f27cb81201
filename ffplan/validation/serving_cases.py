"""The format of measured serving runs; users write the same."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.catalog.engines import CachePrecision, ServedPrecision
from ffplan.catalog.evidence import Source
from ffplan.inputs.model import Count, Frozen, Identifier, Many, Text
from ffplan.validation.cases import System

Column = Literal[
    "concurrency",
    "batch",
    "poll",
    "prompt",
    "output",
    "ttft_ms",
    "tpot_ms",
    "itl_ms",
    "tokens_s",
    "latency_s",
    "power_w",
]
"""Kinds of numbers in a point: requests under way or in a batch, steps of decoding between the engine's looks for new
ones, tokens, latencies, output tokens a second, seconds of a whole batch, power of all accelerators."""
ServingLoad = Literal["closed", "offline", "static"]
"""Requests under way at a fixed number; all queued at once; one batch from prompt to last token."""
Open = Literal[
    "version",
    "engine",
    "deployment",
    "batch",
    "chunk",
    "cache",
    "lengths",
    "memory",
    "network",
    "poll",
    "prompt",
    "statistic",
    "speculation",
]
"""Facts that a source leaves open and the row assumes."""
MEASURED = ("ttft_ms", "tpot_ms", "itl_ms", "tokens_s", "latency_s")
"""Columns that are measured."""


class PromptPool(Frozen):
    """Copies that compute prompts, on separate accelerators."""

    copies: Count = 1
    """Copies of the model."""
    tensor: Count = 1
    """Tensor parallelism of each."""
    data: Count = 1
    """Attention groups of each."""
    expert: Count = 1
    """Expert parallelism of each."""


class ServingRun(Frozen):
    """Measured points of one deployment."""

    id: Identifier
    """Name of the run within its file."""
    model: Identifier
    """Catalogue id of the model."""
    accelerator: Identifier
    """Catalogue id of the accelerator."""
    system: System | None = None
    """Nodes and network that join the accelerators; one scale-up network if omitted."""
    engine: Identifier
    """Catalogue id of the engine."""
    version: Text
    """Version of the engine, or the date of the run."""
    load: ServingLoad = "closed"
    """Kind of load."""
    precision: ServedPrecision
    """Precision of the weights."""
    cache: CachePrecision | None = None
    """Precision of keys and values; the engine's own if omitted."""
    tensor: Count = 1
    """Tensor parallelism."""
    pipeline: Count = 1
    """Pipeline stages."""
    data: Count = 1
    """Attention groups."""
    expert: Count = 1
    """Expert parallelism."""
    copies: Count = 1
    """Copies of the model that decode; more than one only with `prefill`."""
    prefill: PromptPool | None = None
    """Copies that compute prompts while others decode; the plan above is for a decoding copy."""
    speculation: Literal["mtp", "draft", "ngram"] | None = None
    """Speculative decoding; no row with it is modelled, since none gives the acceptance."""
    memory: Annotated[float, Field(gt=0, le=1)] | None = None
    """Fraction of device memory that the engine took; its default if omitted."""
    chunk: Count | None = None
    """Most tokens of a step; the engine's default if omitted."""
    prompt: Count | None = None
    """Tokens of a prompt, if no column gives them."""
    output: Count | None = None
    """Tokens of an answer, if no column gives them."""
    shortest: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Least length as a fraction of the nominal one; lengths are drawn evenly from there on."""
    statistic: Literal["mean", "median"] = "mean"
    """Statistic of the latencies."""
    open: Many[Open] = ()
    """Open questions of the source."""
    columns: Many[Column]
    """Meaning of the numbers of a point."""
    points: Annotated[Many[Annotated[tuple[float, ...], Field(strict=False)]], Field(min_length=1)]
    """Measured points."""
    scored: bool = True
    """False if the rows are shown, but count in no summary; say why in `note`."""
    note: Text | None = None
    """Conditions and contradictions."""

    @model_validator(mode="after")
    def _complete(self) -> ServingRun:
        wrong = None
        load = "concurrency" in self.columns or "batch" in self.columns
        if any(len(point) != len(self.columns) for point in self.points):
            wrong = ("points", "a point has not one number for each column", "write as many numbers as `columns`")
        elif any(not 0 < number < 1e9 for point in self.points for number in point):
            wrong = ("points", "a number is not above 0", "leave out points without a measured value")
        elif not set(self.columns) & set(MEASURED):
            wrong = ("columns", "no column is measured", f"write one of {', '.join(MEASURED)}")
        elif (self.prefill is not None or self.copies > 1) and not self._apart():
            wrong = ("prefill", "pools need a closed load with `prefill` and concurrency", "correct the run")
        elif not load and self.load != "offline":
            wrong = ("columns", "no column gives the load", "write `concurrency` or `batch`")
        elif not all(getattr(self, name) is not None or name in self.columns for name in ("prompt", "output")):
            wrong = ("prompt", "the tokens of prompt and answer are needed", "write `prompt` and `output`")
        if wrong:
            field, message, remedy = wrong
            context = {"rule": "serving-cases", "message": message, "remedy": remedy, "field": field}
            raise PydanticCustomError("rule", "{message}", context)
        return self

    def _apart(self) -> bool:
        return self.prefill is not None and self.load == "closed" and "concurrency" in self.columns


class Assumption(Frozen):
    """A setting of runs that their source does not state."""

    status: Literal["D", "R"]
    """D if it is derived from other numbers, R if it is recalled and unverified."""
    note: Text
    """What is assumed, and why."""


class ServingFile(Frozen):
    """A file of measured serving runs."""

    kind: Literal["serving-cases"]
    """Kind of file."""
    id: Identifier
    """Name of the source; of a shipped file also its name."""
    name: Text
    """Name for people."""
    source: Source
    """Source of the values."""
    note: Text | None = None
    """Conditions of all runs."""
    assumed: dict[Open, Assumption] = Field(default_factory=dict)
    """What runs assume where the source leaves it open."""
    runs: Annotated[Many[ServingRun], Field(min_length=1)]
    """The runs."""


SCHEMAS = {"serving-cases": (ServingFile, "A file of measured serving runs")}
"""Files and outputs of this module, with their titles."""
