"""Topology files of Slurm, read: `topology.conf` of trees and blocks, `topology.yaml`, and ConfigMaps that hold one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError, located
from ffplan.base.formatting import plural
from ffplan.base.hostlist import unfold
from ffplan.base.record import record
from ffplan.inputs.document import parse_document
from ffplan.interop.slurm_faults import faults_of, levels_of, roots_of
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.slurm_topology import SlurmBlock, SlurmSwitch, SlurmTopology, SlurmTopologyReport

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 16 * 2**20
"""Largest file read [byte]."""
MOST_NAMES = 1_000_000
"""Most names that the host lists of a file may stand for [1]."""
_WORD = re.compile(r'(\w+)\s*=\s*("[^"]*"|\S+)')
_KEYS = ("switchname", "nodes", "switches", "linkspeed", "blockname", "blocksizes", "blocklevels", "children")
_HELD = ("topology.yaml", "topology.conf")
"""Files that a ConfigMap may hold."""
_FORMS = ("tree", "block", "flat", "ring", "torus3d")
_HOW = "give topology.conf or topology.yaml as slurmctld reads it"


@record
class _Row:
    """A line of the file, or an item of the YAML."""

    line: int
    name: str
    nodes: tuple[str, ...]
    switches: tuple[str, ...]


def _fault(file: str, line: int, message: str, remedy: str = _HOW) -> InputError:
    return located("file-slurm", file, (line, 1), message, remedy)


class _Reader:
    """Names of a file so far."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.names = 0
        self.remarks: list[str] = []

    def hosts(self, text: object, line: int) -> tuple[str, ...]:
        """Return the names of a host list.

        Raises:
            InputError: located, where it is none, or a file names more than any cluster has.
        """
        shown = str(text if text is not None else "").strip().strip('"')
        try:
            found = unfold(shown.replace(" ", ""), MOST_NAMES - self.names)
        except ValueError as error:
            raise _fault(self.file, line, str(error), "write names as n[001-018,020]") from None
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
            raise _fault(self.file, line, f"`{str(text)[:40]}` are no sizes of blocks", "write them as 18,36,72")
        return tuple(map(int, digits))

    def topology(self, name: str, kind: Any, rows: list[_Row], sizes: tuple[int, ...] = ()) -> SlurmTopology:
        """Return a topology; what Slurm would refuse of it is remarked.

        Raises:
            InputError: located, where switches are below themselves.
        """
        levels = levels_of({row.name: row.switches for row in rows}) if kind == "tree" else {}
        if levels is None:
            raise _fault(self.file, rows[0].line, "some switches are below themselves", "correct `Switches`")
        switches = tuple(SlurmSwitch(row.name, levels[row.name], row.nodes, row.switches) for row in rows if levels)
        blocks = tuple(SlurmBlock(row.name, row.nodes) for row in rows if kind == "block")
        made = SlurmTopology(
            name=name,
            kind=kind,
            nodes=len({node for row in rows for node in row.nodes}),
            roots=roots_of(switches),
            switches=switches,
            blocks=blocks,
            block_sizes=sizes,
        )
        self.remarks += faults_of(made)
        return made


def read_slurm(data: bytes, file: str) -> SlurmTopologyReport:
    """Return what a topology file of Slurm says.

    Args:
        data: the file.
        file: its name in messages.

    Raises:
        InputError: located, where it is no such file.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _fault(file, 1, "this is no text") from None
    reader = _Reader(file)
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    yaml = bool(re.match(r"\s*(---|-\s|-$|[A-Za-z]\w*\s*:)", first))
    topologies = _of_yaml(reader, text) if yaml else _of_conf(reader, text, 1)
    return SlurmTopologyReport(
        schema_version=SCHEMA_VERSION, file=file, topologies=tuple(topologies), remarks=tuple(reader.remarks)
    )


def _lines(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a configuration without comments, joined where one goes on in the next."""
    held, start = "", first
    for number, line in enumerate(text.splitlines(), start=first):
        start = start if held else number
        own = re.sub(r"(^|\s)#.*", "", line).rstrip()
        if own.endswith("\\"):
            held += own[:-1]
            continue
        if (whole := (held + own).strip()) != "":
            yield start, whole
        held = ""
    if held.strip():
        yield start, held.strip()


def _of_conf(reader: _Reader, text: str, first: int) -> list[SlurmTopology]:
    """Return the topologies of a `topology.conf`: a tree, or blocks.

    Raises:
        InputError: located, at a line that is of neither.
    """
    switches: list[_Row] = []
    blocks: list[_Row] = []
    sizes: tuple[int, ...] = ()
    for line, row in _lines(text, first):
        fields = {name.lower(): value for name, value in _WORD.findall(row)}
        if re.match(r"include\s", row, re.IGNORECASE):
            reader.remarks.append(f"line {line}: another file is included, and is not read")
            continue
        if not fields or not set(fields) & {"switchname", "blockname", "blocksizes", "blocklevels"}:
            raise _fault(reader.file, line, f"`{row[:60]}` is no line of a topology")
        if odd := sorted(set(fields) - set(_KEYS)):
            reader.remarks.append(f"line {line}: `{odd[0]}` is not known here, and is passed over")
        nodes = reader.hosts(fields.get("nodes"), line)
        if "blockname" in fields:
            names = reader.hosts(fields["blockname"], line)
            blocks += [_Row(line, name, nodes, ()) for name in names]
        elif "switchname" in fields:
            below = reader.hosts(fields.get("switches", fields.get("children")), line)
            switches += [_Row(line, name, nodes, below) for name in reader.hosts(fields["switchname"], line)]
        if said := fields.get("blocksizes", fields.get("blocklevels")):
            sizes = reader.sizes(said, line)
    made = [reader.topology("", "tree", switches)] if switches else []
    made += [reader.topology("", "block", blocks, sizes)] if blocks else []
    if not made:
        raise _fault(reader.file, first, "this file names no switch and no block")
    return made


def _of_yaml(reader: _Reader, text: str) -> list[SlurmTopology]:
    """Return the topologies of a `topology.yaml`, or of the file that a ConfigMap holds.

    Raises:
        InputError: located, where it is no such file.
    """
    document = parse_document(text.encode(), reader.file)
    data = document.data
    if isinstance(data, dict) and isinstance(data.get("data"), dict):
        held = next((data["data"][name] for name in _HELD if isinstance(data["data"].get(name), str)), None)
        if held is None:
            raise _fault(reader.file, 1, "the ConfigMap holds no topology.conf")
        line = document.place(("data",))[0]
        reader.remarks.append("read from a ConfigMap: lines are counted from its data")
        return _of_yaml(reader, held) if held.lstrip().startswith("-") else _of_conf(reader, held, line)
    items = data if isinstance(data, list) else [data]
    if not items or not all(isinstance(item, dict) and any(form in item for form in _FORMS) for item in items):
        raise _fault(reader.file, 1, "this YAML has no topologies")
    return [_of_item(reader, item, document.place((place,))[0]) for place, item in enumerate(items)]


def _of_item(reader: _Reader, item: dict[str, Any], line: int) -> SlurmTopology:
    """Return a topology of a `topology.yaml`."""
    kind = next(form for form in _FORMS if form in item)
    name = str(item.get("topology", ""))
    if sum(form in item for form in _FORMS) > 1:
        reader.remarks.append(f"`{name}` has several kinds, and Slurm takes one: `{kind}` is read")
    if kind not in ("tree", "block"):
        return reader.topology(name, kind, [])
    own = item[kind] if isinstance(item[kind], dict) else {}
    list_of, title = ("switches", "switch") if kind == "tree" else ("blocks", "block")
    found = own.get(list_of)
    if not isinstance(found, list) or not all(isinstance(row, dict) and row.get(title) for row in found):
        raise _fault(reader.file, line, f"`{kind}` of `{name}` has no list of {plural(2, title, list_of)[2:]}")
    rows = [
        _Row(line, each, reader.hosts(row.get("nodes"), line), reader.hosts(row.get("children"), line))
        for row in found
        for each in reader.hosts(row[title], line)
    ]
    said = own.get("block_sizes")
    return reader.topology(name, kind, rows, reader.sizes(said, line) if said else ())
