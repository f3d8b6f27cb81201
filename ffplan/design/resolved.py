"""Designs whose catalogue ids are resolved to parts.

For many designs at once, counts and figures are arrays of one shape instead of numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import Number, ceil_div, choose, maximum, minimum, real
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.catalog.library import FileSystem, Library
from ffplan.catalog.parts import Accelerator, Cpu, Link, Nic, Part, Server, StorageServer, Switch
from ffplan.catalog.prices import PriceBook
from ffplan.design.schema import Design, NodeGroup, OtherNetwork
from ffplan.inputs.document import Document

if TYPE_CHECKING:
    from ffplan.catalog.ownership import Effort
    from ffplan.design.ownership_schema import Ownership, Rent  # noqa: TC004
    from ffplan.design.reliability_schema import Reliability  # noqa: TC004
    from ffplan.design.serving_schema import Serving  # noqa: TC004
    from ffplan.design.training import Workload  # noqa: TC004


def shared_rails(rails: int, ports: Number, room: int) -> Number:
    """Return the rails per switch of a one-tier rail-only fabric.

    Args:
        rails: rails R, the NICs of a node [1].
        ports: endpoint ports P of all rails together [1], any shape.
        room: ports k of a switch for endpoints [1].

    Returns:
        Rails of a switch [1]; 1 if not even one rail fits.

    Equation:
        s = max { s : s divides R, s * P / R <= k }, at least 1

    Source:
        Wang et al., "Rail-only", arXiv 2307.12169: 256 rails of 128 GPUs take half a switch of 256 ports each. All
        switches hold as many rails, so that they are wired alike; hence s divides R.
    """
    shared: Number = 1
    for count in (divisor for divisor in range(2, rails + 1) if rails % divisor == 0):
        shared = choose(count * ports <= room * rails, count, shared)
    return shared


@record
class ResolvedGroup:
    """A node group with its parts."""

    group: NodeGroup
    position: int
    """Position under `nodes` in the design file."""
    server: Server | StorageServer
    cpus: tuple[Cpu, ...]
    """CPUs, one per socket."""
    nics: tuple[Nic, ...]
    """NICs, one per NIC slot."""
    accelerator: Accelerator | None
    fabric_nics: tuple[int, ...]
    """Positions of the NIC slots on this fabric."""
    left_out: tuple[Nic, ...] = ()
    """NICs in the server's file that are not bought."""
    written: tuple[int, ...] = ()
    """Positions under `nodes` of all groups merged into this one."""
    file_system: FileSystem | None = None
    """File system of storage servers; None for other groups."""
    port_names: tuple[str, ...] = ()
    """Names of the ports on a side network; empty on the fabric, whose ports are the NIC slots."""

    @property
    def fabric_ports(self) -> tuple[str, ...]:
        """Names of the NICs, or other ports, on this fabric."""
        return self.port_names or tuple(self.server.nics[slot].id for slot in self.fabric_nics)

    def nic_rates(self, port_gbyte_s: float, stripes: int = 1) -> tuple[float, ...]:
        """Return the rate of each NIC over `stripes` ports of `port_gbyte_s` [GB/s]."""
        return tuple(minimum(stripes * port_gbyte_s, self.nics[slot].rate.value) for slot in self.fabric_nics)

    @property
    def kind(self) -> tuple[Any, ...]:
        """Key of groups whose nodes are alike to a job: server, NICs on the fabric, and zones."""
        return self.server.id, self.fabric_nics, len(self.left_out), self.group.zones

    @property
    def height(self) -> int:
        """Height of a node of a design with a floor [rack units], stated or assumed."""
        assert self.group.rack_units is not None
        return self.group.rack_units

    @property
    def accelerators_per_node(self) -> int:
        """Accelerators in one node."""
        return len(self.server.accelerators) if isinstance(self.server, Server) else 0


@record
class FabricParts:
    """The switches and links of a fabric."""

    switch: Switch
    """Switch of the leaves."""
    endpoint_link: Link
    inter_switch_link: Link
    """Equal to the endpoint link, and unused, if the design names none."""
    spine_switch: Switch | None
    """None if equal to the leaf switch."""
    core_switch: Switch | None
    """None if equal to the spine switch."""

    @property
    def switches(self) -> tuple[Switch, ...]:
        """Switch models: leaf, and different ones of the tiers above."""
        return tuple(part for part in (self.switch, self.spine_switch, self.core_switch) if part is not None)

    @property
    def models(self) -> tuple[Part, ...]:
        """Every switch and link."""
        return *self.switches, self.endpoint_link, self.inter_switch_link

    def switch_of(self, role: str) -> Switch:
        """Return the switch of a role: leaf, spine, core, interzone or router."""
        spine = self.spine_switch or self.switch
        return {"spine": spine, "core": self.core_switch or spine}.get(role, self.switch)


@record
class ResolvedNetwork:
    """A side network with its parts."""

    network: OtherNetwork
    position: int
    """Position under `networks` in the design file."""
    parts: FabricParts


@record
class ResolvedDesign:
    """A design with every catalogue id resolved."""

    document: Document
    spec: Design
    groups: tuple[ResolvedGroup, ...]
    parts: FabricParts
    """Switches and links of the compute fabric."""
    libraries: tuple[Library, ...]
    """Constants of the libraries under `communication`, in their order."""
    prices: PriceBook | None
    cable_choices: tuple[Link, ...]
    """Cables and optics available to the floor plan."""
    networks: tuple[ResolvedNetwork, ...] = ()
    """Side networks."""
    ownership: Ownership | None = None
    """The section on ownership, if any."""
    rent: Rent | None = None
    """The section on rent; None if the cluster is bought."""
    workload: Workload | None = None
    """The section on the job, if any."""
    serving: Serving | None = None
    """The section on the model that is served, if any."""
    reliability: Reliability | None = None
    """The section on failures, if any."""
    jobs_on: str = ""
    """Accelerator of the nodes that jobs run on; empty for the kind of node with the most accelerators."""

    @property
    def stated_workload(self) -> Workload:
        """The job of a design with a workload."""
        assert self.workload is not None
        return self.workload

    def states_height(self, group: ResolvedGroup) -> bool:
        """Return whether the design file gives the height of a group's nodes; a floor plan otherwise assumes one."""
        return all("rack_units" in self.document.data["nodes"][place] for place in group.written or (group.position,))

    @property
    def assumed_heights(self) -> list[str]:
        """Heights that a floor plan assumes, for people."""
        groups = [group for group in self.groups if not self.states_height(group)] if self.spec.floor else []
        return [f"{plural(group.height, 'rack unit')} for `{group.server.id}`" for group in groups]

    @property
    def radix(self) -> int:
        """Ports of a leaf switch, each split by the breakout."""
        return int(self.parts.switch.ports.value) * self.spec.fabric.breakout

    @property
    def uplink_breakout(self) -> int:
        """Ports per split uplink port of a leaf."""
        fabric = self.spec.fabric
        return fabric.leaf.uplink_breakout or fabric.breakout

    def breakout_of(self, role: str) -> int:
        """Return the ports per split port of a role's switch; for a leaf, per endpoint port."""
        fabric = self.spec.fabric
        spine = fabric.spine.breakout or self.uplink_breakout
        return {"spine": spine, "core": fabric.core.breakout or spine}.get(role, fabric.breakout)

    def radix_of(self, role: str) -> int:
        """Return the ports of a role's switch after the split; for a leaf, counted as endpoint ports."""
        return int(self.parts.switch_of(role).ports.value) * self.breakout_of(role)

    @property
    def rails_per_leaf(self) -> int:
        """Rails per leaf of a scalable unit."""
        fabric = self.spec.fabric
        if fabric.family != "top-of-rack":
            return fabric.leaf.rails or 1
        planes = 1 if fabric.planes_by == "port" else self.planes
        every = any(group.group.zones == "every" for group in self.groups if group.group.role == "compute")
        return max(1, self.rails // planes // (fabric.zones if every else 1))

    @property
    def rails(self) -> int:
        """NICs of a compute node on this fabric, the maximum over groups."""
        return max(len(group.fabric_nics) for group in self.groups if group.group.role == "compute")

    @property
    def rails_per_switch(self) -> Number:
        """Rails per switch of a one-tier `rail-only` fabric; 1 for any other fabric.

        If counts of nodes are arrays, so is it.
        """
        fabric = self.spec.fabric
        if fabric.family != "rail-only" or fabric.tiers > 1:
            return 1
        ports: Number = 0
        for group in self.groups:
            every = group.group.zones == "every"
            nodes = group.group.count if every else ceil_div(group.group.count, fabric.zones)
            ports = ports + ceil_div(nodes * len(group.fabric_nics), fabric.zones if every else 1)
        # a design may build more ports than its nodes need; links between zones take ports as well
        floor = ceil_div(fabric.access_points or 0, fabric.zones)
        return shared_rails(self.rails, maximum(ports, floor), self.radix - self.trunk_links)

    @property
    def planes(self) -> int:
        """Planes; for a `rail-only` fabric, one per NIC of a compute node, or per group of NICs that share a switch.

        If counts of nodes are arrays, the largest count decides.
        """
        if self.spec.fabric.family != "rail-only":
            return self.spec.fabric.planes
        shared = self.rails_per_switch
        return self.rails // (shared if isinstance(shared, int) else int(shared.min()))  # type: ignore[union-attr]

    @property
    def trunk_links(self) -> int:
        """Links from each zone to the inter-zone switches, in one plane."""
        trunk = self.spec.fabric.inter_zone
        return trunk.links_per_zone if trunk else 0

    @property
    def side_by_side(self) -> bool:
        """Whether every compute node is in every zone, so that zones carry its traffic in parallel, as planes do."""
        return all(group.group.zones == "every" for group in self.groups if group.group.role == "compute")

    @property
    def stripes(self) -> int:
        """Ports of a NIC: one, or one in every plane."""
        return self.planes if self.spec.fabric.planes_by == "port" else 1

    def _rate(self, link: Link) -> float:
        """Return the rate of a leaf port with a link before breakout, one direction [GB/s]."""
        return real(minimum(self.parts.switch.rate.value, link.rate.value))

    @property
    def port_gbyte_s(self) -> float:
        """Rate of a switch port with its link to a NIC, one direction, after breakout [GB/s]."""
        return self._rate(self.parts.endpoint_link) / self.spec.fabric.breakout

    @property
    def link_gbyte_s(self) -> float:
        """Rate of a link between switches, one direction, after breakout [GB/s]."""
        return self._rate(self.parts.inter_switch_link) / self.uplink_breakout

    @property
    def trunk_gbyte_s(self) -> float:
        """Rate of a link between zones, which occupies an endpoint port of a leaf, one direction [GB/s]."""
        return self._rate(self.parts.inter_switch_link) / self.spec.fabric.breakout

    @property
    def compute(self) -> ResolvedGroup:
        """Compute nodes that jobs run on: all equal nodes of `jobs_on`, or of the kind with the most accelerators.

        Neither the order of groups nor the division of equal nodes has an effect. Every design has one.
        """
        groups = [self.groups[position] for position in self.job_groups]
        if len(groups) == 1:
            return groups[0]
        count = sum(group.group.count for group in groups)
        return replace(groups[0], group=groups[0].group.model_copy(update={"count": count}))

    @property
    def job_groups(self) -> tuple[int, ...]:
        """Positions in `groups` of the compute nodes that jobs run on."""
        kinds: dict[tuple[Any, ...], list[int]] = {}
        for position, group in enumerate(self.groups):
            chosen = not self.jobs_on or (group.accelerator is not None and group.accelerator.id == self.jobs_on)
            if group.group.role == "compute" and chosen:
                kinds.setdefault(group.kind, []).append(position)
        if len(kinds) == 1:
            return tuple(*kinds.values())

        def size(kind: tuple[Any, ...]) -> tuple[Any, ...]:
            members = [self.groups[position] for position in kinds[kind]]
            count: Any = sum(group.group.count for group in members)
            nodes = count if isinstance(count, int) else int(count.max())  # one kind for all designs of an array
            return -members[0].accelerators_per_node * nodes, -nodes, kind

        return tuple(kinds[min(kinds, key=size)])

    @property
    def job_accelerators(self) -> int:
        """Accelerators of the nodes that jobs run on."""
        return self.compute.group.count * self.compute.accelerators_per_node

    @property
    def accelerators(self) -> int:
        """Accelerators of the compute nodes."""
        compute = [group for group in self.groups if group.group.role == "compute"]
        return sum(group.accelerators_per_node * group.group.count for group in compute)


def with_effort(design: ResolvedDesign, effort: Effort | None) -> ResolvedDesign:
    """Return a design whose training runs are tuned so well, if given."""
    if effort is None:
        return design
    from ffplan.design.ownership_schema import Ownership

    section = design.ownership or Ownership.model_construct()
    return replace(design, ownership=section.model_copy(update={"effort": effort}))


def profiled(design: ResolvedDesign, profile: str, **changes: Any) -> ResolvedDesign:
    """Return a design with another reliability profile."""
    from ffplan.design.reliability_schema import Reliability

    section = design.reliability or Reliability.model_construct()
    return replace(design, reliability=section.model_copy(update={"profile": profile, **changes}))
