"""Outputs of `ibnetdiscover`: the listing of devices, with -g or without, netlists of ibsim, and the ports report."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.interop.asbuilt.model import Builder, fault
from ffplan.interop.asbuilt.speeds import link_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.asbuilt.model import AsBuilt

_NODE = re.compile(r"""^(Switch|Ca|Hca|CA|Rt|\?\?)\s+([0-9]{1,6})\s+"([^"]+)"(?:\s*#\s*"(.*?)"(?=\s|$))?""")
_PORT = re.compile(r'^\[([0-9]{1,6})\](?:\[ext [0-9]+\])?(?:\([0-9a-fA-Fx]+\))?\s+"([^"]+)"\s*\[([0-9]{1,6})\](.*)')
_BARE = re.compile(r"^\[[0-9]{1,6}\]\s*+(?:\(.*\))?\s*+$")
_ATTRIBUTE = re.compile(r"^(vendid|devid|sysimgguid|switchguid|caguid|rtguid|hcaguid|nodeguid|portguid)=")
_HEADS = re.compile(r"^(Non-)?Chassis\b|^Hostname:|^Topology file|^DR path|^\s*module\b", re.IGNORECASE)
_NOISE = re.compile(
    r"^(ibwarn|ibdebug|warn|debug)\b:|^(\.+/)?(src|libibnetdisc)/\S+|^\S+\.c:[0-9]+[:;]|^discovered:|^-W-|^-I-"
)
_FATAL = re.compile(r"^(ibpanic|iberror|ibdiscover: iberror)\b:?(.*)")
_LISTS = re.compile(r"^(Switch|Ca|Rt)\s*:\s*0x")
_QUOTED = r"'?(.*?)'?"
_END = r"(CA|SW|RT|\?\?)\s+([0-9]{1,6})\s+([0-9]{1,6})\s+(0x[0-9a-fA-F]{1,16})"
_REPORT = re.compile(rf"^{_END}\s+(\S+)\s+(\S+)(?:\s+-\s+{_END}\s+\(\s*{_QUOTED}\s+-\s+{_QUOTED}\s*\)|\s+{_QUOTED})$")
_KINDS = {"Switch": "switch", "Rt": "router", "SW": "switch", "RT": "router"}
_HOW = "give the output of `ibnetdiscover` as it is"


def is_report(text: str) -> bool:
    """Return whether a text has lines of `ibnetdiscover -p`."""
    return any(_REPORT.match(line.rstrip()) for line in text.splitlines()[:50])


def _lines(text: str, builder: Builder) -> Iterator[tuple[int, str]]:
    """Yield the lines that tell of the fabric; warnings of tools between them are passed over.

    Raises:
        InputError: where a tool gave up, or the listing is one without links.
    """
    for number, line in enumerate(StringIO(text), start=1):
        line = line.rstrip("\r\n")
        if not line.strip() or line.lstrip().startswith("#") or _HEADS.match(line):
            continue
        if found := _FATAL.match(line):
            words = f"the tool gave up here: `{found[2].strip()[:60]}`"
            raise fault(builder.file, number, words, "the output before is partial: run it again")
        if _LISTS.match(line):
            words = "this is a list of nodes (-l, -S, -H or -R), without links"
            raise fault(builder.file, number, words, "run `ibnetdiscover` without these options")
        if _NOISE.match(line):
            builder.skip(line, number)
            continue
        yield number, line


def read_listing(text: str, file: str) -> AsBuilt:
    """Return the fabric that the output of `ibnetdiscover`, or an ibsim netlist, describes.

    Args:
        text: the output.
        file: its name in messages.

    Raises:
        InputError: located, where a line cannot be read, a device appears twice, or the two ends of a link disagree.
    """
    builder = Builder(file, "ibnetdiscover")
    for number, line in _lines(text, builder):
        if found := _PORT.match(line):
            builder.port(int(found[1]), found[2], int(found[3]), number, link_rate(_behind(found[4])))
        elif found := _NODE.match(line):
            kind = _KINDS.get(found[1], "host")
            builder.device(found[3], (found[4] or "").strip() or found[3], kind, int(found[2]), number)
        elif not _ATTRIBUTE.match(line.strip()) and not _BARE.match(line):
            raise fault(file, number, f"`{line.strip()[:50]}` is neither a device nor a port", _HOW)
    return builder.built()


def _behind(rest: str) -> str:
    """Return what stands behind the description of a peer: its LID, width and speed."""
    head, _, tail = rest.rpartition('"')
    return tail if head else rest


def read_report(text: str, file: str) -> AsBuilt:
    """Return the fabric that the ports report of `ibnetdiscover -p` describes.

    A device is told by its node GUID of a switch, and by its port GUID of an adapter.

    Args:
        text: the output.
        file: its name in messages.

    Raises:
        InputError: located, where a line cannot be read or the two ends of a link disagree.
    """
    builder = Builder(file, "ibnetdiscover -p")
    free = 0
    for number, line in _lines(text, builder):
        found = _REPORT.match(line.rstrip())
        if found is None:
            raise fault(file, number, f"`{line.strip()[:50]}` is no line of a ports report", _HOW)
        kind, _, port, guid, width, speed, peer_kind, _, peer_port, peer, name, peer_name, alone = found.groups()
        own = builder.found(guid, (name or alone or "").strip() or guid, _KINDS.get(kind, "host"), number)
        if peer is None:
            free += 1
            continue
        other = builder.found(peer, peer_name.strip() or peer, _KINDS.get(peer_kind, "host"), number)
        builder.end(own, int(port), other, int(peer_port), number, link_rate(f"{width}{speed}"))
    if free:
        builder.remarks.append(f"{plural(free, 'port')} without a cable")
    return builder.built()
