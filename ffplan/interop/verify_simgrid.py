"""Checks of a fabric by SimGrid: the same traffic by real MPI programs, simulated, and by our routes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import UsageError
from ffplan.base.formatting import data_size, duration, percent
from ffplan.base.record import record
from ffplan.fabric.routing.job_loads import JobNodes, all_nodes, flows_of, pick_job
from ffplan.fabric.routing.link_loads import flow_loads, outcome
from ffplan.interop import simgrid
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import Check, VerifyReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.base.array_math import Floats, Ints
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.routing.routing import Routing
    from ffplan.fabric.wiring.wiring import WiredFabric

NODES = 32
"""Nodes of the job, one rank each, unless more are asked for."""
MESSAGE = 256 * 2**20
"""Bytes of a collective [byte]."""
SLOWER, FASTER = 0.15, 0.01
"""Largest part by which the simulated time may be above and below ours [1]; SimGrid gives 5 % of a link to
acknowledgements, and stages of a ring wait for each other."""
EQUAL = 0.02
"""Part by which links may differ and still be as hot [1]: acknowledgements of short messages."""
NOTES = (
    "Both are flow-level models on the same links and routes: neither has congestion control, pauses or lost packets.",
    "SimGrid runs with its defaults: a flow takes 5 % of its rate on the way back, for acknowledgements.",
)

Rounds = list[tuple["Ints", "Ints", "Floats"]]
"""Sender, receiver and bytes of the messages of every round, ranks from 0."""


@record
class Pattern:
    """Traffic that both sides run."""

    name: str
    arguments: list[str]
    """What the MPI program does; empty where it follows the rounds."""
    rounds: Rounds


def _pairs(count: int) -> tuple[Ints, Ints]:
    one, two = np.divmod(np.arange(count * count), count)
    return one[one != two], two[one != two]


def _ring(ranks: Ints, nbytes: float) -> tuple[Ints, Ints, Floats]:
    """Return what a ring allreduce sends over its whole time: 2 (p - 1) / p of the message to the next rank."""
    count = len(ranks)
    return ranks, np.roll(ranks, -1), np.full(count, 2 * (count - 1) / count * nbytes)


def _two_level(leaf: Ints) -> Rounds:
    """Return the rounds of an allreduce by leaves: all to the first of their leaf, a ring of those, and back."""
    ranks = np.arange(len(leaf))
    _, first, at = np.unique(leaf, return_index=True, return_inverse=True)
    head = first[at.ravel()]
    below = ranks[ranks != head]
    whole = np.full(len(below), float(MESSAGE))
    rounds: Rounds = [(below, head[below], whole)] if len(below) else []
    if len(first) > 1:
        rounds.append(_ring(np.sort(first), MESSAGE))
    return [*rounds, (head[below], below, whole)] if len(below) else rounds


def patterns(design: ResolvedDesign, fabric: WiredFabric, ports: Ints) -> Iterator[Pattern]:
    """Yield the traffic of a job.

    Args:
        design: the design.
        fabric: its fabric.
        ports: endpoints by rank, shape (ranks,).
    """
    count, ranks = len(ports), np.arange(len(ports))
    words = str(MESSAGE // 4)
    yield Pattern("ring allreduce", ["allreduce", words, "1"], [_ring(ranks, MESSAGE)])
    one, two = _pairs(count)
    each = MESSAGE // count
    yield Pattern("all-to-all", ["alltoall", str(each)], [(one, two, np.full(len(one), float(each)))])
    halves = [_ring(ranks[start::2], MESSAGE) for start in (0, 1)]
    both = tuple(np.concatenate(column) for column in zip(*halves, strict=True))
    yield Pattern("two jobs, ranks in turn", ["allreduce", words, "2"], [(both[0], both[1], both[2])])
    job = JobNodes(ports[:, None], fabric.network.endpoints.zone[ports])
    place = {port: rank for rank, port in enumerate(ports.tolist())}
    for kind in ("tree", "permutation"):
        flows = flows_of(design, fabric, job, kind, float(MESSAGE), 0)
        ends = [np.array([place[port] for port in column.tolist()]) for column in (flows.src, flows.dst)]
        yield Pattern(kind, [], [(ends[0], ends[1], np.floor(flows.nbytes))])
    yield Pattern("incast to one", [], [(ranks[1:], np.zeros(count - 1, np.int64), np.full(count - 1, MESSAGE / 8.0))])
    yield Pattern("two-level allreduce", [], _two_level(fabric.network.endpoints.leaf[ports]))


def _ours(router: Routing, ports: Ints, rounds: Rounds) -> tuple[float, Floats]:
    """Return our time of rounds one after the other [s], and the bytes on every directed link."""
    total, load = 0.0, np.zeros(2 * len(router.fabric.network.links))
    for one, two, nbytes in rounds:
        own, lost = flow_loads(router, ports[one], ports[two], nbytes)
        assert not lost
        total += outcome(router.fabric.network, own).time_s
        load += own
    return total, load


def _checks(router: Routing, ports: Ints, pattern: Pattern, folder: Path, limit_s: float) -> Iterator[Check]:
    network = router.fabric.network
    arguments = pattern.arguments
    if not arguments:
        rows = [
            f"{number} {one} {two} {int(size)}\n"
            for number, part in enumerate(pattern.rounds)
            for one, two, size in zip(*(column.tolist() for column in part), strict=True)
        ]
        (folder / "rounds").write_text("".join(rows))
        arguments = ["rounds", "rounds"]
    seen = simgrid.simulate(folder, len(ports), len(network.links), arguments, limit_s)
    ours, load = _ours(router, ports, pattern.rounds)
    agrees = -FASTER <= seen.seconds / ours - 1 <= SLOWER
    off = percent(seen.seconds / ours - 1)
    found = f"{duration(seen.seconds)} ({'+' if seen.seconds >= ours else ''}{off})"
    yield Check(subject=pattern.name, check="time", expected=duration(ours), found=found, passed=agrees)
    hot, theirs = int(load.argmax()), int(seen.carried.argmax())
    same = bool(seen.carried[hot] >= (1 - EQUAL) * seen.carried[theirs])
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
        design: the design.
        router: routes flows over its fabric.
        nodes: nodes of the job, taken at even steps over all; one rank each, on the first NIC [1].
        limit_s: time limit of each program [s].
        step: callback for progress, called with (done, total, what).

    Raises:
        UsageError: where a program is missing, fails or takes too long.
        StudyError: where there are fewer than two nodes.
    """
    fabric = router.fabric
    pick_job(design, fabric, None, "aligned", 0)
    every = all_nodes(design, fabric)
    rows = np.unique(np.linspace(0, len(every) - 1, min(nodes, len(every))).astype(np.int64))
    ports = every[rows, 0]
    checks: list[Check] = []
    if not router.paths(ports[:-1], ports[1:]).reached.all():
        raise UsageError("ffplan verify: some of these nodes cannot reach each other over their first NIC")
    with tempfile.TemporaryDirectory(prefix="ffplan-simgrid-") as scratch:
        folder = Path(scratch)
        simgrid.prepare(router, ports, folder, limit_s)
        made = list(patterns(design, fabric, ports))
        for number, pattern in enumerate(made):
            step(number, len(made), pattern.name)
            checks += _checks(router, ports, pattern, folder, limit_s)
    return VerifyReport(
        schema_version=SCHEMA_VERSION,
        design=design.spec.name,
        program="simgrid",
        version=simgrid.version(limit_s),
        passed=all(item.passed is not False for item in checks),
        checks=tuple(checks),
        notes=(f"{len(ports)} nodes at even steps over all, one rank each on its first NIC.", *NOTES),
    )
