"""Outputs of iblinkinfo in which adapters have one description, as where no host has set theirs."""

from __future__ import annotations

import pytest

from ffplan.base.errors import InputError
from ffplan.interop.asbuilt.model import PORTS, AsBuilt
from ffplan.interop.asbuilt.read import read_as_built

FACTORY = "MT4129 ConnectX7   Mellanox Technologies"
UP = "==( 4X      106.25 Gbps Active/  LinkUp)==>"
NAMES = {1: FACTORY, 2: FACTORY, 3: "node03 mlx5_0", 4: "", 5: ""}
"""Name of the adapter at each port of the leaf."""


def line_by_line(ports: dict[int, str], *, switches: bool) -> str:
    """`iblinkinfo -l`, with `--switches-only` or without: every end with the guid of its port."""
    leaf = '0xfc6a1c0300000140 "              leaf-01"     65'
    rows = [f'{leaf} {n:4}[  ] {UP}  0x{16 * n:016x} {8 + n:7}    1[  ] "{name}" ( )' for n, name in ports.items()]
    if not switches:
        rows += [
            f'0x{16 * n:016x} "{name:>30}" {8 + n:6}    1[  ] {UP}  0xfc6a1c0300000140      65 {n:4}[  ] "leaf-01" ( )'
            for n, name in ports.items()
        ]
    return "\n".join(rows) + "\n"


def by_heading(ports: dict[int, str], *, switches: bool) -> str:
    """`iblinkinfo`, with `--switches-only` or without: a heading for each device, and LIDs."""
    rows = ["Switch: 0xfc6a1c0300000140 leaf-01:"]
    rows += [f'       65 {n:4}[  ] {UP} {8 + n:7}    1[  ] "{name}" ( )' for n, name in ports.items()]
    for n, name in {} if switches else ports.items():
        rows.append(f"CA: {name}:")
        rows.append(f'      0x{16 * n:016x} {8 + n:6}    1[  ] {UP}      65 {n:4}[  ] "leaf-01" ( )')
        rows.append(
            f'      0x{16 * n + 1:016x}      0    2[  ] ==(                Down/ Polling)==>             [  ] "" ( )'
        )
    return "\n".join(rows) + "\n"


def wiring(built: AsBuilt) -> list[tuple[str, int, int]]:
    """Return the device at each port of the leaf, and its port."""
    leaf = next(number for number, device in enumerate(built.devices) if device.name == "leaf-01")
    ends = [divmod(end, PORTS) for pair in built.ends.tolist() for end in pair if end // PORTS != leaf]
    order = [end % PORTS for pair in built.ends.tolist() for end in pair if end // PORTS == leaf]
    return [(str(device), port, at) for at, (device, port) in sorted(zip(order, ends, strict=True))]


@pytest.mark.parametrize("write", [line_by_line, by_heading])
@pytest.mark.parametrize("switches", [False, True])
def test_adapters_of_one_description_are_devices_of_their_own(write, switches: bool) -> None:  # type: ignore[no-untyped-def]
    """GUIDs or LIDs tell them apart, whether their own ports are listed or those of switches alone."""
    built = read_as_built([("x", write(NAMES, switches=switches))])
    assert [device.kind for device in built.devices].count("host") == len(NAMES)
    rows = wiring(built)
    assert [(port, at) for _, port, at in rows] == [(1, n) for n in NAMES]
    assert len({device for device, _, _ in rows}) == len(NAMES)
    assert FACTORY in built.shared


@pytest.mark.parametrize("write", [line_by_line, by_heading])
@pytest.mark.parametrize("switches", [False, True])
def test_two_ports_of_one_adapter_stay_one_device(write, switches: bool) -> None:  # type: ignore[no-untyped-def]
    """Both ports have a guid and a LID of their own, under one description."""
    text = write({1: "node01 mlx4_0", 2: "node02 mlx4_0"}, switches=switches)
    rows = []
    for row in text.splitlines():  # the second adapter's port is port 2 of the first
        if "CA: node02" in row or "Polling" in row:
            continue
        row = row.replace("node02", "node01")
        own, arrow, far = row.partition("==>")
        if "0x0000000000000020" in own:
            own = own.replace("   1[  ]", "   2[  ]")
        elif "   2[  ]" in own:
            far = far.replace("   1[  ]", "   2[  ]")
        rows.append(own + arrow + far)
    built = read_as_built([("x", "\n".join(rows))])
    assert sorted(device.name for device in built.devices) == ["leaf-01", "node01 mlx4_0"]
    assert [(port, at) for _, port, at in wiring(built)] == [(1, 1), (2, 2)]
    assert built.shared == ()


def test_one_description_without_a_lid_is_refused() -> None:
    """Before a subnet manager has run nothing tells the adapters of a switch's own lines apart."""
    text = by_heading({1: FACTORY, 2: FACTORY}, switches=True)
    bare = text.replace("       65 ", "        0 ").replace("       9 ", "       0 ").replace("      10 ", "       0 ")
    with pytest.raises(InputError, match=r"^x:2:1: error: several devices are named `MT4129 .*no LID tells them apart"):
        read_as_built([("x", bare)])


@pytest.mark.parametrize("write", [line_by_line, by_heading])
def test_a_last_line_that_is_cut_off_is_refused(write) -> None:  # type: ignore[no-untyped-def]
    """Its link, and all that would follow, would count as cables that are missing."""
    text = write(NAMES, switches=True)
    lines = text.splitlines()
    with pytest.raises(InputError, match=rf"^x:{len(lines)}:1: error: the line of a port ends early"):
        read_as_built([("x", text[: -len(lines[-1]) // 2])])
