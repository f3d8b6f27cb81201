"""Other networks of a design, and fewer NICs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError, UsageError
from ffplan.catalog.store import Catalog
from ffplan.cost.bom import bill_of_materials, cable_items, node_price, price
from ffplan.cost.power import plan_power
from ffplan.design.networks import _network_of, _spread_slots, node_rate
from ffplan.design.resolve import resolve
from ffplan.fabric.family import links_of, plan_fabric, plan_networks, switches_of
from ffplan.inputs.document import read_document
from ffplan.studies.choose.design_grid import design_grid
from ffplan.studies.operate.goodput_basis import goodput_basis
from tests.support import ROOT, document, ffplan, wired

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.design.resolved import ResolvedDesign


FILE = ROOT / "designs" / "h100-1k-four-networks.yaml"
TEXT = FILE.read_text(encoding="utf-8")
CATALOG = Catalog()
UNEVEN = ("fabric-divisibility", "networks.2.fabric.planes")


@pytest.fixture(scope="module")
def design() -> ResolvedDesign:
    return resolve(read_document(FILE), CATALOG)


def sized(old: str, new: str) -> None:
    """Size the networks of the design with one change."""
    assert old in TEXT
    found = resolve(document(TEXT.replace(old, new, 1)), CATALOG)
    plan_networks(found, plan_fabric(found))


def test_each_network_is_sized_for_its_ports(design: ResolvedDesign) -> None:
    """159 = 127 + 2 x 16 ports on leaves of 25 down and 15 up; 143 of 48 and 16; 207 = 143 and 64 switches of 46."""
    fabric = plan_fabric(design)
    storage, front, management = plan_networks(design, fabric)
    assert fabric.endpoints == 127 * 8  # no storage
    assert [(n.name, n.plan.endpoints) for n in (storage, front)] == [("storage", 159), ("front-end", 143)]
    assert {role: n for role, n in storage.plan.switches_by_role.items() if n} == {"leaf": 7, "spine": 3}
    assert {role: n for role, n in front.plan.switches_by_role.items() if n} == {"leaf": 3, "spine": 1}
    assert management.plan.endpoints == 143 + fabric.switches + 10 + 4
    assert switches_of((storage, front)) == 14
    assert links_of((front,)) == 143 + 3 * 16


def test_storage_reads_over_its_own_network(design: ResolvedDesign) -> None:
    """A node has one port of 200 Gb/s there; 32 ports of the servers are 800 GB/s, thinned 5:3."""
    storage = _network_of(design, "storage")
    assert storage is not None
    assert node_rate(design, storage) == 25.0
    found = goodput_basis(design, CATALOG).storage
    assert found is not None
    assert found.read["NICs of the servers"] == pytest.approx(800.0)
    assert found.read["NICs behind oversubscribed leaves"] == pytest.approx(800.0 * 3 / 5)
    assert found.client_gbyte_s == pytest.approx(25.0)


def test_switches_and_cables_are_bought_and_powered(design: ResolvedDesign) -> None:
    fabric = plan_fabric(design)
    networks = plan_networks(design, fabric)
    links = cable_items(design, fabric)
    items = {(item.category, item.part): item.quantity for item in bill_of_materials(design, fabric, links)}
    assert items["switches", "qm9700"] == 48
    assert items["switches", "qm8700"] == networks[0].plan.switches
    assert items["endpoint-links", "cat6"] == networks[2].plan.endpoints
    assert sum(count for _, _, count in links) == fabric.endpoint_cables + fabric.inter_switch_parts + links_of(
        networks
    )
    alone = replace(design, networks=())
    more = plan_power(design, fabric).switches_w - plan_power(alone, fabric).switches_w
    drawn = sum(n.plan.switches * n.design.parts.switch.power.value for n in networks if n.design.parts.switch.power)
    assert more == pytest.approx(drawn)


def test_storage_nodes_stay_on_the_fabric_without_a_network_for_them() -> None:
    text = TEXT[: TEXT.index("networks:")] + TEXT[TEXT.index("communication:") :]
    found = resolve(document(text), CATALOG)
    assert plan_fabric(found).endpoints == 127 * 8 + 16 * 2


@pytest.mark.parametrize(
    ("old", "new", "rule", "path"),
    [
        ("switch: sn4600c", "switch: sn4600d", "reference-unknown", "networks.1.fabric.switch"),
        ("name: front-end", "name: storage", "schema-choice", "networks.1.name"),
        ("storage: 2}", "management: 2}", "design-roles", "networks.0.ports"),
        ("{compute: 1, storage: 1}", "{management: 1}", "design-roles", "networks.1.ports"),
        ("      oversubscription: 3:1", "      core_policy: minimal", "design-tiers", "networks.1.fabric.core_policy"),
        ("uplinks: 2}", "uplinks: 9}", "fabric-divisibility", "networks.2.fabric.leaf.downlinks"),
        ("{compute: 1, storage: 2}", "{storage: 2}", "design-roles", "networks.0.ports"),
        ("storage: 2}", "storage: 4}", "server-topology", "networks.0.ports.storage"),
        ("      tiers: 2\n      leaf", "      tiers: 2\n      planes: 2\n      leaf", *UNEVEN),
        ("  - {role: storage, server: nvme-16x15tb-2x200g, count: 16}\n", "", "design-roles", "networks.0.name"),
        ("      tiers: 2\n      oversubscription: 3:1", "      tiers: 1", "fabric-capacity", "networks.1.fabric.tiers"),
    ],
)
def test_faults_of_networks(old: str, new: str, rule: str, path: str) -> None:
    with pytest.raises(InputError) as caught:
        sized(old, new)
    fault = caught.value.findings[0]
    assert (fault.rule, fault.path) == (rule, path), fault.message
    assert fault.line > TEXT[: TEXT.index("networks:")].count("\n")


def test_many_designs_at_once_have_no_other_networks(design: ResolvedDesign) -> None:
    with pytest.raises(UsageError, match="has other networks: assess such designs one by one"):
        design_grid(design, {"site.pue": [1.1, 1.2]})


POD = ROOT / "designs" / "superpod-h100-4su.yaml"


def with_count(folder: Path, nics: str) -> str:
    """Return a file of the design whose nodes have some NICs."""
    file = folder / f"nics-{nics}.yaml"
    file.write_text(POD.read_text().replace("count: 127,", f"count: 127, nics: {nics},"))
    return str(file)


def costed(file: str) -> dict[str, dict[str, float]]:
    run = ffplan("cost", file, "--draws", "0", "-f", "json")
    assert run.code == 0, run.err
    return json.loads(run.out)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("wanted", "slots"), [(8, (0, 1, 2, 3, 4, 5, 6, 7)), (4, (0, 2, 4, 6)), (3, (0, 2, 5)), (2, (0, 4)), (1, (0,))]
)
def test_slots_that_stay(wanted: int, slots: tuple[int, ...]) -> None:
    assert _spread_slots(tuple(range(8)), wanted) == slots


def test_price_and_power_of_what_is_left_out(tmp_path: Path) -> None:
    """127 nodes without four ConnectX-7 each: 508 NICs off the price, and 127 x 4 x 25 W off the rated power."""
    whole, half = costed(str(POD)), costed(with_count(tmp_path, "4"))
    servers = [line for line in half["bom"]["lines"] if line["kind"] == "servers"]  # type: ignore[attr-defined]
    assert [(line["part"], line["quantity"]) for line in servers] == [("hgx-h100-8nic", 127), ("connectx-7-400g", -508)]
    assert servers[1]["total"] == -508 * servers[1]["unit_price"]
    assert half["bom"]["total"] == pytest.approx(sum(line["total"] for line in half["bom"]["lines"]))  # type: ignore[attr-defined]
    nic = next(p for p in whole["power"]["parts"] if p["name"] == "compute")  # type: ignore[attr-defined]
    fewer = next(p for p in half["power"]["parts"] if p["name"] == "compute")  # type: ignore[attr-defined]
    assert nic["rated_kw"] - fewer["rated_kw"] == pytest.approx(127 * 4 * 25e-3)


def test_the_price_of_a_node_is_without_them(tmp_path: Path) -> None:
    """`node_price`: four NICs off that of one node, at each end of the range, so that `compare` sets like by like."""
    four = with_count(tmp_path, "4")
    whole, half = (json.loads(ffplan("design", file, "-f", "json").out)["cost"] for file in (str(POD), four))
    nic = next(line for line in half["lines"] if line["part"] == "connectx-7-400g")
    assert whole["node_price"] - half["node_price"] == pytest.approx(4 * nic["unit_price"])
    assert whole["node_price_low"] - half["node_price_low"] == pytest.approx(4 * -nic["low"] / 508)
    assert whole["node_price_high"] - half["node_price_high"] == pytest.approx(4 * -nic["high"] / 508)


def test_a_node_without_a_price_has_none(tmp_path: Path) -> None:
    own = wired(with_count(tmp_path, "4"))
    plan = price(own.design, own.plan)
    assert plan is not None
    found = node_price(own.design, plan)
    assert found is not None
    server, nic = (own.design.prices.items[name].value for name in ("hgx-h100-8nic", "connectx-7-400g"))
    assert found[0] == server - 4 * nic
    assert node_price(own.design, replace(plan, lines=plan.lines[1:])) is None


def test_all_of_them_change_nothing(tmp_path: Path) -> None:
    one, two = (json.loads(ffplan("design", f, "-f", "json").out) for f in (str(POD), with_count(tmp_path, "8")))
    named = ("design", "catalog", "findings")  # these name the file
    assert {key: one[key] for key in one if key not in named} == {key: two[key] for key in two if key not in named}


def test_the_fabric_of_one_nic(tmp_path: Path) -> None:
    """127 endpoints at 32 downlinks a leaf: 4 leaves and 2 spines, in place of 32 and 16."""
    found = json.loads(ffplan("design", with_count(tmp_path, "1"), "-f", "json").out)
    switches = found["fabric"]["switches"]
    assert [switches[name] for name in ("leaf", "spine", "total")] == [4, 2, 6]
    assert any("7 NICs of each `hgx-h100-8nic` are left out" in text for text in found["assumptions"])


def test_more_than_there_are(tmp_path: Path) -> None:
    run = ffplan("design", with_count(tmp_path, "9"))
    assert (run.code, "has 8 NICs for this fabric, not 9" in run.err) == (2, True)


def test_phases_leave_the_same_nics_out(tmp_path: Path) -> None:
    """Two phases without a change of prices cost what the whole costs."""
    file = with_count(tmp_path, "4")
    whole = costed(file)["bom"]["total"]
    text = (tmp_path / "nics-4.yaml").read_text()
    phases = "\nphases:\n  - {name: a, after: 0 months, nodes: [64]}\n  - {name: b, after: 9 months, nodes: [127]}\n"
    (tmp_path / "phased.yaml").write_text(text + phases)
    assert costed(str(tmp_path / "phased.yaml"))["bom"]["total"] == pytest.approx(whole)
