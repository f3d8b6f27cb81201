"""Read a fabric as built from files, whose form is recognised by their content."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from itertools import islice
from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, plural
from ffplan.base.pasted import _cleaned, _prefixes_of, _unfenced, _unprefixed, _unprompted, without
from ffplan.base.record import record
from ffplan.interop.asbuilt.cable_lists import (
    _interfaces_of,
    _is_cable_json,
    _is_cable_table_line,
    _is_lab_line,
    _read_cable_json,
    _read_cable_table,
    _read_lab,
    _refuse_other_table,
)
from ffplan.interop.asbuilt.declared import (
    _is_config_db,
    _is_dot_line,
    _read_config_db,
    _read_dot,
    _read_graphml,
    _read_minigraph,
)
from ffplan.interop.asbuilt.ethernet import _built_of, _EthernetDevice, _EthernetLink, _spellings
from ffplan.interop.asbuilt.ibnetdiscover import (
    _is_listing_line,
    _is_node_list_line,
    _is_report_line,
    _read_listing,
    _read_node_list,
    _read_report,
)
from ffplan.interop.asbuilt.linkinfo import _is_linkinfo_line, _read_linkinfo
from ffplan.interop.asbuilt.lldp import _is_lldp, _is_lldp_table_line, _parsed, _read_lldp, _read_lldp_table
from ffplan.interop.asbuilt.model import MOST_BYTES, _fault
from ffplan.interop.asbuilt.tables import (
    _is_db_csv_line,
    _is_lst_line,
    _is_ndt_line,
    _is_topo_line,
    _read_db_csv,
    _read_lst,
    _read_ndt,
    _read_topo,
)
from ffplan.interop.recognised import _recognised
from ffplan.interop.xml_tree import _parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ffplan.base.files import LargeText
    from ffplan.interop.asbuilt.model import AsBuilt

_MOST_LINES = 40_000_000
"""Most lines of a text that is read line by line [1]; 500,000 endpoints have 4 million."""


def _lines_of(parts: Iterable[str], start: str, file: str) -> Iterator[str]:
    """Yield the lines of a large text without the prefixes that its start shows."""
    prefixes, count = _prefixes_of(start), 0
    for part in parts:
        lines = list(StringIO(_cleaned(part)))
        _refuse_long(lines, file, count + 1)
        count += len(lines)
        if count > _MOST_LINES:
            raise _fault(file, count, f"more than {_MOST_LINES:,} lines", "no fabric has as many")
        yield from without(prefixes, lines) if prefixes else lines


def _refuse_long_lines(text: str, file: str) -> None:
    """Refuse overlong lines: some line patterns take time with the square of the length."""
    if len(text) > _LONGEST_LINE:
        _refuse_long(list(StringIO(text)), file, 1)


def _refuse_long(lines: Sequence[str], file: str, first: int) -> None:
    if max(map(len, lines), default=0) <= _LONGEST_LINE:
        return
    number, line = next((number, line) for number, line in enumerate(lines, start=first) if len(line) > _LONGEST_LINE)
    message = f"a line of {len(line):,} characters"
    raise _fault(file, number, message, f"no such file has a line of more than {_LONGEST_LINE:,}")


_SAMPLE = 1_000
"""Lines from the start of a text that are asked first; where no form knows any of them, all are asked [1]."""
_LONGEST_LINE = 8_000
"""Longest line of a file that is no JSON or XML [1]."""
_JSON = re.compile(
    r"\s*(?:[{\[]\s*(?:$|[\"{\[\]}])"
    r'|"[^"]{0,200}"\s*:\s*(?:[\[{].*|"(?:[^"\\]|\\.)*+"|[-\w.]+)?\s*,?\s*$)'
    r'|.*"(?:lldp|lldpNeighbors|TABLE_nbor|DEVICE_NEIGHBOR|DEVICE_METADATA)"\s*:'
)
"""A line of JSON; neighbours' keys may follow a prompt. `[1]` starts a port, `[root@host]` a prompt."""
_XML = re.compile(r"\s*</?[?!A-Za-z]")
"""A line of XML; `< ` starts a line of a comparison."""


@record
class _Form:
    name: str
    knows: Callable[[str], bool]
    """True for a line that this program writes, and few others do."""


DB_CSV = _Form("ibdiagnet's db_csv", _is_db_csv_line)
LINKINFO = _Form("iblinkinfo", _is_linkinfo_line)
NDT = _Form("UFM's topology table", _is_ndt_line)
REPORT = _Form("ibnetdiscover -p", _is_report_line)
LST = _Form("ibdiagnet's .lst", _is_lst_line)
TOPO = _Form("an ibdm .topo file", _is_topo_line)
LISTING = _Form("ibnetdiscover", _is_listing_line)
NODE_LIST = _Form("ibnetdiscover -l", _is_node_list_line)
DOT = _Form("PTM's topology.dot", _is_dot_line)
LLDP_TABLE = _Form("show lldp neighbors", _is_lldp_table_line)
CABLES = _Form("a list of cables", _is_cable_table_line)
LAB = _Form("a lab of containerlab", _is_lab_line)
JSON = _Form("JSON", lambda line: _JSON.match(line) is not None)
XML = _Form("XML", lambda line: _XML.match(line) is not None)
_FORMS = (DB_CSV, LINKINFO, NDT, REPORT, LST, TOPO, LISTING, NODE_LIST, DOT, LLDP_TABLE, CABLES, LAB, JSON, XML)


def _lines_known(lines: Iterable[str], forms: Sequence[_Form] = _FORMS) -> dict[str, int]:
    counts = dict.fromkeys((form.name for form in forms), 0)
    for line in lines:
        shown = line.rstrip()[:_LONGEST_LINE]
        for form in forms:
            counts[form.name] += form.knows(shown)
    return counts


def _form_of(text: str, file: str, forms: Sequence[_Form] = _FORMS) -> _Form | None:
    """Pick the form that knows most lines of a text; None if no form knows any."""
    counts = _lines_known(islice(StringIO(text), _SAMPLE), forms)
    if not any(counts.values()) and text.count("\n", 0) >= _SAMPLE:
        counts = _lines_known(StringIO(text), forms)
    most = max(counts.values())
    if not most:
        return None
    first, *others = sorted((form for form in forms if counts[form.name] == most), key=lambda form: form.name)
    if others:
        message = f"the file reads as {first.name} and as {others[0].name} alike"
        raise _fault(file, 1, message, "give the output of one program, as it was written")
    return first


_BY_LINE: dict[str, Callable[[str | Iterable[str], str], AsBuilt]] = {
    REPORT.name: _read_report,
    LST.name: _read_lst,
    TOPO.name: _read_topo,
    LISTING.name: _read_listing,
    NODE_LIST.name: _read_node_list,
}
"""Readers that take a text line by line."""
_WHOLE: dict[str, Callable[[str, str], AsBuilt]] = {
    DB_CSV.name: _read_db_csv,
    LINKINFO.name: _read_linkinfo,
    NDT.name: _read_ndt,
    **_BY_LINE,
}
"""Readers of forms that tell of a whole fabric in one file."""
_DEVICES = tuple(form.name for form in (DOT, LLDP_TABLE, CABLES, LAB, JSON, XML))
"""Forms of Ethernet: a fabric may have one file per device."""


def read_as_built(files: Sequence[tuple[str, str | LargeText]], *, partial: bool = False) -> AsBuilt:
    """Return a fabric as built.

    Args:
        files: name and content: one file of a whole fabric, which may be large, or one of each device of an Ethernet
            fabric.
        partial: whether a part of an output will do, which names devices that it does not describe.

    Raises:
        InputError: located, where a file cannot be read, several are not of single devices, one is a part, or no link
            is in a form that lists links.
    """
    texts = [(name, content) for name, content in files if isinstance(content, str)]
    large = [(name, content) for name, content in files if not isinstance(content, str)]
    built = _read_large(*large[0][::-1], partial=partial) if large else _read(texts, partial=partial)
    if not len(built.ends) and built.form != NODE_LIST.name:
        message = f"{plural(len(built.devices), 'device')} of {built.form} and no link between them"
        raise _fault(files[0][0], 1, message, "give the output of a fabric that is wired and up")
    if built.undescribed and not partial:
        key, line = built.undescribed[0]
        raise _fault(files[0][0], line, f"`{key}` is a neighbour without an entry", "give the whole output")
    return built


def _read_large(text: LargeText, file: str, *, partial: bool = False) -> AsBuilt:
    """Return a fabric as built from a text that is too large to hold, whose start tells its form."""
    start = _cleaned(text.start or "")
    form = _form_of(_unprefixed(start), file)
    if form is None or form.name not in _BY_LINE:
        form_words = "no line near its start has a known format" if form is None else f"it reads as {form.name}"
        message = f"more than {MOST_BYTES // 2**20:,} MiB, and {form_words}"
        raise _fault(file, 1, message, f"larger files are read of {listed(sorted(_BY_LINE))} alone")
    if form is NODE_LIST and not partial:
        form = LISTING
    return _BY_LINE[form.name](_lines_of(text.parts(), start, file), file)


def _read(files: Sequence[tuple[str, str]], *, partial: bool = False) -> AsBuilt:
    bare = [(name, *_unfenced(_unprefixed(_cleaned(content)))) for name, content in files]
    built = _read_bare([(name, content) for name, content, _ in bare], partial=partial)
    around = sum(count for _, _, count in bare)
    remark = f"skipped {plural(around, 'line')} around the blocks of code"
    return replace(built, remarks=(*built.remarks, remark)) if around else built


def _read_bare(files: Sequence[tuple[str, str]], *, partial: bool) -> AsBuilt:
    first, text = files[0]
    if len(files) == 1:
        form = _form_of(text, first)
        if form in (None, XML, JSON) and (known := _recognised(text, "fabric")) is not None:
            raise _fault(first, 1, *known)
        if form is None:
            _refuse_other_table(text, first)
        form = form or LISTING  # whose reader says what is wrong with a text of no form
        if form.name not in _DEVICES:
            _refuse_long_lines(text, first)
            if form is NODE_LIST and not partial:
                form = LISTING  # which refuses a list without links where it stands
            return _WHOLE[form.name](_unprompted(text) if form in (LST, TOPO) else text, first)
        files = [(first, text)]
    links: list[_EthernetLink] = []
    devices: list[_EthernetDevice] = []
    forwarding: set[str] = set()
    interfaces: dict[str, tuple[str, str]] = {}
    tables = [(name, content) for name, content in files if "device__name" in content[:1000]]
    for name, content in tables:
        interfaces |= _interfaces_of(content, name)
    for name, content in files if len(tables) == len(files) else [file for file in files if file not in tables]:
        device_links, here, seen = _device_file(name, content, interfaces)
        links += device_links
        devices += here
        forwarding |= seen
    spelling = _spellings(links, devices)
    links = [replace(link, device=spelling[link.device.lower()], peer=spelling[link.peer.lower()]) for link in links]
    devices = [replace(device, name=spelling[device.name.lower()]) for device in devices]
    forwarding = {spelling[name.lower()] for name in forwarding}
    told = {device.name: device for device in sorted(devices, key=lambda device: device.listed)}
    devices = [replace(device, switch=True) if name in forwarding else device for name, device in told.items()]
    devices += [_EthernetDevice(name, switch=True, listed=False) for name in sorted(forwarding - told.keys())]
    where = first if len(files) == 1 else f"{first} and {len(files) - 1} more"
    built = _built_of(where, "files of Ethernet devices", _once(links), devices)
    return replace(built, remarks=(*built.remarks, *_several(links)))


def _once(links: list[_EthernetLink]) -> list[_EthernetLink]:
    """Keep one link for each port: a file may repeat a neighbour."""
    return list({(link.device, link.port): link for link in links}.values())


def _several(links: list[_EthernetLink]) -> list[str]:
    """Return a remark on ports that see several neighbours, such as a NIC that speaks LLDP beside its host."""
    seen: dict[tuple[str, str], dict[str, None]] = {}
    for link in links:
        seen.setdefault((link.device, link.port), {})[link.peer] = None
    odd = [(*port, *peers) for port, peers in seen.items() if len(peers) > 1]
    if not odd:
        return []
    device, port, *peers = odd[0]
    count = plural(len(odd), "port sees", "ports see")
    return [f"{count} several neighbours and the last one counts, first `{device}` {port}: {', '.join(peers)}"]


def _device_file(
    name: str, text: str, interfaces: dict[str, tuple[str, str]]
) -> tuple[list[_EthernetLink], list[_EthernetDevice], set[str]]:
    """Return the links of a file, the devices whose own links they are, and devices that forward."""
    form = _form_of(text, name)
    if form is not None and form.name in _WHOLE:
        message = f"this is {form.name}, which describes a whole fabric"
        raise _fault(name, 1, message, "give it alone: of several files, each must come from one Ethernet device")
    if form is DOT:
        _refuse_long_lines(text, name)
        return _read_dot(text, name), [], set()
    if form is CABLES:
        return _read_cable_table(text, name, interfaces), [], set()
    if form is LAB:
        return _read_lab(text, name), [], set()
    if form is LLDP_TABLE:
        _refuse_long_lines(text, name)
        return _read_lldp_table(text, name)
    if form is XML:
        root = _parse(text.encode(), name, rule="file-as-built", what="the minigraph of one switch")
        links, devices = (_read_graphml if root.tag == "graphml" else _read_minigraph)(root, name)
        return links, devices, set()
    data = _parsed(text, name)
    if _is_cable_json(data):
        return _read_cable_json(data, name), [], set()
    if _is_lldp(data):
        links, device, forwarding = _read_lldp(data, name)
        return links, [device], forwarding
    if _is_config_db(data):
        links, device = _read_config_db(data, name)
        return links, [device], set()
    neither = (
        "this is neither output of ibnetdiscover nor of LLDP, SONiC or PTM",
        "docs/interop.md lists what is read",
    )
    raise _fault(name, 1, *(_recognised(text, "fabric") or neither))
