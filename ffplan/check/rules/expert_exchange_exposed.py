"""expert-exchange-exposed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import percent, plural
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


LARGEST = 0.25
"""Fraction of a step above which the exchange between experts is exposed."""


def check(examined: Examined) -> Iterator[Finding]:
    """Find workloads whose exchange between experts takes much of a step."""
    timed = examined.timed
    if timed is None:
        return
    row = timed.rows[0]
    share = next((part.share for part in row.parts if part.name == "experts"), 0.0)
    if share > LARGEST:
        design, group = examined.design, examined.design.compute
        nics = f"{plural(group.accelerators_per_node, 'accelerator')} share {plural(len(group.fabric_nics), 'NIC')}"
        yield design.document.finding(
            RULE.id,
            ("workload", "model"),
            f"{percent(share)} of a step of `{timed.model}` is its exchange between experts; in a node, {nics}",
            "give each accelerator more of a NIC, or a larger scale-up domain, or keep experts in the node",
            severity=Severity.WARNING,
        )


RULE = Rule(
    id="expert-exchange-exposed",
    title="The exchange between experts takes much of a step",
    why="Expert parallelism sends every token over the fabric twice a layer; accelerators that share a NIC wait.",
    example="nodes: [{server: fire-flyer-2-node, ...}]  # 8 GPUs, 1 NIC\nworkload: {model: deepseek-v3}",
    good="nodes: [{server: fire-flyer-2-node, ...}]\nworkload: {model: llama3-8b}  # dense",
    fix="More NIC bandwidth for each accelerator, a larger scale-up domain, or a dense model.",
    severity=Severity.WARNING,
    check=check,
)
