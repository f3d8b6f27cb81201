"""Links that files of Ethernet fabrics declare: topology.dot of PTM, and config_db.json and minigraph.xml of SONiC."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.base.hostlist import integer
from ffplan.interop.asbuilt.ethernet import COUNTED, _EthernetDevice, _EthernetLink, _plain_name
from ffplan.interop.asbuilt.lldp import _local_name
from ffplan.interop.asbuilt.model import _fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.xml_tree import _Element

_PART = re.compile(r"""\s*(?:("(?:[^"\\]|\\.)*"|[\w.]+)(?:\s*:\s*("(?:[^"\\]|\\.)*"|[\w./-]+))?)\s*""")
_HEAD = re.compile(r"^\s*(strict\s+)?graph\b", re.IGNORECASE)
_EDGE = re.compile(r'\s*"[^"]{1,200}"\s*:\s*"[^"]{1,200}"\s*--\s*"')


def _is_dot_line(line: str) -> bool:
    return _HEAD.match(line) is not None or _EDGE.match(line) is not None


def _ends(line: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"--", re.sub(r"\[[^\[\]]*\]", "", line)):
        match = _PART.fullmatch(part)
        if match is None:
            return
        yield match[1].strip('"'), (match[2] or "").strip('"')


def _read_dot(text: str, file: str) -> list[_EthernetLink]:
    links = []
    for number, line in enumerate(text.splitlines(), start=1):
        statement = re.sub(r"(^|\s)(#|//).*", "", line).strip().rstrip(";{}").strip()
        if "--" not in statement:
            continue
        ends = list(_ends(statement))
        if len(ends) != 2 or not all(port for _, port in ends):
            message = f"`{statement[:50]}` is not a link between two ports"
            raise _fault(file, number, message, 'write "leaf01":"swp1" -- "node01":"eth0"')
        (device, port), (neighbour, peer) = ends
        link = _EthernetLink(
            device=_plain_name(device), port=port, peer=_plain_name(neighbour), peer_port=peer, line=number
        )
        links.append(link)
    if not links:
        raise _fault(file, 1, "no link is listed", 'write "leaf01":"swp1" -- "node01":"eth0"')
    return links


def _is_config_db(data: Any) -> bool:
    return isinstance(data, dict) and ("DEVICE_NEIGHBOR" in data or "DEVICE_METADATA" in data)


def _table(data: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    table = data.get(name)
    return {key: row for key, row in table.items() if isinstance(row, dict)} if isinstance(table, dict) else {}


def _gbit(text: Any) -> float:
    """Return SONiC's rate in megabits as Gb/s; 0 if absent."""
    return (integer(str(text)) or 0) / 1000


def _read_config_db(data: dict[str, Any], file: str) -> tuple[list[_EthernetLink], _EthernetDevice]:
    """Return the links that a switch declares, and the switch, which the file's stem names if the content does not."""
    local = _table(data, "DEVICE_METADATA").get("localhost", {}).get("hostname")
    device = _plain_name(str(local)) if local else _plain_name(_local_name(file))
    ports, links = _table(data, "PORT"), []
    for key, row in _table(data, "DEVICE_NEIGHBOR").items():
        port, peer = (str(row["local_port"]), key) if "local_port" in row else (key, str(row.get("name", "")))
        if not peer:
            continue
        link = _EthernetLink(
            device=device,
            port=port,
            peer=_plain_name(peer),
            peer_port=str(row.get("port", "")),
            line=1,
            gbit_s=_gbit(ports.get(port, {}).get("speed")),
        )
        links.append(link)
    if not links:
        raise _fault(file, 1, "DEVICE_NEIGHBOR lists no neighbour", "declare neighbours, or give `lldpcli` output")
    return links, _EthernetDevice(device, switch=True)


def _local(tag: str) -> str:
    """Return an element's name without its namespace."""
    return tag.rpartition(":")[2]


def _found(root: _Element, tag: str) -> list[_Element]:
    return [element for element in root.below() if _local(element.tag) == tag]


def _read_graphml(root: _Element, file: str) -> tuple[list[_EthernetLink], list[_EthernetDevice]]:
    """Return the links of GraphML as ffplan writes it, and its switches; an endpoint is a node and its NIC."""

    def inside(element: _Element) -> dict[str, str]:
        data = {child.attributes.get("key", ""): child.text for child in element.children}
        return {_local(key): value for key, value in element.attributes.items()} | data

    nodes = [inside(element) for element in _found(root, "node")]
    switches = {node.get("id", "") for node in nodes if node.get("role", "endpoint") != "endpoint"}
    links = []
    for element in _found(root, "edge"):
        edge = inside(element)
        ends: list[tuple[str, str]] = []
        for name, port in (("source", "a_port"), ("target", "b_port")):
            device, number = edge.get(name, ""), edge.get(port, "")
            node, _, nic = device.rpartition("/")
            ends.append((device, number and COUNTED.format(number)) if device in switches else (node, nic))
        if not all(part for end in ends for part in end):
            message = "an edge lacks its ends, or a_port and b_port of switches"
            raise _fault(file, element.line, message, "give the file as `ffplan fabric export --to graphml` writes it")
        (device, port), (peer, peer_port) = ends
        links.append(_EthernetLink(device=device, port=port, peer=peer, peer_port=peer_port, line=element.line))
    return links, [_EthernetDevice(name, switch=True, listed=False) for name in sorted(switches)]


def _read_minigraph(root: _Element, file: str) -> tuple[list[_EthernetLink], list[_EthernetDevice]]:
    links = []
    for element in _found(root, "DeviceLinkBase"):
        kind = next(
            (value for key, value in element.attributes.items() if _local(key) == "type"), "DeviceInterfaceLink"
        )
        if kind != "DeviceInterfaceLink":
            continue
        inside = {_local(child.tag): child.text for child in element.children}
        ends = [inside.get(name, "") for name in ("StartDevice", "StartPort", "EndDevice", "EndPort")]
        if not all(ends):
            message = "a link lacks StartDevice, StartPort, EndDevice or EndPort"
            raise _fault(file, element.line, message, "give the minigraph as it is")
        start, port, end, peer = ends
        link = _EthernetLink(
            device=_plain_name(start),
            port=port,
            peer=_plain_name(end),
            peer_port=peer,
            line=element.line,
            gbit_s=_gbit(inside.get("Bandwidth", "")),
        )
        links.append(link)
    if not links:
        others = {
            "system": "; `ffplan fabric import nccl` reads topologies of servers",
            "lldp": "; of lldpctl, its JSON: `lldpcli show neighbors -f json`",
        }
        message = f"no link between interfaces is listed; the first element is `{_local(root.tag)[:40]}`"
        raise _fault(file, 1, message, f"give SONiC's minigraph, with DeviceInterfaceLinks{others.get(root.tag, '')}")
    local = {_plain_name(child.text) for child in root.children if _local(child.tag) == "Hostname"}
    devices = []
    for element in _found(root, "Device"):
        kind = next((value for key, value in element.attributes.items() if _local(key) == "type"), "")
        name = next((child.text for child in element.children if _local(child.tag) == "Hostname"), "")
        if name:
            forwards, device = "router" in kind.lower() or "switch" in kind.lower(), _plain_name(name)
            devices.append(_EthernetDevice(device, forwards, listed=not local or device in local))
    return links, devices
