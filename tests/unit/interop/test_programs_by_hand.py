"""What other programs print, read back and judged, without the programs: their logs and tables, by hand."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.base.errors import UsageError
from ffplan.fabric.family import routing_of
from ffplan.fabric.routing.routing import Forwarding
from ffplan.interop import opensm, verify_opensm, verify_simgrid, verify_slurm
from ffplan.interop.exported import subnet
from ffplan.interop.opensm import _read_tables
from ffplan.interop.programs import _ProgramError, _TimeLimitError, _wait_for, running
from ffplan.interop.schedulers import tree
from ffplan.interop.verify_simgrid import _Simulated
from ffplan.interop.verify_slurm import _read_topology, _SlurmView
from tests.support import SMALL, wired

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ffplan.base.array_math import Bools
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network
    from ffplan.results.fabric import Check, VerifyReport
    from ffplan.studies.fabric.cabling import WiredDesign

LOG = """\
Nov 23 23:13:07 544230 [EB736740] 0x43 -> OpenSM 3.3.23
Nov 23 23:13:07 561810 [E872F6C0] 0x02 -> Fabric has 1 switches - topology is not fat-tree.
Falling back to default routing
Nov 23 23:13:07 561815 [E872F6C0] 0x01 -> ucast_mgr_route: ftree: cannot build lid matrices
Nov 23 23:13:07 561845 [E872F6C0] 0x02 -> osm_ucast_mgr_process: minhop tables configured on all switches
Nov 23 23:13:07 566145 [E872F6C0] 0x02 -> SUBNET UP
"""
"""OpenSM 3.3.23 on the fabric of one switch."""
DUMP = """\
Unicast lids [0-15] of switch Lid 2 guid 0x0000000000200000 ('leaf-1'):
0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'compute-1/nic0'
0x0002 000 # Switch portguid 0x0000000000200000: 'leaf-1'
0x0003 002 # Channel Adapter portguid 0x0000000000100003: 'compute-2/nic0'
0x000e 013 # Channel Adapter portguid 0x0000000000100019: 'compute-4/nic4'
0x000f 014 # Channel Adapter portguid 0x000000000010001b: 'stranger/nic4'
15 lids dumped
"""


def small(name: str) -> WiredDesign:
    return wired(SMALL / f"{name}.yaml", str(SMALL / "parts"))


def by_first_port(network: Network, inside: Bools) -> Forwarding:
    """Return tables that send everything out of the lowest port on a shortest way."""
    first = len(network.switches)
    switches, endpoints = np.flatnonzero(inside[:first]), np.flatnonzero(inside[first:])
    near: dict[int, dict[int, int]] = {}
    for a, p, b, q in network.links.rows(np.arange(len(network.links)), "a", "a_port", "b", "b_port"):
        near.setdefault(a, {})[p] = b
        near.setdefault(b, {})[q] = a
    table = np.full((len(switches), len(endpoints)), -1, np.int16)
    for column, end in enumerate((endpoints + first).tolist()):
        far, ring = {end: 0}, [end]
        while ring:
            near_by = {peer for device in ring for peer in near[device].values() if peer < first and peer not in far}
            far |= dict.fromkeys(near_by, far[ring[0]] + 1)
            ring = sorted(near_by)
        for row, switch in enumerate(switches.tolist()):
            table[row, column] = min(p for p, peer in near[switch].items() if far.get(peer, 99) < far[switch])
    return Forwarding(switches, endpoints, table)


def seen_of(network: Network, inside: Bools, engine: str, changed: dict[str, object]) -> opensm.Subnet:
    """Return what a faultless OpenSM would report."""
    first = len(network.switches)
    ranks = opensm._expected_ranks(network, inside)
    said = {
        "version": "3.3.23",
        "up": True,
        "engine": engine,
        "reason": "",
        "rank": len(ranks),
        "hosts": int(inside[first:].sum()),
        "switches": int(inside[:first].sum()),
        "switches_by_rank": ranks,
        "tables": by_first_port(network, inside),
    }
    return opensm.Subnet(**(said | changed))  # type: ignore[arg-type]


def judged(
    monkeypatch: pytest.MonkeyPatch,
    engine: str = "ftree",
    name: str = "floor",
    changed: dict[str, object] | None = None,
) -> tuple[Check, ...]:
    """Return the checks of an OpenSM that reports what is wanted, but for what is changed."""
    answer(monkeypatch, changed or {}, changed or {})
    return report(engine, name).checks


def answer(monkeypatch: pytest.MonkeyPatch, plain: dict[str, object], rooted: dict[str, object]) -> list[bool]:
    """Let OpenSM report what differs from the faultless, without and with named roots; return which runs had them."""
    runs: list[bool] = []

    def bring_up(
        network: Network, _: Names, inside: Bools, run: tuple[str, float], *, rooted: bool = False
    ) -> opensm.Subnet:
        assert run[1] == 7.0
        runs.append(rooted)
        return seen_of(network, inside, run[0], answers[rooted])

    answers = (plain, rooted)
    monkeypatch.setattr(opensm, "_bring_up", bring_up)
    return runs


def report(engine: str, name: str) -> VerifyReport:
    own = small(name)
    steps: list[tuple[int, int, str]] = []
    found = verify_opensm.verify_opensm(
        own.design, own.fabric, own.names, ((engine,), 7.0), lambda done, total, what: steps.append((done, total, what))
    )
    assert steps == [(number, len(steps), "subnets") for number in range(len(steps))]
    assert found.passed == all(check.passed is not False for check in found.checks)
    return found


def failed(checks: Iterable[Check]) -> list[tuple[str, str, str]]:
    return [(item.check, item.expected, item.found) for item in checks if item.passed is False]


def test_every_plane_is_a_subnet_with_its_hosts_switches_and_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    """22 nodes, two NICs in each of two planes; four leaves and a spine a plane."""
    checks = judged(monkeypatch)
    assert [item.subject for item in checks[:8]] == ["plane 1"] * 6 + ["plane 1: all-to-all", "plane 1: ring"]
    said = {item.check: item.found for item in checks if item.subject == "plane 2"}
    assert said["subnet comes up"] == "yes"
    assert (said["hosts"], said["switches"], said["switches by tier"]) == ("44", "5", "1 + 4")
    assert said["fat tree"] == "2 tiers, by ftree"
    assert said["pairs traced"].endswith("in 3 switches")
    assert failed(checks) == []


def late(monkeypatch: pytest.MonkeyPatch, *slow: str) -> None:
    """Let some engines of OpenSM take longer than they may, and others report the faultless."""

    def bring_up(
        network: Network, _: Names, inside: Bools, run: tuple[str, float], *, rooted: bool = False
    ) -> opensm.Subnet:
        if run[0] in slow:
            raise _TimeLimitError("`opensm` took longer than", run[1])
        return seen_of(network, inside, run[0], {})

    monkeypatch.setattr(opensm, "_bring_up", bring_up)


@pytest.mark.parametrize(
    ("engine", "name", "words"),
    [
        ("nue", "pods", ", or take `--engine ftree` or `updn`, which need a fraction of it on large trees"),
        (
            "nue",
            "joined",
            ", or take `--engine ftree`, zone by zone, which needs a fraction of it on large trees",
        ),
        ("ftree", "pods", ""),
    ],
)
def test_an_engine_that_takes_too_long_says_what_to_do(
    engine: str, name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """updn refuses zones that are joined, and is no remedy there."""
    late(monkeypatch, engine)
    with pytest.raises(UsageError) as raised:
        report(engine, name)
    assert str(raised.value) == f"ffplan fabric verify: `opensm` took longer than 7 s; allow more with `--limit`{words}"


def test_of_several_engines_the_late_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pods` is one subnet: the others are compared, and the report is not passed."""
    late(monkeypatch, "dfsssp", "nue")
    own = small("pods")
    found = verify_opensm.verify_opensm(own.design, own.fabric, own.names, (opensm.ENGINES, 7.0), lambda *_: None)
    assert not found.passed
    assert [(item.subject, item.check, item.found) for item in found.checks if item.passed is False] == [
        ("fabric, dfsssp", "subnet comes up", "not within 7 s"),
        ("fabric, nue", "subnet comes up", "not within 7 s"),
    ]
    assert {"fabric", "fabric, updn", "fabric, minhop"} <= {item.subject for item in found.checks}
    assert found.notes[-1].startswith("fabric, dfsssp and fabric, nue: no routes within 7 s; allow more with `--limit`")


def test_loads_under_the_tables_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that leaves a leaf of 12 goes over its first uplink: 12 x 32 flows where a port of a host has 43, 11 %.

    Ours are spread over four uplinks: 96, 45 %. A ring leaves a leaf with two flows, in and out over one link each.
    """
    rates = {
        item.subject: (item.expected, item.found) for item in judged(monkeypatch) if item.check == "rate of the ideal"
    }
    assert rates["plane 1: all-to-all"] == ("45 %", "11 %")
    assert rates["plane 1: ring"] == ("50 %", "50 %")


def test_other_engines_know_no_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = judged(monkeypatch, "updn")
    assert [(item.subject, item.found) for item in checks if item.check == "routed by"] == [
        ("plane 1, updn", "updn"),
        ("plane 2, updn", "updn"),
    ]
    assert {item.found.partition(" in ")[2] for item in checks if item.check == "pairs traced"} == {"15 switches"}
    assert not [item for item in checks if item.check == "fat tree"]


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"up": False}, ("subnet comes up", "yes", "no")),
        ({"hosts": 43}, ("hosts", "44", "43")),
        ({"switches": 6}, ("switches", "5", "6")),
        ({"switches_by_rank": (2, 3)}, ("switches by tier", "1 + 4", "2 + 3")),
        ({"rank": 3}, ("fat tree", "2 tiers, by ftree", "3 tiers, by ftree")),
        ({"engine": "minhop", "reason": "Odd"}, ("fat tree", "2 tiers, by ftree", "2 tiers, by minhop: Odd")),
        ({"tables": None}, ("forwarding tables", "read back", "none")),
    ],
    ids=lambda item: next(iter(item)) if isinstance(item, dict) else "",
)
def test_a_report_that_differs_fails(
    changed: dict[str, object], wanted: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert failed(judged(monkeypatch, changed=changed)) == [wanted] * 2


def test_another_engine_that_routed_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    own = judged(monkeypatch, "nue")
    assert failed(own) == []
    answer(monkeypatch, {"engine": "minhop"}, {})
    assert failed(report("nue", "floor").checks) == [("routed by", "nue", "minhop")] * 2
    (words,) = [words for words in report("nue", "floor").notes if "falls back to" in words]
    assert words == "OpenSM's nue engine rejects this fabric and falls back to minhop."
    joined = [words for words in report("updn", "joined").notes if "falls back to" in words]
    assert joined == [f"OpenSM's updn engine rejects this fabric and falls back to minhop.{verify_opensm._UPDN}"]


def test_an_entry_that_leads_nowhere_loses_its_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first leaf has no port for the last host: the other eleven of its twelve hosts cannot send to it."""
    own = small("floor")
    inside = subnet(own.fabric.network, 0, 0)
    tables = by_first_port(own.fabric.network, inside)
    tables.port[0, -1] = -1
    found = {item[0]: item[1:] for item in failed(judged(monkeypatch, changed={"tables": tables}))}
    assert found["flows that arrive"][0] == "all"
    assert found["flows that arrive"][1].endswith("do not")
    assert "pairs traced" in found


def test_links_between_zones_are_told_where_ftree_leaves_them_out(monkeypatch: pytest.MonkeyPatch) -> None:
    (told,) = [item for item in judged(monkeypatch, name="joined") if item.subject == "between zones"]
    assert (told.expected, told.found, told.passed) == (
        "8",
        "outside these subnets; --engine dfsssp routes all zones together",
        None,
    )
    joined = judged(monkeypatch, "dfsssp", "joined")
    assert {item.subject.partition(":")[0] for item in joined} == {"zones joined, dfsssp"}


def test_trees_that_are_not_pure_are_tried_with_named_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    """25 hosts of 30 ports a zone: leaf 8 of each zone has none. Its cores are the last 4 of 20 switches."""
    network, names = small("apart").fabric.network, small("apart").names
    assert [names.switch(leaf) for leaf in network.bare_leaves().tolist()] == ["z1-leaf-8", "z2-leaf-8"]
    for zone in (0, 1):
        tops = opensm._roots(network, subnet(network, 0, zone))
        assert [names.switch(root) for root in tops.tolist()] == [f"z{zone + 1}-core-{n}" for n in (1, 2, 3, 4)]
    refused: dict[str, object] = {"engine": "minhop", "reason": "Different number of upward port groups"}
    runs = answer(monkeypatch, refused, {})
    found = report("ftree", "apart")
    assert runs == [False, True, False, True]
    assert found.passed
    first, second = [words for words in found.notes if "does not recognise this tree" in words or "no host" in words]
    assert "(Different number of upward port groups)" in first
    assert "`root_guid_file` names the core switches" in first
    assert second.startswith("2 leaves have no host")
    runs = answer(monkeypatch, refused, {"engine": "minhop"})
    found = report("ftree", "apart")
    assert not found.passed
    assert (
        failed(found.checks)
        == [("fat tree", "3 tiers, by ftree", "3 tiers, by minhop: Different number of upward port groups")] * 2
    )
    assert not [words for words in found.notes if "root_guid_file" in words]
    runs = answer(monkeypatch, {}, {})
    assert not [words for words in report("ftree", "floor").notes if "root_guid_file" in words]
    assert runs == [False, False]


def test_what_becomes_of_a_chain_of_switches_is_said() -> None:
    """One switch in each tier is no fat tree to OpenSM; routed by ftree, or as a tree, it needs no word."""
    seen = SimpleNamespace(engine="minhop", reason="", rank=0, switches_by_rank=())
    chain = verify_opensm._fat_tree("fabric", seen, (1, 1))  # type: ignore[arg-type]
    assert [(item.found, item.passed) for item in chain] == [("0 tiers, by minhop", None), ("", None)]
    (words,) = verify_opensm._chain_notes(chain)
    assert "falls back to minhop" in words
    tree = verify_opensm._fat_tree("fabric", seen, (1, 2))  # type: ignore[arg-type]
    assert [item.passed for item in tree] == [False, False]
    assert list(verify_opensm._chain_notes(tree)) == []
    seen = SimpleNamespace(engine="ftree", reason="", rank=2, switches_by_rank=(1, 1))
    assert list(verify_opensm._chain_notes(verify_opensm._fat_tree("fabric", seen, (1, 1)))) == []  # type: ignore[arg-type]


def test_a_log_and_a_dump_of_opensm(tmp_path: Path) -> None:
    own = small("single")
    network = own.fabric.network
    inside = subnet(network, 0, 0)
    (tmp_path / "osm.log").write_text(LOG)
    seen = opensm._read(network, own.names, inside, tmp_path)
    assert (seen.version, seen.up, seen.engine, seen.rank, seen.tables) == ("3.3.23", True, "minhop", 0, None)
    assert (seen.hosts, seen.switches, seen.switches_by_rank) == (0, 0, ())
    (tmp_path / "opensm-lfts.dump").write_text(DUMP)
    seen = opensm._read(network, own.names, inside, tmp_path)
    assert (seen.hosts, seen.switches) == (4, 1)  # where the log does not count, those of the dump
    ranks = "-> Fabric has 2 switches at rank 1\n-> Fabric has 1 switches at rank 0\n"
    ranks += "-> FatTree rank (roots to leaf switches): 2\n"
    ranks += "-> Fabric has 14 CAs, 14 CA ports (14 of them CNs), 3 switches\n"
    ranks += "-> fabric_validate_topology: ERR AB0A: Different number of upward switch ports on switches:\n"
    (tmp_path / "osm.log").write_text(LOG.replace("SUBNET UP", "ERR") + ranks)
    seen = opensm._read(network, own.names, inside, tmp_path)
    assert (seen.up, seen.rank, seen.switches_by_rank, seen.hosts, seen.switches) == (False, 2, (1, 2), 14, 3)
    assert seen.reason == "Different number of upward switch ports"


def test_ports_of_a_table_are_counted_from_0() -> None:
    own = small("single")
    network = own.fabric.network
    found = _read_tables(DUMP, network, own.names, subnet(network, 0, 0))
    names = ["/".join(own.names.endpoint(int(end))) for end in found.endpoints]
    told = {name: int(port) for name, port in zip(names, found.port[0], strict=True) if port >= 0}
    assert told == {"compute-1/nic0": 0, "compute-2/nic0": 1, "compute-4/nic4": 12}


def test_what_scontrol_prints() -> None:
    text = (
        "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[1-2]\n\n"
        "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nslurm_load: nothing\n"
    )
    assert _read_topology(text) == {
        "core": (1, frozenset({"n1", "n2", "n3", "n4"}), frozenset({"leaf1", "leaf2"})),
        "leaf1": (0, frozenset({"n1", "n2"}), frozenset()),
    }
    with pytest.raises(_ProgramError, match=r"scontrol printed `SwitchName=a Level=x`"):
        _read_topology("SwitchName=a Level=x\n")


def loaded(own: WiredDesign) -> dict[str, tuple[int, frozenset[str], frozenset[str]]]:
    """Return what Slurm should have loaded; nodes of a switch are all below it."""
    found: dict[str, tuple[int, frozenset[str], frozenset[str]]] = {}
    for line in tree(own.fabric, own.names):
        below = [found[name] for name in line.switches]
        nodes = frozenset(line.nodes).union(*(item[1] for item in below))
        found[line.name] = (1 + max((item[0] for item in below), default=-1), nodes, frozenset(line.switches))
    return found


def test_a_topology_that_slurm_loaded_whole_or_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    own = small("pods")
    view = loaded(own)

    def checks(seen: dict[str, tuple[int, frozenset[str], frozenset[str]]]) -> list[tuple[str, str, str]]:
        monkeypatch.setattr(verify_slurm, "_load", lambda _lines, _limit: _SlurmView("22.05", seen))
        made = verify_slurm.verify_slurm(own.design, own.fabric, own.names, 1.0)
        assert (made.program, made.version) == ("slurm", "22.05")
        assert made.passed == (not failed(made.checks))
        return failed(made.checks)

    assert checks(view) == []
    leaves = [name for name, (_, _, below) in view.items() if not below]
    joined = len(view) - len(leaves)
    gone = {name: item for name, item in view.items() if name != leaves[0]}
    assert checks(gone) == [
        ("switches", f"{len(view)}", f"{len(view) - 1}"),
        ("leaves with the same nodes", f"{len(leaves)}", f"{len(leaves) - 1}"),
    ]
    level, nodes, _ = view[leaves[0]]
    assert checks({**view, leaves[0]: (level, nodes - {min(nodes)}, frozenset())}) == [
        ("leaves with the same nodes", f"{len(leaves)}", f"{len(leaves) - 1}")
    ]
    upper = next(name for name, (_, _, below) in view.items() if below)
    level, nodes, below = view[upper]
    found = checks({**view, upper: (level, nodes, below - {min(below)})})
    assert ("switches with the same below", f"{joined}", f"{joined - 1}") in found


def test_times_of_a_simulator_may_lie_a_little_above_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From 1 % below our time to 15 % above; the hottest link is the same while it has 98 % of the simulated one's."""
    own = small("single")
    router = routing_of(own.fabric)
    ports = np.arange(8)
    pattern = verify_simgrid._Pattern(
        "two", [], [(np.array([0, 1]), np.array([2, 2]), np.array([5e9, 5e9]))]
    )  # 10 GB into a link of 50 GB/s: 0.2 s

    def told(seconds: float, *carried: tuple[int, float]) -> list[tuple[str, str, bool | None]]:
        bytes_of = np.zeros(2 * len(own.fabric.network.links))
        for link, size in carried:
            bytes_of[link] = size
        monkeypatch.setattr(verify_simgrid, "_simulate", lambda *_: _Simulated(seconds, bytes_of))
        made = verify_simgrid._checks(router, ports, pattern, tmp_path, 1.0)
        return [(item.expected, item.found, item.passed) for item in made]

    _, load = verify_simgrid._ours(router, ports, pattern.rounds)
    hot = int(load.argmax())
    assert load[hot] == 10e9
    other = int(np.flatnonzero(load == 0)[0])
    assert told(0.2, (hot, 10e9)) == [("200 ms", "200 ms (+0 %)", True), ("9.313 GiB", "9.313 GiB, the same", None)]
    assert (tmp_path / "rounds").read_text() == "0 0 2 5000000000\n0 1 2 5000000000\n"
    for seconds, passed in ((0.199, True), (0.197, False), (0.229, True), (0.231, False)):
        assert told(seconds, (hot, 10e9))[0][2] is passed
    assert told(0.19, (hot, 10e9))[0][1] == "190 ms (-5 %)"
    assert told(0.2, (hot, 9.85e9), (other, 10e9))[1][1] == "9.313 GiB, the same"
    assert told(0.2, (hot, 9.75e9), (other, 10e9))[1][1] == "9.313 GiB, another"


def test_waiting_ends_with_the_program_or_the_limit(tmp_path: Path) -> None:
    with running([sys.executable, "-c", "import time; time.sleep(9)"], tmp_path, "a.log", {}) as job:
        start = time.monotonic()
        with pytest.raises(_ProgramError, match=r"it is not ready within 0.2 s"):
            _wait_for(lambda: False, job, 0.2, "it is not ready")
        assert 0.2 <= time.monotonic() - start < 5
        _wait_for(lambda: True, job, 0.2, "it is ready")
    with (
        running([sys.executable, "-c", "print('first'); print('last')"], tmp_path, "b.log", {}) as job,
        pytest.raises(_ProgramError, match=r"it is not ready: last$"),
    ):
        _wait_for(lambda: False, job, 30, "it is not ready")


def test_a_folder_with_a_blank_is_none_of_slurm_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blank = tmp_path / "a b"
    blank.mkdir()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(blank))
    assert verify_slurm._plain_folder() == "/tmp"
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match="point TMPDIR to one without blanks"):
        verify_slurm._plain_folder()


def test_the_rate_of_the_tables_is_the_cluster_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that load one uplink have 11 % where our rule has 45 %: the switches carry out the tables."""
    rates = {item.subject: item for item in judged(monkeypatch) if item.check == "rate of the ideal"}
    assert rates["plane 1: all-to-all"].verdict == "OpenSM's, below our rule"
    assert rates["plane 1: all-to-all"].passed is None
    assert (rates["plane 1: ring"].verdict, rates["plane 1: ring"].passed) == (None, True)
    above = verify_opensm._judged("fabric: tree", 0.8, 1.0)
    assert (above.expected, above.found, above.verdict) == ("80 %", "100 %", "OpenSM's, above our rule")
    (note,) = verify_opensm._rate_notes([*rates.values(), above])
    assert "plane 1: all-to-all 11 % in place of 45 %" in note
    assert "fabric: tree 100 % in place of 80 %" in note
    assert list(verify_opensm._rate_notes([rates["plane 1: ring"]])) == []
