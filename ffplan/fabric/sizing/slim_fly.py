"""Slim Fly: the graphs of McKay, Miller and Širáň, which have diameter 2 and almost as many routers as can be.

Routers are (0, x, y) and (1, m, c) over the field of q elements, q = 4 w + delta a prime power with delta in -1, 0, 1.
Two of the first kind with the same x are joined where y - y' is in X; two of the second with the same m where c - c' is
in X'; (0, x, y) and (1, m, c) where y = m x + c.

Source: Besta, Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC'14; Hafner, "Geometric
realisation of the graphs of McKay-Miller-Širáň", J. Combin. Theory B 90 (2004).
"""

from __future__ import annotations


def _prime_power(q: int) -> tuple[int, int] | None:
    """Return (p, m) with q = p^m and p prime, or None.

    Args:
        q: whole number [1].
    """
    for p in range(2, q + 1):
        if q % p == 0:
            m, rest = 0, q
            while rest % p == 0:
                m, rest = m + 1, rest // p
            return (p, m) if rest == 1 else None
    return None


def _delta_of(q: int) -> int | None:
    """Return delta with q = 4 w + delta and delta in -1, 0, 1, or None.

    Args:
        q: whole number [1].
    """
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
