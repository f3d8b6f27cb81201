"""The format of recorded kernel times: written by `ffplan model measure run`, read by `ffplan model measure fit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.catalog.evidence import Date
from ffplan.inputs.document import Document, read_document
from ffplan.inputs.model import Count, Frozen, Many, Text
from ffplan.inputs.validate import validate
from ffplan.measuring.kernels import AttentionCall, Bytes, Gemm, _HostCopy, _MemoryCall

VERSION: Final = "1"
"""Version of the format."""
GROUPS = ("gemms", "attention", "memory", "copies")
"""Fields of a recording that hold rows."""
Microseconds = Annotated[float, Field(gt=0, le=1e9)]
Reading = Annotated[float, Field(ge=0, le=1e6)]


class Timing(Frozen):
    """Time of one call."""

    median_us: Microseconds
    """Median over batches of calls [us]."""
    low_us: Microseconds | None = None
    """Tenth percentile over batches; null if no spread is known [us]."""
    high_us: Microseconds | None = None
    """Ninetieth percentile over batches [us]."""
    batches: Count | None = None
    """Batches that were timed [1]."""

    @model_validator(mode="after")
    def _ordered(self) -> Timing:
        low = self.median_us if self.low_us is None else self.low_us
        high = self.median_us if self.high_us is None else self.high_us
        if not low <= self.median_us <= high:
            raise PydanticCustomError(
                "rule",
                "{message}",
                {
                    "rule": "number-range",
                    "message": f"the median {self.median_us:g} us lies outside {low:g} to {high:g} us",
                    "remedy": "keep low_us <= median_us <= high_us",
                    "field": "median_us",
                },
            )
        return self


class GemmRow(Timing, Gemm):
    """A GEMM with its time."""


class AttentionRow(Timing, AttentionCall):
    """A call of attention with its time."""


class MemoryRow(Timing, _MemoryCall):
    """A kernel that memory binds, with its time."""


class CopyRow(Timing, _HostCopy):
    """A copy with its time; where both ways run at once, that until the later one ends."""


class DeviceFacts(Frozen):
    """Device, and the software that drove it."""

    type: Literal["gpu", "cpu"]
    """Kind of device; times of a CPU show that the program runs, and are never fitted."""
    name: Text
    """Name that it gives."""
    pci_id: Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")] | None = None
    """Vendor and device."""
    multiprocessors: Count | None = None
    """Multiprocessors [1]."""
    memory: Bytes | None = None
    """Device memory [byte]."""
    driver: Text | None = None
    """Version of the driver."""
    torch: Text | None = None
    """Version of PyTorch."""
    cuda: Text | None = None
    """Version of CUDA, or of ROCm."""
    cudnn: Text | None = None
    """Version of cuDNN."""
    power_limit_w: Reading | None = None
    """Power limit [W]."""
    clock_limit_mhz: Reading | None = None
    """Highest clock of the multiprocessors [MHz]."""


class DeviceState(Frozen):
    """Readings of the device at one moment."""

    when: Text
    """Moment."""
    clock_mhz: Reading | None = None
    """Clock of the multiprocessors [MHz]."""
    memory_clock_mhz: Reading | None = None
    """Clock of the memory [MHz]."""
    power_w: Reading | None = None
    """Power drawn [W]."""
    temperature_c: Reading | None = None
    """Temperature [degree Celsius]."""
    throttled: Text | None = None
    """Reasons for a lower clock, as the driver codes them."""


class SkippedKernel(Frozen):
    """A kernel that could not be timed."""

    what: Text
    """Kernel."""
    why: Text
    """Reason."""


class Recording(Frozen):
    """Times of single kernels on one device."""

    kind: Literal["kernel-recording"]
    """Kind of file."""
    version: Literal["1"]
    """Version of this format."""
    title: Text
    """Conditions of the measurement: enough to find it again."""
    date: Date
    """Date of the measurement: year, month or day."""
    origin: Literal["measured", "transcribed", "synthetic"]
    """Measured by ffplan, copied from a publication, or made up for a test; the latter is never written as measured."""
    load: Literal["sustained", "short", "unknown"]
    """Sustained where each kernel ran long enough, on random numbers, for the power limit to show; short kernels run at
    clocks that a training step does not keep."""
    complete: bool = True
    """False if the run was interrupted."""
    device: DeviceFacts
    """Device and software."""
    states: Many[DeviceState] = ()
    """Clocks and power on the way."""
    gemms: Many[GemmRow] = ()
    """GEMMs."""
    attention: Many[AttentionRow] = ()
    """Calls of attention."""
    memory: Many[MemoryRow] = ()
    """Kernels that memory binds."""
    copies: Many[CopyRow] = ()
    """Copies over the link to the host."""
    skipped: Many[SkippedKernel] = ()
    """Kernels that could not be timed."""

    @property
    def rows(self) -> int:
        """Number of rows [1]."""
        return sum(len(getattr(self, group)) for group in GROUPS)


def read_recording(file: str) -> tuple[Recording, Document]:
    """Return a recording, and its document for faults that are found later.

    Raises:
        InputError: for a file that is not a recording, with one located finding for each fault.
    """
    document = read_document(Path(file), file)
    return validate(Recording, document), document


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def recording_text(recording: Recording) -> str:
    """Return a recording as JSON, a row a line."""
    lines = []
    for name, value in recording.model_dump(exclude_none=True).items():
        if isinstance(value, list | tuple):
            inner = ",\n    ".join(map(_plain, value))
            lines.append(f'  "{name}": [\n    {inner}\n  ]' if value else f'  "{name}": []')
        else:
            lines.append(f'  "{name}": {_plain(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


SCHEMAS = {
    "kernel-recording": (Recording, "Recorded times of single kernels"),
}
"""Files of this module, with their titles."""
