"""Adapters of two ports that tools list as one device, in a design with an endpoint for each port."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.interop.asbuilt.composite import split_adapters
from ffplan.interop.asbuilt.ibnetdiscover import _read_listing
from ffplan.interop.asbuilt.model import PORTS
from tests.support import but_few, ffplan
from tests.unit.interop.seeded import Listing, as_printed
from tests.unit.interop.test_faults_of_fabrics import kill_lanes, lose_leaf, lose_node, lose_node_cable, swap_downlinks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DESIGN = "superpod-b300-4su"
"""256 nodes with eight NICs, of which each port is in a plane of its own."""


def of_port(name: str, port: int) -> tuple[str, int]:
    """Return the card and its port of an endpoint, such as `compute-001/nic0p2`."""
    card, _, number = name.rpartition("p")
    return (card, int(number)) if "/" in name else (name, port)


def as_cards(built: Listing) -> Listing:
    """Return a listing in which a card is one device with the ports of its endpoints."""
    links: dict[str, dict[int, tuple[str, int, str]]] = {}
    ports: dict[str, int] = {}
    for name, own in built.links.items():
        card = of_port(name, 0)[0]
        ports[card] = built.ports[name] if card == name else 2
        links.setdefault(card, {})
        for port, (peer, there, rate) in own.items():
            links[card][of_port(name, port)[1]] = (*of_port(peer, there), rate)
    built.links, built.ports = links, ports
    return built


def audited(built: Listing, place: Path, *options: str) -> tuple[int, str]:
    place.write_text(built.text())
    run = ffplan("fabric audit", DESIGN, str(place), *options)
    return run.code, run.out


def test_ports_of_a_card_are_endpoints_of_the_design(tmp_path: Path) -> None:
    code, out = audited(as_cards(Listing(DESIGN, rate="4xNDR")), tmp_path / "x")
    assert code == 0, out
    assert "2,048 adapters of several ports are taken as a host for each port" in out


@pytest.mark.parametrize("plane", ["1", "2"])
def test_in_the_subnet_of_a_plane_a_card_is_an_endpoint(plane: str, tmp_path: Path) -> None:
    """Its port in the second plane is its second."""
    code, out = audited(as_cards(Listing(DESIGN, "--plane", plane, rate="4xNDR")), tmp_path / "x", "--plane", plane)
    assert code == 0, out


SEEDS = (swap_downlinks, lose_node_cable, lose_node, lose_leaf, kill_lanes)


@pytest.mark.parametrize("seed", but_few(SEEDS, swap_downlinks, lose_leaf))
def test_a_fault_among_cards_is_one_finding(seed: Callable[[Listing, Random], list[str]], tmp_path: Path) -> None:
    built = Listing(DESIGN, rate="4xNDR")
    words = seed(built, Random(7))
    code, out = audited(as_cards(built), tmp_path / "x")
    assert code == 1
    said = " ".join(out.split())
    assert all(as_printed(DESIGN, word) in said for word in words), out
    assert "1 finding" in said or "1 cause" in said, said[:400]


SMALL = """\
Switch\t8 "S-1"\t\t# "leaf"
[1]\t"H-1"[1]\t\t# "n1 mlx4_0" lid 1 4xQDR
[2]\t"H-1"[2]\t\t# "n1 mlx4_0" lid 1 4xFDR
[3]\t"H-2"[{port}]\t\t# "n2 mlx4_0" lid 1 4xQDR

Ca\t2 "H-1"\t\t# "n1 mlx4_0"
[1]\t"S-1"[1]\t\t# "leaf" lid 2 4xQDR
[2]\t"S-1"[2]\t\t# "leaf" lid 2 4xFDR

Ca\t2 "H-2"\t\t# "n2 mlx4_0"
[{port}]\t"S-1"[3]\t\t# "leaf" lid 2 4xQDR
"""


def test_which_ports_become_hosts() -> None:
    """Half of two adapters have cables in both ports: a port without one is no host. Rates stay with their links."""
    built = _read_listing(SMALL.format(port=2), "x")
    found = split_adapters(built, 3)
    assert [(device.name, device.ports) for device in found.devices] == [
        ("leaf", 8),
        ("n1 mlx4_0p1", 1),
        ("n1 mlx4_0p2", 1),
        ("n2 mlx4_0p2", 1),
    ]
    assert np.divmod(found.ends, PORTS)[0].tolist() == [[0, 1], [0, 2], [0, 3]]
    assert np.divmod(found.ends, PORTS)[1].tolist() == [[1, 1], [2, 1], [3, 1]]
    assert found.gbit_s.tolist() == [40.0, 56.0, 40.0]
    assert split_adapters(built, 2).devices == built.devices  # two endpoints: the second cable of n1 is one too many


def test_the_usual_port_is_the_first() -> None:
    """One adapter is wired at port 2 alone, which is usual; its cable is where the design has it."""
    found = split_adapters(_read_listing(SMALL.format(port=2), "x"), 2)
    assert sorted(np.divmod(found.ends, PORTS)[1].tolist()) == [[1, 2], [2, 1], [3, 1]]
    same = _read_listing(SMALL.format(port=1), "x")
    assert split_adapters(same, 2) is same
