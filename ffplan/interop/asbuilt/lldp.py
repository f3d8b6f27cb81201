"""Neighbours by LLDP: JSON of lldpcli, Arista EOS, NX-OS and Junos."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ffplan.interop.asbuilt.ethernet import _EthernetDevice, _EthernetLink, _plain_name
from ffplan.interop.asbuilt.model import _fault

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORWARDS = ("bridge", "router")


def _listed(value: Any) -> list[Any]:
    """Return a value as a list: one item stands alone in some outputs."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _text(value: Any) -> str:
    """Return the text of a value, plain, in a list or under `value`."""
    first = next(iter(_listed(value)), "")
    if isinstance(first, dict):
        first = first.get("value", "")
    return first.strip() if isinstance(first, str) else ""


def _interfaces(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and content of every interface of lldpcli: an object, a list of objects of one key, or json0."""
    for top in _listed(data["lldp"]):
        for interface in _listed(top.get("interface") if isinstance(top, dict) else None):
            if not isinstance(interface, dict):
                continue
            if isinstance(interface.get("name"), str):
                yield interface["name"], interface
            else:
                yield from ((name, inside) for name, inside in interface.items() if isinstance(inside, dict))


def _chassis(interface: dict[str, Any]) -> tuple[str, bool | None]:
    """Return the name of a neighbour, and whether it forwards; None if unstated."""
    top: Any = next(iter(_listed(interface.get("chassis"))), {})
    if not isinstance(top, dict):
        return "", None
    if "id" in top or "name" in top:
        name, inside = _text(top.get("name")) or _text(top.get("id")), top
    else:
        name, inside = next(iter(top.items()), ("", {}))
        inside = inside if isinstance(inside, dict) else {}
    capabilities = [capability for capability in _listed(inside.get("capability")) if isinstance(capability, dict)]
    if not capabilities:
        return name, None
    return name, any(
        str(capability.get("type", "")).lower() in _FORWARDS and capability.get("enabled") in (True, "true", "on")
        for capability in capabilities
    )


def _port(interface: dict[str, Any]) -> str:
    """Return the name of a neighbour's port: its id where that is a name, else its description."""
    port: Any = next(iter(_listed(interface.get("port"))), {})
    if not isinstance(port, dict):
        return ""
    first: Any = next(iter(_listed(port.get("id"))), {})
    kind = first.get("type", "") if isinstance(first, dict) else ""
    port_id, described = _text(port.get("id")), _text(port.get("descr"))
    return described if kind in ("mac", "local") and described else port_id


def _lldpcli(data: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    for name, interface in _interfaces(data):
        peer, forwards = _chassis(interface)
        if peer:
            yield name, peer, _port(interface), forwards


def _arista(data: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    neighbours = data["lldpNeighbors"]
    if isinstance(neighbours, dict):
        for name, inside in neighbours.items():
            for neighbour in _listed(inside.get("lldpNeighborInfo") if isinstance(inside, dict) else None):
                port = neighbour.get("neighborInterfaceInfo", {})
                port_id = port.get("interfaceId_v2") or port.get("interfaceId") or ""
                yield (
                    name,
                    str(neighbour.get("systemName") or neighbour.get("chassisId", "")),
                    str(port_id).strip('"'),
                    None,
                )
        return
    for neighbour in _listed(neighbours):
        yield (
            str(neighbour.get("port", "")),
            str(neighbour.get("neighborDevice", "")),
            str(neighbour.get("neighborPort", "")),
            None,
        )


def _nxos(data: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    for table in _listed(data["TABLE_nbor"]):
        for neighbour in _listed(table.get("ROW_nbor") if isinstance(table, dict) else None):
            said = str(neighbour.get("system_capability", "")).upper()
            forwards = any(letter in said for letter in "BR") if said else None
            yield (
                str(neighbour.get("l_port_id", "")),
                str(neighbour.get("chassis_id", "")),
                str(neighbour.get("port_id", "")),
                forwards,
            )


def _junos(data: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    def said(neighbour: dict[str, Any], *names: str) -> str:
        return next((str(row["data"]) for name in names for row in _listed(neighbour.get(name)) if "data" in row), "")

    for table in _listed(data["lldp-neighbors-information"]):
        for neighbour in _listed(table.get("lldp-neighbor-information")):
            yield (
                said(neighbour, "lldp-local-port-id", "lldp-local-interface"),
                said(neighbour, "lldp-remote-system-name", "lldp-remote-chassis-id"),
                said(neighbour, "lldp-remote-port-id", "lldp-remote-port-description"),
                None,
            )


_FORMS = {"lldp": _lldpcli, "lldpNeighbors": _arista, "TABLE_nbor": _nxos, "lldp-neighbors-information": _junos}


def _inner(data: Any) -> Any:
    """Return the answer inside the envelopes of eAPI and NXAPI."""
    for _ in range(6):
        if not isinstance(data, dict) or data.keys() & _FORMS.keys():
            return data
        inside = next((data[key] for key in ("result", "ins_api", "outputs", "output", "body") if key in data), None)
        if inside is None:
            return data
        data = next(iter(inside), None) if isinstance(inside, list) else inside
    return data


def _is_lldp(data: Any) -> bool:
    inside = _inner(data)
    return isinstance(inside, dict) and bool(inside.keys() & _FORMS.keys())


def _local_name(file: str) -> str:
    """Return the device that an output is of, from its file: such output does not name it."""
    return file.replace("\\", "/").rpartition("/")[2].split(".")[0]


def _read_lldp(data: Any, file: str) -> tuple[list[_EthernetLink], _EthernetDevice, set[str]]:
    """Return the links of one device, the device, and the neighbours that say that they forward."""
    inside, device = _inner(data), _plain_name(_local_name(file))
    reader = next(_FORMS[key] for key in _FORMS if key in inside)
    links, forwarding = [], set()
    try:
        rows = list(reader(inside))
    except (AttributeError, TypeError):
        message = "an entry is not an LLDP neighbour"
        raise _fault(file, 1, message, "give `lldpcli show neighbors -f json0` as it is") from None
    for port, peer, peer_port, forwards in rows:
        if not port or not peer or ("lldp" not in inside and not peer_port):
            message = f"a neighbour without {'a name' if port and not peer else 'a port'}"
            raise _fault(file, 1, message, "give the output as the switch wrote it")
        name = _plain_name(peer)
        links.append(_EthernetLink(device=device, port=port, peer=name, peer_port=peer_port, line=1))
        if forwards:
            forwarding.add(name)
    return links, _EthernetDevice(device, None), forwarding


def _neighbours(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object of JSON; one that repeats a port, as lldpcli writes of two neighbours at it, as a list."""
    merged = dict(pairs)
    twice = len(merged) < len(pairs) and all(isinstance(value, dict) and "port" in value for _, value in pairs)
    return [{name: value} for name, value in pairs] if twice else merged


def _parsed(text: str, file: str) -> Any:
    """Return the JSON between prompts."""
    opened = re.search(r"[{\[](?=\s*(?:[\"{\[\]}]|-?[0-9]|$))", text)  # `[root@host` is a prompt
    if opened is None:
        return None
    start = opened.start()
    try:
        document, end = json.JSONDecoder(object_pairs_hook=_neighbours).raw_decode(text, start)
        if behind := re.search(r"[{}\[\]\"]", text[end:]):
            raise json.JSONDecodeError("another value follows", text, end + behind.start())
        return document
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise _fault(
            file, line, f"not valid JSON: {getattr(error, 'msg', 'nested too deeply')}", "give it whole"
        ) from None
