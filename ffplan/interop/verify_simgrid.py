"""Check a fabric with SimGrid: the same traffic by MPI programs that it simulates, and by our routes."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.errors import UsageError
from ffplan.base.formatting import data_size, duration, percent
from ffplan.base.record import record
from ffplan.fabric.routing.job_loads import JobNodes, all_nodes, flows_of, pick_job
from ffplan.fabric.routing.link_loads import flow_loads, outcome
from ffplan.interop.programs import _find_program, _run_program
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import Check, VerifyReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.base.array_math import Ints
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.routing.routing import Routing
    from ffplan.fabric.wiring.wiring import WiredFabric

_PACKAGE = "libsimgrid-dev"
"""Debian package that has smpicc and smpirun."""
_PROGRAM = Path(__file__).with_name("simgrid_traffic.c")
"""The MPI program whose traffic is simulated."""
_MODEL = (
    "--cfg=smpi/simulate-computation:no",
    "--cfg=network/model:CM02",
    "--cfg=plugin:link_load",
    "--cfg=smpi/allreduce:lr",
    "--cfg=smpi/alltoall:basic_linear",
    "--log=root.thresh:critical",
)
"""A flow-level network with SimGrid's own defaults; the allreduce is a ring, an all-to-all sends all at once."""
_SECONDS = re.compile(r"^seconds ([0-9.]+)$", re.MULTILINE)
_CARRIED = re.compile(r"^carried L([0-9]+) ([0-9]+)$", re.MULTILINE)


@record
class _Simulated:
    seconds: float
    """Time of the slowest rank [s]."""
    carried: Floats
    """Bytes on every directed link, shape (2 * links,)."""


def _platform(router: Routing, ranks: Ints) -> Iterator[str]:
    """Yield the platform of some endpoints: a host each, the directed links on their paths, and a route for every pair.

    Links have the rate of the design and no latency, so that only bandwidth counts.
    """
    src, dst = (column.ravel() for column in np.meshgrid(ranks, ranks, indexing="ij"))
    apart = src != dst
    paths = router.paths(src[apart], dst[apart]).links
    used = np.unique(paths[paths >= 0])
    rate = router.fabric.network.links.gbyte_s
    yield '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
    yield '<platform version="4.1">\n<zone id="fabric" routing="Full">\n'
    for rank in range(len(ranks)):
        yield f'<host id="r{rank}" speed="1Tf"/>\n'
    for link in used.tolist():
        yield f'<link id="L{link}" bandwidth="{float(rate[link // 2]):.9g}GBps" latency="0s"/>\n'
    count = len(ranks)
    rows = iter(paths.tolist())
    for source in range(count):
        for target in range(count):
            if source != target:
                ends = "".join(f'<link_ctn id="L{link}"/>' for link in next(rows) if link >= 0)
                yield f'<route src="r{source}" dst="r{target}" symmetrical="NO">{ends}</route>\n'
    yield "</zone>\n</platform>\n"


def _version(limit_s: float) -> str:
    text = _run_program([_find_program("smpirun", _PACKAGE), "-version"], Path.cwd(), limit_s)
    match = re.search(r"[0-9]+\.[0-9]+(\.[0-9]+)?", text)
    return match[0] if match else ""


def _prepare(router: Routing, ranks: Ints, folder: Path, limit_s: float) -> None:
    _find_program("cc", "gcc")
    (folder / "platform.xml").write_text("".join(_platform(router, ranks)))
    (folder / "hosts").write_text("".join(f"r{rank}\n" for rank in range(len(ranks))))
    _run_program([_find_program("smpicc", _PACKAGE), "-O2", str(_PROGRAM), "-o", "traffic"], folder, limit_s)


def _simulate(folder: Path, ranks: int, links: int, what: list[str], limit_s: float) -> _Simulated:
    where = ["-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts"]
    command = [_find_program("smpirun", _PACKAGE), *where, *_MODEL, "./traffic", *what]
    text = _run_program(command, folder, limit_s)
    match = _SECONDS.search(text)
    if match is None:
        raise UsageError(f"ffplan fabric verify: SimGrid printed no time: {text.strip()[:200]}")
    carried = np.zeros(2 * links)
    for link, nbytes in _CARRIED.findall(text):
        carried[int(link)] = float(nbytes)
    return _Simulated(float(match[1]), carried)


NODES = 32
"""Nodes of the job, one rank each, unless more are asked for."""
_MESSAGE = 256 * 2**20
"""Bytes of a collective [byte]."""
_SLOWER, _FASTER = 0.15, 0.01
"""Largest differences above and below, as parts of our time [1]; SimGrid gives 5 % of a link to
acknowledgements, and stages of a ring wait for each other."""
_EQUAL = 0.02
"""Largest difference in load between equally hot links, as a part [1]: acknowledgements of short messages."""
_NOTES = (
    "Both are flow-level models on the same links and routes: neither has congestion control, pauses or lost packets.",
    "SimGrid runs with its defaults: a flow takes 5 % of its rate on the way back, for acknowledgements.",
)

_Rounds = list[tuple["Ints", "Ints", "Floats"]]
"""Sender, receiver and bytes of the messages of every round, ranks from 0."""


@record
class _Pattern:
    name: str
    arguments: list[str]
    """Task of the MPI program; empty if it follows the rounds."""
    rounds: _Rounds


def _pairs(count: int) -> tuple[Ints, Ints]:
    src, dst = np.divmod(np.arange(count * count), count)
    return src[src != dst], dst[src != dst]


def _ring(ranks: Ints, nbytes: float) -> tuple[Ints, Ints, Floats]:
    """Return the traffic of a ring allreduce: each rank sends 2 (p - 1) / p of the message to the next."""
    count = len(ranks)
    return ranks, np.roll(ranks, -1), np.full(count, 2 * (count - 1) / count * nbytes)


def _two_level(leaf: Ints) -> _Rounds:
    """Return the rounds of an allreduce by leaves: all to the first of their leaf, a ring of those, and back."""
    ranks = np.arange(len(leaf))
    _, first, inverse = np.unique(leaf, return_index=True, return_inverse=True)
    head = first[inverse.ravel()]
    below = ranks[ranks != head]
    whole = np.full(len(below), float(_MESSAGE))
    rounds: _Rounds = [(below, head[below], whole)] if len(below) else []
    if len(first) > 1:
        rounds.append(_ring(np.sort(first), _MESSAGE))
    return [*rounds, (head[below], below, whole)] if len(below) else rounds


def _patterns(design: ResolvedDesign, fabric: WiredFabric, ports: Ints) -> Iterator[_Pattern]:
    count, ranks = len(ports), np.arange(len(ports))
    floats = str(_MESSAGE // 4)  # the program counts floats
    yield _Pattern("ring allreduce", ["allreduce", floats, "1"], [_ring(ranks, _MESSAGE)])
    src, dst = _pairs(count)
    nbytes = _MESSAGE // count
    yield _Pattern("all-to-all", ["alltoall", str(nbytes)], [(src, dst, np.full(len(src), float(nbytes)))])
    halves = [_ring(ranks[start::2], _MESSAGE) for start in (0, 1)]
    both = tuple(np.concatenate(column) for column in zip(*halves, strict=True))
    yield _Pattern("two jobs, ranks in turn", ["allreduce", floats, "2"], [(both[0], both[1], both[2])])
    job = JobNodes(ports[:, None], fabric.network.endpoints.zone[ports])
    place = {port: rank for rank, port in enumerate(ports.tolist())}
    for kind in ("tree", "permutation"):
        flows = flows_of(design, fabric, job, kind, float(_MESSAGE), 0)
        ends = [np.array([place[port] for port in column.tolist()]) for column in (flows.src, flows.dst)]
        yield _Pattern(kind, [], [(ends[0], ends[1], np.floor(flows.nbytes))])
    yield _Pattern(
        "incast to one", [], [(ranks[1:], np.zeros(count - 1, np.int64), np.full(count - 1, _MESSAGE / 8.0))]
    )
    yield _Pattern("two-level allreduce", [], _two_level(fabric.network.endpoints.leaf[ports]))


def _ours(router: Routing, ports: Ints, rounds: _Rounds) -> tuple[float, Floats]:
    """Return our time of rounds one after the other [s], and the bytes on every directed link."""
    total, load = 0.0, np.zeros(2 * len(router.fabric.network.links))
    for src, dst, nbytes in rounds:
        carried, lost = flow_loads(router, ports[src], ports[dst], nbytes)
        assert not lost
        total += outcome(router.fabric.network, carried).time_s
        load += carried
    return total, load


def _checks(router: Routing, ports: Ints, pattern: _Pattern, folder: Path, limit_s: float) -> Iterator[Check]:
    network = router.fabric.network
    arguments = pattern.arguments
    if not arguments:
        rows = [
            f"{number} {src} {dst} {int(size)}\n"
            for number, part in enumerate(pattern.rounds)
            for src, dst, size in zip(*(column.tolist() for column in part), strict=True)
        ]
        (folder / "rounds").write_text("".join(rows))
        arguments = ["rounds", "rounds"]
    seen = _simulate(folder, len(ports), len(network.links), arguments, limit_s)
    ours, load = _ours(router, ports, pattern.rounds)
    agrees = -_FASTER <= seen.seconds / ours - 1 <= _SLOWER
    off = percent(seen.seconds / ours - 1)
    result = f"{duration(seen.seconds)} ({'+' if seen.seconds >= ours else ''}{off})"
    yield Check(subject=pattern.name, check="time", expected=duration(ours), found=result, passed=agrees)
    hot, theirs = int(load.argmax()), int(seen.carried.argmax())
    same = bool(seen.carried[hot] >= (1 - _EQUAL) * seen.carried[theirs])
    yield Check(
        subject=pattern.name,
        check="hottest link",
        expected=data_size(float(load[hot])),
        found=f"{data_size(float(seen.carried[theirs]))}, {'the same' if same else 'another'}",
        passed=None,
    )


def verify_simgrid(
    design: ResolvedDesign, router: Routing, nodes: int, limit_s: float, step: Callable[[int, int, str], None]
) -> VerifyReport:
    """Simulate the traffic of a job over nodes of the whole fabric, and compare times and the hottest link.

    Args:
        nodes: nodes of the job, taken at even steps over all; one rank each, on the first NIC [1].
        limit_s: time limit of each program [s].
        step: callback for progress, called with (done, total, what).

    Raises:
        UsageError: where a program is missing, fails or takes too long.
        StudyError: with fewer than two nodes.
    """
    fabric = router.fabric
    pick_job(design, fabric, None, "aligned", 0)
    every = all_nodes(design, fabric)
    rows = np.unique(np.linspace(0, len(every) - 1, min(nodes, len(every))).astype(np.int64))
    ports = every[rows, 0]
    checks: list[Check] = []
    if not router.paths(ports[:-1], ports[1:]).reached.all():
        raise UsageError("ffplan fabric verify: some of these nodes cannot reach each other over their first NIC")
    with tempfile.TemporaryDirectory(prefix="ffplan-simgrid-") as scratch:
        folder = Path(scratch)
        _prepare(router, ports, folder, limit_s)
        patterns = list(_patterns(design, fabric, ports))
        for number, pattern in enumerate(patterns):
            step(number, len(patterns), pattern.name)
            checks += _checks(router, ports, pattern, folder, limit_s)
    return VerifyReport(
        schema_version=SCHEMA_VERSION,
        design=design.spec.name,
        program="simgrid",
        version=_version(limit_s),
        passed=all(check.passed is not False for check in checks),
        checks=tuple(checks),
        notes=(f"{len(ports)} nodes at even steps over all, one rank each on its first NIC.", *_NOTES),
    )
