"""Lists for those who build: they agree with the list of cables, and nothing stands in another's place."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.base.hostlist import unfold
from tests.support import ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

FLOOR = ("limits:", "floor: {rack_units: 48, switch_racks_per_row: 2}\nlimits:")
SPLIT = ("superpod-b300-4su", ("count: 256", "count: 64"), FLOOR)
"""A cable splits at the leaf, and another leads from two leaf ports to two spines."""


def rows(design: str, target: str) -> list[dict[str, str]]:
    run = ffplan("fabric export", design, "--to", target)
    assert run.code == 0, run.err
    return list(csv.DictReader(io.StringIO(run.out)))


@pytest.fixture(params=["superpod-h100-4su", "h100-1k-four-networks", "split"])
def design(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(vary_design(tmp_path, *SPLIT)) if request.param == "split" else request.param


def test_every_plug_has_a_label(design: str) -> None:
    """What one end says of the other, that one says of itself; a plug of several legs names all of them."""
    cables, printed = rows(design, "cables"), rows(design, "labels")
    ends = {
        (row["network"], row["label"], row[f"{end}_device"], row[f"{end}_port"])
        for row in cables
        for end in ("from", "to")
    }
    plugs = {(network, label, device, port.partition("/")[0]) for network, label, device, port in ends}
    assert {(row["network"], row["label"], row["device"], row["port"].partition("/")[0]) for row in printed} == plugs
    assert len(printed) == len(plugs)
    pairs = {
        frozenset(((row["from_device"], row["from_port"]), (row["to_device"], row["to_port"]))): row["label"]
        for row in cables
    }
    told = 0
    for row in printed:
        far = list(zip(row["far_device"].split("; "), row["far_port"].split("; "), strict=True))
        told += len(far)
        if len(far) == 1:
            assert pairs[frozenset(((row["device"], row["port"]), far[0]))] == row["label"]
    assert told == 2 * len(cables)


def test_a_map_has_every_port_of_every_switch(design: str) -> None:
    page = ffplan("fabric export", design, "--to", "ports").out
    cables = rows(design, "cables")
    sections = re.findall(r"<section><h2>([^<]+)</h2><p>[^<]*free: ([^<]+)</p>(.*?)</section>", page, re.DOTALL)
    found = {
        (name, *re.findall(r"<td>(.*?)</td>", row)[:4])
        for name, _, body in sections
        for row in body.splitlines()[1:]
        if "<td>" in row
    }
    names = {name for name, *_ in sections}
    wanted = {
        (here[0], here[1], row["label"], *there)
        for row in cables
        for ends in [((row["from_device"], row["from_port"]), (row["to_device"], row["to_port"]))]
        for here, there in (ends, ends[::-1])
        if here[0] in names
    }
    assert found == wanted
    free = {
        name: sum(int(b or a) - int(a) + 1 for a, b in re.findall(r"(\d+)(?:-(\d+))?", text))
        for name, text, _ in sections
    }
    used = {
        name: len({port.partition("/")[0] for switch, port, *_ in found if switch == name and port[0].isdigit()})
        for name in names
    }
    if "superpod" in design:
        assert {free[name] + used[name] for name in names} == {64}


def test_racks_hold_every_device_once() -> None:
    """Nothing overlaps; places are those of the list of cables, and power is that of a rack's nodes."""
    listed = rows("superpod-h100-4su", "racks")
    assert len({row["device"] for row in listed}) == len(listed) == 127 + 48
    units = [
        (row["row"], row["rack"], unit)
        for row in listed
        for unit in range(int(row["bottom_unit"]), int(row["top_unit"]) + 1)
    ]
    assert len(set(units)) == len(units)
    assert all(1 <= unit <= 48 for *_, unit in units)
    places = {row["device"]: f"row {row['row']} rack {row['rack']} U{row['bottom_unit']}" for row in listed}
    for row in rows("superpod-h100-4su", "cables"):
        assert places[row["from_device"]] == row["from_place"]
        assert places[row["to_device"]] == row["to_place"]
    assert {row["rated_w"] for row in listed if row["role"] == "compute"} == {"10200"}
    order = [(int(row["row"]), int(row["rack"]), -int(row["top_unit"])) for row in listed]
    assert order == sorted(order)


def test_racks_say_which_heights_are_assumed(tmp_path: Path) -> None:
    unstated = vary_design(tmp_path, "superpod-h100-4su", (", rack_units: 8", ""))
    stated, assumed = (ffplan("fabric export", name, "--to", "racks") for name in ("superpod-h100-4su", str(unstated)))
    assert (stated.code, stated.err, assumed.code) == (0, "", 0)
    assert assumed.out == stated.out  # what is assumed of a compute node is what the design states
    assert "assumed of the floor plan: 8 rack units for `hgx-h100-8nic`" in assumed.err


def test_racks_need_a_floor() -> None:
    run = ffplan("fabric export fire-flyer-2 --to racks")
    assert run.code == 2
    assert "add `floor: {}`" in run.err


FOUR = ("h100-1k-four-networks", ("site:", "floor: {rack_units: 48, switch_racks_per_row: 3}\nsite:"))


ACROSS = ("superpod-b300-4su", ("count: 256, per_rack: 4", "count: 64, per_rack: 3"), FLOOR)
"""A cable splits to nodes of two racks."""


@pytest.mark.parametrize("varied", [FOUR, ACROSS], ids=["four-networks", "split"])
def test_steps_mount_and_cable_everything_once(varied: tuple[Any, ...], tmp_path: Path) -> None:
    """Switches and their cables first, then rack by rack; a cable comes behind all racks that it joins, once."""
    path = vary_design(tmp_path, *varied)
    steps, cables = rows(str(path), "steps"), rows(str(path), "cables")
    assert [int(row["step"]) for row in steps] == list(range(1, len(steps) + 1))
    mounted: set[str] = set()
    plugged: list[str] = []
    for row in steps:
        names = unfold(row["items"])
        assert len(names) == int(row["count"])
        if row["task"].startswith("mount"):
            mounted |= {row["rack"]}
        else:
            plugged += names
            assert {*row["rack"].split("; "), *row["to_rack"].split("; ")} <= mounted | {"not placed"}
    assert sorted(plugged) == sorted({row["label"] for row in cables})
    devices = [name for row in steps if row["task"].startswith("mount") for name in unfold(row["items"])]
    assert sorted(devices) == sorted(row["device"] for row in rows(str(path), "racks"))
    metres = sum(float(row["length_m"] or 0) for row in steps)
    lengths = {row["label"]: float(row["length_m"] or 0) for row in cables}
    assert metres == pytest.approx(sum(lengths.values()))
    assert any("; " in row["rack"] for row in steps) == (varied == ACROSS)
