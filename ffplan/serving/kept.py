"""Runs and means that are made once for equal inputs.

A derivation varies hundreds of figures, and a dozen of them reach the time of a step; a curve, its saturation and its
cost ask for the same loads.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Inputs = ParamSpec("_Inputs")
_Result = TypeVar("_Result")
_MOST = 64
"""Results that are kept, each of some thousand numbers at most [1]."""
_kept: OrderedDict[bytes, Any] = OrderedDict()


def once(make: Callable[_Inputs, _Result], *inputs: _Inputs.args, **more: _Inputs.kwargs) -> _Result:
    """Return the result of a function of plain data, made once for equal data; callers do not change it."""
    key = sha256(pickle.dumps((make.__name__, inputs, sorted(more.items())))).digest()
    if key not in _kept:
        _kept[key] = make(*inputs, **more)
        if len(_kept) > _MOST:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    result: _Result = _kept[key]
    return result
