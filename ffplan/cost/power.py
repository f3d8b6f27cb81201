"""Power of nodes, switches and links, in training and at most; energy over a year."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, maximum, real, some
from ffplan.base.outcomes import MissingFigure, NodePower
from ffplan.base.record import record
from ffplan.catalog.evidence import PowerFigure
from ffplan.catalog.parts import StorageServer
from ffplan.cost.bom import cable_items, switch_items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.catalog.parts import Link, Switch
    from ffplan.design.resolved import ResolvedDesign, ResolvedGroup
    from ffplan.fabric.sizing.plan import FabricPlan

COMPONENTS = "component sum"
"""Grade of a power in training that is summed over components."""

HOURS_PER_YEAR = 8760
"""365 days of 24 hours."""


@record
class PowerPlan:
    """Power of the cluster [W]."""

    nodes: tuple[NodePower, ...]
    switches_w: float
    network_maximum_w: float
    """Switches at their maximum, including links at their ports, plus links at the NICs; at least
    switches and links in training."""
    links_w: float
    pue: float
    missing: tuple[MissingFigure, ...]
    """Powers missing in the sums: components of nodes without a whole figure, switches and links."""

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
    """Return the power drawn by the site [W].

    Args:
        it_power: IT power [W].
        pue: power usage effectiveness [1].

    Equation:
        P = IT * PUE

    Source:
        ISO/IEC 30134, part 2, definition of PUE.
    """
    return it_power * pue


def annual_energy(facility_watts: Number) -> Number:
    """Return the energy of a year at constant power [MWh per year].

    Args:
        facility_watts: facility power [W].

    Equation:
        E = P * 8760 h / 1e6

    Source:
        Definition.
    """
    return facility_watts * HOURS_PER_YEAR / 1e6


@record
class _Component:
    """Equal pieces of one node."""

    part: str
    path: str
    """Field of the power within the part's file."""
    count: Number
    figure: PowerFigure | None
    """Power of one [W]; None if missing in the catalogue."""


def _components(group: ResolvedGroup) -> Iterator[_Component]:
    """Yield the components of a node: the rest of the server, NICs, CPUs, memory, accelerators, drives."""
    server = group.server
    yield _Component(server.id, "power.other", 1, server.power.other)
    for nic in group.nics:
        yield _Component(nic.id, "power", 1, nic.power)
    for position, (socket, cpu) in enumerate(zip(server.sockets, group.cpus, strict=True)):
        yield _Component(cpu.id, "power", 1, cpu.power)
        path = f"sockets.{position}.memory.power_per_dimm"
        modules = socket.memory.dimms
        if modules is None:  # what is missing of every socket is named once
            yield _Component(server.id, "sockets.0.memory.dimms", 0, None)
            continue
        yield _Component(server.id, path, modules.value, socket.memory.power_per_dimm)
    if group.accelerator is not None:
        yield _Component(group.accelerator.id, "power", group.accelerators_per_node, group.accelerator.power)
    if isinstance(server, StorageServer):
        yield _Component(server.id, "drives.power", server.drives.count.value, server.drives.power)


def component_sum(group: ResolvedGroup) -> float:
    """Return the power of one node's components, as far as known.

    Returns:
        Accelerators and CPUs at thermal design power, memory modules, NICs, drives, and the rest [W].

    Equation:
        sum of count * power

    Source:
        Catalogue; the accelerators dominate, so it lies near the power under full load.
    """
    total: Number = 0.0
    for component in _components(group):
        total += component.count * component.figure.value if component.figure else 0.0
    return real(total)


def _missing_components(group: ResolvedGroup) -> tuple[MissingFigure, ...]:
    """Return the powers missing in a node's component sum, each once."""
    missing = {
        (component.part, component.path): MissingFigure(component.part, component.path)
        for component in _components(group)
        if component.figure is None
    }
    return tuple(missing.values())


def training_power(group: ResolvedGroup, fraction: Number) -> tuple[Number, str]:
    """Return the power of a node in training, and its grade.

    Args:
        fraction: power in training over rated maximum, if not measured [1].

    Returns:
        Power [W], and the measured figure's grade or the rule.

    Equation:
        measured; else fraction x rated maximum; else fraction x component sum; without accelerators the component sum,
        or fraction x rated maximum of an appliance whose inside is unknown

    Source:
        Epoch AI, training-cost-trends (0.75 of rated power); a component sum lies near the power under full load.
    """
    power, total = group.server.power, component_sum(group)
    if power.training is not None:
        return power.training.value, power.training.grade or group.server.sources[power.training.source].grade
    # an appliance of unknown construction has no components to sum
    # without accelerators there is no load factor to apply: parts at their rated power
    if group.accelerator is None and (group.server.sockets or power.maximum is None):
        return total, COMPONENTS
    if power.maximum is not None:
        return fraction * power.maximum.value, f"{fraction:g} x rated"
    return fraction * total, f"{fraction:g} x {COMPONENTS}"


def node_power(group: ResolvedGroup, fraction: Number) -> NodePower:
    """Return the power of one node of a group.

    Args:
        fraction: power in training over rated maximum, if not measured [1].
    """
    power, total = group.server.power, component_sum(group)
    training, grade = training_power(group, fraction)
    most = power.maximum.value if power.maximum else maximum(total, training)
    return NodePower(
        role=group.group.role,
        server=group.server.id,
        count=group.group.count,
        training_w=real(training),
        training_grade=grade,
        idle_w=power.idle.value if power.idle else None,
        component_sum_w=total,
        maximum_w=real(most),
        rated=power.maximum is not None,
        rack_w=real(most) * group.group.per_rack if group.group.per_rack else None,
        missing=_missing_components(group),
    )


def _watts(figure: PowerFigure | None) -> float:
    """Return a power [W]; 0 if missing in the catalogue, as `PowerPlan.missing` lists."""
    return figure.value if figure else 0.0


def _network_maximum(switches: list[tuple[Switch, int]], ends: float, at_nics: float) -> float:
    typical = sum(count * _watts(model.power) for model, count in switches) + ends
    # no maximum known: better the typical power than none
    if all(model.power_max is None for model, _ in switches):
        return typical
    most = sum(count * _watts(model.power_max or model.power) for model, count in switches)
    # the maximum of a switch contains the links at its ports, so only the ends at NICs are added
    return maximum(typical, most + at_nics)


def _missing(
    switches: list[tuple[Switch, int]], nodes: tuple[NodePower, ...], links: list[tuple[str, Link, int]]
) -> tuple[MissingFigure, ...]:
    """Return the powers missing in the sums, each once."""
    # a measured or rated power needs none of its components
    summed = [node for node in nodes if node.training_grade.endswith(COMPONENTS)]
    missing = [figure for node in summed for figure in node.missing]
    missing += [MissingFigure(model.id, "power") for model, _ in switches if model.power is None]
    missing += [
        MissingFigure(link.id, "power_per_end") for _, link, count in links if some(count) and not link.power_per_end
    ]
    return tuple({(figure.part, figure.path): figure for figure in missing}.values())


def plan_power(
    design: ResolvedDesign, fabric: FabricPlan, links: list[tuple[str, Link, int]] | None = None
) -> PowerPlan:
    """Return the power of the whole cluster, network and storage included.

    Args:
        links: its cables, if already known.
    """
    cables = cable_items(design, fabric) if links is None else links
    switches = switch_items(design, fabric)
    ends = 2 * sum(count * _watts(link.power_per_end) for _, link, count in cables)
    at_nics = sum(count * _watts(link.power_per_end) for kind, link, count in cables if kind == "endpoint-links")
    nodes = tuple(node_power(group, design.spec.site.training_power) for group in design.groups)
    pue = design.spec.site.pue
    assert pue is not None  # `resolve` has put that of the cooling in place
    return PowerPlan(
        nodes=nodes,
        switches_w=sum(count * _watts(model.power) for model, count in switches),
        network_maximum_w=_network_maximum(switches, ends, at_nics),
        links_w=ends,
        pue=pue,
        missing=_missing(switches, nodes, cables),
    )
