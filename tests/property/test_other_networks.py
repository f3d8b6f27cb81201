"""Networks for comparison: every Slim Fly graph is regular and of diameter 2; dragonflies join every pair of groups."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.fabric.sizing.dragonfly import dragonfly_global_links, dragonfly_shape
from ffplan.fabric.sizing.slim_fly import delta_of, router_degree
from ffplan.fabric.wiring.dragonfly_links import dragonfly_links
from tests.fabrics import dragonfly_of, mms_links


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


@pytest.mark.parametrize("radix", [7, 11, 15, 16])
def test_dragonflies(radix: int) -> None:
    """No router beyond its ports, every pair of groups joined alike, at most local, global, local between two
    routers."""
    p, a, h = dragonfly_shape(radix)
    for groups in {2, 3, a * h // 2 + 1, a * h + 1}:
        links = dragonfly_links(dragonfly_of(groups, radix))
        one, two, far = links.a, links.b, links.inter_group
        routers = groups * a
        matrix = np.zeros((routers, routers), np.int32)
        np.add.at(matrix, (one, two), 1)
        matrix += matrix.T
        ports = np.concatenate([one * radix + links.a_port, two * radix + links.b_port])
        assert len(np.unique(ports)) == len(ports)
        assert max(links.a_port.max(), links.b_port.max()) < radix
        assert (one != two).all()
        assert matrix.sum(axis=0).max() + p <= radix
        assert far.sum() == dragonfly_global_links(groups, radix)
        between = np.bincount(one[far] // a * groups + two[far] // a, minlength=groups**2)
        assert set(between[between > 0].tolist()) == {a * h // (groups - 1)}
        reach = ((matrix + np.eye(routers, dtype=np.int32)) > 0).astype(np.int32)
        assert (reach @ reach @ reach > 0).all()
    with pytest.raises(ValueError, match=f"2 to {a * h + 1} groups"):
        dragonfly_of(a * h + 2, radix)
