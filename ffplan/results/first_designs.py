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
    """Its purpose."""
    file: str | None
    """File that was written; null without one."""
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
    """Bill of materials over accelerators [currency]."""
    facility_peak_kw: float
    """Facility power with everything at its maximum [kW]."""
    allreduce_gbyte_s: float | None
    """Algorithm bandwidth of an allreduce of 1 GiB over all accelerators [GB/s]."""
    tokens_s: float | None
    """Tokens a second of the model asked for, with the fastest plan; null unless asked for or it cannot run."""
    refused: str | None
    """Reason why the model cannot run."""
    fewer: str | None
    """Reason why it has fewer accelerators than the wishes allow; null if it has the most."""


@record
class WishedDesign:
    """Needs of one way to build the cluster at the requested size."""

    idea: str
    """Name of the idea."""
    accelerators: int
    """Accelerators."""
    nodes: int
    """Compute nodes."""
    currency: str
    """Currency of the amount."""
    cost: float
    """Bill of materials [currency]."""
    node_kw: float
    """Rated maximum of a compute node [kW]."""
    compute_kw: float
    """Compute nodes at their rated maximum [kW]."""
    storage_kw: float
    """Storage at its rated maximum [kW]."""
    network_kw: float
    """Fabric and side networks at their rated maximum [kW]."""
    it_rated_kw: float
    """Their sum: IT power at the rated maximum [kW]."""
    facility_peak_kw: float
    """Facility power at the rated maximum: IT power times PUE [kW]."""
    it_training_kw: float
    """IT power in training [kW]."""
    facility_kw: float
    """Facility power in training: IT power times PUE [kW]."""
    unmet: str
    """Which wishes it does not meet."""


@record
class NearWishes:
    """Other wishes, which designs meet."""

    options: str
    """Options to type in place of those given."""
    keeps: str
    """Wishes that stay as they were."""
    designs: int
    """Designs that meet them."""


@record
class UnmetWishes:
    """Targets that no design meets, their needs, and nearby targets."""

    accelerators: int | None
    """Accelerators that were wished for."""
    budget: float | None
    """Budget that was wished for [currency]."""
    power_kw: float | None
    """Power that was wished for [kW]."""
    power_of: str
    """The bounded power: facility-peak, facility-training, it-peak or it-training."""
    pue: float
    """Power usage effectiveness [1]."""
    designs: tuple[WishedDesign, ...]
    """Each idea at the wished size, or at its smallest."""
    near: tuple[NearWishes, ...]
    """Wishes that can be met, each tried."""


@record
class InitReport(Result):
    """Output of `ffplan init`."""

    schema_version: str
    """Version of this format."""
    designs: tuple[FirstDesign, ...]
    """Designs that meet the wishes; without any, designs of the largest size that meets budget and power."""
    left_out: tuple[str, ...]
    """Designs that do not, with the reason."""
    unmet: UnmetWishes | None
    """Needs of the targets, if no design meets them."""


SCHEMAS = {
    "init": (InitReport, "Output of `ffplan init --format json`"),
}
"""Files and outputs of this module, with their titles."""
