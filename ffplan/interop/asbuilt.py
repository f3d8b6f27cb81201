"""A fabric as it was built, from the output of `ibnetdiscover`, and its differences from the design."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.errors import Finding, InputError, Severity
from ffplan.base.record import record
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import AsBuiltReport, BuiltLink, DiffReport, Miswired

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network

    Peers = dict[tuple[str, int], tuple[str, int]]

_NODE = re.compile(r'^(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([^"]+)"(?:\s*#\s*"([^"]*)")?')
_PORT = re.compile(r'^\[(\d+)\](?:\([0-9a-fA-Fx]+\))?\s+"([^"]+)"\[(\d+)\]')
_ATTRIBUTE = re.compile(r"^(vendid|devid|sysimgguid|switchguid|caguid|rtguid|hcaguid)=")
_ADAPTER = re.compile(r"^(\S+)\s+(?:mlx[45]|hfi1|mthca)_(\d+)$")
_MOST_LINES = 4_000_000


@record
class BuiltDevice:
    """A device that was found."""

    name: str
    kind: str
    """switch, host or router."""
    ports: int
    line: int


@record
class AsBuilt:
    """The fabric that was found."""

    devices: dict[str, BuiltDevice]
    peers: dict[tuple[str, int], tuple[str, int]]
    """The port at the other end of each port, ports counted from 1."""


def _fault(file: str, line: int, message: str, remedy: str) -> InputError:
    return InputError(
        Finding(
            rule="file-ibnetdiscover",
            severity=Severity.ERROR,
            file=file,
            line=line,
            column=1,
            message=message,
            remedy=remedy,
        )
    )


def _title(text: str) -> str:
    """Return a node description as ffplan names devices: `compute-0001 mlx5_0` is `compute-0001/nic0`."""
    match = _ADAPTER.match(text)
    return f"{match.group(1)}/nic{match.group(2)}" if match else text


def read_ibnetdiscover(text: str, file: str) -> AsBuilt:
    """Return the fabric that the output of `ibnetdiscover`, or an ibsim netlist, describes.

    Args:
        text: the output.
        file: its name in messages.

    Raises:
        InputError: located, where a line cannot be read, a device appears twice, or the two ends of a link disagree.
    """
    devices: dict[str, BuiltDevice] = {}
    by_id: dict[str, BuiltDevice] = {}
    raw: dict[tuple[str, int], tuple[str, int, int]] = {}
    current: tuple[str, BuiltDevice] | None = None
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        raise _fault(file, 1, f"more than {_MOST_LINES:,} lines", "split the file by subnet")
    for number, line in enumerate(lines, start=1):
        node, port = _NODE.match(line), _PORT.match(line)
        if node:
            kind = {"Switch": "switch", "Rt": "router"}.get(node.group(1), "host")
            device = BuiltDevice(_title(node.group(4) or node.group(3)), kind, int(node.group(2)), number)
            if node.group(3) in by_id:
                raise _fault(
                    file,
                    number,
                    f"`{node.group(3)}` is described twice, first in line {by_id[node.group(3)].line}",
                    "keep one",
                )
            if device.name in devices:  # such as the aggregation nodes of switches, which all have one description
                device = replace(device, name=f"{device.name} ({node.group(3)})")
            devices[device.name] = by_id[node.group(3)] = device
            current = (node.group(3), device)
        elif port:
            if current is None:
                raise _fault(file, number, "a port before any device", 'start with a line such as `Switch 40 "S-1"`')
            own = int(port.group(1))
            if not 1 <= own <= current[1].ports:
                raise _fault(
                    file, number, f"port {own} of `{current[1].name}`, which has {current[1].ports}", "correct the port"
                )
            if (current[0], own) in raw:
                raise _fault(file, number, f"port {own} of `{current[1].name}` is listed twice", "keep one")
            raw[(current[0], own)] = (port.group(2), int(port.group(3)), number)
        elif line.strip() and not line.lstrip().startswith("#") and not _ATTRIBUTE.match(line.strip()):
            raise _fault(
                file,
                number,
                f"`{line.strip()[:50]}` is neither a device nor a port",
                "give the output of `ibnetdiscover` as it is",
            )
    if not devices:
        raise _fault(file, 1, "no device is described", "give the output of `ibnetdiscover`")
    return AsBuilt(devices, _peers(by_id, raw, file))


def _peers(
    by_id: dict[str, BuiltDevice], raw: dict[tuple[str, int], tuple[str, int, int]], file: str
) -> dict[tuple[str, int], tuple[str, int]]:
    peers = {}
    for (device, port), (other, other_port, line) in raw.items():
        if other not in by_id:
            raise _fault(file, line, f"`{other}` is wired to, and described nowhere", "give the whole output")
        back = raw.get((other, other_port))
        if back is None or back[:2] != (device, port):
            what = "does not list this link" if back is None else "names another port at its end"
            raise _fault(
                file,
                line,
                f"port {other_port} of `{by_id[other].name}` {what}",
                "the two ends of a link must name each other",
            )
        peers[(by_id[device].name, port)] = (by_id[other].name, other_port)
        peers[(by_id[other].name, other_port)] = (by_id[device].name, port)
    return peers


def designed(network: Network, names: Names, inside: Bools) -> dict[tuple[str, int], tuple[str, int]]:
    """Return the port at the other end of each port of a design, ports counted from 1.

    Args:
        network: the fabric as designed.
        names: names of its devices.
        inside: the devices to look at, shape (switches + endpoints,).
    """
    titles = names.devices()
    k = network.links
    kept = inside[k.a] & inside[k.b]
    first = len(network.switches)
    peers = {}
    rows = zip(*(column[kept].tolist() for column in (k.a, k.a_port, k.b, k.b_port)), strict=True)
    for a, a_port, b, b_port in rows:
        one = (titles[a], 1 if a >= first else a_port + 1)
        two = (titles[b], b_port + 1)
        peers[one], peers[two] = two, one
    return peers


def _port(end: tuple[str, int]) -> str:
    return f"{end[0]}/p{end[1]}"


def compare(wanted: Peers, built: AsBuilt, design: str, version: str) -> DiffReport:
    """Return the differences of a fabric as built from the design.

    A link is miswired where one of its ends is right and the other is not; missing where neither of its ports is in use
    for another; extra where neither end is in the design.

    Args:
        wanted: the fabric as designed, as `designed` returns it.
        built: the fabric as built.
        design: name of the design.
        version: version of the JSON format.
    """
    known = {name for name, _ in wanted}
    absent = sorted(known - set(built.devices))
    unknown = sorted(set(built.devices) - known)
    missing, extra, miswired, same = [], [], [], 0
    for one, two in sorted(wanted.items()):
        if one > two:
            continue
        found_one, found_two = built.peers.get(one), built.peers.get(two)
        if found_one == two:
            same += 1
        elif found_one is None and found_two is None:
            missing.append((_port(one), _port(two)))
        else:
            for end, other, found in ((one, two, found_one), (two, one, found_two)):
                if found is not None:
                    miswired.append(Miswired(_port(end), _port(other), _port(found)))
    for one, two in sorted(built.peers.items()):
        if one < two and one not in wanted and two not in wanted:
            extra.append((_port(one), _port(two)))
    return DiffReport(
        schema_version=version,
        design=design,
        same=same,
        absent=tuple(absent),
        unknown=tuple(unknown),
        missing=tuple(missing),
        extra=tuple(extra),
        miswired=tuple(miswired),
    )


def as_built_report(built: AsBuilt, file: str) -> AsBuiltReport:
    """Return a fabric as built: switches, hosts and links by name.

    Args:
        built: the fabric.
        file: file that it was read from.
    """
    links = sorted((one, two) for one, two in built.peers.items() if one < two)

    def names(kind: str) -> tuple[str, ...]:
        return tuple(sorted(device.name for device in built.devices.values() if device.kind == kind))

    return AsBuiltReport(
        schema_version=SCHEMA_VERSION,
        file=file,
        switches=names("switch"),
        hosts=names("host"),
        links=tuple(BuiltLink(f"{one[0]}/p{one[1]}", f"{two[0]}/p{two[1]}") for one, two in links),
    )
