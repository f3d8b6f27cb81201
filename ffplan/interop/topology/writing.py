"""A server's inside written as NCCL topology XML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from ffplan.base.record import record
from ffplan.catalog.parts import Accelerator, Cpu, Nic, Server
from ffplan.inputs.document import comment
from ffplan.interop.topology.devices import RATES

if TYPE_CHECKING:
    from ffplan.catalog.parts import RootPort

_GPU_CLASS = {"nvlink": "0x030200", "xgmi": "0x120000"}
"""PCI class of a GPU by the element of its links."""
_NVSWITCH = "ffff:fe:00.0"
"""Bus id of all switches of a scale-up network."""


@record
class Inside:
    """A server with the parts that its file names."""

    server: Server
    accelerator: Accelerator | None
    nics: Mapping[str, Nic]
    """NICs by catalogue id."""
    cpus: Mapping[str, Cpu]
    """CPUs by catalogue id."""


def _remark(text: str) -> str:
    """Return a text for a comment of XML, which two hyphens would end."""
    return re.sub("-(?=-)", "- ", escape(comment(text)))


class _Writer:
    """Lines so far; bus ids are made up, in the order of the file."""

    def __init__(self, inside: Inside) -> None:
        self.inside = inside
        self.bus = 0
        self.lines: list[str] = []
        part = inside.accelerator
        link = part.pcie if part else None
        speed = f"{RATES[int(link.generation.value)]:g}" if link and int(link.generation.value) in RATES else ""
        self.width = f' link_speed="{speed} GT/s" link_width="{int(link.lanes.value)}"' if link and speed else ""
        self.buses = {slot.id: f"0000:{place + 1:02x}:00.0" for place, slot in enumerate(inside.server.accelerators)}

    def ids(self, pci_ids: tuple[str, ...]) -> str:
        vendor, _, device = (pci_ids[0] if pci_ids else "ffff:ffff").partition(":")
        return f'vendor="0x{vendor}" device="0x{device}"'

    def next_bus(self, domain: str) -> str:
        self.bus += 1
        return f"{domain}:{self.bus:02x}:00.0"

    def links(self, gpu: str) -> list[str]:
        """Return the scale-up links of a GPU: to the switch, to every GPU of its mesh, or to the other of its pair."""
        scale_up, part = self.inside.server.nvlink, self.inside.accelerator
        if scale_up is None or part is None:
            return []
        element = _element_of(part)
        others = [slot.id for slot in self.inside.server.accelerators if slot.id != gpu]
        joined = [*scale_up.pairs, *scale_up.links]
        if scale_up.switched:
            targets, kind = [_NVSWITCH], "0x068000"
        elif scale_up.mesh:
            targets, kind = [self.buses[name] for name in others], _GPU_CLASS[element]
        else:
            targets = [self.buses[b if a == gpu else a] for a, b in joined if gpu in (a, b)]
            kind = _GPU_CLASS[element]
        if scale_up.counts:
            counts = [n for pair, n in zip(scale_up.links, scale_up.counts, strict=True) if gpu in pair]
            return [_link(element, *link, kind) for link in zip(targets, counts, strict=True)]
        held = part.collectives.links if part.collectives else None
        count = int(held.value) if held and (scale_up.switched or len(targets) == 1) else 1
        return [_link(element, target, count, kind) for target in targets]

    def gpu(self, slot: str, place: int, indent: str) -> None:
        part = self.inside.accelerator
        assert part is not None
        kind, links = _GPU_CLASS[_element_of(part)], self.links(slot)
        self.lines.append(
            f'{indent}<pci busid="{self.buses[slot]}" class="{kind}" {self.ids(part.pci_ids)}{self.width}> '
            f"<!-- {_remark(f'{slot}: {part.id}')} -->"
        )
        opening = f'<gpu dev="{place}" rank="{place}" gdr="1"'
        if links:
            self.lines += [f"{indent}  {opening}>", *(f"{indent}    {link}" for link in links), f"{indent}  </gpu>"]
        else:
            self.lines.append(f"{indent}  {opening}/>")
        self.lines.append(f"{indent}</pci>")

    def nic(self, slot: str, part_id: str, place: int, indent: str) -> None:
        part = self.inside.nics[part_id]
        kind = "0x020000" if part.fabrics == ("ethernet",) else "0x020700"
        self.lines.append(
            f'{indent}<pci busid="{self.next_bus("0001")}" class="{kind}" {self.ids(part.pci_ids)}> '
            f"<!-- {_remark(f'{slot}: {part_id}')} -->"
        )
        speed = round(part.rate.value * 8000)  # GB/s to Mb/s
        net = f'<net name={quoteattr(slot)} dev="{place}" speed="{speed}" port="1" guid="0x{place + 1:x}" gdr="1"/>'
        self.lines += [f"{indent}  <nic>", f"{indent}    {net}", f"{indent}  </nic>", f"{indent}</pci>"]

    def port(self, port: RootPort) -> None:
        """Add what lies behind a root port."""
        server = self.inside.server
        gpus = [(place, slot) for place, slot in enumerate(server.accelerators) if slot.root_port == port.id]
        nics = [(place, slot) for place, slot in enumerate(server.nics) if slot.root_port == port.id]
        if not gpus and not nics:
            return
        indent = "    "
        bridged = len(gpus) + len(nics) > 1
        if bridged:
            self.lines.append(f'{indent}<pci busid="{self.next_bus("ffff")}" class="0x060400"{self.width}>')
        inner = indent + "  " if bridged else indent
        for place, slot in gpus:
            self.gpu(slot.id, place, inner)
        for place, nic in nics:
            self.nic(nic.id, nic.part, place, inner)
        self.lines += [f"{indent}</pci>"] if bridged else []


def _link(element: str, target: str, count: int, kind: str) -> str:
    return f'<{element} target="{target}" count="{count}" tclass="{kind}"/>'


def _element_of(part: Accelerator) -> str:
    """Return the element of an accelerator's links: `xgmi` of AMD's, `nvlink` of all others."""
    return "xgmi" if part.vendor == "AMD" else "nvlink"


def _cpu(part: Cpu, number: int) -> str:
    vendor, family, model = (part.cpuid[0] if part.cpuid else "::").split(":")
    told = f' vendor="{vendor}" familyid="{family}" modelid="{model}"' if vendor else ""
    return f'  <cpu numaid="{number}" arch="{part.arch}"{told}>'


def topology_xml(inside: Inside) -> str:
    """Return a server's inside as NCCL topology XML, with GPUs, links and NICs.

    All switches stand as one, with all links of a GPU; links that the catalogue does not count stand as one.
    """
    writer = _Writer(inside)
    writer.lines += [
        f"<!-- {_remark(inside.server.name)}: by ffplan. Bus ids are made up; all NVSwitches stand as one. -->",
        '<system version="1">',
    ]
    for number, socket in enumerate(inside.server.sockets):
        writer.lines.append(_cpu(inside.cpus[socket.cpu], number))
        for port in socket.root_ports:
            writer.port(port)
        writer.lines.append("  </cpu>")
    return "\n".join([*writer.lines, "</system>"]) + "\n"
