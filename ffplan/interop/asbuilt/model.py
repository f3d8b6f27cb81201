"""A fabric as it was built: devices and the links between their ports."""

from __future__ import annotations

import csv
import re
from array import array
from io import StringIO
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats, Ints
from ffplan.base.errors import InputError, located
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.results.as_built import AsBuiltReport, BuiltLink
from ffplan.results.design import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 64 * 2**20
"""Largest file read [byte]."""
PORTS = 2**20
"""More than the ports of any device: end `device * PORTS + port` stands for a port."""
SHARP = re.compile(r"aggregation node", re.IGNORECASE)
"""Description of the port of a switch that reduces in the network: no host."""
UNSAID = (0, 0.0)
"""Lanes and rate of a link where a file does not say."""


@record
class BuiltDevice:
    """A device that was found."""

    name: str
    """Its name as the file has it; made unique where several devices share one."""
    kind: str
    """switch, host or router."""
    ports: int
    """Ports it has; 0 where the file does not say."""
    line: int
    key: str = ""
    """What the file tells it by: its GUID, or its name."""
    seen: bool = True
    """True where the file lists the links of this device itself, and not from their other ends alone."""


@record
class AsBuilt:
    """The fabric that was found."""

    devices: list[BuiltDevice]
    ends: Ints
    """Both ends of every link, as `device * PORTS + port`, ports counted from 1; shape (links, 2), each row and the
    rows in order."""
    lanes: Ints
    """Lanes of every link; 0 where unknown, shape (links,)."""
    gbit_s: Floats
    """Rate of every link, one direction [Gb/s]; 0 where unknown, shape (links,)."""
    form: str
    """Format of the file."""
    remarks: tuple[str, ...] = ()
    """What was passed over, and what the file leaves open, in words."""
    shared: tuple[str, ...] = ()
    """Descriptions that several devices have, but for those of switches that reduce."""


def fault(file: str, line: int, message: str, remedy: str) -> InputError:
    """Return a located fault of a file that tells of a fabric."""
    return located("file-as-built", file, (line, 1), message, remedy)


def rows_of(text: str, file: str, first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV with the line on which each ends.

    Args:
        text: the CSV.
        file: its name in messages.
        first: number of its first line.

    Raises:
        InputError: located, where a row is no CSV.
    """
    rows = csv.reader(StringIO(text, newline=""))
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise fault(
                file, first - 1 + max(1, rows.line_num), f"this is no CSV: {error}", "correct the row"
            ) from None
        yield first - 1 + rows.line_num, row


class Builder:
    """Devices and ports as a file names them one after the other; ports are numbers, since a fabric has millions."""

    def __init__(self, file: str, form: str) -> None:
        self.file, self.form = file, form
        self.ids: dict[str, int] = {}
        """Number of each device by its key, described or only wired to."""
        self.described: dict[int, BuiltDevice] = {}
        self.names: set[str] = set()
        self.shared: list[str] = []
        """Descriptions that several devices have."""
        self.rows = array("q")
        """End, other end, line and lanes of every port line, one after the other."""
        self.rates = array("d")
        """Rate of every port line [Gb/s]."""
        self.current = -1
        self.taken: dict[int, int] = {}
        """Line of every end that was listed."""
        self.skipped = 0
        self.first_skipped = ""
        self.remarks: list[str] = []

    def number(self, key: str) -> int:
        """Return the number of a device by its key."""
        return self.ids.setdefault(key, len(self.ids))

    def device(self, key: str, name: str, kind: str, ports: int, line: int, *, seen: bool = True) -> int:
        """Add a device; the ports that follow are its.

        Raises:
            InputError: where it was described before.
        """
        number = self.number(key)
        if number in self.described:
            first = self.described[number].line
            raise fault(self.file, line, f"`{key}` is described twice, first in line {first}", "keep one")
        if name in self.names:  # such as the aggregation nodes of switches, which all have one description
            self.shared.append(name)
            name = f"{name} ({key})"
        self.names.add(name)
        self.described[number] = BuiltDevice(name=name, kind=kind, ports=ports, line=line, key=key, seen=seen)
        self.current = number
        return number

    def found(self, key: str, name: str, kind: str, line: int, *, seen: bool = True) -> int:
        """Return a device by its key; it is added where it is new."""
        number = self.ids.get(key, -1)
        if number in self.described:
            return number
        return self.device(key, name, kind, 0, line, seen=seen)

    def port(self, own: int, key: str, peer: int, line: int, rate: tuple[int, float] = UNSAID) -> None:
        """Add a port of the current device, and what it is wired to.

        Raises:
            InputError: where there is no device, no such port, or it was listed before.
        """
        if self.current < 0:
            raise fault(self.file, line, "a port before any device", 'start with a line such as `Switch 40 "S-1"`')
        device = self.described[self.current]
        if device.ports and not 1 <= own <= device.ports:
            words = f"port {own} of `{device.name}`, which has {device.ports}"
            raise fault(self.file, line, words, "correct the port")
        self.end(self.current, own, self.number(key), peer, line, rate)

    def end(self, device: int, own: int, other: int, peer: int, line: int, rate: tuple[int, float] = UNSAID) -> None:
        """Add an end of a link, with its lanes and its rate [Gb/s].

        Raises:
            InputError: where it was listed before, or a number is beyond the ports of any device.
        """
        for number in (own, peer):
            if not 0 <= number < PORTS:
                raise fault(self.file, line, f"port {number:.9g}", f"a port is below {PORTS:,}")
        end = device * PORTS + own
        if end in self.taken:
            raise fault(self.file, line, f"port {own} of `{self.described[device].name}` is listed twice", "keep one")
        self.taken[end] = line
        self.rows.extend((end, other * PORTS + peer, line, rate[0]))
        self.rates.append(rate[1])

    def skip(self, text: str, line: int) -> None:
        """Pass over a line that other programs wrote between."""
        if not self.skipped:
            self.first_skipped = f"line {line}: `{text.strip()[:60]}`"
        self.skipped += 1

    def built(self) -> AsBuilt:
        """Return the fabric.

        Raises:
            InputError: where the two ends of a link disagree, or there is no device.
        """
        if not self.described:
            raise fault(self.file, 1, "no device is described", f"give {self.form} as it was written")
        remarks = list(self.remarks)
        if self.skipped:
            remarks.append(f"passed over {plural(self.skipped, 'line')} of other programs, first {self.first_skipped}")
        devices = list(self.described.values())
        place = np.full(len(self.ids), -1, np.int64)
        place[list(self.described)] = np.arange(len(devices))
        rows: Ints = np.frombuffer(self.rows, np.int64).reshape(-1, 4) if self.rows else np.zeros((0, 4), np.int64)
        rates: Floats = np.frombuffer(self.rates, np.float64) if self.rates else np.zeros(0)
        remarks += self._agree(rows, place)
        ends: Ints = np.sort(renumbered(rows[:, :2], place), axis=1)
        told = np.where(rates > 0, rates, np.inf)  # the lower of two rates; what one end alone says holds for both
        order = np.lexsort((rows[:, 3] == 0, told, ends[:, 1], ends[:, 0]))
        ends, rates, lanes = ends[order], rates[order], rows[order, 3]
        first = np.ones(len(ends), bool)
        first[1:] = (ends[1:] != ends[:-1]).any(axis=1)
        return AsBuilt(
            devices=devices,
            ends=ends[first],
            lanes=lanes[first],
            gbit_s=rates[first],
            form=self.form,
            remarks=tuple(remarks),
            shared=tuple(name for name in dict.fromkeys(self.shared) if not SHARP.search(name)),
        )

    def _agree(self, rows: Ints, place: Ints) -> list[str]:
        """Return a remark on links that stand at one end alone, where the other end is a device of the file.

        Raises:
            InputError: where an end is nowhere described, or names another port.
        """
        one, two, line = rows[:, 0], rows[:, 1], rows[:, 2]
        back = peer_of(np.column_stack([one, two]), two)
        wrong = np.flatnonzero((place[two // PORTS] < 0) | ((back >= 0) & (back != one)))
        if len(wrong):
            at = int(wrong[0])
            device, port = divmod(int(two[at]), PORTS)
            if device not in self.described:
                key = next(name for name, number in self.ids.items() if number == device)
                message, remedy = f"`{key}` is wired to, and described nowhere", "give the whole output"
            else:
                message = f"port {port} of `{self.described[device].name}` names another port at its end"
                remedy = "the two ends of a link must name each other"
            raise fault(self.file, int(line[at]), message, remedy)
        listed = np.array([device.seen for device in self.described.values()], bool)
        alone = np.flatnonzero((back < 0) & listed[place[two // PORTS]])
        if not len(alone):
            return []
        count = f"{len(alone)} links stand" if len(alone) > 1 else "a link stands"
        return [f"{count} at one end alone, first in line {int(line[alone[0]])}"]


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


def both_ways(ends: Ints) -> Ints:
    """Return links from each of their ends, shape (2 links, 2)."""
    return np.concatenate([ends, ends[:, ::-1]])


def renumbered(ends: Ints, place: Ints) -> Ints:
    """Return ends with other numbers of their devices, shape as given.

    Args:
        ends: ends of links.
        place: the new number of each device.
    """
    found: Ints = place[ends // PORTS] * PORTS + ends % PORTS
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
    place = np.argsort(order)
    ends = np.sort(renumbered(built.ends, place), axis=1)
    rows = np.lexsort((ends[:, 1], ends[:, 0]))

    def of_kind(kind: str) -> tuple[str, ...]:
        return tuple(sorted(device.name for device in built.devices if device.kind == kind))

    return AsBuiltReport(
        schema_version=SCHEMA_VERSION,
        file=file,
        form=built.form,
        switches=of_kind("switch"),
        hosts=of_kind("host"),
        links=tuple(
            BuiltLink(port_name(names, one), port_name(names, two), rate or None, lanes or None)
            for (one, two), rate, lanes in zip(
                ends[rows].tolist(), built.gbit_s[rows].tolist(), built.lanes[rows].tolist(), strict=True
            )
        ),
        remarks=built.remarks,
    )
