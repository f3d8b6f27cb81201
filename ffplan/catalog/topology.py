"""Consistency of the inside of a server: unique names, existing root ports, whole pairs."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ffplan.base.errors import did_you_mean
from ffplan.catalog.parts import Server, StorageServer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.parts import ScaleUp
    from ffplan.inputs.document import Document

RULE = "server-topology"


def _repeated(names: Iterable[tuple[str, tuple[str | int, ...]]], document: Document) -> Iterator[Finding]:
    seen: set[str] = set()
    for name, path in names:
        if name in seen:
            yield document.finding(
                RULE,
                path,
                f"the name `{name}` is used twice in this server",
                "give each its own name",
            )
        seen.add(name)


def _missing_port(document: Document, path: tuple[str | int, ...], port: str, ports: set[str]) -> Finding:
    return document.finding(
        RULE,
        path,
        f"the root port `{port}` does not exist in this server",
        did_you_mean(port, ports, what="root port"),
    )


def _names(server: Server | StorageServer) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    for position, socket in enumerate(server.sockets):
        yield socket.id, ("sockets", position, "id")
        for index, port in enumerate(socket.root_ports):
            yield port.id, ("sockets", position, "root_ports", index, "id")
    for position, nic in enumerate(server.nics):
        yield nic.id, ("nics", position, "id")
    if isinstance(server, Server):
        for position, slot in enumerate(server.accelerators):
            yield slot.id, ("accelerators", position, "id")


def _link_faults(links: Iterable[tuple[str, str]], known: set[str], document: Document) -> Iterator[Finding]:
    """Yield a finding for every link that is listed twice, or does not connect two accelerators of the server."""
    seen: set[tuple[str, str]] = set()
    for position, pair in enumerate(links):
        path = ("nvlink", "links", position)
        for index, name in enumerate(pair):
            if name not in known:
                fault = f"the accelerator `{name}` does not exist in this server"
                yield document.finding(RULE, (*path, index), fault, did_you_mean(name, known, what="accelerator"))
        ends = (min(pair), max(pair))
        if pair[0] == pair[1]:
            yield document.finding(RULE, path, f"a link of `{pair[0]}` leads to itself", "name two accelerators")
        elif ends in seen:
            fault = f"the link between `{pair[0]}` and `{pair[1]}` stands twice"
            yield document.finding(RULE, path, fault, "list two accelerators once, and their links in `counts`")
        seen.add(ends)


def _count_faults(network: ScaleUp, document: Document) -> Iterator[Finding]:
    """Yield a finding if the counts of links do not match the list of links."""
    counts, links = len(network.counts), len(network.links)
    if counts and counts != links:
        fault = f"{counts:,} counts of links for {links:,} entries of `links`"
        yield document.finding(RULE, ("nvlink", "counts"), fault, "give each two accelerators their count, in order")


def _scale_up_faults(server: Server, document: Document) -> Iterator[Finding]:
    if server.nvlink is None:
        return
    size = len(server.accelerators) * server.nvlink.nodes
    if server.nvlink.torus and prod(server.nvlink.torus) != size:
        yield document.finding(
            RULE,
            ("nvlink", "torus"),
            f"a torus of {' x '.join(map(str, server.nvlink.torus))} holds {prod(server.nvlink.torus):,} accelerators; "
            f"{server.nvlink.nodes:,} servers have {size:,}",
            "write `nodes` so that both agree",
        )
    if server.nvlink.nodes > 1 and not (server.nvlink.switched or server.nvlink.torus):
        yield document.finding(
            RULE,
            ("nvlink", "nodes"),
            "only a switch joins the accelerators of several servers",
            "write `switched: true`, or remove `nodes`",
        )
    if server.nvlink.per_rack and (server.nvlink.per_rack > server.nvlink.nodes or not server.nvlink.switched):
        yield document.finding(
            RULE,
            ("nvlink", "per_rack"),
            "only servers behind one switch stand in racks together, and no more of them than there are",
            f"write at most {server.nvlink.nodes:,}, or remove `per_rack`",
        )
    known = {slot.id for slot in server.accelerators}
    taken: set[str] = set()
    for position, pair in enumerate(server.nvlink.pairs):
        for index, name in enumerate(pair):
            path = ("nvlink", "pairs", position, index)
            if name not in known:
                yield document.finding(
                    RULE,
                    path,
                    f"the accelerator `{name}` does not exist in this server",
                    did_you_mean(name, known, what="accelerator"),
                )
            elif name in taken:
                yield document.finding(
                    RULE,
                    path,
                    f"`{name}` is in two bridged pairs",
                    "a bridge joins two accelerators",
                )
            taken.add(name)
    yield from _link_faults(server.nvlink.links, known, document)
    yield from _count_faults(server.nvlink, document)
    kinds = {
        "bridged pairs": bool(server.nvlink.pairs),
        "a mesh": server.nvlink.mesh,
        "single links": bool(server.nvlink.links),
        "a switch": server.nvlink.switched,
        "a torus": bool(server.nvlink.torus),
    }
    networks = [name for name, has in kinds.items() if has]
    if len(networks) > 1:
        yield document.finding(
            RULE,
            ("nvlink",),
            f"a server has {' or '.join(networks)}, not both",
            "keep one of the two",
        )


def _server_faults(server: Server | StorageServer, document: Document) -> Iterator[Finding]:
    yield from _repeated(_names(server), document)
    ports = {port.id for socket in server.sockets for port in socket.root_ports}
    for position, nic in enumerate(server.nics):
        if nic.root_port is not None and nic.root_port not in ports:
            yield _missing_port(document, ("nics", position, "root_port"), nic.root_port, ports)
    if isinstance(server, StorageServer):
        return
    for position, slot in enumerate(server.accelerators):
        if slot.root_port not in ports:
            yield _missing_port(document, ("accelerators", position, "root_port"), slot.root_port, ports)
    if bool(server.accelerators) != (server.accelerator is not None):
        yield document.finding(
            RULE,
            ("accelerators",),
            "`accelerator` and `accelerators` go together",
            "name the part in `accelerator` and its places in `accelerators`",
        )
    yield from _scale_up_faults(server, document)
