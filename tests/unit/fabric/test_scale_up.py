"""Scale-up networks in closed form, against published counts and by hand."""

from __future__ import annotations

import pytest

from ffplan.fabric.sizing import scale_up as s
from tests.support import assess_file


def test_a_switched_domain() -> None:
    """GB200 NVL72: 72 GPUs with 18 links; NVIDIA prints 130 TB/s both ways for all, 64.8 TB/s each way."""
    assert s.switch_links(72, 18) == 1296
    assert s.switch_bisection(72, 900.0) == 32_400.0


def test_a_mesh() -> None:
    """Eight MI300X: 28 links of 64 GB/s each way; 4 x 4 of them cross the middle. Three: one against two."""
    assert s.mesh_links(8) == 28
    assert s.mesh_bisection(8, 448.0) == 16 * 64.0
    assert s.mesh_bisection(3, 10.0) == 2 * 5.0


@pytest.mark.parametrize(
    ("axes", "links", "rate", "across"),
    [
        ((16, 16), 512, 200.0, 1600.0),  # TPU v5e: 1.6 TB/s in its documentation
        ((4, 4, 4), 192, 300.0, 1600.0),
        ((2, 4), 12, 100.0, 100.0),  # four links along the pair, eight along the ring
    ],
)
def test_a_torus(axes: tuple[int, ...], links: int, rate: float, across: float) -> None:
    assert s.torus_links(axes) == links
    assert s.torus_bisection(axes, rate) == across


@pytest.mark.parametrize(
    ("name", "kind", "switches", "links", "across"),
    [
        ("gb200-nvl72-64", "switch", 18, 1296, 32_400.0),
        ("superpod-h100-4su", "switch", 4, 144, 1800.0),
        ("mi355x-pod", "mesh", 0, 28, None),
        ("tpu-v6e-pod", "torus", 0, 512, None),
        ("deepseek-v3-2048", "switch", None, None, None),
    ],
)
def test_what_a_design_says_of_its_domains(
    name: str, kind: str, switches: int | None, links: int | None, across: float | None
) -> None:
    found = assess_file(name).fabric.scale_up
    assert found is not None
    assert (found.kind, found.switches_per_domain, found.links_per_domain) == (kind, switches, links)
    assert across is None or found.bisection_gbyte_s == pytest.approx(across)
