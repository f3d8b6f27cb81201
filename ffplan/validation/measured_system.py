"""From a case's system to a host and the ranks on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ffplan.base.errors import InputError
from ffplan.catalog.parts import Accelerator, Cpu, Nic, Part, Server
from ffplan.collectives.rank_layout import RankLayout
from ffplan.fabric.sizing.plan import LinkCut
from ffplan.node.host import Host, host_of
from ffplan.training.group_collectives import cut_fraction

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document
    from ffplan.training.group_collectives import CutsCrossed, GroupPlacement
    from ffplan.validation.cases import System

AnyPart = TypeVar("AnyPart", bound="Part")
Path = tuple[str | int, ...]


class CaseParts:
    """A catalogue and the file that asks it for parts."""

    def __init__(self, catalog: Catalog, document: Document, instead: Accelerator | None = None) -> None:
        """Take the parts.

        Args:
            catalog: catalogue that holds them.
            instead: an accelerator with other constants, in place of the catalogue's of its id.
        """
        self.catalog = catalog
        self.document = document
        self.instead = instead

    def host(self, system: System, path: Path) -> Host:
        """Return the host that a case ran on.

        Raises:
            InputError: if a part does not exist, or the server has too few NICs.
        """

        def part(model: type[AnyPart], name: str, field: str) -> AnyPart:
            return self.catalog.get(model, name, self.document, (*path, field))

        if system.oversubscription != 1.0 and system.leaf_nodes is None:
            raise self.fault(
                (*path, "oversubscription"), "`oversubscription` has no effect without `leaf_nodes`", "write both"
            )
        server = part(Server, system.server, "server")
        entry = self.catalog.entry(server.id).document

        def inner(model: type[AnyPart], name: str, *place: str | int) -> AnyPart:
            return self.catalog.get(model, name, entry, place)

        accelerator = None
        if system.accelerator:
            accelerator = part(Accelerator, system.accelerator, "accelerator")
        elif server.accelerator:
            accelerator = inner(Accelerator, server.accelerator, "accelerator")
        if self.instead is not None and accelerator is not None and accelerator.id == self.instead.id:
            accelerator = self.instead
        cpus = [
            part(Cpu, system.cpu, "cpu") if system.cpu else inner(Cpu, socket.cpu, "sockets", index, "cpu")
            for index, socket in enumerate(server.sockets)
        ]
        slots = [slot for slot in server.nics if slot.network != "storage"]
        if system.nics is not None and system.nics > len(slots):
            raise self.fault(
                (*path, "nics"),
                f"`{server.id}` has {len(slots)} NIC(s) for this, not {system.nics}",
                f"write at most {len(slots)}",
            )
        nics = []
        for index, slot in enumerate(slots[: system.nics]):
            nic = part(Nic, system.nic, "nic") if system.nic else inner(Nic, slot.part, "nics", index, "part")
            nics.append((slot.id, nic, min(nic.rate.value, system.nic_rate or nic.rate.value)))
        return host_of(server, accelerator, cpus, nics, forwarding=system.forwarding)

    def fault(self, path: Path, message: str, remedy: str, rule: str = "communication-cases") -> InputError:
        """Return the error of something in the file that cannot be."""
        return InputError(self.document.finding(rule, path, message, remedy))

    def job(self, system: System, gpus: tuple[int, ...], path: Path) -> RankLayout:
        """Return the ranks of a case; its numbers are arrays over the numbers of GPUs.

        Raises:
            InputError: for GPUs that do not split evenly over nodes.
        """
        host = self.host(system, (*path, "system"))
        if not host.gpus:
            raise self.fault((*path, "system", "server"), f"`{host.id}` has no accelerators", "name another server")
        count = np.asarray(gpus, dtype=float)
        most = system.gpus_per_node or host.domain_gpus
        if most > host.domain_gpus:
            raise self.fault(
                (*path, "system", "gpus_per_node"),
                f"`{host.id}` has {host.domain_gpus} GPUs to a node",
                f"write at most {host.domain_gpus}",
            )
        boxes = np.ceil(count / most)
        for position, number in enumerate(gpus):
            if number % boxes[position]:
                raise self.fault(
                    (*path, "gpus", position),
                    f"{number} GPUs do not split evenly over nodes of {most}",
                    f"write a multiple of {most}",
                )
        nodes, per_node = boxes, count / boxes
        if system.zones > 1 and bool((nodes < system.zones).any()):
            raise self.fault(
                (*path, "system", "zones"),
                f"{int(nodes.min())} node(s) cannot sit in {system.zones} zones",
                "write fewer zones, or more GPUs",
            )
        if not host.nics and bool((nodes > 1).any()):
            raise self.fault((*path, "system", "server"), f"`{host.id}` has no NIC", "name another server")
        return RankLayout(
            host=host,
            nodes=nodes,
            per_node=per_node,
            zones=nodes * 0 + system.zones,
            cuts=_uplink_cuts(system, host, nodes),
        )

    def crossed(self, system: System, host: Host) -> CutsCrossed:
        """Return zones and link cuts of the groups of a training run; all groups of a node cross at the same time."""

        def found(placement: GroupPlacement) -> tuple[Number, tuple[LinkCut, ...]]:
            share = cut_fraction(host.domain_gpus, host.domain_nics, placement, system.leaf_nodes or 1)
            return placement.nodes * 0 + system.zones, _uplink_cuts(
                system, host, placement.nodes, placement.apart, share
            )

        return found


def _uplink_cuts(
    system: System, host: Host, nodes: Number, apart: Number = 1.0, share: Number = 1.0
) -> tuple[LinkCut, ...]:
    """Return the uplinks of a leaf that jobs cross, with nodes `apart`; each job has a fraction `share` of them."""
    if system.leaf_nodes is None:
        return ()
    links = max(1, round(system.leaf_nodes * len(host.nics) / system.oversubscription))
    rate = sum(host.nic_gbyte_s) * system.leaf_nodes / system.oversubscription
    held = np.minimum(1.0, system.leaf_nodes / (nodes * apart))
    cut = LinkCut(
        name="leaf_uplinks",
        label="uplinks of a leaf",
        sets=np.ceil(nodes * apart / system.leaf_nodes),
        links=links,
        gbyte_s=rate,
        below=system.leaf_nodes,
        held=held,
        # every rail has a leaf of its own, which the pieces for others leave
        mixed=held * (1.0 - 1.0 / nodes),
        leaves=len(host.nics),
    )
    return (cut.spread_over(nodes, share),)
