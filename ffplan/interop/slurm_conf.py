"""Lines of Slurm's `topology.conf` and of `scontrol show topology`, and what Slurm would refuse of a topology."""

from __future__ import annotations

import re
import stat
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError, located
from ffplan.base.files import is_regular, read_limited, text_lines, text_of
from ffplan.base.formatting import first_few, plural
from ffplan.base.hostlist import unfold
from ffplan.base.record import record
from ffplan.results.as_built import SlurmBlock, SlurmSwitch, SlurmTopology

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MOST_BYTES = 16 * 2**20
"""Most of all files together [byte]."""
_MOST_FILES = 10_000
"""Most files that are included [1]."""
_HOW = "give topology.conf or topology.yaml as slurmctld reads it"
_INCLUDE = re.compile(r"include\s+(\S+)\s*(.*)", re.IGNORECASE)
_HASH = re.compile(r"(?<!\\)#.*")


def _fault(file: str, line: int, message: str, remedy: str = _HOW) -> InputError:
    return located("file-slurm", file, (line, 1), message, remedy)


@record
class _ConfLine:
    file: str
    line: int
    text: str
    rest: str = ""
    """Text behind the name of an included file, which is an error to Slurm."""


def _joined(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of a configuration without comments, joined where one goes on in the next."""
    held, start = "", first
    for number, line in enumerate(text_lines(text), start=first):
        start = start if held else number
        content = _HASH.sub("", line).rstrip()
        if content.endswith("\\"):
            held += content[:-1]
            continue
        if (whole := (held + content).strip()) != "":
            yield start, whole
        held = ""
    if held.strip():
        yield start, held.strip()


class _Includes:
    """The files that a configuration may include: from its folder, or from its ConfigMap.

    Slurm 22.05 looks for a file in the folder of the one that includes it (tried); this class takes the first folder.
    """

    def __init__(self, file: str, held: dict[str, tuple[int, str]] | None = None) -> None:
        self.file = file
        self.folder = Path(file).parent
        self.held = held
        """First line and text of the files of a ConfigMap, by name."""
        self.left_bytes, self.left_files = MOST_BYTES, _MOST_FILES

    def lines(self, text: str, first: int) -> Iterator[_ConfLine]:
        """Yield every line of a configuration, with included files in the place of `Include`."""
        real_path = str(Path(self.file).resolve())
        open_files = [(real_path, self.file, _joined(text, first))]
        while open_files:
            _, file, waiting = open_files[-1]
            line, row = next(waiting, (0, ""))
            if not line:
                open_files.pop()
                continue
            match = _INCLUDE.fullmatch(row)
            if match is None:
                yield _ConfLine(file, line, row)
                continue
            key, shown, start, inner = self._read(name := match[1], file, line)
            if key in (known for known, _, _ in open_files):
                raise _fault(file, line, f"`{name[:60]}` includes itself", "remove this `Include`")
            if match[2]:
                yield _ConfLine(file, line, "", match[2])
            open_files.append((key, shown, _joined(inner, start)))

    def _read(self, name: str, file: str, line: int) -> tuple[str, str, int, str]:
        """Read an included file; return its identity, its name in messages, its first line and its text."""
        self.left_files -= 1
        if self.left_files < 0:
            raise _fault(file, line, f"more than {_MOST_FILES:,} files are included", "merge them into one file")
        if self.held is not None:
            if name not in self.held:
                raise _fault(file, line, f"`{name[:60]}` is included, but the ConfigMap lacks it", "add it to `data`")
            start, text = self.held[name]
            self._count(len(text), file, line)
            return name, self.file, start, text
        path = Path(file).parent / name
        if not is_regular(path) and is_regular(self.folder / name):
            path = self.folder / name
        raw = self._bytes(path, name, file, line)
        self._count(len(raw), file, line)
        if (content := text_of(raw)) is None:
            raise _fault(str(path), 1, "this is no text")
        return str(path.resolve()), str(path), 1, content

    def _bytes(self, path: Path, name: str, file: str, line: int) -> bytes:
        beside = "put it beside the file that includes it, or correct the name: Slurm takes no quotes and no patterns"
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise _fault(file, line, f"`{name[:60]}` is included, but is not a regular file", beside)
            raw = read_limited(path, MOST_BYTES)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise _fault(file, line, f"`{name[:60]}` is included, but cannot be read: {why}", beside) from None
        return raw if raw is not None else b" " * (MOST_BYTES + 1)

    def _count(self, size: int, file: str, line: int) -> None:
        self.left_bytes -= size
        if self.left_bytes < 0:
            raise _fault(file, line, f"the included files have more than {MOST_BYTES / 2**20:g} MiB")


def _levels_of(below: Mapping[str, Sequence[str]]) -> dict[str, int | None] | None:
    """Return the levels below each switch, None of one with an unknown switch below; None where some form a ring."""
    above: dict[str, list[str]] = {}
    for name, children in below.items():
        for child in children:
            above.setdefault(child, []).append(name)
    waiting = {name: sum(child in below for child in children) for name, children in below.items()}
    ready, level_of = [name for name, count in waiting.items() if not count], dict[str, int | None]()
    while ready:
        name = ready.pop()
        levels = [level_of.get(child) for child in below[name]]
        known = [level for level in levels if level is not None]
        level_of[name] = None if len(known) < len(levels) else max(known, default=-1) + 1
        for child in above.get(name, ()):
            waiting[child] -= 1
            ready += [child] if not waiting[child] else []
    return level_of if len(level_of) == len(below) else None


def _roots_of(switches: Sequence[SlurmSwitch]) -> tuple[str, ...]:
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
        (names, "appear twice"),
        (lost, "are listed below a switch, but not in the file: slurmctld stops"),
        (both, "have nodes and switches below them: slurmctld takes one or the other"),
        (bare, "without nodes and switches below"),
        (above, "are below several switches: a tree has one above each"),
        (shared, "belong to several leaves or blocks: Slurm uses only one of them"),
    ]
    faults = [f"{title}{first_few(f'`{name}`' for name in faulty)} {what}" for faulty, what in said if faulty]
    if len(topology.roots) > 1:
        faults.append(f"{title}{plural(len(topology.roots), 'switch', 'switches')} are at the top: no job spans them")
    return [*faults, *(f"{title}{fault}" for fault in _sizes(topology))]


def _sizes(topology: SlurmTopology) -> list[str]:
    if not topology.blocks:
        return []
    sizes = topology.block_sizes
    if not sizes:
        return ["no block sizes are given: Slurm takes the smallest block"]
    first, faults = sizes[0], []
    odd = [size for size in sizes[1:] if not first or size % first or (size // first) & (size // first - 1)]
    if odd:
        faults.append(f"the block size {odd[0]} is not the first, {first}, times a power of two: slurmctld stops")
    if list(sizes) != sorted(set(sizes)):
        faults.append("the block sizes do not increase")
    small = [f"`{block.name}`" for block in topology.blocks if len(block.nodes) < first]
    if small:
        faults.append(f"{first_few(small)} {'has' if len(small) == 1 else 'have'} fewer than {first} nodes")
    return faults


_MOST_NAMES = 1_000_000
"""Most names in the host lists of a file [1]."""
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
class _StatedNode:
    file: str
    line: int
    name: str
    nodes: tuple[str, ...]
    switches: tuple[str, ...]


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        """The file that is being read; an included one while its lines are."""
        self.top = file
        self.names = 0
        self.remarks: list[str] = []

    def remark(self, line: int, message: str) -> None:
        inside = "" if self.file == self.top else f"{self.file}, "
        self.remarks.append(f"{inside}line {line}: {message}")

    def row(self, line: int, name: str, nodes: tuple[str, ...], switches: tuple[str, ...]) -> _StatedNode:
        return _StatedNode(file=self.file, line=line, name=name, nodes=nodes, switches=switches)

    def hosts(self, value: object, line: int) -> tuple[str, ...]:
        """Return the names of a host list, or of several in a list."""
        parts = value if isinstance(value, list) else [value if value is not None else ""]
        shown = ",".join(str(part).strip().strip('"') for part in parts).replace(" ", "")
        try:
            names = unfold(_COMMAS.sub(",", shown).strip(","), _MOST_NAMES - self.names)
        except ValueError as error:
            raise _fault(self.file, line, str(error), "write names as n[001-018,020]") from None
        if odd := next((name for name in names if not _NAME.fullmatch(name)), None):
            raise _fault(self.file, line, f"`{odd[:60]}` is not a name", "write names as n[001-018,020], with commas")
        self.names += len(names)
        return tuple(names)

    def sizes(self, text: object, line: int) -> tuple[int, ...]:
        parts = text if isinstance(text, list) else str(text).split(",")
        digits = [str(part).strip() for part in parts]
        if not all(re.fullmatch("[0-9]{1,9}", part) for part in digits):
            raise _fault(self.file, line, f"`{str(text)[:40]}` is not a list of block sizes", "write them as 18,36,72")
        return tuple(map(int, digits))

    def topology(self, name: str, kind: Any, rows: list[_StatedNode], sizes: tuple[int, ...] = ()) -> SlurmTopology:
        """Return a topology; what Slurm would refuse of it is remarked."""
        levels = _levels_of({row.name: row.switches for row in rows}) if kind == "tree" else {}
        if levels is None:
            raise _fault(rows[0].file, rows[0].line, "some switches are below themselves", "correct `Switches`")
        switches = tuple(SlurmSwitch(row.name, levels[row.name], row.nodes, row.switches) for row in rows if levels)
        blocks = tuple(SlurmBlock(row.name, row.nodes) for row in rows if kind == "block")
        named = {node for row in rows for node in row.nodes}
        if "ALL" in named:
            self.remarks.append("`ALL` means every node of slurm.conf; it counts as one node here")
        topology = SlurmTopology(
            name=name,
            kind=kind,
            nodes=len(named),
            roots=_roots_of(switches),
            switches=switches,
            blocks=blocks,
            block_sizes=sizes,
        )
        self.remarks += _faults_of(topology)
        return topology


def _fields(reader: _Reader, line: int, row: str) -> dict[str, str]:
    """Return the values of a line by their keys in lower case."""
    pairs = [(name.lower(), value) for name, value in _WORD.findall(row)]
    fields = dict(pairs)
    if not set(fields) & {"switchname", "blockname", "blocksizes", "blocklevels"}:
        hint = "; this is slurm.conf" if set(fields) & set(_OWN) else ""
        raise _fault(reader.file, line, f"`{row[:60]}` is not a topology line{hint}")
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if twice:
        raise _fault(
            reader.file, line, f"`{twice[0]}` appears twice in a line", "write each switch or block on its own"
        )
    if odd := sorted(set(fields) - set(_KEYS)):
        reader.remark(line, f"`{odd[0]}` is unknown here; it is skipped")
    if loose := _WORD.sub("", row).split():
        reader.remark(line, f"`{loose[0][:40]}` is not `key=value`: slurmctld stops; it is skipped here")
    return fields


def _topologies_of_conf(reader: _Reader, text: str, first: int, includes: _Includes) -> list[SlurmTopology]:
    switches: list[_StatedNode] = []
    blocks: list[_StatedNode] = []
    sizes: tuple[int, ...] = ()
    printed: set[int] = set()
    """Sizes of blocks that scontrol prints with each block, and with each sum of blocks."""
    begun, odd = False, None
    for conf_line in includes.lines(text, first):
        reader.file, line, row = conf_line.file, conf_line.line, conf_line.text
        if not begun and "=" not in row and not conf_line.rest:  # a prompt, or what stands above a listing
            odd = odd or _fault(conf_line.file, line, f"`{row[:60]}` is not a topology line")
            reader.remark(line, f"`{row[:60]}` is not a topology line; it is skipped")
            continue
        begun = True
        if conf_line.rest:
            reader.remark(line, f"`{conf_line.rest[:40]}` follows the name of an included file: slurmctld stops")
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
    topologies = [reader.topology("", "tree", switches)] if switches else []
    topologies += [reader.topology("", "block", blocks, sizes or tuple(sorted(printed)))] if blocks else []
    if not topologies and odd is not None:
        raise odd
    if not topologies:
        raise _fault(reader.file, first, "this file names no switch and no block")
    return topologies
