"""JSON output of `measure plan` and `measure fit`, field by field; `SCHEMA_VERSION` is shared with the assessment."""

from __future__ import annotations

from ffplan.base.record import record


@record
class PlannedGroup:
    """Kernels of one kind that are to be timed."""

    group: str
    """gemm, attention, memory or pcie."""
    kernels: tuple[str, ...]
    """Each kernel, in words."""
    seconds: float
    """Time that they run [s]."""


@record
class MeasurePlan:
    """Output of `ffplan model measure plan`."""

    schema_version: str
    """Version of this format."""
    sizes: str
    """Name of the plan."""
    kernels: int
    """Number of kernels."""
    soak_s: float
    """Time for which a large GEMM runs first [s]."""
    each_s: float
    """Time for which a kernel runs, warming up included [s]."""
    seconds: float
    """Time that all of them run; start and allocation come on top [s]."""
    groups: tuple[PlannedGroup, ...]
    """Groups in order of execution."""


@record
class MeasuredConstant:
    """A constant as measured, and in the catalogue."""

    name: str
    """Field of the catalogue that it is for; `gemm` and `small` are the parts of `kernel`."""
    unit: str
    """1, s or GB/s."""
    before: float | None
    """Value of the catalogue; null if it has none."""
    after: float
    """Fitted value."""
    low: float
    """Lower end: two standard errors of the fit below."""
    high: float
    """Higher end."""
    rows: int
    """Rows that it rests on."""
    written: bool
    """True if the catalogue file has it."""
    note: str | None
    """Caveat, or the reason why it is not written."""


@record
class KernelError:
    """A kernel with its measured time, and the modelled ones."""

    group: str
    """gemm, attention, memory or pcie."""
    kernel: str
    """Kernel, in words."""
    measured_us: float
    """Measured time [us]."""
    spread: float | None
    """Ninetieth percentile over the tenth, less one [1]; null if no spread is known."""
    rate: float
    """Measured rate."""
    unit: str
    """Its unit: TFLOP/s or GB/s."""
    fitted_us: float | None
    """Time with the fitted constants [us]; null if a measured rate is taken as it is."""
    error: float | None
    """Fitted over measured, less one [1]."""
    catalogue_us: float | None
    """Time with the catalogue's constants [us]; for a GEMM with a separately measured kernel."""
    catalogue_error: float | None
    """Catalogue's over measured, less one [1]."""


@record
class KernelGroupError:
    """Errors of the kernels of one kind."""

    group: str
    """gemm with its precision, attention with its kernel, memory or pcie."""
    n: int
    """Rows."""
    before: float | None
    """Mean of absolute errors with the catalogue's constants [1]."""
    after: float | None
    """Mean of absolute errors with the fitted constants [1]; null if rates are taken as measured."""
    max_error: float | None
    """Largest absolute error of the latter [1]."""


@record
class MeasuredFit:
    """Output of `ffplan model measure fit`."""

    schema_version: str
    """Version of this format."""
    accelerator: str
    """Id of the accelerator."""
    recording: str
    """Title of the recording."""
    date: str
    """Its date."""
    origin: str
    """measured, transcribed or synthetic."""
    load: str
    """sustained, short or unknown."""
    device: str
    """Name of the device that was measured."""
    constants: tuple[MeasuredConstant, ...]
    """The fitted constants."""
    groups: tuple[KernelGroupError, ...]
    """Errors by kind of kernel."""
    kernels: tuple[KernelError, ...]
    """Errors of every kernel."""
    remarks: tuple[str, ...]
    """Gaps of the recording, and omissions."""
    doubts: tuple[str, ...]
    """Reasons not to use the constants; any of them prevents writing unless forced."""


SCHEMAS = {
    "measure-plan": (MeasurePlan, "Output of `ffplan model measure plan --format json`"),
    "measure-fit": (MeasuredFit, "Output of `ffplan model measure fit --format json`"),
}
"""Outputs of this module, with their titles."""
