"""Ports as they are printed on switches: whole ones counted from 1, and the parts of a split one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.fabric.wiring.network import LEAF, ROLES

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.wiring.wiring import WiredFabric


@record
class _PrintedPorts:
    """Ports of the switches of a fabric, as printed on them."""

    role: list[int]
    """Role of each switch."""
    split: tuple[int, ...]
    """Parts of a port of each role; for a leaf, of an endpoint port."""
    leaf_down: int
    """Downlinks of a leaf; ports from there on are uplinks."""
    leaf_up_split: int
    """Parts of a port of a leaf for uplinks."""

    def place(self, switch: int, port: int) -> tuple[int, int, int]:
        """Return the printed port, counted from 1, the part of it, and into how many parts it is split.

        Args:
            switch: number of the switch.
            port: its port, counted from 0, parts counted [1].
        """
        role = self.role[switch]
        split, first, before = self.split[role], 0, 0
        # uplinks of a leaf begin on a whole port behind the split downlinks
        if role == LEAF and port >= self.leaf_down and split != self.leaf_up_split:
            before, first = -(-self.leaf_down // split), self.leaf_down
            split = self.leaf_up_split
        offset = port - first
        return before + offset // split + 1, offset % split + 1, split

    def name(self, switch: int, port: int) -> str:
        """Return the name of a port, such as `7`, or `7/2` for the second part of a split one.

        Args:
            switch: number of the switch.
            port: its port, counted from 0, parts counted [1].
        """
        whole, part, split = self.place(switch, port)
        return str(whole) if split == 1 else f"{whole}/{part}"


def _printed_ports(design: ResolvedDesign, fabric: WiredFabric) -> _PrintedPorts:
    """Return the ports of the switches of a fabric, as printed on them."""
    rule = fabric.trees[0].tree.rule if fabric.trees else None
    return _PrintedPorts(
        role=fabric.network.switches.role.tolist(),
        split=tuple(design.breakout_of(role) for role in ROLES),
        leaf_down=rule.downlinks if rule is not None and rule.tiers > 1 else 1 << 20,
        leaf_up_split=design.uplink_breakout,
    )
