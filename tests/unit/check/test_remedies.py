"""What findings advise, to the word, at the edges where another advice would be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import ZONES_APART, assess_file, vary_design

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.base.errors import Finding


def finding(rule: str, path: Path) -> Finding | None:
    found = [item for item in assess_file(path).findings if item.rule == rule]
    return found[0] if found else None


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        (
            (("count: 1250", "count: 300"), ("count: 175", "count: 20")),
            "write `tiers: 2` without `core_policy`, or keep",
        ),
        ((("count: 1250", "count: 16"), ("count: 175", "count: 2")), "write `tiers: 1` without `core_policy`, or keep"),
        (
            (
                ("count: 1250", "count: 16"),
                ("count: 175", "count: 2"),
                ("oversubscription: 1:1", "oversubscription: 3:1"),
            ),
            "write `tiers: 1` without `oversubscription` and `core_policy`, or keep",
        ),
        (
            (
                ("count: 1250", "count: 300"),
                ("count: 175", "count: 20"),
                ("oversubscription: 1:1", "oversubscription: 3:1"),
            ),
            "write `tiers: 2` without `core_policy`, or keep",
        ),
    ],
)
def test_fewer_tiers(changes: tuple[tuple[str, str], ...], remedy: str, tmp_path: Path) -> None:
    path = vary_design(tmp_path, "pcie-a100-three-tier", ("  access_points: 1600\n", ""), *changes)
    found = finding("fewer-tiers", path)
    assert found is not None
    assert found.remedy.startswith(remedy)


@pytest.mark.parametrize(("count", "tiers"), [(5, 1), (6, 2), (25, 2), (26, None)])
def test_an_empty_group(count: int, tiers: int | None, tmp_path: Path) -> None:
    """Eight ports a node, 40 on a switch, 200 in a group: both remedies work when typed in."""
    path = vary_design(tmp_path, "dragonfly-a100", ("count: 1250", f"count: {count}"))
    found = finding("empty-group", path)
    if tiers is None:
        assert found is None
        return
    assert found is not None
    assert found.remedy == f"write `family: fat-tree` and `tiers: {tiers}`, or state the growth in `access_points`"
    (tmp_path / "a").mkdir()
    text = path.read_text().replace("family: dragonfly", f"family: fat-tree\n  tiers: {tiers}")
    (tree := tmp_path / "a" / "tree.yaml").write_text(text)
    assert assess_file(tree).fabric.switches.total < 20
    grown = path.read_text().replace("family: dragonfly", "family: dragonfly\n  access_points: 201")
    (tmp_path / "a" / "grown.yaml").write_text(grown)
    assert finding("empty-group", tmp_path / "a" / "grown.yaml") is None


@pytest.mark.parametrize(
    ("count", "remedy"), [(1251, "use 1,250 or 1,252 nodes"), (1, "use 2 nodes"), (1250, None), (1252, None)]
)
def test_uneven_zones(count: int, remedy: str | None, tmp_path: Path) -> None:
    found = finding(
        "zones-uneven",
        vary_design(tmp_path, "fire-flyer-2", ("count: 1250", f"count: {count}"), ("count: 135", "count: 131")),
    )
    assert (found and found.remedy) == remedy


def test_nodes_of_every_zone_are_never_uneven(tmp_path: Path) -> None:
    """131 storage nodes in both zones: an odd number, and no finding of theirs."""
    path = vary_design(tmp_path, "fire-flyer-2", ("count: 1250", "count: 1251"), ("count: 135", "count: 131"))
    found = [item for item in assess_file(path).findings if item.rule == "zones-uneven"]
    assert len(found) == 1


def test_zones_that_nothing_joins(tmp_path: Path) -> None:
    apart = vary_design(tmp_path, "fire-flyer-2", *ZONES_APART)
    found = finding("zone-bottleneck", apart)
    assert found is not None
    assert found.message == "nothing joins the zones: no job can span them"
    both = vary_design(
        tmp_path,
        "fire-flyer-2",
        *ZONES_APART,
        (
            "{role: compute, server: fire-flyer-2-node, count: 1250}",
            "{role: compute, server: dgx-a100-320gb, count: 80, zones: every}",
        ),
    )
    assert finding("zone-bottleneck", both) is None
