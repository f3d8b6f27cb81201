"""Costs and power worked by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.base.outcomes import CostLine, MissingPrice
from ffplan.cost import draws
from ffplan.cost.bom import CostPlan, line_total
from ffplan.cost.capital import cost_performance, relative_performance
from ffplan.cost.power import annual_energy, component_sum, facility_power, training_power
from ffplan.studies.design.design import study_design
from tests.support import ROOT, WITHOUT_PRICES, assess_file, document, ffplan, vary_design, wired
from tests.unit.cost.test_bill import ledger

if TYPE_CHECKING:
    from pathlib import Path


def test_line_total() -> None:
    assert line_total(1250, 9.0) == 11_250
    assert line_total(np.array([122, 1320]), 2.0).tolist() == [244, 2640]


def test_facility_power_and_energy() -> None:
    assert facility_power(1000.0, 1.25) == 1250.0
    # 100,000 H100 as SemiAnalysis has them: 150 MW at an implied 1.21 are 1.59 TWh a year
    assert annual_energy(facility_power(150e6, 1.21)) / 1e6 == pytest.approx(1.59, rel=0.001)


def test_value() -> None:
    performance = relative_performance([107, 220], [131, 263])  # arXiv 2408.14158, Table II
    assert performance == pytest.approx(0.8266, abs=5e-5)
    assert cost_performance(performance, 0.60) == pytest.approx(1.378, abs=5e-4)
    assert relative_performance([np.array([1.0, 2.0])], [2.0]).tolist() == [0.5, 1.0]


def test_component_sum_of_the_fire_flyer_node() -> None:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolve import resolve
    from ffplan.inputs.document import read_document

    catalog = Catalog()
    design = resolve(read_document(ROOT / "designs" / "fire-flyer-2.yaml"), catalog)
    # 8 x 250 (GPU) + 2 x 180 (CPU) + 16 x 5 (DIMM) + 20 (NIC) + 200 (rest)
    assert component_sum(design.compute) == 2660
    # 225 (CPU) + 8 x 5 (DIMM) + 2 x 20 (NIC) + 16 x 18 (drive) + 150 (rest)
    assert component_sum(design.groups[1]) == 743


def test_cables_that_are_known_already_change_nothing() -> None:
    """The bill and the power with the cables given are those that find them by themselves."""
    from ffplan.cost.bom import cable_items, price
    from ffplan.cost.power import plan_power

    own = wired("fire-flyer-2")
    links = cable_items(own.design, own.plan)
    assert links
    one, two = price(own.design, own.plan), price(own.design, own.plan, links)
    assert one is not None
    assert two is not None
    assert one.total == two.total > 0
    none = price(own.design, own.plan, [])
    assert none is not None
    assert none.total < one.total
    alone, given = plan_power(own.design, own.plan), plan_power(own.design, own.plan, links)
    assert alone.links_w == given.links_w > 0
    assert plan_power(own.design, own.plan, []).links_w == 0


def test_without_prices_there_is_no_bill(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "fire-flyer-2", *WITHOUT_PRICES)
    from ffplan.cost.bom import price

    own = wired(path)
    assert price(own.design, own.plan) is None


def test_quantiles_of_the_normal_distribution() -> None:
    """Python's own are exact to the last digits; the approximation to 1.15e-9 of the value."""
    shares = np.array([1e-9, 1e-4, 0.01, 0.02424, 0.02426, 0.1, 0.31, 0.5, 0.69, 0.9, 0.97574, 0.97576, 0.99, 1 - 1e-6])
    wanted = np.array([NormalDist().inv_cdf(float(share)) for share in shares])
    assert draws.normal(shares) == pytest.approx(wanted, rel=2e-9, abs=1e-12)


LINE = CostLine(
    category="servers", part="s", quantity=2, unit_price=5.0, total=10.0, low=8.0, high=12.0, grade="list", status="V"
)


def test_a_total_over_accelerators_wants_a_price_and_accelerators() -> None:
    found = CostPlan(currency="USD", price_book="b", date="2026-11", excluded=(), lines=(LINE,), missing=())
    nothing = MissingPrice(category="servers", part="s", quantity=2)
    assert found.per_accelerator(4) == 2.5
    assert found.per_accelerator(0) is None
    assert replace(found, missing=(nothing,)).per_accelerator(4) == 2.5
    assert replace(found, lines=(), missing=(nothing,)).per_accelerator(4) is None
    assert replace(found, lines=()).per_accelerator(4) == 0.0


def test_ports_of_the_networks_around_fire_flyer_by_hand() -> None:
    """1,250 nodes and 135 storage nodes with two in-band ports; out-of-band one each, one a switch of the fabric and of
    the in-band network (122 and 73), two in each of the 87 racks of nodes."""
    around = {plan.name: plan.ports for plan in ledger("fire-flyer-2").site.networks}
    assert around == {"in-band": 2 * (1250 + 135), "out-of-band": 1250 + 135 + 122 + 73 + 2 * 87}


DESIGN = """name: power
nodes: [{{role: compute, server: {server}, count: 16, per_rack: 4}}]
fabric:
  {{family: fat-tree, switch: qm9700, tiers: 2, oversubscription: 1:1,
   link: {{endpoint: 400g-dac, inter_switch: 400g-dr4}}}}
site: {{pue: 1.25{site}}}
limits: {{power_per_rack: 45 kW}}
"""


def written(folder: Path, server: str, site: str = "") -> Path:
    """Return the file of a design."""
    path = folder / f"{server}.yaml"
    path.write_text(DESIGN.format(server=server, site=site))
    return path


@pytest.mark.parametrize(
    ("server", "training", "maximum", "grade"),
    [
        ("hgx-h100-8nic", 7_650, 10_200, "0.75 x rated"),
        ("hgx-h200-8nic", 7_650, 10_200, "0.75 x rated"),
        ("hgx-b200-8nic", 10_725, 14_300, "0.75 x rated"),
        ("dgx-a100-320gb", 4_200, 6_500, "measured"),
    ],
)
def test_training_and_rated_power(tmp_path: Path, server: str, training: float, maximum: float, grade: str) -> None:
    """DGX H100 and H200 10.2 kW, B200 14.3 kW rated; DGX A100 4.2 kW measured in Table II of the Fire-Flyer paper."""
    a = assess_file(written(tmp_path, server))
    node = a.power.nodes[0]
    assert node.training_w == pytest.approx(training)
    assert (node.maximum_w, node.training_grade) == (maximum, grade)
    assert node.rated
    assert node.rack_w == 4 * maximum
    broken = [found for found in a.findings if found.rule == "limit-power-per-rack"]
    assert bool(broken) == (4 * maximum > 45_000)  # four B200 to a rack are 57.2 kW


def test_the_fraction_is_the_designs(tmp_path: Path) -> None:
    node = assess_file(written(tmp_path, "hgx-b200-8nic", ", training_power: 0.9")).power.nodes[0]
    assert node.training_w == pytest.approx(12_870)
    assert node.training_grade == "0.9 x rated"


def test_without_a_rated_maximum_the_component_sum_stands_in(tmp_path: Path) -> None:
    node = assess_file(written(tmp_path, "h800-8nic")).power.nodes[0]
    assert node.training_w == pytest.approx(0.75 * node.component_sum_w)
    assert (node.training_grade, node.rated, node.maximum_w) == ("0.75 x component sum", False, node.component_sum_w)


def test_every_server_with_accelerators_has_the_same_basis(tmp_path: Path) -> None:
    """Only a measured figure takes the place of the rule."""
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolve import resolve

    names = [path.stem for path in (ROOT / "catalogs" / "servers").rglob("*.yaml")]
    assert len(names) > 10
    for name in names:
        catalog = Catalog()
        design = resolve(document(written(tmp_path, name).read_text()), catalog)
        node = study_design(design, catalog).power.nodes[0]
        power, grade = training_power(design.compute, 0.75)
        assert node.training_w == power
        measured = design.compute.server.power.training is not None
        assert grade == "measured" if measured else power == pytest.approx(0.75 * node.maximum_w)


def test_two_bases_are_named(tmp_path: Path) -> None:
    run = ffplan("compare", "fire-flyer-2", str(written(tmp_path, "hgx-b200-8nic")), "--full")
    assert "Power in training has two bases: power 0.75 x rated, fire-flyer-2 measured." in " ".join(run.out.split())


def test_a_likely_value_outside_p10_to_p90_is_explained() -> None:
    """The mode of a skewed triangle may lie below its P10: no slip of the table."""
    study = json.loads(ffplan("cost superpod-h100-4su --draws 200 -f json").out)["uncertainty"]
    shown = ffplan("cost superpod-h100-4su --draws 200 --section drivers").out
    listed, _, skewed = " ".join(shown.split()).partition("Skewed, with a likely value outside P10 to P90")
    likely = {row["input"]: row["likely"] for row in study["inputs"]}
    drivers = [row for row in study["tornado"] if row["label"] in listed]
    outside = {row["label"] for row in drivers if not row["low"] <= likely[row["input"]] <= row["high"]}
    assert 0 < len(outside) < len(drivers)
    assert {row["label"] for row in drivers if row["label"] in skewed} == outside
