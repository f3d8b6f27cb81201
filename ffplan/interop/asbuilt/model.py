"""A fabric as it was built: devices and the links between their ports."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ffplan.base.array_math import Bools, Floats, Ints
from ffplan.base.errors import InputError, located
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.results.as_built import AsBuiltReport, BuiltLink
from ffplan.results.design import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

K = TypeVar("K", bound="Hashable")


def _union_find(pairs: Iterable[tuple[K, K]]) -> dict[K, K]:
    """Return the representative of each element's connected group.

    Args:
        pairs: connected elements; repeats are fine.
    """
    parent: dict[K, K] = {}

    def root(element: K) -> K:
        while parent.setdefault(element, element) != element:
            parent[element] = parent[parent[element]]
            element = parent[element]
        return element

    for first, second in pairs:
        parent[root(first)] = root(second)
    return {element: root(element) for element in list(parent)}


MOST_BYTES = 64 * 2**20
"""Largest file that is held as a whole [byte]."""
MOST_STREAMED = 2**30
"""Largest file that is read line by line [byte]; InfiniBand of 500,000 endpoints takes 120 to 600 MB."""
PORTS = 2**20
"""More than the ports of any device: `device * PORTS + port` numbers an end."""
UNSAID = (0, 0.0)
"""Lanes and rate of a link where a file does not say."""


@record
class _BuiltDevice:
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
    chassis: str = ""
    """What the cards of one chassis share: its number, or the GUID of the system; empty where the file does not say."""
    cards: int = 0
    """Cards of a chassis that is taken as one switch; 0 of other devices."""
    printed: tuple[tuple[int, int, int], ...] = ()
    """Number, printed port and part of it, from 0, of each port whose name tells: how others are split is a guess. The
    part is -1 where the name is of a whole port."""


@record
class AsBuilt:
    """The fabric that was found."""

    devices: list[_BuiltDevice]
    ends: Ints
    """Both ends of every link, as `device * PORTS + port`, ports counted from 1; shape (links, 2), each row and the
    rows in order."""
    lanes: Ints
    """Lanes of every link; 0 where unknown, shape (links,)."""
    gbit_s: Floats
    """Rate of every link, one direction [Gb/s]; 0 where unknown, shape (links,)."""
    idle: Bools
    """True of links that are up at a port that no subnet manager has made active: no traffic, shape (links,)."""
    form: str
    """Format of the file."""
    remarks: tuple[str, ...] = ()
    """What was passed over, and what the file leaves open, in words."""
    shared: tuple[str, ...] = ()
    """Descriptions that several devices share, except switches that reduce."""
    undescribed: tuple[tuple[str, int], ...] = ()
    """Devices that others are wired to and that the file does not describe, with the first line that names each."""


def _fault(file: str, line: int, message: str, remedy: str) -> InputError:
    return located("file-as-built", file, (line, 1), message, remedy)


def _numbered(text: str | Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text, or of one too large to hold, with their numbers from 1."""
    return enumerate(StringIO(text) if isinstance(text, str) else text, start=1)


def _separator(heading: str) -> str:
    """Return what separates the columns of a table: a comma, or what spreadsheets of other countries write."""
    return "," if "," in heading else max(",;\t", key=heading.count)


def _rows_of(text: str, file: str, first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV with the line on which each ends."""
    rows = csv.reader(StringIO(text, newline=""), delimiter=_separator(text.partition("\n")[0]))
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise _fault(
                file, first - 1 + max(1, rows.line_num), f"not valid CSV: {error}", "correct the row"
            ) from None
        yield first - 1 + rows.line_num, row


def _peer_of(pairs: Ints, ends: Ints) -> Ints:
    """Return the peer of each port, which stands first in one pair at most; -1 for a port in no pair."""
    if not len(pairs):
        return np.full(ends.shape, -1, np.int64)
    ranked = pairs[np.argsort(pairs[:, 0])]
    row = np.minimum(np.searchsorted(ranked[:, 0], ends), len(ranked) - 1)
    result: Ints = np.where(ranked[row, 0] == ends, ranked[row, 1], -1)
    return result


def both_ways(ends: Ints) -> Ints:
    """Return links from each of their ends, shape (2 links, 2)."""
    return np.concatenate([ends, ends[:, ::-1]])


def _renumbered(ends: Ints, place: Ints) -> Ints:
    """Return ends with other numbers of their devices, shape as given."""
    result: Ints = place[ends // PORTS] * PORTS + ends % PORTS
    return result


def _port_name(names: list[str], end: int) -> str:
    """Return a port as reports name it, such as `leaf-07/p3`."""
    device, port = divmod(end, PORTS)
    return f"{names[device]}/p{port}"


def _idle_words(built: AsBuilt) -> tuple[str, ...]:
    """Return the remark on links that are up and not active; nothing without one."""
    rows = np.flatnonzero(built.idle).tolist()
    if not rows:
        return ()
    names = [device.name for device in built.devices]
    first = " to ".join(_port_name(names, end) for end in built.ends[rows[0]].tolist())
    return (f"{plural(len(rows), 'link')} up, but not active, so without traffic: first {first}",)


def as_built_report(built: AsBuilt, file: str) -> AsBuiltReport:
    """Return a fabric as built: switches, hosts and links by name."""
    order = sorted(range(len(built.devices)), key=lambda number: built.devices[number].name)
    names = [built.devices[number].name for number in order]
    place = np.argsort(order)
    ends = np.sort(_renumbered(built.ends, place), axis=1)
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
            BuiltLink(_port_name(names, near), _port_name(names, far), rate or None, lanes or None)
            for (near, far), rate, lanes in zip(
                ends[rows].tolist(), built.gbit_s[rows].tolist(), built.lanes[rows].tolist(), strict=True
            )
        ),
        remarks=(*built.remarks, *_idle_words(built)),
    )
