"""JSON output of `accuracy`, field by field; `SCHEMA_VERSION` is shared with the assessment."""

from __future__ import annotations

from ffplan.base.record import record


@record
class AccuracyRow:
    """A measured value next to the model's."""

    source: str
    """Id of the file of cases."""
    case: str
    """Id of the case in it."""
    what: str
    """Operation, level or transport, with what was forced."""
    gpus: int | None
    """Ranks; null if it does not apply."""
    size_bytes: float | None
    """Message [byte]; null if it does not apply."""
    unit: str
    """Unit of both values: time_us, algbw_gbyte_s, busbw_gbyte_s, deepep_gbyte_s, gbyte_s, ratio or seconds; of
    serving ttft_ms, tpot_ms, e2e_s or tokens_s."""
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
    """Algorithm and protocol; empty without a choice."""
    status: str
    """Status: how far the source was followed."""
    kind: str
    """predicted; fitted, where a figure of the catalogue was fitted on the row or is the row; assumed, where it rests
    on a setting that the source does not state; estimated, where the efficiencies of another accelerator stand in;
    arithmetic, where the source computed it."""
    scored: bool
    """False if the row counts in no summary."""
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
    median: float
    """Median of absolute errors [1]."""
    bias: float
    """Mean of signed errors [1]."""
    max_error: float
    """Largest absolute error [1]."""
    worst: str
    """Row of the largest error."""


@record
class AccuracyReport:
    """Output of `ffplan model accuracy`."""

    schema_version: str
    """Version of this format."""
    subject: str
    """Kind of cases that were replayed."""
    rows: tuple[AccuracyRow, ...]
    """Every row, in the order of the files."""
    sources: tuple[Score, ...]
    """A summary for each file of cases."""
    kinds: tuple[Score, ...]
    """A summary of the rows predicted, fitted and computed."""
    bands: tuple[Score, ...]
    """A summary for each band of message sizes, over collectives with a size; of serving for each quantity."""
    total: Score | None
    """Over all rows that count, without rows that the source computed unless there are no others; null without any."""


SCHEMAS = {
    "accuracy": (AccuracyReport, "Output of `ffplan model accuracy --format json`"),
}
"""Files and outputs of this module, with their titles."""
