"""A wired fabric as arrays: one row per endpoint, per switch, per link.

Devices are numbered through: switches 0 to S-1, then endpoints S to S+E-1. An endpoint is one NIC port of one node.
Ports count from 0. A link joins device `a` to device `b`, which is one tier further up (or an inter-zone switch).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Floats, Ints
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator


PART = 65_536
"""Links read at a time."""
LEAF, SPINE, CORE, INTERZONE, ROUTER = range(5)
ROLES = ("leaf", "spine", "core", "interzone", "router")
"""Names of the values of `Switches.role`."""
TIERS = ("endpoint", "leaf_spine", "spine_core", "interzone", "intra_group", "inter_group")
"""Names of the values of `Links.tier`."""


@record
class _EndpointTable:
    group: Ints
    """Position of the node group in the design, int16."""
    node: Ints
    """Node within its group, int32."""
    port: Ints
    """Port of the node on this fabric, in the order of its NICs, int16."""
    plane: Ints
    """int16"""
    zone: Ints
    """int16"""
    leaf: Ints
    """Its switch, int32."""
    slot: Ints
    """Its port on that switch, int16."""

    def __len__(self) -> int:
        return len(self.node)


@record
class _SwitchTable:
    role: Ints
    """int8, see ROLES."""
    plane: Ints
    """int16"""
    zone: Ints
    """int16, -1 for inter-zone switches."""
    pod: Ints
    """Pod within its tree, or group of a dragonfly, int32; -1 above the pods."""
    index: Ints
    """Number within its tree and role, or within its group, int32."""

    def __len__(self) -> int:
        return len(self.role)


@record
class _LinkTable:
    a: Ints
    """Lower device, int32."""
    a_port: Ints
    """int16"""
    b: Ints
    """Upper device, int32."""
    b_port: Ints
    """int16"""
    tier: Ints
    """int8, see TIERS."""
    gbyte_s: Floats
    """Rate in one direction [GB/s], float32."""

    def __len__(self) -> int:
        return len(self.a)

    def rows(self, chosen: Ints, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield columns of some links by name, link by link; plain numbers of a part of them are held at a time."""
        columns = [getattr(self, name) for name in names]
        for start in range(0, len(chosen), PART):
            part = chosen[start : start + PART]
            yield from zip(*(column[part].tolist() for column in columns), strict=True)


@record
class Network:
    """A fabric, port by port."""

    endpoints: _EndpointTable
    switches: _SwitchTable
    links: _LinkTable
    radix: int
    """Most ports of a switch."""
    radix_of: tuple[int, ...] = ()
    """Ports of a switch of each role, in the order of ROLES, if they differ."""

    def ports_of(self, role: int) -> int:
        """Return the ports of a switch of a role."""
        return self.radix_of[role] if self.radix_of else self.radix

    @property
    def nbytes(self) -> int:
        """Memory of all arrays [byte]."""
        tables: tuple[Any, ...] = (self.endpoints, self.switches, self.links)
        return sum(getattr(table, name).nbytes for table in tables for name in table.__slots__)

    def count(self, role: int) -> int:
        """Return the number of switches of a role."""
        return int((self.switches.role == role).sum())

    def bare_leaves(self) -> Ints:
        """Return the leaves without an endpoint, as clusters have that are not full yet, shape (leaves,)."""
        return np.setdiff1d(np.flatnonzero(self.switches.role == LEAF), self.endpoints.leaf)

    def links_by_tier(self) -> dict[str, int]:
        """Return the number of links of each tier that has any."""
        counts = np.bincount(self.links.tier, minlength=len(TIERS)).tolist()
        return {tier: count for tier, count in zip(TIERS, counts, strict=True) if count}


def join(tables: list[Any]) -> Any:
    """Return the rows of several tables of a kind as one table, in order."""
    kind = type(tables[0])
    if len(tables) == 1:
        return tables[0]
    return kind(**{name: np.concatenate([getattr(table, name) for table in tables]) for name in kind.__slots__})
