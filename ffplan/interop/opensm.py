"""The real OpenSM on a simulated subnet: ibsim plays the fabric, OpenSM brings it up and routes it."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.record import record
from ffplan.fabric.routing.routing import Forwarding
from ffplan.fabric.wiring.network import LEAF
from ffplan.interop.exported import netlist
from ffplan.interop.programs import _find_library, _find_program, _run_program, _wait_for, running

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Ints
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network


_TABLE = re.compile(r"^Unicast lids .* \('(.*)'\):$", re.MULTILINE)
_ENTRY = re.compile(r"^0x[0-9a-f]+ (\d+) # Channel Adapter portguid 0x[0-9a-f]+: '(.*)'$")
_HOST = re.compile(r"# Channel Adapter portguid (0x[0-9a-f]+):")
_RANK = re.compile(r"FatTree rank \(roots to leaf switches\): (\d+)")
_AT_RANK = re.compile(r"Fabric has (\d+) switches at rank (\d+)")
_REASON = re.compile(
    r"fabric_validate_topology: ERR \w+: (.*?)(?: on switches)?:?$|: ([A-Z][^:>]*?) - topology is not fat-tree",
    re.MULTILINE,
)
_ENGINE = re.compile(r"osm_ucast_mgr_process: (\S+) tables configured on all switches")
_SIZE = re.compile(r"Fabric has (\d+) CAs, \d+ CA ports .*, (\d+) switches")
_FIRST_GUID = 0x200000
"""GUID that ibsim gives the first switch of a netlist; the others follow."""
ENGINES = ("ftree", "updn", "minhop", "dfsssp", "nue")
"""Routing engines of OpenSM 3.3.23 that route trees."""


@record
class Subnet:
    """OpenSM's report on a subnet."""

    version: str
    up: bool
    engine: str
    """Engine that routed the subnet; OpenSM falls back to minhop where the one asked for refuses."""
    reason: str
    """Reason of the fallback, in OpenSM's words."""
    rank: int
    hosts: int
    switches: int
    switches_by_rank: tuple[int, ...]
    """Switches of each tier, roots first."""
    tables: Forwarding | None


def _bring_up(network: Network, names: Names, inside: Bools, run: tuple[str, float], *, rooted: bool = False) -> Subnet:
    """Bring up part of a fabric with OpenSM and read back its forwarding tables.

    `rooted` names the top switches as roots (`root_guid_file`); ftree then takes trees that are not pure.
    """
    engine, limit_s = run
    ibsim, opensm = _find_program("ibsim", "ibsim-utils"), _find_program("opensm", "opensm")
    library = _find_library("libumad2sim.so", "libumad2sim0")
    first = len(network.switches)
    hosts, switches = np.flatnonzero(inside[first:]), np.flatnonzero(inside[:first])
    with tempfile.TemporaryDirectory(prefix="ffplan-opensm-") as scratch:
        folder = Path(scratch)
        (folder / "net").write_text("".join(netlist(network, names, inside)))
        ports = len(switches) * (network.radix + 1) + 2 * len(hosts)  # port 0 of each device is for management
        socket = f"ffplan-{os.getpid()}-{folder.name}"
        common = {"IBSIM_SOCKNAME": socket}
        sizes = ["-N", str(len(hosts) + len(switches) + 8), "-S", str(len(switches) + 8), "-P", str(ports + 64)]
        with running(
            [_find_program("stdbuf", "coreutils"), "-oL", ibsim, "-s", "-n", *sizes, "net"], folder, "ibsim.log", common
        ) as job:
            _wait_for(
                lambda: b"simulator ready" in job.log.read_bytes(), job, limit_s, "ibsim did not read the netlist"
            )
            host, port = names.endpoint(int(hosts[0]))
            env = {
                **common,
                "SIM_HOST": f"{host}/{port}",
                "OSM_TMP_DIR": scratch,
                "OSM_CACHE_DIR": scratch,
                "LD_PRELOAD": library,
            }
            command = [opensm, "-o", "-R", engine, "-D", "0x43", "-f", str(folder / "osm.log"), "-F", os.devnull]
            if rooted:
                roots = _FIRST_GUID + np.searchsorted(switches, _roots(network, inside))
                (folder / "roots").write_text("".join(f"{guid:#x}\n" for guid in roots.tolist()))
                command += ["-a", str(folder / "roots")]
            _run_program(command, folder, limit_s, env)
        return _read(network, names, inside, folder)


def _read(network: Network, names: Names, inside: Bools, folder: Path) -> Subnet:
    log = (folder / "osm.log").read_text(errors="replace")
    ranks = {int(rank): int(count) for count, rank in _AT_RANK.findall(log)}
    size, rank = _SIZE.search(log), _RANK.search(log)
    reason = _REASON.search(log)
    version = re.search(r"OpenSM (\S+)", log)
    dump = folder / "opensm-lfts.dump"
    dumped = dump.read_text(errors="replace") if dump.exists() else ""
    return Subnet(
        version=version.group(1) if version else "",
        up="SUBNET UP" in log,
        engine=next(iter(reversed(_ENGINE.findall(log))), ""),
        reason=next((text.strip() for text in reason.groups() if text), "") if reason else "",
        rank=int(rank.group(1)) if rank else 0,
        hosts=int(size.group(1)) if size else len(set(_HOST.findall(dumped))),
        switches=int(size.group(2)) if size else len(_TABLE.findall(dumped)),
        switches_by_rank=tuple(ranks[key] for key in sorted(ranks)),
        tables=_read_tables(dumped, network, names, inside) if dumped else None,
    )


def _roots(network: Network, inside: Bools) -> Ints:
    switches: Ints = np.flatnonzero(inside[: len(network.switches)])
    role = network.switches.role[switches]
    result: Ints = switches[role == role.max()]
    return result


def _read_tables(text: str, network: Network, names: Names, inside: Bools) -> Forwarding:
    first = len(network.switches)
    switches, endpoints = np.flatnonzero(inside[:first]), np.flatnonzero(inside[first:])
    rows = {names.switch(int(number)): row for row, number in enumerate(switches)}
    columns: dict[str, int] = {}
    for column, number in enumerate(endpoints):
        host, port = names.endpoint(int(number))
        columns[f"{host}/{port}"] = column
    table: Any = np.full((len(switches), len(endpoints)), -1, np.int16)
    row = -1
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if entry and row >= 0:
            column = columns.get(entry.group(2), -1)
            if column >= 0:
                table[row, column] = int(entry.group(1)) - 1
            continue
        header = _TABLE.match(line)
        if header:
            row = rows.get(header.group(1), -1)
    return Forwarding(switches, endpoints, table)


def _expected_ranks(network: Network, inside: Bools) -> tuple[int, ...]:
    """Return the switches of each tier of the subnet, roots first, as OpenSM counts them."""
    roles = network.switches.role[inside[: len(network.switches)]]
    counts = np.bincount(roles, minlength=LEAF + 3)[:3]
    return tuple(int(count) for count in counts[::-1] if count)
