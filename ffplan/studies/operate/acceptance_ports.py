"""Planned ports of nodes on every network, and which of them a measured port or link is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.design.networks import network_design
from ffplan.results.acceptance import Measured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.design.resolved import ResolvedDesign

COMPUTE = "compute"
"""Name of the compute fabric among the networks."""
_PROCESSORS = "out-of-band"
"""Network of management processors, whose ports no tool of the node lists."""
_LAYERS = {"infiniband": "InfiniBand", "ethernet": "Ethernet"}
_ROUNDING = 1e-9
_FASTER, _EXTRA = 3, 2
"""Slow or dead ports that are as likely as one that is too fast, and as one that is up and not planned [1]."""

Ports = tuple[float, ...]
"""Rates of the ports of a node, the fastest first [GB/s]."""
PlannedRate = tuple[Measured, float | str]
"""A measured rate with the planned one [GB/s], or why none is planned."""


@record
class _PortPlan:
    """The ports and links of one network."""

    network: str
    layer: str
    """Protocol of its switches."""
    nodes: tuple[Ports, ...]
    """Ports of a node of each group of the design, the job's nodes first; empty of a group that is not on it."""
    link: float | None
    """Rate of a link between its switches [GB/s]; None of a network without one."""
    switch: str
    cable: str


def _plan_of(design: ResolvedDesign, view: ResolvedDesign, name: str) -> _PortPlan:
    first = design.job_groups[0]
    order = [first, *(place for place in range(len(design.groups)) if place != first)]
    ports = {
        group.position: group.nic_rates(view.port_gbyte_s) * view.stripes for group in view.groups if group.fabric_nics
    }
    tiers, fabric = view.spec.fabric.tiers, view.parts
    return _PortPlan(
        network=name,
        layer=fabric.switch.fabric,
        nodes=tuple(
            tuple(sorted(map(float, ports.get(design.groups[place].position, ())), reverse=True)) for place in order
        ),
        link=view.link_gbyte_s if tiers > 1 else None,
        switch=fabric.switch.id,
        cable=fabric.inter_switch_link.id,
    )


def _port_plans(design: ResolvedDesign) -> tuple[_PortPlan, ...]:
    """Return the planned ports of every network that nodes have NICs on, the compute fabric first."""
    sides = [network for network in design.networks if network.network.name != _PROCESSORS]
    return (
        _plan_of(design, design, COMPUTE),
        *(_plan_of(design, network_design(design, side, 0), side.network.name) for side in sides),
    )


def _together(plans: Iterable[_PortPlan]) -> list[Ports]:
    """Return what a node of each group has on several networks, without repetition and without nodes of no port."""
    groups = zip(*(plan.nodes for plan in plans), strict=True)
    nodes = [tuple(sorted((rate for ports in group for rate in ports), reverse=True)) for group in groups]
    return list(dict.fromkeys(node for node in nodes if node))


def _paired(seen: Ports, planned: Ports) -> tuple[list[tuple[float, float]], list[float]]:
    """Return the rate of every port with the planned one, and the rates of ports beyond the planned number.

    Ports that run at a planned rate take it; the others, the fastest first, take what is left.
    """
    free, others, pairs = list(planned), [], []
    for value in seen:
        rate = next((rate for rate in free if abs(value - rate) <= _ROUNDING * rate), None)
        if rate is None:
            others.append(value)
        else:
            free.remove(rate)
            pairs.append((value, rate))
    pairs += zip(others, free, strict=False)
    return pairs, others[len(free) :]


def _misfits(seen: Ports, planned: Ports) -> int:
    """Return how badly the ports of a node fit a plan [1]: a port is slow or down far more often than it is faster than
    its network.
    """
    pairs, left = _paired(seen, planned)
    return sum(_EXTRA if value else 1 for value in left) + sum(
        _FASTER if value > rate * (1 + _ROUNDING) else value < rate * (1 - _ROUNDING) for value, rate in pairs
    )


def _rates(values: list[Measured]) -> Ports:
    return tuple(sorted((value.value for value in values), reverse=True))


def _node_name(value: Measured) -> str:
    """Return the node of a port: InfiniBand names the adapter after it, `node01 mlx5_0`; logs of a node do not."""
    return value.host if value.layer else value.host.partition(" ")[0]


def _by_node(values: list[Measured]) -> list[list[Measured]]:
    nodes: dict[str, list[Measured]] = {}
    for value in values:
        nodes.setdefault(_node_name(value), []).append(value)
    return list(nodes.values())


def _nearest(seen: Ports, kinds: list[Ports]) -> Ports:
    return min(kinds, key=lambda planned: _misfits(seen, planned))


def _kinds_of(nodes: list[list[Measured]], plans: list[_PortPlan], listed: bool) -> list[Ports]:
    """Return the ports that nodes of a log may have: on all networks of its protocol where it lists every port of a
    node, else on the network that explains it best, since a subnet manager sees one.
    """
    if listed:
        return _together(plans)
    seen = [_rates(values) for values in nodes]
    networks = [kinds for plan in plans if (kinds := _together([plan]))]
    return min(networks, key=lambda kinds: sum(_misfits(rates, _nearest(rates, kinds)) for rates in seen), default=[])


def _node(values: list[Measured], planned: Ports) -> Iterator[PlannedRate]:
    """Pair the ports of a node with the planned ones.

    More ports than planned at planned rates are of several nodes: none that is slow or down is spare then.
    """
    ordered = sorted(values, key=lambda value: -value.value)
    pairs, left = _paired(_rates(values), planned)
    several = any(rate in planned for rate in left)
    for value in ordered:
        rate = next((rate for seen, rate in pairs if seen == value.value), None)
        if rate is not None:
            pairs.remove((value.value, rate))
            yield value, rate
        elif value.value in planned:
            yield value, value.value
        elif several and value.value < max(planned):
            yield value, max(planned)
        else:
            state = "" if value.value else "down, and "
            yield value, f"{state}beyond the {plural(len(planned), 'port')} that the design plans here"


def _nic_links(values: list[Measured], plans: tuple[_PortPlan, ...], layer: str) -> Iterator[PlannedRate]:
    known = [plan for plan in plans if layer in ("", plan.layer)]
    nodes = _by_node(values)
    kinds = _kinds_of(nodes, known, bool(layer)) if known else []
    for node in nodes:
        if kinds:
            yield from _node(node, _nearest(_rates(node), kinds))
        else:
            why = f"the design plans no port of {_LAYERS.get(layer, 'a NIC')}"
            yield from ((value, why) for value in node)


def _switch_links(values: list[Measured], plans: tuple[_PortPlan, ...]) -> Iterator[PlannedRate]:
    rates = [plan.link for plan in plans if plan.link is not None]
    rate = min(
        rates, key=lambda rate: sum(abs(value.value - rate) > _ROUNDING * rate for value in values), default=None
    )
    yield from ((value, "the design has no link between switches" if rate is None else rate) for value in values)


LINKS = ("nic-link", "switch-link")
"""Checks of ports and of links between switches."""


def _planned_rates(values: Iterable[Measured], plans: tuple[_PortPlan, ...]) -> Iterator[PlannedRate]:
    """Yield every measured rate of a port or a link with its planned one: a log is of one fabric, or lists the ports of
    a node.
    """
    logs: dict[tuple[str, str, str], list[Measured]] = {}
    for value in values:
        if value.check in LINKS:
            logs.setdefault((value.check, value.file, value.layer), []).append(value)
    for (check, _, layer), items in logs.items():
        yield from _nic_links(items, plans, layer) if check == "nic-link" else _switch_links(items, plans)
