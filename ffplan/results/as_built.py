"""JSON output about fabrics as they were built, field by field."""

from __future__ import annotations

from typing import Literal

from ffplan.base.record import record


@record
class Miswired:
    """A port that leads elsewhere than designed."""

    port: str
    """The port."""
    designed: str
    """Far end in the design."""
    found: str
    """Far end as built."""


@record
class SlowLink:
    """A link that runs below its designed rate."""

    a: str
    """One port."""
    b: str
    """The other."""
    designed_gbit_s: float
    """Rate in the design, one direction [Gb/s]."""
    found_gbit_s: float | None
    """Rate as built, one direction [Gb/s]; null if the file has a width alone."""
    lanes: int | None
    """Lanes as built; null if the file does not say."""


@record
class Renamed:
    """A device that goes by another name."""

    found: str
    """Name as built."""
    designed: str
    """Name in the design."""
    confidence: float
    """Part of its links that agree [1]; 1 if its name identified it."""


@record
class AuditCause:
    """A fault of a fabric as built, once for all links that it concerns."""

    kind: str
    """absent-network, absent-part, absent-switch, silent-hosts, absent-node, absent-nic, missing-cable, moved-cable,
    swapped-cables, shifted-cables, permuted-cables, exchanged-devices, moved-device, other-model, slow-link,
    inactive-link, extra-cable, unknown-device or shared-name."""
    severity: Literal["error", "warning", "info"]
    """Severity."""
    what: str
    """The fault, in a sentence."""
    where: tuple[str, ...]
    """Devices or ports."""
    do: tuple[str, ...]
    """The remedy, step by step."""
    effect: str
    """Its cost to the jobs."""
    links: int
    """Links that it concerns [1]."""


@record
class DiffReport:
    """Differences between a fabric as built and its design."""

    schema_version: str
    """Version of this format."""
    design: str
    """Name of the design."""
    form: str
    """Format of the files."""
    same: int
    """Links that are as designed, devices in their places [1]."""
    causes: tuple[AuditCause, ...]
    """Faults, the worst first."""
    effect: str
    """Their joint cost; empty for a single finding."""
    by_name: int
    """Devices that were identified by name [1]."""
    by_wiring: tuple[Renamed, ...]
    """Devices that were identified by their cables."""
    absent: tuple[str, ...]
    """Devices of the design that were not found."""
    unknown: tuple[str, ...]
    """Devices found that the design does not have."""
    missing: tuple[tuple[str, str], ...]
    """Links of the design that were not found, by their two ports."""
    extra: tuple[tuple[str, str], ...]
    """Links found between ports that the design leaves free."""
    miswired: tuple[Miswired, ...]
    """Ports that lead elsewhere than designed."""
    slow: tuple[SlowLink, ...]
    """Links below their designed rate."""
    remarks: tuple[str, ...]
    """Open questions of the files."""


@record
class BuiltLink:
    """A link that was found."""

    a: str
    """One port."""
    b: str
    """The other."""
    gbit_s: float | None
    """Rate, one direction [Gb/s]; null if the file does not say."""
    lanes: int | None
    """Lanes; null if the file does not say."""


@record
class AsBuiltReport:
    """A fabric as built."""

    schema_version: str
    """Version of this format."""
    file: str
    """File that it was read from."""
    form: str
    """Format of the file."""
    switches: tuple[str, ...]
    """Switches, by name."""
    hosts: tuple[str, ...]
    """Host adapters, by name."""
    links: tuple[BuiltLink, ...]
    """Links."""
    remarks: tuple[str, ...]
    """Skipped lines, and open questions of the file."""


@record
class SlurmSwitch:
    """A switch of a tree."""

    name: str
    """Its name."""
    level: int | None
    """Levels of switches below it [1]: 0 of a leaf; null if a switch below it is not in the file."""
    nodes: tuple[str, ...]
    """Nodes at it."""
    switches: tuple[str, ...]
    """Switches right below it."""


@record
class SlurmBlock:
    """A block of nodes."""

    name: str
    """Its name."""
    nodes: tuple[str, ...]
    """Its nodes."""


@record
class SlurmTopology:
    """One topology: a tree of switches, or blocks."""

    name: str
    """Its name in `topology.yaml`; empty in `topology.conf`, which has one."""
    kind: Literal["tree", "block", "flat", "ring", "torus3d"]
    """How Slurm places jobs with it; of rings and tori the kind and the nodes are read."""
    nodes: int
    """Different nodes that it names [1]."""
    roots: tuple[str, ...]
    """Switches that are below no other."""
    switches: tuple[SlurmSwitch, ...]
    """Switches, in the order of the file."""
    blocks: tuple[SlurmBlock, ...]
    """Blocks, in the order of the file."""
    block_sizes: tuple[int, ...]
    """Nodes in a block and in aggregates of blocks [1]."""


@record
class SlurmTopologyReport:
    """Content of a topology file of Slurm."""

    schema_version: str
    """Version of this format."""
    file: str
    """File that it was read from."""
    topologies: tuple[SlurmTopology, ...]
    """Its topologies."""
    remarks: tuple[str, ...]
    """Lines that Slurm would refuse or place badly, and skipped lines."""


SCHEMAS = {
    "audit": (DiffReport, "Output of `ffplan fabric audit --format json`"),
    "as-built": (AsBuiltReport, "Output of `ffplan fabric import ibnetdiscover`"),
    "slurm-topology": (SlurmTopologyReport, "Output of `ffplan fabric import slurm`"),
}
"""Files and outputs of this module, with their titles."""
