"""Lanes of InfiniBand, and platforms of SimGrid."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from ffplan.base.errors import UsageError
from ffplan.fabric.family import routing_of
from ffplan.fabric.routing.job_loads import all_nodes
from ffplan.interop import verify_opensm
from ffplan.interop.exported import _weights, qos_options
from ffplan.interop.verify_simgrid import _MESSAGE, _patterns, _platform
from tests.support import SMALL, ffplan, wired

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
    text = qos_options(0.5)
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


def test_the_platform_has_every_route_and_the_rates_of_the_design() -> None:
    """Four nodes: twelve routes; each starts with the sender's own link up and ends with the receiver's down."""
    own = wired("fire-flyer-2")
    ports = all_nodes(own.design, own.fabric)[[0, 1, 40, 800], 0]
    text = "".join(_platform(routing_of(own.fabric), ports))
    root = ET.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", text))
    zone = root.find("zone")
    assert zone is not None
    routes = zone.findall("route")
    assert len(zone.findall("host")) == 4
    assert len(routes) == 12
    links = {item.get("id"): item.get("bandwidth") for item in zone.findall("link")}
    assert set(links.values()) == {"25GBps"}
    for route in routes:
        ends = [item.get("id") for item in route]
        source, target = (int(str(route.get(end))[1:]) for end in ("src", "dst"))
        assert ends[0] == f"L{2 * ports[source]}"
        assert ends[-1] == f"L{2 * ports[target] + 1}"
        assert set(ends) <= links.keys()


def test_patterns_move_what_their_collectives_move() -> None:
    """A ring sends 2 (p - 1) / p of the message to the next rank, an all-to-all one p-th to each rank."""
    own = wired("fire-flyer-2")
    ports = all_nodes(own.design, own.fabric)[:24, 0]
    made = {item.name: item for item in _patterns(own.design, own.fabric, ports)}
    ((one, two, size),) = made["ring allreduce"].rounds
    assert two.tolist() == [*range(1, 24), 0]
    assert size == pytest.approx(np.full(24, 2 * 23 / 24 * _MESSAGE))
    ((one, two, size),) = made["all-to-all"].rounds
    assert len(one) == 24 * 23
    assert set(size.tolist()) == {_MESSAGE // 24}
    ((one, two, size),) = made["two jobs, ranks in turn"].rounds
    assert sorted(one.tolist()) == list(range(24))
    assert ((two - one) % 2 == 0).all()
    up, ring, back = made["two-level allreduce"].rounds
    assert (up[0].tolist(), up[1].tolist()) == (back[1].tolist(), back[0].tolist())
    leaves = len(np.unique(own.fabric.network.endpoints.leaf[ports]))
    assert len(ring[0]) == leaves == 2
    assert len(up[0]) == 24 - leaves
    assert made["incast to one"].rounds[0][1].tolist() == [0] * 23


def test_a_subnet_has_so_many_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """LIDs 1 to 0xBFFF: 49,151 of them; here as if there were 800, of which zone 1 needs 820."""
    assert verify_opensm._MOST_LIDS == 49_151
    monkeypatch.setattr(verify_opensm, "_MOST_LIDS", 800)
    own = wired("fire-flyer-2")
    with pytest.raises(UsageError, match="zone 1 has 820 switches and ports of hosts"):
        verify_opensm.verify_opensm(own.design, own.fabric, own.names, (("ftree",), 1.0), lambda *_: None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--with slurm --nodes 8", "--nodes has an effect with `--with simgrid` only"),
        ("--with simgrid --engine updn", "--engine has an effect with `--with opensm` only"),
    ],
)
def test_options_of_other_programs(options: str, words: str) -> None:
    run = ffplan("fabric verify fire-flyer-2", *options.split())
    assert run.code == 2
    assert words in run.err
