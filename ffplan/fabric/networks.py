"""Networks beside the compute fabric, sized as separate fabrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.design.networks import network_design
from ffplan.design.resolved import ResolvedDesign, ResolvedNetwork
from ffplan.fabric.family import plan_fabric
from ffplan.fabric.sizing.plan import FabricPlan

if TYPE_CHECKING:
    from collections.abc import Iterable


@record
class NetworkPlan:
    """A network beside the compute fabric."""

    network: ResolvedNetwork
    design: ResolvedDesign
    """The design as seen from the network: its fabric is the network."""
    plan: FabricPlan

    @property
    def name(self) -> str:
        """Name of the network."""
        return self.network.network.name


def plan_networks(design: ResolvedDesign, fabric: FabricPlan) -> tuple[NetworkPlan, ...]:
    """Return the networks of a design beside its compute fabric, in their order.

    Raises:
        InputError: if a network cannot hold its nodes.
    """
    planned: list[NetworkPlan] = []
    for network in design.networks:
        switches = fabric.switches + switches_of(planned)
        seen = network_design(design, network, switches)
        planned.append(NetworkPlan(network, seen, plan_fabric(seen)))
    return tuple(planned)


def storage_network(design: ResolvedDesign, fabric: FabricPlan) -> NetworkPlan | None:
    """Return the network that carries the storage; None if the compute fabric does."""
    return next((network for network in plan_networks(design, fabric) if network.name == "storage"), None)


def switches_of(networks: Iterable[NetworkPlan]) -> int:
    """Return the switches of some networks [1]."""
    return sum(network.plan.switches for network in networks)


def links_of(networks: Iterable[NetworkPlan]) -> int:
    """Return the cables of some networks [1]."""
    return sum(network.plan.endpoint_cables + network.plan.inter_switch_cables for network in networks)
