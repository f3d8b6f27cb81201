"""The bill of materials adds up, to the cent; what stands around the fabric is counted by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.ownership import SideNetwork
from ffplan.catalog.store import Catalog
from ffplan.cost.bill import _cents, _decimal, bill, part_lines
from ffplan.cost.bom import Item
from ffplan.cost.site import _side_network
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.studies.cost.ledger import Ledger, _ledger_of
from tests.support import DESIGNS, ROOT, but_few, ffplan, with_reliability
from tests.unit.cost.test_account import ACCOUNT
from tests.unit.cost.test_draws import wide

if TYPE_CHECKING:
    from pathlib import Path


EXACT = ("--draws", "0", "-f", "json")


def test_stated_spare_nodes_are_bought_and_stand_in(tmp_path: Path) -> None:
    """Eight of `hgx-h100-8nic` in place of 2 % of 127: the same number in the bill and in goodput."""
    plain = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text()

    def lines(section: str) -> tuple[dict[str, float], float, int]:
        path = tmp_path / "design.yaml"
        path.write_text(with_reliability(plain, section) if section else plain)
        cost = json.loads(ffplan("cost", str(path), *EXACT).out)
        goodput = json.loads(ffplan("operate goodput", str(path), "-m", "llama3-70b", *EXACT).out)
        spares = {line["part"]: line["quantity"] for line in cost["bom"]["lines"] if line["kind"] == "spares"}
        server = next(line for line in cost["bom"]["lines"] if line["kind"] == "servers")
        return spares, server["unit_price"] * spares.get(server["part"], 0), goodput["reliability"]["spares"]

    usual, _, _ = lines("")
    eight, paid, standing = lines("spare_nodes: 8")
    assert eight == {**usual, "hgx-h100-8nic": 8}
    assert paid == 8 * 265_000
    assert standing == 8
    none, _, left = lines("spare_nodes: 0")
    assert none == {part: count for part, count in usual.items() if part != "hgx-h100-8nic"}
    assert left == 0
    path = tmp_path / "two.yaml"
    path.write_text(with_reliability(plain, "spare_nodes: 8") + "ownership: {spare_nodes: 2 %}\n")
    for command in (("cost",), ("goodput", "-m", "llama3-70b")):
        run = ffplan(command[0], str(path), *command[1:])
        assert run.code == 2
        assert "8 spare nodes, where `ownership.spare_nodes` buys 3" in " ".join(run.err.split())
    assert ffplan("operate goodput", str(path), *("-m", "llama3-70b", "--spares", "1"), "--draws", "0").code == 0


def test_lines_by_hand() -> None:
    price = wide("price.server", 250_000.10, 300_000.10, 350_000.10)
    inputs = {"discount": wide("discount", 0.0, 0.1, 0.2), "freight": wide("freight", 0.01, 0.01, 0.01)}
    three = replace(ACCOUNT, parts=(("server", 3),))
    made = bill(
        three,
        [Item("servers", "server", 2)],
        [Item("spares", "server", 1)],
        {"server": price},
        inputs,
        {},
        currency="USD",
    )
    assert [(line.kind, line.total) for line in made.lines] == [
        ("servers", 600_000.20),
        ("spares", 300_000.10),
        ("discount", -90_000.03),
        ("freight", 8100.00),  # 1 % of 810,000.27
    ]
    assert made.hardware == 600_000.20
    assert made.total == 818_100.27
    assert (made.lines[2].low, made.lines[2].high) == (-180_000.06, 0.0)
    assert sum(line.share for line in made.lines) == pytest.approx(1.0)


def test_a_part_without_a_price_has_no_line() -> None:
    assert part_lines([Item("servers", "server", 2)], {}, {}, "USD") == []


def test_rounding_is_decimal() -> None:
    assert _cents(_decimal(0.125)) == Decimal("0.12")
    assert _cents(_decimal(1.005)) == Decimal("1.00")
    assert _cents(_decimal(2.675)) == Decimal("2.68")


@pytest.mark.parametrize("name", but_few(DESIGNS, "fire-flyer-2", "superpod-h100-4su", "site-h100-100k"))
def test_the_lines_of_every_design_add_up_to_the_cent(name: str) -> None:
    found = json.loads(ffplan(f"cost {name} --draws 0 --format json").out)
    if found["bom"] is None:
        return
    lines = [Decimal(str(line["total"])) for line in found["bom"]["lines"]]
    assert sum(lines) == Decimal(str(found["bom"]["total"]))
    for line in found["bom"]["lines"]:
        product = Decimal(str(line["quantity"])) * Decimal(str(line["unit_price"]))
        assert _cents(product) == Decimal(str(line["total"])), line
    assert found["tco"]["capex"] >= found["bom"]["total"] - 1
    own = json.loads(ffplan(f"design {name} --format json").out)["cost"]
    rate = found["bom"]["exchange_rate"] or 1.0
    assert found["bom"]["hardware"] == pytest.approx(own["total"] * rate, rel=1e-6)


@pytest.mark.parametrize(
    ("ports", "wanted"),
    [
        (1, (1, 1)),
        (48, (1, 48)),
        (49, (3, 49 + 32)),
        (192, (5, 192 + 64)),
        (480, (13, 480 + 160)),
        (3120, (65 + 33 + 17, 3120 + 2 * 1040)),
    ],
)
def test_a_side_network_by_hand(ports: int, wanted: tuple[int, int]) -> None:
    """48 ports for hosts and 16 uplinks: 192 ports are 4 leaves and 64 uplinks, which one switch of 64 takes.

    3,120 ports are 65 leaves, one more than a second layer of 64 ports can join: 1,040 uplinks, 33 switches with 32
    ports each way, 17 on top.
    """
    sizing = SideNetwork(switch="s", ports=48, uplinks=16, link="l")
    assert _side_network(sizing, ports) == wanted
    assert _side_network(sizing.model_copy(update={"uplinks": 0}), 192) == (4, 192)


def test_an_account_without_racks_or_liquid_has_no_such_lines() -> None:
    inputs = {"rack": wide("rack", 1, 1, 1), "liquid_cooling": wide("liquid_cooling", 1, 1, 1)}
    made = bill(replace(ACCOUNT, racks=0, liquid_w=0.0), [], [], {}, inputs, {}, currency="USD")
    assert (made.lines, made.total) == ((), 0.0)


def test_a_share_that_is_missing_hides_no_other() -> None:
    inputs = {"installation": wide("installation", 0.1, 0.1, 0.1), "discount": wide("discount", 0.0, 0.0, 0.0)}
    one = replace(ACCOUNT, parts=(("server", 1),))
    made = bill(
        one,
        [Item("servers", "server", 1)],
        [],
        {"server": wide("price.server", 100, 100, 100)},
        inputs,
        {},
        currency="USD",
    )
    assert [(line.kind, line.total) for line in made.lines] == [("servers", 100.0), ("installation", 10.0)]
    assert [line.share for line in made.lines] == pytest.approx([100 / 110, 10 / 110])


def test_prices_of_later_phases_are_a_line() -> None:
    """Two servers of 100, one of them bought at 80: the bill is 180."""
    half = replace(ACCOUNT, parts=(("server", 1.8),))
    price = wide("price.server", 50, 100, 200)
    made = bill(half, [Item("servers", "server", 2)], [], {"server": price}, {}, {}, currency="USD")
    assert [(line.kind, line.total, line.low, line.high) for line in made.lines] == [
        ("servers", 200.0, 100.0, 400.0),
        ("phases", -20.0, -40.0, -10.0),
    ]
    assert (made.hardware, made.total) == (200.0, 180.0)


def ledger(name: str) -> Ledger:
    catalog = Catalog()
    return _ledger_of(resolve(read_document(ROOT / "designs" / f"{name}.yaml"), catalog), catalog)


def test_spares_and_racks_by_hand() -> None:
    """2 % of 127 servers, 48 switches, 1,016 and 1,024 links, rounded; two power distribution units for a rack."""
    found = ledger("superpod-h100-4su")
    spares = {item.part: item.quantity for item in found.site.spares}
    assert (spares["hgx-h100-8nic"], spares["qm9700"], spares["400g-aoc"]) == (3, 1, 20 + 20)
    assert found.site.racks == sum(found.site.racks_of.values())
    bom = json.loads(ffplan("cost superpod-h100-4su --draws 0 --format json").out)["bom"]
    racks = {line["description"]: line["quantity"] for line in bom["lines"] if line["kind"] == "racks"}
    assert racks == {"rack cabinet": found.site.racks, "rack power distribution unit": 2 * found.site.racks}


def test_planned_storage_has_racks_and_no_network_of_its_own() -> None:
    found = ledger("fire-flyer-2")
    assert found.owned.storage is None
    assert [plan.name for plan in found.site.networks] == ["in-band", "out-of-band"]
    assert found.site.racks_of["compute"] == 1250 // 15 + 1  # 15 nodes of 2.66 kW in 41 kW
    assert found.account.servers == 1250 + 135


def test_groups_of_one_role_share_a_row_of_racks(tmp_path: Path) -> None:
    text = (ROOT / "designs" / "l40s-8-roce.yaml").read_text()
    more = "count: 8}\n  - {role: compute, server: l40s-8gpu, count: 3}"
    (tmp_path / "two.yaml").write_text(text.replace("count: 8}", more).replace("l40s-8-roce", "two"))
    catalog = Catalog()
    found = _ledger_of(resolve(read_document(tmp_path / "two.yaml"), catalog), catalog)
    assert found.site.racks_of["compute"] == 2  # nine of 4.5 kW in 41 kW, for each group
