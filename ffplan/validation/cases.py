"""The formats of measured communication cases and training runs; users write the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ffplan.catalog.evidence import Source
from ffplan.catalog.models import Transformer
from ffplan.catalog.rates import Protocol
from ffplan.collectives.nccl import NAMES
from ffplan.collectives.volumes import Operation
from ffplan.design.training import PlanFields
from ffplan.inputs.model import Count, Frozen, Identifier, Many, Text
from ffplan.inputs.quantities import Bandwidth, Data, Duration, Ratio, describe
from ffplan.training.axes import AXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    AlgorithmName = str
else:
    AlgorithmName = Literal[NAMES]
LibraryName = Literal["auto", "nccl", "rccl", "hfreduce", "hfreduce-nvlink", "deepep"]
Metric = Literal["time_us", "algbw_gbyte_s", "busbw_gbyte_s", "deepep_gbyte_s"]
Ways = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,6}$")]
"""A whole number as the key of a mapping."""
Measured = Annotated[float, Field(gt=0)]
Levels = Annotated[Many[Measured], Field(max_length=3)]
"""Values of node, leaf and spine."""


def _value(value: object) -> float | tuple[float, float] | None:
    """Return a measured value: a number, a range as a pair, or None."""
    ends: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
    plain = all(
        isinstance(end, int | float) and not isinstance(end, bool) and SMALLEST <= end < LARGEST for end in ends
    )
    if value is None:
        return None
    if plain and len(ends) == 1 and not isinstance(value, list | tuple):
        return float(ends[0])
    if plain and len(ends) == 2 and ends[0] <= ends[1]:
        return (float(ends[0]), float(ends[1]))
    raise PydanticCustomError(
        "rule",
        "{message}",
        {
            "rule": "communication-cases",
            "message": f"{describe(value)} is not a measured value",
            "remedy": "write a number above 0, a range [low, high], or null without a measurement",
        },
    )


SMALLEST, LARGEST = 1e-6, 1e15
"""Bounds of a measured value, in the unit of its metric."""
Value = Annotated[
    float | tuple[float, float] | None,
    PlainValidator(_value),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 2, "maxItems": 2},
                {"type": "null"},
            ]
        }
    ),
]
"""A measured value: a number, a range, or null."""


class System(Frozen):
    """System of a case: catalogue ids, and its differences from them."""

    server: Identifier
    """Catalogue id of the server."""
    accelerator: Identifier | None = None
    """Accelerator in place of the server's own."""
    cpu: Identifier | None = None
    """CPU in place of the server's own."""
    nic: Identifier | None = None
    """NIC in place of the server's own, on every slot."""
    nics: Count | None = None
    """NICs in use on each node: the first ones; all on the compute network if omitted."""
    nic_rate: Bandwidth | None = None
    """Most that a NIC carries at its switch port [GB/s]."""
    forwarding: bool = True
    """NCCL reaches the NIC of another GPU over NVLink (PXN), as it does from 2.12 on; otherwise through the CPU."""
    gpus_per_node: Count | None = None
    """Ranks on each node; all its GPUs if omitted."""
    zones: Count = 1
    """Zones that the job spans."""
    leaf_nodes: Count | None = None
    """Nodes under the leaves of one unit; one unit if omitted."""
    oversubscription: Ratio = 1.0
    """Down to up, of those leaves."""


class ExpertRouting(Frozen):
    """Routing of tokens to experts, for dispatch and combine."""

    tokens: Count
    """Tokens of a GPU in one call."""
    hidden: Count
    """Width of a token."""
    top_k: Annotated[int, Field(ge=1, le=64)]
    """Experts that a token goes to."""
    experts: Count
    """Experts, spread evenly over the GPUs."""
    max_nodes: Count = 10_000_000
    """Most nodes that a token may reach."""
    sms: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Multiprocessors (SMs) that copied tokens; without limit if omitted."""


class Collective(Frozen):
    """A measured collective: one value for every number of GPUs and every size."""

    id: Identifier
    """Name of the case within its file."""
    system: System
    """System that it ran on."""
    operation: Operation
    """The collective."""
    library: LibraryName = "auto"
    """Library; `auto` is nccl, or deepep for dispatch and combine."""
    algorithm: AlgorithmName | None = None
    """Algorithm that was forced; left out, the library chose."""
    protocol: Protocol | None = None
    """Protocol that was forced; left out, the library chose."""
    in_network: bool = False
    """True if the network's switches reduce (SHARP)."""
    experts: ExpertRouting | None = None
    """Routing of tokens to experts, for dispatch and combine, which need no sizes."""
    gpus: Annotated[Many[Annotated[int, Field(ge=2, le=10_000_000)]], Field(min_length=1)]
    """Numbers of GPUs."""
    sizes: Many[Data] = ()
    """Messages [byte], as nccl-tests counts them."""
    metric: Metric
    """Measured quantity; `deepep_gbyte_s` counts tokens to a GPU's own node as well, as DeepEP does."""
    values: Annotated[Many[Annotated[tuple[Value, ...], Field(strict=False)]], Field(min_length=1)]
    """Measured values: for each number of GPUs a list, a number for each size; null for none, or [low, high]."""
    fitted: bool = False
    """True if a figure of the catalogue was fitted on these rows, or is one of them; they count separately."""
    scored: bool = True
    """False if the row is shown, but counts in no summary; say why in `note`."""
    note: Text | None = None
    """Conditions and contradictions."""


class Hierarchy(Frozen):
    """Bandwidths of the levels of a machine: node, leaf, spine."""

    id: Identifier
    """Name of the case within its file."""
    server: Identifier
    """Catalogue id of the server."""
    switch: Identifier
    """Catalogue id of the switch."""
    unit_nodes: Count
    """Nodes under one set of leaves."""
    units: Count
    """Such sets."""
    leaf_switches: Count
    """Leaf switches of a set."""
    spine_switches: Count
    """Spine switches."""
    bandwidth_gbyte_s: Levels = ()
    """Total bandwidth of a unit at each level [GB/s]."""
    allreduce_gbyte_s: Levels = ()
    """Allreduce bandwidth up to each level, reduced in the switches [GB/s]."""
    allreduce_without_sharp_gbyte_s: Levels = ()
    """The same, reduced in the GPUs [GB/s]."""
    speedup: dict[Ways, Levels] = Field(default_factory=dict)
    """Speed-up of a reduction at each level, by the sharding of the array over the inner axis [1]."""
    sharded_gbyte_s: dict[Ways, Levels] = Field(default_factory=dict)
    """Its bandwidth at each level, by the same ways [GB/s]."""
    scored: bool = True
    """False if the rows are shown, but count in no summary."""
    note: Text | None = None
    """Conditions and contradictions."""


class Transport(Frozen):
    """One way for the same job to communicate."""

    name: Text
    """Name for people."""
    system: System
    """System that it ran on."""
    pods: Many[Annotated[tuple[Identifier, Identifier], Field(strict=False)]] = ()
    """GPU and NIC of each pod, where pods on one server use their NICs; if omitted, all ranks are on a node."""
    wall: Annotated[Duration, Field(gt=0)]
    """Wall time of the run [s]."""
    fitted: bool = False
    """True if a figure of the catalogue was fitted on this very row."""


class Offload(Frozen):
    """A ZeRO-3 job with offload to the host, run over several transports: a common term plus communication."""

    id: Identifier
    """Name of the case within its file."""
    parameters: Annotated[int, Field(ge=1, le=10**15)]
    """Parameters of the model."""
    bytes_per_parameter: Count = 2
    """Bytes of a parameter on the wire."""
    passes: Count = 3
    """Times that all parameters move in a micro-step: gathered twice, scattered once."""
    ranks: Annotated[int, Field(ge=2, le=10_000_000)]
    """Data-parallel ranks."""
    micro_steps: Count
    """Micro-steps of the run."""
    message: Data
    """Bytes gathered at once."""
    transports: Annotated[Many[Transport], Field(min_length=2)]
    """The runs; the first gives the common term."""
    scored: bool = True
    """False if the rows are shown, but count in no summary."""
    note: Text | None = None
    """Conditions and contradictions."""


class CaseFile(Frozen):
    """A file of measured cases."""

    kind: Literal["communication-cases"]
    """Kind of file."""
    id: Identifier
    """Name of the source; of a shipped file also its name."""
    name: Text
    """Name for people."""
    source: Source
    """Source of the values."""
    collectives: Many[Collective] = ()
    """Measured collectives."""
    hierarchies: Many[Hierarchy] = ()
    """Published tables of levels."""
    offloads: Many[Offload] = ()
    """Jobs run over several transports."""


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


TWICE = "two files of cases have the id `{}`; the second is {}"
"""Fault of a file that counts twice: the ids, and the name of the second."""
SCHEMAS = {
    "communication-cases": (CaseFile, "A file of measured communication cases"),
    "training-cases": (TrainingFile, "A file of measured training runs"),
}
"""Files and outputs of this module, with their titles."""
