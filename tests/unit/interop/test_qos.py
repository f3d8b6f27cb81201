"""Virtual lanes for OpenSM: who is in the policy, and how the lanes share a link."""

from __future__ import annotations

import re

import pytest

from ffplan.interop.qos import _weights, options
from tests.support import SMALL, ffplan

JOINED = (str(SMALL / "joined.yaml"), "--catalog", str(SMALL / "parts"))


def test_ports_of_storage_servers_alone_are_named() -> None:
    """Every storage port of the zone, eight to a line, each once; no compute port."""
    net = ffplan("fabric export", *JOINED, "--to", "ibsim", "--zone", "1").out
    made = ffplan("fabric export", *JOINED, "--to", "opensm-qos", "--zone", "1")
    assert made.code == 0, made.err
    named = re.findall(r"(\S+)/P1\b", made.out)
    assert sorted(named) == sorted(re.findall(r'Hca.*# "(storage-\S+)"', net))
    assert named
    assert all(len(line.split(", ")) <= 8 for line in made.out.splitlines() if "port-name" in line)
    assert made.out.count("qos-level-name: storage") == 2
    assert made.out.index("sl: 0") < made.out.index("sl: 1")


def test_every_zone_has_its_own_servers() -> None:
    zones = [ffplan("fabric export", *JOINED, "--to", "opensm-qos", "--zone", zone).out for zone in ("1", "2")]
    found = [set(re.findall(r"(storage-\d+/\w+)/P1", text)) for text in zones]
    whole = set(re.findall(r"(storage-\d+/\w+)/P1", ffplan("fabric export", *JOINED, "--to", "opensm-qos").out))
    assert found[0].isdisjoint(found[1])
    assert found[0] | found[1] == whole


@pytest.mark.parametrize(
    ("share", "units"), [(0.5, (64, 64)), (0.7, (90, 38)), (0.01, (1, 127)), (0.999, (127, 1)), (0.001, (1, 127))]
)
def test_weights_keep_the_share_and_starve_nobody(share: float, units: tuple[int, int]) -> None:
    assert _weights(share) == units


def test_the_options_name_a_lane_for_each_level() -> None:
    text = options(0.5)
    assert "qos_vlarb_high 0:64,1:64\nqos_vlarb_low 0:64,1:64\n" in text
    assert "qos_sl2vl 0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,15\n" in text
    assert "qos TRUE\n" in text
    assert "qos_max_vls 2\n" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("superpod-h100-4su", "--to", "opensm-qos"), "no storage server has a port here"),
        (("superpod-h100-4su", "--to", "opensm-conf"), "no storage server has a port here"),
        (("fire-flyer-2", "--to", "opensm-qos", "--share", "0.5"), "--share goes with --to opensm-conf"),
        (("fire-flyer-2", "--to", "opensm-conf", "--zone", "1"), "leave out --plane and --zone"),
        (("fire-flyer-2", "--to", "opensm-conf", "--share", "1"), "--share"),
    ],
)
def test_what_has_no_lanes_says_so(arguments: tuple[str, ...], words: str) -> None:
    run = ffplan("fabric export", *arguments)
    assert (run.code, words in run.err, run.out) == (2, True, ""), run.err
