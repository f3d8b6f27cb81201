"""What fabrics refuse, and their rarely taken ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.fabric.routing import job_loads
from ffplan.fabric.routing.dragonfly_routing import DragonflyRouting
from ffplan.fabric.routing.failures import default_losses
from ffplan.fabric.routing.job_loads import StudyError, flows_of, pick_job
from ffplan.fabric.routing.rank_order import in_order
from ffplan.fabric.routing.tree_routing import TreeRouting
from ffplan.fabric.sizing.slim_fly import field, mms_links, prime_power, router_degree
from tests.support import ZONES_APART, ffplan, vary_design, wired

if TYPE_CHECKING:
    from pathlib import Path


def test_orders_are_known_by_name() -> None:
    with pytest.raises(ValueError, match="no order `sideways`"):
        in_order(wired("superpod-h100-4su").fabric.network, np.zeros((2, 1), np.int64), "sideways", 0)


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


def test_traffic_that_is_too_much_or_has_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    own = wired("superpod-h100-4su")
    job = pick_job(own.design, own.fabric, 4, "aligned", 0)
    flows = flows_of(own.design, own.fabric, job, "rail-all-to-all", 24e9, 0)
    assert len(flows) == 8 * 4 * 3
    assert set(flows.nbytes.tolist()) == {1e9}  # an eighth on each rail, a third to each of the three others
    with pytest.raises(StudyError, match="no storage nodes"):
        flows_of(own.design, own.fabric, job, "incast", 1.0, 0)
    with pytest.raises(StudyError, match="a job needs two nodes or more"):
        pick_job(own.design, own.fabric, 1, "aligned", 0)
    monkeypatch.setattr(job_loads, "MOST_FLOWS", 8 * 4 * 4 - 1)
    with pytest.raises(StudyError, match="more than 127 flows would be listed"):
        flows_of(own.design, own.fabric, job, "rail-all-to-all", 1.0, 0)
    with pytest.raises(StudyError, match="more than 127 flows; with this routing"):
        flows_of(own.design, own.fabric, job, "all-to-all", 1.0, 0)
    stored = wired("fire-flyer-2")
    job = pick_job(stored.design, stored.fabric, 2, "aligned", 0)
    with pytest.raises(StudyError, match=r"540 flows are more than 127"):
        flows_of(stored.design, stored.fabric, job, "incast", 1.0, 0)


def test_one_of_each_kind_is_lost_and_one_link_of_a_hundred() -> None:
    """32,768 NICs on four planes of 128 leaves and 64 spines, with as many links between them."""
    losses = default_losses(wired("fire-flyer-next").fabric)
    assert [(loss.kind, loss.count, len(loss.pool)) for loss in losses] == [
        ("leaf", 1, 512),
        ("spine", 1, 256),
        ("plane", 1, 4),
        ("link", 328, 32_768),
    ]


def test_all_to_all_stays_in_its_plane() -> None:
    """One endpoint in each of two planes: nothing is sent."""
    fabric = wired("fire-flyer-next").fabric
    plane = fabric.network.endpoints.plane
    member = np.zeros(len(plane), bool)
    member[[int(np.flatnonzero(plane == number)[0]) for number in (0, 1)]] = True
    load = TreeRouting(fabric).all_to_all(member, 1.0, "static")
    assert load is not None
    assert load.sum() == 0


def test_fields_of_prime_powers() -> None:
    """9 = 3 x 3 and 8 = 2 x 2 x 2 are; 6 and 1 are none. In GF(9) every element but 0 has an inverse."""
    assert [prime_power(q) for q in (1, 6, 8, 9, 27)] == [None, None, (2, 3), (3, 2), (3, 3)]
    add, times = field(9)
    assert all(1 in row for row in times[1:].tolist())
    assert all(0 in row for row in add.tolist())
    assert router_degree(4, 0) == 6
    for q in (2, 6):
        with pytest.raises(ValueError, match=f"{q} is"):
            mms_links(q)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((("    links_per_zone: 40", "    links_per_zone: 42"),), "84"),
        ((("  zones: 2", "  zones: 2\n  access_points: 1500"),), "access_points"),
    ],
)
def test_fabrics_without_room(changes: tuple[tuple[str, str], ...], words: str, tmp_path: Path) -> None:
    done = ffplan("design", str(vary_design(tmp_path, "fire-flyer-2", *changes)))
    assert done.code == 2
    assert words in done.err
    assert "[fabric-capacity]" in done.err


def test_a_dragonfly_needs_ports_for_its_nodes(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "dragonfly-a100", ("  family: dragonfly", "  family: dragonfly\n  access_points: 100"))
    with pytest.raises(InputError) as caught:
        wired(path)
    assert "[fabric-capacity]" in str(caught.value)


def test_reads_need_storage_in_reach(tmp_path: Path) -> None:
    """One storage node, in the first of two zones: a node of the second reads from nowhere."""
    path = vary_design(tmp_path, "fire-flyer-2", *ZONES_APART, ("count: 135, zones: every", "count: 1"))
    own = wired(path)
    job = pick_job(own.design, own.fabric, None, "aligned", 0)
    with pytest.raises(StudyError, match="no storage port"):
        flows_of(own.design, own.fabric, job, "incast", 1.0, 0)


def test_grids_know_what_does_not_fit(tmp_path: Path) -> None:
    """As for single designs: access points, ports of inter-zone switches, and rails that zones cannot share."""
    import ffplan as api

    counts = np.array([1250, 1251])
    assert api.assess_many("pcie-a100-three-tier", {"nodes[0].count": counts}).feasible.tolist() == [True, False]
    counts = np.array([1000, 1250])
    assert api.assess_many("fire-flyer-2", {"nodes[0].count": counts}).feasible.tolist() == [True, True]
    full = vary_design(tmp_path, "fire-flyer-2", ("links_per_zone: 40", "links_per_zone: 42"))
    assert api.assess_many(full, {"nodes[0].count": counts}).feasible.tolist() == [False, False]
    odd = vary_design(tmp_path, "dgx-a100-10k", ("  tiers: 3", "  tiers: 3\n  planes: 3"))
    with pytest.raises(InputError):
        api.assess_many(odd, {"nodes[0].count": counts})


def test_a_cable_must_carry_the_rate_of_its_port(tmp_path: Path) -> None:
    """200 Gb/s cables reach everywhere on this floor, and carry no 400 Gb/s port."""
    path = vary_design(tmp_path, "superpod-h100-4su", ("400g-dac, 400g-aoc, 400g-dr4", "hdr-dac, hdr-aoc"))
    done = ffplan("export", str(path), "--to", "cables")
    assert done.code == 2
    assert "links" in done.err
