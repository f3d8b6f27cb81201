"""Outputs of `ibnetdiscover`: listings with -g or without, netlists of ibsim, and the ports report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.interop.asbuilt.builder import _Builder
from ffplan.interop.asbuilt.infiniband import _link_rate
from ffplan.interop.asbuilt.model import _fault, _numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.base.errors import InputError
    from ffplan.interop.asbuilt.model import AsBuilt

_PORT = r'\[([0-9]{1,6})\](?:\[ext [^\]]{1,20}\])?(?:\([0-9a-fA-Fx]+\))?\s+"([^"]+)"\s*\[([0-9]{1,6})\](.*)'
_NODE = r'((?i:Switch|H?Ca|Rt|\?\?))\s+([0-9]{1,6})\s+"([^"]+)"(?:\s*#\s*(.*))?'
_PORT_OR_NODE = re.compile(f"{_PORT}|{_NODE}")
_BARE = re.compile(r"^\[[0-9]{1,6}\]\s*+(?:\(.*\))?\s*+(?:#.*)?$")
_NAME = re.compile(r'"(.*)"')
_SYSTEM = re.compile(r"^sysimgguid=(\w+)(?:\s*#\s*(Chassis [0-9]+))?", re.IGNORECASE)
_LIDS = re.compile(r"\s(?:(?:enhanced|base) )?port 0\s.*|\slid [0-9].*")
"""Text after an old name, which has no quotes."""
_ATTRIBUTE = re.compile(r"^[a-z_]{1,20}=")
_HEADS = re.compile(r"^(Non-)?Chassis\b|^Hostname:|^Topology file|^Initiated from|^DR path|^\s*module\b", re.IGNORECASE)
_NOISE = re.compile(
    r"^(ibwarn|ibdebug|warn|warning|debug|libibverbs|libibumad)\b:|^(\.+/)?(src|libibnetdisc)/\S+"
    r"|^\S+\.c:[0-9]+[:;]|^discovered:|^-W-|^-I-|^\[?[\w.-]++@[\w.-]++.*[#$%>]|^[$%>] ",
    re.IGNORECASE,
)
_FATAL = re.compile(r"^(ibpanic|iberror|ibdiscover: iberror)\b:?(.*)")
_LISTS = re.compile(r"^(Switch|Ca|Rt)\s*:\s*0x([0-9a-f]{1,16})(?:\s+ports\s+([0-9]{1,6}))?(.*)", re.IGNORECASE)
_END = r"(CA|SW|RT|\?\?)\s+([0-9]{1,6})\s+([0-9]{1,6})\s+((?:0x)?[0-9a-fA-F]{1,16})"
_REPORT = re.compile(rf"^{_END}\s+(\S+)\s+(\S+)(?:\s+-\s+{_END}\s+\((.*)\)|(?:\s+(.*))?)$")
_BETWEEN = {"'": re.compile(r"'\s+-\s+'"), "": re.compile(r"(?<!\s)\s+-\s+")}
"""What stands between the two names of a line of the report, with quotes or without."""
_KINDS = {"switch": "switch", "rt": "router", "sw": "switch"}
_FIRST = re.compile(_ATTRIBUTE.pattern, re.IGNORECASE)
"""What a listing may start with, but for a port or a device."""
_SLURM = re.compile(r"(Switch|Block)Name=", re.IGNORECASE)
_HOW = "give the output of `ibnetdiscover` as it is"


def _is_listing_line(line: str) -> bool:
    return _PORT_OR_NODE.match(line.strip()) is not None


def _is_report_line(line: str) -> bool:
    return _REPORT.match(line.strip()) is not None


def _is_node_list_line(line: str) -> bool:
    """Return whether a line is one of `ibnetdiscover -l`, `-S`, `-H` or `-R`."""
    return _LISTS.match(line.strip()) is not None


def _read_node_list(text: str | Iterable[str], file: str) -> AsBuilt:
    """Return the devices that `ibnetdiscover -l`, `-S`, `-H` or `-R` lists; such a list has no links."""
    builder = _Builder(file, "ibnetdiscover -l")
    for number, line in _numbered(text):
        if gone := _FATAL.match(line.strip()):
            raise _gave_up(file, number, gone[2])
        match = _LISTS.match(line.strip())
        if match is None:
            if line.strip():
                builder.skip(line, number)
            continue
        name = _NAME.search(match[4])
        kind, ports = _KINDS.get(match[1].lower(), "host"), int(match[3] or 0)
        builder.device(match[2].lower(), (name[1].strip() if name else "") or match[2], kind, ports, number)
    builder.remarks.append("the file is a list of nodes: no links are in it")
    return builder.built()


def _gave_up(file: str, line: int, why: str) -> InputError:
    return _fault(
        file, line, f"the tool gave up here: `{why.strip()[:60]}`", "the output before is partial: run it again"
    )


def _lines(
    lines: Iterable[tuple[int, str]], builder: _Builder, known: re.Pattern[str], first: re.Pattern[str]
) -> Iterator[tuple[int, str, re.Match[str] | None]]:
    """Yield the lines that describe the fabric; skip text in front of them and warnings of tools between them.

    From the first line that `known` or `first` knows, others are faults.
    """
    begun = False
    for number, line in lines:
        line = line.strip()
        if not line:
            continue
        if match := known.match(line):
            begun = True
            yield number, line, match
            continue
        if line.startswith("#") or _HEADS.match(line):
            continue
        if fatal := _FATAL.match(line):
            raise _gave_up(builder.file, number, fatal[2])
        if _LISTS.match(line):
            message = "this is a list of nodes (-l, -S, -H or -R), without links"
            raise _fault(builder.file, number, message, "run `ibnetdiscover` without these options")
        begun = begun or bool(first.match(line))
        if not begun or _NOISE.match(line):
            builder.skip(line, number)
            continue
        yield number, line, None


def _read_listing(text: str | Iterable[str], file: str) -> AsBuilt:
    builder, chassis, lines = _Builder(file, "ibnetdiscover"), "", _numbered(text)
    for number, line, match in _lines(lines, builder, _PORT_OR_NODE, _FIRST):
        if match is not None:
            port, peer, there, behind, kind, ports, key, comment = match.groups()
            if port is None:
                name, kind = _described(comment or "") or key, _KINDS.get(kind.lower(), "host")
                builder.device(key, name, kind, int(ports), number, chassis=chassis)
                chassis = ""
                continue
            builder.port(int(port), peer, int(there), number, _link_rate(behind.rpartition('"')[2]))
            if '"' in behind and peer not in builder.hints and (named := _NAME.search(behind)):
                builder.hints[peer] = named[1].strip()
        elif system := _SYSTEM.match(line):
            chassis = (system[2] or system[1]).lower()
        elif not _ATTRIBUTE.match(line) and not _BARE.match(line):
            how = "`ffplan fabric import slurm` reads topology files of Slurm" if _SLURM.match(line) else _HOW
            last = number > 1 and not any(more.strip() for _, more in lines)
            cut = "; it is the last line: the file may be cut off" if last else ""
            raise _fault(file, number, f"`{line.strip()[:50]}` is neither a device nor a port{cut}", how)
    return builder.built()


def _described(comment: str) -> str:
    """Return a device's name from the rest of its line; old versions write no quotes."""
    if match := _NAME.match(comment):
        return match[1].strip()
    return "" if comment.lstrip().startswith('"') else _LIDS.sub("", comment).strip()  # a name may be cut off


def _names(text: str) -> tuple[str, str]:
    """Return both names of a line of the ports report; empty if the line has none."""
    text = text.strip()
    quote = "'" if len(text) > 1 and text[0] == text[-1] == "'" else ""
    match = _BETWEEN[quote].search(text)
    if match is None:
        return "", ""
    return text[len(quote) : match.start()].strip(), text[match.end() : len(text) - len(quote)].strip()


def _read_report(text: str | Iterable[str], file: str) -> AsBuilt:
    """Return the fabric that the ports report of `ibnetdiscover -p` describes.

    The node GUID identifies a switch, the port GUID an adapter.
    """
    builder = _Builder(file, "ibnetdiscover -p")
    free = 0
    for number, line, match in _lines(_numbered(text), builder, _REPORT, _REPORT):
        if match is None:
            raise _fault(file, number, f"`{line.strip()[:50]}` is not a line of a ports report", _HOW)
        kind, _, port, guid, width, speed, peer_kind, _, peer_port, peer, both, alone = match.groups()
        name, peer_name = _names(both) if both is not None else ((alone or "").strip().strip("'").strip(), "")
        device = builder.device_of(guid, name or guid, _KINDS.get(kind.lower(), "host"), number)
        if peer is None:
            free += 1
            continue
        neighbour = builder.device_of(peer, peer_name or peer, _KINDS.get(peer_kind.lower(), "host"), number)
        builder.end(device, int(port), neighbour, int(peer_port), number, _link_rate(f"{width}{speed}"))
    if free:
        builder.remarks.append(f"{plural(free, 'port')} without a cable")
    return builder.built()
