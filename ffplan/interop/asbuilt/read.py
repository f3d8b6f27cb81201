"""Files that tell of a fabric as built, told apart by what is in them."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.interop.asbuilt.ethernet import EthernetDevice, EthernetLink, built_of
from ffplan.interop.asbuilt.ibdiagnet import is_db_csv, is_lst, read_db_csv, read_lst
from ffplan.interop.asbuilt.ibnetdiscover import is_node_list, is_report, read_listing, read_node_list, read_report
from ffplan.interop.asbuilt.linkinfo import is_linkinfo, read_linkinfo
from ffplan.interop.asbuilt.lldp import is_lldp, parsed, read_lldp
from ffplan.interop.asbuilt.lldp_table import is_lldp_table, read_lldp_table
from ffplan.interop.asbuilt.model import fault
from ffplan.interop.asbuilt.ptm import is_dot, read_dot
from ffplan.interop.asbuilt.sonic import is_config_db, read_config_db, read_minigraph
from ffplan.interop.asbuilt.topo_files import is_ndt, is_topo, read_ndt, read_topo
from ffplan.interop.xml_tree import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.interop.asbuilt.model import AsBuilt

LONGEST_LINE = 8_000
"""Longest line of a file that is no JSON or XML [1]."""
_MARKED = re.compile(r"\{|\[\s*[\[{\]]|<[?!A-Za-z]")
"""Start of JSON or XML; `[1]` starts a port, `[root@host]` a prompt, and `< ` a line of a comparison."""
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
_WHOLE: tuple[tuple[Callable[[str], bool], Callable[[str, str], AsBuilt]], ...] = (
    (is_db_csv, read_db_csv),
    (is_linkinfo, read_linkinfo),
    (is_ndt, read_ndt),
    (is_report, read_report),
    (is_lst, read_lst),
    (is_topo, read_topo),
)
"""Forms that tell of a whole fabric in one file, each with its reader."""


def read_as_built(files: Sequence[tuple[str, str]], *, partial: bool = False) -> AsBuilt:
    """Return a fabric as built.

    Args:
        files: name and content: one file of a whole fabric, or one of each device of an Ethernet fabric.
        partial: whether a part of an output will do, which names devices that it does not describe.

    Raises:
        InputError: located, where a file cannot be read, several are not of single devices, or one is a part.
    """
    found = _read(files, partial=partial)
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
    if len(files) == 1 and not _of_device(text):
        _refuse_long_lines(text, first)
        text = _unprefixed(text)
        if partial and is_node_list(text):
            return read_node_list(text, first)
        for known, reader in _WHOLE:
            if known(text):
                return reader(text, first)
        return read_listing(text, first)
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


def _of_device(text: str) -> bool:
    """Return whether a file is one of Ethernet: JSON, XML or DOT."""
    head = text.lstrip()
    if is_lst(text):
        return False
    if bool(_MARKED.match(head)) or is_dot(text) or is_lldp_table(text):
        return True
    return any(key in text[:4000] for key in ('"lldp"', '"lldpNeighbors"', '"TABLE_nbor"'))  # behind a prompt


def _device_file(name: str, text: str) -> tuple[list[EthernetLink], list[EthernetDevice], set[str]]:
    """Return the links of a file, the devices whose own links they are, and devices that forward.

    Raises:
        InputError: located, where it is of no form that is known.
    """
    if is_dot(text):
        _refuse_long_lines(text, name)
        return read_dot(text, name), [], set()
    if is_lldp_table(text):
        _refuse_long_lines(text, name)
        links, device, forwarding = read_lldp_table(text, name)
        return links, [device], forwarding
    if text.lstrip().startswith("<"):
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
