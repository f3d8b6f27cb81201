"""JSON output of `collective`, field by field; `SCHEMA_VERSION` is shared with the assessment."""

from __future__ import annotations

from ffplan.base.outcomes import LedgerLine, Term
from ffplan.base.record import record
from ffplan.results.result import Result


@record
class Limit:
    """One resource and its limit."""

    name: str
    """Stable name of the kind of resource."""
    label: str
    """The resource for people."""
    gbyte_s: float
    """Algorithm bandwidth that it allows [GB/s]."""
    derivation: str
    """Derivation from the catalogue."""


@record
class CollectiveRow:
    """A collective at one size and one number of GPUs."""

    library: str
    """Library."""
    gpus: int
    """Ranks."""
    nodes: int
    """Nodes, or scale-up domains where one switch joins several nodes."""
    zones: int
    """Zones of the fabric that they span."""
    size_bytes: float
    """Message as nccl-tests counts it [byte]."""
    algorithm: str
    """Algorithm that the library chooses."""
    protocol: str
    """The protocol it chooses; empty if the library has none."""
    time_s: float
    """Time [s]."""
    algbw_gbyte_s: float
    """Message bytes over time [GB/s]."""
    busbw_gbyte_s: float
    """Bus bandwidth as nccl-tests defines it [GB/s]."""
    latency_s: float
    """Part of the time that does not grow with the message [s]."""
    stream_s: float
    """Part that the tightest resource takes [s]."""
    fill_s: float
    """Part that filling pipelines takes [s]."""
    limited_by: str
    """latency or protocol if they take more than the tightest resource, else its kind."""
    limited_by_label: str
    """Label of `limited_by`."""
    runner_up: str | None
    """Kind of the next resource."""
    runner_up_gbyte_s: float | None
    """Algorithm bandwidth that the next resource allows [GB/s]."""
    fastest: str
    """Algorithm and protocol that would take least; the library's own choice where that is it."""
    fastest_time_s: float
    """Time of the fastest algorithm and protocol [s]."""
    deepep_gbyte_s: float | None
    """Rate of dispatch and combine as DeepEP counts it, with tokens to a GPU's own node [GB/s]; null for others."""


@record
class CollectiveBound:
    """The most that the tightest resource allows long messages, without latency or pipelines to fill."""

    algorithm: str
    """The algorithm that allows most: ring, tree, nvls, nvls-tree or hfreduce."""
    time_s: float
    """Message over algorithm bandwidth [s]."""
    algbw_gbyte_s: float
    """Algorithm bandwidth: the tightest term [GB/s]."""
    busbw_gbyte_s: float
    """Bus bandwidth as nccl-tests defines it [GB/s]."""
    limited_by: str
    """Name of the tightest term."""
    limited_by_label: str
    """The tightest resource for people."""
    runner_up: str | None
    """Name of the next term."""
    terms: tuple[Term, ...]
    """Every term, the tightest first."""
    lacks: tuple[str, ...]
    """CPUs whose root ports it loads and whose limit the catalogue lacks: it may be lower than this says."""


@record
class CollectiveReport:
    """One collective with one library: its time at the design's message and scale, and its bound."""

    library: str
    """hfreduce, hfreduce-nvlink or nccl."""
    algorithm: str
    """The algorithm that the library chooses."""
    protocol: str
    """The protocol it chooses; empty if the library has none."""
    operation: str
    """Collective operation."""
    ranks: int
    """Accelerators that take part."""
    nodes: int
    """Nodes that take part."""
    message_bytes: float
    """Message per accelerator [byte]."""
    time_s: float
    """Time [s]."""
    algbw_gbyte_s: float
    """Message over time [GB/s]."""
    busbw_gbyte_s: float
    """Bus bandwidth as nccl-tests defines it [GB/s]."""
    limited_by: str
    """latency or protocol if they take more than the tightest resource, else its kind."""
    limited_by_label: str
    """Label of `limited_by`."""
    fastest: str
    """Algorithm and protocol that would take least; the library's own choice where that is it."""
    fastest_time_s: float
    """Its time [s]."""
    bound: CollectiveBound
    """What long messages reach at most."""
    scales: tuple[CollectiveRow, ...]
    """The message over fewer accelerators, up to all; rows as `ffplan collective` has them."""
    ledger: tuple[LedgerLine, ...]
    """Host-memory ledger of the busiest node, if the library has one."""
    ledger_operations: float | None
    """Its sum [1]."""


@record
class AlgorithmRow:
    """One algorithm at one number of GPUs, every term listed."""

    library: str
    """Library."""
    gpus: int
    """Ranks."""
    algorithm: str
    """The algorithm."""
    terms: tuple[Limit, ...]
    """Every term, the tightest first."""


@record
class CollectiveTable(Result):
    """Output of `ffplan collective`."""

    schema_version: str
    """Version of this format."""
    design: str
    """Name of the design."""
    operation: str
    """The collective."""
    library: str
    """Libraries, with commas between."""
    in_network_allowed: bool
    """True if the network's switches may reduce (SHARP)."""
    in_network_reduction: bool
    """True if they reduce in at least one row."""
    in_switch_reduction: bool
    """True if the scale-up switch reduces (NVLS) in at least one row."""
    rows: tuple[CollectiveRow, ...]
    """A row for each number of GPUs and size."""
    algorithms: tuple[AlgorithmRow, ...]
    """Terms of every algorithm that is chosen somewhere, in the order of the rows."""
    assumptions: tuple[str, ...]
    """Assumptions behind the result that are not in the design."""


@record
class MeasuredPoint:
    """A measured allreduce of the catalogue, shown with a curve by scale."""

    gpus: int
    """Ranks."""
    size_bytes: float
    """Message [byte]."""
    gbyte_s: float
    """Algorithm bandwidth; the middle of a measured range [GB/s]."""
    low_gbyte_s: float | None
    """Low end of a measured range [GB/s]; None of a single value."""
    high_gbyte_s: float | None
    """Its high end [GB/s]."""
    server: str
    """Catalogue id of the server that it was measured on."""
    nics: str
    """Its NICs on the compute network."""
    same_server: bool
    """True if that is the design's server, which has all its NICs there, at their own rate."""
    case: str
    """File and case of the measurement."""
    source: str
    """Title of its source."""
    date: str
    """Date of the source."""
    status: str
    """Status of the value."""
    fitted: bool
    """True if a constant of the model was fitted on it."""
    note: str
    """Conditions."""


SCHEMAS = {
    "collective": (CollectiveTable, "Output of `ffplan collective --format json`"),
}
"""Files and outputs of this module, with their titles."""
