"""Networks of low diameter in closed form: balanced dragonflies and Slim Flies.

In a dragonfly, groups of routers are joined inside, and every pair of groups is joined. A Slim Fly is a graph of McKay,
Miller and Širáň: diameter 2, and almost as many routers as can be. Its routers are (0, x, y) and (1, m, c) over the
field of q elements, q = 4 w + delta a prime power with delta in -1, 0, 1. Two of the first kind with the same x are
joined where y - y' is in X; two of the second with the same m where c - c' is in X'; (0, x, y) and (1, m, c) where y =
m x + c.

Sources:
    [1] Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 3.
    [2] Besta, Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC'14; Hafner, "Geometric
        realisation of the graphs of McKay-Miller-Širáň", J. Combin. Theory B 90 (2004).
"""

from __future__ import annotations

from typing import Any

from ffplan.base.array_math import ceil_div, maximum, minimum
from ffplan.base.record import record


@record
class _DragonflyShape:
    groups: int
    """Groups g."""
    endpoints: int
    """Endpoints p of a router."""
    routers: int
    """Routers a of a group."""
    global_links: int
    """Global links h of a router."""
    pair_links: int
    """Links between two groups."""

    @property
    def group_ports(self) -> int:
        """Endpoint ports of a group."""
        return self.routers * self.endpoints


def _dragonfly_shape(radix: Any) -> tuple[Any, Any, Any]:
    """Return (p, a, h) of a balanced dragonfly: endpoints and global links of a router, routers of a group.

    Args:
        radix: ports k of a router [1].

    Equation:
        a = 2 p = 2 h; k = p + (a - 1) + h, so that p = h = floor((k + 1) / 4)

    Source:
        [1] section 3.1.
    """
    # k = p + (2 p - 1) + p: a router has no link to itself
    p = (radix + 1) // 4
    return p, 2 * p, p


def _dragonfly_capacity(radix: Any) -> Any:
    """Return the most endpoints of a balanced dragonfly.

    Args:
        radix: ports k of a router [1].

    Equation:
        N = a p (a h + 1)

    Source:
        [1] section 3.1.
    """
    p, a, h = _dragonfly_shape(radix)
    capacity: Any = a * p * (a * h + 1)
    return capacity


def _dragonfly_global_links(groups: Any, radix: Any) -> Any:
    """Return the links between groups, equally many for each pair of groups.

    Args:
        groups: groups [1], at least 2.
        radix: ports k of a router [1].

    Equation:
        links = g (g - 1) / 2 * floor(a h / (g - 1))

    Source:
        Derived from [1]: a group has a h global ports; with a h + 1 groups one link joins each pair.
    """
    _, a, h = _dragonfly_shape(radix)
    return groups * (groups - 1) // 2 * (a * h // (groups - 1))


def dragonfly_groups(endpoints: Any, radix: Any) -> Any:
    """Return the groups of a balanced dragonfly that holds some endpoints; two at least.

    Args:
        endpoints: endpoint ports [1].
        radix: ports k of a router [1].

    Equation:
        g = max(2, ceil(N / (a p)))

    Source:
        [1] section 3.1.
    """
    p, a, _ = _dragonfly_shape(radix)
    return maximum(2, ceil_div(endpoints, a * p))


def dragonfly_bisection(groups: Any, pair_links: Any, routers: Any, link_rate: Any, endpoint_bandwidth: Any) -> Any:
    """Return the bandwidth across the worst even split of a dragonfly.

    An odd number of groups splits one of them. Its routers may be on the side of the groups that their global links
    lead to, so that only its local links are cut: the result is a lower bound of every even split.

    Args:
        groups: groups g [1].
        pair_links: links between two groups [1].
        routers: routers a of a group [1].
        link_rate: rate of a link between routers [GB/s].
        endpoint_bandwidth: bandwidth of all endpoints together [GB/s].

    Returns:
        Bandwidth in one direction [GB/s], broadcast shape.

    Equation:
        min(endpoints / 2, (floor(g / 2)^2 each + (g mod 2) floor(a^2 / 4)) link rate)

    Source:
        Derived from [1]: half of the whole groups against the other half.
    """
    # the split group's routers, half against half, with one local link for each pair
    links = (groups // 2) ** 2 * pair_links + groups % 2 * (routers**2 // 4)
    return minimum(endpoint_bandwidth / 2, links * link_rate)


def _dragonfly_taper(shape_ports: Any, endpoint_rate: Any, links: Any, link_rate: Any) -> Any:
    """Return the bandwidth of the endpoints of a full group over the bandwidth of its global links [1].

    Args:
        shape_ports: endpoint ports a p of a group [1].
        endpoint_rate: rate of a port [GB/s].
        links: global links of a group [1].
        link_rate: rate of a global link [GB/s].

    Equation:
        a p r / (each (g - 1) R)

    Source:
        Definition of oversubscription, at the boundary of a group.
    """
    return shape_ports * endpoint_rate / (links * link_rate)


def _prime_power(q: int) -> tuple[int, int] | None:
    """Return (p, m) with q = p^m and p prime, or None."""
    for p in range(2, q + 1):
        if q % p == 0:
            m, rest = 0, q
            while rest % p == 0:
                m, rest = m + 1, rest // p
            return (p, m) if rest == 1 else None
    return None


def _delta_of(q: int) -> int | None:
    """Return delta with q = 4 w + delta and delta in -1, 0, 1, or None."""
    return {0: 0, 1: 1, 3: -1}.get(q % 4)


def _router_degree(q: int, delta: int) -> int:
    """Return the links of a router to others.

    Args:
        q: size of the field [1].
        delta: q modulo 4, as -1, 0 or 1 [1].

    Equation:
        k' = (3 q - delta) / 2

    Source:
        Besta, Hoefler, SC'14, section II-B.
    """
    return (3 * q - delta) // 2
