"""Output of `nvidia-smi -q -x` and `topo -m`, ibstat and ibdiagnet: paths, widths, generations and rates of links."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from xml.parsers import expat

from ffplan.base.hostlist import integer
from ffplan.base.record import record
from ffplan.interop.asbuilt.infiniband import _active_rate, _db_csv_tables, _signalled
from ffplan.interop.logs.measured import Found, _fault, _number_of, _refuse, _stem, _unread
from ffplan.results.acceptance import Measured

if TYPE_CHECKING:
    from ffplan.interop.asbuilt.infiniband import Rows

_END = r"\{\s*(CA|SW)\b((?:[^{}]|\{[^{}]{0,200}\}){0,600})\}"
"""An end of a link: newer versions put the node's name in separate braces between the GUIDs and `LID`."""
_LST = re.compile(rf"{_END}\s*{_END}\s*PHY=([0-9]{{1,3}})x\s+LOG=(\w+)\s+SPD=([0-9.]{{1,12}})")
_NAME = re.compile(r"\{\s*([^{}]{1,200}?)\s*\}")
_GUID = re.compile(r"NodeGUID:(?:0x)?([0-9a-fA-F]+)")
_PORT = re.compile(r"\bPN:([0-9A-Fa-f]{1,8})\b")
_GBYTE = 8.0
"""Bits of a byte."""
_MOST_DEPTH = 40


def _is_smi(text: str) -> bool:
    """Return whether a text is output of `nvidia-smi -q -x`."""
    return "<nvidia_smi_log" in text


def _read_smi(text: str, file: str) -> list[Measured]:
    """Return width and largest generation of each GPU's PCIe link.

    The current generation falls to 1 on an idle GPU and says nothing; the current width does not.
    """
    start_at = min(place for mark in ("<!DOCTYPE", "<nvidia_smi_log") if (place := text.find(mark)) >= 0)
    before, (body, tail, _) = text[:start_at], text[start_at:].rpartition("</nvidia_smi_log>")
    text = "\n" * before.count("\n") + (body + tail or text[start_at:])
    parser = expat.ParserCreate()
    path: list[str] = []
    values: dict[str, str] = {}
    measured: list[Measured] = []
    state = {"gpu": "", "line": 1}

    def start(tag: str, attributes: dict[str, str]) -> None:
        path.append(tag)
        if len(path) > _MOST_DEPTH:
            _refuse(file, parser.CurrentLineNumber, "elements nest too deeply", "give the file as written")
        if tag == "gpu":
            values.clear()
            state.update(gpu=attributes.get("id", ""), line=parser.CurrentLineNumber)

    def data(content: str) -> None:
        if path:
            values[path[-1]] = values.get(path[-1], "") + content.strip()

    def end(tag: str) -> None:
        path.pop()
        if tag == "gpu":
            measured.extend(_gpu(values, str(state["gpu"]), int(str(state["line"])), file))

    def entity(*_: object) -> None:
        _refuse(file, parser.CurrentLineNumber, "the file declares an entity", "give the file as nvidia-smi wrote it")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = data, entity
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        message = f"not valid XML: {expat.ErrorString(error.code)}"
        _refuse(file, error.lineno, message, "give the file as nvidia-smi wrote it", error.offset + 1)
    if not measured:
        _refuse(file, 1, "no GPU with a PCIe link", "run `nvidia-smi -q -x`")
    return measured


def _gpu(values: dict[str, str], name: str, line: int, file: str) -> list[Measured]:
    rows = []
    host, part = _stem(file), f"GPU {name.removeprefix('00000000:')}"
    lanes = integer(values.get("current_link_width", "").removesuffix("x"))
    if lanes is not None:
        rows.append(Measured(check="pcie-width", value=float(lanes), host=host, part=part, file=file, line=line))
    ceilings = [values.get(tag, "") for tag in ("max_link_gen", "max_device_link_gen", "max_host_link_gen")]
    known = [generation for text in ceilings if (generation := integer(text)) is not None]
    if known:
        rows.append(
            Measured(check="pcie-generation", value=float(min(known)), host=host, part=part, file=file, line=line)
        )
    return rows


_DEVICE = re.compile(r"^\s*(?:CA '([\w.-]{1,64})'|Infiniband device '([\w.-]{1,64})' port ([0-9]{1,3}) status:)")
_FIELD = re.compile(r"^\s*(State|Rate|Link layer|Port [0-9]{1,3}|state|rate|link_layer)\s*:\s*(.{0,80}?)\s*$")
_ALONE = re.compile(r"\s*([A-Za-z_][\w.-]{0,63}):?\s*")
"""A line of the name of a host alone, as a loop prints it."""


def _is_ibstat(text: str) -> bool:
    return any(_DEVICE.match(line) for line in text.splitlines())


@record
class _Port:
    """A port of ibstat or ibstatus."""

    node: int
    """Place of its node in the file."""
    device: str
    number: str
    line: int
    fields: dict[str, tuple[int, str]]
    """Line and value, by names in small letters."""

    @property
    def part(self) -> str:
        return f"{self.device} port {self.number}" if self.number else self.device


def _ports_of(text: str) -> tuple[list[_Port], list[str]]:
    """Return the ports of a text, and the names of its nodes, empty where no line has it or of one alone; a node begins
    where a device comes again.
    """
    ports, hosts, seen, before = list[_Port](), [""], set[tuple[str, str]](), ""
    for number, content in enumerate(text.splitlines(), 1):
        if match := _DEVICE.match(content):
            device, place = match[1] or match[2], match[3] or ""
            alone = _ALONE.fullmatch(before)
            if (device, place) in seen:
                hosts.append("")
                seen.clear()
            if alone and not seen:
                hosts[-1] = alone[1]
            seen.add((device, place))
            ports.append(_Port(node=len(hosts) - 1, device=device, number=place, line=number, fields={}))
        elif ports and (field := _FIELD.match(content)):
            name, last = field[1].lower().replace("_", " "), ports[-1]
            if name.startswith("port "):
                if not last.number and not last.fields:
                    ports.pop()
                place = name.removeprefix("port ")
                ports.append(_Port(node=last.node, device=last.device, number=place, line=number, fields={}))
            else:
                last.fields.setdefault(name, (number, field[2].lower()))
        before = content if content.strip() else before
    return ports, hosts if len(hosts) > 1 else [""]


def _read_ibstat(text: str, file: str) -> list[Found]:
    """Return the rate of every port of ibstat or ibstatus [GB/s]; 0 of a port that is not active."""
    found: list[Found] = []
    ports, hosts = _ports_of(text)
    stem = _stem(file)
    for port in ports:
        host = hosts[port.node] or (f"{stem} {port.node + 1}" if len(hosts) > 1 else stem)
        state, rate, layer = (port.fields.get(name) for name in ("state", "rate", "link layer"))
        if state is None or layer is None or (rate is None and "active" in state[1]):
            found.append(_unread(file, port.line, f"{port.part} has no state, rate or link layer: it was cut", host))
            continue
        value, line = 0.0, state[0]
        if "active" in state[1] and rate is not None:
            value, line = _number_of(rate[1].partition(" ")[0], file, rate[0], "rate") / _GBYTE, rate[0]
        row = Measured(check="nic-link", value=value, host=host, part=port.part, file=file, line=line, layer=layer[1])
        found.append(row)
    if not any(isinstance(row, Measured) for row in found):
        _refuse(file, 1, "no port with a state, a rate and a link layer", "give the output of `ibstat` as printed")
    return found


def _is_ibdiagnet_lst(text: str) -> bool:
    return _LST.search(text) is not None


def _read_ibdiagnet_lst(text: str, file: str) -> list[Measured]:
    """Return the rate of every link of `ibdiagnet2.lst` [GB/s]; 0 of one that is up but not active.

    Ports are hexadecimal: a switch of 36 shows `Ports:24`.
    """
    rows = []
    for line, content in enumerate(text.splitlines(), 1):
        match = _LST.search(content)
        if match is None:
            continue
        active = match[6].upper() in ("ACT", "ACTIVE")
        rate = _signalled(float(match[7])) if active and match[7].replace(".", "", 1).isdigit() else 0.0
        if active and not rate:
            _refuse(file, line, f"no lane runs at `SPD={match[7]}`", "give the file as ibdiagnet wrote it")
        side = match[4] if match[3] == "CA" else match[2]
        name, port = _NAME.search(side) or _GUID.search(side), _PORT.search(side)
        host = name[1] if name else "unknown"
        part = f"port {int(port[1], 16)}" if port else ""
        check = "switch-link" if match[1] == match[3] == "SW" else "nic-link"
        rows.append(
            Measured(check=check, value=rate * int(match[5]) / _GBYTE, host=host, part=part, file=file, line=line)
        )
    return rows


_SUMMARY = re.compile(r"^(?:-[A-Z]-)?[ \t]*Stage[ \t]+Warnings[ \t]+Errors[ \t]+Comment[ \t]*$", re.MULTILINE)
_STAGE = re.compile(r"^(?:-[A-Z]-)?[ \t]*(\S[^\t]{0,79}?)(?:[ ]{2,}|\t+)([0-9]{1,9})[ \t]+([0-9]{1,9})(?:[ \t]|$)")

_UNCOUNTED = re.compile(r"^(?:-[A-Z]-)?[ \t]*(\S[^\t]{0,79}?)(?:[ ]{2,}|\t+)(\S{1,12})[ \t]+(\S{1,12})(?:[ \t]|$)")
"""A row whose counts are words, such as `NA` of a stage that did not run."""


def _is_ibdiagnet_log(text: str) -> bool:
    return _SUMMARY.search(text) is not None


def _read_ibdiagnet_log(text: str, file: str) -> list[Measured]:
    """Return the errors of every stage in the summary of `ibdiagnet2.log` [1].

    Warnings put a stage in doubt, and so does a stage without counts, which did not run. The table's form is recalled:
    no published log has it.
    """
    head = _SUMMARY.search(text)
    assert head is not None
    first = text.count("\n", 0, head.end()) + 1
    rows: list[Measured] = []
    for line, content in enumerate(text.splitlines()[first:], first + 1):
        row = _stage(content, file, line)
        if row is not None:
            rows.append(row)
        elif rows:
            break
    if not rows:
        _refuse(file, first, "the summary has no stage", "give the log as ibdiagnet wrote it")
    return rows


def _stage(content: str, file: str, line: int) -> Measured | None:
    """Read a row of the summary; return None for any other line."""
    match = _STAGE.match(content)
    if match is not None:
        warnings, errors = int(match[2]), int(match[3])
        doubt = f"{warnings:,} warning{'' if warnings == 1 else 's'}" if warnings else ""
    elif (match := _UNCOUNTED.match(content)) is not None:
        errors, doubt = 0, f"no error count, only `{match[3]}`"
    else:
        return None
    row = Measured(
        check="ibdiagnet-errors", value=float(errors), host=_stem(file), part=match[1].strip(), file=file, line=line
    )
    return replace(row, doubt=doubt)


def _is_ibdiagnet_csv(text: str) -> bool:
    return "START_PORTS" in text and "END_PORTS" in text


def _read_ibdiagnet_csv(text: str, file: str) -> list[Measured]:
    """Return the rate of every port of `ibdiagnet2.db_csv` that is up [GB/s]: the lesser width and speed of both its
    ends, and 0 where one is not active.

    A link of a NIC stands once, at the NIC.
    """
    devices, links, states = _db_csv_tables(text, partial(_fault, file), "NODES", "LINKS", "PORTS")
    nodes = {row["NodeGUID"]: row for _, row in devices if "NodeGUID" in row}
    switches = {guid for guid, row in nodes.items() if row.get("NodeType") == "2"}
    peers: dict[tuple[str, str], tuple[str, str]] = {}
    for _, row in links:
        near, far = ((row.get(f"NodeGuid{side}", ""), row.get(f"PortNum{side}", "")) for side in (1, 2))
        peers |= {near: far, far: near}
    ports = _ports_up(states, file)
    if not nodes:
        _refuse(file, 1, "the table NODES is missing, which tells switches from hosts", "give the whole file")
    measured = []
    for port, (line, lanes, lane) in ports.items():
        peer = peers.get(port)
        shown, check = port, "nic-link"
        if port[0] in switches:
            check = "switch-port" if peer is None else "switch-link"
            if peer is not None and peer[0] not in switches:
                if peer in ports:
                    continue  # the NIC's own port has it
                shown, check = peer, "nic-link"
        _, peer_lanes, slower = ports.get(peer or port, (line, lanes, lane))
        host = nodes.get(shown[0], {}).get("NodeDesc", shown[0] or "unknown").strip('"') or "unknown"
        value = min(lanes, peer_lanes) * min(lane, slower) / _GBYTE
        measured.append(Measured(check=check, value=value, host=host, part=f"port {shown[1]}", file=file, line=line))
    if not any(row.value for row in measured):
        _refuse(file, 1, "no active port", "give the file of a fabric that is up")
    return measured


_STARTED = ("2", "3")
"""States Initialize and Armed: the link is up, and no subnet manager has made it active."""


def _ports_up(rows: Rows, file: str) -> dict[tuple[str, str], tuple[int, int, float]]:
    """Return the line, the lanes and the rate of a lane [Gb/s] of every port that is up, by GUID and number; no lanes
    of one that is not active.
    """
    ports = {}
    for line, row in rows:
        place = (row.get("NodeGuid", "unknown"), row.get("PortNum", ""))
        if row.get("PortState") in _STARTED:
            ports[place] = (line, 0, 0.0)
            continue
        if row.get("PortState", "4") not in ("4", "N/A") or row.get("LinkWidthActv") in (None, "N/A"):
            continue
        lanes, lane = _active_rate(row)
        if not lanes or not lane:
            message = (
                f"no link has LinkWidthActv {row['LinkWidthActv']} and LinkSpeedActv {row.get('LinkSpeedActv', '')}"
            )
            _refuse(file, line, message, "give the file as ibdiagnet wrote it")
        ports[place] = (line, lanes, lane)
    return ports


_RELATION = r"(?:X|NV[0-9]{1,3}|SYS|NODE|PHB|PXB|PIX)"
_MATRIX_ROW = re.compile(rf"^[ \t|]*([A-Za-z][\w.-]{{0,40}})[ \t|]+((?:{_RELATION}(?![\w-])[ \t|]*)+)")
_MATRIX_HEAD = re.compile(r"^[ \t|]*(GPU[0-9]{1,4}(?:[ \t|]+[A-Za-z][\w.-]{0,40})*?)[ \t|]*(?:CPU Affinity.*)?$")
_MATRIX = re.compile(rf"^[ \t|]*GPU[0-9]{{1,4}}[ \t|]+(?:{_RELATION}[ \t|]+){{0,400}}X(?:[ \t|]|$)", re.MULTILINE)
_NEAR = ("PIX", "PXB")
"""Relations of devices whose path crosses no CPU."""


@record
class _DeviceMatrix:
    line: int
    heads: tuple[str, ...]
    """Devices of its columns; empty where the heading was lost."""
    rows: dict[str, list[str]]

    @property
    def names(self) -> tuple[str, ...]:
        """Devices of its columns, which are those of its rows."""
        return self.heads or tuple(self.rows)


def _is_matrix(text: str) -> bool:
    return _MATRIX.search(text) is not None


def _matrices(text: str) -> list[_DeviceMatrix]:
    """Return the matrices of a text: each begins with a heading, or where a device comes again."""
    matrices: list[_DeviceMatrix] = []
    for number, line in enumerate(text.splitlines(), 1):
        row, head = _MATRIX_ROW.match(line), _MATRIX_HEAD.match(line)
        if row is not None:
            if not matrices or row[1] in matrices[-1].rows:
                matrices.append(_DeviceMatrix(number, (), {}))
            matrices[-1].rows[row[1]] = re.findall(_RELATION, row[2])
        elif head is not None:
            matrices.append(_DeviceMatrix(number, tuple(head[1].replace("|", " ").split()), {}))
    return [matrix for matrix in matrices if matrix.rows]


def _of_matrix(matrix: _DeviceMatrix, file: str) -> list[Measured]:
    """Return the accelerators [1], the fewest links of each to another [1], and pairs with a NIC beside it [1]."""
    names = matrix.names
    gpus = [name for name in names if name.startswith("GPU")]
    lost = [name for name in gpus if len(matrix.rows.get(name, ())) != len(names)]
    if lost or not gpus:
        message = f"the row of {lost[0]} has not one cell for each column" if lost else "no row of a GPU"
        _refuse(file, matrix.line, message, "give the whole matrix of `nvidia-smi topo -m`")
    cells = {gpu: dict(zip(names, matrix.rows[gpu], strict=True)) for gpu in gpus}
    of_file = partial(Measured, host=_stem(file), file=file, line=matrix.line)
    rows = [of_file(check="accelerators", value=float(len(gpus)), part="")]
    for gpu in gpus if len(gpus) > 1 else ():
        links = min(
            float(cells[gpu][peer].removeprefix("NV")) if "NV" in cells[gpu][peer] else 0.0
            for peer in gpus
            if peer != gpu
        )
        rows.append(of_file(check="nvlinks", value=links, part=gpu.replace("GPU", "GPU ")))
    relations = [cells[gpu][name] for gpu in gpus for name in names if not name.startswith("GPU")]
    if relations:
        near = float(sum(relation in _NEAR for relation in relations))
        doubt = "" if near or "PHB" not in relations else "no PCIe switch is shown: virtual machines hide them"
        rows.append(of_file(check="near-nics", value=near, part="", doubt=doubt))
    return rows


def _read_matrix(text: str, file: str) -> list[Measured]:
    return [row for matrix in _matrices(text) for row in _of_matrix(matrix, file)]
