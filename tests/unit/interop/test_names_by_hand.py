"""Maps of names, and what tells a switch without one, on fabrics of a few devices."""

from __future__ import annotations

import pytest

from ffplan.base.errors import InputError
from ffplan.interop.asbuilt.model import _BuiltDevice
from ffplan.interop.asbuilt.names import _by_map, read_map

DESIGNED = ("leaf-1", "compute-1/nic0", "compute-2/nic0", "compute-2/nic1", "spine-9")


def led(found: str, designed: str) -> dict[int, int]:
    """Return where a map leads a device of one name."""
    device = _BuiltDevice(name=found, kind="host", ports=1, line=1)
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
