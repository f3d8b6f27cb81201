"""Terms that several libraries share: NICs and root ports under a given use per byte of message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.elementwise import maximum, minimum
from ffplan.perf.bounds import Term, rate, ring_factor
from ffplan.record import record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ffplan.perf.host import Host, Port


@record
class Border:
    """The links out of one leaf, or out of one zone, over all planes."""

    name: str
    label: str
    sets: int
    """Leaves of a rail, or zones, that the collective spans."""
    links: int
    gbyte_s: float
    """Their bandwidth together, one direction [GB/s]."""


@record
class PortUse:
    """Bytes through a root port per byte of message, in each direction."""

    inward: float
    outward: float

    @property
    def both(self) -> float:
        """Sum of the directions."""
        return self.inward + self.outward


def port_rate(one_way: Any, both_way_share: Any, inward: Any, outward: Any) -> Any:
    """Return the message rate that a root port allows.

    Args:
        one_way: most it carries in one direction [GB/s].
        both_way_share: sum of both directions as a share of `one_way` [1].
        inward: bytes towards the CPU per byte of message [1].
        outward: bytes from the CPU per byte of message [1].

    Returns:
        Algorithm bandwidth [GB/s].

    Equation:
        B = min(one_way / max(in, out), one_way * share / (in + out))

    Source:
        An et al., arXiv 2408.14158, section IV-D3: 37.5 GB/s one way, less with both directions active; two
        GPUs that each send and receive the message once give 37.5 x 0.864 / 4 = 8.1 GB/s.
    """
    return minimum(rate(one_way, maximum(inward, outward)), rate(one_way * both_way_share, inward + outward))


def nic_term(host: Host, load: float) -> Term | None:
    """Return the term of all NICs of a node together, each direction carrying `load` per message byte."""
    if load <= 0:
        return None
    line = sum(host.nic_gbyte_s)
    low = sum(
        min(r, nic.rate.range[0]) * nic.line_efficiency.range[0]
        for r, nic in zip(host.nic_gbyte_s, host.nics, strict=True)
    )
    payload = sum(r * nic.line_efficiency.value for r, nic in zip(host.nic_gbyte_s, host.nics, strict=True))
    count = len(host.nics)
    return Term(
        "nic", "NIC" if count == 1 else f"{count} NICs", rate(line, load), rate(low, load), rate(line, load),
        f"{line:g} GB/s line rate / {load:g} sent (and received) per byte; "
        f"{rate(payload, load):.4g} at {payload / line:.0%} of line rate",
    )  # fmt: skip


def border_terms(borders: tuple[Border, ...], load: float | None = None) -> list[Term]:
    """Return the terms of the links that a collective crosses between leaves and between zones.

    Ranks go leaf by leaf and zone by zone. Without in-network reduction, an allreduce over S sets moves at least
    2 (S - 1) / S bytes per byte of message into and out of the busiest of them.

    Args:
        borders: what it crosses.
        load: bytes across each border per byte of message, in each direction [1], where the algorithm has more than
            the least.
    """
    return [_border_term(border, ring_factor(border.sets) if load is None else load) for border in borders]


def _border_term(border: Border, load: float) -> Term:
    value = rate(border.gbyte_s, load)
    return Term(
        border.name, border.label, value, value, value,
        f"{border.links:,} links x {border.gbyte_s / border.links:g} GB/s / {load:.4g} per byte across one border",
    )  # fmt: skip


def _names(port: Port) -> tuple[str, ...]:
    return port.gpus + port.nics


def _label(ports: list[Port]) -> str:
    if len(ports) == 1:
        names = "+".join(name.upper() for name in _names(ports[0]))
        return f"root port shared by {names}" if len(_names(ports[0])) > 1 else f"root port of {names}"
    kinds = {f"{name.rstrip('0123456789').upper()}s" for port in ports for name in _names(port)}
    return f"each of {len(ports)} root ports with {' or '.join(sorted(kinds))}"


def port_terms(host: Host, use: Callable[[Port], PortUse | None]) -> list[Term]:
    """Return one term for each set of root ports that are loaded and limited alike.

    Args:
        host: the node.
        use: gives the load of a port per byte of message, or None where nothing crosses it.
    """
    alike: dict[tuple[float, float, float, float], list[Port]] = {}
    for port in host.ports:
        load = use(port)
        if load is None or port.limits is None or load.both <= 0:
            continue
        limits = port.limits
        key = (limits.one_way.value, limits.both_way_share.value, load.inward, load.outward)
        alike.setdefault(key, []).append(port)
    return [_port_term(ports, *key) for key, ports in alike.items()]


def _port_term(ports: list[Port], one_way: float, share: float, inward: float, outward: float) -> Term:
    limits = ports[0].limits
    assert limits is not None
    low, high = (
        port_rate(limits.one_way.range[end], limits.both_way_share.range[end], inward, outward) for end in (0, 1)
    )
    ideal = ""
    if share < 1:
        ideal = f"; {port_rate(one_way, 1.0, inward, outward):.4g} if both ways shared the one-way limit without loss"
    return Term(
        "root_port", _label(ports), port_rate(one_way, share, inward, outward), low, high,
        f"{one_way:g} GB/s one way, {share:.4g} x {one_way:g} = {one_way * share:.4g} GB/s both ways together / "
        f"({inward:g} in + {outward:g} out) per byte{ideal}",
    )  # fmt: skip
