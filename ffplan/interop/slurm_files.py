"""Topology files of Slurm, read: `topology.conf` of trees and blocks, `topology.yaml`, and ConfigMaps that hold one."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ffplan.base.files import text_lines, text_of
from ffplan.base.formatting import plural
from ffplan.base.pasted import _read_pasted
from ffplan.inputs.document import parse_document
from ffplan.interop.slurm_conf import _fault, _Includes, _Reader, _topologies_of_conf
from ffplan.results.as_built import SlurmTopologyReport
from ffplan.results.design import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.inputs.document import Document
    from ffplan.results.as_built import SlurmTopology

_YAML = re.compile(r"""\s*(?:---|%|-\s|-$|\{|\[(?!\w[\w.-]*@)|["']?\w[\w.-]*["']?\s*:)""")
"""Start of the first line of a YAML or JSON document; lines of topology.conf have `=`, and `[root@host` is a prompt."""
_BLOCK = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?$")
"""End of a line in YAML whose text starts in the next."""
_PART = re.compile(r"---(?:\s|$)")
"""Start of a YAML document behind another."""
_HELD = ("topology.yaml", "topology.conf")
"""Files that a ConfigMap may hold."""
_FORMS = ("tree", "block", "flat", "ring", "torus3d")


def read_slurm(data: bytes, file: str) -> SlurmTopologyReport:
    """Read a topology file of Slurm, as it is or as it was pasted.

    Raises:
        InputError: located, if the file is no topology, or its switches and blocks have no nodes.
    """
    text = text_of(data)
    if text is None:
        raise _fault(file, 1, "this is no text")
    report, around = _read_pasted(lambda plain: _report(plain, file), text)
    passed = (f"skipped {plural(around, 'line')} around the blocks of code",) * bool(around)
    return replace(report, remarks=(*passed, *report.remarks))


def _report(text: str, file: str) -> SlurmTopologyReport:
    reader = _Reader(file)
    topologies = _topologies(reader, text, 1, _Includes(file))
    if not any(topology.nodes for topology in topologies) and any(
        topology.switches or topology.blocks for topology in topologies
    ):
        raise _fault(file, 1, "no switch and no block has nodes")
    return SlurmTopologyReport(
        schema_version=SCHEMA_VERSION, file=file, topologies=tuple(topologies), remarks=tuple(reader.remarks)
    )


def _topologies(reader: _Reader, text: str, first: int, includes: _Includes) -> list[SlurmTopology]:
    """Return the topologies of a text: of YAML or JSON by how its first line starts, else of `topology.conf`."""
    line = next((line for line in text_lines(text) if line.strip() and not line.lstrip().startswith("#")), "")
    return _of_yaml(reader, text) if _YAML.match(line) else _topologies_of_conf(reader, text, first, includes)


def _documents(reader: _Reader, text: str) -> list[Document]:
    """Return the YAML documents of a text, as `helm template` joins them; lines keep their numbers."""
    lines = text_lines(text, ends=True)
    starts = [0, *(place for place, line in enumerate(lines) if _PART.match(line)), len(lines)]
    documents = []
    for start, end in pairwise(starts):
        content = [line for line in lines[start:end] if line.strip() and not _PART.match(line)]
        if not all(line.lstrip().startswith("#") for line in content):
            documents.append(parse_document(("\n" * start + "".join(lines[start:end])).encode(), reader.file))
    return documents or [parse_document(text.encode(), reader.file)]


def _config_maps(document: Document) -> list[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Return the data of the ConfigMaps of a document with their places: of one, or of a list as kubectl writes it."""
    data = document.data
    several = isinstance(data, dict) and isinstance(data.get("items"), list)
    items = [(("items", place), entry) for place, entry in enumerate(data["items"])] if several else [((), data)]
    return [
        ((*place, "data"), entry["data"])
        for place, entry in items
        if isinstance(entry, dict) and isinstance(entry.get("data"), dict)
    ]


def _of_yaml(reader: _Reader, text: str) -> list[SlurmTopology]:
    documents = _documents(reader, text)
    maps = [(document, place, data) for document in documents for place, data in _config_maps(document)]
    holding = [config_map for config_map in maps if any(isinstance(config_map[2].get(name), str) for name in _HELD)]
    if holding:
        (document, place, data), *others = holding
        held = {name: text for name, text in data.items() if isinstance(text, str)}
        key = next(name for name in _HELD if name in held)
        reader.remarks.append("read from a ConfigMap")
        if others:
            reader.remarks.append(f"{plural(len(others), 'further ConfigMap')} with a topology: the first is read")
        lines = text_lines(text)
        starts = {name: document.place((*place, name))[0] for name in held}
        files = {name: (line + bool(_BLOCK.search(lines[line - 1])), held[name]) for name, line in starts.items()}
        return _topologies(reader, held[key], files[key][0], _Includes(reader.file, files))
    if maps:
        raise _fault(reader.file, 1, "the ConfigMap holds no topology.conf")
    for document in documents:
        items = document.data if isinstance(document.data, list) else [document.data]
        if items and all(isinstance(entry, dict) and any(form in entry for form in _FORMS) for entry in items):
            return [_of_item(reader, entry, document.place((place,))[0]) for place, entry in enumerate(items)]
    raise _fault(reader.file, 1, "this YAML has no topologies")


def _of_item(reader: _Reader, entry: dict[str, Any], line: int) -> SlurmTopology:
    kind = next(form for form in _FORMS if form in entry)
    name = str(entry.get("topology", ""))
    if sum(form in entry for form in _FORMS) > 1:
        reader.remarks.append(f"`{name}` has several kinds, and Slurm takes one: `{kind}` is read")
    if kind not in ("tree", "block"):
        nodes = tuple(node for names in _below(entry[kind], "nodes") for node in reader.hosts(names, line))
        if kind != "flat":
            reader.remarks.append(f"`{name}`: of a {kind} the nodes are counted, and their places are not read")
        return reader.topology(name, kind, [reader.row(line, name, nodes, ())])
    content = entry[kind] if isinstance(entry[kind], dict) else {}
    list_of, title = ("switches", "switch") if kind == "tree" else ("blocks", "block")
    listed_rows = content.get(list_of)
    if not isinstance(listed_rows, list) or not all(isinstance(row, dict) and row.get(title) for row in listed_rows):
        raise _fault(reader.file, line, f"`{kind}` of `{name}` has no list of {plural(2, title, list_of)[2:]}")
    rows = [
        reader.row(line, switch, reader.hosts(row.get("nodes"), line), reader.hosts(row.get("children"), line))
        for row in listed_rows
        for switch in reader.hosts(row[title], line)
    ]
    said = content.get("block_sizes")
    return reader.topology(name, kind, rows, reader.sizes(said, line) if said else ())


def _below(data: Any, key: str) -> Iterator[Any]:
    """Yield the values of a key, wherever it stands."""
    if isinstance(data, dict):
        for name, value in data.items():
            if name == key:
                yield value
            else:
                yield from _below(value, key)
    elif isinstance(data, list):
        for value in data:
            yield from _below(value, key)
