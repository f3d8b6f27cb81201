"""JSON output of `accuracy` and `calibrate`, field by field; `SCHEMA_VERSION` is shared with the assessment."""

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
    """Operation, level or transport, with forced settings."""
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
    """predicted; fitted, if a figure of the catalogue was fitted on the row or is the row; assumed, if it rests on a
    setting that the source does not state; estimated, if it uses the efficiencies of another accelerator;
    arithmetic, if the source computed it."""
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
    assumptions: tuple[str, ...] = ()
    """Assumptions about the runs, a sentence each."""


@record
class Constant:
    """A fitted constant."""

    name: str
    """Its name under `training` of an accelerator, or under `collectives` where collectives were fitted on."""
    before: float | None
    """Value in the catalogue [1, s or GB/s]; null if it has none."""
    after: float
    """Fitted value [1, s or GB/s]."""
    text: str
    """Fitted value as written into the catalogue."""
    note: str | None
    """Caveat: the value is at an end of the range that the fit allows, or outside of the catalogue's."""
    unit: str = "1"
    """Its unit: 1, s or GB/s."""


@record
class Fitted:
    """Errors of one file of runs."""

    source: str
    """Id of the file."""
    n: int
    """Rows."""
    before: float | None
    """Mean of absolute errors with the catalogue's constants [1]; null if it has none."""
    after: float
    """Mean of absolute errors with the fitted constants [1]."""
    bias: float
    """Mean of signed errors with the fitted constants [1]."""


@record
class CalibrationReport:
    """Output of `ffplan model calibrate`."""

    schema_version: str
    """Version of this format."""
    accelerator: str
    """Id of the accelerator."""
    rows: int
    """Rows that were fitted on."""
    constants: tuple[Constant, ...]
    """The fitted constants."""
    sources: tuple[Fitted, ...]
    """Errors of every file."""
    before: float | None
    """Mean of absolute errors over all rows with the catalogue's constants [1]."""
    after: float
    """Mean of absolute errors with the fitted constants [1]."""
    measured: str = "step time"
    """Measured quantity: `step time` of training, or `collectives`."""
    assumptions: tuple[str, ...] = ()
    """Assumptions about the runs."""


@record
class LeftOut:
    """A source, stack or accelerator scored by constants that were fitted without it."""

    source: str
    """Id of the source, software stack or set of constants that was left out."""
    set: str
    """The set of constants."""
    n: int
    """Rows of it that count."""
    mape: float | None
    """Mean of absolute errors [1]; null if nothing else is there to fit on."""
    bias: float | None
    """Mean of signed errors [1]."""
    max_error: float | None
    """Largest absolute error [1]."""
    shipped: float
    """Mean of absolute errors with the catalogue's constants [1]."""
    fitted_on: int
    """Rows that the constants were fitted on."""
    why: str | None
    """Reason why the source cannot be scored."""


@record
class LeftOutKind:
    """Rows of one kind, predicted by constants fitted without them."""

    set: str
    """The set of constants of the accelerator."""
    stack: str
    """Catalogue id of the software stack; empty if unknown."""
    experts: bool
    """True of models with experts."""
    n: int
    """Rows."""
    mape: float
    """Mean of absolute errors [1]."""
    bias: float
    """Mean of signed errors [1]."""


@record
class LeftOutSettings:
    """Rows with settings from a source, or with an assumed one, predicted as above."""

    assumed: bool
    """True of rows that rest on a setting their source does not state."""
    of: int
    """Sources, stacks, accelerators, chips or processes that have such rows."""
    n: int
    """Rows."""
    mean: float
    """Mean of their mean absolute errors [1]."""


HELD = 0.8
"""Share of errors that a band holds, as from P10 to P90 [1]."""
LEVELS = (0.5, 0.6, 0.7, HELD, 0.9)
"""Shares that bands are tried at [1]."""


@record
class HeldShare:
    """What a band holds of runs that it was not made of."""

    level: float
    """Share that it should hold [1]."""
    share: float
    """Errors of each group of runs within the band of all others, averaged over groups [1]."""


@record
class LeftOutBand:
    """How far off times are that were predicted without what they are of."""

    runs: str
    """all; experts; of dense models long (sequences of 16,384 tokens or more), fp8 (the rest at FP8) and dense; or
    within (each error less the mean of what was left out)."""
    of: int
    """Sources, stacks, accelerators, chips or processes that have such rows."""
    n: int
    """Rows."""
    band: float
    """The least that holds 80 % of absolute errors, where all of these count alike [1]."""
    held: tuple[HeldShare, ...]
    """What bands of several levels hold; none for a single source, stack, accelerator, chip or process."""


@record
class LeaveOneOutReport:
    """Output of `ffplan model accuracy training --leave-one-out`."""

    schema_version: str
    """Version of this format."""
    by: str
    """Left out at a time: source, stack, accelerator, chip (all accelerators of one), or process (all chips of
    one maker and family of processes)."""
    mean: float | None
    """Mean of their mean absolute errors [1]; null if none could be scored."""
    rows: tuple[LeftOut, ...]
    """A row for each of them and set of constants."""
    kinds: tuple[LeftOutKind, ...]
    """The rows by accelerator, software stack, and models with or without experts."""
    settings: tuple[LeftOutSettings, ...]
    """The rows, split into stated and assumed settings."""
    bands: tuple[LeftOutBand, ...]
    """Bands of the rows by class."""


SCHEMAS = {
    "accuracy": (AccuracyReport, "Output of `ffplan model accuracy --format json`"),
    "calibration": (CalibrationReport, "Output of `ffplan model calibrate --format json`"),
    "leave-one-out": (LeaveOneOutReport, "Output of `ffplan model accuracy training --leave-one-out`"),
}
"""Files and outputs of this module, with their titles."""
