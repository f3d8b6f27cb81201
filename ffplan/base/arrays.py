"""Names for the arrays that fabrics are made of; they cost nothing at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[Any]
    Floats = NDArray[Any]
    Bools = NDArray[np.bool_]
else:
    Ints = Floats = Bools = Any
