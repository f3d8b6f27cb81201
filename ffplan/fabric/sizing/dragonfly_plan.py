"""The dragonfly of a design: equal planes, each of equal groups of routers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import ceil_div
from ffplan.base.errors import InputError
from ffplan.fabric.sizing.endpoints import _demand
from ffplan.fabric.sizing.leaf_fill import _parts_between
from ffplan.fabric.sizing.low_diameter import (
    _dragonfly_capacity,
    _dragonfly_global_links,
    _dragonfly_shape,
    _dragonfly_taper,
    _DragonflyShape,
    dragonfly_bisection,
    dragonfly_groups,
)
from ffplan.fabric.sizing.plan import FabricPlan, _port_rate

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.endpoints import _Demand


def _too_small(design: ResolvedDesign, ports: int, capacity: int) -> Finding:
    radix = design.radix
    while radix < 1024 and _dragonfly_capacity(radix) < ports:
        radix += 1
    where = f" on each of {design.planes} planes" if design.planes > 1 else ""
    return design.document.finding(
        "fabric-capacity",
        ("fabric", "family"),
        f"the fabric needs{where} {ports:,} endpoint ports; a balanced dragonfly of {design.radix}-port routers has "
        f"{capacity:,}",
        f"use fewer endpoints, or a switch of {radix} ports or more",
    )


def _ports(design: ResolvedDesign, needs: _Demand) -> int:
    """Return the endpoint ports to build in a plane."""
    points, needed = design.spec.fabric.access_points, needs.totals[0]
    if points is not None and points < design.planes * needed:
        raise InputError(
            design.document.finding(
                "fabric-capacity",
                ("fabric", "access_points"),
                f"{points:,} access points are fewer than the {design.planes * needed:,} that the nodes need",
                "raise `access_points`, or remove it",
            )
        )
    ports = max(needed, ceil_div(points or 0, design.planes))
    capacity = int(_dragonfly_capacity(design.radix))
    if ports > capacity:
        raise InputError(_too_small(design, ports, capacity))
    return int(ports)


def _shape(design: ResolvedDesign, ports: int) -> _DragonflyShape:
    p, a, h = _dragonfly_shape(design.radix)
    groups = int(dragonfly_groups(ports, design.radix))
    return _DragonflyShape(groups=groups, endpoints=p, routers=a, global_links=h, pair_links=a * h // (groups - 1))


def _plan_dragonfly(design: ResolvedDesign) -> FabricPlan:
    """Return the balanced dragonfly that the design needs: as few groups as hold its endpoints."""
    needs = _demand(design)
    ports, planes, breakout = _ports(design, needs), design.planes, design.spec.fabric.breakout
    shape = _shape(design, ports)
    groups, a, p = shape.groups, shape.routers, shape.endpoints
    between = int(_dragonfly_global_links(groups, design.radix))
    endpoints, local = needs.totals[0], groups * a * (a - 1) // 2
    # endpoints fill router after router; a split port serves endpoints of one router
    full, rest = divmod(endpoints, p)
    rates = [_port_rate(design, group) for group in design.groups]
    bandwidth = sum(n * rate for n, rate in zip(needs.by_zone[0], rates, strict=True))
    rate, laid = design.link_gbyte_s, planes * (local + between)
    return FabricPlan(
        family="dragonfly",
        planes=planes,
        zones=1,
        tiers=1,
        radix=design.radix,
        uplinks=0,
        downlinks=p,
        pod_leaves=a,
        port_gbyte_s=_port_rate(design, design.compute),
        link_gbyte_s=rate,
        endpoints=planes * endpoints,
        endpoints_per_zone=needs.totals,
        access_points=planes * ports,
        switches_by_role={"router": planes * groups * a},
        links_by_tier={"endpoint": planes * endpoints, "intra_group": planes * local, "inter_group": planes * between},
        spare_by_role={"router": planes * (groups * a * p - endpoints)},
        breakout=breakout,
        endpoint_cables=planes * (full * ceil_div(p, breakout) + ceil_div(rest, breakout)),
        inter_switch_cables=laid,
        inter_switch_parts=_parts_between(design, laid, planes * local, planes * between),
        oversubscription=float(_dragonfly_taper(shape.group_ports, max(rates), shape.pair_links * (groups - 1), rate)),
        zone_oversubscription=None,
        bisection_gbyte_s=planes * float(dragonfly_bisection(groups, shape.pair_links, a, rate, bandwidth)),
        dragonfly=shape,
    )
