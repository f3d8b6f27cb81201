"""Maps of names, and what tells a switch without one, on fabrics of a few devices."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.interop.asbuilt.matching import _features, _singular
from ffplan.interop.asbuilt.model import PORTS, BuiltDevice
from ffplan.interop.asbuilt.names import _by_adapter, _by_map, read_map
from ffplan.interop.topology.devices import Unreadable, pci_id
from ffplan.interop.topology.model import PciDevice, repeated
from ffplan.interop.xml_tree import Element

DESIGNED = ("leaf-1", "compute-1/nic0", "compute-2/nic0", "compute-2/nic1", "spine-9")


def led(found: str, designed: str) -> dict[int, int]:
    """Return where a map leads a device of one name."""
    device = BuiltDevice(name=found, kind="host", ports=1, line=1)
    return _by_map([device], DESIGNED, read_map(f"found,designed\n{found},{designed}\n", "map.csv"), "map.csv")


def test_a_map_leads_to_a_device_or_to_a_host_with_one_adapter() -> None:
    assert led("box-a", "leaf-1") == {0: 0}
    assert led("box-a", "compute-1") == {0: 1}
    assert led("box-a", "compute-2/nic1") == {0: 3}


@pytest.mark.parametrize("wanted", ["compute-2", "compute-3"])
def test_a_map_to_a_host_of_two_adapters_or_none_is_refused(wanted: str) -> None:
    with pytest.raises(InputError) as caught:
        led("box-a", wanted)
    text = str(caught.value)
    assert f"`box-a` maps to `{wanted}`, which is not in the design" in text
    assert "the design has names such as `leaf-1` and `spine-9`" in text


def test_features_of_a_switch_are_its_ports_and_those_at_the_other_end() -> None:
    """A cable from port 3 of device 1 to port 5 of device 2, which forwards, and one to port 0 of device 4, a host."""
    forwards = np.array([False, True, True, False, False])
    ends = np.array([[1 * PORTS + 3, 2 * PORTS + 5], [1 * PORTS + 4, 4 * PORTS + 0]])
    found = _features(ends, forwards)
    assert {device: dict(told) for device, told in found.items()} == {
        1: {3 * 2 * PORTS + 5 * 2 + 1: 1, 4 * 2 * PORTS + 0 * 2 + 0: 1}
    }


@pytest.mark.parametrize(
    ("vendor", "device", "wanted"),
    [
        ("0x10de", "0x20b0", "10de:20b0"),
        ("0xffff", "0x20b0", ""),
        ("0x0000", "0x1", ""),
        ("0x10de", "0xffff", "10de:ffff"),
    ],
)
def test_placeholders_of_vendors_are_no_ids(vendor: str, device: str, wanted: str) -> None:
    attributes = {"vendor": vendor, "device": device}
    pci = Element(tag="pci", attributes=attributes, line=1, column=1, children=[], texts=[])
    assert pci_id(pci, Unreadable()) == wanted


def test_gpus_that_share_a_bus_id_are_named_once() -> None:
    gpus = [PciDevice(bus=bus, pci_id="", name="", number=None, link=None) for bus in ("a", "b", "a", "", "", "c", "c")]
    assert repeated(gpus) == ["several GPUs have the bus id a, c: their links cannot be distinguished"]
    assert repeated(gpus[:2]) == []


def test_two_adapters_of_one_number_are_left_to_their_wiring() -> None:
    """Slots are (number, port); a host of the design has two NICs."""
    for items, wanted in (
        ([((0, 0), 7), ((1, 0), 8)], {7: 2, 8: 3}),
        ([((1, 0), 7), ((0, 0), 8)], {7: 3, 8: 2}),
        ([((0, 0), 7), ((0, 0), 8)], {}),
        ([((4, 0), 7)], {}),
    ):
        found: dict[int, int] = {}
        _by_adapter(items, [3, 2], DESIGNED, [], found, set())
        assert found == wanted
    found = {}
    _by_adapter([((4, 0), 7), ((6, 0), 8)], [2, 3], DESIGNED, [(4, 0), (6, 0)], found, set())
    assert found == {7: 2, 8: 3}  # complete hosts number them 4 and 6
    found, taken = {}, {2}
    _by_adapter([((0, 0), 7), ((1, 0), 8)], [2, 3], DESIGNED, [], found, taken)
    assert (found, taken) == ({8: 3}, {2, 3})


def test_a_switch_wired_like_no_other() -> None:
    """Devices 1 and 2 are wired alike, 3 like nothing in the design, 4 like device 40 alone."""
    alike, odd, own = Counter({11: 2}), Counter({12: 1}), Counter({13: 1, 14: 1})
    built = {1: alike, 2: alike, 3: odd, 4: own}
    designed = {10: alike, 20: alike, 40: Counter(own)}
    assert _singular([1, 2, 3, 4], [10, 20, 40], (built, designed)) == [4]
    assert _singular([1, 2, 3, 4], [10, 20], (built, designed)) == []
    assert _singular([1, 3, 4], [10, 40], (built, designed)) == [1, 4]
