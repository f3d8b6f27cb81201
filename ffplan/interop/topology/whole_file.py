"""A topology file as a whole: its root, why it tells of no GPU, and devices that the caller names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.formatting import first_few
from ffplan.interop.topology.devices import place_of
from ffplan.interop.topology.excerpt import excerpt
from ffplan.interop.topology.scale_up import place
from ffplan.interop.xml_tree import fault, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.interop.xml_tree import Element

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


def system_of(data: bytes, file: str) -> tuple[Element, tuple[str, ...]]:
    """Return the `system` element of a file, and what was passed over, in words.

    Raises:
        InputError: located, where it is no XML, or another.
    """
    if (other := _TYPED.search(data[:2000])) is not None:
        line = data[: other.start()].count(b"\n") + 1
        raise fault(file, (line, 1), _TYPES[other[1].decode()], _GIVE)
    remarks: tuple[str, ...] = ()
    try:
        root = parse(data, file)
    except InputError:
        found = excerpt(data)
        if found is None:
            raise
        cut, remarks = found
        root = parse(cut, file)
    inside = [element for element in root.below() if element.tag == "system"]
    if not inside or root.tag in _NOT_THIS:
        what = _NOT_THIS.get(root.tag, f"the first element is `{root.tag[:40]}`, not `system`")
        raise fault(file, root, what, _GIVE)
    return inside[0], remarks


def no_gpu(root: Element, file: str) -> InputError:
    """Return the refusal of a file without a GPU.

    Args:
        root: its `system` element.
        file: its name.
    """
    devices = [element for element in root.below() if element.tag == "pci"]
    bare = bool(devices) and not any("class" in child.attributes for child in devices)
    what = "PCI devices have bus ids alone: nothing tells which are GPUs" if bare else "no GPU is listed"
    remedy = "give the file that NCCL writes on the server itself (NCCL_TOPO_DUMP_FILE)"
    leaves = [child.attributes["busid"] for child in devices if "busid" in child.attributes and not child.named("pci")]
    if bare and leaves:
        remedy += (
            f", or say which are: --gpu-bus {','.join(leaves[:2])}{',...' if len(leaves) > 2 else ''}; lspci lists them"
        )
    return fault(file, root, what, remedy)


def named_devices(root: Element, wanted: Iterable[str], file: str) -> frozenset[str]:
    """Return bus ids as the file has them.

    Args:
        root: its `system` element.
        wanted: bus ids, in any of the ways in which they are written.
        file: its name.

    Raises:
        InputError: located, where no device has one.
    """
    own = {place(element.attributes.get("busid", "").lower()): place_of(element) for element in root.below()}
    found = []
    for bus in wanted:
        if place(bus.strip().lower()) not in own or not bus.strip():
            known = first_few(f"`{name}`" for name in own.values() if name)
            raise fault(file, root, f"no device has the bus id `{bus.strip()[:40]}`", f"it has {known}")
        found.append(own[place(bus.strip().lower())])
    return frozenset(found)
