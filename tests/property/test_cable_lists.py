"""One count of cables: the list for installers, the bill of materials and the exports have the same ones."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.cost.bom import fabric_cables
from ffplan.fabric.family import plan_fabric, plan_networks
from ffplan.fabric.wiring.cabling import quantities
from ffplan.interop.exported import Exported
from ffplan.interop.inventory import _cables_listed, _devices_of, _ports_of
from ffplan.studies.fabric.cabling import WiredDesign, cable_list, wire_design, wired_networks
from tests.property.test_designs import SELDOM, accepted, designs
from tests.support import ROOT, examples, wired

if TYPE_CHECKING:
    from ffplan.results.fabric import CableRow, PlainCable

STORAGE = (
    "switch: qm8700, link: {endpoint: hdr-aoc, inter_switch: hdr-aoc}",
    "switch: qm9700, link: {endpoint: 400g-sr4, inter_switch: 400g-dr4}",
)
"""Switches and links of a storage network."""
SMALL = sorted((ROOT / "tests" / "golden" / "small").glob("*.yaml"))


@st.composite
def networked(draw: st.DrawFn) -> str:
    """Return a design, most often with networks beside its fabric, split ports among them."""
    text, rows = draw(designs()), []
    ports = {"compute": draw(st.integers(1, 2))}
    if "role: storage" in text and not draw(SELDOM):
        split = draw(st.sampled_from([1, 2, 4]))
        family = draw(st.sampled_from(["fat-tree", "top-of-rack"]))
        parts = f"tiers: 2, oversubscription: '1:1', {draw(st.sampled_from(STORAGE))}"
        fabric = f"{{family: {family}, breakout: {split}, {parts}}}"
        rows.append(f"  - {{name: storage, ports: {{compute: {ports['compute']}, storage: 2}}, fabric: {fabric}}}")
    if not draw(SELDOM):
        ports["switches"] = draw(st.integers(0, 1))
        link = "{endpoint: cat6, inter_switch: cat6}"
        fabric = f"{{family: fat-tree, switch: sn2201, tiers: 2, oversubscription: '3:1', link: {link}}}"
        where = ", ".join(f"{role}: {count}" for role, count in ports.items() if count)
        rows.append(f"  - {{name: out-of-band, ports: {{{where}}}, fabric: {fabric}}}")
    return text + ("networks:\n" + "\n".join(rows) + "\n" if rows else "")


def assert_one_count(own: WiredDesign) -> None:
    """Check that list, bill and export have the same cables, with both ends on every port in use."""
    networks = (own, *wired_networks(own))
    rows: list[CableRow | PlainCable] = [*cable_list(own)]
    ends = [(row.from_device, row.from_port) for row in rows] + [(row.to_device, row.to_port) for row in rows]
    assert len(set(ends)) == len(ends) == 2 * sum(net.plan.links for net in networks)
    assert {end for net in networks for end in net.names.endpoints()} <= set(ends)
    labels = {(row.label, row.network) for row in rows}
    assert len({label for label, _ in labels}) == len(labels)
    count = Counter(network for _, network in labels)
    for net in networks:
        name = net.names.prefix.removesuffix("-") or "compute"
        assert count[name] == net.plan.endpoint_cables + net.plan.inter_switch_cables
        billed: Counter[tuple[str, str]] = Counter()
        for category, link, pieces in fabric_cables(net.design, net.plan):
            billed[category, link.id] += pieces
        assert +billed == Counter(quantities(net.design, net.fabric))
    beside = tuple(Exported(net.design, net.fabric, net.names) for net in networks[1:])
    whole = Exported(own.design, own.fabric, own.names, beside)
    legs = [(leg.label, *leg.lower, *leg.upper, leg.type.id, leg.length_m) for leg in _cables_listed(whole)]
    assert legs == [
        (
            row.label,
            row.from_device,
            row.from_port,
            row.to_device,
            row.to_port,
            row.type,
            getattr(row, "length_m", None),
        )
        for row in rows
    ]
    assert [(device, port) for device, port, *_ in _ports_of(whole)] == sorted(ends)
    devices = [device.name for device in _devices_of(whole)]
    assert len(devices) == len(set(devices))
    assert set(devices) == {device for device, _ in ends} | {name for net in networks for name in net.names.switches()}


@given(networked())
@examples(100)
def test_list_bill_and_export_of_any_design(text: str) -> None:
    design = accepted(text)
    try:
        plan_networks(design, plan_fabric(design))
    except InputError:
        assume(False)
    assert_one_count(wire_design(design))


@pytest.mark.parametrize("name", ["h100-1k-four-networks", "superpod-h100-4su", *(path.stem for path in SMALL)])
def test_list_bill_and_export_of_designs_in_files(name: str) -> None:
    """With floors, dragonflies, planes, zones and four networks."""
    path = next((item for item in SMALL if item.stem == name), ROOT / "designs" / f"{name}.yaml")
    assert_one_count(wired(path, str(ROOT / "tests" / "golden" / "small" / "parts")))
