"""Families of fabrics at the edge of what a switch can do."""

from __future__ import annotations

import pytest

from ffplan.fabric.sizing.families import Candidate, Request, plane_trees, rail_trees


def planes_by_port(planes: int, most: int | None) -> Candidate | str:
    """Return planes by port on a switch of 64 ports, each of which splits into `most`."""
    ask = Request(
        endpoints=512,
        radix=64,
        rails=1,
        ratio=1.0,
        core_policy="minimal",
        tiers=(2,),
        planes=(planes,),
        most_split=most,
    )
    return list(plane_trees(ask))[-1]


@pytest.mark.parametrize(("planes", "most"), [(2, 2), (2, 4), (4, 4), (4, None)])
def test_a_port_splits_into_as_many_planes_as_it_has_parts(planes: int, most: int | None) -> None:
    found = planes_by_port(planes, most)
    assert isinstance(found, Candidate)
    assert found.links_per_cable == planes


@pytest.mark.parametrize(("planes", "most"), [(4, 2), (2, 1), (8, 4)])
def test_more_planes_than_parts_are_refused(planes: int, most: int) -> None:
    assert planes_by_port(planes, most) == f"{planes} planes by port: the switch splits a port into {most} at most"


@pytest.mark.parametrize(("nodes", "switches"), [(39, 8), (40, 8), (41, None)])
def test_as_many_nodes_as_a_switch_has_ports_need_one_switch_a_rail(nodes: int, switches: int | None) -> None:
    """Eight rails on switches of 40 ports; a node more has no place on one tier."""
    ask = Request(endpoints=8 * nodes, radix=40, rails=8, ratio=1.0, core_policy="minimal", tiers=(1,), planes=(1,))
    (found,) = rail_trees(ask)
    if switches is None:
        assert isinstance(found, str)
    else:
        assert isinstance(found, Candidate)
        assert found.switches == switches
        assert "1 rail on each switch" in found.note
