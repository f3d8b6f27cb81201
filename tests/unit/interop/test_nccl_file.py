"""NCCL's topology XML: rates of PCIe by name, limits, and what a server's file says of them."""

from __future__ import annotations

import pytest

from ffplan.base.errors import InputError
from ffplan.interop.nccl import GENERATIONS, MOST_BYTES, read_inside

DEVICE = '<pci busid="0000:01:00.0" class="0x030200" vendor="0x10de" device="0x20b0" link_speed="{}" link_width="{}"/>'


def one(speed: str, width: str = "16") -> tuple[int | None, int | None]:
    """Return generation and lanes of a GPU."""
    inside = read_inside(f"<system><cpu>{DEVICE.format(speed, width)}</cpu></system>".encode(), "x.xml")
    ((_, bridges),) = inside.sockets
    (device,) = bridges[0].devices
    return device.generation, device.lanes


@pytest.mark.parametrize(
    ("rate", "generation"), [(2.5, 1), (5, 2), (5.0, 2), (8, 3), (16, 4), (32, 5), (64, 6), (16.0, 4), (8.0, 3)]
)
@pytest.mark.parametrize("form", ["{} GT/s", "{} GT/s PCIe"])
def test_generations_double_their_rate(rate: float, generation: int, form: str) -> None:
    """PCIe 1 to 6: 2.5, 5, 8, 16, 32 and 64 GT/s, with or without a decimal (PCI-SIG)."""
    assert one(form.format(rate)) == (generation, 16)
    assert sorted(set(GENERATIONS.values())) == [1, 2, 3, 4, 5, 6]
    assert {GENERATIONS[f"{2 ** (n + 1)}.0"] for n in (2, 3, 4, 5) for _ in "x"} == {3, 4, 5, 6}


def test_files_are_read_up_to_a_limit_that_is_said() -> None:
    text = b"<system><cpu>" + b" " * MOST_BYTES + b"</cpu></system>"
    with pytest.raises(InputError, match="larger than 4 MiB"):
        read_inside(text, "x.xml")
    with pytest.raises(InputError, match="no GPU"):
        read_inside(text[: MOST_BYTES - 15] + b"</cpu></system>", "x.xml")


def test_rates_are_written_as_they_are_read() -> None:
    from ffplan.interop.nccl import _SPEEDS

    assert sorted(_SPEEDS) == [1, 2, 3, 4, 5, 6]
    assert {GENERATIONS[rate]: rate for rate in _SPEEDS.values()} == _SPEEDS
