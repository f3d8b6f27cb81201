"""Rules on rates that meet: host memory, root ports, NICs, links and switch ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import listed, number
from ffplan.base.record import record
from ffplan.check.rule import Breach, rule
from ffplan.design.networks import network_design
from ffplan.studies.basis.job_layout import node_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.check.rule import Examined
    from ffplan.design.resolved import ResolvedDesign


@rule(
    "host-memory-below-nic",
    title="Host memory reduces less than the NICs carry",
    why="A library that reduces in host memory passes each byte through it many times, 24 in HFReduce on eight GPUs; "
    "NIC bandwidth beyond that is paid for and not used.",
    example="nodes: [{server: fire-flyer-2-node, ...}]  # with half of its memory channels populated",
    good="nodes: [{server: fire-flyer-2-node, ...}]  # with all of its memory channels populated",
    fix="Use more or faster memory channels, a library that leaves host memory alone, or slower NICs.",
    severity=Severity.WARNING,
)
def _host_memory_below_nic(examined: Examined) -> Iterator[Breach]:
    design = examined.design
    for report in examined.assessment.communication:
        rates: dict[str, float] = {}
        for term in report.bound.terms:
            rates.setdefault(term.name, term.gbyte_s)  # the tightest comes first
        memory, nic = rates.get("host_memory"), rates.get("nic")
        if memory is None or nic is None or memory >= nic:
            continue
        yield Breach(
            path=("nodes", design.compute.position, "server"),
            message=f"host memory of `{design.compute.server.id}` lets `{report.library}` reduce {number(memory)} "
            f"GB/s, the NICs {number(nic)} GB/s",
            remedy="use more or faster memory channels, a library that leaves host memory alone, or slower NICs, which "
            "cost less",
        )


@record
class _End:
    path: tuple[str | int, ...]
    """Its place in the design."""
    label: str
    """The part, as the subject of a sentence."""
    rate: float
    """Rate of a port, or of one leg of a split cable [GB/s]."""
    port: float
    """Rate of the switch port that it meets [GB/s]."""


def _each(count: int, what: str, name: str) -> str:
    return f"each of the {count} {what} of `{name}`" if count > 1 else f"`{name}`"


def _links(design: ResolvedDesign) -> Iterator[_End]:
    breakout, whole = design.spec.fabric.breakout, design.parts.switch.rate.value
    ends = (
        ("endpoint", design.parts.endpoint_link, breakout),
        ("inter_switch", design.parts.inter_switch_link, design.uplink_breakout),
    )
    for field, link, split in ends:
        if getattr(design.spec.fabric.link, field) is not None:
            label = _each(split, "parts", link.id)
            yield _End(("fabric", "link", field), label, link.rate.value / split, whole / split)


def _nics(design: ResolvedDesign) -> Iterator[_End]:
    stripes, port = design.stripes, design.parts.switch.rate.value / design.spec.fabric.breakout
    for group in design.groups:
        for nic in {group.nics[slot].id: group.nics[slot] for slot in group.fabric_nics}.values():
            label = _each(stripes, "ports", nic.id)
            yield _End(("nodes", group.position, "server"), label, nic.rate.value / stripes, port)


def _mismatch_remedy(design: ResolvedDesign, rate: float) -> str:
    fabric, stripes, port = design.spec.fabric, design.stripes, design.parts.switch.rate.value
    if stripes > 1 and fabric.breakout == 1 and rate * stripes == port:
        return f"set `breakout: {stripes}`, with links of {number(port * 8)} Gb/s"
    return "choose parts of one rate; a link runs at the slower one"


def _mismatches(design: ResolvedDesign, ends: Iterable[_End]) -> Iterator[Breach]:
    """Yield one breach for each rate of links and NICs that differs from their port's: equal rates share a cause."""
    by_rate: dict[tuple[float, float], list[_End]] = {}
    for end in ends:
        if end.rate != end.port:
            by_rate.setdefault((end.rate, end.port), []).append(end)
    for (rate, port), group in by_rate.items():
        verb = "run" if len({end.label for end in group}) > 1 else "runs"
        yield Breach(
            path=group[0].path,
            message=f"{listed(end.label for end in group)} {verb} at {number(rate * 8)} Gb/s, a port of "
            f"`{design.parts.switch.id}` at {number(port * 8)} Gb/s",
            remedy=_mismatch_remedy(design, rate),
        )


@rule(
    "rate-mismatch",
    title="A NIC or a link runs at another rate than the switch port",
    why="The slower end sets the rate; the faster end is paid for and not used, and some pairs do not link up at all.",
    example="fabric: {switch: qm9700, link: {endpoint: hdr-dac, inter_switch: 400g-dr4}, ...}",
    good="fabric: {switch: qm9700, link: {endpoint: 400g-dr4, inter_switch: 400g-dr4}, ...}",
    fix="Choose parts of one rate.",
    severity=Severity.WARNING,
)
def _rate_mismatch(examined: Examined) -> Iterator[Breach]:
    """Find NICs and links whose rate differs from the switch's; one finding for each rate."""
    design = examined.design
    yield from _mismatches(design, (*_links(design), *_nics(design)))
    for network in design.networks:
        side = network_design(design, network, 1)
        yield from _mismatches(side, _links(side))


@rule(
    "root-port-below-nic",
    title="A root port carries less than the NICs behind it",
    why="The NIC, its port and its cable are paid for and not used.",
    example="nodes: [{server: fire-flyer-2-node, ...}]  # with a 400 Gb/s NIC on a root port of 37.5 GB/s",
    good="nodes: [{server: fire-flyer-2-node, ...}]  # with a 200 Gb/s NIC on a root port of 37.5 GB/s",
    fix="Use slower NICs, or a server with faster root ports.",
    severity=Severity.WARNING,
)
def _root_port_below_nic(examined: Examined) -> Iterator[Breach]:
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
    for (rate, behind), devices in slow.items():
        ports, carry, each = ("ports", "carry", "each") if len(devices) > 1 else ("port", "carries", "it")
        yield Breach(
            path=("nodes", design.compute.position, "server"),
            message=f"the root {ports} of {listed(devices)} of `{design.compute.server.id}` {carry} {number(rate)} "
            f"GB/s, the NICs behind {each} {number(behind)} GB/s",
            remedy="use slower NICs and links, which cost less, or a server with faster root ports",
        )
