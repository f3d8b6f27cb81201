"""Every Slim Fly graph is regular, of the stated degree, and of diameter 2."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.fabric.mms import delta_of, mms_links, router_degree


@pytest.mark.parametrize("q", [3, 4, 5, 7, 8, 9, 11, 13, 16, 17])
def test_slim_fly_graphs(q: int) -> None:
    delta = delta_of(q)
    assert delta is not None
    a, b = mms_links(q)
    routers = 2 * q * q
    matrix = np.zeros((routers, routers), np.int32)
    matrix[a, b] = matrix[b, a] = 1
    assert (a != b).all()
    assert set(matrix.sum(axis=0).tolist()) == {router_degree(q, delta)}
    assert ((matrix + matrix @ matrix + np.eye(routers, dtype=np.int32)) > 0).all(), (
        "some pair is further than two apart"
    )
