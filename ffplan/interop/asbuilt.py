"""A fabric as it was built, from the output of `ibnetdiscover`."""

from __future__ import annotations

import re
from array import array
from io import StringIO

import numpy as np

from ffplan.base.array_math import Ints
from ffplan.base.errors import Finding, InputError, Severity
from ffplan.base.record import record
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import AsBuiltReport, BuiltLink

_NODE = re.compile(r'^(Switch|Ca|Hca|Rt)\s+([0-9]{1,6})\s+"([^"]+)"(?:\s*#\s*"([^"]*)")?')
_PORT = re.compile(r'^\[([0-9]{1,6})\](?:\([0-9a-fA-Fx]+\))?\s+"([^"]+)"\[([0-9]{1,6})\]')
_ATTRIBUTE = re.compile(r"^(vendid|devid|sysimgguid|switchguid|caguid|rtguid|hcaguid)=")
_ADAPTER = re.compile(r"^(\S+)\s+(?:mlx[45]|hfi1|mthca)_(\d+)$")
MOST_BYTES = 64 * 2**20
"""Largest file read [byte]."""
PORTS = 2**20
"""More than the ports of any device: end `device * PORTS + port` stands for a port."""


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

    devices: list[BuiltDevice]
    ends: Ints
    """Both ends of every link, as `device * PORTS + port`, ports counted from 1; shape (links, 2), each row and the
    rows in order."""


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


class _Reader:
    """What the lines so far describe; ports are kept as numbers, since a fabric has millions."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.ids: dict[str, int] = {}
        """Number of each device by its GUID, described or only wired to."""
        self.described: dict[int, BuiltDevice] = {}
        self.names: set[str] = set()
        self.rows = array("q")
        """End, other end and line of every port line, one after the other."""
        self.current = -1
        self.seen: set[int] = set()
        """Ports of the current device."""

    def number(self, guid: str) -> int:
        return self.ids.setdefault(guid, len(self.ids))

    def device(self, found: re.Match[str], line: int) -> None:
        kind = {"Switch": "switch", "Rt": "router"}.get(found[1], "host")
        number, name = self.number(found[3]), _title(found[4] or found[3])
        if number in self.described:
            first = self.described[number].line
            raise _fault(self.file, line, f"`{found[3]}` is described twice, first in line {first}", "keep one")
        if name in self.names:  # such as the aggregation nodes of switches, which all have one description
            name = f"{name} ({found[3]})"
        self.names.add(name)
        self.described[number] = BuiltDevice(name, kind, int(found[2]), line)
        self.current = number
        self.seen.clear()

    def port(self, found: re.Match[str], line: int) -> None:
        if self.current < 0:
            raise _fault(self.file, line, "a port before any device", 'start with a line such as `Switch 40 "S-1"`')
        own, device = int(found[1]), self.described[self.current]
        if not 1 <= own <= device.ports:
            words = f"port {own} of `{device.name}`, which has {device.ports}"
            raise _fault(self.file, line, words, "correct the port")
        if own in self.seen:
            raise _fault(self.file, line, f"port {own} of `{device.name}` is listed twice", "keep one")
        self.seen.add(own)
        other = self.number(found[2]) * PORTS + int(found[3])
        self.rows.extend((self.current * PORTS + own, other, line))


def read_ibnetdiscover(text: str, file: str) -> AsBuilt:
    """Return the fabric that the output of `ibnetdiscover`, or an ibsim netlist, describes.

    Args:
        text: the output.
        file: its name in messages.

    Raises:
        InputError: located, where a line cannot be read, a device appears twice, or the two ends of a link disagree.
    """
    reader = _Reader(file)
    for number, line in enumerate(StringIO(text), start=1):
        if found := _PORT.match(line):
            reader.port(found, number)
        elif found := _NODE.match(line):
            reader.device(found, number)
        elif line.strip() and not line.lstrip().startswith("#") and not _ATTRIBUTE.match(line.strip()):
            raise _fault(
                file,
                number,
                f"`{line.strip()[:50]}` is neither a device nor a port",
                "give the output of `ibnetdiscover` as it is",
            )
    if not reader.described:
        raise _fault(file, 1, "no device is described", "give the output of `ibnetdiscover`")
    return AsBuilt(list(reader.described.values()), _links(reader))


def _links(reader: _Reader) -> Ints:
    """Return both ends of every link, once the two ends are known to name each other; devices in described order."""
    rows: Ints = np.frombuffer(reader.rows, np.int64).reshape(-1, 3)
    one, two, line = rows[:, 0], rows[:, 1], rows[:, 2]
    place = np.full(len(reader.ids), -1, np.int64)
    place[list(reader.described)] = np.arange(len(reader.described))
    back = peer_of(np.column_stack([one, two]), two)
    wrong = np.flatnonzero((place[two // PORTS] < 0) | (back != one))
    if len(wrong):
        at = int(wrong[0])
        device, port = divmod(int(two[at]), PORTS)
        if device not in reader.described:
            guid = next(name for name, number in reader.ids.items() if number == device)
            message, remedy = f"`{guid}` is wired to, and described nowhere", "give the whole output"
        else:
            what = "does not list this link" if back[at] < 0 else "names another port at its end"
            message = f"port {port} of `{reader.described[device].name}` {what}"
            remedy = "the two ends of a link must name each other"
        raise _fault(reader.file, int(line[at]), message, remedy)
    every: Ints = place[rows[:, :2] // PORTS] * PORTS + rows[:, :2] % PORTS
    ends: Ints = every[every[:, 0] <= every[:, 1]]
    return ends[np.argsort(ends[:, 0])]


def peer_of(pairs: Ints, ends: Ints) -> Ints:
    """Return the port at the other end of each port, -1 where it is in no pair.

    Args:
        pairs: ports and their peers, shape (pairs, 2); a port stands first in one pair at most.
        ends: the ports, any shape.
    """
    if not len(pairs):
        return np.full(ends.shape, -1, np.int64)
    ranked = pairs[np.argsort(pairs[:, 0])]
    at = np.minimum(np.searchsorted(ranked[:, 0], ends), len(ranked) - 1)
    found: Ints = np.where(ranked[at, 0] == ends, ranked[at, 1], -1)
    return found


def port_name(names: list[str], end: int) -> str:
    """Return a port as reports name it, such as `leaf-07/p3`."""
    device, port = divmod(end, PORTS)
    return f"{names[device]}/p{port}"


def as_built_report(built: AsBuilt, file: str) -> AsBuiltReport:
    """Return a fabric as built: switches, hosts and links by name.

    Args:
        built: the fabric.
        file: file that it was read from.
    """
    order = sorted(range(len(built.devices)), key=lambda number: built.devices[number].name)
    names = [built.devices[number].name for number in order]
    ends = renumbered(built.ends, np.argsort(order))

    def of_kind(kind: str) -> tuple[str, ...]:
        return tuple(sorted(device.name for device in built.devices if device.kind == kind))

    return AsBuiltReport(
        schema_version=SCHEMA_VERSION,
        file=file,
        switches=of_kind("switch"),
        hosts=of_kind("host"),
        links=tuple(BuiltLink(port_name(names, one), port_name(names, two)) for one, two in ends.tolist()),
    )


def renumbered(ends: Ints, place: Ints) -> Ints:
    """Return links with other numbers of their devices, each row and the rows sorted.

    Args:
        ends: both ends of every link, shape (links, 2).
        place: the new number of each device.
    """
    found = np.sort(place[ends // PORTS] * PORTS + ends % PORTS, axis=1)
    return found[np.argsort(found[:, 0])]
