"""Lines of Slurm's `topology.conf` and of `scontrol show topology`, and what Slurm would refuse of a topology."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import first_few, plural
from ffplan.base.hostlist import unfold
from ffplan.base.record import record
from ffplan.interop.slurm_includes import Includes, fault
from ffplan.results.slurm_topology import SlurmBlock, SlurmSwitch, SlurmTopology

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _levels_of(below: Mapping[str, Sequence[str]]) -> dict[str, int | None] | None:
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


def _roots_of(switches: Sequence[SlurmSwitch]) -> tuple[str, ...]:
    """Return the switches that are below no other."""
    held = {name for switch in switches for name in switch.switches}
    return tuple(dict.fromkeys(switch.name for switch in switches if switch.name not in held))


def _twice(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _faults_of(topology: SlurmTopology) -> list[str]:
    """List what Slurm would refuse in a topology, and what makes it place jobs badly.

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
    """List what is wrong with the sizes of blocks."""
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


_MOST_NAMES = 1_000_000
"""Most names that the host lists of a file may stand for [1]."""
_WORD = re.compile(r'(\w+)\s*=\s*("[^"]*"|\S+)')
_PRINTED = ("level", "blockindex", "blocksize")
"""Keys that `scontrol show topology` adds."""
_KEYS = (
    *("switchname", "nodes", "switches", "linkspeed", "blockname", "blocksizes", "blocklevels", "children"),
    *_PRINTED,
)
_NAME = re.compile(r"[\w.-]+")
_COMMAS = re.compile(",{2,}")
"""Commas without a name between them, which Slurm 22.05 passes over (tried)."""
_OWN = ("clustername", "slurmctldhost", "nodename", "partitionname", "topologyplugin", "selecttype")
"""Keys of slurm.conf."""


@record
class _Row:
    """A line of the file, or an item of the YAML."""

    file: str
    line: int
    name: str
    nodes: tuple[str, ...]
    switches: tuple[str, ...]


class Reader:
    """Names of a file so far."""

    def __init__(self, file: str) -> None:
        self.file = file
        """The file that is being read; an included one while its lines are."""
        self.top = file
        self.names = 0
        self.remarks: list[str] = []

    def remark(self, line: int, words: str) -> None:
        """Keep a remark on a line."""
        inside = "" if self.file == self.top else f"{self.file}, "
        self.remarks.append(f"{inside}line {line}: {words}")

    def row(self, line: int, name: str, nodes: tuple[str, ...], switches: tuple[str, ...]) -> _Row:
        """Return a row of the file that is being read."""
        return _Row(file=self.file, line=line, name=name, nodes=nodes, switches=switches)

    def hosts(self, given: object, line: int) -> tuple[str, ...]:
        """Return the names of a host list, or of a list of them.

        Raises:
            InputError: located, where it is none, or a file names more than any cluster has.
        """
        parts = given if isinstance(given, list) else [given if given is not None else ""]
        shown = ",".join(str(part).strip().strip('"') for part in parts).replace(" ", "")
        try:
            found = unfold(_COMMAS.sub(",", shown).strip(","), _MOST_NAMES - self.names)
        except ValueError as error:
            raise fault(self.file, line, str(error), "write names as n[001-018,020]") from None
        if odd := next((name for name in found if not _NAME.fullmatch(name)), None):
            raise fault(self.file, line, f"`{odd[:60]}` is no name", "write names as n[001-018,020], with commas")
        self.names += len(found)
        return tuple(found)

    def sizes(self, text: object, line: int) -> tuple[int, ...]:
        """Return the sizes of blocks.

        Raises:
            InputError: located, where one is no number.
        """
        parts = text if isinstance(text, list) else str(text).split(",")
        digits = [str(part).strip() for part in parts]
        if not all(re.fullmatch("[0-9]{1,9}", part) for part in digits):
            raise fault(self.file, line, f"`{str(text)[:40]}` are no sizes of blocks", "write them as 18,36,72")
        return tuple(map(int, digits))

    def topology(self, name: str, kind: Any, rows: list[_Row], sizes: tuple[int, ...] = ()) -> SlurmTopology:
        """Return a topology; what Slurm would refuse of it is remarked.

        Raises:
            InputError: located, where switches are below themselves.
        """
        levels = _levels_of({row.name: row.switches for row in rows}) if kind == "tree" else {}
        if levels is None:
            raise fault(rows[0].file, rows[0].line, "some switches are below themselves", "correct `Switches`")
        switches = tuple(SlurmSwitch(row.name, levels[row.name], row.nodes, row.switches) for row in rows if levels)
        blocks = tuple(SlurmBlock(row.name, row.nodes) for row in rows if kind == "block")
        named = {node for row in rows for node in row.nodes}
        if "ALL" in named:
            self.remarks.append("`ALL` stands for every node of slurm.conf, and counts as one here")
        made = SlurmTopology(
            name=name,
            kind=kind,
            nodes=len(named),
            roots=_roots_of(switches),
            switches=switches,
            blocks=blocks,
            block_sizes=sizes,
        )
        self.remarks += _faults_of(made)
        return made


def _fields(reader: Reader, line: int, row: str) -> dict[str, str]:
    """Return the values of a line by their keys in lower case.

    Raises:
        InputError: located, where it is no line of a topology, or a key stands twice.
    """
    words = [(name.lower(), value) for name, value in _WORD.findall(row)]
    fields = dict(words)
    if not set(fields) & {"switchname", "blockname", "blocksizes", "blocklevels"}:
        own = "; this is slurm.conf" if set(fields) & set(_OWN) else ""
        raise fault(reader.file, line, f"`{row[:60]}` is no line of a topology{own}")
    twice = [name for name, count in Counter(name for name, _ in words).items() if count > 1]
    if twice:
        raise fault(reader.file, line, f"`{twice[0]}` stands twice in a line", "write each switch or block on its own")
    if odd := sorted(set(fields) - set(_KEYS)):
        reader.remark(line, f"`{odd[0]}` is not known here, and is passed over")
    if loose := _WORD.sub("", row).split():
        reader.remark(line, f"`{loose[0][:40]}` is no `key=value`: slurmctld stops; it is passed over")
    return fields


def topologies_of_conf(reader: Reader, text: str, first: int, includes: Includes) -> list[SlurmTopology]:
    """Return the topologies of a `topology.conf`: a tree, or blocks.

    Args:
        reader: takes names and remarks.
        includes: the files that it may include.

    Raises:
        InputError: located, at a line that is of neither.
    """
    switches: list[_Row] = []
    blocks: list[_Row] = []
    sizes: tuple[int, ...] = ()
    printed: set[int] = set()
    """Sizes of blocks that scontrol prints with each block, and with each sum of blocks."""
    begun, odd = False, None
    for found in includes.lines(text, first):
        reader.file, line, row = found.file, found.line, found.text
        if not begun and "=" not in row and not found.rest:  # a prompt, or what stands above a listing
            odd = odd or fault(found.file, line, f"`{row[:60]}` is no line of a topology")
            reader.remark(line, f"`{row[:60]}` is no line of a topology, and is passed over")
            continue
        begun = True
        if found.rest:
            reader.remark(line, f"`{found.rest[:40]}` stands behind an included file: slurmctld stops")
            continue
        printed.update(int(size) for size in re.findall(r"\bBlockSize=([0-9]{1,9})", row))
        if re.match(r"aggregatedblock\s*=", row, re.IGNORECASE):  # sums of blocks, printed by scontrol
            continue
        fields = _fields(reader, line, row)
        below = reader.hosts(fields.get("switches", fields.get("children")), line)
        repeated = below and "level" in fields  # scontrol prints the nodes of all switches below
        nodes = () if repeated else reader.hosts(fields.get("nodes"), line)
        if "blockname" in fields:
            blocks += [reader.row(line, name, nodes, ()) for name in reader.hosts(fields["blockname"], line)]
        elif "switchname" in fields:
            switches += [reader.row(line, name, nodes, below) for name in reader.hosts(fields["switchname"], line)]
        if said := fields.get("blocksizes", fields.get("blocklevels")):
            sizes = reader.sizes(said, line)
    reader.file = reader.top
    made = [reader.topology("", "tree", switches)] if switches else []
    made += [reader.topology("", "block", blocks, sizes or tuple(sorted(printed)))] if blocks else []
    if not made and odd is not None:
        raise odd
    if not made:
        raise fault(reader.file, first, "this file names no switch and no block")
    return made
