"""Power of nodes rests on one basis: measured, else a fraction of the rated maximum, else of the component sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.cost.power import training_power
from ffplan.studies.design.design import study_design
from tests.support import ROOT, assess_file, document, ffplan

if TYPE_CHECKING:
    from pathlib import Path

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
    run = ffplan("compare", "fire-flyer-2", str(written(tmp_path, "hgx-b200-8nic")))
    assert "Power in training has two bases: power 0.75 x rated, fire-flyer-2 measured." in " ".join(run.out.split())
