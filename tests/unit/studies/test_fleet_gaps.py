"""Fleets of parts without a power or a price: what is said of them is the least, and holds no limit and no choice."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import ffplan
from tests.support import ROOT
from tests.support import ffplan as run

if TYPE_CHECKING:
    from pathlib import Path

LACKING, WHOLE, PARTIAL = "tpu-v6e-pod", "superpod-h100-4su", "dgx-a100-10k"
"""Shipped designs: with an accelerator of unknown power, with every figure, and without endpoint links in its cost."""


def fleet_file(folder: Path, *designs: str, site: dict[str, Any], order: str = "2027-01") -> Path:
    clusters = [
        {"name": f"c{place}", "design": design, "site": "s", "order": order, "use": {"run": "100 %"}}
        | {"lead_time": "0 months", "commissioning": "0 months"}
        for place, design in enumerate(designs)
    ]
    content = {
        "kind": "fleet",
        "name": "mine",
        "start": "2027-01",
        "quarters": 2,
        "sites": {"s": site},
        "clusters": clusters,
        "demand": [{"name": "run", "train": "llama3.1-8b", "tokens": "100G"}],
    }
    path = folder / "fleet.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


@pytest.mark.parametrize("design", [LACKING, WHOLE, PARTIAL])
def test_a_fleet_lacks_what_the_cost_of_its_design_lacks(design: str, tmp_path: Path) -> None:
    plan = ffplan.fleet(fleet_file(tmp_path, design, site={}), draws=200)
    alone = ffplan.costs(design, draws=200)
    assert alone.tco is not None
    row, site = plan.clusters[0], plan.sites[0]
    assert row.left_out == alone.tco.partial
    assert row.unrated == tuple(f"`{gap.path}` of `{gap.part}`" for gap in alone.power.missing)
    assert site.unrated == row.unrated
    assert bool(row.choices) == (not row.left_out)
    text = run("fleet", str(fleet_file(tmp_path, design, site={})), "--draws", "200").out
    assert ("at least" in text.lower()) == bool(row.unrated or row.left_out)
    for lack in (*row.unrated, *row.left_out):
        assert lack in " ".join(text.split()), lack


@pytest.mark.parametrize("designs", [(LACKING,), (WHOLE, LACKING)])
def test_no_power_limit_holds_parts_of_unknown_power(designs: tuple[str, ...], tmp_path: Path) -> None:
    """A limit over what is rated cannot be checked, one below it is broken, and a site without one has none to hold."""
    high = run("fleet", str(fleet_file(tmp_path, *designs, site={"power": "900 MW"})), "--draws", "200")
    assert high.code == 1
    said = " ".join(high.out.split())
    assert "The power of site s cannot be checked: at least" in said
    assert "with no `power` of `tpu-v6e`" in said
    low = run("fleet", str(fleet_file(tmp_path, *designs, site={"power": "1 kW"})), "--draws", "200")
    assert low.code == 1
    assert "At least 100 % risk that site s is over its power." in " ".join(low.out.split())
    free = run("fleet", str(fleet_file(tmp_path, *designs, site={})), "--draws", "200")
    assert free.code == 0
    assert "s at least" in free.out


def test_what_never_arrives_leaves_the_limit_to_be_checked(tmp_path: Path) -> None:
    path = fleet_file(tmp_path, WHOLE, LACKING, site={"power": "900 MW"})
    first, last = path.read_text().split("- name: c1")
    path.write_text(f"{first}- name: c1{last.replace('0 months', '90 months', 1)}")
    plan = ffplan.fleet(path, draws=200)
    assert not plan.sites[0].unrated
    assert plan.clusters[1].unrated


def test_a_partial_purchase_is_not_compared_with_rent(tmp_path: Path) -> None:
    text = " ".join(run("fleet", str(fleet_file(tmp_path, PARTIAL, site={})), "--draws", "200").out.split())
    assert "owning c0 is not compared with rent, nor other dates: the purchase is partial" in text
    assert "of the purchase of c0: storage and endpoint links" in text
    assert " saves " not in text


def test_a_sweep_tells_no_risk_of_a_site_that_cannot_be_checked(tmp_path: Path) -> None:
    path = fleet_file(tmp_path, LACKING, site={"power": "900 MW"})
    swept = json.loads(run("sweep", str(path), "--vary", f"clusters[0].design={LACKING},{WHOLE}", "-f", "json").out)
    risks = [row["metrics"].get("sites.s.over") for row in swept["sample"]]
    assert risks == [None, 0.0]


@pytest.mark.parametrize("place", ["beside", "elsewhere", "changed beside", "nowhere"])
def test_check_reads_the_catalogue_that_fleet_reads(place: str, tmp_path: Path) -> None:
    """A part beside the fleet file is none of either, unless --catalog names the folder; it changes no shipped part."""
    text = (ROOT / "catalogs/switches/nvidia/qm9700.yaml").read_text()
    name = "qm9700" if place == "changed beside" else "my-switch"
    text = re.sub(r"^id: .*", f"id: {name}", text, count=1, flags=re.MULTILINE)
    if place == "changed beside":
        text = re.sub(r"^ports: .*", "ports: {value: 2, source: none}", text, count=1, flags=re.MULTILINE)
    folder = tmp_path if place.endswith("beside") else tmp_path / "parts"
    folder.mkdir(exist_ok=True)
    if place != "nowhere":
        (folder / f"{name}.yaml").write_text(text)
    design = (ROOT / f"designs/{WHOLE}.yaml").read_text()
    (tmp_path / "own.yaml").write_text(re.sub(r"^( +switch:) \S+", rf"\1 {name}", design, flags=re.MULTILINE))
    path = fleet_file(tmp_path, "own.yaml", site={})
    for catalog in ((), ("--catalog", str(folder))):
        checked = run("check", str(path), *catalog)
        planned = run("fleet", str(path), "--draws", "50", *catalog)
        assert (checked.code == 0) == (planned.code == 0), (checked, planned)
        known = (place == "changed beside" and not catalog) or (place in ("beside", "elsewhere") and bool(catalog))
        assert (planned.code == 0) == known
