"""How OpenSM, Slurm and SimGrid are called, and what is made of their answers, with stand-ins for the programs."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ffplan.base.errors import UsageError
from ffplan.fabric.family import routing_of
from ffplan.fabric.routing.job_loads import all_nodes
from ffplan.interop import opensm, programs, verify_simgrid, verify_slurm
from ffplan.interop.exported import subnet
from ffplan.interop.opensm import _expected_ranks, _roots
from ffplan.interop.programs import _find_program, _ProgramError, _run_program, running
from ffplan.interop.schedulers import _TreeSwitch
from ffplan.interop.verify_opensm import _inside
from ffplan.interop.verify_simgrid import _MESSAGE, _pairs, _ring, _two_level
from tests.unit.interop.test_programs_by_hand import LOG, small

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ffplan.fabric.routing.job_loads import JobNodes


class StandIn:
    """Notes every command with its environment and its files, and answers in a program's place."""

    def __init__(self, answers: dict[str, str], writes: dict[str, str]) -> None:
        self.answers, self.writes = answers, writes
        self.commands: list[list[str]] = []
        self.env: dict[str, str] = {}
        self.files: dict[str, str] = {}

    def run(self, command: list[str], folder: Path, limit_s: float, env: dict[str, str] | None = None) -> str:
        """Stand for `run_program`."""
        assert limit_s == 7.0
        self.commands.append(command)
        self.env |= env or {}
        for name, text in self.writes.items():
            (folder / name).write_text(text)
        self.files |= {item.name: item.read_text() for item in folder.iterdir() if item.is_file()}
        return self.answers.get(command[0], "")

    @contextlib.contextmanager
    def running(self, command: list[str], folder: Path, log: str, env: dict[str, str] | None = None) -> Iterator[Any]:
        """Stand for `running`."""
        self.commands.append(command)
        self.env |= env or {}
        (folder / log).write_bytes(b"simulator ready")
        for name, text in self.writes.items():
            (folder / name).write_text(text)
        yield programs._RunningProgram(folder / log, None)  # type: ignore[arg-type]


def in_place(patch: pytest.MonkeyPatch, module: Any, stand_in: StandIn) -> None:
    """Put a stand-in in the place of a module's programs; what is waited for must be there at once."""

    def wait_for(ready: Any, job: Any, limit_s: float, what: str) -> None:
        assert ready(), (job, limit_s, what)

    for name, item in {
        "_run_program": stand_in.run,
        "running": stand_in.running,
        "_wait_for": wait_for,
        "_find_program": lambda name, _: name,
        "_find_library": lambda name, _: f"/lib/{name}",
    }.items():
        patch.setattr(module, name, item, raising=False)


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


@pytest.mark.parametrize("rooted", [False, True])
def test_a_subnet_is_given_to_ibsim_and_opensm(rooted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plane of `floor`: four leaves and a spine of 24 ports, 44 hosts. GUIDs of switches count from 0x200000."""
    own = small("floor")
    network = own.fabric.network
    inside = subnet(network, 1, None)
    stand_in = StandIn({}, {"osm.log": LOG})
    in_place(monkeypatch, opensm, stand_in)
    seen = opensm._bring_up(network, own.names, inside, ("ftree", 7.0), rooted=rooted)
    assert (seen.version, seen.engine, seen.up) == ("3.3.23", "minhop", True)
    ibsim, command = stand_in.commands
    assert ibsim[:3] == ["stdbuf", "-oL", "ibsim"]
    assert int(option(ibsim, "-N")) >= 49  # devices
    assert int(option(ibsim, "-S")) >= 5
    assert int(option(ibsim, "-P")) >= 5 * (network.radix + 1) + 2 * 44  # with port 0 of each
    assert stand_in.files["net"].count("Hca\t") == 44
    assert stand_in.files["net"].count("Switch\t") == 5
    assert (command[0], option(command, "-R")) == ("opensm", "ftree")
    first = np.flatnonzero(inside[len(network.switches) :])[0]
    assert stand_in.env["SIM_HOST"] == "/".join(own.names.endpoint(int(first)))
    assert stand_in.env["LD_PRELOAD"] == "/lib/libumad2sim.so"
    assert stand_in.env["IBSIM_SOCKNAME"].startswith("ffplan-")
    top = [own.names.switch(int(switch)) for switch in _roots(network, inside)]
    order = [own.names.switch(int(switch)) for switch in np.flatnonzero(inside[: len(network.switches)])]
    assert len(top) == 1
    assert ("-a" in command) == rooted
    if rooted:
        assert option(command, "-a").endswith("/roots")
        assert stand_in.files["roots"] == f"{0x200000 + order.index(top[0]):#x}\n"


def test_tiers_are_counted_from_the_roots() -> None:
    """Pods of 16 leaves, 16 spines and 8 cores; one switch has one tier; switches between zones are none."""
    for name, wanted in (("pods", (8, 16, 16)), ("single", (1,)), ("joined", (4, 8))):
        network = small(name).fabric.network
        assert _expected_ranks(network, np.ones(len(network.switches) + len(network.endpoints), bool)) == wanted


def test_what_slurm_is_given_and_what_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every node has a port of its own from 20001 on; one node has no range."""
    log = "slurmctld version 22.05.8 started\nRunning as primary controller\n"
    shown = "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-3]\n"
    stand_in = StandIn({"scontrol": shown}, {"slurmctld.log": log})
    in_place(monkeypatch, verify_slurm, stand_in)
    found = verify_slurm._load([_TreeSwitch("s1", ("n1", "n2"), ()), _TreeSwitch("s2", ("n3",), ())], 7.0)
    assert found.version == "22.05.8"
    assert found.switches == {"s1": (0, frozenset({"n1", "n2", "n3"}), frozenset())}
    conf = stand_in.files["slurm.conf"]
    assert "NodeName=n[1-3] NodeAddr=127.0.0.1 Port=[20001-20003] CPUs=1" in conf
    assert re.search(r"^SlurmctldPort=[1-9][0-9]{3,4}$", conf, re.MULTILINE)
    assert stand_in.files["topology.conf"] == "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n3\n"
    assert stand_in.env["SLURM_CONF"].endswith("/slurm.conf")
    assert [command[0] for command in stand_in.commands] == ["slurmctld", "scontrol"]
    verify_slurm._load([_TreeSwitch("s1", ("n1",), ())], 7.0)
    assert "Port=20001 CPUs=1" in stand_in.files["slurm.conf"]
    with pytest.raises(UsageError, match="no compute node to show"):
        verify_slurm._load([_TreeSwitch("s1", (), ("s2",))], 7.0)


def test_a_simulation_gives_a_time_and_the_bytes_of_links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = "carried L3 17\nseconds 0.25\ncarried L0 5\ncarried L12x 9\n"
    stand_in = StandIn({"smpirun": said}, {})
    in_place(monkeypatch, verify_simgrid, stand_in)
    found = verify_simgrid._simulate(tmp_path, 6, 4, ["allreduce", "8", "1"], 7.0)
    assert (found.seconds, found.carried.tolist()) == (0.25, [5.0, 0.0, 0.0, 17.0, 0.0, 0.0, 0.0, 0.0])
    (command,) = stand_in.commands
    assert option(command, "-np") == "6"
    assert command[-4:] == ["./traffic", "allreduce", "8", "1"]
    stand_in.answers["smpirun"] = "smpirun: SimGrid 3.35 of 2023"
    assert verify_simgrid._version(7.0) == "3.35"
    stand_in.answers["smpirun"] = "3.35.1"
    assert verify_simgrid._version(7.0) == "3.35.1"
    stand_in.answers["smpirun"] = " odd "
    assert verify_simgrid._version(7.0) == ""
    with pytest.raises(UsageError, match=r"SimGrid printed no time: odd$"):
        verify_simgrid._simulate(tmp_path, 6, 4, [], 7.0)
    own = small("single")
    verify_simgrid._prepare(routing_of(own.fabric), np.array([0, 2, 4]), tmp_path, 7.0)
    assert (tmp_path / "hosts").read_text() == "r0\nr1\nr2\n"
    assert (tmp_path / "platform.xml").read_text().count("<route ") == 6
    assert stand_in.commands[-1][0] == "smpicc"


def test_nodes_of_a_simulation_stand_at_even_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of the 22 nodes of `floor`: the first, the last, and two at thirds; seven patterns of two checks."""
    own = small("floor")
    seen: list[list[int]] = []
    monkeypatch.setattr(verify_simgrid, "_prepare", lambda _router, ranks, _folder, _limit: seen.append(ranks.tolist()))
    monkeypatch.setattr(verify_simgrid, "_version", lambda _: "3.35")
    router = routing_of(own.fabric)

    def simulate(_folder: Path, ranks: int, links: int, what: list[str], limit_s: float) -> verify_simgrid._Simulated:
        assert (ranks, links, limit_s) == (len(seen[-1]), len(own.fabric.network.links), 7.0)
        assert what
        return verify_simgrid._Simulated(1.0, np.ones(2 * links))

    monkeypatch.setattr(verify_simgrid, "_simulate", simulate)
    steps: list[tuple[int, int]] = []
    report = verify_simgrid.verify_simgrid(
        own.design, router, 4, 7.0, lambda done, total, _: steps.append((done, total))
    )
    every = all_nodes(own.design, own.fabric)
    assert seen == [every[[0, 7, 14, 21], 0].tolist()]
    assert steps == [(number, 7) for number in range(7)]
    assert [item.check for item in report.checks] == ["time", "hottest link"] * 7
    assert (report.program, report.version, report.passed) == ("simgrid", "3.35", False)
    assert report.notes[0] == "4 nodes at even steps over all, one rank each on its first NIC."
    verify_simgrid.verify_simgrid(own.design, router, 99, 7.0, lambda *_: None)
    assert seen[-1] == every[:, 0].tolist()


def rounds(leaf: list[int]) -> list[tuple[list[int], list[int], set[float]]]:
    return [(one.tolist(), two.tolist(), set(size.tolist())) for one, two, size in _two_level(np.array(leaf))]


def test_rounds_of_patterns_by_hand() -> None:
    """Ranks below a leaf send all to its first, these go round, and it comes back."""
    whole = float(_MESSAGE)
    assert rounds([5, 5, 9, 9]) == [
        ([1, 3], [0, 2], {whole}),
        ([0, 2], [2, 0], {whole}),  # 2 (2 - 1) / 2 of it
        ([0, 2], [1, 3], {whole}),
    ]
    assert rounds([5, 5]) == [([1], [0], {whole}), ([0], [1], {whole})]
    assert rounds([5, 9]) == [([0, 1], [1, 0], {whole})]
    one, two, size = _ring(np.array([3, 1, 4]), 30.0)
    assert (one.tolist(), two.tolist(), size.tolist()) == ([3, 1, 4], [1, 4, 3], [40.0] * 3)
    assert [part.tolist() for part in _pairs(3)] == [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]


def inside(ports: list[list[int]], member: list[int]) -> list[list[int]] | None:
    job: Any = type("Job", (), {"ports": np.array(ports)})()
    found: JobNodes | None = _inside(job, np.isin(np.arange(10), member))
    return found.ports.tolist() if found is not None else None


def test_the_part_of_a_job_in_a_subnet() -> None:
    """Columns with a port there, and of these the nodes that have all; fewer than two nodes are no job."""
    ports = [[0, 5], [1, 6], [2, 7]]
    assert inside(ports, [0, 1, 2]) == [[0], [1], [2]]
    assert inside(ports, [6, 7, 9]) == [[6], [7]]
    assert inside(ports, [0, 1, 5, 6, 7]) == [[0, 5], [1, 6]]
    assert inside(ports, [1]) is None
    assert inside(ports, [9]) is None


def test_programs_say_why_they_failed(tmp_path: Path) -> None:
    """The last line of what went to standard error, else of the output; programs of root are found too."""
    for code, words in (
        ("import sys; print('out'); print('a', file=sys.stderr); sys.exit('b')", r"exit code 1: b$"),
        ("import sys; print('first'); print('last'); sys.exit(4)", r"exit code 4: last$"),
        ("import sys; sys.exit(5)", r"exit code 5: no message$"),
    ):
        with pytest.raises(_ProgramError, match=words):
            _run_program([sys.executable, "-c", code], tmp_path, 60)
    with pytest.raises(_ProgramError, match=r"`nothing` cannot be started: No such file"):
        _run_program([str(tmp_path / "nothing")], tmp_path, 5)
    with pytest.raises(_ProgramError, match="cannot be started: No such file"), running(["/nothing"], tmp_path, "log"):
        pass
    assert _run_program(["sh", "-c", "cat; pwd; echo $WORD"], tmp_path, 60, {"WORD": "x"}) == f"{tmp_path}\nx\n"
    assert _find_program("sh", "dash").endswith("/sh")


def test_programs_of_root_are_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []

    def which(name: str, path: str) -> str:
        asked.append(path)
        return f"/x/{name}"

    monkeypatch.setattr(shutil, "which", which)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _find_program("opensm", "opensm") == "/x/opensm"
    assert asked == [f"{tmp_path}:/usr/sbin:/sbin"]
