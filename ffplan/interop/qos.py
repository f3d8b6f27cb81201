"""Two virtual lanes for OpenSM: one for the job, one for storage, as a policy file and as options.

The policy gives a path to or from a storage server service level 1, every other path service level 0. The options give
each level a separate lane and share every link between the lanes, as `ffplan fabric route --beside` and `ffplan operate storage`
count it. Lane 15 is the management's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Bools
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network

_UNITS = 128
"""Units of 64 bytes that both lanes have in a turn of the arbiter [1]."""
_LEVELS = 16
"""Service levels of InfiniBand [1]."""
_LINE = 8
"""Ports in a line of the policy [1]."""
NO_STORAGE = "ffplan fabric export: no storage server has a port here, so that one class needs no lanes"
_POLICY = """
qos-levels
    qos-level
        name: DEFAULT
        use: the job
        sl: 0
    end-qos-level
    qos-level
        name: storage
        use: to and from storage servers
        sl: 1
    end-qos-level
end-qos-levels

qos-match-rules
    qos-match-rule
        use: from storage servers
        source: storage
        qos-level-name: storage
    end-qos-match-rule
    qos-match-rule
        use: to storage servers
        destination: storage
        qos-level-name: storage
    end-qos-match-rule
end-qos-match-rules
"""


def policy(network: Network, names: Names, inside: Bools) -> Iterator[str]:
    """Yield the policy file of a subnet.

    Args:
        inside: its devices, shape (switches + endpoints,).

    Raises:
        UsageError: where no storage server has a port in the subnet.
    """
    ends = network.endpoints
    storage = np.array([role == "storage" for role in names.roles])[ends.group] & inside[len(network.switches) :]
    endpoints = np.flatnonzero(storage).tolist()
    if not endpoints:
        raise UsageError(NO_STORAGE)
    yield "# Names are descriptions of nodes: `host/port` for each NIC, port 1 of it.\n"
    yield "port-groups\n    port-group\n        name: storage\n        use: storage servers\n"
    ports = ["{}/{}/P1".format(*names.endpoint(number)) for number in endpoints]
    for first in range(0, len(ports), _LINE):
        yield f"        port-name: {', '.join(ports[first : first + _LINE])}\n"
    yield "    end-port-group\nend-port-groups\n"
    yield _POLICY


def _weights(share: float) -> tuple[int, int]:
    """Return the units of the job's lane and of storage's in a turn of the arbiter, at least one each [1].

    Args:
        share: fraction of a link that is the job's [1].

    Equation:
        round(share x 128), and what is left of 128

    Source:
        Definition; a weight counts 64 bytes and is at most 255 (InfiniBand architecture, volume 1, section 7.6.9).
    """
    weight = min(max(round(share * _UNITS), 1), _UNITS - 1)
    return weight, _UNITS - weight


def options(share: float) -> str:
    """Return the options of OpenSM that go with the policy.

    Args:
        share: fraction of a link that is the job's [1].
    """
    job, storage = _weights(share)
    lanes = ["1" if level == 1 else "0" for level in range(_LEVELS - 1)] + [str(_LEVELS - 1)]
    lines = (
        "# Lane 0 is for the job, lane 1 for storage. The policy file is that of `ffplan fabric export --to opensm-qos`.",
        "qos TRUE",
        "qos_policy_file /etc/opensm/qos-policy.conf",
        "qos_max_vls 2",
        "qos_high_limit 0",
        f"qos_vlarb_high 0:{job},1:{storage}",
        f"qos_vlarb_low 0:{job},1:{storage}",
        f"qos_sl2vl {','.join(lanes)}",
    )
    return "\n".join(lines) + "\n"
