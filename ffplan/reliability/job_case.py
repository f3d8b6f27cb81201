"""A job whose goodput is asked for: its units, its checkpoints and its restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    Values = Mapping[str, Number]
    """Inputs by name."""


@record
class JobCase:
    """A job with its units and rates."""

    gpus: float
    nodes: float
    units: dict[str, float]
    """Units in use by the job, by hazard [1]."""
    of_nodes: frozenset[str]
    """Hazards of units inside a node."""
    spreads: frozenset[str]
    """Hazards with the fleet's factor."""
    survives: frozenset[str]
    """Hazards that slow the job without stopping it."""
    parameters: float
    copy_gbyte_s: float | None
    """Rate of a node's copies to host memory [GB/s]; None if unknown, and then free."""
    clients_gbyte_s: float
    """Rate of all its nodes' NICs to storage [GB/s]; 0 without storage."""
    read_gbyte_s: dict[str, Number]
    """Terms of reading from storage, without the service's efficiency [GB/s]; empty without storage."""
    write_gbyte_s: dict[str, Number]
    """Terms of writing to storage, without the service's efficiency [GB/s]."""
    spares: int
    replica_nodes: float
    """Nodes of a data-parallel replica [1]."""
    checkpoints: str
    restart: str
    shrinks: bool
    interval: float | None = None
    """Work between two checkpoints [s]; the best if None."""
    drains: frozenset[str] = frozenset()
    """Hazards that remove a whole scale-up domain."""
    domain_nodes: int = 1
    """Nodes of a scale-up domain [1]."""
    state_bytes: float | None = None
    """Checkpoint size per parameter [byte]; the inputs' if None."""
    replicated: bool = False
    """Whether every node has the whole state, so that one node writes a checkpoint and all read it."""
    path_lost: float = 1.0
    """Share of its rate kept while a NIC lacks one of its paths [1]."""
    swaps: bool = False
    """Whether a spare node is first moved into the domain, unless a whole domain is spare."""

    @property
    def carries(self) -> bool:
        """Whether its spares are first moved into the domain of a lost node."""
        return self.swaps and 0 < self.spares < self.domain_nodes

    @property
    def waits(self) -> bool:
        """Whether it stands still while it lacks a node: it does not shrink, or is one replica."""
        return not self.shrinks or self.replica_nodes >= self.nodes

    @property
    def writers(self) -> float:
        """Nodes that write a checkpoint [1]."""
        return 1.0 if self.replicated else self.nodes

    @property
    def writers_gbyte_s(self) -> float:
        """Rate to storage of all NICs in nodes that write a checkpoint [GB/s]."""
        return self.clients_gbyte_s * self.writers / self.nodes
