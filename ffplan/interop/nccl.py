"""NCCL's topology XML of a server: read into the inside of a server, and written from one.

The XML has no memory and no power figures, and of CPUs and devices only their PCI ids. The server file marks the
missing figures.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.parsers import expat
from xml.sax.saxutils import escape

from ffplan.base.errors import Finding, InputError, Severity
from ffplan.base.record import record
from ffplan.inputs.emit import comment, quoted, scalar

if TYPE_CHECKING:
    from ffplan.catalog.parts import Accelerator, Server

MOST_BYTES = 4 * 2**20
"""Largest file read [byte]."""
GENERATIONS = {"2.5": 1, "5": 2, "5.0": 2, "8": 3, "8.0": 3, "16": 4, "16.0": 4, "32": 5, "32.0": 5, "64": 6, "64.0": 6}
"""PCIe generation by its rate [GT/s]."""
_SPEEDS = {1: "2.5", 2: "5", 3: "8", 4: "16", 5: "32", 6: "64"}
_BRIDGE, _GPUS, _NICS = "0x0604", ("0x0302", "0x0300", "0x0380"), ("0x0200", "0x0207")
_HEX = re.compile("[0-9a-f]{1,8}")
_WIDTH = re.compile("[0-9]{1,2}")
_MOST_DEPTH = 40


@record
class Element:
    """An XML element and its place in the file."""

    tag: str
    attributes: dict[str, str]
    line: int
    column: int
    children: list[Element]


@record
class PciDevice:
    """A GPU or NIC of the XML."""

    kind: str
    """gpu or nic."""
    pci_id: str
    """vendor:device, as in 10de:20b0."""
    generation: int | None
    lanes: int | None
    bus: str


@record
class Bridge:
    """A root port with its devices."""

    switch: bool
    """True where devices share a PCIe switch."""
    devices: list[PciDevice]


@record
class Inside:
    """The inside of a server as the XML describes it."""

    sockets: list[tuple[str, list[Bridge]]]
    """Words for the CPU, and its root ports."""
    switched: bool
    """True where GPUs reach each other through NVSwitch."""
    pairs: list[tuple[str, str]]
    """Bus ids of GPUs joined by NVLink."""


def _fault(file: str, line: int, column: int, message: str, remedy: str) -> InputError:
    return InputError(
        Finding(
            rule="file-nccl-xml",
            severity=Severity.ERROR,
            file=file,
            line=line,
            column=column,
            message=message,
            remedy=remedy,
        )
    )


def parse(data: bytes, file: str) -> Element:
    """Return the root element of an XML file.

    Args:
        data: the file.
        file: its name in messages.

    Raises:
        InputError: located, where it is no XML, carries a document type, or is too large or deep.
    """
    if len(data) > MOST_BYTES:
        raise _fault(file, 1, 1, f"larger than {MOST_BYTES // 2**20} MiB", "give the topology file of one server")
    top = Element(tag="", attributes={}, line=1, column=1, children=[])
    stack = [top]
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise _fault(
            file,
            parser.CurrentLineNumber,
            parser.CurrentColumnNumber + 1,
            "a document type is declared",
            "remove it: NCCL's files have none, and entities can be an attack",
        )

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > _MOST_DEPTH:
            raise _fault(
                file,
                parser.CurrentLineNumber,
                parser.CurrentColumnNumber + 1,
                "elements nest too deeply",
                f"stay below {_MOST_DEPTH} levels",
            )
        element = Element(
            tag=tag,
            attributes=attributes,
            line=parser.CurrentLineNumber,
            column=parser.CurrentColumnNumber + 1,
            children=[],
        )
        stack[-1].children.append(element)
        stack.append(element)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        raise _fault(file, error.lineno, error.offset + 1, f"this is no XML: {message}", "correct the file") from None
    except (UnicodeDecodeError, LookupError, ValueError) as error:
        raise _fault(file, 1, 1, f"this is no XML: {error}", "correct the file") from None
    return top.children[0]


def _pci_id(element: Element, file: str) -> str:
    parts = []
    for name in ("vendor", "device"):
        text = element.attributes.get(name, "").lower().removeprefix("0x")
        if not _HEX.fullmatch(text):
            raise _fault(
                file, element.line, element.column, f"a PCI device without `{name}`", f'write `{name}="0x..."`'
            )
        parts.append(text)
    return ":".join(parts)


def _device(element: Element, kind: str, file: str) -> PciDevice:
    speed = element.attributes.get("link_speed", "").split(" ")[0]
    width = element.attributes.get("link_width", "")
    generation = GENERATIONS.get(speed)
    if speed and generation is None:
        raise _fault(
            file,
            element.line,
            element.column,
            f"`link_speed` is `{speed[:20]}`",
            f"write one of {', '.join(_SPEEDS.values())} GT/s",
        )
    if width and not _WIDTH.fullmatch(width):
        raise _fault(
            file, element.line, element.column, f"`link_width` is `{width[:20]}`", "write a number of lanes, 1 to 99"
        )
    return PciDevice(
        kind=kind,
        pci_id=_pci_id(element, file),
        generation=generation,
        lanes=int(width) if width else None,
        bus=element.attributes.get("busid", ""),
    )


def _devices(element: Element, file: str) -> list[PciDevice]:
    """Return the devices at and below a PCI element; bridges below it are part of its switch."""
    pci_class = element.attributes.get("class", "").lower()
    if pci_class.startswith(_BRIDGE) or not pci_class:
        return [device for child in element.children if child.tag == "pci" for device in _devices(child, file)]
    for kind, prefixes in (("gpu", _GPUS), ("nic", _NICS)):
        if pci_class.startswith(prefixes):
            return [_device(element, kind, file)]
    return []


def read_inside(data: bytes, file: str) -> Inside:
    """Return the inside of a server from a topology file.

    Args:
        data: the file.
        file: its name in messages.

    Raises:
        InputError: located, where it is no such file.
    """
    root = parse(data, file)
    if root.tag != "system":
        raise _fault(
            file,
            root.line,
            root.column,
            f"the first element is `{root.tag[:40]}`, not `system`",
            "give a file that NCCL reads or writes (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE)",
        )
    sockets, links = [], _nvlinks(root)
    for cpu in (child for child in root.children if child.tag == "cpu"):
        words = comment(
            " ".join(
                f"{key} {cpu.attributes[key]}" for key in ("vendor", "familyid", "modelid") if key in cpu.attributes
            )
        )
        bridges = []
        for pci in (child for child in cpu.children if child.tag == "pci"):
            devices = _devices(pci, file)
            if devices:
                bridges.append(Bridge(pci.attributes.get("class", "").lower().startswith(_BRIDGE), devices))
        sockets.append((words, bridges))
    if not any(bridges for _, bridges in sockets):
        raise _fault(file, root.line, root.column, "no GPU and no NIC is listed", "give the file of a server with GPUs")
    switched = any(kind == "0x068000" for _, _, kind in links)
    pairs = sorted({(min(a, b), max(a, b)) for a, b, kind in links if kind.startswith(_GPUS)})
    return Inside(sockets, switched, [] if switched else pairs)


def _nvlinks(element: Element, bus: str = "") -> list[tuple[str, str, str]]:
    """Return (bus id, target, class of target) of every NVLink."""
    bus = element.attributes.get("busid", bus)
    found = []
    if element.tag == "nvlink":
        found.append((bus, element.attributes.get("target", ""), element.attributes.get("tclass", "").lower()))
    for child in element.children:
        found += _nvlinks(child, bus)
    return found


def server_yaml(inside: Inside, name: str, file: str, parts: dict[str, str]) -> tuple[str, list[str]]:
    """Return a server file, and the figures that it still lacks.

    Args:
        inside: the inside of the server.
        name: id of the server.
        file: the XML file, named as the source.
        parts: catalogue id of each PCI id, and of `cpu` where it is known.
    """
    lacking = ["memory of each socket", "power"]
    if "cpu" not in parts:
        kinds_of_cpu = sorted({words or "its kind is not in the file" for words, _ in inside.sockets})
        lacking.append("the CPU: " + "; ".join(kinds_of_cpu))
    gpus: list[tuple[str, PciDevice]] = []
    nics: list[tuple[str, PciDevice]] = []
    lines = [
        "kind: server",
        f"id: {scalar(name)}",
        f"name: {scalar(name)}",
        "vendor: unknown",
        f"note: {quoted(f'Read from {file}: PCIe alone; memory and power are not in such a file.')}",
        "sources:",
        f'  xml: {{title: {quoted(f"NCCL topology file {file}")}, date: "unknown", grade: datasheet, status: V}}',
        "sockets:",
    ]
    for number, (words, bridges) in enumerate(inside.sockets):
        lines += [
            f"  - id: cpu{number}",
            f"    cpu: {scalar(parts.get('cpu', 'unknown'))}  # {words}".rstrip(" #"),
            "    memory: {}  # fill in",
        ]
        lines += ["    root_ports:"] if bridges else []
        for position, bridge in enumerate(bridges):
            port = f"cpu{number}-rp{position}"
            lines.append(f"      - {{id: {port}, pcie_switch: {str(bridge.switch).lower()}}}")
            for device in bridge.devices:
                (gpus if device.kind == "gpu" else nics).append((port, device))
    kinds = {parts.get(device.pci_id, "unknown") for _, device in gpus}
    lacking += [f"the part with PCI id {pci}" for pci in sorted({d.pci_id for _, d in [*gpus, *nics]} - set(parts))]
    if gpus:
        lines += [f"accelerator: {scalar(sorted(kinds)[0])}  # PCI id {gpus[0][1].pci_id}", "accelerators:"]
        lines += [f"  - {{id: gpu{number}, root_port: {port}}}" for number, (port, _) in enumerate(gpus)]
    lines += ["nics:"] if nics else []
    for number, (port, device) in enumerate(nics):
        part = parts.get(device.pci_id, "unknown")
        lines.append(f"  - {{id: nic{number}, part: {scalar(part)}, root_port: {port}, network: both}}")
    bus = {device.bus: f"gpu{number}" for number, (_, device) in enumerate(gpus)}
    if inside.switched:
        lines.append("nvlink: {switched: true}")
    elif inside.pairs:
        shown = ", ".join(f"[{scalar(bus.get(a, a))}, {scalar(bus.get(b, b))}]" for a, b in inside.pairs)
        lines.append(f"nvlink: {{pairs: [{shown}]}}")
    elif len(gpus) > 1:
        lacking.append("`nvlink`, where the GPUs have it: this file lists none")
    lines.append("power: {}  # fill in")
    return "\n".join(lines) + "\n", lacking


def _comment(text: str) -> str:
    """Return a text that can stand in a comment of XML, which two hyphens would end."""
    return escape(comment(text)).replace("--", "- -").rstrip("-")


def topology_xml(server: Server, accelerator: Accelerator | None, pci: dict[str, str]) -> str:
    """Return a server's inside as NCCL topology XML; NVLink is left out, since NCCL finds it by itself.

    Args:
        server: the server.
        accelerator: its accelerator.
        pci: PCI id of each part, as vendor:device, by catalogue id.
    """
    lines = [
        f"<!-- {_comment(server.name)}: PCIe tree by ffplan. Bus ids are made up; NVLink is left to NCCL. -->",
        '<system version="1">',
    ]
    bus = 1
    link = accelerator.pcie if accelerator else None
    speed = _SPEEDS.get(link.generation.value, "16") if link else None
    width = f' link_speed="{speed} GT/s" link_width="{link.lanes.value}"' if link else ""
    for number, socket in enumerate(server.sockets):
        lines.append(f'  <cpu numaid="{number}" arch="x86_64">')
        for port in socket.root_ports:
            own = [
                ("0x030200", slot.id, server.accelerator or "")
                for slot in server.accelerators
                if slot.root_port == port.id
            ]
            own += [("0x020700", slot.id, slot.part) for slot in server.nics if slot.root_port == port.id]
            if not own:
                continue
            indent = "    "
            if port.pcie_switch:
                lines.append(
                    f'    <pci busid="ffff:{bus:02x}:00.0" class="0x060400" vendor="0xffff" device="0xffff"{width}>'
                )
                indent, bus = "      ", bus + 1
            for kind, slot, part in own:
                vendor, _, device = pci.get(part, "ffff:ffff").partition(":")
                lines.append(
                    f'{indent}<pci busid="0000:{bus:02x}:00.0" class="{kind}" vendor="0x{vendor}" '
                    f'device="0x{device}"{width}/> <!-- {_comment(f"{slot}: {part}")} -->'
                )
                bus += 1
            lines += ["    </pci>"] if port.pcie_switch else []
        lines.append("  </cpu>")
    return "\n".join([*lines, "</system>"]) + "\n"
