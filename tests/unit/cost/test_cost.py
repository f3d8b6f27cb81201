"""Hand-worked cost and power."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.cost.bom import line_total
from ffplan.cost.power import annual_energy, component_sum, facility_power
from ffplan.cost.value import cost_performance, relative_performance
from tests.support import ROOT, WITHOUT_PRICES, vary_design, wired

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
