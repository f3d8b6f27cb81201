"""Read a fabric as built from files, whose form is recognised by their content."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, plural
from ffplan.interop.asbuilt.cable_lists import (
    _interfaces_of,
    _is_cable_json,
    _read_cable_json,
    _read_cable_table,
    _read_lab,
)
from ffplan.interop.asbuilt.declared import _is_config_db, _read_config_db, _read_dot, _read_graphml, _read_minigraph
from ffplan.interop.asbuilt.ethernet import _built_of, _EthernetDevice, _EthernetLink
from ffplan.interop.asbuilt.forms import (
    CABLES,
    DB_CSV,
    DOT,
    JSON,
    LAB,
    LINKINFO,
    LISTING,
    LLDP_TABLE,
    LST,
    NDT,
    NODE_LIST,
    REPORT,
    TOPO,
    XML,
    _form_of,
    _lines_of,
    _refuse_long_lines,
)
from ffplan.interop.asbuilt.ibnetdiscover import _read_listing, _read_node_list, _read_report
from ffplan.interop.asbuilt.linkinfo import _read_linkinfo
from ffplan.interop.asbuilt.lldp import _is_lldp, _parsed, _read_lldp
from ffplan.interop.asbuilt.lldp_tables import _read_lldp_table
from ffplan.interop.asbuilt.model import MOST_BYTES, _fault
from ffplan.interop.asbuilt.tables import _read_db_csv, _read_lst, _read_ndt, _read_topo
from ffplan.interop.pasted import _cleaned, _recognised, _unfenced, _unprefixed, _unprompted
from ffplan.interop.xml_tree import _parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ffplan.base.files import LargeText
    from ffplan.interop.asbuilt.model import AsBuilt

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
