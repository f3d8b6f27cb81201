"""root-port-below-nic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import listed, number
from ffplan.check.rule import Rule
from ffplan.studies.basis.job_layout import node_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find root ports that carry less than the NICs behind them."""
    design = examined.design
    node = node_of(design)
    rates = dict(zip(node.nic_ids, node.nic_gbyte_s, strict=True))
    slow: dict[tuple[float, float], list[str]] = {}
    for port in node.ports:
        if port.pcie_switch and port.gpus:
            continue  # what GPU and NIC exchange stays below the switch
        behind = sum(rates[name] for name in port.nics if name in rates)
        if port.limits is not None and port.limits.one_way.value < behind:
            slow.setdefault((port.limits.one_way.value, behind), []).append(port.devices)
    for (carries, behind), devices in slow.items():
        yield design.document.finding(
            RULE.id,
            ("nodes", design.compute.position, "server"),
            f"the root {'ports' if len(devices) > 1 else 'port'} of {listed(devices)} of `{design.compute.server.id}` "
            f"{'carry' if len(devices) > 1 else 'carries'} {number(carries)} GB/s, the NICs behind "
            f"{'each' if len(devices) > 1 else 'it'} {number(behind)} GB/s",
            "use slower NICs and links, which cost less, or a server with faster root ports",
            severity=Severity.WARNING,
        )


RULE = Rule(
    id="root-port-below-nic",
    title="A root port carries less than the NICs behind it",
    why="The NIC, its port and its cable are paid for and not used.",
    example="nodes: [{server: fire-flyer-2-node, ...}]  # with a 400 Gb/s NIC on a root port of 37.5 GB/s",
    good="nodes: [{server: fire-flyer-2-node, ...}]  # with a 200 Gb/s NIC on a root port of 37.5 GB/s",
    fix="Use slower NICs, or a server with faster root ports.",
    severity=Severity.WARNING,
    check=check,
)
