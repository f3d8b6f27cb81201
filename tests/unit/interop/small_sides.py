"""A fabric of two nodes, two leaves and two spines, as designed and as built, for figures worked by hand."""

from __future__ import annotations

import re

import numpy as np

from ffplan.fabric.wiring.names import _PrintedPorts
from ffplan.fabric.wiring.network import CORE, INTERZONE, LEAF, ROLES, ROUTER, SPINE
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.audit.sides import Designed, Sides

Link = tuple[str, int, str, int]
TIER = {"leaf": LEAF, "spine": SPINE, "core": CORE, "zone": INTERZONE, "router": ROUTER}
ZONE = re.compile(r"^z\d+-")
"""Start of the name of a switch in one of several zones."""
FABRIC: tuple[Link, ...] = (
    *(("a/nic0", 1, "leaf-1", 1), ("b/nic0", 1, "leaf-1", 2), ("a/nic1", 1, "leaf-2", 1), ("b/nic1", 1, "leaf-2", 2)),
    *(
        ("leaf-1", 3, "spine-1", 1),
        ("leaf-1", 4, "spine-2", 1),
        ("leaf-2", 3, "spine-1", 2),
        ("leaf-2", 4, "spine-2", 2),
    ),
)
"""Four NICs at two leaves, each of which has a link to two spines."""


def role_of(name: str) -> int:
    """Return the tier of a device, by its name."""
    return 0 if "/" in name else TIER[ZONE.sub("", name).partition("-")[0]] + 1


def whole_ports(roles: np.ndarray) -> _PrintedPorts:
    """Return ports of switches that are not split."""
    role = [max(tier - 1, 0) for tier in roles.tolist()]
    return _PrintedPorts(role=role, split=(1,) * len(ROLES), leaf_down=1 << 20, leaf_up_split=1)


def sides_of(links: tuple[Link, ...], built: tuple[Link, ...] | None = None, unknown: tuple[str, ...] = ()) -> Sides:
    """Return a fabric with its links as designed and as built, the latter as designed if omitted."""
    names = list(dict.fromkeys(name for link in links for name in (link[0], link[2])))
    at = {name: place for place, name in enumerate([*names, *unknown])}

    def ends(rows: tuple[Link, ...]) -> np.ndarray:
        return np.array([(at[a] * PORTS + p, at[b] * PORTS + q) for a, p, b, q in rows], np.int64).reshape(-1, 2)

    theirs = ends(links if built is None else built)
    seen = set((theirs // PORTS).ravel().tolist())
    roles = np.array([role_of(name) for name in names])
    return Sides(
        names=[*names, *unknown],
        designed=Designed(
            names=names,
            ends=ends(links),
            gbit_s=np.full(len(links), 400.0),
            roles=roles,
            places=np.array([(0, int(name[1]) - 1 if ZONE.match(name) else 0) for name in names]),
            printed=whole_ports(roles),
            beside="",
        ),
        present=np.array([place in seen for place in range(len(names))], bool),
        ours=ends(links),
        ours_gbit_s=np.full(len(links), 400.0),
        theirs=theirs,
        theirs_gbit_s=np.full(len(theirs), 400.0),
        theirs_lanes=np.full(len(theirs), 4),
        theirs_idle=np.zeros(len(theirs), bool),
    )
