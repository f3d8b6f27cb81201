"""Devices of the design that were not found: parts, switches, hosts that no switch sees, nodes and NICs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import first_few, plural
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.audit.cables import _parts_not_found
from ffplan.interop.audit.effects import _of_losses, _off
from ffplan.interop.audit.sides import _host_of
from ffplan.results.as_built import AuditCause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.audit.effects import Capacity
    from ffplan.interop.audit.sides import Sides

SHARED = 3
"""Fewest nodes at the same switches that are one finding."""
_SILENT = 0.5
"""Part of the endpoints at a switch from which their absence has one cause [1]."""


def _links_of(fabrics: Sides, devices: set[int]) -> list[tuple[int, int]]:
    selected = np.zeros(len(fabrics.names), bool)
    selected[list(devices)] = True
    hit = selected[fabrics.ours[:, 0] // PORTS] | selected[fabrics.ours[:, 1] // PORTS]
    return [(near, far) for near, far in fabrics.ours[hit].tolist()]


def absent(fabrics: Sides, have: Capacity) -> Iterator[AuditCause]:
    """Yield a finding for switches and nodes that are not there; nodes below an absent leaf go with it."""
    gone = set(np.flatnonzero(~fabrics.present).tolist()) & set(np.unique(fabrics.ours // PORTS).tolist())
    if not gone:
        return
    explained: set[int] = set()
    for part in _parts_not_found(fabrics, gone):
        explained |= part
        yield _absent_part(fabrics, have, part)
    switches = sorted(device for device in gone - explained if fabrics.roles[device])
    for switch in switches:
        near = _links_of(fabrics, {switch})
        below = {end // PORTS for pair in near for end in pair} & gone - {switch}
        endpoints = {device for device in below if not fabrics.roles[device]}
        explained |= endpoints
        name = fabrics.names[switch]
        nodes = {_host_of(fabrics.names[device]) for device in endpoints}
        with_it = (
            f", with {plural(len(endpoints), 'endpoint')} of {plural(len(nodes), 'node')} below it" if endpoints else ""
        )
        yield AuditCause(
            kind="absent-switch",
            what=f"switch {name} was not found{with_it}",
            where=(name,),
            do=(f"check power, boot and the cables of {name}; then its place in the files",),
            effect=_of_losses(have, [(pair, 1.0) for pair in near if fabrics.lower(pair) != switch]),
            links=len(near),
            severity="error",
        )
    left = gone - explained - set(switches)
    leaves, silent = _silent(fabrics, left)
    if leaves:
        yield _silent_hosts(fabrics, have, leaves, silent)
    hosts: dict[str, list[int]] = {}
    for device in sorted(left - set(silent)):
        hosts.setdefault(_host_of(fabrics.names[device]), []).append(device)
    for host, ends in hosts.items():
        yield _absent_host(fabrics, have, host, ends)


def _silent(fabrics: Sides, gone: set[int]) -> tuple[list[int], list[int]]:
    """Return the switches that were found without most of their endpoints, and these endpoints."""
    ends = fabrics.ours // PORTS
    lower = np.where(fabrics.roles[ends[:, 0]] == 0, ends[:, 0], ends[:, 1])
    upper = np.where(lower == ends[:, 0], ends[:, 1], ends[:, 0])
    below = (fabrics.roles[lower] == 0) & (fabrics.roles[upper] != 0)
    lacks = below & np.isin(lower, sorted(gone))
    count, lost = (np.bincount(upper[rows], minlength=len(fabrics.names)) for rows in (below, lacks))
    hosts = {(switch, _host_of(fabrics.names[end])) for switch, end in zip(upper[lacks], lower[lacks], strict=True)}
    nodes = np.bincount(np.array([switch for switch, _ in hosts], np.int64), minlength=len(fabrics.names))
    leaves = (nodes >= SHARED) & (lost >= _SILENT * count)
    leaves[: len(fabrics.present)] &= fabrics.present
    rows = lacks & leaves[upper]
    return np.flatnonzero(leaves).tolist(), sorted(set(lower[rows].tolist()))


def _silent_hosts(fabrics: Sides, have: Capacity, leaves: list[int], endpoints: list[int]) -> AuditCause:
    """Return the finding of endpoints that none of their switches saw, all in one."""
    switches, hosts = ([fabrics.names[device] for device in group] for group in (leaves, endpoints))
    nodes = len({_host_of(name) for name in hosts})
    near = _links_of(fabrics, set(endpoints))
    return AuditCause(
        kind="silent-hosts",
        severity="error",
        what=f"{plural(len(hosts), 'endpoint')} of {plural(nodes, 'node')} at {first_few(switches)} not found "
        f"({first_few(hosts)}), though the {plural(len(switches), 'switch', 'switches')} above them "
        f"{'was' if len(switches) == 1 else 'were'}",
        where=tuple(hosts),
        do=(
            "see whether these hosts speak LLDP, or whether the files list their links at all",
            f"check that the ports of {first_few(switches)} to them are up, and the nodes' power and drivers",
        ),
        effect=_of_losses(have, [(pair, 1.0) for pair in near]),
        links=len(near),
    )


def _absent_part(fabrics: Sides, have: Capacity, part: set[int]) -> AuditCause:
    names = [fabrics.names[device] for device in sorted(part) if fabrics.roles[device]]
    near = _links_of(fabrics, part)
    return AuditCause(
        kind="absent-part",
        severity="error",
        what=f"{plural(len(names), 'switch', 'switches')} of one connected part not found "
        f"({first_few(names)}), with {plural(len(part) - len(names), 'endpoint')}: a plane, a zone, or a pod",
        where=tuple(names),
        do=("give the files of every plane and zone, or compare one (--plane, --zone)",),
        effect=_of_losses(
            have, [(p, 1.0) for p in near if (d := fabrics.lower(p)) not in part or not fabrics.roles[d]]
        ),
        links=len(near),
    )


def _absent_host(fabrics: Sides, have: Capacity, host: str, adapters: list[int]) -> AuditCause:
    near = _links_of(fabrics, set(adapters))
    every = have.ends[host]
    down = not fabrics.present[every].any() and bool(np.isin(every, fabrics.ours // PORTS).all())
    names = tuple(fabrics.names[device] for device in adapters)
    beside = fabrics.designed.beside
    lost = f"node {host} was not found{f' on the network {beside}' if beside else ''}"
    ports = first_few(fabrics.port(max(pair, key=lambda end: fabrics.roles[end // PORTS])) for pair in near)
    return AuditCause(
        kind="absent-node" if down else "absent-nic",
        what=lost if down else f"{first_few(names)} of node {host} was not found",
        where=(host,) if down else names,
        do=(f"check power and drivers of {host}, and its cables at {ports}",),
        effect=f"{host} is {_off(fabrics)}" if down else _of_losses(have, [(pair, 1.0) for pair in near]),
        links=len(near),
        severity="error",
    )
