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


@pytest.mark.parametrize(
    ("fabric", "remedy"),
    [
        ("  tiers: 2\n  planes: 2\n  planes_by: port", "set `breakout: 2`, with links of 400 Gb/s"),
        ("  tiers: 2\n  planes: 4\n  planes_by: port", "set `breakout: 4`, with links of 400 Gb/s"),
    ],
)
def test_stripes_ask_for_breakout(fabric: str, remedy: str, tmp_path: Path) -> None:
    path = vary_design(tmp_path, "superpod-h100-4su", ("  tiers: 2", fabric))
    found = [item for item in assess_file(path).findings if item.rule == "rate-mismatch"]
    assert remedy in {item.remedy for item in found}


def test_other_rates_ask_for_other_parts(tmp_path: Path) -> None:
    path = vary_design(
        tmp_path,
        "superpod-h100-4su",
        ("switch: qm9700", "switch: qm8700"),
        ("count: 127", "count: 40"),
        ("scalable_unit: 32", "scalable_unit: 20"),
    )
    found = finding("rate-mismatch", path)
    assert found is not None
    assert found.remedy.startswith("choose parts of one rate")


def test_power_of_a_rack(tmp_path: Path) -> None:
    limited = "power_per_rack: 20 kW"
    path = vary_design(tmp_path, "superpod-h100-4su", ("site:\n", f"limits:\n  {limited}\nsite:\n"))
    found = finding("limit-power-per-rack", path)
    assert found is not None
    assert found.remedy == "put fewer nodes in a rack"
    path = vary_design(tmp_path, "dgx-a100-10k", ("site:\n", f"limits:\n  {limited}\nsite:\n"))
    found = finding("limit-power-per-rack", path)
    assert found is not None
    assert found.remedy == "add `per_rack` to the compute nodes"


def test_stripes_of_another_rate_ask_for_other_parts(tmp_path: Path) -> None:
    """Two ports of 100 Gb/s are half a port of 400 Gb/s: breakout would not make them fit."""
    path = vary_design(
        tmp_path,
        "superpod-h100-4su",
        ("  tiers: 2", "  tiers: 2\n  planes: 2\n  planes_by: port"),
        ("server: hgx-h100-8nic, count: 127, rack_units: 8", "server: dgx-a100-320gb, count: 40, rack_units: 6"),
    )
    found = [
        item for item in assess_file(path).findings if item.rule == "rate-mismatch" and "connectx-6" in item.message
    ]
    assert {item.remedy.partition(";")[0] for item in found} == {"choose parts of one rate"}


def test_a_part_without_a_price_is_found(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "fire-flyer-2", ("  exclude: [storage, endpoint-links]", "  exclude: [storage]"))
    found = [item for item in assess_file(path).findings if item.rule == "price-missing"]
    assert len(found) == 1
    assert "hdr-dac" in found[0].message
    assert [item for item in assess_file("fire-flyer-2").findings if item.rule == "price-missing"] == []
