"""What reports say of units, routes and rails."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.evidence import DataFigure
from ffplan.catalog.store import Catalog
from ffplan.studies.basis.provenance import _rails
from ffplan.studies.explain.catalog import _unit
from tests.support import ROOT, ffplan, vary_design, wired

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.studies.fabric.cabling import WiredDesign


@pytest.mark.parametrize(
    ("value", "unit"),
    [("80 GiB", "GiB"), ("1 GiB", "GiB"), ("512 MiB", "GB"), ("80 GB", "GB"), ("1.5 GiB", "GB"), ("141 GB", "GB")],
)
def test_memory_is_shown_in_the_unit_that_makes_it_whole(value: str, unit: str) -> None:
    part = Catalog().entry("a100-pcie-40gb").part
    figure = DataFigure.model_validate({"value": value, "source": next(iter(part.sources))})
    assert _unit(part, figure)[0] == unit


@pytest.mark.parametrize(
    ("design", "options", "words"),
    [
        ("fire-flyer-2", (), "destination-modulo, a rule of ours; OpenSM's ftree engine counts paths"),
        ("fire-flyer-2", (), "minhop, OpenSM's default, can be far slower"),
        ("dgx-a100-10k", (), "takes this tree only where `root_guid_file` names its roots"),
        ("l40s-8-roce", (), "switches with ECMP hash by flow instead"),
        ("l40s-8-roce", ("--routing", "ecmp"), "hashing flow by flow (ECMP)"),
        ("dragonfly-a100", (), "no engine of OpenSM routes a dragonfly so"),
        ("fire-flyer-2", ("--routing", "adaptive"), "even spreading over all usable links"),
    ],
)
def test_whose_loads_they_are(design: str, options: tuple[str, ...], words: str) -> None:
    run = ffplan("fabric route", design, *options, "-f", "json")
    assert run.code == 0, run.err
    assert words in json.loads(run.out)["holds_for"]


OWN, FILLED, ONE = ", each rail on separate leaves", ", leaves filled rail after rail", ", all rails on one leaf"
BASE = "superpod-h100-4su"
UNIT = ("  scalable_unit: 32\n", "")
FLAT = (("tiers: 2", "tiers: 1"), ("  oversubscription: 1:1\n", ""))


def rails_on_leaves(found: WiredDesign) -> Counter[int]:
    """Return how many leaves hold so many rails of the compute nodes."""
    table, rails = found.fabric.network.endpoints, dict[int, set[int]]()
    compute = next(at for at, group in enumerate(found.design.groups) if group.group.role == "compute")
    for group, leaf, port in zip(table.group, table.leaf, table.port, strict=True):
        if group == compute:
            rails.setdefault(int(leaf), set()).add(int(port))
    return Counter(map(len, rails.values()))


@pytest.mark.parametrize(
    ("family", "tiers", "nodes", "words", "leaves"),
    [
        ("rail-optimised", 2, 127, OWN, {1: 32}),
        ("rail-only", 2, 40, OWN, {1: 16}),
        ("rail-only", 1, 40, OWN, {1: 8}),
        ("rail-only", 1, 20, ", 2 rails on each switch", {2: 4}),
        ("rail-only", 1, 12, ", 4 rails on each switch", {4: 2}),
        ("rail-only", 1, 8, ONE, {8: 1}),
        ("fat-tree", 1, 8, ONE, {8: 1}),
        ("fat-tree", 2, 32, OWN, {1: 8}),
        ("fat-tree", 2, 40, FILLED, {2: 6, 1: 4}),
        ("fat-tree", 2, 8, ", 8 rails on 2 leaves", {4: 2}),
    ],
)
def test_rails(tmp_path: Path, family: str, tiers: int, nodes: int, words: str, leaves: dict[int, int]) -> None:
    flat = FLAT if tiers == 1 else ()
    changes = (("family: rail-optimised", f"family: {family}"), ("count: 127", f"count: {nodes}"), UNIT, *flat)
    found = wired(vary_design(tmp_path, BASE, *changes))
    assert _rails(found.design, found.plan) == words
    assert rails_on_leaves(found) == leaves


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ("fire-flyer-2", ""),
        ("dragonfly-a100", ""),
        ("meta-24k-roce", ", all NICs of a node on one leaf"),
        ("dgx-a100-10k", FILLED),
        ("hpn-dual-plane", OWN),
        ("deepseek-v3-2048", OWN),
    ],
)
def test_shipped_designs(design: str, words: str) -> None:
    found = wired(ROOT / "designs" / f"{design}.yaml")
    assert _rails(found.design, found.plan) == words
