"""The solver: a ledger over resources in, the rate and every term out.

A ledger is a list of lines, each a step of an algorithm with how often one byte of message passes through a resource in
each direction. It serves any algorithm on any server: rate = min over resources of capacity / use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import Number, maximum, minimum
from ffplan.base.outcomes import Term
from ffplan.base.record import record
from ffplan.collectives.volumes import Bound, bound, rate, ring_factor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.node.host import Host, Port
    from ffplan.node.resources import Resource

LEAST_USE = 1e-12
"""Use per byte below which a resource does not count [1]; keeps divisions finite."""
Key = tuple[str, str]
FULL = 2.0
"""Sum of both directions over one direction, of a full-duplex link [1]."""


@record
class Line:
    """One line of a ledger."""

    step: str
    """Name of the step."""
    resource: Key
    """Kind and id of the resource."""
    inward: Number
    """Bytes in per byte of message: received by a NIC or GPU, written to memory, towards the CPU at a root port [1]."""
    outward: Number
    """Bytes out per byte of message [1]."""


def _port_rate(one_way: Number, both_way_share: Number, inward: Number, outward: Number) -> Number:
    """Return the message rate under a resource's one-way and both-way capacity.

    Args:
        one_way: capacity in one direction [GB/s].
        both_way_share: sum of both directions as a fraction of `one_way` [1].
        inward: bytes in per byte of message [1].
        outward: bytes out per byte of message [1].

    Returns:
        Algorithm bandwidth [GB/s].

    Equation:
        B = min(one_way / max(in, out), one_way * (1 + (share - 1) * balance) / (in + out)),
        balance = 2 min(in, out) / (in + out)

    Source:
        An et al., arXiv 2408.14158, section IV-D3: 37.5 GB/s one way, less with both directions active; two
        GPUs that each send and receive the message once give 37.5 x 0.864 / 4 = 8.1 GB/s. Known are one way alone
        and both ways alike; in between the budget is taken as linear in the balance.
    """
    both = maximum(inward + outward, LEAST_USE)
    balance = 2 * minimum(inward, outward) / both
    return minimum(
        rate(one_way, maximum(inward, outward, LEAST_USE)),
        rate(one_way * (1 + (both_way_share - 1) * balance), both),
    )


def totals(lines: Iterable[Line]) -> dict[Key, tuple[Number, Number]]:
    """Return the use of each resource: the sum over its lines, in and out."""
    uses: dict[Key, tuple[Number, Number]] = {}
    sums: dict[tuple[int, ...], tuple[Any, ...]] = {}
    for line in lines:
        before, new = uses.get(line.resource), (line.inward, line.outward)
        if before is None:
            uses[line.resource] = new
            continue
        mark = (id(before[0]), id(before[1]), id(new[0]), id(new[1]))  # alike resources share one sum
        if mark not in sums:
            sums[mark] = ((before[0] + new[0], before[1] + new[1]), before, new)  # kept, so that ids stay theirs
        uses[line.resource] = sums[mark][0]
    return uses


def _mark(value: Number) -> float:
    """Return a key of a number: the number itself, or the identity of an array."""
    return value if isinstance(value, int | float) else id(value)


def _rates(
    known: dict[Key, Resource], lines: Iterable[Line], *, trees: bool, at_line_rate: bool = False
) -> list[tuple[Number, bool]]:
    """Return the rate limit of each loaded resource, equal ones once, and whether libraries know of it."""
    seen: dict[tuple[Any, ...], tuple[Number, bool]] = {}
    for key, (inward, outward) in totals(lines).items():
        resource = known.get(key)
        if resource is None:
            continue
        both = resource.both_ways[1]
        share = (
            1.0
            if at_line_rate
            else resource.under_trees
            if trees and resource.under_trees is not None
            else resource.sustained
        )
        mark = (resource.name, resource.known, id(resource.one_way), _mark(both), _mark(share), id(inward), id(outward))
        if mark not in seen:
            seen[mark] = (_port_rate(resource.one_way[1] * share, both, inward, outward), resource.known)
    return list(seen.values())


def sustained_rate(
    known: dict[Key, Resource], lines: Iterable[Line], *, trees: bool = False, at_line_rate: bool = False
) -> Number:
    """Return the rate of a long message under a ledger.

    Args:
        known: resources; lines on other resources do not count.
        trees: several flows meet at each NIC.
        at_line_rate: use line rates, as bounds do.

    Returns:
        Algorithm bandwidth [GB/s], in the shape of the ledger's uses.
    """
    return minimum(*(most for most, _ in _rates(known, lines, trees=trees, at_line_rate=at_line_rate)), float("inf"))


def _sustained_rates(known: dict[Key, Resource], lines: Iterable[Line], *, trees: bool) -> tuple[Number, Number]:
    """Return the rate of a long message under a ledger, with all limits and with the limits that libraries know.

    `known`: resources; lines on other resources do not count. Returns two algorithm bandwidths [GB/s], in the shape of
    the ledger's uses.
    """
    rates = _rates(known, lines, trees=trees)
    guess = minimum(*(most for most, public in rates if public), float("inf"))
    return minimum(*(most for most, public in rates if not public), guess), guess


def lacking(host: Host, lines: Iterable[Line]) -> tuple[str, ...]:
    """Return the CPUs whose root ports a ledger loads and whose limit is unknown, so that no bound has that term."""
    loaded = {key[1] for key, use in totals(lines).items() if key[0] == "root_port" and use[0] + use[1] > LEAST_USE}
    return host.without_limit(loaded)


def solve(known: dict[Key, Resource], lines: Iterable[Line], *, sustained: bool = False, trees: bool = False) -> Bound:
    """Return the bound of one ledger, a term for each set of resources that are loaded and limited alike.

    Args:
        known: resources; lines on other resources do not count.
        sustained: use the rates of long messages in place of line rates.
        trees: several flows meet at each NIC.

    Returns:
        Every term, the tightest first; algorithm bandwidth in GB/s.
    """
    alike: dict[tuple[Any, ...], tuple[Any, list[Resource]]] = {}
    for key, use in totals(lines).items():
        if key in known and use[0] + use[1] > LEAST_USE:
            resource = known[key]
            mark = (
                resource.name,
                resource.one_way,
                resource.both_ways,
                resource.sustained,
                max(use),
                min(use),
            )  # either way round
            alike.setdefault(mark, (use, []))[1].append(resource)
    return bound(*(_term(items, use, sustained=sustained, trees=trees) for use, items in alike.values()))


def _label(items: list[Resource]) -> str:
    first = items[0]
    if first.name == "nic":
        return "NIC" if len(items) == 1 else f"{len(items)} NICs"
    if first.name == "pcie_switch":
        uplink = f"uplink of the PCIe switch of {first.label}"
        return uplink if len(items) == 1 else f"each of {len(items)} uplinks of PCIe switches"
    if first.name != "root_port":
        return first.label
    if len(items) == 1:
        return f"root port {'shared by' if '+' in first.label else 'of'} {first.label}"
    kinds = {f"{name.rstrip('0123456789')}s" for resource in items for name in resource.label.split("+")}
    return f"each of {len(items)} root ports with {' or '.join(sorted(kinds))}"


def _derivation(items: list[Resource], use: tuple[float, float], share: float) -> str:
    first, count = items[0], len(items)
    one_way, both, most, total = first.one_way[1], first.both_ways[1], max(use), sum(use)
    if first.name == "host_memory":
        return f"{first.basis} / {total * count:.4g} operations per byte"
    if first.name == "nic":
        return (
            f"{one_way * count:g} GB/s line rate / {most * count:.4g} sent (and received) per byte; "
            f"{rate(one_way * share, most):.4g} at {share:.0%} of line rate"
        )
    if abs(both - FULL) < LEAST_USE or min(use) < LEAST_USE:
        return f"{first.basis or f'{one_way:.4g} GB/s one way'} / {most:.4g} per byte"
    if both == 1:
        return f"{one_way:.4g} GB/s shared by both ways / ({use[0]:.4g} in + {use[1]:.4g} out) per byte"
    ideal = ""
    if first.name == "root_port" and both < 1:
        ideal = f"; {_port_rate(one_way, 1.0, *use):.4g} if both ways shared the one-way limit without loss"
    return (
        f"{one_way:.4g} GB/s one way, {both:.4g} x {one_way:.4g} = {one_way * both:.4g} GB/s both ways together / "
        f"({use[0]:.4g} in + {use[1]:.4g} out) per byte{ideal}"
    )


def _term(items: list[Resource], use: tuple[float, float], *, sustained: bool, trees: bool) -> Term:
    first = items[0]
    share = float(first.under_trees if trees and first.under_trees is not None else first.sustained)
    low, value, high = (float(_port_rate(first.one_way[end], first.both_ways[end], *use)) for end in (0, 1, 2))
    if sustained:
        # the high end stays: a long message may come up to it
        low, value = min(low, value * share), value * share
    return Term(
        name=first.name,
        label=_label(items),
        gbyte_s=value,
        low_gbyte_s=low,
        high_gbyte_s=high,
        derivation=_derivation(items, use, share),
    )


def _on_each(step: str, kind: str, ids: tuple[str, ...], inward: Number, outward: Number) -> list[Line]:
    return [Line(step, (kind, name), inward, outward) for name in ids]


def _on_nics(job: RankLayout, step: str, load: Number) -> list[Line]:
    """Return the load of all NICs of a node: together `load` each way, fed over PCIe unless GPUs send over it anyway.
    The node with the fewest NICs binds."""
    host, nics = job.host, job.fewest_nics
    used = load * job.several
    lines = _on_each(step, "nic", host.nic_ids, used / nics, used / nics)
    if host.joined:
        # one GPU feeds a NIC, and a node may run fewer GPUs than it has NICs
        feeders = minimum(job.fewest, nics)
        lines += _on_each("GPUs feed NICs", "pcie_link", host.gpus, used / feeders, used / feeders)
    return lines


def _on_cuts(job: RankLayout, load: Number | None) -> list[Line]:
    """Return the load of every link cut by rings or trees on all NICs: `load`, or an allreduce's minimum without
    in-network reduction, of the NICs whose rings cross it."""
    lines = []
    for cut in job.cuts:
        crossed = (cut.sets > 1) * job.several * cut.crossing
        use = (ring_factor(cut.sets) if load is None else load) * crossed
        lines.append(Line("across a link cut", (cut.name, "0"), use, use))
    return lines


def _on_ports(job: RankLayout, gpus: Number, nics: Number) -> list[Line]:
    """Return the load of every root port: `gpus` each way if it has GPUs, and `nics` for each NIC.

    Behind a PCIe switch, GPU and NIC meet below the root port.
    """
    lines = []
    for port in job.host.ports:
        use = gpus * (1.0 if port.gpus else 0.0)
        lines += _on_nic_ports(port, use, use, nics)
    return lines


def _on_nic_ports(port: Port, inward: Number, outward: Number, nics: Number) -> list[Line]:
    """Return the load of a root port and the PCIe switch below it: flows of GPUs, and `nics` each way for each NIC.

    Behind a PCIe switch, GPU and NIC meet below the root port.
    """
    use = nics * (0 if port.pcie_switch and port.gpus else len(port.nics))
    into, out = inward + use, outward + use
    return [
        Line("through root ports", ("root_port", port.id), into, out),
        Line("between PCIe switches", ("pcie_switch", port.id), into, out),
    ]


def _on_memory(job: RankLayout, inward: Number, outward: Number) -> list[Line]:
    return _on_each("in GPU memory", "hbm", job.host.gpus, inward, outward)
