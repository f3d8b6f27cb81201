"""What Slurm would refuse of a topology, or place jobs badly by."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ffplan.base.formatting import first_few, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ffplan.results.slurm_topology import SlurmSwitch, SlurmTopology


def levels_of(below: Mapping[str, Sequence[str]]) -> dict[str, int | None] | None:
    """Return the levels below each switch, None of one with an unknown switch below; None where some form a ring.

    Args:
        below: the switches right below each.
    """
    above: dict[str, list[str]] = {}
    for name, own in below.items():
        for other in own:
            above.setdefault(other, []).append(name)
    waiting = {name: sum(other in below for other in own) for name, own in below.items()}
    ready, found = [name for name, count in waiting.items() if not count], dict[str, int | None]()
    while ready:
        name = ready.pop()
        levels = [found.get(other) for other in below[name]]
        known = [level for level in levels if level is not None]
        found[name] = None if len(known) < len(levels) else max(known, default=-1) + 1
        for other in above.get(name, ()):
            waiting[other] -= 1
            ready += [other] if not waiting[other] else []
    return found if len(found) == len(below) else None


def roots_of(switches: Sequence[SlurmSwitch]) -> tuple[str, ...]:
    """Return the switches that are below no other."""
    held = {name for switch in switches for name in switch.switches}
    return tuple(dict.fromkeys(switch.name for switch in switches if switch.name not in held))


def _twice(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def faults_of(topology: SlurmTopology) -> list[str]:
    """Return what Slurm would refuse of a topology, or place jobs badly by, in words.

    Sources: manual pages topology.conf(5) and topology.yaml(5) of Slurm 26.11.
    """
    title = f"`{topology.name}`: " if topology.name else ""
    switches, blocks = topology.switches, topology.blocks
    known = {switch.name for switch in switches}
    lost = [name for switch in switches for name in switch.switches if name not in known]
    both = [switch.name for switch in switches if switch.nodes and switch.switches]
    bare = [switch.name for switch in switches if not switch.nodes and not switch.switches]
    above = _twice([name for switch in switches for name in dict.fromkeys(switch.switches)])
    groups = [*(switch.nodes for switch in switches), *(block.nodes for block in blocks)]
    shared = _twice([node for nodes in groups for node in dict.fromkeys(nodes)])
    names = _twice([*(switch.name for switch in switches), *(block.name for block in blocks)])
    said = [
        (names, "stand twice"),
        (lost, "are below a switch, and are not in the file: slurmctld stops"),
        (both, "have nodes and switches below them: slurmctld takes one or the other"),
        (bare, "without nodes and switches below"),
        (above, "are below several switches: a tree has one above each"),
        (shared, "are nodes of several leaves or blocks: Slurm places them by one"),
    ]
    words = [f"{title}{first_few(f'`{name}`' for name in own)} {what}" for own, what in said if own]
    if len(topology.roots) > 1:
        words.append(f"{title}{plural(len(topology.roots), 'switch', 'switches')} are at the top: no job spans them")
    return [*words, *(f"{title}{fault}" for fault in _sizes(topology))]


def _sizes(topology: SlurmTopology) -> list[str]:
    """Return what is wrong with the sizes of blocks, in words."""
    if not topology.blocks:
        return []
    sizes = topology.block_sizes
    if not sizes:
        return ["no sizes of blocks are given: Slurm takes the smallest block"]
    first, words = sizes[0], []
    odd = [size for size in sizes[1:] if not first or size % first or (size // first) & (size // first - 1)]
    if odd:
        words.append(f"the size {odd[0]} is no power of two times the first, {first}: slurmctld stops")
    if list(sizes) != sorted(set(sizes)):
        words.append("the sizes of blocks do not grow")
    small = [f"`{block.name}`" for block in topology.blocks if len(block.nodes) < first]
    if small:
        words.append(f"{first_few(small)} {'has' if len(small) == 1 else 'have'} fewer than {first} nodes")
    return words
