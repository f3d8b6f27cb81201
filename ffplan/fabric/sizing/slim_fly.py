"""Slim Fly: the graphs of McKay, Miller and Širáň, which have diameter 2 and almost as many routers as can be.

Routers are (0, x, y) and (1, m, c) over the field of q elements, q = 4 w + delta a prime power with delta in -1, 0, 1.
Two of the first kind with the same x are joined where y - y' is in X; two of the second with the same m where c - c' is
in X'; (0, x, y) and (1, m, c) where y = m x + c.

Source: Besta, Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC'14; Hafner, "Geometric
realisation of the graphs of McKay-Miller-Širáň", J. Combin. Theory B 90 (2004).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ffplan.base.array_math import Ints


def prime_power(q: int) -> tuple[int, int] | None:
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


def delta_of(q: int) -> int | None:
    """Return delta with q = 4 w + delta and delta in -1, 0, 1, or None.

    Args:
        q: whole number [1].
    """
    return {0: 0, 1: 1, 3: -1}.get(q % 4)


def router_degree(q: int, delta: int) -> int:
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


def field(q: int) -> tuple[Ints, Ints]:
    """Return the addition and multiplication tables of the field with q elements, each of shape (q, q).

    Args:
        q: a prime power [1].

    Raises:
        ValueError: if q is no prime power.
    """
    power = prime_power(q)
    if power is None:
        raise ValueError(f"{q} is no prime power, so there is no field of that size")
    p, m = power
    # elements of GF(p^m) are polynomials over GF(p): their digits are the coefficients
    digits = np.array(list(product(range(p), repeat=m)))  # digit 0 first
    weights = p ** np.arange(m - 1, -1, -1)
    add = ((digits[:, None] + digits[None]) % p) @ weights
    tables = (_multiplication(digits, np.array(tail), p, m, weights) for tail in product(range(p), repeat=m))
    # every field size has an irreducible polynomial, with which each row but that of 0 holds every element
    return add, next(times for times in tables if all(len(set(row)) == q for row in times[1:].tolist()))


def _multiplication(digits: Ints, tail: Ints, p: int, m: int, weights: Ints) -> Ints:
    """Return the products of polynomials modulo x^m - tail, coefficients modulo p."""
    q = len(digits)
    low = digits[:, ::-1]  # coefficient of x^0 first
    product_ = np.zeros((q, q, 2 * m - 1), np.int64)
    for i, j in product(range(m), repeat=2):
        product_[:, :, i + j] += low[:, None, i] * low[None, :, j]
    reduction = tail[::-1]
    # highest power first: x^m = tail lowers each by m, and may leave powers that are still too high
    for power in range(2 * m - 2, m - 1, -1):
        product_[:, :, power - m : power] += product_[:, :, power : power + 1] * reduction
        product_[:, :, power] = 0
    result: Ints = (product_[:, :, :m] % p)[:, :, ::-1] @ weights
    return result


def _generators(q: int, delta: int, times: Ints) -> tuple[Ints, Ints]:
    """Return X and X' as powers of a primitive element."""
    for root in range(2, q) if q > 2 else [1]:
        powers = [1]
        while len(powers) < q - 1:
            powers.append(int(times[powers[-1], root]))
        # a primitive element: its powers are all elements but 0
        if len(set(powers)) == q - 1:
            break
    w = (q - delta) // 4
    if delta >= 0:
        # X takes even powers of the root, X' odd ones
        count = (q - delta) // 2
        first, second = range(0, 2 * count, 2), range(1, 2 * count, 2)
    else:
        first = [*range(0, 2 * w - 1, 2), *range(2 * w - 1, 4 * w - 2, 2)]  # type: ignore[assignment]
        second = [*range(1, 2 * w, 2), *range(2 * w, 4 * w - 1, 2)]  # type: ignore[assignment]
    pick = np.array(powers)
    return pick[np.array(first) % (q - 1)], pick[np.array(second) % (q - 1)]


def mms_links(q: int) -> tuple[Ints, Ints]:
    """Return the links of the graph, each of two routers, lower number first; (0, x, y) is x q + y, (1, m, c) follows.

    Args:
        q: a prime power that is not 2 modulo 4 [1].

    Raises:
        ValueError: if q is 2 modulo 4, or no prime power.
    """
    delta = delta_of(q)
    if delta is None:
        raise ValueError(f"{q} is 2 modulo 4")
    add, times = field(q)
    x_set, y_set = _generators(q, delta, times)
    first, second = np.meshgrid(np.arange(q), np.arange(q), indexing="ij")
    a, b = [], []
    for kind, generators in ((0, x_set), (1, y_set)):
        for step in generators:
            a.append((kind * q * q + first * q + second).ravel())
            b.append((kind * q * q + first * q + add[second, step]).ravel())
    x, m, c = np.meshgrid(np.arange(q), np.arange(q), np.arange(q), indexing="ij")
    a.append((x * q + add[times[m, x], c]).ravel())
    b.append((q * q + m * q + c).ravel())
    start, end = np.concatenate(a), np.concatenate(b)
    low, high = np.minimum(start, end), np.maximum(start, end)
    # each link within a kind is found from both ends; keep it once
    pairs = np.unique(low * 2 * q * q + high)
    result = np.divmod(pairs, 2 * q * q)
    return result[0], result[1]
