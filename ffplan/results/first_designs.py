"""JSON output of `init`, field by field; `SCHEMA_VERSION` is shared with the assessment."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import Result


@record
class FirstDesign:
    """A design to start from."""

    name: str
    """Name of the design."""
    idea: str
    """What it is for."""
    file: str | None
    """File that was written; null where none was."""
    accelerators: int
    """Accelerators."""
    nodes: int
    """Compute nodes."""
    switches: int
    """Switches."""
    currency: str
    """Currency of the amounts."""
    cost: float
    """Bill of materials: parts, side networks, storage, spares, racks, freight and installation [currency]."""
    cost_per_accelerator: float
    """The same over accelerators [currency]."""
    facility_peak_kw: float
    """Facility power with everything at its maximum [kW]."""
    allreduce_gbyte_s: float | None
    """Algorithm bandwidth of an allreduce of 1 GiB over all accelerators [GB/s]."""
    tokens_s: float | None
    """Tokens a second of the model asked for, with the fastest plan; null where none was asked for or it cannot run."""
    refused: str | None
    """Reason why the model cannot run."""
    fewer: str | None
    """Reason why it has fewer accelerators than the wishes allow; null where it has the most."""


@record
class InitReport(Result):
    """Output of `ffplan init`."""

    schema_version: str
    """Version of this format."""
    designs: tuple[FirstDesign, ...]
    """Designs that meet the wishes."""
    left_out: tuple[str, ...]
    """Designs that do not, with the reason."""


SCHEMAS = {
    "init": (InitReport, "Output of `ffplan init --format json`"),
}
"""Files and outputs of this module, with their titles."""
