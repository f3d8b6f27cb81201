"""The format of measured training runs; users write the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ffplan.catalog.evidence import Source
from ffplan.catalog.models import Transformer
from ffplan.design.training import PlanFields
from ffplan.inputs.model import Frozen, Identifier, Many, Text
from ffplan.training.axes import AXES
from ffplan.validation.communication_cases import System

SHAPE = ("sequence", "layers", "hidden", "heads", "kv_heads", "ffn", "vocabulary")
"""Columns that replace dimensions of the model."""
PLAN = ("batch", *(axis.field for axis in AXES), "zero", "shard")
"""Columns that replace fields of the plan."""
TIMES = ("seconds", "tflops", "mfu", "tokens_s_gpu")
"""Measures of time."""
SIZES = ("memory_gib", "states_gib", "activations_gib")
"""Measures of memory on the fullest stage: all of it; weights, gradients and optimizer; activations of the first."""
MEASURES = (*TIMES, *SIZES)
"""Columns that were measured."""
if TYPE_CHECKING:
    Column = str
else:
    Column = Literal[("gpus", *PLAN, *SHAPE, *MEASURES)]
Cell = Annotated[float, Field(ge=0, lt=1e12)] | None


class Table(Frozen):
    """Measured steps of one model, or several models of one kind: a row for each plan."""

    id: Identifier
    """Name of the table within its file."""
    system: System
    """System that it ran on."""
    model: Identifier | None = None
    """Catalogue id of the model; or write `shape`."""
    shape: Transformer | None = None
    """Dimensions of the model, in place of `model`."""
    plan: PlanFields = PlanFields()
    """Fields of the plan that all rows share."""
    flops: Literal["model", "causal", "hardware", "6n"] = "model"
    """Operations counted in `tflops` and `mfu`: attention in full, half of it, with recomputation, or 6 operations a
    parameter."""
    columns: Many[Column]
    """Content of each column; several may be measured."""
    rows: Annotated[Many[Annotated[Many[Cell], Field(min_length=1)]], Field(min_length=1)]
    """The rows; null if something was not measured."""
    arithmetic: bool = False
    """True if the source computed the values."""
    fitted: bool = False
    """True if a figure of the catalogue was fitted on these rows."""
    assumed: Text | None = None
    """Setting behind the times that the source does not state; such rows are counted separately."""
    scored: bool = True
    """False if the rows are shown, but count in no summary; say why in `note`."""
    note: Text | None = None
    """Conditions and contradictions."""


class TrainingFile(Frozen):
    """A file of measured training runs."""

    kind: Literal["training-cases"]
    """Kind of file."""
    id: Identifier
    """Name of the source; of a shipped file also its name."""
    name: Text
    """Name for people."""
    source: Source
    """Source of the values."""
    tables: Annotated[Many[Table], Field(min_length=1)]
    """The measured runs."""


SCHEMAS = {
    "training-cases": (TrainingFile, "A file of measured training runs"),
}
"""Files and outputs of this module, with their titles."""
