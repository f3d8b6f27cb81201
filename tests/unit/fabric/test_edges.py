"""What fabrics refuse, and their rarely taken ways."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.fabric.routing.dragonfly_routing import DragonflyRouting
from ffplan.fabric.routing.failures import default_losses
from tests.support import wired


def test_a_dragonfly_is_routed_whole() -> None:
    fabric = wired("dragonfly-a100").fabric
    with pytest.raises(ValueError, match="with all of its links"):
        DragonflyRouting(fabric, np.ones(len(fabric.network.links), bool))
    member = np.zeros(len(fabric.network.endpoints), bool)
    member[:40] = True
    router = DragonflyRouting(fabric)
    assert router.all_to_all(member, 1.0, "static") is None
    spread = router.all_to_all(member, 1.0, "adaptive")
    assert spread is not None
    ends = np.flatnonzero(member)
    assert spread[2 * ends].tolist() == [39.0] * 40


def test_one_of_each_kind_is_lost_and_one_link_of_a_hundred() -> None:
    """32,768 NICs on four planes of 128 leaves and 64 spines, with as many links between them."""
    losses = default_losses(wired("fire-flyer-next").fabric)
    assert [(loss.kind, loss.count, len(loss.pool)) for loss in losses] == [
        ("leaf", 1, 512),
        ("spine", 1, 256),
        ("plane", 1, 4),
        ("link", 328, 32_768),
    ]
