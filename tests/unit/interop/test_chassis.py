"""Modular switches: what tools list of the cards of a chassis, and the one switch that a design has of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.interop.asbuilt.composite import _cards_of, _whose, join_cards
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.asbuilt.read import read_as_built
from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.interop.asbuilt.model import AsBuilt

OUT, SPINES, LINES = 20, 20, 40
"""Ports outwards of a line card, spine cards and line cards of an 800-port chassis of 40-port chips."""
DESIGN = """\
name: director
nodes:
  - {role: compute, server: dgx-a100-320gb, count: 96, nics: 8}
fabric:
  family: fat-tree
  switch: cs8500
  link: {endpoint: hdr-dac, inter_switch: hdr-aoc}
  tiers: 1
site: {pue: 1.2}
"""


def chassis(hosts: dict[int, str], *, lines: int = LINES, spines: int = SPINES, out: int = OUT, note: str = "") -> str:
    """Return a listing of a chassis whose ports lead to hosts, by the number of the port."""
    blocks = []

    def head(guid: str, name: str, ports: int) -> list[str]:
        return [f"sysimgguid=0x99{note}", f"switchguid=0x{guid}({guid})", f'Switch {ports} "S-{guid}" # "{name}" lid 1']

    for card in range(1, lines + 1):
        rows = head(f"a{card:03}", f"MF0;leaf-1:CS8500/L{card}/U1", out + spines)
        for port in range(1, out + 1):
            if host := hosts.get((card - 1) * out + port):
                rows.append(f'[{port}] "H-{host}"[1] # "{host}" lid 9 4xHDR')
        rows += [f'[{out + spine}] "S-b{spine:03}"[{card}] # "s" lid 2 4xHDR' for spine in range(1, spines + 1)]
        blocks.append(rows)
    for spine in range(1, spines + 1):
        rows = head(f"b{spine:03}", f"MF0;leaf-1:CS8500/S{spine}/U1", max(lines, out + spines))
        blocks.append(
            rows + [f'[{card}] "S-a{card:03}"[{out + spine}] # "l" lid 3 4xHDR' for card in range(1, lines + 1)]
        )
    for number, host in hosts.items():
        card, port = divmod(number - 1, out)
        blocks.append([f'Ca 1 "H-{host}" # "{host}"', f'[1](1) "S-a{card + 1:03}"[{port + 1}] # lid 9 "l" lid 1 4xHDR'])
    return "\n\n".join("\n".join(rows) for rows in blocks) + "\n"


def read(text: str) -> AsBuilt:
    return read_as_built([("x", text)])


@pytest.mark.parametrize("note", ["", "\t\t# Chassis 1"])
def test_cards_become_ports_of_one_switch(note: str) -> None:
    """Three line cards of four ports outwards and two spine cards; card 10 comes after card 2, and one has no cable."""
    hosts = {1: "a", 4: "b", 9: "c", 12: "d"}
    built = read(chassis(hosts, lines=3, spines=2, out=4, note=note))
    (cards,) = _cards_of(built).values()
    assert len(cards) == 5
    found = join_cards(built)
    one = found.devices[0]
    assert (one.kind, one.name, one.ports) == ("switch", "MF0;leaf-1:CS8500", 12)
    ends = {found.devices[two // PORTS].name: one % PORTS for one, two in found.ends.tolist()}
    assert ends == {host: port for port, host in hosts.items()}
    assert found.gbit_s.tolist() == [200.0] * 4
    words = "5 cards of the chassis `MF0;leaf-1:CS8500` are taken as one switch: its ports 1 to 4 are 1 to 4 of `L1/U1`"
    assert found.remarks[-1] == f"{words}, the next 4 those of `L2/U1`, and so on to `L3/U1`"


def test_line_cards_are_in_the_order_of_their_numbers() -> None:
    hosts = {40: "j", 5: "b"}
    found = join_cards(read(chassis(hosts, lines=11, spines=2, out=4)))
    ends = {found.devices[two // PORTS].name: one % PORTS for one, two in found.ends.tolist()}
    assert ends == {"j": 40, "b": 5}


def test_an_installer_is_told_whose_ports_those_of_a_chassis_are() -> None:
    assert _whose(["core/L01/U1"], [1, 2]) == ": its ports 1 to 2 are 1 to 2 of `L01/U1`"
    assert _whose(["a", "b"], [21, 22]) == ": its ports 1 to 2 are 21 and 22 of `a`, the next 2 those of `b`"
    assert _whose(["a", "b"], []) == ""


def test_switches_that_share_a_system_but_no_link_stay_apart() -> None:
    """Such as the chips of a switch whose ports each have a lane on every chip."""
    chips = [
        f'sysimgguid=0x9\nSwitch 4 "S-{n}" # "MF0;leaf-1:Q3400/U{n}"\n[1] "H-{n}"[1]\n\nCa 1 "H-{n}"\n[1] "S-{n}"[1]\n'
        for n in (1, 2)
    ]
    built = read("\n".join(chips))
    assert _cards_of(built) == {}
    assert join_cards(built) is built
    apart = read(chassis({1: "a"}, lines=2, spines=1, out=2).replace("sysimgguid=0x99\n", ""))
    assert _cards_of(apart) == {}


def test_ports_of_no_switch_join_nothing() -> None:
    """Ten thousand ports on each of 128 cards are more than any switch has."""
    text = chassis({1: "a"}, lines=128, spines=1, out=2)
    far = text.replace("Switch 3 ", "Switch 99999 ").replace('[1] "H-a"', '[9999] "H-a"').replace("[1]\t", "[9999]")
    far = far.replace('"S-a001"[1] # lid', '"S-a001"[9999] # lid')
    built = read(far)
    assert len(_cards_of(built)) == 1
    assert join_cards(built) is built


def test_an_audit_of_a_director(tmp_path: Path) -> None:
    """96 nodes of eight NICs on a chassis of 800 ports: 60 cards; then two cables swapped."""
    (tmp_path / "director.yaml").write_text(DESIGN)
    hosts: dict[int, str] = {}
    for block in ffplan("fabric export", str(tmp_path / "director.yaml"), "--to", "ibsim").out.split("\n\n"):
        if block.startswith("Hca"):
            name, port = block.split('"')[1], int(block.rpartition('"[')[2].partition("]")[0])
            hosts[port] = name
    assert len(hosts) == 768
    place = tmp_path / "built.txt"
    place.write_text(chassis(hosts))
    run = ffplan("fabric audit", str(tmp_path / "director.yaml"), str(place))
    assert run.code == 0, run.out
    assert "768 links as designed, 0 findings" in run.out
    assert "60 cards of the chassis `MF0;leaf-1:CS8500` are taken as one switch" in run.out
    hosts[41], hosts[42] = hosts[42], hosts[41]
    place.write_text(chassis(hosts))
    run = ffplan("fabric audit", str(tmp_path / "director.yaml"), str(place))
    assert run.code == 1
    assert "1 finding" in run.out
