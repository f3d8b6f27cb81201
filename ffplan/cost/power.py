"""Power of nodes, switches and links, in training and at most; energy over a year."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import maximum, real
from ffplan.base.record import record
from ffplan.catalog.parts import StorageServer
from ffplan.cost.bom import cable_items

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.parts import Link
    from ffplan.design.resolved import ResolvedDesign, ResolvedGroup
    from ffplan.fabric.sizing.plan import FabricPlan

HOURS_PER_YEAR = 8760
"""365 days of 24 hours."""


@record
class NodePower:
    """Power of one node of a group [W]."""

    role: str
    server: str
    count: int
    training_w: float
    """Used for the cluster: the catalogue's figure where there is one, the component sum otherwise."""
    training_grade: str
    """Grade of that figure, or `component sum`."""
    component_sum_w: float
    maximum_w: float
    """Rated maximum where known, otherwise the larger of the two above."""
    per_rack: int | None


@record
class PowerPlan:
    """Power of the cluster [W]."""

    nodes: tuple[NodePower, ...]
    switches_w: float
    network_maximum_w: float
    """Switches at their maximum, which powers the links at their ports, and the links at the NICs; never less than
    switches and links in training."""
    links_w: float
    pue: float

    @property
    def it_w(self) -> float:
        """IT power in training [W]: nodes, switches and links."""
        return sum(n.count * n.training_w for n in self.nodes) + self.switches_w + self.links_w

    @property
    def it_maximum_w(self) -> float:
        """IT power with every node and switch at its rated maximum [W]."""
        return sum(n.count * n.maximum_w for n in self.nodes) + self.network_maximum_w

    @property
    def facility_w(self) -> float:
        """Facility power in training [W]."""
        return real(facility_power(self.it_w, self.pue))


def facility_power(it_power: Number, pue: Number) -> Number:
    """Return the power the site draws.

    Args:
        it_power: IT power [W].
        pue: power usage effectiveness [1].

    Returns:
        Facility power [W], broadcast shape.

    Equation:
        P = IT * PUE

    Source:
        ISO/IEC 30134-2, definition of PUE.
    """
    return it_power * pue


def annual_energy(facility_watts: Number) -> Number:
    """Return the energy of a year at constant power.

    Args:
        facility_watts: facility power [W].

    Returns:
        Energy [MWh per year], broadcast shape.

    Equation:
        E = P * 8760 h / 1e6

    Source:
        Definition.
    """
    return facility_watts * HOURS_PER_YEAR / 1e6


def component_sum(group: ResolvedGroup) -> float:
    """Return the sum over the components of one node.

    Args:
        group: a node group.

    Returns:
        Accelerators and CPUs at thermal design power, memory modules, NICs, drives, and the rest [W].

    Equation:
        sum of count * power

    Source:
        Catalogue; the accelerators dominate, so it lies near the power under full load.
    """
    server = group.server
    total = server.power.other.value + sum(nic.power.value for nic in group.nics)
    for socket, cpu in zip(server.sockets, group.cpus, strict=True):
        total += cpu.power.value + socket.memory.dimms.value * socket.memory.power_per_dimm.value
    if group.accelerator is not None:
        total += group.accelerators_per_node * group.accelerator.power.value
    if isinstance(server, StorageServer):
        total += server.drives.count.value * server.drives.power.value
    return real(total)


def _node(group: ResolvedGroup) -> NodePower:
    power, total = group.server.power, component_sum(group)
    figure, training, grade = power.training, total, "component sum"
    if figure is not None:
        training, grade = figure.value, figure.grade or group.server.sources[figure.source].grade
    most = power.maximum.value if power.maximum else maximum(total, training)
    return NodePower(
        role=group.group.role,
        server=group.server.id,
        count=group.group.count,
        training_w=training,
        training_grade=grade,
        component_sum_w=total,
        maximum_w=most,
        per_rack=group.group.per_rack,
    )


def _network_maximum(design: ResolvedDesign, fabric: FabricPlan, ends: float, at_nics: float) -> float:
    switch = design.switch
    typical = fabric.switches * switch.power.value + ends
    if switch.power_max is None:
        return typical
    return maximum(typical, fabric.switches * switch.power_max.value + at_nics)


def plan_power(
    design: ResolvedDesign, fabric: FabricPlan, links: list[tuple[str, Link, int]] | None = None
) -> PowerPlan:
    """Return the power of the whole cluster, network and storage included.

    Args:
        design: the design.
        fabric: its fabric.
        links: its cables, where they are known already.
    """
    cables = cable_items(design, fabric) if links is None else links
    ends = 2 * sum(count * link.power_per_end.value for _, link, count in cables)
    at_nics = sum(count * link.power_per_end.value for category, link, count in cables if category == "endpoint-links")
    return PowerPlan(
        nodes=tuple(_node(group) for group in design.groups),
        switches_w=fabric.switches * design.switch.power.value,
        network_maximum_w=_network_maximum(design, fabric, ends, at_nics),
        links_w=ends,
        pue=design.spec.site.pue,
    )
