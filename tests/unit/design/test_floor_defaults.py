"""Floor plans that leave out fields: their usual values, stated as assumptions."""

from __future__ import annotations

import pytest

import ffplan
from ffplan.base.plain import plain

WHOLE = {
    "racks_per_row": 10,
    "switch_racks_per_row": 2,
    "rack_units": 48,
    "switch_units": 2,
    "power_per_rack": "45 kW",
    "rack_width": "0.6 m",
    "row_pitch": "3 m",
    "riser": "1.5 m",
    "slack": "1 m",
    "links": ["400g-dr4"],
}
"""The floor of `superpod-h100-4su`, with the cables of its fabric alone."""
LEFT = ("racks_per_row", "rack_width", "row_pitch", "riser", "slack", "links")


def with_floor(floor: dict[str, object], **node: object) -> ffplan.Design:
    group = {"role": "compute", "server": "hgx-h100-8nic", "count": 127, "per_rack": 4, **node}
    return ffplan.load("superpod-h100-4su").vary({"floor": floor, "nodes": [group]})


def assumed(design: ffplan.Design) -> list[str]:
    return [text for text in ffplan.assess(design).assumptions if text.startswith("Assumed of the floor plan")]


def test_a_partial_floor_is_the_whole_one_with_usual_values() -> None:
    whole = with_floor(WHOLE, rack_units=8)
    part = with_floor({name: value for name, value in WHOLE.items() if name not in LEFT})
    assert assumed(whole) == []
    (said,) = assumed(part)
    for words in (
        "10 racks a row",
        "0.6 m apart",
        "3 m apart",
        "1.5 m up",
        "1 m to spare",
        "8 rack units",
        "fabric.link",
    ):
        assert words in said
    one, two = (plain(ffplan.assess(design)) for design in (whole, part))
    assert one["cost"] == two["cost"]
    assert one["power"] == two["power"]


def test_an_empty_floor_is_a_floor() -> None:
    design = with_floor({})
    assert design.spec.floor is not None
    assert [link.id for link in design.resolved.cable_choices] == ["400g-dr4"]
    assert assumed(design)


@pytest.mark.parametrize(("per_rack", "units"), [(4, 8), (6, 7), (42, 1)])
def test_nodes_of_a_full_rack_fit_it(per_rack: int, units: int) -> None:
    assert with_floor({}, per_rack=per_rack).resolved.spec.nodes[0].rack_units == units


def test_a_height_without_a_floor_is_refused() -> None:
    with pytest.raises(ffplan.InputError, match=r"add `floor: {}`"):
        ffplan.load("fire-flyer-2").vary({"nodes[0].rack_units": 4})
