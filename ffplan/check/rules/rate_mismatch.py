"""rate-mismatch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import listed, number
from ffplan.base.record import record
from ffplan.check.rule import Rule
from ffplan.design.networks import network_design

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined
    from ffplan.design.resolved import ResolvedDesign


@record
class _End:
    """One kind of NIC or link with a rate other than the port's."""

    path: tuple[str | int, ...]
    """Its place in the design."""
    words: str
    """The part, as the subject of a sentence."""
    rate: float
    """Rate of one of its ports, or of one part of a split cable [GB/s]."""
    port: float
    """Rate of the switch port that it meets [GB/s]."""


def _each(count: int, what: str, name: str) -> str:
    return f"each of the {count} {what} of `{name}`" if count > 1 else f"`{name}`"


def _links(design: ResolvedDesign) -> Iterator[_End]:
    breakout, whole = design.spec.fabric.breakout, design.switch.rate.value
    ends = (
        ("endpoint", design.endpoint_link, breakout),
        ("inter_switch", design.inter_switch_link, design.uplink_breakout),
    )
    for field, link, split in ends:
        if getattr(design.spec.fabric.link, field) is not None:
            words = _each(split, "parts", link.id)
            yield _End(("fabric", "link", field), words, link.rate.value / split, whole / split)


def _nics(design: ResolvedDesign) -> Iterator[_End]:
    stripes, port = design.stripes, design.switch.rate.value / design.spec.fabric.breakout
    for group in design.groups:
        for nic in {group.nics[slot].id: group.nics[slot] for slot in group.fabric_nics}.values():
            words = _each(stripes, "ports", nic.id)
            yield _End(("nodes", group.position, "server"), words, nic.rate.value / stripes, port)


def _remedy(design: ResolvedDesign, rate: float) -> str:
    fabric, stripes, port = design.spec.fabric, design.stripes, design.switch.rate.value
    if stripes > 1 and fabric.breakout == 1 and rate * stripes == port:
        return f"set `breakout: {stripes}`, with links of {number(port * 8)} Gb/s"
    return "choose parts of one rate; the slower of the two is what a link carries"


def _finding(design: ResolvedDesign, ends: list[_End]) -> Finding:
    """Return the finding for all parts of one rate: they have one cause."""
    words = {end.words for end in ends}
    subject = f"{listed(end.words for end in ends)} {'run' if len(words) > 1 else 'runs'}"
    rate, port = ends[0].rate, ends[0].port
    return design.document.finding(
        RULE.id,
        ends[0].path,
        f"{subject} at {number(rate * 8)} Gb/s, a port of `{design.switch.id}` at {number(port * 8)} Gb/s",
        _remedy(design, rate),
        severity=Severity.WARNING,
    )


def check(examined: Examined) -> Iterator[Finding]:
    """Find NICs and links whose rate differs from the switch's; one finding for each rate."""
    design = examined.design
    yield from _of(design, (*_links(design), *_nics(design)))
    for network in design.networks:
        seen = network_design(design, network, 1)
        yield from _of(seen, tuple(_links(seen)))


def _of(design: ResolvedDesign, ends: tuple[_End, ...]) -> Iterator[Finding]:
    """Yield a finding for each rate of links and NICs of a fabric that is not its port's."""
    by_rate: dict[tuple[float, float], list[_End]] = {}
    for end in ends:
        if end.rate != end.port:
            by_rate.setdefault((end.rate, end.port), []).append(end)
    for found in by_rate.values():
        yield _finding(design, found)


RULE = Rule(
    id="rate-mismatch",
    title="A NIC or a link runs at another rate than the switch port",
    why="The slower end sets the rate; the faster end is paid for and not used, and some pairs do not link up at all.",
    example="fabric: {switch: qm9700, link: {endpoint: hdr-dac, inter_switch: 400g-dr4}, ...}",
    good="fabric: {switch: qm9700, link: {endpoint: 400g-dr4, inter_switch: 400g-dr4}, ...}",
    fix="Choose parts of one rate.",
    severity=Severity.WARNING,
    check=check,
)
