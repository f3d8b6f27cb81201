"""The `system` element of a topology file: found in clean XML, or cut out of a log as NCCL's reader does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.files import text_of
from ffplan.base.formatting import first_few, plural
from ffplan.base.pasted import _as_pasted, _cleaned, _unprefixed
from ffplan.interop.recognised import _recognised
from ffplan.interop.topology.devices import _place_of
from ffplan.interop.topology.scale_up import place
from ffplan.interop.xml_tree import _fault, _parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.interop.xml_tree import _Element

_OPEN = re.compile(r"<system(?=[\s>])")
_CLOSE = "</system>"
_BARE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


def _blank(text: str) -> str:
    """Return blanks in place of a text; its lines stay, so that places of what follows do."""
    return re.sub(r"[^\n]", " ", text)


def _without_comments(text: str) -> str:
    parts, position = [], 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts += [text[position:start], _blank(text[start : end + 3])]
        position = end + 3
    return "".join([*parts, text[position:]])


def _cut_out(data: bytes) -> tuple[bytes, tuple[str, ...]] | None:
    """Return the first `system` element of a file with what was passed over, in words; None without one.

    Text around it, such as lines of a log, comments with two hyphens, a bare `&` and control characters go; lines keep
    their numbers. A file that declares a document type is not touched.
    """
    upper = data.upper()
    if b"<!DOCTYPE" in upper or b"<!ENTITY" in upper:
        return None
    remarks = []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        remarks.append("the file is not UTF-8; it is read as Latin-1")
    text = _without_comments(_unprefixed(_cleaned(text)))
    match = _OPEN.search(text)
    end = text.find(_CLOSE, match.end()) if match else -1
    if match is None or end < 0:
        return None
    end += len(_CLOSE)
    around = [line for line in (text[: match.start()] + "\n" + text[end:]).splitlines() if line.strip(" \t\0\ufeff")]
    around = [line for line in around if not line.lstrip("\ufeff ").startswith("<?xml")]
    if _OPEN.search(text, end):
        remarks.append("the file has several `system` elements; the first is read")
    elif around:
        remarks.append(f"{plural(len(around), 'line')} around the `system` element are passed over")
    body = _CONTROL.sub(" ", _BARE.sub("&amp;", text[match.start() : end]))
    return (_blank(text[: match.start()]) + body).encode(), tuple(remarks)


_NOT_THIS = {
    "graphs": "these are the rings and trees of NCCL (NCCL_GRAPH_DUMP_FILE), not the topology",
    "testset": "this is a list of tests",
}
_TYPES = {
    "nvidia_smi_log": "this is the log of `nvidia-smi -q -x`, which lists no links between devices",
    "topology": "this is a topology of hwloc (lstopo), not of NCCL",
}
"""Files of other programs by their document type, which is refused anyway."""
_GIVE = "give a file that NCCL reads or writes (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE)"
_TYPED = re.compile(rb"<!DOCTYPE\s+(nvidia_smi_log|topology)\b")


def _system_of(data: bytes, file: str) -> tuple[_Element, tuple[str, ...]]:
    if (typed := _TYPED.search(data[:2000])) is not None:
        line = data[: typed.start()].count(b"\n") + 1
        raise _fault(file, (line, 1), _TYPES[typed[1].decode()], _GIVE)
    remarks: tuple[str, ...] = ()
    try:
        root = _parse(data, file)
    except InputError:
        cut_out = _cut_out(data)
        if cut_out is None:
            known = _recognised(_as_pasted(text_of(data) or ""), "server")
            if known is not None:
                raise _fault(file, (1, 1), *known) from None
            raise
        cut, remarks = cut_out
        root = _parse(cut, file)
    inside = [element for element in root.below() if element.tag == "system"]
    if not inside or root.tag in _NOT_THIS:
        what = (_NOT_THIS | _TYPES).get(root.tag, f"the first element is `{root.tag[:40]}`, not `system`")
        raise _fault(file, root, what, _GIVE)
    return inside[0], remarks


def _no_gpu(root: _Element, file: str) -> InputError:
    devices = [element for element in root.below() if element.tag == "pci"]
    bare = bool(devices) and not any("class" in child.attributes for child in devices)
    what = "PCI devices have only bus ids: which ones are GPUs is unknown" if bare else "no GPU is listed"
    remedy = "give the file that NCCL writes on the server itself (NCCL_TOPO_DUMP_FILE)"
    leaves = [child.attributes["busid"] for child in devices if "busid" in child.attributes and not child.named("pci")]
    if bare and leaves:
        remedy += (
            f", or say which are: --gpu-bus {','.join(leaves[:2])}{',...' if len(leaves) > 2 else ''}; lspci lists them"
        )
    return _fault(file, root, what, remedy)


def _named_devices(root: _Element, bus_ids: Iterable[str], file: str) -> frozenset[str]:
    """Return bus ids, given in any notation, as the file has them."""
    names = {place(element.attributes.get("busid", "").lower()): _place_of(element) for element in root.below()}
    devices = []
    for bus in bus_ids:
        if place(bus.strip().lower()) not in names or not bus.strip():
            known = first_few(f"`{name}`" for name in names.values() if name)
            raise _fault(file, root, f"no device has the bus id `{bus.strip()[:40]}`", f"it has {known}")
        devices.append(names[place(bus.strip().lower())])
    return frozenset(devices)
