"""Neighbours by LLDP as SONiC prints them: `show lldp table`; the form is recalled."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from ffplan.interop.asbuilt.ethernet import ADDRESS, EthernetDevice, EthernetLink, plain_name
from ffplan.interop.asbuilt.lldp import local_name
from ffplan.interop.asbuilt.model import fault

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = re.compile(r"\s*LocalPort\s+RemoteDevice\s+RemotePortID\b")
_RULE = re.compile(r"\s*-+(?:\s+-+)+\s*")
_TOTAL = re.compile(r"\s*Total entries displayed:\s*([0-9]{1,6})")


def is_lldp_table_line(line: str) -> bool:
    """Return whether a line is the heading of such a table, or its end."""
    return _HEAD.match(line) is not None or _TOTAL.match(line) is not None


def _columns(rule: str) -> list[slice]:
    """Return the places of the columns: a name may hold blanks, and a cell may be empty."""
    starts = [found.start() for found in re.finditer(r"-+", rule)]
    return [slice(start, end) for start, end in zip(starts, [*starts[1:], None], strict=True)]


def _cells(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of every row of the table."""
    columns: list[slice] = []
    rows, total = 0, None
    for number, line in enumerate(StringIO(text), start=1):
        if found := _TOTAL.match(line):
            total = int(found[1])
        elif _RULE.fullmatch(line):
            columns = _columns(line)
        elif columns and line.strip() and not line.lstrip().startswith("--") and total is None:
            rows += 1
            yield number, [line[column].strip() for column in columns]
    if total is not None and total != rows:
        raise fault(file, 1, f"the table has {rows} rows, and says {total}", "give it whole")


def read_lldp_table(text: str, file: str) -> tuple[list[EthernetLink], EthernetDevice, set[str]]:
    """Return the links of one switch, the switch, and the neighbours that say that they forward.

    Args:
        text: the table, with what stands before it.
        file: its name; its stem is the switch.

    Raises:
        InputError: where a row lacks a neighbour, or there are fewer than the table says.
    """
    own = plain_name(local_name(file))
    links, forwarding = [], set()
    for number, cells in _cells(text, file):
        port, peer, peer_port, can, said = [*cells, "", "", "", "", ""][:5]
        if not port or not peer:
            raise fault(file, number, "a row without a port and a neighbour", "give the table of `show lldp table`")
        name = plain_name(peer)
        told = said if ADDRESS.match(peer_port) and said else peer_port  # hosts send their address, and a name
        links.append(EthernetLink(device=own, port=port, peer=name, peer_port=told, line=number))
        if set(can) & {"B", "R"}:
            forwarding.add(name)
    return links, EthernetDevice(own, switch=True), forwarding
