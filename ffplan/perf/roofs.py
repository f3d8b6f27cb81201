"""A run placed on the scaling book's rooflines: from which batch, up to which ways, computing binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.perf.levels import sharded_speedup
from ffplan.perf.passes import place
from ffplan.perf.plans import strides
from ffplan.perf.rooflines import data_parallel_tokens, expert_parallel_tokens, sharded_tokens, tensor_parallel_ways
from ffplan.trainings import Roofline

if TYPE_CHECKING:
    from ffplan.perf.passes import Run
    from ffplan.perf.talk import System


def _inside(system: System) -> float:
    """Return what a GPU of a node sends to the others [GB/s]: the specified NVLink, or PCIe."""
    host, part = system.host, system.host.accelerator
    if host.switched and part is not None and part.nvlink is not None:
        return float(part.nvlink.range[1])
    return host.pcie[1] if host.pcie else 0.0


def _reduces_at(run: Run) -> float:
    """Return the bandwidth at which gradients are reduced [GB/s]: inside a node, or out of it over all NICs."""
    p, system = run.plans, run.system
    nodes = place(run, p.reducing, strides(p)["data"]).nodes
    host = system.host
    return _inside(system) if float(nodes) <= 1 else sum(host.nic_gbyte_s) * host.domain_nodes


def rooflines(run: Run) -> tuple[Roofline, ...]:
    """Return where one plan stands.

    Args:
        run: workload, one plan of plain numbers, and machine.
    """
    p, shape, peak = run.plans, run.shape, run.speeds.peak
    tokens = float(p.batch * shape.sequence / p.gpus)
    rate, found = _reduces_at(run), []
    if p.reducing > 1 and rate > 0:
        fully = p.zero == 3
        name, label = ("fsdp", "fully sharded data parallelism") if fully else ("data", "data parallelism")
        needed = float((sharded_tokens if fully else data_parallel_tokens)(peak, rate))
        if shape.experts is not None:
            inner = min(float(p.expert), float(run.system.domain))
            spread = float(sharded_speedup(inner, 1.0))
            needed = float(expert_parallel_tokens(shape.experts.routed, shape.experts.top_k, peak, rate, spread))
            needed *= 2 if fully else 1
            name, label = "experts", "experts under data parallelism"
        found.append(Roofline(name, label, "tokens a GPU", tokens, needed, tokens >= needed))
    if p.tensor > 1:
        width = shape.ffn if shape.experts is None else max(shape.ffn, shape.experts.ffn)
        most = float(tensor_parallel_ways(width, peak, _inside(run.system), run.system.domain))
        found.append(Roofline("tensor", "tensor parallelism", "ways", float(p.tensor), most, float(p.tensor) <= most))
    return tuple(found)
