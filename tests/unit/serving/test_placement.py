"""Copies on domains and nodes against every placement that can be tried."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import pytest

import ffplan as api
from ffplan.serving.placement import Ground, copies_that_fit, least_nodes, nodes_held
from ffplan.studies.serve.links import fleet_of

GROUNDS = [(8, 8), (4, 4), (8, 4), (6, 2), (12, 4)]
"""Accelerators of a domain and of a node."""


def rooms(ground: Ground) -> tuple[int, ...]:
    whole, rest = divmod(ground.gpus, ground.domain)
    return tuple(sorted([ground.domain] * whole + [rest] * (rest > 0)))


def most_by_trial(size: int, ground: Ground) -> int:
    """Return the most copies, each in as few domains as hold it, on nodes of its own if it is larger than a domain."""
    fewest = -(-size // ground.domain)

    @lru_cache(None)
    def most(free: tuple[int, ...]) -> int:
        best = 0
        for left in after(free, size, fewest, 0):
            best = max(best, 1 + most(left))
        return best

    def after(free: tuple[int, ...], left: int, domains: int, first: int) -> set[tuple[int, ...]]:
        if left <= 0:
            return {tuple(sorted(free))}
        found = set[tuple[int, ...]]()
        for place in range(first, len(free) if domains else 0):
            whole = size > ground.domain
            for used in range(1, min(free[place], left) + 1) if whole else (left,):
                taken = min(-(-used // ground.node) * ground.node, free[place]) if whole else used
                if taken <= free[place]:
                    rest = (*free[:place], free[place] - taken, *free[place + 1 :])
                    found |= after(rest, left - used, domains - 1, place + 1)
        return found

    return most(rooms(ground))


@pytest.mark.parametrize(("domain", "node"), GROUNDS)
def test_as_many_copies_as_any_placement_holds(domain: int, node: int) -> None:
    for gpus, size in product(range(node, 4 * domain + 1, node), range(1, 3 * domain + 1)):
        ground = Ground(gpus=gpus, domain=domain, node=node)
        assert copies_that_fit(((size, 1),), ground) == most_by_trial(size, ground), (gpus, size)


@pytest.mark.parametrize(("domain", "node"), GROUNDS)
def test_a_plan_that_fits_has_a_copy_and_none_shares_a_domain_with_half_of_another(domain: int, node: int) -> None:
    for gpus, size in product(range(1, 4 * domain), range(1, 3 * domain)):
        ground = Ground(gpus=gpus, domain=domain, node=node)
        copies = copies_that_fit(((size, 1),), ground)
        assert (copies > 0) == (size <= gpus)
        assert copies <= gpus // size
        if size <= domain:
            assert copies == sum(room // size for room in rooms(ground))


def test_racks_of_72_in_trays_of_four() -> None:
    """By hand: a rack holds one copy of 64, three racks two of 96 (72 and 24 each), and 16 racks twelve of 90."""
    racks = Ground(gpus=16 * 72, domain=72, node=4)
    assert [copies_that_fit(((size, 1),), racks) for size in (64, 16, 8, 5, 72, 73, 96)] == [
        16,
        64,
        144,
        224,
        16,
        15,
        12,
    ]
    assert copies_that_fit(((96, 1),), Ground(gpus=3 * 72, domain=72, node=4)) == 2
    assert copies_that_fit(((5, 1),), Ground(gpus=32, domain=8, node=8)) == 4


@pytest.mark.parametrize(("domain", "node"), GROUNDS)
def test_fewest_nodes_with_some_in_repair(domain: int, node: int) -> None:
    ground = Ground(gpus=node, domain=domain, node=node)
    for size, copies, down in product((1, 3, node, domain - 1, domain, domain + 1, 2 * domain), (1, 2, 5), (0, 1, 3)):
        part = ((size, 1),)
        nodes = least_nodes(part, ground, copies, down)
        on = [copies_that_fit(part, ground.of_nodes(count), down) for count in range(1, nodes + 3)]
        assert next(count for count, held in enumerate(on, 1) if held >= copies) == nodes
        assert nodes >= least_nodes(part, ground, copies) + (down if domain == node else 0)
        assert on == sorted(on)
        assert -(-copies * size // node) <= nodes_held(part, ground.of_nodes(nodes), copies) <= nodes


@pytest.mark.parametrize(("domain", "node"), GROUNDS)
def test_nodes_in_repair_lie_in_as_many_domains_as_they_can(domain: int, node: int) -> None:
    """Each of them takes the copies that the rest of its domain cannot hold."""
    ground = Ground(gpus=5 * domain, domain=domain, node=node)
    for size, down in product(range(1, domain + 1), range(6)):
        left = down * ((domain - node) // size) + (5 - down) * (domain // size)
        assert copies_that_fit(((size, 1),), ground, down) == left, (size, down)


def test_units_of_pools_whose_copies_nest_leave_nothing_idle() -> None:
    ground = Ground(gpus=128, domain=8, node=8)
    for sizes, counts in product(product((1, 2, 4, 8, 16), repeat=2), product((1, 2, 3, 5), repeat=2)):
        parts = tuple(zip(sizes, counts, strict=True))
        unit = sum(size * count for size, count in parts)
        whole = 128 // unit if unit > 8 else 16 * (8 // unit)
        assert copies_that_fit(parts, ground) == whole, parts
    # three copies of five need three nodes
    assert copies_that_fit(((5, 2), (5, 1)), Ground(gpus=16, domain=8, node=8)) == 0


@pytest.mark.parametrize("design", ["superpod-h100-4su", "gb200-nvl72-16", "fire-flyer-2"])
def test_a_design_s_copies_lie_in_its_domains(design: str) -> None:
    fleet = fleet_of(api.load(design).resolved)
    assert fleet.design is not None
    assert fleet.ground == Ground(gpus=fleet.gpus, domain=fleet.domain, node=fleet.design.compute.accelerators_per_node)
    assert fleet.ground.domain % fleet.ground.node == 0
