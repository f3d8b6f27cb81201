"""JSON output about topology files of Slurm, field by field."""

from __future__ import annotations

from typing import Literal

from ffplan.base.record import record


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
    """Nodes of a block, and of aggregates of blocks [1]."""


@record
class SlurmTopologyReport:
    """What a topology file of Slurm says."""

    schema_version: str
    """Version of this format."""
    file: str
    """File that it was read from."""
    topologies: tuple[SlurmTopology, ...]
    """Its topologies."""
    remarks: tuple[str, ...]
    """What Slurm would refuse or place badly, and what was passed over."""


SCHEMAS = {
    "slurm-topology": (SlurmTopologyReport, "Output of `ffplan fabric import slurm`"),
}
"""Outputs of this module, with their titles."""
