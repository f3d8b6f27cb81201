"""The solver: a ledger over resources in, the rate and every term out.

A ledger is a list of lines, each a step of an algorithm with how often one byte of message passes through a resource in
each direction. It serves any algorithm on any server: rate = min over resources of capacity / use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import maximum, minimum
from ffplan.base.record import record
from ffplan.collectives.bounds import Bound, Term, bound, rate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.node.resources import Resource

LEAST_USE = 1e-12
"""Use per byte below which a resource does not count [1]; keeps divisions finite."""
Key = tuple[str, str]
FULL = 2.0
"""Both directions together, as a share of one, of a full-duplex link [1]."""


@record
class Line:
    """One line of a ledger."""

    step: str
    """What happens."""
    resource: Key
    """Kind and id of the resource."""
    inward: Any
    """Bytes in per byte of message: received by a NIC or GPU, written to memory, towards the CPU at a root port [1]."""
    outward: Any
    """Bytes out per byte of message [1]."""


def port_rate(one_way: Any, both_way_share: Any, inward: Any, outward: Any) -> Any:
    """Return the message rate that a resource with one-way and both-way capacity allows.

    Args:
        one_way: most it carries in one direction [GB/s].
        both_way_share: sum of both directions as a share of `one_way` [1].
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


def totals(lines: Iterable[Line]) -> dict[Key, tuple[Any, Any]]:
    """Return the use of each resource: the sum over its lines, in and out."""
    found: dict[Key, tuple[Any, Any]] = {}
    sums: dict[tuple[int, ...], tuple[Any, ...]] = {}
    for line in lines:
        before, new = found.get(line.resource), (line.inward, line.outward)
        if before is None:
            found[line.resource] = new
            continue
        mark = (id(before[0]), id(before[1]), id(new[0]), id(new[1]))  # alike resources share one sum
        if mark not in sums:
            sums[mark] = ((before[0] + new[0], before[1] + new[1]), before, new)  # kept, so that ids stay theirs
        found[line.resource] = sums[mark][0]
    return found


def sustained_rate(
    known: dict[Key, Resource], lines: Iterable[Line], *, trees: bool = False, as_library: bool = False
) -> Any:
    """Return the rate of a long message under a ledger.

    Args:
        known: the resources; a line on one that is not there does not count.
        lines: the ledger.
        trees: several flows meet at each NIC.
        as_library: leave out the limits that libraries do not know.

    Returns:
        Algorithm bandwidth [GB/s], in the shape of the ledger's uses.
    """
    seen: dict[tuple[Any, ...], Any] = {}
    for key, (inward, outward) in totals(lines).items():
        item = known.get(key)
        if item is None or (as_library and not item.known):
            continue
        both = item.both_ways[1]
        share = item.under_trees if trees and item.under_trees is not None else item.sustained
        mark = (item.name, id(item.one_way), both, share, id(inward), id(outward))
        if mark not in seen:
            seen[mark] = port_rate(item.one_way[1] * share, both, inward, outward)
    return minimum(*seen.values(), float("inf"))


def _is_used(use: tuple[float, float]) -> bool:
    return use[0] + use[1] > LEAST_USE


def solve(known: dict[Key, Resource], lines: Iterable[Line], *, sustained: bool = False, trees: bool = False) -> Bound:
    """Return the bound of one ledger, a term for each set of resources that are loaded and limited alike.

    Args:
        known: the resources; a line on one that is not there does not count.
        lines: the ledger, of plain numbers.
        sustained: reckon with what long messages reach in place of line rates.
        trees: several flows meet at each NIC.

    Returns:
        Every term, the tightest first; algorithm bandwidth in GB/s.
    """
    alike: dict[tuple[Any, ...], list[Resource]] = {}
    for key, use in totals(lines).items():
        if key in known and use[0] + use[1] > LEAST_USE:
            item = known[key]
            alike.setdefault((item.name, item.one_way, item.both_ways, item.sustained, use), []).append(item)
    return bound(*(_term(items, mark[-1], sustained=sustained, trees=trees) for mark, items in alike.items()))


def _label(items: list[Resource]) -> str:
    first = items[0]
    if first.name == "nic":
        return "NIC" if len(items) == 1 else f"{len(items)} NICs"
    if first.name == "pcie_switch":
        one = f"uplink of the PCIe switch of {first.label}"
        return one if len(items) == 1 else f"each of {len(items)} uplinks of PCIe switches"
    if first.name != "root_port":
        return first.label
    if len(items) == 1:
        return f"root port {'shared by' if '+' in first.label else 'of'} {first.label}"
    kinds = {f"{name.rstrip('0123456789')}s" for item in items for name in item.label.split("+")}
    return f"each of {len(items)} root ports with {' or '.join(sorted(kinds))}"


def _derivation(items: list[Resource], use: tuple[float, float], share: float) -> str:
    first, count = items[0], len(items)
    one, both, most, total = first.one_way[1], first.both_ways[1], max(use), sum(use)
    if first.name == "host_memory":
        return f"{first.basis} / {total * count:g} operations per byte"
    if first.name == "nic":
        return (
            f"{one * count:g} GB/s line rate / {most * count:.4g} sent (and received) per byte; "
            f"{rate(one * share, most):.4g} at {share:.0%} of line rate"
        )
    if abs(both - FULL) < LEAST_USE or min(use) < LEAST_USE:
        return f"{first.basis or f'{one:.4g} GB/s one way'} / {most:.4g} per byte"
    if both == 1:
        return f"{one:.4g} GB/s shared by both ways / ({use[0]:.4g} in + {use[1]:.4g} out) per byte"
    ideal = ""
    if first.name == "root_port" and both < 1:
        ideal = f"; {port_rate(one, 1.0, *use):.4g} if both ways shared the one-way limit without loss"
    return (
        f"{one:.4g} GB/s one way, {both:.4g} x {one:.4g} = {one * both:.4g} GB/s both ways together / "
        f"({use[0]:.4g} in + {use[1]:.4g} out) per byte{ideal}"
    )


def _term(items: list[Resource], use: tuple[float, float], *, sustained: bool, trees: bool) -> Term:
    first = items[0]
    share = first.under_trees if trees and first.under_trees is not None else first.sustained
    low, value, high = (port_rate(first.one_way[end], first.both_ways[end], *use) for end in (0, 1, 2))
    if sustained:
        low, value = min(low, value * share), value * share
    return Term(first.name, _label(items), value, low, high, _derivation(items, use, share))
