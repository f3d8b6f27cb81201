"""Files that tell of a fabric as built, told apart by what is in them."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.interop.asbuilt.ethernet import EthernetDevice, EthernetLink, built_of
from ffplan.interop.asbuilt.forms import (
    DB_CSV,
    DOT,
    JSON,
    LINKINFO,
    LISTING,
    LLDP_TABLE,
    LONGEST_LINE,
    LST,
    NDT,
    NODE_LIST,
    REPORT,
    TOPO,
    XML,
    form_of,
)
from ffplan.interop.asbuilt.ibdiagnet import read_db_csv, read_lst
from ffplan.interop.asbuilt.ibnetdiscover import read_listing, read_node_list, read_report
from ffplan.interop.asbuilt.linkinfo import read_linkinfo
from ffplan.interop.asbuilt.lldp import is_lldp, parsed, read_lldp
from ffplan.interop.asbuilt.lldp_table import read_lldp_table
from ffplan.interop.asbuilt.model import fault
from ffplan.interop.asbuilt.ptm import read_dot
from ffplan.interop.asbuilt.sonic import is_config_db, read_config_db, read_minigraph
from ffplan.interop.asbuilt.topo_files import read_ndt, read_topo
from ffplan.interop.xml_tree import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.interop.asbuilt.model import AsBuilt

_COLOUR = re.compile("\x1b\\[[0-9;?]{0,20}[A-Za-z]")
"""Codes for colours and cursors, which a recorded terminal holds."""
FEWEST = 3
"""Fewest lines that show something to stand in front of all [1]."""
_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        r"([\w.-]{1,64}):(?: |$)",
        r"()\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]{8,15}(?:Z|[+-][0-9:]{4,6})?\]?(?: |$)",
        r"(>)(?: |$)",
        r"() {0,9}[0-9]{1,7}[\t:]",
    )
)
"""What may stand in front of every line, with what must be the same on all of them."""
_WHOLE: dict[str, Callable[[str, str], AsBuilt]] = {
    DB_CSV.name: read_db_csv,
    LINKINFO.name: read_linkinfo,
    NDT.name: read_ndt,
    REPORT.name: read_report,
    LST.name: read_lst,
    TOPO.name: read_topo,
    LISTING.name: read_listing,
    NODE_LIST.name: read_node_list,
}
"""Readers of forms that tell of a whole fabric in one file."""
_DEVICES = tuple(form.name for form in (DOT, LLDP_TABLE, JSON, XML))
"""Forms of Ethernet, of which a fabric may have a file for each device."""


def read_as_built(files: Sequence[tuple[str, str]], *, partial: bool = False) -> AsBuilt:
    """Return a fabric as built.

    Args:
        files: name and content: one file of a whole fabric, or one of each device of an Ethernet fabric.
        partial: whether a part of an output will do, which names devices that it does not describe.

    Raises:
        InputError: located, where a file cannot be read, several are not of single devices, one is a part, or no link
            is in a form that lists links.
    """
    found = _read(files, partial=partial)
    if not len(found.ends) and found.form != NODE_LIST.name:
        words = f"{plural(len(found.devices), 'device')} of {found.form} and no link between them"
        raise fault(files[0][0], 1, words, "give the output of a fabric that is wired and up")
    if found.undescribed and not partial:
        key, line = found.undescribed[0]
        raise fault(files[0][0], line, f"`{key}` is wired to, and described nowhere", "give the whole output")
    return found


def _unprefixed(text: str) -> str:
    """Return a text without what stands in front of all its lines: a host as of pdsh, a time, a number, `>` of mail."""
    lines = text.splitlines(keepends=True)
    shown = [line for line in lines if line.strip()]
    if len(shown) < FEWEST:
        return text
    for prefix in _PREFIXES:
        if not all(map(prefix.match, shown[:FEWEST])):
            continue
        found = [prefix.match(line) for line in lines]
        marks = {match[1] for match in found if match}
        if all(match or not line.strip() for match, line in zip(found, lines, strict=True)) and len(marks) == 1:
            return "".join(line[match.end() :] if match else line for match, line in zip(found, lines, strict=True))
    return text


def _read(files: Sequence[tuple[str, str]], *, partial: bool = False) -> AsBuilt:
    """Return a fabric as built, or the part of it that a file describes.

    Raises:
        InputError: located, where a file cannot be read, or several are not of single devices.
    """
    files = [(name, _COLOUR.sub("", content.removeprefix("\ufeff")).replace("\0", "")) for name, content in files]
    first, text = files[0]
    if len(files) == 1:
        text = _unprefixed(text)
        form = form_of(text, first) or LISTING  # whose reader says what is wrong with a text of no form
        if form.name not in _DEVICES:
            _refuse_long_lines(text, first)
            if form is NODE_LIST and not partial:
                form = LISTING  # which refuses a list without links where it stands
            return _WHOLE[form.name](text, first)
        files = [(first, text)]
    links: list[EthernetLink] = []
    devices: list[EthernetDevice] = []
    forwarding: set[str] = set()
    for name, content in files:
        own, here, seen = _device_file(name, content)
        links += own
        devices += here
        forwarding |= seen
    told = {device.name: device for device in sorted(devices, key=lambda device: device.listed)}
    devices = [replace(device, switch=True) if name in forwarding else device for name, device in told.items()]
    devices += [EthernetDevice(name, switch=True, listed=False) for name in sorted(forwarding - told.keys())]
    where = first if len(files) == 1 else f"{first} and {len(files) - 1} more"
    built = built_of(where, "files of Ethernet devices", _once(links), devices)
    return replace(built, remarks=(*built.remarks, *_several(links)))


def _refuse_long_lines(text: str, file: str) -> None:
    """Refuse a line that no program writes: some patterns of lines take time with the square of their length.

    Raises:
        InputError: located, at the first such line.
    """
    if len(text) <= LONGEST_LINE:
        return
    for number, line in enumerate(StringIO(text), start=1):
        if len(line) > LONGEST_LINE:
            words = f"a line of {len(line):,} characters"
            raise fault(file, number, words, f"no such file has a line of more than {LONGEST_LINE:,}")


def _once(links: list[EthernetLink]) -> list[EthernetLink]:
    """Return links of which each end stands once: a file may repeat a neighbour."""
    return list({(link.device, link.port): link for link in links}.values())


def _several(links: list[EthernetLink]) -> list[str]:
    """Return a remark on ports that see several neighbours, such as a NIC that speaks LLDP beside its host."""
    seen: dict[tuple[str, str], dict[str, None]] = {}
    for link in links:
        seen.setdefault((link.device, link.port), {})[link.peer] = None
    odd = [(*port, *peers) for port, peers in seen.items() if len(peers) > 1]
    if not odd:
        return []
    device, port, *peers = odd[0]
    count = plural(len(odd), "port sees", "ports see")
    return [f"{count} several neighbours, the last of which is read, first `{device}` {port}: {', '.join(peers)}"]


def _device_file(name: str, text: str) -> tuple[list[EthernetLink], list[EthernetDevice], set[str]]:
    """Return the links of a file, the devices whose own links they are, and devices that forward.

    Raises:
        InputError: located, where it is of no form that is known.
    """
    form = form_of(text, name)
    if form is not None and form.name in _WHOLE:
        words = f"this is {form.name}, which tells of a whole fabric"
        raise fault(name, 1, words, "give it alone; several files are of one Ethernet device each")
    if form is DOT:
        _refuse_long_lines(text, name)
        return read_dot(text, name), [], set()
    if form is LLDP_TABLE:
        _refuse_long_lines(text, name)
        links, device, forwarding = read_lldp_table(text, name)
        return links, [device], forwarding
    if form is XML:
        root = parse(text.encode(), name, rule="file-as-built", what="the minigraph of one switch")
        links, devices = read_minigraph(root, name)
        return links, devices, set()
    data = parsed(text, name)
    if is_lldp(data):
        links, device, forwarding = read_lldp(data, name)
        return links, [device], forwarding
    if is_config_db(data):
        links, device = read_config_db(data, name)
        return links, [device], set()
    words = "this is neither output of ibnetdiscover nor of LLDP, SONiC or PTM"
    raise fault(name, 1, words, "docs/interop.md lists what is read")
