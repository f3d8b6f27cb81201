"""A collective's members: how many on each node, over how many nodes, across which link cuts."""

from __future__ import annotations

from ffplan.base.array_math import Number
from ffplan.base.record import record
from ffplan.collectives.volumes import _nics_of
from ffplan.fabric.sizing.plan import LinkCut
from ffplan.node.host import Host


@record
class RankLayout:
    """Layout of the ranks on nodes; numbers may be arrays of one shape."""

    host: Host
    """The inside of a node."""
    nodes: Number
    """Nodes, or scale-up domains where one switch joins several nodes [1]."""
    per_node: Number
    """Ranks on each of them [1]."""
    zones: Number = 1
    """Zones that the job spans [1]."""
    cuts: tuple[LinkCut, ...] = ()
    """Link cuts between leaves and between zones that it crosses."""

    sent_by: Number | None = None
    """NICs that the ranks of each of them use [1]; by the number of ranks if omitted."""
    adjacent: Number = 1.0
    """1 if neighbouring ranks of a node sit on neighbouring GPUs, 0 if other groups sit between them [1]."""
    last: Number | None = None
    """Ranks on the last node, if it may hold fewer than the others [1]."""

    @property
    def ranks(self) -> Number:
        """Ranks altogether [1]."""
        if self.last is None:
            return self.nodes * self.per_node
        return (self.nodes - 1) * self.per_node + self.last

    @property
    def fewest(self) -> Number:
        """Ranks on the node that holds the fewest [1]."""
        return self.per_node if self.last is None else self.last

    @property
    def fewest_nics(self) -> Number:
        """NICs in use on the node with the fewest ranks: together they carry as much as any other node's [1]."""
        return _nics_of(len(self.host.nics), len(self.host.gpus), self.fewest)

    @property
    def several(self) -> Number:
        """1 for a job over several nodes, else 0."""
        return (self.nodes > 1) * 1.0

    @property
    def shared(self) -> Number:
        """1 if a node holds several ranks, else 0."""
        return (self.per_node > 1) * 1.0

    @property
    def detour(self) -> Number:
        """1 if a ring must leave a node by a NIC that its last GPU there reaches through the CPU alone, else 0.

        A ring leaves by the NIC that it came in by. Without forwarding over NVLink that takes two GPUs at one PCIe
        switch, and a group of r ranks on a node of G GPUs, spread evenly, has none where G / r is at least the GPUs at
        a switch. Where every GPU has a NIC, rings pass from rail to rail instead.
        """
        if self.host.forwarding or not self.host.joined or len(self.host.nics) >= len(self.host.gpus):
            return 0.0
        apart = self.per_node * self.host.beside <= len(self.host.gpus)
        return self.several * self.shared * apart

    @property
    def nics(self) -> Number:
        """NICs it uses on each node but one with fewer ranks [1]."""
        if self.sent_by is not None:
            return self.sent_by
        return _nics_of(len(self.host.nics), len(self.host.gpus), self.per_node)
