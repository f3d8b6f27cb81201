"""topology.dot of Cumulus' Prescriptive Topology Manager: the links that a fabric should have, or has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.interop.asbuilt.ethernet import EthernetLink, plain_name
from ffplan.interop.asbuilt.model import fault

if TYPE_CHECKING:
    from collections.abc import Iterator

_PART = re.compile(r"""\s*(?:("(?:[^"\\]|\\.)*"|[\w.]+)(?:\s*:\s*("(?:[^"\\]|\\.)*"|[\w./-]+))?)\s*""")
_HEAD = re.compile(r"^\s*(strict\s+)?graph\b", re.IGNORECASE)
_EDGE = re.compile(r'\s*"[^"]{1,200}"\s*:\s*"[^"]{1,200}"\s*--\s*"')


def is_dot_line(line: str) -> bool:
    """Return whether a line starts an undirected graph of DOT, or is an edge between two ports."""
    return _HEAD.match(line) is not None or _EDGE.match(line) is not None


def _ends(line: str) -> Iterator[tuple[str, str]]:
    """Yield device and port of every end of an edge statement."""
    for part in re.split(r"--", re.sub(r"\[[^\[\]]*\]", "", line)):
        found = _PART.fullmatch(part)
        if found is None:
            return
        yield found[1].strip('"'), (found[2] or "").strip('"')


def read_dot(text: str, file: str) -> list[EthernetLink]:
    """Return the links of a topology.dot; every end has a device and a port.

    Args:
        text: the file.
        file: its name in messages.

    Raises:
        InputError: located, where an edge cannot be read.
    """
    links = []
    for number, line in enumerate(text.splitlines(), start=1):
        statement = re.sub(r"(^|\s)(#|//).*", "", line).strip().rstrip(";{}").strip()
        if "--" not in statement:
            continue
        ends = list(_ends(statement))
        if len(ends) != 2 or not all(port for _, port in ends):
            words = f"`{statement[:50]}` is no link between two ports"
            raise fault(file, number, words, 'write "leaf01":"swp1" -- "node01":"eth0"')
        (one, port), (two, peer) = ends
        own = EthernetLink(device=plain_name(one), port=port, peer=plain_name(two), peer_port=peer, line=number)
        links.append(own)
    if not links:
        raise fault(file, 1, "no link is listed", 'write "leaf01":"swp1" -- "node01":"eth0"')
    return links
