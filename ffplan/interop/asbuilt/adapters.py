"""Adapters of several ports: tools list a card as one device, where a design has an endpoint for each port."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import plural
from ffplan.interop.asbuilt.model import PORTS, peer_of

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Ints
    from ffplan.interop.asbuilt.model import AsBuilt, BuiltDevice

MOST_PORTS = 8
"""More ports than an adapter has [1]."""


def apart(built: AsBuilt, endpoints: int) -> AsBuilt:
    """Return a fabric with a host for every port of an adapter, where that comes nearer to the endpoints of a design.

    A port without a cable is a host of its own where most such adapters have cables in all of their ports. Where they
    stay whole and most are wired at one port, as in a subnet of the second plane, this is the port of their endpoint.

    Args:
        built: the fabric.
        endpoints: endpoints of the design, each a port of an adapter [1].
    """
    hosts = np.array([device.kind == "host" for device in built.devices], bool)
    flat = built.ends.ravel()
    used, at = np.unique(flat[hosts[flat // PORTS]], return_index=True)
    adapters, counts = np.unique(used // PORTS, return_counts=True)
    if len(used) == len(adapters) or abs(len(used) - endpoints) >= abs(len(adapters) - endpoints):
        alone = np.isin(used // PORTS, adapters[counts == 1])
        return _from_one(built, hosts, used[alone][np.argsort(at[alone])])
    linked: dict[int, set[int]] = {}
    for end in used.tolist():
        linked.setdefault(end // PORTS, set()).add(end % PORTS)
    several = {
        n
        for n in np.flatnonzero(hosts).tolist()
        if 1 < built.devices[n].ports <= MOST_PORTS or len(linked.get(n, ())) > 1
    }
    full = sum(len(linked.get(number, ())) >= built.devices[number].ports for number in several)
    devices: list[BuiltDevice] = []
    first = np.zeros(len(built.devices), np.int64)
    place: dict[int, int] = {}
    for number, device in enumerate(built.devices):
        first[number] = len(devices)
        if number not in several:
            devices.append(device)
            continue
        own = linked.get(number, set())
        if 2 * full > len(several) and device.ports <= MOST_PORTS:
            own = own | set(range(1, device.ports + 1))
        for port in sorted(own):
            place[number * PORTS + port] = len(devices) * PORTS + 1
            devices.append(replace(device, name=f"{device.name}p{port}", key=f"{device.key}/p{port}", ports=1))
    to = peer_of(np.array(list(place.items()), np.int64), built.ends)
    ends = np.sort(np.where(to >= 0, to, first[built.ends // PORTS] * PORTS + built.ends % PORTS), axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    words = f"{plural(len(several), 'adapter')} of several ports are taken as a host for each port"
    return replace(
        built,
        devices=devices,
        ends=ends[order],
        lanes=built.lanes[order],
        gbit_s=built.gbit_s[order],
        remarks=(*built.remarks, words),
    )


def _from_one(built: AsBuilt, hosts: Bools, alone: Ints) -> AsBuilt:
    """Return a fabric in which the port at which most adapters are wired is their first.

    Args:
        built: the fabric.
        hosts: which devices are adapters, shape (devices,).
        alone: the ends of adapters that are wired at one port.
    """
    told = Counter((alone % PORTS).tolist())
    usual = told.most_common(1)[0][0] if told else 1
    if usual == 1:
        return built
    port = built.ends % PORTS
    other = np.where(port == usual, 1, np.where(port == 1, usual, port))
    return replace(built, ends=np.where(hosts[built.ends // PORTS], built.ends - port + other, built.ends))
