"""Types of numbers and arrays, and minimum, maximum and rounding by element, for floats and numpy arrays.

A formula is written once, for floats and for broadcastable arrays. numpy is imported only when an argument
is an array; a single design never pays for it.
"""

from __future__ import annotations

import sys
from math import ceil, gcd
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[Any]
    Floats = NDArray[Any]
    Bools = NDArray[np.bool_]
    Number = float | NDArray[Any]
    Truth = bool | NDArray[np.bool_]
else:
    Ints = Floats = Bools = Number = Truth = Any


_MOST_AXES = 8
"""Most axes of the arrays of many designs or jobs."""


def _numpy_if_array(*values: object) -> Any:
    """Return numpy when any of `values` is an array, else None."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    kinds = (numpy.ndarray, numpy.generic)
    for value in values:  # a loop of its own: formulas come here a thousand times for a small search
        if isinstance(value, kinds):
            return numpy
    return None


@overload
def minimum(*values: int) -> int: ...
@overload
def minimum(*values: float) -> float: ...
@overload
def minimum(*values: Number) -> Number: ...
def minimum(*values: Any) -> Any:
    """Return the element-wise minimum of `values` [same unit], broadcast to their common shape."""
    numpy = _numpy_if_array(*values)
    if numpy is None:
        return min(values)
    result = values[0]
    for value in values[1:]:
        result = numpy.minimum(result, value)
    return result


@overload
def maximum(*values: int) -> int: ...
@overload
def maximum(*values: float) -> float: ...
@overload
def maximum(*values: Number) -> Number: ...
def maximum(*values: Any) -> Any:
    """Return the element-wise maximum of `values` [same unit], broadcast to their common shape."""
    numpy = _numpy_if_array(*values)
    if numpy is None:
        return max(values)
    result = values[0]
    for value in values[1:]:
        result = numpy.maximum(result, value)
    return result


@overload
def ceil_div(dividend: int, divisor: int) -> int: ...
@overload
def ceil_div(dividend: float, divisor: float) -> float: ...
@overload
def ceil_div(dividend: Number, divisor: Number) -> Number: ...
def ceil_div(dividend: Any, divisor: Any) -> Any:
    """Return ceil(dividend / divisor) [1] for whole numbers, exactly, in any shape."""
    return -(-dividend // divisor)


@overload
def round_up(value: float) -> int: ...
@overload
def round_up(value: Floats) -> Ints: ...
def round_up(value: Any) -> Any:
    """Return the smallest whole number not below `value` [1], forgiving 1e-9 of float noise."""
    numpy = _numpy_if_array(value)
    if numpy is None:
        return ceil(value - 1e-9)
    return numpy.ceil(value - 1e-9).astype(int)


def whole(value: Number) -> int:
    """Return a whole number [1] as int; an array, which the type omits, stays as it is."""
    return int(value) if _numpy_if_array(value) is None else value  # type: ignore[return-value]


def real(value: Number) -> float:
    """Return a number [same unit] as float; an array, which the type omits, stays as it is."""
    return float(value) if _numpy_if_array(value) is None else value  # type: ignore[return-value]


def choose(condition: Any, if_true: Any, if_false: Any) -> Any:
    """Return `if_true` [same unit] where the condition holds, else `if_false`, broadcast."""
    numpy = _numpy_if_array(condition, if_true, if_false)
    if numpy is None:
        return if_true if condition else if_false
    return numpy.where(condition, if_true, if_false)


def some(value: Any) -> bool:
    """Return whether a number or condition [1] is other than 0; for an array, whether any element is."""
    numpy = _numpy_if_array(value)
    return bool(value) if numpy is None else bool(numpy.any(value))


@overload
def greatest_common_divisor(first: int, second: int) -> int: ...
@overload
def greatest_common_divisor(first: Number, second: Number) -> Number: ...
def greatest_common_divisor(first: Any, second: Any) -> Any:
    """Return the greatest common divisor of two whole numbers [1] of any shape; for 0 and n it is n."""
    numpy = _numpy_if_array(first, second)
    return gcd(first, second) if numpy is None else numpy.gcd(first, second)


@overload
def smallest_divisor_at_least(number: int, bound: int) -> int: ...
@overload
def smallest_divisor_at_least(number: Number, bound: Number) -> Number: ...
def smallest_divisor_at_least(number: Any, bound: Any) -> Any:
    """Return the smallest divisor of `number` [1] that is not below `bound` [1].

    Args:
        number: whole numbers of at least 1, any shape.
        bound: whole numbers of at most `number`, any shape.

    Raises:
        ValueError: if a bound exceeds its number.
    """
    numpy = _numpy_if_array(number, bound)
    if numpy is None:
        if bound > number:
            raise ValueError(f"no divisor of {number} is at least {bound}")
        return next(d for d in range(max(1, bound), number + 1) if number % d == 0)
    number, bound = numpy.asarray(number), numpy.asarray(bound)
    if bool((bound > number).any()):
        raise ValueError("a bound exceeds its number")
    most = int(number.max())
    every = numpy.arange(most + 1)
    fits = (every[:, None, None] % numpy.maximum(every, 1) == 0) & (every >= every[:, None]) & (every > 0)
    table = fits.argmax(axis=-1)
    return table[number, numpy.maximum(bound, 1)]


def smallest(value: Number) -> float:
    """Return a number, or the smallest of an array [same unit]."""
    return float(value) if _numpy_if_array(value) is None else float(value.min())  # type: ignore[union-attr]


def largest_over(formula: Callable[[Any], tuple[Any, ...]], values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the largest of each result of a formula over some values [same units], in one pass if they are arrays.

    Args:
        formula: results by value, of arrays element by element and broadcast.
        values: numbers or arrays of any shape that broadcast.
    """
    numpy = _numpy_if_array(*values)
    if numpy is None:
        first, *others = (formula(value) for value in dict.fromkeys(values))
        return tuple(maximum(*each) for each in zip(first, *others, strict=True))
    together = numpy.stack(numpy.broadcast_arrays(*values))
    axes = together.ndim - 1
    # room for the axes of other arrays that the formula takes
    wide = together.reshape(len(values), *(1,) * (_MOST_AXES - axes), *together.shape[1:])
    found = []
    for each in formula(wide):
        most = numpy.broadcast_to(each, numpy.broadcast_shapes(numpy.shape(each), wide.shape)).max(axis=0)
        extra = next((axis for axis in range(_MOST_AXES - axes) if most.shape[axis] > 1), _MOST_AXES - axes)
        found.append(most.reshape(most.shape[extra:]))
    return tuple(found)
