"""Capacity and rates of storage servers, incast at their clients, and the time of a checkpoint; floats and arrays.

Sources:
    [1] An et al., Fire-Flyer AI-HPC, arXiv 2408.14158, section VI-B.
    [2] deepseek-ai/3FS, design notes: CRAQ writes all copies and reads any.
    [3] Karol, Hluchyj and Morgan, Input versus output queueing on a space-division packet switch, 1987.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from ffplan.base.array_math import Number, minimum, smallest
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats

Way = Literal["read", "write"]
NICS = "NICs"
"""Prefix of every term from NICs."""
NODE_NICS, CLIENTS = "NICs of the nodes", "clients of the nodes"
"""Terms of compute nodes: their NICs, and their file system clients."""
WHOLE, CHECKPOINTS = "rates of the whole file system", "published rates of checkpoints"
"""Terms of the file system: all clients together, and one checkpoint."""
OF_SERVICE = (CLIENTS, WHOLE, CHECKPOINTS)
"""Terms that more storage servers do not raise."""
NICS_OF_SERVERS, THINNED, DRIVES = "NICs of the servers", "NICs behind oversubscribed leaves", "drives"
"""Terms of storage servers."""


def of_group(resource: str, group: str) -> str:
    """Return the name of a term of some storage servers.

    Args:
        group: servers that are alike, as `server`, or `server on file system` where several run; empty for all of them.
    """
    return f"{resource} ({group})" if group else resource


def _resource_and_group(term: str) -> tuple[str, str]:
    resource, _, group = term.partition(" (")
    return resource, group.removesuffix(")")


def _file_system_of(group: str) -> str:
    """Return the file system that a group of servers runs; empty where one runs on all."""
    return group.partition(" on ")[2]


@record
class _StorageRates:
    """Rates of storage, each term [GB/s]."""

    read: dict[str, Number]
    """Terms of reading, by resource."""
    write: dict[str, Number]
    """Terms of writing."""


def storage_rates(
    *,
    servers: Number,
    nic_gbyte_s: Number,
    drive_read: Number | None,
    drive_write: Number | None,
    copies: Number,
    efficiency: Number,
) -> _StorageRates:
    """Return the read and write rates of all storage servers.

    Args:
        servers: servers [1].
        nic_gbyte_s: rate of one server's NICs, one direction [GB/s].
        drive_read: read rate of one server's drives [GB/s]; None if unknown.
        drive_write: write rate of one server's drives [GB/s]; None if unknown.
        copies: copies of all data [1].
        efficiency: achieved rate over the NICs' rate [1].

    Returns:
        Terms of both [GB/s]; the least binds.

    Equation:
        read: n B e, n d; write: n B e / r, n w / r: every copy comes in through a NIC and goes to a drive

    Source:
        [1]: 180 servers with two 25 GB/s NICs are 9 TB/s; 8 were reached; [2].
    """
    read: dict[str, Number] = {NICS_OF_SERVERS: servers * nic_gbyte_s * efficiency}
    write: dict[str, Number] = {NICS_OF_SERVERS: servers * nic_gbyte_s * efficiency / copies}
    if drive_read is not None:
        read[DRIVES] = servers * drive_read
    if drive_write is not None:
        write[DRIVES] = servers * drive_write / copies
    return _StorageRates(read, write)


def capacity(servers: Number, drives: Number, drive_bytes: Number, copies: Number, usable: Number = 1.0) -> Number:
    """Return the capacity of storage servers [byte].

    Args:
        servers: servers [1].
        drives: data drives of a server [1].
        drive_bytes: capacity of a drive [byte].
        copies: copies of all data [1].
        usable: share left for data after copies [1].

    Equation:
        n d c u / r

    Source:
        [1]: 180 x 16 x 15.36 TB are 44.2 PB raw, mirrored 22.1 PB (19.6 PiB).
    """
    return servers * drives * drive_bytes * usable / copies


def with_nics(terms: Mapping[str, Number], factor: Number) -> dict[str, Number]:
    """Scale the NIC terms of a rate by a factor; drives stay unchanged [GB/s].

    Args:
        terms: rates by resource [GB/s].
        factor: the service's efficiency, or the share of reachable NICs [1].
    """
    return {name: rate * (factor if name.startswith(NICS) else 1.0) for name, rate in terms.items()}


@record
class ServiceRates:
    """Rates of a file system, one way; every number broadcasts to the shape of the inputs."""

    efficiency: Number
    """Achieved rate over the NICs' rate [1]."""
    client: Number
    """Rate of one node's client [GB/s]."""
    whole: Number | None
    """Largest rate of all clients [GB/s]; None if only servers bind."""
    checkpoint: Number | None
    """Rate of one checkpoint [GB/s]; None if only clients bind."""
    efficiencies: Mapping[str, Number] = field(default_factory=dict)
    """Efficiency of groups of servers that state one [1]."""
    wholes: Mapping[str, Number] = field(default_factory=dict)
    """Largest rate of all clients of each file system, where several run [GB/s]."""


def service_rates(values: Mapping[str, Number], way: Way) -> ServiceRates:
    """Return the rates of a file system, one way.

    Args:
        values: `storage_efficiency` [1], and `client`, `whole` and `checkpoint`, each with `.read` or `.write` [GB/s];
            `storage_efficiency.GROUP` of groups that state one, and `whole.read.SYSTEM` where several run.
    """
    return ServiceRates(
        efficiency=values["storage_efficiency"],
        client=values[f"client.{way}"],
        whole=values.get(f"whole.{way}"),
        checkpoint=values.get(f"checkpoint.{way}"),
        efficiencies=_named(values, "storage_efficiency."),
        wholes=_named(values, f"whole.{way}."),
    )


def _named(values: Mapping[str, Number], start: str) -> dict[str, Number]:
    return {name.removeprefix(start): value for name, value in values.items() if name.startswith(start)}


def group_terms(servers: Mapping[str, Number], service: ServiceRates) -> dict[str, dict[str, Number]]:
    """Return the limits of each group of storage servers that are alike, by resource [GB/s].

    Args:
        servers: terms of the servers, the service's efficiency left out [GB/s].
        service: rates of their file system, same way.
    """
    groups: dict[str, dict[str, Number]] = {}
    for term, rate in servers.items():
        resource, group = _resource_and_group(term)
        groups.setdefault(group, {})[resource] = rate
    return {
        group: with_nics(terms, service.efficiencies.get(group, service.efficiency)) for group, terms in groups.items()
    }


def _unlike(groups: Mapping[str, Mapping[str, Number]], wholes: Mapping[str, Number]) -> dict[str, Number]:
    """Return the limits of unlike groups together: what each carries, added up, and each resource of all of them.

    Args:
        wholes: largest rate of each file system, where several run [GB/s].

    Returns:
        Rates [GB/s]; the first binds, and its name has the limit of each group, for the first of several jobs.
    """
    binds: dict[str, str] = {}
    systems: dict[str, Number] = {}
    for group, terms in sorted(groups.items()):
        binds[group] = min(terms, key=lambda name: smallest(terms[name]))
        system = _file_system_of(group)
        systems[system] = systems.get(system, 0.0) + minimum(*terms.values())
    for system in systems:
        if system in wholes and smallest(wholes[system]) < smallest(systems[system]):
            binds |= {group: WHOLE for group in groups if _file_system_of(group) == system}
    together = sum(minimum(rate, wholes.get(system, rate)) for system, rate in systems.items())
    limits = set(binds.values())
    names = [of_group(resource, group) for group, resource in binds.items()]
    first = limits.pop() if len(limits) == 1 else ", ".join(names)
    shared = [name for name in next(iter(groups.values())) if all(name in terms for terms in groups.values())]
    return {**{name: sum(terms[name] for terms in groups.values()) for name in shared}, first: together}


def server_terms(servers: Mapping[str, Number], service: ServiceRates) -> dict[str, Number]:
    """Return the limits of all storage servers together [GB/s].

    Args:
        servers: terms of the servers, the service's efficiency left out [GB/s].
        service: rates of their file system, same way.

    Equation:
        NICs times efficiency, drives, and the whole file system if it has a rate; of unlike groups the sum over groups
        of the least of these: fast drives do not help slow ones

    Source:
        [1]: 8 of 9 TB/s.
    """
    groups = group_terms(servers, service)
    limits = groups[""] if list(groups) == [""] else _unlike(groups, service.wholes)
    return limits if service.whole is None else {**limits, WHOLE: service.whole}


def transfer_terms(
    servers: Mapping[str, Number], service: ServiceRates, *, nodes: Number, nics_gbyte_s: Number
) -> dict[str, Number]:
    """Return the limits of moving data between some nodes and storage.

    Args:
        servers: terms of the servers, the service's efficiency left out [GB/s].
        service: rates of their file system, same way.
        nodes: compute nodes that move data [1].
        nics_gbyte_s: rate of all their NICs, one direction [GB/s].

    Returns:
        Rates by resource [GB/s], broadcast shape; the smallest binds, so that more nodes never exceed the servers.

    Equation:
        N B e, N c, and the terms of the servers

    Source:
        [1], section VII-A: a client of 3FS writes over 10 GiB/s through a NIC of 25 GB/s.
    """
    return {
        NODE_NICS: nics_gbyte_s * service.efficiency,
        CLIENTS: nodes * service.client,
        **server_terms(servers, service),
    }


def _checkpoint_terms(
    servers: Mapping[str, Number], service: ServiceRates, *, nodes: Number, nics_gbyte_s: Number
) -> dict[str, Number]:
    """Return the limits of saving or loading one checkpoint: `transfer_terms`, and the checkpoint's own rate.

    Args:
        servers: terms of the servers, the service's efficiency left out [GB/s].
        nodes: compute nodes that write or read it [1].
        nics_gbyte_s: rate of all their NICs, one direction [GB/s].

    Returns:
        Rates by resource [GB/s], broadcast shape.

    Source:
        ByteCheckpoint, NSDI'25, Table 8: 405 billion parameters of 8,960 accelerators take 51 s to save, whatever their
        NICs carry.
    """
    limits = transfer_terms(servers, service, nodes=nodes, nics_gbyte_s=nics_gbyte_s)
    return limits if service.checkpoint is None else {**limits, CHECKPOINTS: service.checkpoint}


def _transfer_seconds(size: Number, terms: dict[str, Number]) -> tuple[Number, str]:
    """Return the time to move a checkpoint, and its limit.

    Args:
        size: data [byte].
        terms: rates on the way [GB/s].

    Returns:
        Time [s] and the name of the smallest rate, for the first of several jobs.

    Equation:
        S / min(rates)

    Source:
        Definition; every byte crosses each of them.
    """
    least = min(terms, key=lambda name: smallest(terms[name]))
    return size / (minimum(*terms.values()) * 1e9), least


SLOTS = 3000
"""Simulated time slots of head-of-line blocking [1]."""
WARM = 500
"""Slots of warm-up before the queues settle [1]."""


def blocked_rate(senders: int, seed: int = 0) -> float:
    """Return the share of line rate that servers reach with first-in-first-out queues to random clients.

    Args:
        senders: servers, and equally many clients, on a lossless network [1].
        seed: seed of the destinations.

    Returns:
        Rate over line rate [1]; 1 for one sender.

    Equation:
        simulated slots: the head of every queue requests a random client, each client grants one request

    Source:
        [3]: 0.75 of two, 0.6553 of four, 2 - sqrt(2) = 0.586 of many.
    """
    import numpy as np

    random = np.random.Generator(np.random.PCG64([seed, senders]))
    heads = random.integers(0, senders, senders)
    served = 0
    for slot in range(SLOTS):
        # `unique` keeps the first of equal clients: a random order makes that a fair draw
        order = random.permutation(senders)
        _, first = np.unique(heads[order], return_index=True)
        won = order[first]
        served += len(won) if slot >= WARM else 0
        # the other heads keep their client and block their queue
        heads[won] = random.integers(0, senders, len(won))
    return served / (senders * (SLOTS - WARM))


def incast(senders: Floats, *, client: float, sender: float, window: int, transfer_s: float, grant_s: float) -> Number:
    """Return the rate that a client receives if it grants requests to send [GB/s].

    Args:
        senders: servers with data for it [1].
        client: rate of the client's NICs [GB/s].
        sender: rate of a server's NICs [GB/s].
        window: transfers granted by the client at once [1].
        transfer_s: time of one transfer alone at the client's rate [s].
        grant_s: from a transfer's end to the next grant's first byte [s].

    Equation:
        min(k s, c min(1, k t / (t + g))), k = min(senders, window)

    Source:
        [1], section VI-B3: the limit costs latency and keeps the rate; a window hides the grant where k t >= t + g.
    """
    open_ = minimum(senders, window)
    # while one waits for its grant, the others of the window send
    hidden = minimum(1.0, open_ * transfer_s / (transfer_s + grant_s))
    rate: Number = minimum(open_ * sender, client * hidden)
    return rate
