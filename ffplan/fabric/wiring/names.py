"""Names of fabric devices and their printed ports: the same in every report, export and cable label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.design.networks import SWITCHES
from ffplan.fabric.wiring.network import INTERZONE, LEAF, ROLES, ROUTER, Network

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.wiring.wiring import WiredFabric


@record
class _PrintedPorts:
    role: list[int]
    """Role of each switch."""
    split: tuple[int, ...]
    """Parts of a port of each role; for a leaf, of an endpoint port."""
    leaf_down: int
    """Downlinks of a leaf; ports from there on are uplinks."""
    leaf_up_split: int
    """Parts of a port of a leaf for uplinks."""

    def place(self, switch: int, port: int) -> tuple[int, int, int]:
        """Return the printed port, counted from 1, the part of it, and into how many parts it is split."""
        role = self.role[switch]
        split, first, before = self.split[role], 0, 0
        # uplinks of a leaf begin on a whole port behind the split downlinks
        if role == LEAF and port >= self.leaf_down and split != self.leaf_up_split:
            before, first = -(-self.leaf_down // split), self.leaf_down
            split = self.leaf_up_split
        offset = port - first
        return before + offset // split + 1, offset % split + 1, split

    def number(self, switch: int, whole: int, part: int) -> int | None:
        """Return the port, as `place` takes it, of a printed port and its part, from 0; None if it has no such part.

        Part -1 is the whole port, which a split one has not.
        """
        role = self.role[switch]
        split, first, before = self.split[role], 0, 0
        if role == LEAF and split != self.leaf_up_split and whole > -(-self.leaf_down // split):
            before, first, split = -(-self.leaf_down // split), self.leaf_down, self.leaf_up_split
        if part < 0 and split == 1:
            part = 0
        return first + (whole - before - 1) * split + part if whole > before and 0 <= part < split else None

    def name(self, switch: int, port: int) -> str:
        """Return the name of a port, such as `7`, or `7/2` for the second part of a split one."""
        whole, part, split = self.place(switch, port)
        return str(whole) if split == 1 else f"{whole}/{part}"


def _printed_ports(design: ResolvedDesign, fabric: WiredFabric) -> _PrintedPorts:
    rule = fabric.trees[0].tree.rule if fabric.trees else None
    return _PrintedPorts(
        role=fabric.network.switches.role.tolist(),
        split=tuple(design.breakout_of(role) for role in ROLES),
        leaf_down=rule.downlinks if rule is not None and rule.tiers > 1 else 1 << 20,
        leaf_up_split=design.uplink_breakout,
    )


class Names:
    """Names of switches, hosts and their NICs; switches and hosts count from 1, padded to sort well."""

    def __init__(
        self, design: ResolvedDesign, fabric: WiredFabric, beside: str = "", joined: tuple[str, ...] = ()
    ) -> None:
        """Name the devices of a fabric or a side network.

        Args:
            design: the design, as seen from the network.
            beside: name of the side network; empty for the compute fabric.
            joined: names of the switches of other networks, which may join this one as nodes.
        """
        self.network: Network = fabric.network
        self.prefix: str = f"{beside}-" if beside else ""
        """Prefix of switches and cables in a side network."""
        self.printed: _PrintedPorts = _printed_ports(design, fabric)
        """Ports as they are printed on the switches."""
        self.stripes: int = design.stripes
        self.planes: int = fabric.planes
        self.zones: int = fabric.zones
        self.nics: list[tuple[str, ...]] = [group.fabric_ports for group in design.groups]
        """Names of the NICs on this fabric, as the server's file has them."""
        self.roles: list[str] = [
            "switch" if group.group.server == SWITCHES else group.group.role for group in design.groups
        ]
        self.joined = joined
        counts: dict[str, int] = {}
        self.first: list[int] = []
        for group, role in zip(design.groups, self.roles, strict=True):
            self.first.append(counts.get(role, 0))
            counts[role] = counts.get(role, 0) + group.group.count
        self.host_width: dict[str, int] = {role: len(str(count)) for role, count in counts.items()}
        switches = fabric.network.switches
        most = np.zeros(len(ROLES), np.int64)
        np.maximum.at(most, switches.role, switches.index + 1)
        self.switch_width: list[int] = [len(str(int(count))) for count in most]
        self.group_width: int = len(str(int(switches.pod.max(initial=0)) + 1))

    def switch(self, number: int) -> str:
        """Return the name of a switch, such as `z1-leaf-07`, `p2-spine-3`, `g12-router-05` of a dragonfly, or
        `storage-leaf-2` in a side network."""
        s = self.network.switches
        role = int(s.role[number])
        place = self.prefix + (f"p{int(s.plane[number]) + 1}-" if self.planes > 1 else "")
        if self.zones > 1 and role != INTERZONE:
            place += f"z{int(s.zone[number]) + 1}-"
        if role == ROUTER:
            place += f"g{int(s.pod[number]) + 1:0{self.group_width}}-"
        return f"{place}{ROLES[role]}-{int(s.index[number]) + 1:0{self.switch_width[role]}}"

    def host(self, group: int, node: int) -> str:
        """Return the name of a node, such as `compute-0001`, or of a switch that joins a network as one."""
        role = self.roles[group]
        if role == "switch":
            return self.joined[node]
        return f"{role}-{self.first[group] + node + 1:0{self.host_width[role]}}"

    def endpoint(self, number: int) -> tuple[str, str]:
        """Return the host and the port of an endpoint, such as `compute-0001` and `nic0`, or `nic0p2` of a striped
        one."""
        e = self.network.endpoints
        group = int(e.group[number])
        return self.host(group, int(e.node[number])), self._port(group, int(e.port[number]))

    def _port(self, group: int, port: int) -> str:
        """Return the port name on the nodes of a group, such as `nic0`, or `nic0p2` with striping."""
        nic, stripe = divmod(port, self.stripes)
        return f"{self.nics[group][nic]}{f'p{stripe + 1}' if self.stripes > 1 else ''}"

    def switches(self) -> list[str]:
        """Return the names of all switches, in order."""
        return [self.switch(number) for number in range(len(self.network.switches))]

    def _host_names(self) -> Iterator[str]:
        """Yield the host of every endpoint, in order; endpoints of one host share the text."""
        e = self.network.endpoints
        texts: dict[tuple[int, int], str] = {}
        for key in zip(e.group.tolist(), e.node.tolist(), strict=True):
            if (name := texts.get(key)) is None:
                name = texts[key] = self.host(*key)
            yield name

    def _port_names(self) -> Iterator[str]:
        e = self.network.endpoints
        texts: dict[tuple[int, int], str] = {}
        for key in zip(e.group.tolist(), e.port.tolist(), strict=True):
            if (name := texts.get(key)) is None:
                name = texts[key] = self._port(*key)
            yield name

    def endpoints(self) -> list[tuple[str, str]]:
        """Return host and port of all endpoints, in order."""
        return list(zip(self._host_names(), self._port_names(), strict=True))

    def devices(self) -> list[str]:
        """Return the names of all devices, switches then endpoints; an endpoint is `host/port`."""
        ends = zip(self._host_names(), self._port_names(), strict=True)
        return [*self.switches(), *(f"{host}/{port}" for host, port in ends)]

    def hosts(self) -> dict[str, list[int]]:
        """Return the endpoints of each host, by name, hosts in order of group and node."""
        e = self.network.endpoints
        order = np.lexsort((e.port, e.node, e.group))
        endpoints: dict[str, list[int]] = {}
        for number, group, node in zip(order.tolist(), e.group[order].tolist(), e.node[order].tolist(), strict=True):
            endpoints.setdefault(self.host(group, node), []).append(number)
        return endpoints
