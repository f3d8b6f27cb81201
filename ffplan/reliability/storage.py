"""What storage servers hold and carry, and what a checkpoint takes through them; floats and arrays.

Sources:
    [1] An et al., Fire-Flyer AI-HPC, arXiv 2408.14158, section VI-B.
    [2] deepseek-ai/3FS, design notes: CRAQ writes all copies and reads any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, minimum, smallest
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping

NICS = "NICs"
"""How the name of every term begins that NICs make."""


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
