"""rate-mismatch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import number
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.design import DesignStudy


def _finding(design: ResolvedDesign, path: tuple[str | int, ...], name: str, rate: float) -> Finding:
    port = design.switch.rate.value
    return design.document.finding(
        RULE.id,
        path,
        f"`{name}` runs at {number(rate * 8)} Gb/s, a port of `{design.switch.id}` at {number(port * 8)} Gb/s",
        "choose parts of one rate; the slower of the two is what a link carries",
        severity=Severity.WARNING,
    )


def _nic_finding(design: ResolvedDesign, position: int, name: str, rate: float) -> Finding:
    """Return the finding for a NIC, whose ports and the switch's may be split."""
    fabric, stripes = design.spec.fabric, design.stripes
    each = f"each of the {stripes} ports of `{name}`" if stripes > 1 else f"`{name}`"
    port = design.switch.rate.value / fabric.breakout
    return design.document.finding(
        RULE.id,
        ("nodes", position, "server"),
        f"{each} runs at {number(rate / stripes * 8)} Gb/s, a port of `{design.switch.id}` at {number(port * 8)} Gb/s",
        f"set `breakout: {stripes}`"
        if stripes > 1 and fabric.breakout == 1
        else "choose parts of one rate; the slower of the two is what a link carries",
        severity=Severity.WARNING,
    )


def check(study: DesignStudy) -> Iterator[Finding]:
    """Find NICs and links whose rate differs from the switch's."""
    design = study.design
    port = design.switch.rate.value
    for field, link in (
        ("endpoint", design.endpoint_link),
        ("inter_switch", design.inter_switch_link),
    ):
        if link.rate.value != port and getattr(design.spec.fabric.link, field) is not None:
            yield _finding(design, ("fabric", "link", field), link.id, link.rate.value)
    for group in design.groups:
        nic_rate = port / design.spec.fabric.breakout * design.stripes
        odd = {group.nics[i].id: group.nics[i].rate.value for i in group.fabric_nics}
        for name, rate in odd.items():
            if rate != nic_rate:
                yield _nic_finding(design, group.position, name, rate)


RULE = Rule(
    id="rate-mismatch",
    title="A NIC or a link runs at another rate than the switch port",
    why="The slower end sets the rate; the faster end is paid for and not used, and some pairs do not link up at all.",
    example="fabric: {switch: qm9700, link: {endpoint: hdr-dac, inter_switch: 400g-dr4}, ...}",
    fix="Choose parts of one rate.",
    severity=Severity.WARNING,
    check=check,
)
