"""SimGrid on a fabric: the platform with our routes, real MPI programs on it, and what its links carried."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.errors import UsageError
from ffplan.base.record import record
from ffplan.interop.programs import find_program, run_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Ints
    from ffplan.fabric.routing.routing import Routing

PACKAGE = "libsimgrid-dev"
"""Debian package that has smpicc and smpirun."""
PROGRAM = Path(__file__).with_name("simgrid_traffic.c")
"""The MPI program whose traffic is simulated."""
MODEL = (
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
class Simulated:
    """What a simulation gave."""

    seconds: float
    """Time of the slowest rank [s]."""
    carried: Floats
    """Bytes on every directed link, shape (2 * links,)."""


def platform(router: Routing, ranks: Ints) -> Iterator[str]:
    """Yield the platform of some endpoints: a host each, the directed links on their paths, and a route for every pair.

    Links have the rate of the design and no latency, so that only bandwidth counts.

    Args:
        router: routes the flows.
        ranks: endpoints by rank, shape (ranks,).
    """
    one, two = (column.ravel() for column in np.meshgrid(ranks, ranks, indexing="ij"))
    apart = one != two
    paths = router.paths(one[apart], two[apart]).links
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


def version(limit_s: float) -> str:
    """Return the version of SimGrid.

    Raises:
        UsageError: where it is missing.
    """
    text = run_program([find_program("smpirun", PACKAGE), "-version"], Path.cwd(), limit_s)
    found = re.search(r"[0-9]+\.[0-9]+(\.[0-9]+)?", text)
    return found[0] if found else ""


def prepare(router: Routing, ranks: Ints, folder: Path, limit_s: float) -> None:
    """Write the platform of some endpoints to a folder, and build the program there.

    Raises:
        UsageError: where a program is missing, fails or takes too long.
    """
    find_program("cc", "gcc")
    (folder / "platform.xml").write_text("".join(platform(router, ranks)))
    (folder / "hosts").write_text("".join(f"r{rank}\n" for rank in range(len(ranks))))
    run_program([find_program("smpicc", PACKAGE), "-O2", str(PROGRAM), "-o", "traffic"], folder, limit_s)


def simulate(folder: Path, ranks: int, links: int, what: list[str], limit_s: float) -> Simulated:
    """Run the program on a prepared platform.

    Args:
        folder: the folder.
        ranks: ranks [1].
        links: links of the fabric [1].
        what: arguments of the program.
        limit_s: time limit [s].

    Raises:
        UsageError: where it fails, takes too long, or prints no time.
    """
    where = ["-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts"]
    command = [find_program("smpirun", PACKAGE), *where, *MODEL, "./traffic", *what]
    text = run_program(command, folder, limit_s)
    found = _SECONDS.search(text)
    if found is None:
        raise UsageError(f"ffplan verify: SimGrid printed no time: {text.strip()[:200]}")
    carried = np.zeros(2 * links)
    for link, nbytes in _CARRIED.findall(text):
        carried[int(link)] = float(nbytes)
    return Simulated(float(found[1]), carried)
