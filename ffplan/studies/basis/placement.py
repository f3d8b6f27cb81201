"""Where the ranks of a measured collective sat: what a log says of it, and what a design makes of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.catalog.device_names import is_another

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.node.host import Host
    from ffplan.results.acceptance import Measured


@record
class Placement:
    """Ranks spread evenly over nodes."""

    nodes: int
    """Nodes [1]."""
    nics: float
    """NICs that they use on each [1]."""


def nics_near(host: Host, devices: Sequence[int]) -> float:
    """Return the NICs that some accelerators of a node send through [1].

    Args:
        devices: numbers of the accelerators; several of them may share a NIC.

    Equation:
        the NICs at the root ports of the accelerators, of those without one all NICs of the socket, else of the node;
        at most max(1, NICs / accelerators) for each, and at least 1

    Source:
        NVIDIA/nccl v2.30.7, src/graph: each channel leaves by the NIC nearest to its accelerator.
    """
    near: set[str] = set()
    for device in devices:
        port = host.port_of(host.gpus[device])
        own = port.nics if port else ()
        on_socket = [name for other in host.ports if port and other.socket == port.socket for name in other.nics]
        near |= set(own or on_socket or host.nic_ids)
    each = max(1.0, len(host.nics) / len(host.gpus))
    return max(1.0, min(float(len(near)), each * len(devices)))


def placement_fault(item: Measured, host: Host) -> str:
    """Return why a design says nothing of a measured collective; empty where it does.

    Args:
        item: the value, with what the log says of its ranks.
        host: a compute node of the design.
    """
    part = host.accelerator
    others = [name for name in item.accelerators if part is not None and is_another(name, part)]
    if others and part is not None:
        return f"measured on {others[0]}, and the design has `{part.id}`"
    if item.most_ranks > len(host.gpus):
        return f"{item.most_ranks} ranks on a node, and a node of the design has {len(host.gpus)} accelerators"
    if item.fewest_ranks != item.most_ranks:
        return f"between {item.fewest_ranks} and {item.most_ranks} ranks on a node: the model spreads them evenly"
    if item.devices and max(item.devices) >= len(host.gpus):
        return f"device {max(item.devices)}, and a node of the design has {len(host.gpus)} accelerators"
    return ""


def placement_of(item: Measured, host: Host) -> Placement | None:
    """Return how the ranks of a measured collective sat; None where they fill node after node, or nothing is said.

    Args:
        item: the value, with what the log says of its ranks.
        host: a compute node of the design.
    """
    if placement_fault(item, host):
        return None
    if item.nodes < 2 or not item.most_ranks or item.most_ranks == len(host.gpus):
        return None
    devices = item.devices or tuple(range(0, len(host.gpus), max(1, len(host.gpus) // item.most_ranks)))
    return Placement(item.nodes, nics_near(host, devices[: item.most_ranks]))


def fills_nodes(item: Measured, host: Host) -> bool:
    """Return whether the ranks of a measured collective fill nodes of the design one after the other.

    Args:
        item: the value, with what the log says of its ranks.
        host: a compute node of the design.
    """
    return not placement_fault(item, host) and placement_of(item, host) is None


def ranks_key(item: Measured) -> tuple[object, ...]:
    """Return what tells the ranks of a measured collective from others: how many, where, and of which accelerators."""
    return (item.gpus, item.nodes if item.gpus else 0, item.most_ranks, item.devices, item.accelerators)
