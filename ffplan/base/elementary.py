"""Exponentials and logarithms from sums, products and quotients alone, so that every machine prints the same digits.

Libraries compute these functions with whatever instructions a processor has, and differ in the last place. A sum of a
thousand such logarithms under an exponential differs in the digits that a report shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""log(2) in two parts; the first has so few digits that its products with whole numbers up to 2^20 are exact."""
LN2 = LN2_HIGH + LN2_LOW
SMALLEST, LARGEST = -745.0, 709.0
"""Smallest and largest exponent whose exponential is a normal result: not 0, not infinite."""
EXP_TERMS, LOG_TERMS = 14, 11
"""Terms of each series that still change a float."""


def _horner(coefficients: list[float], x: Any) -> Any:
    """Evaluate a polynomial; coefficients run from the highest power down."""
    result = np.full(np.shape(x), coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


_FACTORIALS = np.cumprod([1.0, *range(1, EXP_TERMS)])
_EXP = (1 / _FACTORIALS[::-1]).tolist()
_ATANH = [1 / (2 * k + 1) for k in range(LOG_TERMS, -1, -1)]


def exp(x: Any) -> Floats:
    """Return the exponential.

    Args:
        x: exponents [1], any shape; 0 below SMALLEST; clipped at LARGEST.

    Equation:
        2^k exp(r), k = round(x / log 2), r = x - k log 2; exp(r) by its Taylor series

    Source:
        Cody, Waite, Software Manual for the Elementary Functions, 1980, for the two-part reduction.
    """
    exponents = np.asarray(x, dtype=float)
    bounded = np.clip(exponents, SMALLEST, LARGEST)
    k = np.rint(bounded / LN2)
    power = np.ldexp(_horner(_EXP, (bounded - k * LN2_HIGH) - k * LN2_LOW), k.astype(np.int32))
    result: Floats = np.where(exponents < SMALLEST, 0.0, power)
    return result


def _parts(x: Any) -> tuple[Any, Any]:
    """Return (e, log(m)) for x = 2^e m, with m between the square roots of 1/2 and 2."""
    m, e = np.frexp(np.asarray(x, dtype=float))
    low = m < np.sqrt(0.5)
    m = np.where(low, 2 * m, m)
    s = (m - 1) / (m + 1)
    return (e - low).astype(float), 2 * s * _horner(_ATANH, s * s)


def log(x: Any) -> Floats:
    """Return the natural logarithm.

    Args:
        x: numbers above 0 and finite [1], any shape.

    Equation:
        e log 2 + 2 atanh((m - 1) / (m + 1)), x = 2^e m; atanh by its Taylor series

    Source:
        As for `exp`.
    """
    e, rest = _parts(x)
    result: Floats = e * LN2_HIGH + (rest + e * LN2_LOW)
    return result


def log2(x: Any) -> Floats:
    """Return the logarithm to base 2, which is exact for powers of 2.

    Args:
        x: numbers above 0 and finite [1], any shape.

    Equation:
        e + log(m) / log 2, x = 2^e m

    Source:
        As for `log`.
    """
    e, rest = _parts(x)
    result: Floats = e + rest / LN2
    return result


def expm1(x: Any) -> Floats:
    """Return the exponential less 1, accurate to the last places near 0 too.

    Args:
        x: exponents [1], any shape; at most LARGEST.

    Equation:
        (u - 1) x / log(u), u = exp(x); x where u is 1

    Source:
        Kahan's, in Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 1.14.1.
    """
    exponents = np.asarray(x, dtype=float)
    u = exp(exponents)
    plain = (u == 1.0) | (np.abs(exponents) > 1.0)
    inner = np.where(plain, 2.0, u)
    result: Floats = np.where(plain, np.where(u == 1.0, exponents, u - 1.0), (inner - 1.0) * exponents / log(inner))
    return result
