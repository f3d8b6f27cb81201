from __future__ import annotations

import numpy as np
import pytest

from ffplan.base.array_math import ceil_div, maximum, minimum, round_up, smallest_divisor_at_least


def test_scalars_and_arrays_agree() -> None:
    a, b = np.array([1, 5, 9]), np.array([4, 4, 4])
    assert np.asarray(minimum(a, b)).tolist() == [min(x, 4) for x in a.tolist()]
    assert np.asarray(maximum(a, b, 6)).tolist() == [6, 6, 9]
    assert np.asarray(ceil_div(a, 4)).tolist() == [ceil_div(x, 4) for x in a.tolist()] == [1, 2, 3]
    assert round_up(np.array([1.2, 2.0, 2.0000000001])).tolist() == [2, 2, 2]
    assert (minimum(3, 2), maximum(3, 2), round_up(2.1), round_up(20.0)) == (2, 3, 3, 20)


def test_smallest_divisor() -> None:
    # 3 scalable units of a DGX H100 SuperPOD: 12 spines would do, 16 divide the 32 uplinks (RA-11333, Table 4)
    assert smallest_divisor_at_least(32, 12) == 16
    several = smallest_divisor_at_least(np.array([32, 20, 72]), np.array([12, 13, 16]))
    assert np.asarray(several).tolist() == [16, 20, 18]
    with pytest.raises(ValueError, match="no divisor"):
        smallest_divisor_at_least(4, 5)
    with pytest.raises(ValueError, match="exceeds"):
        smallest_divisor_at_least(np.array([4]), np.array([5]))
