"""Files of SONiC: the neighbours that config_db.json and minigraph.xml declare for one switch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.integers import integer
from ffplan.interop.asbuilt.ethernet import EthernetDevice, EthernetLink, plain_name
from ffplan.interop.asbuilt.lldp import local_name
from ffplan.interop.asbuilt.model import fault

if TYPE_CHECKING:
    from ffplan.interop.xml_tree import Element


def is_config_db(data: Any) -> bool:
    """Return whether JSON is a SONiC configuration with neighbours."""
    return isinstance(data, dict) and ("DEVICE_NEIGHBOR" in data or "DEVICE_METADATA" in data)


def _table(data: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    found = data.get(name)
    return {key: row for key, row in found.items() if isinstance(row, dict)} if isinstance(found, dict) else {}


def _gbit(text: Any) -> float:
    """Return a rate from megabits as SONiC writes them [Gb/s]; 0 where there is none."""
    return (integer(str(text)) or 0) / 1000


def read_config_db(data: dict[str, Any], file: str) -> tuple[list[EthernetLink], EthernetDevice]:
    """Return the links that a switch declares, and the switch.

    Args:
        data: config_db.json.
        file: its name; its stem is the switch where the file does not name it.

    Raises:
        InputError: where it declares no neighbour.
    """
    local = _table(data, "DEVICE_METADATA").get("localhost", {}).get("hostname")
    own = plain_name(str(local)) if local else plain_name(local_name(file))
    ports, links = _table(data, "PORT"), []
    for key, row in _table(data, "DEVICE_NEIGHBOR").items():
        port, peer = (str(row["local_port"]), key) if "local_port" in row else (key, str(row.get("name", "")))
        if not peer:
            continue
        link = EthernetLink(
            device=own,
            port=port,
            peer=plain_name(peer),
            peer_port=str(row.get("port", "")),
            line=1,
            gbit_s=_gbit(ports.get(port, {}).get("speed")),
        )
        links.append(link)
    if not links:
        raise fault(file, 1, "DEVICE_NEIGHBOR lists no neighbour", "declare neighbours, or give `lldpcli` output")
    return links, EthernetDevice(own, switch=True)


def _local(tag: str) -> str:
    """Return an element's name without its namespace."""
    return tag.rpartition(":")[2]


def _found(root: Element, tag: str) -> list[Element]:
    """Return all elements of a name."""
    return [element for element in root.below() if _local(element.tag) == tag]


def read_minigraph(root: Element, file: str) -> tuple[list[EthernetLink], list[EthernetDevice]]:
    """Return the links of a minigraph, and its switches.

    Args:
        root: the document.
        file: its name in messages.

    Raises:
        InputError: located, where a link lacks an end.
    """
    links = []
    for item in _found(root, "DeviceLinkBase"):
        kind = next((value for key, value in item.attributes.items() if _local(key) == "type"), "DeviceInterfaceLink")
        if kind != "DeviceInterfaceLink":
            continue
        inside = {_local(child.tag): child.text for child in item.children}
        ends = [inside.get(name, "") for name in ("StartDevice", "StartPort", "EndDevice", "EndPort")]
        if not all(ends):
            words = "a link without all of StartDevice, StartPort, EndDevice and EndPort"
            raise fault(file, item.line, words, "give the minigraph as it is")
        start, port, end, peer = ends
        link = EthernetLink(
            device=plain_name(start),
            port=port,
            peer=plain_name(end),
            peer_port=peer,
            line=item.line,
            gbit_s=_gbit(inside.get("Bandwidth", "")),
        )
        links.append(link)
    if not links:
        nccl = "; `ffplan import nccl` reads topologies of servers" if root.tag == "system" else ""
        words = f"no link between interfaces is listed; the first element is `{_local(root.tag)[:40]}`"
        raise fault(file, 1, words, f"give SONiC's minigraph, with DeviceInterfaceLinks{nccl}")
    local = {plain_name(child.text) for child in root.children if _local(child.tag) == "Hostname"}
    devices = []
    for item in _found(root, "Device"):
        kind = next((value for key, value in item.attributes.items() if _local(key) == "type"), "")
        name = next((child.text for child in item.children if _local(child.tag) == "Hostname"), "")
        if name:
            forwards, own = "router" in kind.lower() or "switch" in kind.lower(), plain_name(name)
            devices.append(EthernetDevice(own, forwards, listed=not local or own in local))
    return links, devices
