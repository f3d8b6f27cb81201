"""The scale-up network that a topology file lists: a switch, a mesh, pairs, or other links."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from ffplan.base.formatting import first_few
from ffplan.base.hostlist import integer
from ffplan.base.record import record
from ffplan.interop.topology.devices import _pci_class

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.interop.xml_tree import _Element

_SWITCH = "068000"
"""Class of an NVSwitch: other bridge; 0x068001 is a POWER9 CPU, whose links join no GPUs."""
_CPU = "068001"
_BUS = re.compile("(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:[.]([0-9a-f]{1,2}))?")
_NAMES = {"nvlink": "NVLink", "xgmi": "xGMI"}
"""Name of the network by the element of a link."""


@record
class _ScaleUpLink:
    gpu: str
    """Bus id of the GPU."""
    target: str
    """Bus id of a switch or another GPU."""
    count: int
    kind: str
    """nvlink or xgmi."""
    switch: bool
    """True where the target is a switch."""
    line: int
    cpu: bool = False
    """True where the target is a CPU."""
    unsaid: bool = False
    """True where the file does not say what the target is."""


@record
class _ScaleUpFound:
    kind: str
    """switch, mesh, pairs, links or none."""
    name: str
    """NVLink or xGMI; empty without one."""
    pairs: tuple[tuple[str, str], ...]
    """Bus ids of GPUs that links join, each pair once; empty under a switch."""
    counts: tuple[int, ...]
    """Links of each pair [1]; where its ends differ, the fewer."""
    links_per_gpu: int
    """Links of the GPU that has most [1]."""
    faults: tuple[str, ...]
    """What the file says wrongly, in words."""


def _links_of(gpu: _Element, bus: str) -> list[_ScaleUpLink]:
    return [
        _ScaleUpLink(
            gpu=bus,
            target=child.attributes.get("target", "").lower(),
            count=1 if (count := integer(child.attributes.get("count", "1"), 3)) is None else count,
            kind=child.tag,
            switch=_pci_class(child, "tclass") == _SWITCH,
            line=child.line,
            cpu=_pci_class(child, "tclass") == _CPU,
            unsaid=not _pci_class(child, "tclass"),
        )
        for child in gpu.children
        if child.tag in _NAMES
    ]


def place(bus: str) -> tuple[int, ...] | str:
    """Return domain, bus, device and function of a bus id, which files write with two to eight digits of a domain."""
    match = _BUS.fullmatch(bus)
    return tuple(int(part or "0", 16) for part in match.groups()) if match else bus


def _resolved(links: Iterable[_ScaleUpLink], gpus: list[str]) -> list[_ScaleUpLink]:
    """Resolve the targets of links: GPUs by their own bus id, and switches without a class.

    A target without a class is a switch if it is no GPU and several GPUs lead to it.
    """
    buses = {place(bus): bus for bus in gpus}
    resolved = [replace(link, target=buses.get(place(link.target), link.target)) for link in links]
    led: dict[str, set[str]] = defaultdict(set)
    for link in resolved:
        led[link.target].add(link.gpu)
    known = set(gpus)
    return [
        replace(link, switch=True) if link.unsaid and link.target not in known and len(led[link.target]) > 1 else link
        for link in resolved
    ]


def _structure(links: Iterable[_ScaleUpLink], gpus: Iterable[str]) -> _ScaleUpFound:
    """Return the structure of a scale-up network.

    A switch joins all GPUs if links lead to one; a mesh joins every two by a direct link; pairs join every
    GPU to one other at most; anything else is a list of links.
    """
    all_gpus = list(gpus)
    resolved = _resolved(links, all_gpus)
    known, faults, counted = set(all_gpus), [], dict.fromkeys(all_gpus, 0)
    ends: dict[tuple[str, str], int] = {}
    switched, loops, lost = False, [], []
    for link in resolved:
        if link.target == link.gpu:
            loops.append(link)
            continue
        if link.cpu:
            continue
        if not link.switch and link.target not in known:
            lost.append(link)
            continue
        if not link.count:
            faults.append(f"line {link.line}: a link of {link.gpu} has the count 0; it is left out")
            continue
        counted[link.gpu] += link.count
        switched |= link.switch
        if not link.switch:
            ends[link.gpu, link.target] = ends.get((link.gpu, link.target), 0) + link.count
    if loops:
        gpus_of = first_few(link.gpu for link in loops)
        faults.append(f"line {loops[0].line}: links of {gpus_of} lead to themselves; they are left out")
    if lost:
        gpus_of = first_few(dict.fromkeys(link.gpu for link in lost))
        ends_of = first_few(dict.fromkeys(f"`{link.target}`" for link in lost))
        fault = f"links of {gpus_of} lead to {ends_of}, not a GPU of this file; they are left out"
        faults.append(f"line {lost[0].line}: {fault}")
    names = {_NAMES[link.kind] for link in resolved}
    faults += _one_sided(ends)
    most = max(counted.values(), default=0)
    fewer = {gpu: count for gpu, count in counted.items() if count < most and len(counted) == len(all_gpus)}
    if switched and fewer:
        shown = first_few(f"{gpu} {count}" for gpu, count in fewer.items())
        faults.append(f"most GPUs have {most} links, but {shown}: links are down, or the file leaves them out")
    pairs = () if switched else tuple(sorted({(min(pair), max(pair)) for pair in ends}))
    name = " and ".join(sorted(names)) if switched or pairs else ""
    kind = "switch" if switched else _kind(pairs, all_gpus)
    counts = tuple(min(count for end in (pair, pair[::-1]) if (count := ends.get(end))) for pair in pairs)
    if kind == "mesh" and len(set(counts)) > 1:
        faults.append(f"{min(counts)} to {max(counts)} links join two GPUs of the mesh; they are taken as equal")
    return _ScaleUpFound(
        kind=kind,
        name=name,
        pairs=pairs,
        counts=counts,
        links_per_gpu=most,
        faults=tuple(faults),
    )


def _one_sided(ends: dict[tuple[str, str], int]) -> list[str]:
    """List the pairs of GPUs whose two ends state different links."""
    said = []
    for (near, far), count in sorted(ends.items()):
        back = ends.get((far, near), 0)
        if not back:
            said.append(f"the links between {near} and {far} are listed at {near} only; they count as present")
        elif count < back:
            said.append(f"{near} lists {count} links to {far}, {far} lists {back} back; the smaller count is used")
    return said


def _kind(pairs: tuple[tuple[str, str], ...], gpus: list[str]) -> str:
    if not pairs:
        return "none"
    ends = [gpu for pair in pairs for gpu in pair]
    if len(set(ends)) == len(ends):
        return "pairs"
    every = {(min(pair), max(pair)) for pair in combinations(gpus, 2)}
    return "mesh" if set(pairs) == every else "links"
