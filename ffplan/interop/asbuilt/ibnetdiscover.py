"""Outputs of `ibnetdiscover`: the listing of devices, with -g or without, netlists of ibsim, and the ports report."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.interop.asbuilt.builder import Builder
from ffplan.interop.asbuilt.model import fault
from ffplan.interop.asbuilt.speeds import link_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import InputError
    from ffplan.interop.asbuilt.model import AsBuilt

_NODE = re.compile(r'^(Switch|H?Ca|Rt|\?\?)\s+([0-9]{1,6})\s+"([^"]+)"(?:\s*#\s*(.*))?', re.IGNORECASE)
_PORT = re.compile(
    r'^\[([0-9]{1,6})\](?:\[ext [^\]]{1,20}\])?(?:\([0-9a-fA-Fx]+\))?\s+"([^"]+)"\s*\[([0-9]{1,6})\](.*)'
)
_BARE = re.compile(r"^\[[0-9]{1,6}\]\s*+(?:\(.*\))?\s*+(?:#.*)?$")
_NAME = re.compile(r'"(.*)"')
_SYSTEM = re.compile(r"^sysimgguid=(\w+)(?:\s*#\s*(Chassis [0-9]+))?", re.IGNORECASE)
_LIDS = re.compile(r"\s(?:(?:enhanced|base) )?port 0\s.*|\slid [0-9].*")
"""What stands behind an old name, which has no quotes."""
_ATTRIBUTE = re.compile(r"^[a-z_]{1,20}=")
_HEADS = re.compile(r"^(Non-)?Chassis\b|^Hostname:|^Topology file|^Initiated from|^DR path|^\s*module\b", re.IGNORECASE)
_NOISE = re.compile(
    r"^(ibwarn|ibdebug|warn|warning|debug|libibverbs|libibumad)\b:|^(\.+/)?(src|libibnetdisc)/\S+"
    r"|^\S+\.c:[0-9]+[:;]|^discovered:|^-W-|^-I-|^```|^\[?[\w.-]++@[\w.-]++.*[#$%>]|^[$%>] ",
    re.IGNORECASE,
)
_FATAL = re.compile(r"^(ibpanic|iberror|ibdiscover: iberror)\b:?(.*)")
_LISTS = re.compile(r"^(Switch|Ca|Rt)\s*:\s*0x([0-9a-f]{1,16})(?:\s+ports\s+([0-9]{1,6}))?(.*)", re.IGNORECASE)
_END = r"(CA|SW|RT|\?\?)\s+([0-9]{1,6})\s+([0-9]{1,6})\s+((?:0x)?[0-9a-fA-F]{1,16})"
_REPORT = re.compile(rf"^{_END}\s+(\S+)\s+(\S+)(?:\s+-\s+{_END}\s+\((.*)\)|(?:\s+(.*))?)$")
_BETWEEN = {"'": re.compile(r"'\s+-\s+'"), "": re.compile(r"(?<!\s)\s+-\s+")}
"""What stands between the two names of a line of the report, with quotes or without."""
_KINDS = {"switch": "switch", "rt": "router", "sw": "switch"}
_DEVICE_OR_PORT = re.compile(rf"{_NODE.pattern}|{_PORT.pattern}", re.IGNORECASE)
_FIRST = re.compile(rf"{_DEVICE_OR_PORT.pattern}|{_ATTRIBUTE.pattern}", re.IGNORECASE)
_SLURM = re.compile(r"(Switch|Block)Name=", re.IGNORECASE)
_FENCE = "```"
_HOW = "give the output of `ibnetdiscover` as it is"


def is_listing_line(line: str) -> bool:
    """Return whether a line is a device or a port of a listing."""
    return _DEVICE_OR_PORT.match(line.strip()) is not None


def is_report_line(line: str) -> bool:
    """Return whether a line is one of `ibnetdiscover -p`."""
    return _REPORT.match(line.strip()) is not None


def is_node_list_line(line: str) -> bool:
    """Return whether a line is one of `ibnetdiscover -l`, `-S`, `-H` or `-R`."""
    return _LISTS.match(line.strip()) is not None


def read_node_list(text: str, file: str) -> AsBuilt:
    """Return the devices that `ibnetdiscover -l`, `-S`, `-H` or `-R` lists; such a list has no links.

    Args:
        text: the output.
        file: its name in messages.

    Raises:
        InputError: located, where a device appears twice, or the tool gave up.
    """
    builder = Builder(file, "ibnetdiscover -l")
    for number, line in enumerate(StringIO(text), start=1):
        if gone := _FATAL.match(line.strip()):
            raise _gave_up(file, number, gone[2])
        found = _LISTS.match(line.strip())
        if found is None:
            if line.strip():
                builder.skip(line, number)
            continue
        name = _NAME.search(found[4])
        kind, ports = _KINDS.get(found[1].lower(), "host"), int(found[3] or 0)
        builder.device(found[2].lower(), (name[1].strip() if name else "") or found[2], kind, ports, number)
    builder.remarks.append("the file is a list of nodes: no links are in it")
    return builder.built()


def _gave_up(file: str, line: int, why: str) -> InputError:
    return fault(
        file, line, f"the tool gave up here: `{why.strip()[:60]}`", "the output before is partial: run it again"
    )


def _lines(text: str, builder: Builder, known: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that tell of the fabric; text in front and warnings of tools between them are passed over.

    Args:
        text: the output.
        builder: takes note of what is passed over.
        known: what a line of the fabric starts with, from the first of which on other lines are faults.

    Raises:
        InputError: where a tool gave up, or the listing is one without links.
    """
    begun = closed = False
    for number, line in enumerate(StringIO(text), start=1):
        line = line.strip()
        if not line or line.startswith("#") or _HEADS.match(line):
            continue
        if found := _FATAL.match(line):
            raise _gave_up(builder.file, number, found[2])
        if _LISTS.match(line):
            words = "this is a list of nodes (-l, -S, -H or -R), without links"
            raise fault(builder.file, number, words, "run `ibnetdiscover` without these options")
        closed = closed or (begun and line.startswith(_FENCE))  # behind a listing in Markdown comes prose
        begun = begun or bool(known.match(line))
        if not begun or _NOISE.match(line) or (closed and not known.match(line)):
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
    builder, chassis = Builder(file, "ibnetdiscover"), ""
    for number, line in _lines(text, builder, _FIRST):
        if found := _PORT.match(line):
            builder.port(int(found[1]), found[2], int(found[3]), number, link_rate(_behind(found[4])))
            if (named := _NAME.search(found[4])) and found[2] not in builder.hints:
                builder.hints[found[2]] = named[1].strip()
        elif found := _NODE.match(line):
            kind = _KINDS.get(found[1].lower(), "host")
            name = _described(found[4] or "") or found[3]
            builder.device(found[3], name, kind, int(found[2]), number, chassis=chassis)
            chassis = ""
        elif found := _SYSTEM.match(line):
            chassis = (found[2] or found[1]).lower()
        elif not _ATTRIBUTE.match(line) and not _BARE.match(line):
            how = "`ffplan import slurm` reads topology files of Slurm" if _SLURM.match(line) else _HOW
            last = number > 1 and number == len(text.rstrip().splitlines())
            cut = "; it is the last line: the file may be cut off" if last else ""
            raise fault(file, number, f"`{line.strip()[:50]}` is neither a device nor a port{cut}", how)
    return builder.built()


def _described(comment: str) -> str:
    """Return the name of a device from what stands behind it; before quotes came, names had none."""
    found = _NAME.match(comment)
    return (found[1] if found else _LIDS.sub("", comment)).strip()


def _names(text: str) -> tuple[str, str]:
    """Return both names of a line of the ports report; empty where it has none."""
    text = text.strip()
    quote = "'" if len(text) > 1 and text[0] == text[-1] == "'" else ""
    found = _BETWEEN[quote].search(text)
    if found is None:
        return "", ""
    return text[len(quote) : found.start()].strip(), text[found.end() : len(text) - len(quote)].strip()


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
    for number, line in _lines(text, builder, _REPORT):
        found = _REPORT.match(line)
        if found is None:
            raise fault(file, number, f"`{line.strip()[:50]}` is no line of a ports report", _HOW)
        kind, _, port, guid, width, speed, peer_kind, _, peer_port, peer, both, alone = found.groups()
        name, peer_name = _names(both) if both is not None else ((alone or "").strip().strip("'").strip(), "")
        own = builder.found(guid, name or guid, _KINDS.get(kind.lower(), "host"), number)
        if peer is None:
            free += 1
            continue
        other = builder.found(peer, peer_name or peer, _KINDS.get(peer_kind.lower(), "host"), number)
        builder.end(own, int(port), other, int(peer_port), number, link_rate(f"{width}{speed}"))
    if free:
        builder.remarks.append(f"{plural(free, 'port')} without a cable")
    return builder.built()
