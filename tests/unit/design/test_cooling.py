"""A site cools as its servers are built, and liquid cooling is bought wherever it lowers the PUE."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.catalog.ownership import OwnershipProfile, plain_amount
from ffplan.catalog.parts import Server
from ffplan.catalog.store import Catalog
from ffplan.design.cooling_faults import coolings_of, liquid_share
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from tests.support import ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

AIR, COLD = "superpod-h100-4su", "gb200-nvl72-16"
PUE = {AIR: "  pue: 1.25\n", COLD: "  pue: 1.15\n"}
LIQUID = {"cold-plate", "immersion"}


def with_cooling(folder: Path, name: str, cooling: str, liquid: str = "") -> Path:
    """Return a shipped design with this cooling, and with a share of liquid that it states itself."""
    stated = f"ownership: {{liquid: {liquid}}}\n" if liquid else ""
    return vary_design(folder, name, (PUE[name], f"  cooling: {cooling}\n"), ("\nsite:", f"\n{stated}site:"))


@given(st.floats(0, 1))
def test_a_cooling_by_liquid_is_one_of_servers_with_liquid(share: float) -> None:
    """Wherever liquid lowers the PUE there is heat that liquid takes, so there are watts to buy it for."""
    assert coolings_of(share)
    assert all((cooling in LIQUID) == (share > 0) for cooling in coolings_of(share))
    assert ("immersion" in coolings_of(share)) == (share == 1)


def test_every_server_of_the_catalogue_can_be_cooled() -> None:
    catalog = Catalog()
    servers = [part for name in catalog.ids() if isinstance(part := catalog.entry(name).part, Server)]
    shares = {server.id: liquid_share(server, None) for server in servers}
    assert shares["hgx-h100-8nic"] == 0
    assert shares["gb200-nvl72-tray"] == pytest.approx(115 / 132, abs=0.005)
    assert liquid_share(servers[0], 0.75) == 0.75


@pytest.mark.parametrize(
    ("name", "cooling", "liquid", "message", "remedy"),
    [
        (AIR, "cold-plate", "", "air cools `hgx-h100-8nic`", "write `air` or `rear-door`, or state `ownership.liquid`"),
        (AIR, "immersion", "", "air cools `hgx-h100-8nic`", "`ownership: {liquid: 100 %}`"),
        (AIR, "immersion", "75 %", "liquid takes 75 % of the heat of `hgx-h100-8nic`", "write `cold-plate`"),
        (AIR, "air", "75 %", "liquid takes 75 % of the heat of `hgx-h100-8nic`", "write `cold-plate`"),
        (COLD, "air", "", "liquid takes 87 % of the heat of `gb200-nvl72-tray`", "write `cold-plate`"),
        (COLD, "rear-door", "", "liquid takes 87 % of the heat of `gb200-nvl72-tray`", "write `cold-plate`"),
        (COLD, "immersion", "", "liquid takes 87 % of the heat of `gb200-nvl72-tray`", "write `cold-plate`"),
    ],
)
def test_what_servers_are_not_built_for(
    tmp_path: Path, name: str, cooling: str, liquid: str, message: str, remedy: str
) -> None:
    path = with_cooling(tmp_path, name, cooling, liquid)
    with pytest.raises(InputError) as raised:
        resolve(read_document(path, str(path)), Catalog())
    (finding,) = raised.value.findings
    assert finding.rule == "design-cooling"
    assert path.read_text().splitlines()[(finding.line or 0) - 1].strip() == f"cooling: {cooling}"
    assert message in finding.message
    assert remedy in finding.remedy


@pytest.mark.parametrize(
    ("name", "cooling", "liquid"),
    [
        (AIR, "air", ""),
        (AIR, "rear-door", ""),
        (AIR, "cold-plate", "75 %"),
        (AIR, "immersion", "100 %"),
        (COLD, "cold-plate", ""),
    ],
)
def test_liquid_cooling_is_bought(tmp_path: Path, name: str, cooling: str, liquid: str) -> None:
    """The bill has a line of coolant distribution exactly where the site cools by liquid."""
    path = str(with_cooling(tmp_path, name, cooling, liquid))
    found = json.loads(ffplan("cost", path, "-f", "json", "--draws", "0").out)
    kinds = [line["kind"] for line in found["bom"]["lines"]]
    assert ("cooling" in kinds) == (cooling in LIQUID)
    lines = json.loads(ffplan("design", path, "-f", "json").out)["assumptions"]
    assert any("their fans stay in the power" in line for line in lines) == bool(liquid)


def test_the_price_of_liquid_cooling_has_two_sources() -> None:
    """Low: 18 x 2,260 and 9 x 1,020 dollars of cold plates take 18 x 6.2 kW; high: the recalled 2 dollars a watt."""
    profile = Catalog().entry("owned-2026").part
    assert isinstance(profile, OwnershipProfile)
    price = profile.liquid_cooling
    assert price is not None
    low, high = (plain_amount(end) for end in price.range)
    assert low == pytest.approx((18 * 2260 + 9 * 1020) / (18 * 6200), abs=0.005)
    assert high == 2
    assert plain_amount(price.value) == pytest.approx((low * high) ** 0.5, abs=0.005)
