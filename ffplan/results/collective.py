"""JSON output of `collective` and `accuracy`, field by field; `SCHEMA_VERSION` is shared with the assessment."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import Result


@record
class Limit:
    """One resource and what it allows."""

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
    """The protocol it chooses; empty where the library has none."""
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
    """latency or protocol where they take more than the tightest resource, else its kind."""
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
    """True where the network's switches may reduce (SHARP)."""
    in_network_reduction: bool
    """True where they reduce in at least one row."""
    in_switch_reduction: bool
    """True where the scale-up switch reduces (NVLS) in at least one row."""
    rows: tuple[CollectiveRow, ...]
    """A row for each number of GPUs and size."""
    algorithms: tuple[AlgorithmRow, ...]
    """Terms of every algorithm that is chosen somewhere, in the order of the rows."""
    assumptions: tuple[str, ...]
    """Assumptions behind the result that are not in the design."""


@record
class AccuracyRow:
    """A measured value next to the model's."""

    source: str
    """Id of the file of cases."""
    case: str
    """Id of the case in it."""
    what: str
    """Operation, level or transport, with forced choices."""
    gpus: int | None
    """Ranks; null where it does not apply."""
    size_bytes: float | None
    """Message [byte]; null where it does not apply."""
    unit: str
    """Unit of both values: time_us, algbw_gbyte_s, busbw_gbyte_s, deepep_gbyte_s, gbyte_s, ratio or seconds."""
    measured: float
    """Measured or published value; low end of a range."""
    measured_high: float | None
    """High end, where only a range is known."""
    model: float
    """Value of the model."""
    error: float
    """Model over measured, less one [1]; 0 inside a range, else against its nearer end. Of rates of training runs
    measured over model, less one: above 0 the model is too slow in every unit."""
    chosen: str
    """Algorithm and protocol; empty where there is no choice."""
    status: str
    """Status: how far the source was followed."""
    kind: str
    """predicted; fitted, where a figure of the catalogue was fitted on the row or is the row; arithmetic, where the
    source computed it."""
    scored: bool
    """False where the row counts in no summary."""
    note: str | None
    """Reason why the row is not scored, or other conditions."""


@record
class Score:
    """Errors of a set of rows."""

    name: str
    """Source, or band of sizes."""
    title: str
    """For people."""
    n: int
    """Rows that count."""
    mape: float
    """Mean of absolute errors [1]."""
    bias: float
    """Mean of signed errors [1]."""
    max_error: float
    """Largest absolute error [1]."""
    worst: str
    """Row of the largest error."""


@record
class AccuracyReport:
    """Output of `ffplan accuracy`."""

    schema_version: str
    """Version of this format."""
    subject: str
    """Kind of cases that were replayed."""
    rows: tuple[AccuracyRow, ...]
    """Every row, in the order of the files."""
    sources: tuple[Score, ...]
    """A summary for each file of cases."""
    kinds: tuple[Score, ...]
    """Summaries of the rows predicted, fitted and computed."""
    bands: tuple[Score, ...]
    """A summary for each band of message sizes, over collectives with a size."""
    total: Score | None
    """Summary of all rows that count; null where there is none."""


SCHEMAS = {
    "collective": (CollectiveTable, "Output of `ffplan collective --format json`"),
    "accuracy": (AccuracyReport, "Output of `ffplan accuracy --format json`"),
}
"""Files and outputs of this module, with their titles."""
