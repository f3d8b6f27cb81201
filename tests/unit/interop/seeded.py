"""A listing of ibnetdiscover made from a design's own netlist, into which tests seed faults."""

from __future__ import annotations

import hashlib
import re
from functools import cache

from tests.support import ffplan, wired

Links = dict[int, tuple[str, int, str]]
_DEVICE = re.compile(r'(Hca|Switch)\s+([0-9]+)\s+"(.*?)"')
_PORT = re.compile(r'\[([0-9]+)\]\s+"(.*?)"\[([0-9]+)\]')


def as_printed(design: str, word: str) -> str:
    """Return the name of a switch's port, counted in parts, as it is printed there; any other word as it is."""
    own, (device, _, port) = wired(design), word.rpartition("/p")
    if device not in own.names.switches():
        return word
    return f"{device}/p{own.names.printed.name(own.names.switches().index(device), int(port) - 1)}"


@cache
def _netlist(design: str, options: tuple[str, ...]) -> str:
    return ffplan("fabric export", design, "--to", "ibsim", *options).out


class Listing:
    """Devices with their ports, as `device -> port -> (peer, port there, rate)`."""

    def __init__(self, design: str, *options: str, rate: str = "4xHDR") -> None:
        self.rate = rate
        self.ports: dict[str, int] = {}
        self.links: dict[str, Links] = {}
        self.names: dict[str, str] = {}
        """Descriptions that differ from those of a plain host or switch."""
        for block in _netlist(design, options).split("\n\n"):
            if (found := _DEVICE.match(block)) is None:
                continue
            self.ports[found[3]] = int(found[2])
            self.links[found[3]] = {int(p[1]): (p[2], int(p[3]), rate) for p in _PORT.finditer(block)}

    def of(self, part: str) -> list[str]:
        """Return the devices whose name has a part."""
        return [name for name in self.links if part in name]

    def up(self, leaf: str) -> list[int]:
        """Return the ports of a leaf that lead to switches."""
        return [port for port, (peer, _, _) in sorted(self.links[leaf].items()) if "/" not in peer]

    def down(self, leaf: str) -> list[int]:
        """Return the ports of a leaf that lead to hosts."""
        return [port for port, (peer, _, _) in sorted(self.links[leaf].items()) if "/" in peer]

    def cut(self, device: str, port: int) -> tuple[str, int]:
        """Unplug a cable; return its other end."""
        peer, there, _ = self.links[device].pop(port)
        self.links[peer].pop(there)
        return peer, there

    def join(self, device: str, port: int, peer: str, there: int, rate: str = "") -> None:
        """Plug in a cable."""
        self.links[device][port] = (peer, there, rate or self.rate)
        self.links[peer][there] = (device, port, rate or self.rate)

    def remove(self, device: str) -> None:
        """Take a device away."""
        for port in list(self.links[device]):
            self.cut(device, port)
        del self.links[device], self.ports[device]

    def rewire(self, device: str, ports: list[int], order: list[int]) -> None:
        """Put the cables of some ports into the ports of an order."""
        old = [self.cut(device, port) for port in ports]
        for (peer, there), port in zip(old, order, strict=True):
            self.join(device, port, peer, there)

    def slow(self, device: str, port: int, rate: str) -> None:
        """Let a link run at another rate."""
        peer, there, _ = self.links[device][port]
        self.join(device, port, peer, there, rate)

    def title(self, name: str) -> str:
        """Return the description of a device: an adapter is `host mlx5_0`."""
        return self.names.get(name, name.replace("/nic", " mlx5_"))

    def text(self) -> str:
        """Return the listing."""
        lines = ["#", "# Topology file: generated on Mon Nov 23 06:00:00 2026", "#", ""]
        for name, links in self.links.items():
            kind = "Ca" if "/" in name else "Switch"
            lines += ["vendid=0x2c9", "devid=0xd2f2", f"{kind.lower()}guid=0x{_guid(name)}({_guid(name)})"]
            lines.append(f'{kind}\t{self.ports[name]} "{kind[0]}-{_guid(name)}"\t\t# "{self.title(name)}"')
            for port, (peer, there, rate) in sorted(links.items()):
                own = "C" if "/" in peer else "S"
                far = f'"{own}-{_guid(peer)}"[{there}]({_guid(peer)})'
                lines.append(f'[{port}]\t{far} \t\t# "{self.title(peer)}" lid 9 {rate}')
            lines.append("")
        return "\n".join(lines)


def _guid(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]
