"""Servers drawn for a test: as many sockets, root ports, accelerators and NICs as a hand can follow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ffplan.node.host import Host, host_of


def fig(value: float, low: float | None = None, high: float | None = None) -> Any:
    """Return a figure with its range."""
    return SimpleNamespace(value=value, range=(value if low is None else low, value if high is None else high))


def port(name: str, *, switch: bool = False, one_way: Any = None) -> Any:
    """Return a root port, with a limit of its own where a rate [GB/s] is given."""
    limits = None if one_way is None else SimpleNamespace(one_way=one_way, both_way_share=fig(1.5, 1.25, 1.75))
    return SimpleNamespace(id=name, pcie_switch=switch, limits=limits)


def socket(name: str, *ports: Any, channels: int = 4, rate: float = 5000.0) -> Any:
    """Return a socket: 4 channels of 5,000 MT/s are 160 GB/s."""
    memory = SimpleNamespace(channels=fig(channels), rate=fig(rate))
    return SimpleNamespace(id=name, root_ports=ports, memory=memory)


def cpu(name: str = "cpu", **changed: Any) -> Any:
    """Return a CPU whose memory reaches 80 % of its peak, at least 75 and at most 90."""
    fields = {"memory_efficiency": fig(0.8, 0.75, 0.9), "root_port": None, "socket_fabric": None, "gpu_nic_peer": None}
    return SimpleNamespace(id=name, **{**fields, "gpu_nic_peer_both_way_share": None, **changed})


def scale_up(**changed: Any) -> Any:
    """Return a scale-up network that joins nothing, with fields changed."""
    fields = {"pairs": (), "switched": False, "mesh": False, "links": (), "counts": (), "torus": (), "nodes": 1}
    return SimpleNamespace(**{**fields, "name": "xGMI", **changed})


def rates(**changed: Any) -> Any:
    """Return rates of collectives, none of them measured but those given."""
    names = ("links", "ring", "peer", "send", "alltoall", "pcie", "channel", "nvls", "ll", "launch")
    return SimpleNamespace(**{**dict.fromkeys(names), **changed})


def accelerator(**changed: Any) -> Any:
    """Return an accelerator with scale-up links of 90 to 110 GB/s, usually 100."""
    fields = {"nvlink": fig(100.0, 90.0, 110.0), "collectives": None, "memory_bandwidth": fig(2000.0, 1800.0, 2100.0)}
    return SimpleNamespace(**{**fields, "pcie": None, **changed})


def nic(**changed: Any) -> Any:
    """Return a NIC of 50 GB/s that carries 96 % of its line as payload."""
    fields: dict[str, Any] = {"rate": fig(50.0, 40.0, 50.0), "line_efficiency": fig(0.96, 0.95, 0.97)}
    fields |= {"tree_efficiency": None, "proxy_message": None}
    return SimpleNamespace(**{**fields, **changed})


def server(*sockets: Any, gpus: str = "", nics: str = "", network: Any = None, pcie: Any = None) -> Any:
    """Return a server; `gpus` and `nics` are words such as `g0:a`, a device and its root port."""
    gpu_slots, nic_slots = (
        [SimpleNamespace(id=word.partition(":")[0], root_port=word.partition(":")[2]) for word in words.split()]
        for words in (gpus, nics)
    )
    return SimpleNamespace(
        id="drawn",
        sockets=sockets,
        accelerators=gpu_slots,
        nics=nic_slots,
        nvlink=network,
        accelerator_pcie=pcie,
        drives=None,
    )


def small(network: Any = None, part: Any = None, **changed: Any) -> Host:
    """Return a node of four GPUs and no NIC on one socket."""
    own = server(socket("s0", port("a")), gpus="g0:a g1:a g2:a g3:a", network=network)
    return host_of(own, part, [changed.pop("cpu", cpu())], changed.pop("nics", []), **changed)
