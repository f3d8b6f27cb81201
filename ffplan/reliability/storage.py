"""What storage servers hold and carry, and what a checkpoint takes through them; floats and arrays.

Sources:
    [1] An et al., Fire-Flyer AI-HPC, arXiv 2408.14158, section VI-B.
    [2] deepseek-ai/3FS, design notes: CRAQ writes all copies and reads any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ffplan.base.array_math import Number, minimum, smallest
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping

Way = Literal["read", "write"]
NICS = "NICs"
"""How the name of every term begins that NICs make."""
NODE_NICS, CLIENTS = "NICs of the nodes", "clients of the nodes"
"""Terms of compute nodes: their NICs, and the client of the file system that each runs."""
WHOLE, CHECKPOINTS = "rates of the whole file system", "published rates of checkpoints"
"""Terms of the file system: all clients together, and one checkpoint."""
OF_SERVICE = (CLIENTS, WHOLE, CHECKPOINTS)
"""Terms that more storage servers do not move."""


@record
class StorageRates:
    """Rates of storage, each term [GB/s]."""

    read: dict[str, Number]
    """Terms of reading, by what they are of."""
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
) -> StorageRates:
    """Return what storage servers read and write together.

    Args:
        servers: servers [1].
        nic_gbyte_s: what the NICs of one carry in one direction [GB/s].
        drive_read: what the drives of one read [GB/s]; None where unknown.
        drive_write: what they write [GB/s]; None where unknown.
        copies: copies of all data [1].
        efficiency: rate that the service reaches over its NICs [1].

    Returns:
        Terms of both [GB/s]; the least binds.

    Equation:
        read: n B e, n d; write: n B e / r, n w / r: every copy comes in through a NIC and goes to a drive

    Source:
        [1]: 180 servers of two 25 GB/s NICs are 9 TB/s, of which 8 were reached; [2].
    """
    read: dict[str, Number] = {"NICs of the servers": servers * nic_gbyte_s * efficiency}
    write: dict[str, Number] = {"NICs of the servers": servers * nic_gbyte_s * efficiency / copies}
    if drive_read is not None:
        read["drives"] = servers * drive_read
    if drive_write is not None:
        write["drives"] = servers * drive_write / copies
    return StorageRates(read, write)


def capacity(servers: Number, drives: Number, each: Number, copies: Number, usable: Number = 1.0) -> Number:
    """Return the data that storage servers hold.

    Args:
        servers: servers [1].
        drives: data drives of a server [1].
        each: capacity of a drive [byte].
        copies: copies of all data [1].
        usable: part left for data after copies [1].

    Returns:
        [byte], broadcast shape.

    Equation:
        n d c u / r

    Source:
        [1]: 180 x 16 x 15.36 TB are 44.2 PB raw, mirrored 22.1 PB (19.6 PiB).
    """
    return servers * drives * each * usable / copies


def with_nics(terms: Mapping[str, Number], factor: Number) -> dict[str, Number]:
    """Return terms of a rate with what NICs carry times a factor; drives stay as they are.

    Args:
        terms: rates by what they are of [GB/s].
        factor: what the service reaches of the NICs, or the part of them in reach [1].

    Returns:
        Rates [GB/s], broadcast shape.
    """
    return {name: rate * (factor if name.startswith(NICS) else 1.0) for name, rate in terms.items()}


@record
class ServiceRates:
    """What a file system moves one way; every number broadcasts to the shape of the inputs."""

    efficiency: Number
    """Rate that it reaches over what NICs carry [1]."""
    client: Number
    """What the client of one node moves [GB/s]."""
    whole: Number | None
    """The most that all clients move [GB/s]; None where servers alone bind."""
    checkpoint: Number | None
    """Rate of one checkpoint [GB/s]; None where clients alone bind."""


def service_rates(values: Mapping[str, Number], way: Way) -> ServiceRates:
    """Return what a file system moves one way.

    Args:
        values: `storage_efficiency` [1], and `client`, `whole` and `checkpoint` with the way behind a point [GB/s].
        way: read or write.
    """
    return ServiceRates(
        efficiency=values["storage_efficiency"],
        client=values[f"client.{way}"],
        whole=values.get(f"whole.{way}"),
        checkpoint=values.get(f"checkpoint.{way}"),
    )


def server_terms(servers: Mapping[str, Number], service: ServiceRates) -> dict[str, Number]:
    """Return the limits of all storage servers together.

    Args:
        servers: terms of the servers, the service's efficiency left out [GB/s].
        service: what their file system moves the same way.

    Returns:
        Rates by what they are of [GB/s], broadcast shape.

    Equation:
        NICs times efficiency, drives, and the whole file system where it has a rate

    Source:
        [1]: 8 of 9 TB/s.
    """
    found = with_nics(servers, service.efficiency)
    return found if service.whole is None else {**found, WHOLE: service.whole}


def transfer_terms(
    servers: Mapping[str, Number], service: ServiceRates, *, nodes: Number, nics_gbyte_s: Number
) -> dict[str, Number]:
    """Return the limits of moving data between some nodes and storage.

    Args:
        servers: terms of the servers, the service's efficiency left out [GB/s].
        service: what their file system moves the same way.
        nodes: compute nodes that move data [1].
        nics_gbyte_s: what the NICs of them together carry in one direction [GB/s].

    Returns:
        Rates by what they are of [GB/s], broadcast shape; the least binds, so that more nodes never pass the servers.

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


def checkpoint_terms(
    servers: Mapping[str, Number], service: ServiceRates, *, nodes: Number, nics_gbyte_s: Number
) -> dict[str, Number]:
    """Return the limits of saving or loading one checkpoint: those of `transfer_terms`, and the checkpoint's own rate.

    Args:
        servers: terms of the servers, the service's efficiency left out [GB/s].
        service: what their file system moves the same way.
        nodes: compute nodes that write or read it [1].
        nics_gbyte_s: what the NICs of them together carry in one direction [GB/s].

    Returns:
        Rates by what they are of [GB/s], broadcast shape.

    Source:
        ByteCheckpoint, NSDI'25, Table 8: 405 billion parameters of 8,960 accelerators take 51 s to save, whatever their
        NICs carry.
    """
    found = transfer_terms(servers, service, nodes=nodes, nics_gbyte_s=nics_gbyte_s)
    return found if service.checkpoint is None else {**found, CHECKPOINTS: service.checkpoint}


def transfer_seconds(size: Number, terms: dict[str, Number]) -> tuple[Number, str]:
    """Return the time to move a checkpoint, and what binds it.

    Args:
        size: data [byte].
        terms: rates on the way [GB/s].

    Returns:
        Time [s] and the name of the least rate, of the first job where there are several.

    Equation:
        S / min(rates)

    Source:
        Definition; every byte crosses each of them.
    """
    least = min(terms, key=lambda name: smallest(terms[name]))
    return size / (minimum(*terms.values()) * 1e9), least
