"""A fabric as built, put together as a file names its devices and ports."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import plural
from ffplan.interop.asbuilt.infiniband import _lesser
from ffplan.interop.asbuilt.model import PORTS, UNSAID, AsBuilt, _BuiltDevice, _fault, _peer_of, _renumbered

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Ints

_SHARP = re.compile(r"aggregation node", re.IGNORECASE)
"""Description of the port of a switch that reduces in the network: no host."""
_REDUCING = "parts of switches that reduce, no hosts"
_KINDS = {"S-": "switch", "R-": "router"}
"""Kind of a device by how its GUID starts in outputs of `ibnetdiscover`."""


def _reduces(device: _BuiltDevice) -> bool:
    """Tell whether a device is the aggregation node of a switch, which tools list as an adapter."""
    return device.kind == "host" and bool(_SHARP.search(device.name))


class _Builder:
    """Devices and ports as a file names them one after the other; ports are numbers, since a fabric has millions."""

    def __init__(self, file: str, form: str) -> None:
        self.file, self.form = file, form
        self.ids: dict[str, int] = {}
        """Number of each device by its key, described or only wired to."""
        self.described: dict[int, _BuiltDevice] = {}
        self.names: set[str] = set()
        self.shared: list[str] = []
        """Descriptions that several devices have."""
        self.rows = array("q")
        """End, other end, line, lanes, and 1 where it carries no traffic, of every port line, one after the other."""
        self.rates = array("d")
        """Rate of every port line [Gb/s]."""
        self.current = -1
        self.least, self.most = 0, PORTS
        """Least and highest port of the current device."""
        self.skipped = 0
        self.first_skipped = ""
        self.remarks: list[str] = []
        self.hints: dict[str, str] = {}
        """Name of a device by its key, as its neighbours write it."""

    def number(self, key: str) -> int:
        return self.ids.setdefault(key, len(self.ids))

    def device(
        self, key: str, name: str, kind: str, ports: int, line: int, *, seen: bool = True, chassis: str = ""
    ) -> int:
        """Add a device; the ports that follow are its."""
        number = self.number(key)
        if number in self.described:
            first = self.described[number].line
            raise _fault(self.file, line, f"`{key}` is described twice, first in line {first}", "keep one")
        if name in self.names:  # such as the aggregation nodes of switches, which all have one description
            self.shared.append(name)
            name = f"{name} ({key})"
        self.names.add(name)
        self.described[number] = _BuiltDevice(
            name=name, kind=kind, ports=ports, line=line, key=key, seen=seen, chassis=chassis
        )
        self.current = number
        self.least, self.most = (1, ports) if ports else (0, PORTS)
        return number

    def device_of(self, key: str, name: str, kind: str, line: int, *, seen: bool = True) -> int:
        """Look up a device by its key, and add it if it is new."""
        number = self.ids.get(key, -1)
        if number in self.described:
            return number
        return self.device(key, name, kind, 0, line, seen=seen)

    def port(self, port: int, key: str, peer: int, line: int, rate: tuple[int, float] = UNSAID) -> None:
        """Add a port of the current device, and what it is wired to."""
        if self.current < 0:
            raise _fault(self.file, line, "a port before any device", 'start with a line such as `Switch 40 "S-1"`')
        if port > self.most or port < self.least:
            device = self.described[self.current]
            message = f"port {port} of `{device.name}`, which has {device.ports}"
            raise _fault(self.file, line, message, "correct the port")
        self.end(self.current, port, self.ids.setdefault(key, len(self.ids)), peer, line, rate)

    def end(
        self,
        device: int,
        port: int,
        peer_device: int,
        peer: int,
        line: int,
        rate: tuple[int, float] = UNSAID,
        *,
        idle: bool = False,
    ) -> None:
        """Add an end of a link, with its lanes and its rate [Gb/s], and whether it is up without traffic."""
        if not (0 <= port < PORTS and 0 <= peer < PORTS):
            number = peer if 0 <= port < PORTS else port
            raise _fault(self.file, line, f"port {number:.9g}", f"a port is below {PORTS:,}")
        self.rows.extend((device * PORTS + port, peer_device * PORTS + peer, line, rate[0], idle))
        self.rates.append(rate[1])

    def skip(self, text: str, line: int) -> None:
        """Skip a line that another program wrote."""
        if not self.skipped:
            self.first_skipped = f"line {line}: `{text.strip()[:60]}`"
        self.skipped += 1

    def built(self) -> AsBuilt:
        if not self.described:
            instead = f"; {self.first_skipped} is none" if self.skipped else ""
            raise _fault(self.file, 1, f"no device is described{instead}", f"give {self.form} as it was written")
        rows: Ints = np.frombuffer(self.rows, np.int64).reshape(-1, 5) if self.rows else np.zeros((0, 5), np.int64)
        rates: Floats = np.frombuffer(self.rates, np.float64) if self.rates else np.zeros(0)
        self._once(rows)
        undescribed = self._undescribed(rows)
        remarks = list(self.remarks)
        if self.skipped:
            remarks.append(f"skipped {plural(self.skipped, 'line')} of other programs, first {self.first_skipped}")
        devices = list(self.described.values())
        place = np.full(len(self.ids), -1, np.int64)
        place[list(self.described)] = np.arange(len(devices))
        remarks += self._agree(rows, place)
        reducing = np.array([_reduces(device) for device in devices], bool)
        if reducing.any():
            numbers = np.array(list(self.described))
            remarks.append(f"left out {plural(int(reducing.sum()), 'aggregation node')}: {_REDUCING}")
            kept = ~np.isin(rows[:, :2] // PORTS, numbers[reducing]).any(axis=1)
            rows, rates = rows[kept], rates[kept]
            devices = [device for device, out in zip(devices, reducing.tolist(), strict=True) if not out]
            place[numbers] = np.cumsum(~reducing) - 1
        ends: Ints = np.sort(_renumbered(rows[:, :2], place), axis=1)
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        ends = ends[order]
        first = np.ones(len(ends), bool)
        first[1:] = (ends[1:] != ends[:-1]).any(axis=1)
        link = np.cumsum(first) - 1
        lanes, rates = _lesser(rows[order, 3], rates[order], np.flatnonzero(first))
        return AsBuilt(
            devices=devices,
            ends=ends[first],
            lanes=lanes,
            gbit_s=rates,
            idle=np.bincount(link, weights=rows[order, 4], minlength=int(first.sum())) > 0,
            form=self.form,
            remarks=tuple(remarks),
            undescribed=undescribed,
            shared=tuple(name for name in dict.fromkeys(self.shared) if not _SHARP.search(name)),
        )

    def _once(self, rows: Ints) -> None:
        """Refuse a port that is listed twice."""
        order = np.argsort(rows[:, 0], kind="stable")
        ends = rows[order, 0]
        again = order[1:][ends[1:] == ends[:-1]]
        if len(again):
            row = int(again.min())
            device, port = divmod(int(rows[row, 0]), PORTS)
            message = f"port {port} of `{self.described[device].name}` is listed twice"
            raise _fault(self.file, int(rows[row, 2]), message, "keep one")

    def _undescribed(self, rows: Ints) -> tuple[tuple[str, int], ...]:
        """Add the devices that appear only as neighbours, and return them."""
        missing = {key: number for key, number in self.ids.items() if number not in self.described}
        if not missing:
            return ()
        others, first = np.unique(rows[:, 1] // PORTS, return_index=True)
        lines = dict(zip(others.tolist(), rows[first, 2].tolist(), strict=True))
        for key, number in missing.items():
            kind = _KINDS.get(key[:2], "host")
            self.device(key, self.hints.get(key) or key, kind, 0, lines.get(number, 1), seen=False)
        verb = "is a neighbour" if len(missing) == 1 else "are neighbours"
        self.remarks.append(f"{plural(len(missing), 'device')} {verb} without an entry: the output is incomplete")
        return tuple((key, lines.get(number, 1)) for key, number in missing.items())

    def _agree(self, rows: Ints, place: Ints) -> list[str]:
        """Remark on links that only one of two listed devices has."""
        near, far, line = rows[:, 0], rows[:, 1], rows[:, 2]
        back = _peer_of(np.column_stack([near, far]), far)
        wrong = np.flatnonzero((back >= 0) & (back != near))
        if len(wrong):
            row = int(wrong[0])
            device, port = divmod(int(far[row]), PORTS)
            message = f"port {port} of `{self.described[device].name}` names another port at its end"
            remedy = "the two ends of a link must name each other"
            raise _fault(self.file, int(line[row]), message, remedy)
        listed = np.array([device.seen for device in self.described.values()], bool)
        alone = np.flatnonzero((back < 0) & listed[place[far // PORTS]])
        if not len(alone):
            return []
        count = f"{len(alone)} links are" if len(alone) > 1 else "a link is"
        return [f"{count} listed at one end only, first in line {int(line[alone[0]])}"]
