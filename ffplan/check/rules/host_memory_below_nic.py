"""host-memory-below-nic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import number
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find libraries that reduce in host memory, where memory allows long messages less than the NICs do."""
    design = examined.design
    for report in examined.assessment.communication:
        found: dict[str, float] = {}
        for term in report.bound.terms:
            found.setdefault(term.name, term.gbyte_s)  # the tightest comes first
        memory, nic = found.get("host_memory"), found.get("nic")
        if memory is None or nic is None or memory >= nic:
            continue
        yield design.document.finding(
            RULE.id,
            ("nodes", design.compute.position, "server"),
            f"host memory of `{design.compute.server.id}` lets `{report.library}` reduce {number(memory)} GB/s, "
            f"the NICs {number(nic)} GB/s",
            "use more or faster memory channels, a library that leaves host memory alone, or slower NICs, which cost "
            "less",
            severity=Severity.WARNING,
        )


RULE = Rule(
    id="host-memory-below-nic",
    title="Host memory reduces less than the NICs carry",
    why="A library that reduces in host memory passes each byte through it many times, 24 in HFReduce on eight GPUs; "
    "what the NICs could carry beyond it is paid for and not used.",
    example="nodes: [{server: fire-flyer-2-node, ...}]  # with half of its memory channels populated",
    good="nodes: [{server: fire-flyer-2-node, ...}]  # with all of its memory channels populated",
    fix="Use more or faster memory channels, a library that leaves host memory alone, or slower NICs.",
    severity=Severity.WARNING,
    check=check,
)
