"""Even striping of spines over cores: what ftree refuses, which change heals it, what each policy costs.

1,250 DGX on 40-port switches are 25 pods of 20 leaves: 500 leaf, 500 spine, and 320 core switches by the paper, 400 by
even striping, 250 by port count.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.api import designs as api
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.fabric.family import plan_fabric
from ffplan.fabric.sizing.striping import (
    striping_notes,
    switches_by_policy,
    uneven,
)
from ffplan.inputs.document import parse_document
from ffplan.studies.fabric.cabling import wire_design
from tests.support import SMALL, assess_file, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.wiring.network import Network
    from ffplan.studies.fabric.cabling import WiredDesign

TOTALS = {"minimal": 1250, "per-rail-whole-pods": 1320, "equal-stripe": 1400}
LINE = "  core_policy: per-rail-whole-pods  # 320 as in the paper; minimal gives 250, equal-stripe 400\n"


def dgx(tmp_path: Path, policy: str | None = "per-rail-whole-pods", count: int = 1250) -> Path:
    line = f"  core_policy: {policy}\n" if policy else ""
    return vary_design(tmp_path, "dgx-a100-10k", (LINE, line), ("count: 1250", f"count: {count}"))


def resolved(path: Path) -> ResolvedDesign:
    return api.load(str(path)).resolved


def test_designs_and_size_share_one_default(tmp_path: Path) -> None:
    """OpenSM's ftree accepts it; `size` and a design of the same NICs count the same switches."""
    a = assess_file(dgx(tmp_path, None))
    assert (a.fabric.core_policy, a.fabric.switches.total) == ("equal-stripe", 1400)
    done = ffplan("fabric size -n 10000 --switch qm8700 --tiers 3 --format json")
    options = {item["family"]: item["switches"] for item in json.loads(done.out)["options"]}
    assert options["fat-tree, three tiers"] == 1400


def test_switches_by_policy_are_those_of_the_designs(tmp_path: Path) -> None:
    assert switches_by_policy(resolved(dgx(tmp_path))) == TOTALS
    for policy, count in TOTALS.items():
        assert plan_fabric(resolved(dgx(tmp_path, policy))).switches == count
    assert switches_by_policy(api.load("fire-flyer-2").resolved) == {}
    assert switches_by_policy(api.load("dragonfly-a100").resolved) == {}


def test_what_verify_says_of_the_striping(tmp_path: Path) -> None:
    refused, cost = striping_notes(resolved(dgx(tmp_path)))
    assert refused.startswith(
        "OpenSM's ftree engine refuses this tree unless its roots are named, as the 20 uplinks of a spine cannot be"
    )
    assert "write `core_policy: equal-stripe` (1,400 switches, 80 more)" in refused
    assert "1,250 with `minimal` (70 fewer)" in cost
    (even,) = striping_notes(resolved(dgx(tmp_path, "equal-stripe")))
    assert "1,320 with `per-rail-whole-pods` (80 fewer)" in even
    assert striping_notes(api.load("fire-flyer-2").resolved) == ()


TINY = """\
name: tiny
nodes:
  - {{role: compute, server: hgx-h100-8nic, count: {count}, nics: 4}}
fabric:
  family: fat-tree
  switch: tiny-16x400g
  link: {{endpoint: 400g-dr4, inter_switch: 400g-dr4}}
  tiers: 3
  core_policy: {policy}
{more}
site: {{pue: 1.2}}
"""


def tiny(count: int, policy: str, more: str = "") -> WiredDesign:
    """Return a small three-tier tree, wired."""
    text = TINY.format(count=count, policy=policy, more=more)
    return wire_design(resolve(parse_document(text.encode(), "tiny.yaml"), Catalog([str(SMALL / "parts")])))


def ftree_takes(network: Network) -> bool:
    """Return what OpenSM's ftree engine looks at: neighbours and links to each, up and down, alike within a tier.

    The counts below leaves do not matter (fabric_validate_topology of OpenSM 3.3.23).
    """
    k, role = network.links, network.switches.role
    between = k.tier > 0
    ends = np.sort(np.column_stack([k.a[between], k.b[between]]), axis=1)
    pairs, counts = np.unique(ends, axis=0, return_counts=True)
    seen: dict[tuple[int, bool], set[int]] = {}
    neighbours: dict[tuple[int, bool], Counter[int]] = {}
    for (one, two), count in zip(pairs.tolist(), counts.tolist(), strict=True):
        for own, other in ((one, two), (two, one)):
            way = (int(role[own]), bool(role[other] > role[own]))
            seen.setdefault(way, set()).add(count)
            neighbours.setdefault(way, Counter())[own] += 1
    return all(len(set(counter.values())) == 1 == len(seen[way]) for way, counter in neighbours.items())


@pytest.mark.parametrize("policy", ["equal-stripe", "per-rail-whole-pods", "minimal"])
@pytest.mark.parametrize(
    "more",
    [
        "",
        "  core: {switch: tiny-24x400g}",
        "  spine_oversubscription: 2",
        "  spine: {switch: tiny-24x400g, per_pod: 8}",
    ],
)
def test_uneven_trees_are_those_that_ftree_refuses(policy: str, more: str) -> None:
    """A lone pod that is not full, cores that several spines share, whole pods, and a last pod of fewer leaves."""
    told = []
    for count in (3, 4, 6, 8, 10, 12, 14, 16, 24, 32, 33, 40, 48):
        wired = tiny(count, policy, more)
        told.append(not uneven(wired.plan))
        assert told[-1] == ftree_takes(wired.fabric.network), count
    assert set(told) == {True, False}


def test_what_is_said_of_uneven_links() -> None:
    assert uneven(tiny(12, "minimal").plan) == "3 cores cannot be dealt evenly over the 8 spines of a pod"
    assert uneven(tiny(16, "minimal").plan) == ""  # four cores, each with the eight links of two spines
    assert uneven(tiny(24, "minimal").plan) == "the last pod has 4 leaves, the others 8"
    core = "  core: {switch: tiny-24x400g}"
    assert "cores cannot be dealt evenly over the 8 spines of a pod" in uneven(tiny(32, "minimal", core).plan)


@pytest.mark.parametrize("policy", ["minimal", "equal-stripe", "per-rail-whole-pods"])
@pytest.mark.parametrize("more", ["", "  access_points: 300"])
def test_a_remedy_for_ftree_is_one_that_ftree_takes(policy: str, more: str) -> None:
    """Fields that a note names give a tree that ftree takes, with a host at every leaf; else roots are named."""
    told = set()
    for count in (12, 16, 24, 31, 32, 33, 40, 47, 48):
        notes = [note for note in striping_notes(tiny(count, policy, more).design) if "refuses" in note]
        for note in notes:
            fields = dict(re.findall(r"`(core_policy|access_points): ([\w-]+)`", note))
            told.add(bool(fields))
            assert bool(fields) != ("`root_guid_file`" in note)
            if fields:
                points = fields.get("access_points")
                changed = tiny(count, fields["core_policy"], f"  access_points: {points}" if points else more)
                assert ftree_takes(changed.fabric.network), note
                assert not len(changed.fabric.network.bare_leaves()), note
        if not notes and not more:
            assert ftree_takes(tiny(count, policy).fabric.network)
    assert told
