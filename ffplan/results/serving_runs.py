"""Serving runs as benchmark programs wrote them down, and the contract of `model calibrate serving --format json`."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from ffplan.base.record import record
from ffplan.results.accuracy import Constant, Fitted


@record
class BenchmarkRun:
    """A measured serving run; fields that its file leaves out are None."""

    file: str
    """The file."""
    line: int
    """Its line, from 1."""
    program: str
    """Program that wrote it."""
    _: KW_ONLY
    model: str | None = None
    """Model, as the file names it."""
    accelerator: str | None = None
    """Accelerator, as the file names it."""
    software: str | None = None
    """Serving engine, as the catalogue names its software."""
    version: str | None = None
    """Version of the engine."""
    precision: str | None = None
    """Precision of the weights."""
    tensor: int | None = None
    """Tensor parallelism [1]."""
    pipeline: int | None = None
    """Pipeline stages [1]."""
    data: int | None = None
    """Attention groups [1]."""
    expert: int | None = None
    """Expert parallelism [1]."""
    prompt: float | None = None
    """Tokens of a prompt on average [1]."""
    output: float | None = None
    """Tokens of an answer, likewise [1]."""
    shortest: float | None = None
    """Least length as a fraction of the nominal one, between which lengths are drawn evenly [1]."""
    load: Literal["closed", "open", "queued"] = "queued"
    """Requests under way at a fixed number; arriving at a rate; all sent at once."""
    concurrency: float | None = None
    """Requests under way, if the program keeps their number [1]."""
    rate: float | None = None
    """Requests that arrive [1/s]."""
    requests: float | None = None
    """Requests that completed [1]."""
    seconds: float | None = None
    """Length of the run [s]."""
    requests_s: float | None = None
    """Requests that completed each second [1/s]."""
    ttft_ms: float | None = None
    """Time to the first token [ms]."""
    tpot_ms: float | None = None
    """Time of each further token [ms]."""
    latency_ms: float | None = None
    """Time of a whole request [ms]."""
    tokens_s: float | None = None
    """Output tokens each second [1/s]."""
    statistic: Literal["mean", "median"] = "mean"
    """Statistic of the times."""
    date: str | None = None
    """Day of the run, such as 2026-11-26."""
    refused: str = ""
    """Reason in the file itself not to fit the run; empty for a good one."""


@record
class RefusedRun:
    """A measured run that is not fitted."""

    file: str
    """The file."""
    line: int
    """Its line."""
    reason: str
    """Why."""


@record
class MeasureErrors:
    """Errors of one measure over the runs that have it."""

    measure: str
    """`tpot` (time of each further token), `ttft` (time to the first) or `tokens_s` (output tokens a second)."""
    n: int
    """Runs."""
    before: float
    """Median of absolute errors with the release's constants [1]."""
    after: float
    """Median of absolute errors with the fitted ones [1]."""
    mean_before: float
    """Mean of absolute errors with the release's constants [1]."""
    mean_after: float
    """Mean of absolute errors with the fitted ones [1]."""
    left_out: float | None
    """Median of absolute errors of each run by constants fitted without it [1]; null with fewer than three runs."""


@record
class ServingCalibration:
    """Output of `ffplan model calibrate serving`."""

    schema_version: str
    """Version of this format."""
    engine: str
    """Id of the engine's release, which is also the prior."""
    accelerator: str
    """Id of the accelerator."""
    prior: str
    """Accelerator whose released constants the fit starts from; `any` if the release has none for it."""
    rows: int
    """Runs that were fitted on."""
    refused: tuple[RefusedRun, ...]
    """Runs that were not."""
    constants: tuple[Constant, ...]
    """Constants that the runs tell, the most moved first."""
    kept: tuple[str, ...]
    """Constants that no run tells, which stay at the release's values."""
    errors: tuple[MeasureErrors, ...]
    """Errors by measure, by the run of requests that `ffplan serve` prints."""
    sources: tuple[Fitted, ...]
    """Errors of every file, over all measures."""
    models: tuple[str, ...]
    """Models of the runs."""
    assumed: tuple[str, ...]
    """Settings that neither a file nor an option states and the replay assumes."""


SCHEMAS = {
    "serving-calibration": (ServingCalibration, "Output of `ffplan model calibrate serving --format json`"),
}
"""Files and outputs of this module, with their titles."""
