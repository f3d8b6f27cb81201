"""Section of a design file about the model that it serves, imported on demand."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.catalog.engines import CachePrecision, ServedPrecision
from ffplan.inputs.model import Count, Frozen, Text
from ffplan.inputs.part_ids import ModelId
from ffplan.inputs.workloads import PoolText, RequestRate


class Serving(Frozen):
    """The model that the cluster serves, and its load; fields are named like the options of `ffplan serve`."""

    model: ModelId
    """Catalogue id of the model, a transformer."""
    rate: RequestRate | None = None
    """Requests that arrive over all copies, such as `120/s` [1/s]."""
    concurrency: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Requests under way on a copy, in place of a rate [1]."""
    isl: Count = 1024
    """Tokens of a prompt [1]."""
    osl: Count = 1024
    """Tokens of an answer [1]."""
    engine: Text = "vllm"
    """Serving engine, such as `vllm@0.12`."""
    precision: ServedPrecision | None = None
    """Precision of the weights; as published if omitted."""
    kv: CachePrecision | None = None
    """Precision of keys and values; the engine's if omitted."""
    tp: Count | None = None
    """Tensor parallelism; the fewest ranks with room for 16 requests if omitted."""
    pp: Count | None = None
    """Pipeline stages."""
    ep: Count | None = None
    """Expert parallelism."""
    dp: Count | None = None
    """Attention groups, which share experts."""
    chunk: Count | None = None
    """Most tokens of a step; the engine's if omitted."""

    prefill: PoolText | None = None
    """Copies that compute prompts only, such as `4xTP8`; needs `decode`."""
    decode: PoolText | None = None
    """Copies that decode only, such as `1xDEP32`."""

    @model_validator(mode="after")
    def _two_pools(self) -> Serving:
        given = [name for name in ("tp", "pp", "ep", "dp") if getattr(self, name) is not None]
        wrong = None
        if (self.prefill is None) != (self.decode is None):
            field = "prefill" if self.decode is None else "decode"
            wrong = (field, "pools are two: `prefill` and `decode`", "write both, such as 4xTP8 and 1xDEP32")
        elif self.prefill is not None and given:
            wrong = (given[0], f"`{given[0]}` has no effect beside `prefill` and `decode`", "leave it out")
        if wrong:
            context = {"rule": "design-serving", "message": wrong[1], "remedy": wrong[2], "field": wrong[0]}
            raise PydanticCustomError("rule", "{message}", context)
        return self

    @model_validator(mode="after")
    def _one_load(self) -> Serving:
        if (self.rate is None) == (self.concurrency is None):
            context = {
                "rule": "design-serving",
                "message": "`serving` needs a rate or a concurrency, and not both",
                "remedy": "write `rate: 120/s`, or `concurrency: 64` for requests under way on a copy",
                "field": "rate",
            }
            raise PydanticCustomError("rule", "{message}", context)
        return self
